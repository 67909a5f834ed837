"""The observations of a method, and the points that are evaluated at present."""

import math
from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm._domain.domain import FloatArray

__all__ = ["History", "as_number", "impute_failures"]


OUTLIER = 30.0  # (max - best) / (q90 - best), above which values are clipped
CEILING = 10.0  # (clipped - best) / (q90 - best)
FEWEST = 8  # values, of fewer none is clipped
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
    constraints : ndarray of shape (n,) or None
        Of each evaluated point the number that must be <= 0: nan where it is not known,
        infinite where it could not be computed. None while none was told.
    """

    points: FloatArray
    values: FloatArray
    pending: FloatArray
    seen: Set[bytes]
    constraints: FloatArray | None = None

    @property
    def is_flat(self) -> bool:
        """Whether all values seen are equal, and all constraints if there are any.

        Then surrogates are flat, too.
        """
        columns = [self.values]
        if self.constraints is not None:
            columns.append(self.constraints)
        known = [column[np.isfinite(column)] for column in columns]
        if not len(known[0]):
            return True
        return all(not len(each) or each.min() == each.max() for each in known)


def as_number(constraint: float | None) -> float:
    """Return a constraint as `History` has it: nan if unknown, infinite for nan."""
    if constraint is None:
        return math.nan
    return math.inf if math.isnan(constraint) else constraint


def impute_failures(values: FloatArray, limit: float = -math.inf) -> FloatArray:
    """Return finite values for the surrogate.

    If max - best > 30 (q90 - best), values are clipped at best + 10 (q90 - best): one
    that has diverged would hide the differences between the others. It remains at least
    as far above the limit as the best is below. A failure takes the worst of the other
    values, 0 where there is none. All are clipped at +-8e307, so that differences are
    finite.
    """
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(values))
    shown = np.clip(values, -LARGEST, LARGEST)
    shown[finite] = np.minimum(shown[finite], _ceiling(shown[finite], limit))
    shown[~finite] = shown[finite].max()
    return shown


def _ceiling(values: FloatArray, limit: float) -> float:
    """Return the value at which others are clipped, if one is an outlier."""
    n = len(values)
    if n < FEWEST:
        return math.inf
    worst = n - max(n // 10, 2)  # the worst tenth, and no fewer than two
    low, high = float(values.min()), float(np.partition(values, worst)[worst])
    if high == low or values.max() <= low + OUTLIER * (high - low):
        return math.inf
    return max(low + CEILING * (high - low), 2.0 * limit - low)
