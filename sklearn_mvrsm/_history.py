"""What a method is shown: evaluated points with their values, and points under way."""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["History", "penalised"]

FloatArray = npt.NDArray[np.float64]

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
    """Replace failures by the worst finite value seen, 0 where there is none.

    Finite and within the range of what works, so that it neither hides the
    differences between good values nor lets a failed region look promising. Values
    are cut at +-8e307, so that differences are finite too.
    """
    finite = np.isfinite(values)
    worst = values[finite].max() if finite.any() else 0.0
    return np.clip(np.where(finite, values, worst), -LARGEST, LARGEST)
