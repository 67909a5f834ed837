"""All configurations of a space with conditions: how many, and one by one."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sklearn_mvrsm._domain import FloatArray
from sklearn_mvrsm._space.base import Countable
from sklearn_mvrsm._space.conditions import Condition, Dimension

__all__ = ["count", "walk"]


_MOST_WORK = 50_000  # parameters looked at in an exact count; trees need far fewer


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
    everything = {j: frozenset(each.conditions) for j, each in enumerate(dimensions)}
    try:
        return _Count(dimensions).all_of(everything)
    except (_TooMuchWorkError, RecursionError):
        return _product(each.parameter.size for each in dimensions)


class _TooMuchWorkError(Exception):
    pass


_Open = Mapping[int, frozenset[Condition]]  # parameters that exist if these hold


class _Count:
    """An exact count: what was counted before is remembered."""

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        self._sizes = [each.parameter.size for each in dimensions]
        self._children: list[set[int]] = [set() for _ in dimensions]
        for j, each in enumerate(dimensions):
            for condition in each.conditions:
                self._children[condition.parent].add(j)
        self._known: dict[frozenset[tuple[int, frozenset[Condition]]], int | float] = {}
        self._work = 0

    def all_of(self, group: _Open) -> int | float:
        factors = []
        for part in _parts(group):
            alone = len(part) == 1
            factors.append(self._sizes[min(part)] if alone else self._branch(part))
        return _product(factors)

    def _branch(self, part: _Open) -> int | float:
        key = frozenset(part.items())
        if key in self._known:
            return self._known[key]
        self._work += len(part)
        if self._work > _MOST_WORK:
            raise _TooMuchWorkError
        asked = [c for conditions in part.values() for c in conditions]
        free = {c.parent for c in asked if not part[c.parent]}
        root = max(sorted(free), key=[c.parent for c in asked].count)
        terms = []
        for size, held in _cases(int(self._sizes[root]), root, asked):
            terms.append(_product((size, self.all_of(self._decide(part, root, held)))))
        self._known[key] = math.inf if math.inf in terms else sum(terms)
        return self._known[key]

    def _decide(self, part: _Open, root: int, held: frozenset[Condition]) -> _Open:
        """Drop what a parent's value switches off, and the conditions it settles."""
        gone = {root}
        fallen = [
            j
            for j in self._children[root] & part.keys()
            if any(c.parent == root and c not in held for c in part[j])
        ]
        while fallen:
            j = fallen.pop()
            gone.add(j)
            fallen += self._children[j] & part.keys() - gone
        return {
            j: frozenset(c for c in conditions if c.parent != root)
            for j, conditions in part.items()
            if j not in gone
        }


def _cases(
    size: int, root: int, asked: Iterable[Condition]
) -> Iterable[tuple[int, frozenset[Condition]]]:
    """Group a parent's values by the conditions they satisfy: how many, which."""
    conditions = list({c for c in asked if c.parent == root})
    cuts = {0, size}
    for condition in conditions:
        for first, last in condition.spans:
            cuts |= {first, last + 1}
    ends = sorted(cuts)
    cases: dict[tuple[bool, ...], int] = {}  # a condition may take long to hash
    for start, stop in itertools.pairwise(ends):
        held = tuple(c.holds(start) for c in conditions)
        cases[held] = cases.get(held, 0) + stop - start
    return (
        (number, frozenset(itertools.compress(conditions, held)))
        for held, number in cases.items()
    )


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


def walk(
    dimensions: Sequence[Dimension], parents_first: Sequence[int], neutral: FloatArray
) -> Iterator[FloatArray]:
    """Go through the settings of all that is not real, like an odometer.

    Wheels appear and vanish as their parents turn. Reals stand still.

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
        A canonical point but for its reals, which are neutral.
    """
    places = [
        int(each.parameter.size) if isinstance(each.parameter, Countable) else 1
        for each in dimensions
    ]
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
            if active[j] and index[j] + 1 < places[j]:
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
