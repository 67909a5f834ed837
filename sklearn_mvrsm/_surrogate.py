"""The surrogate: regularised least squares on gated ridge splines, in dual form.

Notation
--------
``n``              stored observations
``Phi (n, D)``     splines at the observations, scaled by their prior deviation
``S (n, n)``       similarity of the gates, see :mod:`sklearn_mvrsm._gates`
``M (n, n)``       smooth covariance, see :mod:`sklearn_mvrsm._smooth`
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

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, solve_triangular

from sklearn_mvrsm._basis import RidgeSplines, span_basis
from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._evidence import (
    KINDS,
    Parts,
    Prior,
    default_lengths,
    learn_lengths,
    learn_prior,
)
from sklearn_mvrsm._gates import Gates
from sklearn_mvrsm._output import Output, choose_strength
from sklearn_mvrsm._relevance import additive_features, learn_relevance
from sklearn_mvrsm._rows import Rows
from sklearn_mvrsm._slice import SMALLEST_VARIANCE, Slice
from sklearn_mvrsm._smooth import Coordinates, matern, squared_distances

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
FIRST_STEPS, LATER_STEPS = 15, 6  # of L-BFGS for the prior, twice that with lengths
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
        self._coordinates = Coordinates(domain)
        self._log_lengths = default_lengths(domain.d)
        self._clear(0)

    def _clear(self, rows: int) -> None:
        """Make room for ``rows`` observations and forget all."""
        d = self.domain.d
        none = self._rows_of(np.zeros((0, d)), np.zeros((0, d), dtype=np.bool_))
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
        new = self._rows_of(points, active)
        own = self._covariance(new, new)
        own[np.diag_indices(m)] += self.prior.noise
        rows = slice(n, n + m)
        if n:
            cross = self._covariance(self.rows, new)
            left = solve_triangular(self.factor, cross, lower=True, check_finite=False)
            self._lower[rows, :n] = left.T
            own -= left.T @ left
        self._rows.put(n, new)
        self._lower[rows, rows] = _safe_cholesky(own, self.prior.noise)
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

    def _rows_of(self, points: FloatArray, active: BoolArray) -> Rows:
        splines = self._design.splines.features(points)
        splines *= self.spline_scale
        smooth = self._coordinates.features(points, active) * self.smooth_scale
        return Rows(splines, self._design.gates.features(points, active), smooth)

    @property
    def spline_scale(self) -> FloatArray:
        """Prior deviation of each spline's weight, shape ``(D,)``."""
        return self._design.scale(self.prior)

    @property
    def smooth_scale(self) -> FloatArray:
        """One over the length of each feature of the smooth part."""
        return np.asarray(np.exp(-self._log_lengths)[self._coordinates.group])

    def _covariance(self, rows: Rows, other: Rows) -> FloatArray:
        covariance = rows.splines @ other.splines.T
        if self._design.gates.count:
            factor, added = self.prior.gate(rows.gates @ other.gates.T)
            covariance *= factor
            covariance += added
        smooth, _ = matern(squared_distances(rows.smooth, other.smooth))
        covariance += self.prior.smooth * smooth
        return covariance

    def _variance(self, rows: Rows) -> FloatArray:
        """Return the diagonal of a covariance."""
        variance = np.einsum("ij,ij->i", rows.splines, rows.splines)
        if self._design.gates.count:
            similarity = np.einsum("ij,ij->i", rows.gates, rows.gates)
            factor, added = self.prior.gate(similarity)
            variance = variance * factor + added
        return np.asarray(variance + self.prior.smooth)

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
        cross = self._covariance(self._rows_of(points, active), self.rows)
        return np.asarray(self.mean + cross @ self.alpha)

    def predict_with_deviation(
        self, points: FloatArray, active: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return value and posterior standard deviation, each of shape ``(m,)``."""
        rows = self._rows_of(points, active)
        cross = self._covariance(rows, self.rows)
        left = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
        # v(x) = k(x, x) - k_x^T (K + lambda I)^-1 k_x
        variance = self._variance(rows) - np.einsum("ij,ij->j", left, left)
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
        factor, added, own = np.ones(self.n), np.zeros(self.n), (1.0, 0.0)
        if self._design.gates.count:
            gates = self._design.gates.features(point[np.newaxis], active[np.newaxis])
            factor, added = self.prior.gate(self.rows.gates @ gates[0])
            both = self.prior.gate(gates[0] @ gates[0])
            own = float(both[0]), float(both[1])
        return Slice(
            self.splines,
            self.spline_scale,
            self._coordinates,
            self.smooth_scale,
            self.prior.smooth,
            active,
            self.rows,
            np.asfortranarray(self.factor),
            self.alpha,
            self.mean,
            self.amplitude,
            (factor, added),
            own,
        )

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
        if self._design.gates.count:
            gates = self._design.gates.features(point[np.newaxis], active[np.newaxis])
            factor, added = self.prior.gate(self.rows.gates @ gates[0])
            constant += float(self.alpha @ added)
            alpha = alpha * factor
        return (alpha @ self.rows.splines) * self.spline_scale, constant

    @property
    def width(self) -> int:
        """Number of features of an observation."""
        rows = self._rows
        parts = (rows.splines, rows.gates, rows.smooth)
        return sum(part.shape[1] for part in parts)

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
        start, steps = self.prior, LATER_STEPS if self._learnt else FIRST_STEPS
        self._learnt = True
        features = self._coordinates.features(points, active)
        scaled = features * self.smooth_scale
        smooth, _ = matern(squared_distances(scaled, scaled))
        best, chosen = np.inf, Parts(np.zeros((KINDS, 0, 0)), None, smooth)
        for power in POWERS:
            design = _design(self.domain, self.seed, full**power)
            z = design.gates.features(points, active)
            similarity = z @ z.T if design.gates.count else None
            parts = Parts(_grams(design, points), similarity, smooth)
            prior, loss = learn_prior(parts, y, start, steps)
            if loss < best:
                best, chosen, self.prior = loss, parts, prior
                self.relevance, self._design = full**power, design
        self.prior, self._log_lengths = learn_lengths(
            chosen,
            features,
            self._coordinates.group,
            y,
            (self.prior, self._log_lengths),
            2 * steps,
        )

    def _learn_output(
        self, points: FloatArray, active: BoolArray, values: FloatArray
    ) -> None:
        self._strength = 0.0
        few = len(values) < WARP_FROM * self.domain.d
        if few or self.prior.noise > WARP_NOISE:
            return
        rows = self._rows_of(points, active)
        covariance = self._covariance(rows, rows)
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
