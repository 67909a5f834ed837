"""The overlap kernel of categories and integers, as inner products of features.

Notation
--------
``Z (n, q)``    overlap features, ``Z Z^T = S``
``S (n, n')``   similarity of two points, between 0 and 1
``rho (k,)``    weight of each category and integer, summing to 1

``S = sum_i rho_i s_i`` with ``s_i = [h_i = h'_i]`` for a category and
``s_i = 1 - |x_i - x'_i| / span_i`` for an integer, which is the same thing where the
integer has two values. Both are inner products of indicators (one-hot, thermometer),
so the surrogate stays least squares on splines times indicators, never built.
A coordinate that is inactive in either point counts as unlike.

A column for each value of each category costs memory and time. Where they list very
many values there are none, and ``[h_i = h'_i]`` is computed from the codes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray, IntArray

__all__ = ["MOST_LISTED", "OverlapKernel"]


MOST_LISTED = 1000  # values of all categories that have a column each
MAX_THRESHOLDS = 16  # of one integer's thermometer
MAX_INTEGERS = 150  # more integers are left out: their cost is not bounded


@dataclass(frozen=True)
class OverlapKernel:
    """Overlap features of the categories and integers of a domain.

    Parameters
    ----------
    domain : Domain
        The box.
    relevance : ndarray of shape (d,)
        Positive scale of each coordinate; ``rho`` is its squares, normalised.
    one_hot : bool, default=True
        Whether the categories have columns.
    """

    domain: Domain
    relevance: FloatArray
    one_hot: bool = True

    @property
    def count(self) -> int:
        """Number of coordinates: the categories, then the integers if few."""
        integers = self.domain.n_integer
        return self.domain.n_categorical + integers * (integers <= MAX_INTEGERS)

    @cached_property
    def _weights(self) -> FloatArray:
        """Square roots of ``rho``, shape ``(count,)``."""
        share = self.relevance[: self.count] ** 2
        return np.asarray(np.sqrt(share / max(share.sum(), 1e-300)))

    @property
    def shares(self) -> FloatArray:
        """``rho`` of the categories."""
        return np.asarray(self._weights[: self.domain.n_categorical] ** 2)

    @cached_property
    def _first(self) -> IntArray:
        """First one-hot column of each category."""
        sizes = np.array(self.domain.category_sizes, dtype=np.intp) * self.one_hot
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @cached_property
    def _thermometer(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Coordinate, threshold and scale of each step of the integers."""
        columns, thresholds, scales = [], [], []
        for i in range(self.domain.n_categorical, self.count):
            steps = int(min(self.domain.span[i], MAX_THRESHOLDS))
            middle = (np.arange(steps) + 0.5) / max(steps, 1)
            columns += [i] * steps
            thresholds += list(self.domain.lower[i] + middle * self.domain.span[i])
            scales += [self._weights[i] / np.sqrt(max(steps, 1))] * steps
        return np.array(columns, np.intp), np.array(thresholds), np.array(scales)

    def features(self, points: FloatArray, active: BoolArray) -> FloatArray:
        """Evaluate the overlap features.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        active : ndarray of bool of shape (n, d)
            Which coordinates exist in each point.

        Returns
        -------
        ndarray of shape (n, q)
        """
        n, categories = len(points), self.domain.n_categorical
        columns, thresholds, scales = self._thermometer
        hot = int(self._first[-1])
        z = np.zeros((n, hot + 2 * len(columns)))
        if categories and self.one_hot:
            where = points[:, :categories].astype(np.intp) + self._first[:-1]
            value = active[:, :categories] * self._weights[:categories]
            z[np.arange(n)[:, np.newaxis], where] = value
        if len(columns):
            scale = active[:, columns] * scales
            above = points[:, columns] > thresholds
            z[:, hot : hot + len(columns)] = scale * above
            z[:, hot + len(columns) :] = scale * ~above
        return z
