"""Slices through a configuration: points where one or two parameters vary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm import SearchSpace
from sklearn_mvrsm.inspection._axes import ALTERNATIVE, Axis

__all__ = ["Slice", "axis_grid", "slice_through"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MOST_CATEGORIES = 300  # of one parameter


@dataclass(frozen=True)
class Slice:
    """Points of a slice.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Canonical; the last parameter changes fastest.
    exists : ndarray of bool of shape (n,)
        Whether the parameters that vary exist there.
    note : str
        How the slice differs from its centre in what does not vary; may be empty.
    """

    points: FloatArray
    exists: BoolArray
    note: str


def axis_grid(axis: Axis, size: int) -> FloatArray:
    """Choose ascending values of a parameter: all, or ``size`` evenly on its scale.

    Categories are all chosen, or `MOST_CATEGORIES` of them evenly.
    """
    if axis.ticks:
        size = MOST_CATEGORIES
    if axis.whole and axis.high - axis.low < size:
        return np.arange(axis.low, axis.high + 1.0)
    spaced = np.geomspace if axis.log else np.linspace
    values = np.asarray(spaced(axis.low, axis.high, size), dtype=np.float64)
    values = np.clip(values, axis.low, axis.high)
    return np.unique(np.rint(values)) if axis.whole else values


def slice_through(
    space: SearchSpace,
    centre: FloatArray,
    axes: Sequence[Axis],
    grids: Sequence[FloatArray],
) -> Slice:
    """Vary some parameters, with the rest as at the centre.

    What they depend on is changed as far as is needed for them to exist.

    Parameters
    ----------
    space : SearchSpace
    centre : ndarray of shape (d,)
    axes : sequence of Axis
        The parameters.
    grids : sequence of ndarray
        Values of each.

    Raises
    ------
    ValueError
        If the parameters do not exist together.
    """
    varying = {j for axis in axes for j in axis.coordinates}
    base = centre.copy()
    for axis in axes:
        if not space.active(base)[list(axis.coordinates)].any():
            _make_exist(space, base, axis.coordinates[0], varying)
    mesh = np.meshgrid(*(np.arange(len(grid)) for grid in grids), indexing="ij")
    points = np.tile(base, (mesh[0].size, 1))
    offered = np.zeros(points.shape, dtype=np.bool_)
    for axis, grid, places in zip(axes, grids, mesh, strict=True):
        for j in axis.coordinates:
            numbers = _numbers(space, axis, j, grid)[places.ravel()]
            offered[:, j] = ~np.isnan(numbers)
            points[:, j] = np.where(offered[:, j], numbers, base[j])
    there = space.active(points) & offered
    exists = np.ones(len(points), dtype=np.bool_)
    for axis in axes:
        exists &= there[:, list(axis.coordinates)].any(axis=1)
    if not exists.any():
        names = " and ".join(repr(axis.name) for axis in axes)
        raise ValueError(f"Parameters {names} do not exist together")
    changed = np.flatnonzero(base != centre)
    notes = [_assignment(space, j, base[j]) for j in changed.tolist()]
    note = f", but {', '.join(notes)}" if notes else ""
    return Slice(space.canonical(points), exists, note)


def _numbers(
    space: SearchSpace, axis: Axis, coordinate: int, values: FloatArray
) -> FloatArray:
    """Turn values on an axis into numbers of a coordinate, nan if not offered."""
    if axis.ticks:
        return values
    parameter: Any = space.parameters[coordinate].parameter
    numbers = np.full(len(values), np.nan)
    for k, value in enumerate(values.tolist()):
        if parameter.low <= value <= parameter.high:
            numbers[k] = parameter.to_number(int(value) if axis.whole else value)
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
