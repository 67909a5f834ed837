"""Parameters as axes: which coordinates, which scale, which ticks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm import Integer, Real, SearchSpace

__all__ = ["Axis", "parameter_axes", "read_points"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

ALTERNATIVE = "(alternative)"  # what picks one of several dicts has no name
_LONGEST = 20  # characters of a tick


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
    """

    name: str
    coordinates: tuple[int, ...]
    ticks: tuple[str, ...]
    low: float
    high: float
    log: bool
    whole: bool

    def share(self, values: FloatArray) -> FloatArray:
        """Give the way from one end (0) to the other (1) at which values lie."""
        low, high = self.low, self.high
        if self.log:
            low, high, values = np.log(low), np.log(high), np.log(values)
        return np.asarray((values - low) / (high - low if high > low else 1.0))


def parameter_axes(space: SearchSpace) -> tuple[Axis, ...]:
    """Make an axis for each parameter, in the order of declaration.

    Alternatives that have the same parameter share its axis if it means the same in
    them: numbers on the same scale, or the same categories.

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
    return tuple(
        _axis(space, alike[key], ambiguous=names.count(key[0]) > 1) for key in keys
    )


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
        for j in axis.coordinates:
            rows = np.flatnonzero(active[:, j])
            values[rows, k] = axis_values(space, j, points[rows, j])
    return points, values


def axis_values(space: SearchSpace, coordinate: int, numbers: FloatArray) -> FloatArray:
    """Turn numbers of a coordinate into values on its axis."""
    parameter = space.parameters[coordinate].parameter
    if isinstance(parameter, Real | Integer):
        return np.array([parameter.to_value(each) for each in numbers], float)
    return numbers


def _meaning(parameter: Any) -> tuple[object, ...]:
    if isinstance(parameter, Real | Integer):
        return (parameter.log,)
    return (type(parameter), *map(_text, parameter.values))


def _axis(space: SearchSpace, coordinates: list[int], *, ambiguous: bool) -> Axis:
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
        )
    ticks = _ticks(parameters[0].values)
    last = len(ticks) - 1
    return Axis(label, tuple(coordinates), ticks, 0.0, float(last), False, True)


def _ticks(values: Sequence[object]) -> tuple[str, ...]:
    """Name values shortly, each differently."""
    names = [_short(value) for value in values]
    texts = [_text(value) for value in values]
    if len(set(names)) < len(set(texts)):
        names = texts
    cut = [
        name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names
    ]
    times = Counter(cut)
    return tuple(
        f"{name} #{k}" if times[name] > 1 else name for k, name in enumerate(cut)
    )


def _short(value: object) -> str:
    named = hasattr(value, "get_params") or callable(value)
    return getattr(value, "__name__", type(value).__name__) if named else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else " ".join(repr(value).split())
