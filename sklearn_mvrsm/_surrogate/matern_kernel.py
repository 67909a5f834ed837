"""The Matern 5/2 term of the kernel, over all coordinates.

Splines describe kinks and steps between integers, but curvature only where there are
many kinks. This term describes curvature, with a lengthscale for each coordinate.

Notation
--------
``W (n, q)``   features of points: numbers in units of their range, categories one-hot
``l (d,)``     lengthscale of each coordinate
``r``          distance of two points, ``r^2 = sum_k (W_k - W'_k)^2 / l_k^2``
``m(r)``       ``(1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r)``, Matern covariance with
               ``nu = 5/2`` (Rasmussen and Williams, 2006, eq. 4.17)
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray, IntArray

__all__ = ["MaternFeatures", "matern_52", "squared_distances"]


PRESENCE = 0.5  # distance between being at the lower end and being inactive
THINNEST = 1e-300  # width of a coordinate
ROOT_5 = float(np.sqrt(5.0))


@dataclass(frozen=True)
class MaternFeatures:
    """Features whose distances are those of the coordinates.

    Two values of a category are one apart, as are the two ends of a number. What is
    inactive in both points does not count; what is inactive in one is apart from every
    value in the other.

    Parameters
    ----------
    domain : Domain
        The box.
    one_hot : bool, default=True
        Whether a category has a feature for each value. Else it has one, for whether
        it exists, and the distance of two values is to be added.
    """

    domain: Domain
    one_hot: bool = True

    @cached_property
    def _sizes(self) -> IntArray:
        """Number of features of each category."""
        sizes = np.array(self.domain.category_sizes, dtype=np.intp)
        return sizes if self.one_hot else np.ones_like(sizes)

    @cached_property
    def _first(self) -> IntArray:
        """First feature of each category, and the first of the numbers."""
        sizes = self._sizes
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @cached_property
    def group(self) -> IntArray:
        """Coordinate of each feature, ascending, shape ``(q,)``."""
        sizes = self._sizes.tolist()
        sizes += [1] * (self.domain.d - self.domain.n_categorical)
        return np.repeat(np.arange(self.domain.d), sizes)

    @property
    def numbers(self) -> slice:
        """Which features are of integers and reals, in their order."""
        return slice(int(self._first[-1]), len(self.group))

    @cached_property
    def scale(self) -> FloatArray:
        """Change of its feature for a unit of each integer and real."""
        span = self.domain.span[self.domain.n_categorical :]
        # a range too narrow to divide by counts as a single value
        return 1.0 / np.where(span > THINNEST, span, 1.0)

    def features(self, points: FloatArray, active: BoolArray) -> FloatArray:
        """Evaluate the features, for lengthscales of one.

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
        w = np.zeros((n, len(self.group)))
        if categories:
            code = points[:, :categories].astype(np.intp) * self.one_hot
            where = code + self._first[:-1]
            # the squares of two of these make a squared distance of one
            value = np.sqrt(0.5) * active[:, :categories]
            w[np.arange(n)[:, np.newaxis], where] = value
        share = (points - self.domain.lower)[:, categories:] * self.scale
        w[:, self.numbers] = active[:, categories:] * (PRESENCE + share)
        return w


def squared_distances(w: FloatArray, other: FloatArray) -> FloatArray:
    """Return the squared distances of rows, shape ``(n, m)``."""
    # |w - w'|^2 = |w|^2 + |w'|^2 - 2 w . w'
    squares = np.einsum("ij,ij->i", w, w)[:, np.newaxis]
    squares = squares + np.einsum("ij,ij->i", other, other)
    squares -= 2.0 * (w @ other.T)
    return np.asarray(np.maximum(squares, 0.0, out=squares))


def matern_52(squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``m(r)`` and ``-2 dm / d(r^2)``.

    Parameters
    ----------
    squared : ndarray
        ``r^2``.

    Returns
    -------
    value, slope : ndarray
        Of the same shape. The derivative of ``m`` in a feature ``w`` of one point is
        ``-slope (w - w')``, and the one in ``log l`` is ``slope (w - w')^2``.
    """
    r = np.sqrt(squared)
    r *= ROOT_5
    decay, slope = np.exp(-r), 1.0 + r
    r *= r
    r /= 3.0
    r += slope
    r *= decay  # eq. (4.17)
    # d/dr [(1 + a r + a^2 r^2 / 3) e^(-a r)] = -a^2 / 3 r (1 + a r) e^(-a r)
    slope *= 5.0 / 3.0
    slope *= decay
    return r, slope
