"""The surrogate: regularised least squares on gated ridge splines, in dual form.

Notation
--------
``n``              stored observations
``Phi (n, D)``     splines at the observations, scaled by their prior deviation
``S (n, n)``       similarity of the gates, see ``overlap_kernel.py``
``M (n, n)``       smooth covariance, see ``matern_kernel.py``
``K (n, n)``       covariance ``(Phi Phi^T) (1 + gate S) + linear S + local
                   exp(sharpness (S - 1)) + smooth M``
``lambda``         ridge: variance of the noise
``L (n, n)``       lower Cholesky factor of ``K + lambda I``
``alpha (n,)``     ``(K + lambda I)^-1 (y - mu)``

With ``c = Phi^T alpha`` this is least squares on the splines, the same as recursive
least squares started from ``P_0 = I / lambda`` (matrix inversion lemma), at the cost
of ``O(n D + n^2)`` an observation; a new scaling of ``y`` costs two triangular solves.
The gated splines (every spline times every indicator of a category or integer) are
never built: they enter through ``1 + gate S``. The surrogate is a sum of two: for fixed
categories and integers the splines are again a plain ridge spline, whose minima are
those of Theorem 1 (:meth:`Surrogate.section`), and the smooth part is what they leave.
"""

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray
from sklearn_mvrsm._paper import RidgeSplines
from sklearn_mvrsm._surrogate.fitting import Knowledge, learn
from sklearn_mvrsm._surrogate.kernel import Belief, Rows, safe_cholesky
from sklearn_mvrsm._surrogate.output_warp import Output
from sklearn_mvrsm._surrogate.posterior import SMALLEST_VARIANCE, Slice, Solution

__all__ = ["CAPACITY", "FORGET", "Surrogate"]


CAPACITY = 1000  # observations kept; beyond, old and bad ones are forgotten
FORGET = 0.1  # share forgotten at a time


