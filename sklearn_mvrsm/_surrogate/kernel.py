"""The prior covariance (kernel) of the Gaussian process.

Points become features, and these become the ``B``, ``S`` and ``M`` of the formula in
``hyperparameters.py``.

Notation
--------
``Phi (n, D)``     splines, scaled by their prior deviation, ``Phi Phi^T = B``
``Z (n, q)``       overlap features, ``Z Z^T = S``
``W / l (n, w)``   Matern features, whose distances ``M`` is a function of

Products of every spline with every indicator of a category or integer are never built:
they enter through ``(1 + interaction S) B``.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray, IntArray
from sklearn_mvrsm._paper import RidgeSplines
from sklearn_mvrsm._surrogate.hyperparameters import (
    KINDS,
    Hyperparameters,
    default_lengthscales,
)
from sklearn_mvrsm._surrogate.matern_kernel import (
    MaternFeatures,
    matern_52,
    squared_distances,
)
from sklearn_mvrsm._surrogate.overlap_kernel import MOST_LISTED, OverlapKernel
from sklearn_mvrsm._surrogate.span_basis import SpanSet

__all__ = ["Features", "Kernel", "safe_cholesky"]


PROBES = 100  # points that tell the variance of each spline over the box
LEAST_JITTER = 1e-12  # of the mean of the diagonal


@dataclass(frozen=True)
class Features:
    """Features of n points, a row each.

    Parameters
    ----------
    splines : ndarray of shape (n, D)
        ``Phi``, scaled by the prior deviation of each spline's weight.
    overlap : ndarray of shape (n, q)
        ``Z``, see ``overlap_kernel.py``.
    matern : ndarray of shape (n, w)
        ``W / l``, see ``matern_kernel.py``.
    codes : ndarray of shape (n, c)
        Categories that have no column for each value, nan where they do not exist.
        They are compared instead.
    """

    splines: FloatArray
    overlap: FloatArray
    matern: FloatArray
    codes: FloatArray

    def room(self, n: int) -> "Features":
        """Return n rows of the same widths, to be filled."""
        parts = (self.splines, self.overlap, self.matern, self.codes)
        return Features(*(np.empty((n, part.shape[1])) for part in parts))

    def first(self, n: int) -> "Features":
        """Return the first n rows, not copied."""
        parts = (self.splines, self.overlap, self.matern, self.codes)
        return Features(*(part[:n] for part in parts))

    def put(self, start: int, other: "Features") -> None:
        """Overwrite the rows from ``start`` on."""
        rows = slice(start, start + len(other.splines))
        self.splines[rows] = other.splines
        self.overlap[rows] = other.overlap
        self.matern[rows] = other.matern
        self.codes[rows] = other.codes

    def same(self, other: "Features", weights: FloatArray) -> FloatArray:
        """Return the weights, shape ``(c,)``, of the codes that are equal, added up.

        The shape is ``(n, m)``, as for other products of rows.
        """
        total = np.zeros((len(self.codes), len(other.codes)))
        for own, their, weight in zip(
            self.codes.T, other.codes.T, weights, strict=True
        ):
            total += weight * (own[:, np.newaxis] == their)  # nan equals nothing
        return total

    def different(self, other: "Features", weights: FloatArray) -> FloatArray:
        """Return the weights of the codes that exist in both and differ, added up."""
        total = np.zeros((len(self.codes), len(other.codes)))
        for own, their, weight in zip(
            self.codes.T, other.codes.T, weights, strict=True
        ):
            column = own[:, np.newaxis]
            total += weight * ((column < their) | (column > their))
        return total


@lru_cache(maxsize=4)
def _drawn(domain: Domain, seed: int) -> tuple[FloatArray, SpanSet]:
    """Draw probes and the span set, the same for every relevance."""
    rng = np.random.default_rng(seed)
    return domain.sample(rng, PROBES), SpanSet.draw(domain, rng)


@dataclass(frozen=True)
class _Basis:
    """The splines, what belongs to each, and the overlap kernel."""

    splines: RidgeSplines
    kind: IntArray
    norm: FloatArray  # (KINDS,) variance one for each kind of spline over the box
    overlap: OverlapKernel


@dataclass(frozen=True, eq=False)
class Kernel:
    """The covariance of any two points.

    Parameters
    ----------
    domain : Domain
        The box.
    seed : int
        Of the random directions and offsets.
    relevance : ndarray of shape (d,)
        How much each coordinate matters.
    hyperparameters : Hyperparameters
    log_lengthscales : ndarray of shape (d,)
        Of the Matern term.
    """

    domain: Domain
    seed: int
    relevance: FloatArray
    hyperparameters: Hyperparameters
    log_lengthscales: FloatArray

    @classmethod
    def default(cls, domain: Domain, seed: int) -> "Kernel":
        """Return the kernel at the centre of its prior."""
        relevance, lengthscales = np.ones(domain.d), default_lengthscales(domain.d)
        return cls(domain, seed, relevance, Hyperparameters(), lengthscales)

    @cached_property
    def _basis(self) -> _Basis:
        probes, span = _drawn(self.domain, self.seed)
        splines, kind = span.scaled(self.relevance), span.kind
        # each kind of spline gets a variance of one, on average over the box
        variance = splines.features(probes).var(axis=0)
        total = np.bincount(kind, weights=variance, minlength=KINDS)
        norm = 1.0 / np.where(total > 0.0, total, 1.0)
        overlap = OverlapKernel(self.domain, self.relevance, self.one_hot)
        return _Basis(splines, kind, norm, overlap)

    @cached_property
    def one_hot(self) -> bool:
        """Whether each value of each category has a feature."""
        return sum(self.domain.category_sizes) <= MOST_LISTED

    @cached_property
    def matern_features(self) -> MaternFeatures:
        """Features of the Matern term."""
        return MaternFeatures(self.domain, self.one_hot)

    @property
    def splines(self) -> RidgeSplines:
        """The ridge splines."""
        return self._basis.splines

    @cached_property
    def along_reals(self) -> tuple[int, RidgeSplines]:
        """Return the first spline that changes along the reals, and those from it on.

        Those of integers alone come before it.
        """
        first = self.splines.first_along(self.domain.real)
        return first, self.splines.since(first)

    @property
    def overlap(self) -> OverlapKernel:
        """The overlap kernel of categories and integers."""
        return self._basis.overlap

    @cached_property
    def spline_scale(self) -> FloatArray:
        """Prior deviation of each spline's weight, shape ``(D,)``."""
        deviation = np.sqrt(self._basis.norm * self.hyperparameters.splines)
        return np.asarray(deviation[self._basis.kind])

    @cached_property
    def inverse_lengthscales(self) -> FloatArray:
        """One over the lengthscale of each Matern feature."""
        return np.asarray(np.exp(-self.log_lengthscales)[self.matern_features.group])

    def features(self, points: FloatArray, active: BoolArray) -> Features:
        """Return the features of points.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        active : ndarray of bool of shape (n, d)
        """
        # scaled so that the weights have a variance of one
        splines = self.splines.features(points, self.spline_scale)
        matern = self.matern_features.features(points, active)
        matern *= self.inverse_lengthscales
        compared = self.compared(points, active)
        return Features(splines, compared.overlap, matern, compared.codes)

    def compared(self, points: FloatArray, active: BoolArray) -> Features:
        """Return the features that `similarity_to` needs, without the others."""
        n_codes = 0 if self.one_hot else self.domain.n_categorical
        codes = np.where(active[:, :n_codes], points[:, :n_codes], np.nan)
        none = np.zeros((len(points), 0))
        return Features(none, self.overlap.features(points, active), none, codes)

    def covariance(self, rows: Features, other: Features) -> FloatArray:
        """Return the covariance of each row with each other one."""
        similarity = None
        if self.overlap.count:
            similarity = rows.overlap @ other.overlap.T
            if not self.one_hot:
                similarity += rows.same(other, self.overlap.shares)
        squares = squared_distances(rows.matern, other.matern)
        if not self.one_hot:
            squares += self.apart(rows, other)
        splines = rows.splines @ other.splines.T
        return self.hyperparameters.covariance(
            splines, similarity, matern_52(squares)[0]
        )

    def similarity_to(self, rows: Features, one: Features) -> FloatArray | None:
        """Return the similarity of each row to a single one, ``(n,)``, if any is."""
        if not self.overlap.count:
            return None
        similarity = rows.overlap @ one.overlap[0]
        if not self.one_hot:
            similarity += rows.same(one, self.overlap.shares)[:, 0]
        return np.asarray(similarity)

    def apart(self, rows: Features, other: Features) -> FloatArray:
        """Return what different categories add to the squared distances of ``W``."""
        weights = np.exp(-2.0 * self.log_lengthscales[: rows.codes.shape[1]])
        return rows.different(other, weights)

    def variance(self, rows: Features) -> FloatArray:
        """Return the diagonal of a covariance."""
        similarity = None
        if self.overlap.count:
            similarity = np.einsum("ij,ij->i", rows.overlap, rows.overlap)  # S(x, x)
            if not self.one_hot:
                similarity += ~np.isnan(rows.codes) @ self.overlap.shares
        splines = np.einsum("ij,ij->i", rows.splines, rows.splines)
        return self.hyperparameters.covariance(splines, similarity, 1.0)  # m(0) = 1

    def grams(self, points: FloatArray) -> FloatArray:
        """Return the covariance of each kind of spline, with a variance of one.

        Parameters
        ----------
        points : ndarray of shape (n, d)

        Returns
        -------
        ndarray of shape (KINDS, n, n)
        """
        basis = self._basis
        phi = basis.splines.features(points)
        grams = np.zeros((KINDS, len(points), len(points)))
        first = np.searchsorted(basis.kind, np.arange(KINDS + 1))
        for k in range(KINDS):
            columns = phi[:, first[k] : first[k + 1]]  # kinds are ascending
            np.multiply(columns @ columns.T, basis.norm[k], out=grams[k])  # B_k
        return grams


def safe_cholesky(matrix: FloatArray, noise: float) -> FloatArray:
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
            jitter = max(10.0 * jitter, noise, LEAST_JITTER * scale)
