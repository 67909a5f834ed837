"""The configuration that a search begins with: what is declared, or what is nearest.

A number is nearest in the scale of its parameter. Of categories one is nearest to a
value if both are numbers, tuples of as many numbers, or estimators of one class.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sklearn_mvrsm._description import is_estimator
from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._space.base import UNSET, Parameter
from sklearn_mvrsm._space.choices import Categorical
from sklearn_mvrsm._space.conditions import Dimension
from sklearn_mvrsm._space.ranges import Integer, Real
from sklearn_mvrsm._space.values import is_real

__all__ = ["Space", "Wanted", "default_params"]


Params = dict[str, Any]
Wanted = Callable[[str, Parameter, Mapping[str, Any]], Sequence[object]]


class Space(Protocol):
    """What is asked of a `SearchSpace`."""

    parameters: tuple[Dimension, ...]
    names: tuple[str, ...]
    domain: Domain

    def active(self, points: Any) -> Any: ...

    def encode(self, params: Mapping[str, Any]) -> Any: ...

    def feasible(self, point: Any) -> bool: ...


_EXACT, _NEAR, _UNKNOWN = range(3)


def default_params(space: Space, wanted: Wanted | None = None) -> Params | None:
    """Return the configuration of declared defaults and of values that are wanted.

    Parameters
    ----------
    space : SearchSpace
        Declared defaults come first. What nothing is known of has the middle of its
        range, or its first category.
    wanted : callable or None
        ``wanted(name, parameter, chosen)`` returns what a parameter without a declared
        default should be, and what else that means; ``chosen`` has the values of the
        parameters with fewer prefixes. The first that is offered is taken, else what
        is nearest to the last.

    Returns
    -------
    dict or None
        Of several alternatives, of the one that comes nearest. None if nothing is
        known of any parameter, or if a constraint forbids the configuration.
    """
    has_choice = bool(space.parameters) and space.parameters[0].name is None
    n = int(space.parameters[0].parameter.size) if has_choice else 1
    found = [_of_alternative(space, k, wanted, has_choice) for k in range(n)]
    misses, params = min(found, key=lambda pair: pair[0])
    if math.inf in misses or not space.feasible(space.encode(params)):
        return None
    return params


def _of_alternative(
    space: Space, alternative: int, wanted: Wanted | None, has_choice: bool
) -> tuple[tuple[float, float], Params]:
    """Return how far categories and numbers are from what is wanted, and the params."""
    own: dict[str, tuple[int, Dimension]] = {
        each.name: (j, each)
        for j, each in enumerate(space.parameters)
        if each.name is not None and each.alternative == alternative
    }
    x = space.domain.neutral.copy()
    if has_choice:
        x[0] = alternative
    chosen: Params = {}
    misses: dict[str, int] = {}
    for name in sorted(own, key=lambda name: name.count("__")):
        j, each = own[name]
        asked = () if wanted is None else wanted(name, each.parameter, chosen)
        chosen[name], misses[name] = _choose(each.parameter, asked)
        x[j] = each.parameter.to_number(chosen[name])
    active = space.active(x)
    names = [name for name in space.names if name in own and active[own[name][0]]]
    far: list[float] = [0.0, 0.0]
    for name in names:
        is_number = not isinstance(own[name][1].parameter, Categorical)
        far[is_number] += misses[name]
    if all(misses[name] == _UNKNOWN for name in names):
        far = [math.inf, math.inf]
    return (far[0], far[1]), {name: chosen[name] for name in names}


def _choose(parameter: Parameter, wanted: Sequence[object]) -> tuple[Any, int]:
    """Return a value of a parameter, and how well it is what is wanted."""
    if parameter.default is not UNSET:
        return parameter.default, _EXACT
    for each in wanted:
        for alias in _aliases(each):
            try:
                return parameter.from_code(parameter.to_code(alias)), _EXACT
            except ValueError:
                continue
    for each in reversed(wanted):
        if isinstance(parameter, Real | Integer):
            if is_real(each) and not math.isnan(each):
                return parameter.nearest(each), _NEAR
            continue
        values = [parameter.from_code(k) for k in range(int(parameter.size))]
        distances = [_distance(each, value) for value in values]
        if min(distances) < math.inf:
            nearest = values[distances.index(min(distances))]
            return nearest, _EXACT if min(distances) == 0.0 else _NEAR
    if isinstance(parameter, Categorical):
        return parameter.from_code(0), _UNKNOWN
    return parameter.to_value(sum(parameter.bounds) / 2.0), _UNKNOWN


def _aliases(value: object) -> list[object]:
    """Return what a step of a pipeline calls by another name, too."""
    if value is None or (isinstance(value, str) and value == "passthrough"):
        return [value, "passthrough" if value is None else None]
    return [value]


def _distance(wanted: object, value: object) -> float:
    """Return how far a category is from what is wanted, infinite without a measure."""
    if is_real(wanted) and is_real(value):
        if math.isinf(wanted):  # no limit: the largest is nearest
            return math.pi / 2 - math.copysign(math.atan(value), value * wanted)
        return abs(float(wanted) - float(value))
    if isinstance(wanted, list | tuple) and isinstance(value, list | tuple):
        if len(wanted) == len(value):
            return sum(map(_distance, wanted, value))
        return math.inf
    if is_estimator(wanted) and type(wanted) is type(value):
        return 0.5  # another one of its class
    return math.inf
