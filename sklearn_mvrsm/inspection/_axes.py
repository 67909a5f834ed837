"""Parameters as axes: which coordinates, which scale, which ticks."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace

__all__ = [
    "ALTERNATIVE",
    "Axis",
    "depends",
    "exchange_choice",
    "parameter_axes",
    "read_points",
    "shows_choice",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ALTERNATIVE = "(alternative)"  # what picks one of several dicts has no name
_LONGEST = 20  # characters of a tick
_MOST_STEPS = 100  # values of an axis that are listed
_LONGEST_CLASS = 32  # of one that is the name of a class


@dataclass(frozen=True)
class Axis:
    """A parameter as it is drawn.

    Parameters
    ----------
    name : str
        Name of the parameter.
    coordinates : tuple of int
        Where it is in a point: several if several alternatives have it.
    ticks : tuple of str
        Names of the values, where they are categories; () where they are numbers.
    low, high : float
        Ends of the axis: values of the parameter, or the first and last category's
        place.
    log : bool
        Whether the scale is logarithmic.
    whole : bool
        Whether only integers are values.
    places : tuple of tuple of int
        For each coordinate, the tick of each of its categories; () for numbers.
    steps : tuple of float
        The values, where they are numbers with a step, and few enough to be listed.
    """

    name: str
    coordinates: tuple[int, ...]
    ticks: tuple[str, ...]
    low: float
    high: float
    log: bool
    whole: bool
    places: tuple[tuple[int, ...], ...] = ()
    steps: tuple[float, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether several dicts have the parameter, with different categories."""
        return len({frozenset(places) for places in self.places}) > 1

    def share(self, values: FloatArray) -> FloatArray:
        """Return the way from one end (0) to the other (1) at which values lie."""
        low, high = self.low, self.high
        if self.log:
            low, high, values = np.log(low), np.log(high), np.log(values)
        return np.asarray((values - low) / (high - low if high > low else 1.0))


def parameter_axes(space: SearchSpace) -> tuple[Axis, ...]:
    """Make an axis for each parameter, in the order of declaration.

    Alternatives that have the same parameter share its axis if it means the same in
    them: numbers on the same scale, or categories, of which the axis has all. What
    picks one of several dicts has an axis only if no parameter shows the choice.
    Objects that are written alike are one category, unless they alone show it.

    Raises
    ------
    ValueError
        If there are no parameters.
    """
    if not space.parameters:
        raise ValueError("A space without parameters has nothing to show")
    alike: dict[tuple[Any, ...], list[int]] = {}
    for j, each in enumerate(space.parameters):
        key = (each.name, _meaning(each.parameter))
        alike.setdefault(key, []).append(j)
    order = {name: k for k, name in enumerate((None, *space.names))}
    first = {key: space.parameters[alike[key][0]].alternative for key in alike}
    keys = sorted(alike, key=lambda key: (order[key[0]], first[key]))
    names = [key[0] for key in keys]
    for by_text in (True, False):
        axes = [
            _axis(space, alike[key], by_text, ambiguous=names.count(key[0]) > 1)
            for key in keys
        ]
        named = [axis for axis in axes if axis.name != ALTERNATIVE]
        if any(shows_choice(space, axis) for axis in named):
            return tuple(named)
    return tuple(axes)


def shows_choice(space: SearchSpace, axis: Axis) -> bool:
    """Whether the values of a parameter tell dicts apart, or it picks one of them."""
    if axis.name == ALTERNATIVE:
        return True
    n_dicts = _n_alternatives(space)
    if n_dicts == 1 or not axis.places or len(axis.coordinates) < n_dicts:
        return False
    always = all(
        all(condition.parent == 0 for condition in space.parameters[j].conditions)
        for j in axis.coordinates
    )
    return always and axis.differs


def depends(space: SearchSpace, axis: Axis, parent: Axis) -> bool:
    """Whether a parameter exists only for some values of another one."""
    if shows_choice(space, parent) and not shows_choice(space, axis):
        own = {space.parameters[j].alternative for j in axis.coordinates}
        if len(own) < _n_alternatives(space):
            return True
    above: set[int] = set()
    left = list(axis.coordinates)
    while left:
        parents = {each.parent for each in space.parameters[left.pop()].conditions}
        left += parents - above
        above |= parents
    return not above.isdisjoint(parent.coordinates)


def exchange_choice(space: SearchSpace, axes: Sequence[Axis], k: int) -> IntArray:
    """Return which dict has one parameter of another dict and the rest of its own.

    Parameters
    ----------
    space : SearchSpace
    axes : sequence of Axis
        All.
    k : int
        The parameter, one that shows the choice.

    Returns
    -------
    ndarray of int of shape (n_dicts, n_dicts)
        Entry (a, b) is a dict with what b has of the parameter, and what a has of the
        others that show the choice. Where there is none it is b if no other parameter
        tells more dicts apart, else a.
    """
    n_dicts = _n_alternatives(space)
    shown = [axis for axis in axes if shows_choice(space, axis) and axis.places]
    sets = [_values_of_dicts(space, axis, n_dicts) for axis in shown]
    offered = np.array([[each.index(one) for one in each] for each in sets])
    own = np.array([axis is axes[k] for axis in shown])
    apart = np.array(
        [sum(a.isdisjoint(b) for a in each for b in each) for each in sets]
    )
    table = np.tile(np.arange(n_dicts), (n_dicts, 1))
    if apart[own][0] < apart.max():
        table = table.T.copy()
    for a, b in np.ndindex(n_dicts, n_dicts):
        wanted = np.where(own, offered[:, b], offered[:, a])
        fits = np.flatnonzero((offered == wanted[:, np.newaxis]).all(axis=0))
        if len(fits) and b not in fits:
            table[a, b] = a if a in fits else fits[0]
    return table


