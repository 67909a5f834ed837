"""Rows: what points are in the covariance of the surrogate."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Rows"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Features of n points, a row each.

    Parameters
    ----------
    splines : ndarray of shape (n, D)
        ``Phi``, scaled by the prior deviation of each spline's weight.
    gates : ndarray of shape (n, q)
        ``Z``, see :mod:`sklearn_mvrsm._gates`.
    smooth : ndarray of shape (n, w)
        ``W / l``, see :mod:`sklearn_mvrsm._smooth`.
    """

    splines: FloatArray
    gates: FloatArray
    smooth: FloatArray

    def room(self, n: int) -> "Rows":
        """Return n rows of the same widths, to be filled."""
        parts = (self.splines, self.gates, self.smooth)
        return Rows(*(np.empty((n, part.shape[1])) for part in parts))

    def first(self, n: int) -> "Rows":
        """Return the first n rows, not copied."""
        return Rows(self.splines[:n], self.gates[:n], self.smooth[:n])

    def put(self, start: int, other: "Rows") -> None:
        """Overwrite the rows from ``start`` on."""
        rows = slice(start, start + len(other.splines))
        self.splines[rows] = other.splines
        self.gates[rows] = other.gates
        self.smooth[rows] = other.smooth
