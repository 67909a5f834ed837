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
    codes : ndarray of shape (n, c)
        Categories that have no column for each value, nan where they do not exist.
        They are compared instead.
    """

    splines: FloatArray
    gates: FloatArray
    smooth: FloatArray
    codes: FloatArray

    def room(self, n: int) -> "Rows":
        """Return n rows of the same widths, to be filled."""
        parts = (self.splines, self.gates, self.smooth, self.codes)
        return Rows(*(np.empty((n, part.shape[1])) for part in parts))

    def first(self, n: int) -> "Rows":
        """Return the first n rows, not copied."""
        parts = (self.splines, self.gates, self.smooth, self.codes)
        return Rows(*(part[:n] for part in parts))

    def put(self, start: int, other: "Rows") -> None:
        """Overwrite the rows from ``start`` on."""
        rows = slice(start, start + len(other.splines))
        self.splines[rows] = other.splines
        self.gates[rows] = other.gates
        self.smooth[rows] = other.smooth
        self.codes[rows] = other.codes

    def same(self, other: "Rows", weights: FloatArray) -> FloatArray:
        """Return the weights, shape ``(c,)``, of the codes that are equal, added up.

        The shape is ``(n, m)``, as for other products of rows.
        """
        total = np.zeros((len(self.codes), len(other.codes)))
        for own, their, weight in zip(
            self.codes.T, other.codes.T, weights, strict=True
        ):
            total += weight * (own[:, np.newaxis] == their)
        return total

    def different(self, other: "Rows", weights: FloatArray) -> FloatArray:
        """Return the weights of the codes that exist in both and differ, added up."""
        total = np.zeros((len(self.codes), len(other.codes)))
        for own, their, weight in zip(
            self.codes.T, other.codes.T, weights, strict=True
        ):
            column = own[:, np.newaxis]
            total += weight * ((column < their) | (column > their))
        return total
