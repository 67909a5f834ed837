"""Points where one or two parameters vary: a slice, or many to average over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm import SearchSpace
from sklearn_mvrsm.inspection._axes import ALTERNATIVE, Axis

__all__ = [
    "Evaluated",
    "Slice",
    "average_over",
    "axis_grid",
    "cell_edges",
    "slice_through",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

MOST_CATEGORIES = 300  # of one parameter
_FEW = 12  # integers that each have a slice of their own
_DRAWN = 2**13  # random configurations, of which those with the parameters are used
_EVALUATIONS = 2**15  # of the surrogate for an average, about
_FEWEST, _MOST = 2**6, 2**10  # configurations that an average is over
_PARTS = 2**13  # points of which the surrogate is asked at once


@dataclass(frozen=True)
class Slice:
    """Points of a slice.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Canonical; the last parameter changes fastest.
    exists : ndarray of bool of shape (n,)
        Whether the parameters that vary exist there.
    centre : int
        Row of the candidate through which the slice goes.
    note : str
        How the slice differs from one through the best candidate; may be empty.
    """

    points: FloatArray
    exists: BoolArray
    centre: int
    note: str


@dataclass(frozen=True)
class Evaluated:
    """What has been evaluated, as a slice sees it.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Canonical.
    values : ndarray of shape (n, k)
        On the axes of the parameters that vary; nan where one does not exist.
    order : ndarray of int of shape (m,)
        Rows with a score, the best first; at least one.
    """

    points: FloatArray
    values: FloatArray
    order: IntArray

    def best(self, at: dict[int, float]) -> int | None:
        """Return the best row where all axes exist, and some have given values."""
        values = self.values[self.order]
        fits = ~np.isnan(values).any(axis=1)
        for k, value in at.items():
            fits &= values[:, k] == value
        return int(self.order[fits.argmax()]) if fits.any() else None


def axis_grid(axis: Axis, size: int) -> FloatArray:
    """Choose ascending values of a parameter: all, or ``size`` evenly on its scale.

    Categories are all chosen, or `MOST_CATEGORIES` of them evenly.
    """
    if axis.ticks:
        size = MOST_CATEGORIES
    if 0 < len(axis.steps) <= size:
        return np.array(axis.steps)
    if axis.whole and axis.high - axis.low < size:
        return np.arange(axis.low, axis.high + 1.0)
    spaced = np.geomspace if axis.log else np.linspace
    values = np.asarray(spaced(axis.low, axis.high, size), dtype=np.float64)
    values = np.clip(values, axis.low, axis.high)
    return np.unique(np.rint(values)) if axis.whole else values


def cell_edges(axis: Axis, values: FloatArray) -> FloatArray:
    """Return the edges of cells around ascending values, half-way on the scale."""
    x = np.log(values) if axis.log else values
    if len(x) == 1:
        middle, first, last = x[:0], x[0] - 0.5, x[0] + 0.5
    else:
        middle = (x[1:] + x[:-1]) / 2.0
        first, last = x[0] - (middle[0] - x[0]), x[-1] + (x[-1] - middle[-1])
    edges = np.concatenate([[first], middle, [last]])
    return np.exp(edges) if axis.log else edges


def slice_through(
    space: SearchSpace,
    evaluated: Evaluated,
    axes: Sequence[Axis],
    grids: Sequence[FloatArray],
) -> Slice:
    """Vary some parameters, with the rest as in the best candidate that has them.

    Parameters on which others depend have no common rest: where one varies, the rest is
    that of the best candidate with each value. Where no candidate has it, what the
    parameters depend on is changed as far as is needed for them to exist.

    Parameters
    ----------
    space : SearchSpace
    evaluated : Evaluated
    axes : sequence of Axis
        The parameters.
    grids : sequence of ndarray
        Values of each.

    Raises
    ------
    ValueError
        If the parameters do not exist together.
    """
    centre, base, note = _centre(space, evaluated, axes)
    values = _mesh(grids)
    points = np.tile(base, (len(values), 1))
    parents = [k for k, axis in enumerate(axes) if _is_parent(space, axis)]
    for key in np.unique(values[:, parents], axis=0) if parents else ():
        at = dict(zip(parents, key.tolist(), strict=True))
        row = evaluated.best(at)
        if row is not None:
            points[(values[:, parents] == key).all(axis=1)] = evaluated.points[row]
            note = _each_note(axes, parents)
    numbers = [_numbers(space, a, v) for a, v in zip(axes, values.T, strict=True)]
    _pick_dicts(space, points, axes, numbers)
    exists = _put(space, points, axes, numbers)
    if not exists.any():
        raise ValueError(f"Parameters {_names(axes)} do not exist together")
    return Slice(space.canonical(points), exists, centre, note)


def average_over(
    space: SearchSpace,
    expected: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    axes: Sequence[Axis],
    grids: Sequence[FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Average what is expected over random configurations that have the parameters.

    This is partial dependence (J. H. Friedman, The Annals of Statistics 29(5), 2001)
    over the space, as `SearchSpace.sample` draws it, instead of over a data set. A
    value that only some of several dicts offer is averaged over these.

    Parameters
    ----------
    space : SearchSpace
    expected : callable
        From points of shape (n, d) to means and deviations.
    axes : sequence of Axis
        The parameters.
    grids : sequence of ndarray
        Values of each.

    Returns
    -------
    mean, std : ndarray of shape (n_values,)
        Average and deviation over the configurations for each combination of values,
        the last parameter's changing fastest; nan where they do not exist.

    Raises
    ------
    ValueError
        If no random configuration has the parameters.
    """
    values = _mesh(grids)
    n = int(np.clip(_EVALUATIONS // len(values), _FEWEST, _MOST))
    others = _random_points(space, axes, n)
    points = np.tile(others, (len(values), 1))
    numbers = [
        np.repeat(_numbers(space, axis, each), len(others), axis=0)
        for axis, each in zip(axes, values.T, strict=True)
    ]
    exists = _put(space, points, axes, numbers)
    means = np.full(len(points), np.nan)
    rows = np.flatnonzero(exists)
    for part in np.array_split(rows, -(-len(rows) // _PARTS)):
        means[part] = expected(space.canonical(points[part]))[0]
    table = means.reshape(len(values), len(others))
    some = exists.reshape(table.shape).any(axis=1)
    mean, std = np.full((2, len(values)), np.nan)
    mean[some] = np.nanmean(table[some], axis=1)
    std[some] = np.nanstd(table[some], axis=1)
    return mean, std


def _random_points(space: SearchSpace, axes: Sequence[Axis], n: int) -> FloatArray:
    """Draw up to n points that have the parameters.

    Coordinates that do not exist in them are drawn as well, for where a parameter that
    varies brings them into existence.
    """
    points = space.domain.sample(np.random.default_rng(0), _DRAWN)
    active = space.active(points)
    has = np.all([active[:, axis.coordinates].any(axis=1) for axis in axes], axis=0)
    allowed = list(islice(filter(space.feasible, points[has]), n))
    if not allowed:
        raise ValueError(
            f"Parameters {_names(axes)} exist together in none of {_DRAWN} random "
            "configurations"
        )
    return np.array(allowed)


def _names(axes: Sequence[Axis]) -> str:
    return " and ".join(repr(axis.name) for axis in axes)


def _mesh(grids: Sequence[FloatArray]) -> FloatArray:
    """Return all combinations of values, of shape (n, n_parameters)."""
    mesh = np.meshgrid(*grids, indexing="ij")
    return np.stack([each.ravel() for each in mesh], axis=1)


def _put(
    space: SearchSpace,
    points: FloatArray,
    axes: Sequence[Axis],
    numbers: Sequence[FloatArray],
) -> BoolArray:
    """Put numbers into points, and return where all parameters exist."""
    for axis, each in zip(axes, numbers, strict=True):
        own = points[:, axis.coordinates]
        points[:, axis.coordinates] = np.where(np.isnan(each), own, each)
    active = space.active(points)
    exists = [
        (active[:, axis.coordinates] & ~np.isnan(each)).any(axis=1)
        for axis, each in zip(axes, numbers, strict=True)
    ]
    return np.asarray(np.all(exists, axis=0))


def _centre(
    space: SearchSpace, evaluated: Evaluated, axes: Sequence[Axis]
) -> tuple[int, FloatArray, str]:
    """Return the row and point of the best candidate with the parameters, and a note.

    If no candidate has them, the best one is changed.
    """
    best = int(evaluated.order[0])
    row = evaluated.best({})
    if row is not None:
        note = f" with {_names(axes)}" if row != best else ""
        return row, evaluated.points[row], note
    varying = {j for axis in axes for j in axis.coordinates}
    base = evaluated.points[best].copy()
    for axis in axes:
        if not space.active(base)[list(axis.coordinates)].any():
            _make_exist(space, base, axis.coordinates[0], varying)
    changed = np.flatnonzero(base != evaluated.points[best])
    notes = [_assignment(space, j, base[j]) for j in changed.tolist()]
    return best, base, f", but {', '.join(notes)}" if notes else ""


def _is_parent(space: SearchSpace, axis: Axis) -> bool:
    """Whether some parameter exists only for some of few values of this one."""
    few = bool(axis.ticks) or (axis.whole and axis.high - axis.low < _FEW)
    few = few or 0 < len(axis.steps) < _FEW
    return axis.differs or any(
        few and condition.parent in axis.coordinates
        for each in space.parameters
        for condition in each.conditions
    )


def _each_note(axes: Sequence[Axis], parents: Sequence[int]) -> str:
    return f" with each {_names([axes[k] for k in parents])}"


def _pick_dicts(
    space: SearchSpace,
    points: FloatArray,
    axes: Sequence[Axis],
    numbers: Sequence[FloatArray],
) -> None:
    """Move points to a dict that offers the values which tell dicts apart."""
    if space.parameters[0].name is not None or any(0 in a.coordinates for a in axes):
        return
    n_dicts = int(space.domain.upper[0]) + 1
    offers = np.ones((len(points), n_dicts), dtype=np.bool_)
    for axis, each in zip(axes, numbers, strict=True):
        if axis.differs:
            own = np.zeros((len(points), n_dicts), dtype=np.bool_)
            for i, j in enumerate(axis.coordinates):
                own[:, space.parameters[j].alternative] = ~np.isnan(each[:, i])
            offers &= own
    wrong = ~offers[np.arange(len(points)), points[:, 0].astype(np.int64)]
    points[wrong, 0] = offers[wrong].argmax(axis=1)


def _numbers(space: SearchSpace, axis: Axis, values: FloatArray) -> FloatArray:
    """Turn n values on an axis into numbers of its coordinates, nan if not offered.

    Returns
    -------
    ndarray of shape (n, n_coordinates)
    """
    numbers = np.full((len(values), len(axis.coordinates)), np.nan)
    for i, j in enumerate(axis.coordinates):
        if axis.ticks:
            for category, place in enumerate(axis.places[i]):
                numbers[values == place, i] = category
            continue
        parameter: Any = space.parameters[j].parameter
        for row, value in enumerate(values.tolist()):
            if parameter.low <= value <= parameter.high:
                numbers[row, i] = parameter.to_number(parameter.nearest(value))
    return numbers


def _make_exist(
    space: SearchSpace, point: FloatArray, coordinate: int, varying: set[int]
) -> None:
    """Change what a coordinate depends on, but for what varies, so that it exists."""
    for condition in space.parameters[coordinate].conditions:
        parent: Any = space.parameters[condition.parent].parameter
        held = any(
            parent.number_at(first) <= point[condition.parent] <= parent.number_at(last)
            for first, last in condition.spans
        )
        if not held and condition.parent not in varying:
            point[condition.parent] = parent.number_at(condition.spans[0][0])
        _make_exist(space, point, condition.parent, varying)


def _assignment(space: SearchSpace, coordinate: int, number: float) -> str:
    dimension = space.parameters[coordinate]
    name = ALTERNATIVE if dimension.name is None else dimension.name
    return f"{name}={dimension.parameter.to_value(number)!r}"