class Surrogate:
    """Least squares on gated ridge splines, grown one observation at a time.

    Parameters
    ----------
    domain : Domain
        The box.
    seed : int
        Of the random directions and offsets.
    """

    def __init__(self, domain: Domain, seed: int) -> None:
        self.domain = domain
        self.seed = seed
        self.known = Knowledge(Belief.default(domain, seed))
        self.output = Output(0.0, 1.0, 0.0)
        self._clear(0)

    def _clear(self, rows: int) -> None:
        """Make room for ``rows`` observations and forget all."""
        d = self.domain.d
        none = self.belief.rows(np.zeros((0, d)), np.zeros((0, d), dtype=np.bool_))
        self.n, self._rows = 0, none.room(rows)
        self._lower = np.zeros((rows, rows))
        self.alpha: FloatArray = np.zeros(0)
        self._told: FloatArray = np.zeros(0)
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
        new = self.belief.rows(points, active)
        own = self.belief.covariance(new, new)
        own[np.diag_indices(m)] += self.belief.prior.noise
        rows = slice(n, n + m)
        if n:
            cross = self.belief.covariance(self.rows, new)
            left = solve_triangular(self.factor, cross, lower=True, check_finite=False)
            self._lower[rows, :n] = left.T
            own -= left.T @ left
        self._rows.put(n, new)
        self._lower[rows, rows] = safe_cholesky(own, self.belief.prior.noise)
        self.n = n + m

    def truncate(self, n: int) -> None:
        """Forget all but the first ``n`` observations, in no time."""
        self.n = n

    @property
    def rows(self) -> Rows:
        """What the observations are in the covariance."""
        return self._rows.first(self.n)

    @property
    def factor(self) -> FloatArray:
        """``L``, the Cholesky factor of the observations' covariance."""
        return self._lower[: self.n, : self.n]

    def _grow(self, rows: int) -> None:
        n, old, factor = self.n, self.rows, self.factor
        self._clear(rows)
        self._rows.put(0, old)
        self._lower[:n, :n] = factor
        self.n = n

    @property
    def belief(self) -> Belief:
        """What is believed of the function."""
        return self.known.belief

    @property
    def splines(self) -> RidgeSplines:
        """The ridge splines under the surrogate."""
        return self.belief.splines

    # --- solving and predicting ---------------------------------------------

    def solve(self, values: FloatArray) -> None:
        """Fit the weights to values of the objective, shape ``(n,)``."""
        self.output = Output.of(values, self.known.strength)
        self._solve(self.output.apply(values))

    def imagine(self, points: FloatArray, active: BoolArray) -> None:
        """Append points that stand at their predicted values until truncated.

        They say where deviations are small, not how large they are elsewhere.
        """
        told = np.concatenate([self._told, self.predict(points, active)])
        amplitude = self.amplitude
        self.append(points, active)
        self._solve(told)
        self.amplitude = amplitude

    def _solve(self, y: FloatArray) -> None:
        self._told = y
        factor = (self._lower[: self.n, : self.n], True)
        both = cho_solve(
            factor, np.column_stack([y, np.ones(self.n)]), check_finite=False
        )
        self.mean = float(both[:, 0].sum() / both[:, 1].sum())  # generalised mean
        self.alpha = both[:, 0] - self.mean * both[:, 1]
        # y^T K^-1 y / n: the amplitude that makes the data most likely
        self.amplitude = max(float((y - self.mean) @ self.alpha) / self.n, 1e-12)

    def predict(self, points: FloatArray, active: BoolArray) -> FloatArray:
        """Return the surrogate's value at the points, shape ``(m,)``."""
        cross = self.belief.covariance(self.belief.rows(points, active), self.rows)
        return np.asarray(self.mean + cross @ self.alpha)

    def predict_with_deviation(
        self, points: FloatArray, active: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return value and posterior standard deviation, each of shape ``(m,)``."""
        rows = self.belief.rows(points, active)
        cross = self.belief.covariance(rows, self.rows)
        left = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
        # v(x) = k(x, x) - k_x^T (K + lambda I)^-1 k_x
        variance = self.belief.variance(rows) - np.einsum("ij,ij->j", left, left)
        deviation = np.sqrt(np.maximum(variance, SMALLEST_VARIANCE) * self.amplitude)
        return self.mean + cross @ self.alpha, deviation

    def slice(self, point: FloatArray, active: BoolArray) -> Slice:
        """Return the posterior along the reals, with the gates held.

        Parameters
        ----------
        point : ndarray of shape (d,)
            Its categories, integers and activity fix the gates.
        active : ndarray of bool of shape (d,)
        """
        # of a contiguous factor, so that LAPACK does not copy it each time
        upper = np.ascontiguousarray(self.factor).T
        solution = Solution(self.rows, upper, self.alpha, self.mean, self.amplitude)
        return Slice(self.belief, solution, point, active)

    def section(self, point: FloatArray, active: BoolArray) -> tuple[FloatArray, float]:
        """Return the plain ridge spline in the surrogate for fixed gates.

        It is the surrogate less the smooth part.

        Parameters
        ----------
        point : ndarray of shape (d,)
            Its categories, integers and activity fix the gates.
        active : ndarray of bool of shape (d,)

        Returns
        -------
        weights : ndarray of shape (D,)
            Of the splines of :attr:`splines`: ``Phi^T (alpha (1 + gate S(h, H)))``.
        constant : float
        """
        alpha, constant = self.alpha, self.mean
        if self.belief.gates.count:
            own = self.belief.rows(point[np.newaxis], active[np.newaxis])
            similarity = self.belief.similarity_to(self.rows, own)
            factor, added = self.belief.prior.gate(similarity)
            constant += float(self.alpha @ added)
            alpha = alpha * factor
        return (alpha @ self.rows.splines) * self.belief.spline_scale, constant

    @property
    def width(self) -> int:
        """Number of features of an observation."""
        rows = self._rows
        parts = (rows.splines, rows.gates, rows.smooth)
        return sum(part.shape[1] for part in parts)

    # --- learning the prior -------------------------------------------------

    def learn(self, points: FloatArray, active: BoolArray, values: FloatArray) -> None:
        """Set relevance and prior from the data, then build everything anew.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        active : ndarray of bool of shape (n, d)
        values : ndarray of shape (n,)
            Of the objective; their scale does not matter.
        """
        self.known = learn(self.known, points, active, values)
        self._clear(max(2 * len(values), 32))
        self.append(points, active)
