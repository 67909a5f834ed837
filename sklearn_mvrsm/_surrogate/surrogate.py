"""The Gaussian process, as least squares on ridge splines in dual form.

Notation
--------
``n``              stored observations
``Phi (n, D)``     splines at the observations, scaled by their prior deviation
``K (n, n)``       prior covariance, see ``hyperparameters.py``
``lambda``         ridge: variance of the noise
``L (n, n)``       lower Cholesky factor of ``K + lambda I``
``alpha (n,)``     ``(K + lambda I)^-1 (y - mu)``

With ``c = Phi^T alpha`` this is least squares on the splines, the same as recursive
least squares started from ``P_0 = I / lambda`` (matrix inversion lemma), at the cost
of ``O(n D + n^2)`` an observation; a new scaling of ``y`` costs two triangular solves.
The surrogate is a sum of two: for fixed categories and integers the splines are again a
plain ridge spline, whose minima are those of Theorem 1 (:meth:`Surrogate.spline_at`),
and the Matern term is the rest.
"""

import numpy as np
from scipy.linalg.lapack import dpotrs, dtrtrs

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray
from sklearn_mvrsm._paper import RidgeSplines
from sklearn_mvrsm._surrogate.fitting import FittedModel, fit_hyperparameters
from sklearn_mvrsm._surrogate.kernel import Features, Kernel, safe_cholesky
from sklearn_mvrsm._surrogate.output_warp import OutputTransform
from sklearn_mvrsm._surrogate.posterior import SMALLEST_VARIANCE, RealSlice, Solution

__all__ = ["CAPACITY", "FORGET", "Surrogate"]


CAPACITY = 1000  # observations kept; beyond, old and bad ones are forgotten
FORGET = 0.1  # share forgotten at a time


