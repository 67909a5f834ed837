"""All configurations of a space with conditions: how many, and one by one."""

import itertools
import math
from collections.abc import Iterator, Sequence

from sklearn_mvrsm._domain import FloatArray
from sklearn_mvrsm._space.conditions import Dimension

__all__ = ["count", "walk"]


_MOST_COUNTED = 10_000  # configurations that are counted one by one


def count(dimensions: Sequence[Dimension], parents_first: Sequence[int]) -> int | float:
    """Return the number of configurations, exact up to 10,000.

    Parameters
    ----------
    dimensions : sequence of Dimension
        In coordinate order.
    parents_first : sequence of int
        The coordinates, parents before their children.

    Returns
    -------
    int or math.inf
        The product of all sizes, an upper bound, where there are more than 10,000 and
        some parameters are conditional; without conditions it is exact.
    """
    sizes = [each.parameter.size for each in dimensions]
    if math.inf in sizes:  # which math.prod cannot multiply by a large int
        return math.inf
    if any(each.conditions for each in dimensions):
        settings = _settings(dimensions, parents_first)
        counted = sum(1 for _ in itertools.islice(settings, _MOST_COUNTED + 1))
        if counted <= _MOST_COUNTED:
            return counted
    return math.prod(sizes)


def walk(
    dimensions: Sequence[Dimension], parents_first: Sequence[int], neutral: FloatArray
) -> Iterator[FloatArray]:
    """Iterate in mixed-radix order; reals keep their neutral value.

    Parameters
    ----------
    dimensions : sequence of Dimension
        In coordinate order.
    parents_first : sequence of int
        The coordinates, from the slowest to the fastest.
    neutral : ndarray of shape (d,)
        The coordinates of inactive parameters.

    Yields
    ------
    ndarray of shape (d,)
        A canonical point but for its reals, which are neutral.
    """
    for index, active in _settings(dimensions, parents_first):
        x = neutral.copy()
        for j, each in enumerate(dimensions):
            if active[j] and each.parameter.size < math.inf:
                x[j] = each.parameter.number_at(index[j])
        yield x


def _settings(
    dimensions: Sequence[Dimension], parents_first: Sequence[int]
) -> Iterator[tuple[list[int], list[bool]]]:
    """Yield the index of each value and which parameters are active, as two lists.

    They are the same lists each time. Inactive parameters are skipped.
    """
    sizes = [
        int(each.parameter.size) if each.parameter.size < math.inf else 1
        for each in dimensions
    ]
    index = [0] * len(dimensions)
    active = [False] * len(dimensions)
    turned = -1  # place, in parents_first, of the digit that was raised last
    while True:
        for j in parents_first[turned + 1 :]:
            index[j] = 0
            active[j] = all(
                active[c.parent] and c.holds(index[c.parent])
                for c in dimensions[j].conditions
            )
        yield index, active
        turned = len(parents_first) - 1
        while turned >= 0:
            j = parents_first[turned]
            if active[j] and index[j] + 1 < sizes[j]:
                break
            turned -= 1
        else:
            return
        index[j] += 1
