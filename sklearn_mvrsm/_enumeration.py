"""All configurations of a space with conditions: how many, and one by one."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._base_parameter import Countable
from sklearn_mvrsm._conditions import Condition, Dimension

__all__ = ["count", "walk"]

FloatArray = npt.NDArray[np.float64]

_MOST_BRANCHES = 20_000  # of an exact count; far above what trees of conditions need


def count(dimensions: Sequence[Dimension]) -> int | float:
    """Count configurations: settings of the parameters that exist together.

    Parameters that do not depend on each other are counted apart and multiplied. A
    parent is branched on by what its values switch, not by the values, so the cost
    grows with the number of conditions. Only where very many conditions cross each
    other does an exact count cost too much; then the number of settings of all
    parameters at once is given, which is never too small.

    Parameters
    ----------
    dimensions : sequence of Dimension
        In coordinate order.

    Returns
    -------
    int or math.inf
    """
    sizes = [each.parameter.size for each in dimensions]
    open_conditions = {
        j: frozenset(each.conditions) for j, each in enumerate(dimensions)
    }
    try:
        return _Count(sizes).all_of(open_conditions)
    except (_TooManyBranchesError, RecursionError):
        return _product(sizes)


class _TooManyBranchesError(Exception):
    pass


_Open = Mapping[int, frozenset[Condition]]  # parameters that exist if these hold


class _Count:
    """An exact count: what was counted before is remembered."""

    def __init__(self, sizes: Sequence[int | float]) -> None:
        self._sizes = sizes
        self._known: dict[frozenset[tuple[int, frozenset[Condition]]], int | float] = {}
        self._branches = 0

    def all_of(self, group: _Open) -> int | float:
        return _product(self._one(part) for part in _parts(group))

    def _one(self, part: _Open) -> int | float:
        if len(part) == 1:
            return self._sizes[next(iter(part))]
        key = frozenset(part.items())
        if key not in self._known:
            self._branches += 1
            if self._branches > _MOST_BRANCHES:
                raise _TooManyBranchesError
            self._known[key] = self._branch(part)
        return self._known[key]

    def _branch(self, part: _Open) -> int | float:
        asked = [c for conditions in part.values() for c in conditions]
        free = {c.parent for c in asked if not part[c.parent]}
        root = max(sorted(free), key=[c.parent for c in asked].count)
        return _sum(
            _product((size, self.all_of(_decide(part, root, held))))
            for size, held in _cases(int(self._sizes[root]), root, asked)
        )


def _cases(
    size: int, root: int, asked: Iterable[Condition]
) -> Iterable[tuple[int, frozenset[Condition]]]:
    """Group a parent's values by the conditions they satisfy: how many, which."""
    conditions = {c for c in asked if c.parent == root}
    cuts = {0, size}
    for condition in conditions:
        for first, last in condition.spans:
            cuts |= {first, last + 1}
    ends = sorted(cuts)
    cases: dict[frozenset[Condition], int] = {}
    for start, stop in itertools.pairwise(ends):
        held = frozenset(c for c in conditions if c.holds(start))
        cases[held] = cases.get(held, 0) + stop - start
    return ((number, held) for held, number in cases.items())


def _decide(part: _Open, root: int, held: frozenset[Condition]) -> _Open:
    """Drop what a parent's value switches off, and the conditions it settles."""
    gone = {root}
    fallen = {
        j
        for j, conditions in part.items()
        if any(c.parent == root and c not in held for c in conditions)
    }
    while fallen:
        gone |= fallen
        fallen = {
            j
            for j, conditions in part.items()
            if j not in gone and any(c.parent in gone - {root} for c in conditions)
        }
    return {
        j: frozenset(c for c in conditions if c.parent != root)
        for j, conditions in part.items()
        if j not in gone
    }


def _parts(group: _Open) -> list[_Open]:
    """Split into parts between which there is no condition."""
    neighbours: dict[int, set[int]] = {j: set() for j in group}
    for j, conditions in group.items():
        for condition in conditions:
            neighbours[j].add(condition.parent)
            neighbours[condition.parent].add(j)
    parts: list[_Open] = []
    left = set(group)
    while left:
        part: set[int] = set()
        reached = {min(left)}
        while reached:
            part |= reached
            reached = set().union(*(neighbours[j] for j in reached)) - part
        left -= part
        parts.append({j: group[j] for j in sorted(part)})
    return parts


def _product(factors: Iterable[int | float]) -> int | float:
    found = list(factors)  # an int may be too large to be multiplied by inf
    return math.inf if math.inf in found else math.prod(found)


def _sum(terms: Iterable[int | float]) -> int | float:
    found = list(terms)
    return math.inf if math.inf in found else sum(found)


def walk(
    dimensions: Sequence[Dimension], parents_first: Sequence[int], neutral: FloatArray
) -> Iterator[FloatArray]:
    """Go through the points of a space without reals, like an odometer.

    Wheels appear and vanish as their parents turn.

    Parameters
    ----------
    dimensions : sequence of Dimension
        In coordinate order.
    parents_first : sequence of int
        The coordinates, from the slowest to the fastest.
    neutral : ndarray of shape (d,)
        Where coordinates rest that do not exist.

    Yields
    ------
    ndarray of shape (d,)
    """
    index = [0] * len(dimensions)
    active = [False] * len(dimensions)
    turned = -1  # place, in parents_first, of the wheel that was turned last
    while True:
        for j in parents_first[turned + 1 :]:
            index[j] = 0
            active[j] = all(
                active[c.parent] and c.holds(index[c.parent])
                for c in dimensions[j].conditions
            )
        yield _point(dimensions, index, active, neutral)
        turned = len(parents_first) - 1
        while turned >= 0:
            j = parents_first[turned]
            if active[j] and index[j] + 1 < dimensions[j].parameter.size:
                break
            turned -= 1
        else:
            return
        index[j] += 1


def _point(
    dimensions: Sequence[Dimension],
    index: Sequence[int],
    active: Sequence[bool],
    neutral: FloatArray,
) -> FloatArray:
    x = neutral.copy()
    for j, each in enumerate(dimensions):
        if active[j] and isinstance(each.parameter, Countable):
            x[j] = each.parameter.number_at(index[j])
    return x
