"""The layout of a space: declared parameters, each with its coordinate.

Lists and scipy distributions are read as parameters the way GridSearchCV users mean: a
list is always categories, never an interval. Distributions are recognised by the name
they carry, so scipy is not imported.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_mvrsm._domain import Domain, FloatArray, IntArray
from sklearn_mvrsm._space.base import Parameter
from sklearn_mvrsm._space.choices import Categorical
from sklearn_mvrsm._space.conditions import Condition, Dimension, resolve
from sklearn_mvrsm._space.ranges import (
    Integer,
    Real,
    snap_log_integers,
    snap_logarithms,
)
from sklearn_mvrsm._space.values import is_integer, is_real, plain
from sklearn_mvrsm._warnings import warn

__all__ = [
    "Layout",
    "as_parameter",
    "copied_containers",
    "lay_out",
    "read",
]


_SHAPES = {
    "uniform": (),
    "loguniform": ("a", "b"),
    "reciprocal": ("a", "b"),  # the old name of loguniform
    "randint": ("low", "high"),
}
_FAR = 1000.0  # a range is mostly meant as logarithmic if its ends are this ratio apart
_HUGE = 1e300


def as_parameter(name: str, value: Any) -> Parameter:
    """Turn what a user wrote for the parameter ``name`` into a parameter.

    Parameters
    ----------
    name : str
        For the message of an error.
    value : parameter, list, tuple, range, 1-d array or frozen scipy distribution
        Collections become a :class:`Categorical`; ``uniform``, ``loguniform`` and
        ``randint`` become :class:`Real` and :class:`Integer`.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If it is empty, or a distribution that is not understood.

    Warns
    -----
    UserWarning
        If it is a tuple that looks like an interval, such as ``(low, high)``.
    """
    if isinstance(value, Parameter):
        return value
    if isinstance(value, list | tuple) and any(
        isinstance(each, Parameter) for each in value
    ):
        raise TypeError(
            f"Parameter {name!r} must be one parameter, got {value!r}; write "
            "space | {...} to add to a space with alternatives"
        )
    if isinstance(value, tuple) and _looks_like_interval(value):
        _warn_of_interval(name, value)
    try:
        if hasattr(value, "dist") and hasattr(value, "kwds"):
            return _from_distribution(value)
        return Categorical(value)
    except TypeError:
        raise TypeError(
            f"Parameter {name!r} must be a Real, Integer, Ordinal, Categorical, list, "
            "tuple, range, 1-d array or frozen scipy.stats uniform, loguniform or "
            f"randint, got {value!r}; write a list of one for a single value"
        ) from None
    except ValueError as error:
        raise ValueError(f"Parameter {name!r}: {error}") from None


def _looks_like_interval(values: tuple[object, ...]) -> bool:
    """Return whether other tools read an interval: ends, perhaps a scale or a type."""
    ends, kind = values[:2], values[2:]
    known = [end for end in ends if end is not None]
    has_ends = len(ends) == 2 and len(known) > 0 and all(map(is_real, known))
    has_kind = len(kind) == 1 and isinstance(kind[0], str | type)
    return has_ends and ends[0] != ends[1] and (has_kind or not kind)


def _warn_of_interval(name: str, values: tuple[object, ...]) -> None:
    warn(
        f"Parameter {name!r} is a choice among the {len(values)} values of the tuple "
        f"{values!r}, and nothing between them. Write {_interval(values)} if an "
        f"interval is meant, {list(values)!r} if these values are, [{values!r}] if the "
        "tuple is."
    )


def _interval(values: tuple[Any, ...]) -> str:
    """Return how the interval that a tuple looks like is written here."""
    ends = [plain(end) for end in values[:2] if end is not None]
    if len(ends) < 2 or not all(abs(end) < _HUGE for end in ends):
        return "Real(low, high), with two finite ends,"
    low, high = sorted(ends)
    # between neighbours there are reals only
    is_whole = is_integer(low) and is_integer(high) and high - low > 1
    kind = "Integer" if is_whole else "Real"
    log = low > 0 and (high / low >= _FAR or "log" in str(values[2:]))
    return f"{kind}({_short(low)}, {_short(high)}{', log=True' if log else ''})"


def _short(end: float) -> str:
    short = f"{end:g}"
    return short if isinstance(end, float) and float(short) == end else repr(end)


def _from_distribution(frozen: Any) -> Parameter:
    name = frozen.dist.name
    arguments = f"args={frozen.args!r}, kwds={frozen.kwds!r}"
    if name not in _SHAPES:
        raise ValueError(
            "the distributions understood are uniform, loguniform and randint, "
            f"got {name!r} with {arguments}"
        )
    order = (*_SHAPES[name], "loc", "scale")
    given = {"loc": 0, "scale": 1, **dict(zip(order, frozen.args, strict=False))}
    given |= frozen.kwds
    if not all(map(is_real, given.values())):
        raise ValueError(f"{name!r} must have plain numbers, got {arguments}")
    loc, scale = given["loc"], given["scale"]
    if name == "uniform":
        return Real(loc, loc + scale)
    if name == "randint":
        return Integer(_whole(given["low"] + loc), _whole(given["high"] + loc) - 1)
    if loc != 0:
        raise ValueError(f"{name!r} must have loc=0, got {arguments}")
    return Real(given["a"] * scale, given["b"] * scale, log=True)


def _whole(bound: Any) -> int:
    if bound != math.floor(bound):
        raise ValueError(f"'randint' must have whole bounds, got {bound!r}")
    return int(bound)


_BLOCKS = ("category", "integer", "real")  # in the order of a point


@dataclass(frozen=True)
class Layout:
    """Parameters and their coordinates.

    Parameters
    ----------
    declared : tuple of dict of str to parameter
        One dict for each alternative, in the user's order.
    dimensions : tuple of Dimension
        In coordinate order: categories, integers, reals, each as declared. Where
        there are alternatives, coordinate 0 picks one.
    coordinates : tuple of dict of str to int
        For each alternative, the coordinate of each name, parents first.
    """

    declared: tuple[dict[str, Parameter], ...]
    dimensions: tuple[Dimension, ...]
    coordinates: tuple[dict[str, int], ...]

    @property
    def is_choice(self) -> bool:
        """Whether there are alternatives."""
        return len(self.declared) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, each once, in the user's order."""
        return tuple(dict.fromkeys(name for each in self.declared for name in each))

    @property
    def parents_first(self) -> list[int]:
        """All coordinates, parents before their children."""
        picker = [0] if self.is_choice else []
        return picker + [j for each in self.coordinates for j in each.values()]

    @cached_property
    def domain(self) -> Domain:
        """The box of the numbers."""
        blocks: dict[str, list[Parameter]] = {block: [] for block in _BLOCKS}
        for each in self.dimensions:
            blocks[each.parameter.kind].append(each.parameter)
        integers = [each.bounds for each in blocks["integer"]]
        return Domain(
            tuple(int(each.size) for each in blocks["category"]),
            tuple((int(low), int(high)) for low, high in integers),
            tuple(each.bounds for each in blocks["real"]),
        )

    def snap(self, x: FloatArray) -> FloatArray:
        """Return the nearest points whose coordinates are numbers of values.

        Parameters
        ----------
        x : ndarray of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d)
        """
        x = self.domain.round(x)
        if len(self._log_reals) > 0:
            x[:, self._log_reals] = snap_logarithms(x[:, self._log_reals])
        columns, low, high = self._log_integers
        if len(columns) > 0:
            x[:, columns] = snap_log_integers(x[:, columns], low, high)
        return x

    @cached_property
    def _log_reals(self) -> IntArray:
        """Coordinates that are logarithms of reals."""
        found = [
            j
            for j, each in enumerate(self.dimensions)
            if isinstance(each.parameter, Real) and each.parameter.log
        ]
        return np.array(found, dtype=np.intp)

    @cached_property
    def _log_integers(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Coordinates that are logarithms of integers, and those integers' bounds."""
        found = [
            (j, each.parameter.low, each.parameter.high)
            for j, each in enumerate(self.dimensions)
            if isinstance(each.parameter, Integer) and each.parameter.kind == "real"
        ]
        table = np.array(found, dtype=np.float64).reshape(-1, 3)
        return table[:, 0].astype(np.intp), table[:, 1].copy(), table[:, 2].copy()


def copied_containers(declared: Any, *, is_space: bool) -> Any:
    """Copy the dicts and lists of a space or of points, not the values in them.

    Parameters
    ----------
    declared : object
        What a user gave: other objects are returned as they are.
    is_space : bool
        Whether lists in the dicts are lists of values, not values.
    """
    if isinstance(declared, Mapping):
        copied: Any = copy.copy(declared)
        if is_space and isinstance(copied, dict):
            copied.update({k: v[:] for k, v in copied.items() if type(v) is list})
        return copied
    if type(declared) in (list, tuple):
        return type(declared)(
            copied_containers(each, is_space=is_space) for each in declared
        )
    return declared


def lay_out(params: object) -> Layout:
    """Read what a user declared and give each parameter a coordinate.

    Parameters
    ----------
    params : dict or list of dict
        As for :class:`SearchSpace`.

    Raises
    ------
    TypeError, ValueError
        If a name, a parameter or a condition makes no sense.
    """
    declared = read(params)
    entries: list[tuple[int, str | None, Parameter]] = [
        (alternative, name, parameter)
        for alternative, parameters in enumerate(declared)
        for name, parameter in parameters.items()
    ]
    if len(declared) > 1:
        entries.insert(0, (0, None, Categorical(tuple(range(len(declared))))))
    entries.sort(key=lambda entry: _BLOCKS.index(entry[2].kind))
    places: list[dict[str, int]] = [{} for _ in declared]
    for j, (alternative, name, _) in enumerate(entries):
        if name is not None:
            places[alternative][name] = j
    resolved = [resolve(*pair) for pair in zip(declared, places, strict=True)]
    dimensions = []
    for alternative, name, parameter in entries:
        conditions = () if name is None else resolved[alternative][name]
        if len(declared) > 1 and name is not None and conditions == ():
            conditions = (Condition(0, ((alternative, alternative),)),)
        dimensions.append(Dimension(name, parameter, alternative, conditions))
    coordinates = tuple(
        {name: place[name] for name in order}
        for order, place in zip(resolved, places, strict=True)
    )
    return Layout(declared, tuple(dimensions), coordinates)


def read(params: object) -> tuple[dict[str, Parameter], ...]:
    """Read what a user declared: a dict of parameters for each alternative."""
    alternatives = [params] if isinstance(params, Mapping) else params
    if not isinstance(alternatives, list | tuple) or not all(
        isinstance(each, Mapping) and not hasattr(each, "constraints")
        for each in alternatives
    ):
        listed = isinstance(alternatives, list | tuple)
        hint = "; for a space in a list write *space.alternatives" if listed else ""
        raise TypeError(
            f"A space must be a dict, a list of dicts or a SearchSpace{hint}, "
            f"got {params!r}"
        )
    if len(alternatives) == 0:
        raise ValueError(f"A list of alternatives must not be empty, got {params!r}")
    for name in (name for each in alternatives for name in each):
        if not isinstance(name, str) or name == "":
            raise TypeError(f"A parameter's name must be a non-empty str, got {name!r}")
    return tuple(
        {name: as_parameter(name, value) for name, value in each.items()}
        for each in alternatives
    )