class Surrogate:
    """A Gaussian process that grows by one observation at a time.

    Parameters
    ----------
    domain : Domain
        The box.
    seed : int
        Of the random directions and offsets.

    Attributes
    ----------
    target : float
        The value to improve on, on the scale of the surrogate: 0, to which the best
        observation is mapped, unless it is set.
    """

    def __init__(self, domain: Domain, seed: int) -> None:
        self.domain = domain
        self.seed = seed
        self.model = FittedModel(Kernel.default(domain, seed))
        self.output = OutputTransform(0.0, 1.0, 0.0)
        self.target = 0.0
        self._clear(0)

    def _clear(self, rows: int) -> None:
        """Make room for ``rows`` observations and forget all."""
        d = self.domain.d
        none = self.kernel.features(np.zeros((0, d)), np.zeros((0, d), dtype=np.bool_))
        self.n, self._features = 0, none.room(rows)
        self._lower = np.zeros((rows, rows))
        self._upper: FloatArray = np.zeros((0, 0))
        self.alpha: FloatArray = np.zeros(0)
        self._observed: FloatArray = np.zeros(0)
        self.mean, self.amplitude = 0.0, 1.0

    # --- observations -------------------------------------------------------

    def append(self, points: FloatArray, active: BoolArray) -> None:
        """Add observations: new rows of ``Phi`` and of the Cholesky factor.

        Parameters
        ----------
        points : ndarray of shape (m, d)
        active : ndarray of bool of shape (m, d)
        """
        m, n = len(points), self.n
        if n + m > len(self._lower):
            self._grow(max(n + m, 2 * n, 32))
        new = self.kernel.features(points, active)
        own = self.kernel.covariance(new, new)
        own[np.diag_indices(m)] += self.kernel.hyperparameters.noise
        rows = slice(n, n + m)
        if n:
            # [L 0; C^T L^-T, chol(own - C^T K^-1 C)] is the factor of both together
            cross = self.kernel.covariance(self.features, new)
            left, _ = dtrtrs(self.factor.T, cross, trans=1)
            self._lower[rows, :n] = left.T
            own -= left.T @ left
        self._features.put(n, new)
        self._lower[rows, rows] = safe_cholesky(own, self.kernel.hyperparameters.noise)
        self.n = n + m

    def truncate(self, n: int) -> None:
        """Forget all but the first ``n`` observations, in no time."""
        self.n = n

    @property
    def features(self) -> Features:
        """Features of the observations."""
        return self._features.first(self.n)

    @property
    def factor(self) -> FloatArray:
        """``L``, the Cholesky factor of the observations' covariance."""
        return self._lower[: self.n, : self.n]

    def _grow(self, rows: int) -> None:
        n, old, factor = self.n, self.features, self.factor
        self._clear(rows)
        self._features.put(0, old)
        self._lower[:n, :n] = factor
        self.n = n

    @property
    def kernel(self) -> Kernel:
        """The prior covariance."""
        return self.model.kernel

    @property
    def splines(self) -> RidgeSplines:
        """The ridge splines under the surrogate."""
        return self.kernel.splines

    # --- solving and predicting ---------------------------------------------

    def solve(self, values: FloatArray) -> None:
        """Fit the weights to values of the objective, shape ``(n,)``."""
        self.output = OutputTransform.of(values, self.model.warp)
        self._solve(self.output.apply(values))

    def fantasize(self, points: FloatArray, active: BoolArray) -> None:
        """Append points at their predicted values, until truncated.

        They lower the deviations near them; the amplitude stays as it is.
        """
        predicted = self.predict(points, active)
        observed, amplitude = self._observed, self.amplitude
        self.append(points, active)
        self._solve(np.concatenate([observed, predicted]))
        self.amplitude = amplitude

    def _solve(self, y: FloatArray) -> None:
        self._observed = y
        # contiguous, so that LAPACK does not copy it each time
        self._upper = np.ascontiguousarray(self.factor).T
        both, _ = dpotrs(self._upper, np.column_stack([y, np.ones(self.n)]))
        self.mean = float(
            both[:, 0].sum() / both[:, 1].sum()
        )  # generalised least squares
        self.alpha = both[:, 0] - self.mean * both[:, 1]
        # y^T K^-1 y / n: the amplitude that makes the data most likely
        self.amplitude = max(float((y - self.mean) @ self.alpha) / self.n, 1e-12)

    def predict(self, points: FloatArray, active: BoolArray) -> FloatArray:
        """Return the surrogate's value at the points, shape ``(m,)``."""
        cross = self.kernel.covariance(
            self.kernel.features(points, active), self.features
        )
        return np.asarray(self.mean + cross @ self.alpha)

    def predict_with_deviation(
        self, points: FloatArray, active: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return value and posterior standard deviation, each of shape ``(m,)``."""
        rows = self.kernel.features(points, active)
        cross = self.kernel.covariance(rows, self.features)
        value = self.mean + cross @ self.alpha
        left, _ = dtrtrs(self._upper, cross.T, trans=1, overwrite_b=1)
        # v(x) = k(x, x) - k_x^T (K + lambda I)^-1 k_x
        variance = self.kernel.variance(rows) - np.einsum("ij,ij->j", left, left)
        deviation = np.sqrt(np.maximum(variance, SMALLEST_VARIANCE) * self.amplitude)
        return value, deviation

    def real_slice(self, point: FloatArray, active: BoolArray) -> RealSlice:
        """Return the posterior along the reals.

        Parameters
        ----------
        point : ndarray of shape (d,)
            Its categories, integers and activity are those of the slice.
        active : ndarray of bool of shape (d,)
        """
        solution = Solution(
            self.features, self._upper, self.alpha, self.mean, self.amplitude
        )
        return RealSlice(self.kernel, solution, point, active)

    def spline_at(
        self, point: FloatArray, active: BoolArray
    ) -> tuple[FloatArray, float]:
        """Return the plain ridge spline in the surrogate for a fixed overlap kernel.

        It is the surrogate less the Matern term.

        Parameters
        ----------
        point : ndarray of shape (d,)
            Its categories, integers and activity are those of the slice.
        active : ndarray of bool of shape (d,)

        Returns
        -------
        weights : ndarray of shape (D,)
            Of the splines of :attr:`splines`: ``Phi^T (alpha (1 + interaction S))``.
        constant : float
        """
        kernel, constant = self.kernel, self.mean
        own = kernel.compared(point[np.newaxis], active[np.newaxis])
        similarity = kernel.similarity_to(self.features, own)
        factor, added = kernel.hyperparameters.overlap_terms(similarity)
        constant += float(self.alpha @ np.broadcast_to(added, self.n))
        weights = (self.alpha * factor) @ self.features.splines
        return weights * kernel.spline_scale, constant

    @property
    def width(self) -> int:
        """Number of features of an observation."""
        rows = self._features
        parts = (rows.splines, rows.overlap, rows.matern)
        return sum(part.shape[1] for part in parts)

    # --- hyperparameters ----------------------------------------------------

    def fit_hyperparameters(
        self, points: FloatArray, active: BoolArray, values: FloatArray
    ) -> None:
        """Fit relevance and hyperparameters, then build everything anew.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        active : ndarray of bool of shape (n, d)
        values : ndarray of shape (n,)
            Of the objective; their scale does not matter.
        """
        self.model = fit_hyperparameters(self.model, points, active, values)
        self._clear(max(2 * len(values), 32))
        self.append(points, active)
