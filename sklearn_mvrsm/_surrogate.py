"""The surrogate: regularised least squares on gated ridge splines, in dual form.

Notation
--------
``n``              stored observations
``Phi (n, D)``     splines at the observations, scaled by their prior deviation
``S (n, n)``       similarity of the gates, see :mod:`sklearn_mvrsm._gates`
``K (n, n)``       covariance ``(Phi Phi^T) (1 + gate S) + linear S + local
                   exp(sharpness (S - 1))``
``lambda``         ridge: variance of the noise
``L (n, n)``       lower Cholesky factor of ``K + lambda I``
``alpha (n,)``     ``(K + lambda I)^-1 (y - mu)``

With ``c = Phi^T alpha`` this is least squares on the splines, the same as recursive
least squares started from ``P_0 = I / lambda`` (matrix inversion lemma), at the cost
of ``O(n D + n^2)`` an observation; a new scaling of ``y`` costs two triangular solves.
The gated splines (every spline times every indicator of a category or integer) are
never built: they enter through ``1 + gate S``. For fixed categories and integers the
surrogate is again a plain ridge spline (:meth:`Surrogate.section`).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, solve_triangular

from sklearn_mvrsm._basis import RidgeSplines, span_basis
from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._evidence import (
    KINDS,
    Prior,
    additive_features,
    learn_prior,
    learn_relevance,
)
from sklearn_mvrsm._gates import Gates
from sklearn_mvrsm._output import Output, choose_strength

__all__ = ["Surrogate"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

CAPACITY = 1000  # observations kept; beyond, old and bad ones are forgotten
FORGET = 0.1  # share forgotten at a time
LEARN_ROWS = 250  # observations the prior is learnt from
POWERS = (0.0, 0.5, 1.0)  # of the relevance, the likelihood chooses
RELEVANCE_LIMIT = 8.0  # a coordinate's scale lies in 1/8 .. 8
TRUSTED_FROM = 50  # observations at which relevance counts by half
WARP_FROM = 3  # observations a coordinate: fewer do not tell a warp from bad luck
WARP_NOISE = 0.1  # share of variance left unexplained, above which nothing is warped
LEARN_FROM = 8  # fewer observations say nothing about the prior


@dataclass(frozen=True)
class _Design:
    """Everything that follows from the relevance: splines, their scale, the gates."""

    splines: RidgeSplines
    kind: IntArray
    norm: FloatArray  # (KINDS,) variance one for each kind of spline over the box
    gates: Gates

    def scale(self, prior: Prior) -> FloatArray:
        """Prior deviation of each spline's weight, shape ``(D,)``."""
        return np.asarray(np.sqrt(self.norm * prior.splines)[self.kind])


