"""What a method is shown: evaluated points with their values, and points under way."""

import math
from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["History", "penalised"]

FloatArray = npt.NDArray[np.float64]

OUTLIER = 10.0  # times the height of the worst tenth above the best
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


def penalised(values: FloatArray) -> FloatArray:
    """Return what the surrogate is shown: values that are finite and of one kind.

    Values that lie far above all but the worst tenth are lowered to ten times the
    height of that tenth above the best, so that one that has diverged does not hide
    the differences between the others. A failure counts as the worst of the rest, 0
    where there is none: it must not look promising either. Values are cut at +-8e307,
    so that differences are finite too.
    """
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(values))
    shown = np.clip(values, -LARGEST, LARGEST)
    shown[finite] = np.minimum(shown[finite], _ceiling(shown[finite]))
    shown[~finite] = shown[finite].max()
    return shown


def _ceiling(values: FloatArray) -> float:
    """Return the height above which a value is an outlier."""
    n = len(values)
    if n < FEWEST:
        return math.inf
    worst_tenth = n - max(n // 10, 2)
    low, high = values.min(), np.partition(values, worst_tenth)[worst_tenth]
    return float(low) + OUTLIER * (float(high) - float(low)) if high > low else math.inf