def _n_alternatives(space: SearchSpace) -> int:
    return len(space.alternatives)


def _values_of_dicts(
    space: SearchSpace, axis: Axis, n_dicts: int
) -> list[frozenset[int]]:
    """Return the values that each dict offers of a parameter that shows the choice."""
    if axis.name == ALTERNATIVE:
        return [frozenset([k]) for k in range(n_dicts)]
    values = [frozenset[int]()] * n_dicts
    for j, places in zip(axis.coordinates, axis.places, strict=True):
        values[space.parameters[j].alternative] = frozenset(places)
    return values


def read_points(
    space: SearchSpace, configurations: Sequence[dict[str, Any]], axes: Sequence[Axis]
) -> tuple[FloatArray, FloatArray]:
    """Place configurations on axes.

    Parameters
    ----------
    space : SearchSpace
    configurations : sequence of dict, length n
    axes : sequence of Axis, length k

    Returns
    -------
    points : ndarray of shape (n, d)
        Canonical.
    values : ndarray of shape (n, k)
        Numbers as they are, categories by place; nan where a parameter does not exist.
    """
    points = np.array([space.encode(each) for each in configurations])
    points = points.reshape(len(configurations), len(space.parameters))
    active = space.active(points)
    values = np.full((len(points), len(axes)), np.nan)
    for k, axis in enumerate(axes):
        for i, j in enumerate(axis.coordinates):
            rows = np.flatnonzero(active[:, j])
            values[rows, k] = _axis_values(space, axis, i, points[rows, j])
    return points, values


def _axis_values(
    space: SearchSpace, axis: Axis, i: int, numbers: FloatArray
) -> FloatArray:
    """Turn numbers of the coordinate with index ``i`` into values on its axis."""
    parameter = space.parameters[axis.coordinates[i]].parameter
    if axis.places:
        return np.array(axis.places[i], float)[_category(parameter, numbers)]
    return np.array([parameter.to_value(each) for each in numbers], float)


def _category(parameter: Any, numbers: FloatArray) -> IntArray:
    return np.clip(np.rint(numbers), 0, parameter.size - 1).astype(np.int64)


def _meaning(parameter: Any) -> tuple[object, ...]:
    if isinstance(parameter, Real | Integer):
        return (parameter.log,)
    if isinstance(parameter, Categorical):
        return (Categorical,)
    return (type(parameter), *map(_text, parameter.values))


def _axis(
    space: SearchSpace, coordinates: list[int], by_text: bool, *, ambiguous: bool
) -> Axis:
    dimensions = [space.parameters[j] for j in coordinates]
    name = dimensions[0].name
    label = ALTERNATIVE if name is None else name
    if ambiguous:
        label = f"{label} [{dimensions[0].alternative}]"
    parameters: list[Any] = [each.parameter for each in dimensions]
    if isinstance(parameters[0], Real | Integer):
        return Axis(
            label,
            tuple(coordinates),
            (),
            float(min(each.low for each in parameters)),
            float(max(each.high for each in parameters)),
            parameters[0].log,
            all(isinstance(each, Integer) for each in parameters),
            steps=_steps(parameters),
        )
    values: dict[str, Any] = {}
    places = []
    for each in parameters:
        texts = [
            _text(value) if by_text or not _is_object(value) else f"{id(value)}"
            for value in each.values
        ]
        texts = _told_apart(texts)
        for text, value in zip(texts, each.values, strict=True):
            values.setdefault(text, value)
        places.append(texts)
    number = {text: k for k, text in enumerate(values)}
    return Axis(
        label,
        tuple(coordinates),
        _ticks(list(values.values())),
        0.0,
        len(values) - 1.0,
        False,
        True,
        tuple(tuple(number[text] for text in texts) for texts in places),
    )


def _steps(ranges: Sequence[Real | Integer]) -> tuple[float, ...]:
    """List the values of ranges that all have steps, if there are not too many."""
    if sum(each.size if each.has_steps else math.inf for each in ranges) > _MOST_STEPS:
        return ()
    values = {each.value_at(k) for each in ranges for k in range(int(each.size))}
    return tuple(map(float, sorted(values)))


def _is_object(value: object) -> bool:
    """Whether a value that is written as another one can still be another one."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def _told_apart(texts: list[str]) -> list[str]:
    """Return texts, with a number where one comes again."""
    seen: Counter[str] = Counter()
    numbered = []
    for text in texts:
        numbered.append(f"{text}\0{seen[text]}" if seen[text] else text)
        seen[text] += 1
    return numbered


def _ticks(values: Sequence[object]) -> tuple[str, ...]:
    """Name values shortly, each differently."""
    names = [_short(value) for value in values]
    texts = [_text(value) for value in values]
    if len(set(names)) < len(set(texts)):
        names = texts
    cut = []
    for name, value in zip(names, values, strict=True):
        longest = _LONGEST_CLASS if name == type(value).__name__ else _LONGEST
        cut.append(name if len(name) <= longest else f"{name[: longest - 1]}…")
    times = Counter(cut)
    return tuple(
        f"{name} #{k}" if times[name] > 1 else name for k, name in enumerate(cut)
    )


def _short(value: object) -> str:
    named = hasattr(value, "get_params") or callable(value)
    return getattr(value, "__name__", type(value).__name__) if named else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else " ".join(repr(value).split())