def _design(domain: Domain, seed: int, relevance: FloatArray) -> _Design:
    rng = np.random.default_rng(seed)  # the same draws for every relevance
    probes = domain.sample(rng, 100)
    splines, kind = span_basis(domain, rng, relevance)
    variance = splines.features(probes).var(axis=0)
    total = np.bincount(kind, weights=variance, minlength=KINDS)
    norm = 1.0 / np.where(total > 0.0, total, 1.0)
    return _Design(splines, kind, norm, Gates(domain, relevance))


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
        self.prior = Prior.default()
        self.relevance: FloatArray = np.ones(domain.d)
        self._log_variance: FloatArray | None = None
        self._learnt = False
        self._strength = 0.0
        self.output = Output(0.0, 1.0, 0.0)
        self._design = _design(domain, seed, self.relevance)
        self._clear(0)

    def _clear(self, rows: int) -> None:
        """Make room for ``rows`` observations and forget all."""
        d, size = self.domain.d, self._design.splines.size
        width = self._design.gates.features(
            np.zeros((0, d)), np.zeros((0, d), dtype=np.bool_)
        ).shape[1]
        self.n = 0
        self._points = np.empty((rows, d))
        self._active = np.empty((rows, d), dtype=np.bool_)
        self._phi = np.empty((rows, size))
        self._z = np.empty((rows, width))
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
        if n + m > len(self._points):
            self._grow(max(n + m, 2 * n, 32))
        phi, z = self._features(points, active)
        rows = slice(n, n + m)
        self._points[rows], self._active[rows] = points, active
        self._phi[rows], self._z[rows] = phi, z
        own = self._covariance(phi, z, phi, z)
        own[np.diag_indices(m)] += self.prior.noise
        if n:
            cross = self._covariance(self._phi[:n], self._z[:n], phi, z)
            left = solve_triangular(
                self._lower[:n, :n], cross, lower=True, check_finite=False
            )
            self._lower[rows, :n] = left.T
            own -= left.T @ left
        self._lower[rows, rows] = _safe_cholesky(own, self.prior.noise)
        self.n = n + m

    def truncate(self, n: int) -> None:
        """Forget all but the first ``n`` observations, in no time."""
        self.n = n

    def _grow(self, rows: int) -> None:
        n = self.n
        old = self._points, self._active, self._phi, self._z, self._lower
        self._clear(rows)
        self._points[:n], self._active[:n] = old[0][:n], old[1][:n]
        self._phi[:n], self._z[:n] = old[2][:n], old[3][:n]
        self._lower[:n, :n] = old[4][:n, :n]
        self.n = n

    def _features(
        self, points: FloatArray, active: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        phi = self._design.splines.features(points)
        phi *= self._design.scale(self.prior)
        return phi, self._design.gates.features(points, active)

    def _covariance(
        self, phi: FloatArray, z: FloatArray, other_phi: FloatArray, other_z: FloatArray
    ) -> FloatArray:
        base = phi @ other_phi.T
        if not self._design.gates.count:
            return base
        factor, added = self.prior.gate(z @ other_z.T)
        base *= factor
        base += added
        return base

    # --- solving and predicting ---------------------------------------------

    def solve(self, values: FloatArray) -> None:
        """Fit the weights to values of the objective, shape ``(n,)``."""
        self.output = Output.of(values, self._strength)
        self._solve(self.output.apply(values))

    def imagine(self, points: FloatArray, active: BoolArray) -> None:
        """Append points that stand at their predicted values until truncated."""
        told = np.concatenate([self._told, self.predict(points, active)])
        self.append(points, active)
        self._solve(told)

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
        phi, z = self._features(points, active)
        cross = self._covariance(phi, z, self._phi[: self.n], self._z[: self.n])
        return np.asarray(self.mean + cross @ self.alpha)

    def predict_with_deviation(
        self, points: FloatArray, active: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return value and posterior standard deviation, each of shape ``(m,)``."""
        phi, z = self._features(points, active)
        cross = self._covariance(phi, z, self._phi[: self.n], self._z[: self.n])
        own = np.einsum("ij,ij->i", phi, phi)
        if self._design.gates.count:
            factor, added = self.prior.gate(np.einsum("ij,ij->i", z, z))
            own = own * factor + added
        left = solve_triangular(
            self._lower[: self.n, : self.n], cross.T, lower=True, check_finite=False
        )
        # v(x) = k(x, x) - k_x^T (K + lambda I)^-1 k_x
        variance = np.maximum(own - np.einsum("ij,ij->j", left, left), 1e-12)
        return self.mean + cross @ self.alpha, np.sqrt(variance * self.amplitude)

    def section(self, point: FloatArray, active: BoolArray) -> tuple[FloatArray, float]:
        """Return the plain ridge spline that the surrogate is for fixed gates.

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
        if self._design.gates.count:
            gates = self._design.gates.features(point[np.newaxis], active[np.newaxis])
            factor, added = self.prior.gate(self._z[: self.n] @ gates[0])
            constant += float(self.alpha @ added)
            alpha = alpha * factor
        scale = self._design.scale(self.prior)
        return (alpha @ self._phi[: self.n]) * scale, constant

    @property
    def width(self) -> int:
        """Number of splines and gate features of an observation."""
        return int(self._phi.shape[1] + self._z.shape[1])

    @property
    def splines(self) -> RidgeSplines:
        """The ridge splines under the surrogate."""
        return self._design.splines

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
        if len(values) >= LEARN_FROM and self.domain.d and np.ptp(values) > 0.0:
            rows = _informative(values)
            points_, active_, values_ = points[rows], active[rows], values[rows]
            output = Output.of(values, self._strength)
            self._learn(points_, active_, _standardised(output.apply(values_)))
            self._learn_output(points_, active_, values_)
        self._clear(max(2 * len(values), 32))
        self.append(points, active)

    def _learn(self, points: FloatArray, active: BoolArray, y: FloatArray) -> None:
        full = self._learn_relevance(points, active, y)
        best = np.inf
        start, steps = self.prior, 6 if self._learnt else 15
        self._learnt = True
        for power in POWERS:
            relevance = full**power
            design = _design(self.domain, self.seed, relevance)
            z = design.gates.features(points, active)
            similarity = z @ z.T if design.gates.count else None
            prior, loss = learn_prior(
                _grams(design, points), similarity, y, start, steps
            )
            if loss < best:
                best = loss
                self.prior, self.relevance, self._design = prior, relevance, design

    def _learn_output(
        self, points: FloatArray, active: BoolArray, values: FloatArray
    ) -> None:
        self._strength = 0.0
        few = len(values) < WARP_FROM * self.domain.d
        if few or self.prior.noise > WARP_NOISE:
            return
        phi, z = self._features(points, active)
        covariance = self._covariance(phi, z, phi, z)
        covariance[np.diag_indices(len(values))] += self.prior.noise
        lower = _safe_cholesky(covariance, self.prior.noise)
        self._strength = choose_strength(values, lower)

    def _learn_relevance(
        self, points: FloatArray, active: BoolArray, y: FloatArray
    ) -> FloatArray:
        d = self.domain.d
        unit = points.copy()
        numbers = slice(self.domain.n_categorical, d)
        span = np.where(self.domain.span > 0.0, self.domain.span, 1.0)
        unit[:, numbers] = ((points - self.domain.lower) / span)[:, numbers]
        features, group = additive_features(unit, active, self.domain.category_sizes)
        start, steps = self._log_variance, 10
        if start is None:
            start, steps = np.full(d, np.log(0.5 / max(d, 1))), 30
        self._log_variance = learn_relevance(features, group, y, start, steps)
        away = self._log_variance - self._log_variance.mean()
        # from few points, relevance is shrunk towards equal
        scale = np.exp(0.5 * away * len(y) / (len(y) + TRUSTED_FROM))
        return np.asarray(np.clip(scale, 1.0 / RELEVANCE_LIMIT, RELEVANCE_LIMIT))


def _grams(design: _Design, points: FloatArray) -> FloatArray:
    phi = design.splines.features(points)
    grams = np.zeros((KINDS, len(points), len(points)))
    for k in range(KINDS):
        columns = phi[:, design.kind == k]
        grams[k] = design.norm[k] * (columns @ columns.T)
    return grams


def _standardised(y: FloatArray) -> FloatArray:
    y = (y - y.min()) / (float(np.ptp(y)) or 1.0)  # squares neither overflow nor vanish
    return np.asarray((y - y.mean()) / (float(y.std()) or 1.0))


def _informative(y: FloatArray) -> IntArray:
    """Choose what to learn from: the best half and the latest, in order of arrival."""
    if len(y) <= LEARN_ROWS:
        return np.arange(len(y))
    best = np.argsort(y, kind="stable")[: LEARN_ROWS // 2]
    rest = np.setdiff1d(np.arange(len(y)), best)
    return np.sort(np.concatenate([best, rest[-(LEARN_ROWS - len(best)) :]]))


def _safe_cholesky(matrix: FloatArray, noise: float) -> FloatArray:
    """Factor a Schur complement; rounding must not make it indefinite.

    Its exact eigenvalues are at least ``noise``, so adding some of it back is within
    what rounding took.
    """
    identity = np.eye(len(matrix))
    scale = max(float(np.trace(matrix)) / max(len(matrix), 1), noise)
    jitter = 0.0
    while True:
        try:
            lower = np.linalg.cholesky(matrix + jitter * identity)
            return lower.astype(np.float64)
        except np.linalg.LinAlgError:
            if not np.isfinite(matrix).all():
                raise
            jitter = max(10.0 * jitter, noise, 1e-12 * scale)
