"""The posterior along the reals, at fixed categories and integers, with its gradient.

It is smooth but for the kinks of the splines. Terms that do not depend on the reals are
computed once, when the slice is made.

Notation
--------
``k (n,)``        covariance of a point with the observations
``alpha (n,)``    ``(K + lambda I)^-1 (y - mu)``; the value is ``mu + k . alpha``
``beta (n,)``     ``(K + lambda I)^-1 k``; the variance is ``k(u, u) - k . beta``
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrs

from sklearn_mvrsm._domain import BoolArray, FloatArray
from sklearn_mvrsm._surrogate.kernel import Features, Kernel
from sklearn_mvrsm._surrogate.matern_kernel import matern_52

__all__ = ["SMALLEST_VARIANCE", "Posterior", "RealSlice", "Solution"]


SMALLEST_VARIANCE = 1e-12  # below, it is rounding


@dataclass(frozen=True)
class Posterior:
    """The posterior at one point of a slice.

    Parameters
    ----------
    value, deviation : float
    gradient : callable
        Takes the derivatives of something in value and deviation, and returns its
        gradient in the point, of shape ``(d,)``; meaningful for the reals.
    """

    value: float
    deviation: float
    gradient: Callable[[float, float], FloatArray]


@dataclass(frozen=True)
class Solution:
    """The solved least squares problem.

    Parameters
    ----------
    rows : Features
        The observations.
    upper : ndarray of shape (n, n)
        Transposed Cholesky factor of their covariance, in Fortran's order: it is not
        copied.
    alpha : ndarray of shape (n,)
    mean, amplitude : float
        ``mu``, and the factor of every variance.
    """

    rows: Features
    upper: FloatArray
    alpha: FloatArray
    mean: float
    amplitude: float


class RealSlice:
    """The posterior as a function of the reals.

    Parameters
    ----------
    kernel : Kernel
    solution : Solution
    start : ndarray of shape (d,)
        A point of the slice.
    active : ndarray of bool of shape (d,)
        Which coordinates exist there.
    """

    def __init__(
        self, kernel: Kernel, solution: Solution, start: FloatArray, active: BoolArray
    ) -> None:
        self._solution = solution
        self._real = real = kernel.domain.real
        self._start = start[real].copy()
        rows = solution.rows
        own = kernel.features(start[np.newaxis], active[np.newaxis])
        theta = kernel.hyperparameters
        both = (kernel.similarity_to(each, own) for each in (rows, own))
        (self._factor, added), of_own = map(theta.overlap_terms, both)
        # of the variance k(u, u)
        self._own_factor, self._own = (float(np.squeeze(each)) for each in of_own)

        first, self._splines = kernel.along_reals
        self._scale = kernel.spline_scale[first:]
        self._features = rows.splines[:, first:]
        held = own.splines[0, :first]
        self._known = (rows.splines[:, :first] @ held) * self._factor + added
        self._matern = theta.matern
        self._own += self._own_factor * float(held @ held) + self._matern

        # the Matern features of reals are the last ones
        q = own.matern.shape[1] - kernel.domain.n_real
        per_unit = kernel.inverse_lengthscales[q:] * active[real]
        self._rate = per_unit * kernel.matern_features.scale[kernel.domain.n_integer :]
        self._near = rows.matern[:, q:] - own.matern[0, q:]
        self._far = ((rows.matern[:, :q] - own.matern[0, :q]) ** 2).sum(axis=1)
        if not kernel.one_hot:
            self._far += kernel.apart(rows, own)[:, 0]

    def at(self, point: FloatArray) -> Posterior:
        """Return the posterior at a point.

        Parameters
        ----------
        point : ndarray of shape (d,)
            It has the categories, integers and activity of the slice.
        """
        solution, real = self._solution, self._real
        z = self._splines.arguments(point)
        phi = np.maximum(z, 0.0)
        phi *= self._scale
        apart = self._near - (point[real] - self._start) * self._rate
        squares = np.einsum("ij,ij->i", apart, apart)
        squares += self._far
        matern, slope = matern_52(squares)
        matern *= self._matern
        k = self._features @ phi
        k *= self._factor
        k += self._known
        k += matern
        beta, _ = dpotrs(solution.upper, k, lower=0)
        raw = float(phi @ phi) * self._own_factor + self._own - float(k @ beta)
        variance = max(raw, SMALLEST_VARIANCE) * solution.amplitude
        deviation = math.sqrt(variance)

        def gradient(by_value: float, by_deviation: float) -> FloatArray:
            # value mu + k . alpha, deviation^2 = amplitude (k(u, u) - k . beta)
            by_variance = by_deviation * solution.amplitude / (2.0 * deviation)
            by_variance *= raw > SMALLEST_VARIANCE
            by_k = by_value * solution.alpha
            by_k -= 2.0 * by_variance * beta
            weights = (by_k * self._factor) @ self._features
            weights += 2.0 * by_variance * self._own_factor * phi
            weights *= self._scale
            gradient = self._splines.gradient(z, weights)
            # dm/dw = -slope (w - w_j)
            along = (by_k * slope) @ apart
            gradient[real] += self._matern * self._rate * along
            return gradient

        value = solution.mean + float(k @ solution.alpha)
        return Posterior(value, deviation, gradient)
