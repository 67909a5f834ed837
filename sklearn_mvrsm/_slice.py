"""A slice of the posterior: along the reals, with everything that gates held.

There it is smooth but for the kinks of the splines, and has a gradient.

Notation
--------
``k (n,)``        covariance of a point with the observations
``alpha (n,)``    ``(K + lambda I)^-1 (y - mu)``; the value is ``mu + k . alpha``
``beta (n,)``     ``(K + lambda I)^-1 k``; the variance is ``k(u, u) - k . beta``
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrs

from sklearn_mvrsm._basis import RidgeSplines
from sklearn_mvrsm._rows import Rows
from sklearn_mvrsm._smooth import Coordinates, matern

__all__ = ["SMALLEST_VARIANCE", "Posterior", "Slice"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

SMALLEST_VARIANCE = 1e-12  # below, it is rounding


@dataclass(frozen=True)
class Posterior:
    """The posterior at one point of a slice.

    Parameters
    ----------
    value, deviation : float
    pull_back : callable
        Takes the derivatives of something in value and deviation, and gives its
        gradient in the point, of shape ``(d,)``; meaningful for the reals.
    """

    value: float
    deviation: float
    pull_back: Callable[[float, float], FloatArray]


@dataclass(frozen=True)
class Slice:
    """The posterior as a function of the reals.

    Parameters
    ----------
    splines : RidgeSplines
    spline_scale : ndarray of shape (D,)
        Prior deviation of each spline's weight.
    coordinates : Coordinates
    smooth_scale : ndarray of shape (w,)
        One over the length of each feature of the smooth part.
    smooth : float
        Variance of the smooth part.
    active : ndarray of bool of shape (d,)
    rows : Rows
        The observations.
    lower : ndarray of shape (n, n)
        Cholesky factor of their covariance, in Fortran's order: it is not copied.
    alpha : ndarray of shape (n,)
    mean, amplitude : float
        ``mu``, and the factor of every variance.
    gates : tuple of ndarray of shape (n,) and ndarray of shape (n,)
        Factor of the splines' covariance with each observation, and what is added.
    own_gates : tuple of float and float
        The same of the point with itself.
    """

    splines: RidgeSplines
    spline_scale: FloatArray
    coordinates: Coordinates
    smooth_scale: FloatArray
    smooth: float
    active: BoolArray
    rows: Rows
    lower: FloatArray
    alpha: FloatArray
    mean: float
    amplitude: float
    gates: tuple[FloatArray, FloatArray]
    own_gates: tuple[float, float]

    def at(self, point: FloatArray) -> Posterior:
        """Return the posterior at a point.

        Parameters
        ----------
        point : ndarray of shape (d,)
            It has the categories, integers and activity of the slice.
        """
        one = point[np.newaxis], self.active[np.newaxis]
        phi = self.splines.features(one[0])[0] * self.spline_scale
        w = self.coordinates.features(*one)[0] * self.smooth_scale
        smooth, slope = matern(((self.rows.smooth - w) ** 2).sum(axis=1))
        (factor, added), own = self.gates, self.own_gates
        k = (self.rows.splines @ phi) * factor + added + self.smooth * smooth
        beta, _ = dpotrs(self.lower, k, lower=1)
        raw = float(phi @ phi) * own[0] + own[1] + self.smooth - float(k @ beta)
        deviation = float(np.sqrt(max(raw, SMALLEST_VARIANCE) * self.amplitude))

        def pull_back(by_value: float, by_deviation: float) -> FloatArray:
            # deviation^2 = amplitude variance
            by_variance = by_deviation * self.amplitude / (2.0 * deviation)
            by_variance *= raw > SMALLEST_VARIANCE
            by_k = by_value * self.alpha - 2.0 * by_variance * beta
            weights = (by_k * factor) @ self.rows.splines
            weights += 2.0 * by_variance * own[0] * phi
            _, gradient = self.splines.value_and_gradient(
                point, weights * self.spline_scale
            )
            return gradient + self._through_smooth(by_k * slope, w)

        return Posterior(self.mean + float(k @ self.alpha), deviation, pull_back)

    def _through_smooth(self, weights: FloatArray, w: FloatArray) -> FloatArray:
        """Return the gradient that comes through the smooth part, shape ``(d,)``."""
        numbers = self.coordinates.numbers
        # dm/dw = -slope (w - w_j)
        along = weights @ self.rows.smooth[:, numbers] - weights.sum() * w[numbers]
        along *= self.smooth * self.smooth_scale[numbers] * self.coordinates.scale
        gradient = np.zeros(len(self.active))
        gradient[len(gradient) - len(along) :] = along
        return gradient * self.active
