"""Which parameters exist at a point.

Notation
--------
A condition names its *parent* by coordinate and the values that satisfy it by *spans*
``(first, last)`` of indices, both included. A parameter exists (is *active*) where its
parents do and all its conditions hold.
"""

import bisect
import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_mvrsm._domain import BoolArray, FloatArray, IntArray
from sklearn_mvrsm._space.base import Parameter
from sklearn_mvrsm._space.ranges import Integer

__all__ = ["Activity", "Condition", "Dimension", "listed", "resolve"]


Spans = tuple[tuple[int, int], ...]

_FEW = 16  # spans or values of a condition that are gone through one by one
_PLAIN = {int, str}  # types that hash as they compare
_COLLECTIONS = (list, tuple, set, frozenset, range)


@dataclass(frozen=True)
class Condition:
    """One requirement of a parameter: its parent has one of some values.

    Parameters
    ----------
    parent : int
        Coordinate of the parent.
    spans : tuple of (int, int)
        Indices of the values that satisfy it, first and last of each run, ascending.
    """

    parent: int
    spans: Spans

    def holds(self, index: int) -> bool:
        """Return whether the parent's value with this index satisfies it."""
        k = bisect.bisect_right(self.spans, index, key=operator.itemgetter(0)) - 1
        return k >= 0 and index <= self.spans[k][1]


@dataclass(frozen=True)
class Dimension:
    """One coordinate of a space.

    Parameters
    ----------
    name : str or None
        Name of the parameter; None for the category that picks one of several dicts.
    parameter : parameter
        What was declared.
    alternative : int
        Which of several dicts it comes from.
    conditions : tuple of Condition
        What must hold for it to exist.
    """

    name: str | None
    parameter: Parameter
    alternative: int
    conditions: tuple[Condition, ...] = ()

    def describe(self, unread: set[str]) -> dict[str, object]:
        """Describe it by plain data, conditions by the coordinates of parents.

        Types of values that cannot be told apart are added to ``unread``.
        """
        return {
            "name": self.name,
            "alternative": self.alternative,
            **self.parameter.describe(unread),
            "conditions": [
                [each.parent, [list(span) for span in each.spans]]
                for each in self.conditions
            ],
        }


def resolve(
    parameters: Mapping[str, Parameter], coordinates: Mapping[str, int]
) -> dict[str, tuple[Condition, ...]]:
    """Resolve what the conditions of parameters in one dict refer to.

    Parameters
    ----------
    parameters : mapping of str to parameter
        By name.
    coordinates : mapping of str to int
        Where each is in a point.

    Returns
    -------
    dict of str to tuple of Condition
        In an order in which parents come before their children.

    Raises
    ------
    ValueError
        For an unknown parent, a value never offered, a real parent, a cycle, or
        conditions that never hold together.
    """
    resolved: dict[str, tuple[Condition, ...]] = {}
    above: dict[int, tuple[Condition, ...]] = {}
    for name in _parents_first(parameters):
        conditions = tuple(
            Condition(coordinates[parent], _spans(name, parent, wanted, parameters))
            for parent, wanted in parameters[name].conditions
        )
        resolved[name] = above[coordinates[name]] = conditions
        impossible = _impossible(conditions, above)
        if impossible is not None:
            parent = next(k for k, j in coordinates.items() if j == impossible)
            raise ValueError(
                f"Parameter {name!r} can never exist: it needs "
                f"{parameters[name].condition_text}, and no value of {parent!r} "
                "satisfies that together with what its parents need"
            )
    return resolved


def _impossible(
    conditions: tuple[Condition, ...], above: Mapping[int, tuple[Condition, ...]]
) -> int | None:
    """Return an ancestor of which no value satisfies all that is needed, if any."""
    if len(conditions) < 2:
        return None  # it exists where its parent has a value, and that can exist
    needed: dict[int, Spans] = {}
    left = list(conditions)
    expanded: set[int] = set()
    while left:
        each = left.pop()
        common = _common(needed.get(each.parent, each.spans), each.spans)
        if not common:
            return each.parent
        needed[each.parent] = common
        if each.parent not in expanded:
            expanded.add(each.parent)
            left += above[each.parent]
    return None


