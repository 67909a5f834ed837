"""A space as peers see it: variables with bounds or values, and their conditions.

Peers without conditions get the naive encoding: every variable always exists, and
the inactive ones are dropped before the objective is called.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm import Categorical, Integer, Ordinal, Real, SearchSpace
from sklearn_mvrsm.benchmarks._problem import Params


@dataclass(frozen=True)
class Variable:
    """One named variable.

    Parameters
    ----------
    name : str
        Name in params.
    kind : {"category", "integer", "real"}
        A category's values have no order.
    low, high : float
        Bounds, both included; of a category or ordinal: of the place in ``values``.
    log : bool
        Whether it is searched on a logarithmic scale.
    values : tuple
        The values of a category or ordinal; empty for numbers.
    conditions : tuple of (str, tuple)
        Parents and the values for which the variable exists; all must hold.
    """

    name: str
    kind: Literal["category", "integer", "real"]
    low: float
    high: float
    log: bool = False
    values: tuple[Any, ...] = ()
    conditions: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    @property
    def size(self) -> int:
        """Number of values of a category or integer."""
        return int(self.high) - int(self.low) + 1

    def value(self, number: float) -> object:
        """Return the value of a number: clipped, integers and places rounded."""
        number = min(max(float(number), self.low), self.high)
        if self.kind == "real":
            return number
        place = round(number)
        return self.values[place] if self.values else place

    def number(self, value: Any) -> float:
        """Return the number of a value; the inverse of `value`."""
        return float(self.values.index(value) if self.values else value)


def variables_of(space: SearchSpace) -> tuple[Variable, ...]:
    """Return the variables of a space, parents before their children.

    Raises
    ------
    ValueError
        If the space offers several dicts.
    """
    found: dict[str, Variable] = {}
    for dimension in space.parameters:
        if dimension.name is None:
            raise ValueError("peers cannot search a space of several dicts")
        found[dimension.name] = _variable(dimension.name, dimension.parameter)
    ordered: dict[str, Variable] = {}
    waiting = [found[name] for name in space.names]
    while waiting:
        ready = [v for v in waiting if all(name in ordered for name, _ in v.conditions)]
        ordered.update((v.name, v) for v in ready)
        waiting = [v for v in waiting if v.name not in ordered]
    return tuple(ordered.values())


def _variable(name: str, parameter: Any) -> Variable:
    conditions = tuple(
        (parent, tuple(wanted) if _is_collection(wanted) else (wanted,))
        for parent, wanted in parameter.conditions
    )
    if isinstance(parameter, Real | Integer) and parameter.has_steps:
        raise TypeError(f"parameter {name!r} must have no steps, got {parameter!r}")
    match parameter:
        case Real(low=low, high=high, log=log):
            return Variable(name, "real", low, high, log, (), conditions)
        case Integer(low=low, high=high, log=log):
            return Variable(name, "integer", low, high, log, (), conditions)
        case Categorical(values=values):
            last = len(values) - 1
            return Variable(name, "category", 0, last, False, tuple(values), conditions)
        case Ordinal(values=values):
            last = len(values) - 1
            return Variable(name, "integer", 0, last, False, tuple(values), conditions)
    raise TypeError(f"parameter {name!r} is not understood: {parameter!r}")


def _is_collection(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset | range)


def active(variables: tuple[Variable, ...], full: Mapping[str, object]) -> Params:
    """Return the active ones of values given for all variables."""
    params: Params = {}
    for variable in variables:
        if all(params.get(name, _ABSENT) in ok for name, ok in variable.conditions):
            params[variable.name] = full[variable.name]
    return params


_ABSENT = object()


def complete(
    variables: tuple[Variable, ...],
    params: Mapping[str, object],
    rng: np.random.Generator,
) -> Params:
    """Return values for all variables: the inactive ones drawn at random."""
    return {
        v.name: params[v.name] if v.name in params else v.value(uniform(v, rng))
        for v in variables
    }


def uniform(variable: Variable, rng: np.random.Generator) -> float:
    """Return a uniform random number of a variable."""
    if variable.kind != "real":
        return float(rng.integers(int(variable.low), int(variable.high) + 1))
    if variable.log:
        return float(np.exp(rng.uniform(np.log(variable.low), np.log(variable.high))))
    return float(rng.uniform(variable.low, variable.high))


def numbers(
    variables: tuple[Variable, ...], full: Mapping[str, object]
) -> NDArray[np.float64]:
    """Return values of all variables as numbers, shape (n_variables,)."""
    return np.array([v.number(full[v.name]) for v in variables])
