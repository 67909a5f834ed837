"""What a method is shown: evaluated points with their values, and points under way."""

import math
from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm._domain import FloatArray

__all__ = ["History", "impute_failures"]


OUTLIER = 30.0  # times the height of the worst tenth above the best: diverged
CEILING = 10.0  # times that height, to which what is above is lowered then
FEWEST = 8  # values of which one can be told to be an outlier
LARGEST = 8e307  # less than half of what a float64 can hold


@dataclass(frozen=True)
class History:
    """Evaluated and pending points, all canonical.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Evaluated points in the order in which they were told.
    values : ndarray of shape (n,)
        Their values, lower is better; not finite where the evaluation failed.
    pending : ndarray of shape (m, d)
        Points that were asked for and not told yet.
    seen : set of bytes
        The bytes of every evaluated and pending point.
    """

    points: FloatArray
    values: FloatArray
    pending: FloatArray
    seen: Set[bytes]


def impute_failures(values: FloatArray) -> FloatArray:
    """Return what the surrogate is shown: values that are finite and of one kind.

    One that has diverged must not hide the differences between the others: where a
    value lies thirty times as far above the best as the worst tenth do, all values are
    cut at ten times. A failure counts as the worst of the rest, 0 where there is none:
    it must not look promising either. Values are cut at +-8e307 in any case, so that
    differences are finite.
    """
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(values))
    shown = np.clip(values, -LARGEST, LARGEST)
    shown[finite] = np.minimum(shown[finite], _ceiling(shown[finite]))
    shown[~finite] = shown[finite].max()
    return shown


def _ceiling(values: FloatArray) -> float:
    """Return the height at which values are cut, if one of them is an outlier."""
    n = len(values)
    if n < FEWEST:
        return math.inf
    worst = n - max(n // 10, 2)  # the worst tenth, and no fewer than two
    low, high = float(values.min()), float(np.partition(values, worst)[worst])
    if high == low or values.max() <= low + OUTLIER * (high - low):
        return math.inf
    return low + CEILING * (high - low)