def _common(spans: Spans, others: Spans) -> Spans:
    """Return the indices that are in both."""
    common, i, j = [], 0, 0
    while i < len(spans) and j < len(others):
        first, last = max(spans[i][0], others[j][0]), min(spans[i][1], others[j][1])
        if first <= last:
            common.append((first, last))
        if spans[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def _parents_first(parameters: Mapping[str, Parameter]) -> list[str]:
    order: dict[str, None] = {}
    for start in parameters:
        path = [start]  # from a child to one of its parents, and on
        while path:
            missing = [
                parent
                for parent, _ in _known_conditions(path[-1], parameters)
                if parent not in order
            ]
            if not missing:
                order[path.pop()] = None
            elif missing[0] in path:
                cycle = [*path[path.index(missing[0]) :], missing[0]]
                raise ValueError(
                    f"Conditions must not form a cycle, got {' -> '.join(cycle)}"
                )
            else:
                path.append(missing[0])
    return list(order)


def _known_conditions(
    name: str, parameters: Mapping[str, Parameter]
) -> tuple[tuple[str, object], ...]:
    conditions = parameters[name].conditions
    for parent, wanted in conditions:
        if parent not in parameters:
            raise ValueError(
                f"Parameter {name!r} depends on {parent!r} (={wanted!r}), which is "
                f"not in the space; its names are {sorted(parameters)}"
            )
    return conditions


def _spans(
    name: str, parent: str, wanted: object, parameters: Mapping[str, Parameter]
) -> Spans:
    offered = parameters[parent]
    if offered.size == math.inf:
        raise ValueError(
            f"Parameter {name!r} must not depend on {parent!r} (={wanted!r}): the "
            f"values of {offered!r} cannot be listed"
        )
    whole = offered.indices(wanted)
    if whole:
        return _runs(whole)
    items = listed(wanted)
    if len(items) == 0:
        raise ValueError(
            f"Parameter {name!r} must name a value of {parent!r}, got {wanted!r}"
        )
    if isinstance(items, range) and isinstance(offered, Integer):
        ends = offered.indices(items[0]) + offered.indices(items[-1])
        if (
            items.step == offered.step and len(ends) == 2
        ):  # no need to list what lies between
            return ((ends[0], ends[1]),)
    indices: list[int] = []
    places = _plain_places(offered) if len(items) > _FEW else {}
    for item in items:
        place = places.get(item) if type(item) in _PLAIN else None
        found = offered.indices(item) if place is None else [place]
        if not found:
            raise ValueError(
                f"Parameter {name!r} depends on {parent!r} being {item!r}, which "
                f"{offered!r} never offers"
            )
        indices += found
    return _runs(indices)


def listed(wanted: Any) -> Collection[Any]:
    """Return the values that a condition names."""
    if isinstance(wanted, np.ndarray):
        return list(np.atleast_1d(wanted))
    return wanted if isinstance(wanted, _COLLECTIONS) else [wanted]


def _plain_places(offered: Parameter) -> dict[object, int]:
    """Return the places of texts, or of ints, so that each need not be looked for."""
    values = getattr(offered, "values", ())
    kinds = set(map(type, values))
    places = {value: k for k, value in enumerate(values)} if kinds < _PLAIN else {}
    return places if len(places) == len(values) else {}


def _runs(indices: Iterable[int]) -> Spans:
    runs: list[list[int]] = []
    for index in sorted(set(indices)):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return tuple((first, last) for first, last in runs)


@dataclass(frozen=True)
class _Level:
    """Conditions of children whose parents' activity is known, as flat arrays."""

    children: IntArray  # (c,) coordinates
    parents: IntArray  # (s,) coordinate of the parent, for each span
    low: FloatArray  # (s,) number at which the span begins
    high: FloatArray  # (s,) number before which it ends
    conditions: IntArray  # (k,) where each condition's spans begin
    groups: IntArray  # (c,) where each child's conditions begin
    long: tuple[tuple[int, FloatArray, FloatArray], ...]  # those with many spans

    def holds(self, x: FloatArray, active: BoolArray) -> BoolArray:
        """Return which children exist, shape (n, c)."""
        number = x[:, self.parents]
        held = (self.low <= number) & (number < self.high) & active[:, self.parents]
        if len(self.conditions) < len(self.parents):
            held = np.logical_or.reduceat(held, self.conditions, axis=1)
        for k, low, high in self.long:
            value = number[:, self.conditions[k]]
            span = np.searchsorted(low, value, side="right") - 1
            held[:, k] &= (span >= 0) & (value < high[span])
        if len(self.groups) < len(self.conditions):
            held = np.logical_and.reduceat(held, self.groups, axis=1)
        return held


class Activity:
    """Tells which coordinates exist, for many points at once.

    Parameters
    ----------
    dimensions : sequence of Dimension
        In coordinate order.
    parents_first : sequence of int
        The coordinates, parents before their children.
    """

    def __init__(
        self, dimensions: Sequence[Dimension], parents_first: Sequence[int]
    ) -> None:
        depth = [0] * len(dimensions)
        for j in parents_first:
            above = [depth[c.parent] for c in dimensions[j].conditions]
            depth[j] = 1 + max(above, default=-1)
        levels: list[list[int]] = [[] for _ in range(max(depth, default=0))]
        for j, each in enumerate(depth):
            if each > 0:
                levels[each - 1].append(j)
        self._levels = tuple(_level(children, dimensions) for children in levels)

    @property
    def is_trivial(self) -> bool:
        """Whether there are no conditions, so that everything always exists."""
        return len(self._levels) == 0

    def __call__(self, x: FloatArray) -> BoolArray:
        """Return where coordinates exist.

        Parameters
        ----------
        x : ndarray of shape (n, d)
            Points whose coordinates are numbers of values.

        Returns
        -------
        ndarray of shape (n, d)
        """
        active = np.ones(x.shape, dtype=np.bool_)
        for level in self._levels:
            active[:, level.children] = level.holds(x, active)
        return active


def _level(children: Sequence[int], dimensions: Sequence[Dimension]) -> _Level:
    parents: list[int] = []
    low: list[float] = []
    high: list[float] = []
    conditions: list[int] = []
    groups: list[int] = []
    long: list[tuple[int, FloatArray, FloatArray]] = []
    for child in children:
        groups.append(len(conditions))
        for condition in dimensions[child].conditions:
            parent = dimensions[condition.parent].parameter
            spans = condition.spans
            if len(spans) > _FEW:  # looked up, in memory that does not grow with them
                begins = np.array([parent.edge(first) for first, _ in spans])
                ends = np.array([parent.edge(last + 1) for _, last in spans])
                long.append((len(conditions), begins, ends))
                spans = ((spans[0][0], spans[-1][1]),)
            conditions.append(len(parents))
            for first, last in spans:
                parents.append(condition.parent)
                low.append(parent.edge(first))
                high.append(parent.edge(last + 1))
    return _Level(
        np.array(children, dtype=np.intp),
        np.array(parents, dtype=np.intp),
        np.array(low),
        np.array(high),
        np.array(conditions, dtype=np.intp),
        np.array(groups, dtype=np.intp),
        tuple(long),
    )
