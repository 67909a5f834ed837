"""Ridge-spline bases: rectified linear units that share their directions.

Notation
--------
``u (d,)``          point, in the coordinates of a :class:`Domain`
``A (m, d)``        directions, ``t = A u`` the projections
``group (D,)``      direction of each spline, ascending
``s (D,)``          sign of each spline, +1 or -1
``o (D,)``          offset of each spline
``phi_k(u)``        ``max(0, s_k (a_group(k) . u - o_k))``, eqs. (3) and (4)
``g(u)``            ``sum_k c_k phi_k(u)``, eq. (2), piece-wise linear

Theorem 1 of the paper (every strict local minimum inside the box has whole integers)
holds when the directions fall in two sets: integer ones (``x_i`` or ``x_i - x_{i-1}``
with whole offsets), and mixed ones that lie in the span of ``d_c`` vectors, ``d_c``
being the number of reals. Scaling a direction and its offsets together by a positive
factor scales the function and leaves the theorem alone.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._domain import Domain

__all__ = ["RidgeSplines", "paper_basis", "span_basis"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

MAX_OFFSETS = 64  # per integer direction; wider ranges are thinned
DONE_OFFSETS = 100  # per direction where there are no integers to count


@dataclass(frozen=True)
class RidgeSplines:
    """Splines ``max(0, s_k (a_group(k) . u - o_k))`` grouped by direction.

    Parameters
    ----------
    directions : ndarray of shape (m, d)
        One direction a row.
    group : ndarray of shape (D,)
        Index of the direction of each spline, in ascending order.
    sign : ndarray of shape (D,)
        +1 for a spline that rises along its direction, -1 for one that falls.
    offset : ndarray of shape (D,)
        Where on the projection each spline has its kink.
    """

    directions: FloatArray
    group: IntArray
    sign: FloatArray
    offset: FloatArray

    @property
    def size(self) -> int:
        """Number of splines, ``D``."""
        return len(self.group)

    @cached_property
    def starts(self) -> IntArray:
        """Index of the first spline of each direction, shape ``(m,)``."""
        return np.searchsorted(self.group, np.arange(len(self.directions)))

    def features(self, points: FloatArray) -> FloatArray:
        """Evaluate every spline at every point.

        Parameters
        ----------
        points : ndarray of shape (n, d)

        Returns
        -------
        ndarray of shape (n, D)
        """
        z = (points @ self.directions.T)[:, self.group]
        z -= self.offset
        z *= self.sign
        return np.maximum(z, 0.0, out=z)

    def value_and_gradient(
        self, point: FloatArray, weights: FloatArray
    ) -> tuple[float, FloatArray]:
        """Evaluate ``g`` and its gradient, with the paper's ``relu'(0) = 1/2``.

        Parameters
        ----------
        point : ndarray of shape (d,)
        weights : ndarray of shape (D,)
            The coefficients ``c``.

        Returns
        -------
        value : float
        gradient : ndarray of shape (d,)
        """
        z = self.arguments(point)
        return float(weights @ np.maximum(z, 0.0)), self.pull_back(z, weights)

    def arguments(self, point: FloatArray) -> FloatArray:
        """Evaluate ``s_k (a_group(k) . u - o_k)``, shape ``(D,)``, at one point."""
        return ((self.directions @ point)[self.group] - self.offset) * self.sign

    def pull_back(self, z: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the gradient of ``g`` where its splines have the arguments ``z``.

        Parameters
        ----------
        z : ndarray of shape (D,)
        weights : ndarray of shape (D,)
            The coefficients ``c``.

        Returns
        -------
        ndarray of shape (d,)
        """
        if not self.size:
            return np.zeros(self.directions.shape[1])
        slope = (z > 0.0) + 0.5 * (z == 0.0)
        along = np.add.reduceat(weights * self.sign * slope, self.starts)
        return np.asarray(along @ self.directions)

    def first_along(self, coordinates: slice) -> int:
        """Index of the first spline that changes with one of some coordinates."""
        moves = (self.directions[:, coordinates] != 0.0).any(axis=1)
        return int(np.searchsorted(self.group, np.argmax([*moves, True])))

    def since(self, first: int) -> "RidgeSplines":
        """Return the splines from one on that is the first of its direction."""
        if first == self.size:
            none = np.zeros(0)
            return RidgeSplines(self.directions[:0], self.group[:0], none, none)
        k = self.group[first]
        tail = slice(first, None)
        return RidgeSplines(
            self.directions[k:],
            self.group[tail] - k,
            self.sign[tail],
            self.offset[tail],
        )


@dataclass(frozen=True)
class _Direction:
    """One direction with its splines, before they are stacked."""

    vector: FloatArray
    signs: FloatArray
    offsets: FloatArray

    def scaled(self, factor: float) -> "_Direction":
        return _Direction(self.vector * factor, self.signs, self.offsets * factor)


def _stack(directions: list[_Direction], d: int) -> RidgeSplines:
    sizes = [len(direction.signs) for direction in directions]
    if not sizes:
        empty = np.zeros(0)
        return RidgeSplines(np.zeros((0, d)), np.zeros(0, np.intp), empty, empty)
    return RidgeSplines(
        np.array([direction.vector for direction in directions]),
        np.repeat(np.arange(len(sizes)), sizes),
        np.concatenate([direction.signs for direction in directions]),
        np.concatenate([direction.offsets for direction in directions]),
    )


def _whole_offsets(low: int, high: int) -> FloatArray:
    """Whole numbers from low to high, both included, at most MAX_OFFSETS of them."""
    if high - low < MAX_OFFSETS:
        return np.arange(low, high + 1, dtype=np.float64)
    return np.unique(np.round(np.linspace(low, high, MAX_OFFSETS)))


def _integer_direction(vector: FloatArray, low: int, high: int) -> _Direction:
    """Return both signs at every offset, less the two that are zero on the box."""
    offsets = _whole_offsets(low, high)
    rising, falling = offsets[:-1], offsets[1:]
    signs = np.repeat([1.0, -1.0], [len(rising), len(falling)])
    return _Direction(vector, signs, np.concatenate([rising, falling]))


def _unit(d: int, *entries: tuple[int, float]) -> FloatArray:
    vector = np.zeros(d)
    for index, value in entries:
        vector[index] = value
    return vector


def _integer_directions(domain: Domain) -> tuple[list[_Direction], list[_Direction]]:
    """Return the integer z-functions: of one integer, and of two neighbouring ones.

    Definition 1 of the paper, and Algorithm 2 of IDONE that it points to.
    """
    first = domain.n_categorical
    bounds = domain.integer_bounds
    singles = [
        _integer_direction(_unit(domain.d, (first + i, 1.0)), low, high)
        for i, (low, high) in enumerate(bounds)
    ]
    pairs = [
        _integer_direction(
            _unit(domain.d, (first + i, 1.0), (first + i - 1, -1.0)),
            bounds[i][0] - bounds[i - 1][1],
            bounds[i][1] - bounds[i - 1][0],
        )
        for i in range(1, len(bounds))
    ]
    keep = [direction for direction in singles if len(direction.signs)]
    return keep, [direction for direction in pairs if len(direction.signs)]


def _reach(domain: Domain, vector: FloatArray) -> tuple[float, float]:
    """Smallest and largest projection over the box, the appendix's beta_1, beta_2."""
    ends = np.sort([vector * domain.lower, vector * domain.upper], axis=0)
    low, high = ends.sum(axis=1)
    return float(low), float(high)


def paper_basis(domain: Domain, rng: np.random.Generator) -> RidgeSplines:
    """Draw the basis of the published algorithm.

    The constant, the integer z-functions, then for each real one random direction
    uniform in ``[-1/d, 1/d]^d`` with ``ceil(D_d / d_d)`` offsets drawn so that the
    kink crosses the box (appendix A). Without integers there is nothing to count, and
    each direction has 100 offsets.

    Parameters
    ----------
    domain : Domain
        Without categories: see :meth:`Domain.relaxed`.
    rng : numpy.random.Generator
        Source of the directions and offsets, advanced.

    Returns
    -------
    RidgeSplines
        The constant is the first spline; the integer ones follow, then the mixed.
    """
    d = domain.d
    # max(0, 0 . u + 1) = 1
    constant = _Direction(np.zeros(d), np.ones(1), -np.ones(1))
    singles, pairs = _integer_directions(domain)
    integer = singles + pairs
    count = sum(len(direction.signs) for direction in integer)
    share = math.ceil(count / domain.n_integer) if count else DONE_OFFSETS
    mixed = []
    for vector in rng.uniform(-1.0, 1.0, (domain.n_real, d)) / max(d, 1):
        low, high = _reach(domain, vector)
        offsets = rng.uniform(low, high, share)
        mixed.append(_Direction(vector, np.ones(share), offsets))
    return _stack([constant, *integer, *mixed], d)


MIXED_SIZE = 480  # mixed splines aimed at; the kinks are shared out among directions
MIXED_OFFSETS = (4, 16)  # fewest and most kinks per mixed direction
MIXED_WEIGHT = 3.0  # of mixed splines against integer ones, in unit coordinates
COMBINATIONS = (
    24  # sparse combinations of span vectors, more where there are more reals
)
MOST_COMBINATIONS = 8  # a real
LARGE_D = 40  # above, integer directions have one sign an offset instead of both
INTEGER_LEAK = 0.3  # size of the random integer part of each span vector
THINNEST = 1e-300  # width of a real coordinate


def span_basis(
    domain: Domain, rng: np.random.Generator, relevance: FloatArray
) -> tuple[RidgeSplines, IntArray]:
    """Draw the span set: many mixed directions in the span of ``d_c`` vectors.

    Span vectors ``b_j = (w_j, e_j)``, one real axis each with a weak random integer
    part; then sparse random combinations of about three of them, L1-normalised. All
    mixed directions lie in a space of dimension ``d_c``, so Theorem 1 holds word for
    word. Features are in units of each variable's span and scaled by its relevance.

    Parameters
    ----------
    domain : Domain
    rng : numpy.random.Generator
        Source of directions and offsets, advanced by an amount that does not depend
        on the relevance.
    relevance : ndarray of shape (d,)
        Positive scale of each coordinate, 1 where all matter alike.

    Returns
    -------
    basis : RidgeSplines
    kind : ndarray of shape (D,)
        0 for splines of one integer, 1 of a pair of integers, 2 of one span vector,
        3 of a combination.
    """
    singles, pairs = _integer_directions(domain)
    if domain.d > LARGE_D:
        singles, pairs = _one_sided(singles), _one_sided(pairs)
    groups = [
        [_in_units(domain, direction, relevance) for direction in integer]
        for integer in (singles, pairs)
    ]
    axes, combinations = _span_vectors(domain, rng)
    kinks = round(MIXED_SIZE / max(len(axes) + len(combinations), 1))
    kinks = min(max(kinks, MIXED_OFFSETS[0]), MIXED_OFFSETS[1])
    for vectors in (axes, combinations):
        groups.append(_mixed_directions(domain, rng, vectors, relevance, kinks))
    basis = _stack([direction for group in groups for direction in group], domain.d)
    sizes = [sum(len(direction.signs) for direction in group) for group in groups]
    return basis, np.repeat(np.arange(4), sizes)


def _one_sided(directions: list[_Direction]) -> list[_Direction]:
    """Keep one sign an offset: with both ends' slopes it spans the same functions.

    ``max(0, -z) = max(0, z) - z``, so beside a slope the second sign adds nothing but
    a more even prior, at twice the cost.
    """
    kept = []
    for direction in directions:
        lowest = direction.offsets.min()
        keep = (direction.signs < 0.0) | (direction.offsets == lowest)
        kept.append(
            _Direction(direction.vector, direction.signs[keep], direction.offsets[keep])
        )
    return kept


def _in_units(
    domain: Domain, direction: _Direction, relevance: FloatArray
) -> _Direction:
    touched = direction.vector != 0.0
    width = domain.span[touched].sum()
    factor = np.sqrt(np.mean(relevance[touched] ** 2)) / width
    # few digits, so that products with integers are exact and kinks exactly on them
    return direction.scaled(float(np.float32(factor)))


def _span_vectors(
    domain: Domain, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Span vectors and their combinations, in unit coordinates."""
    n_real, n_integer = domain.n_real, domain.n_integer
    axes = np.zeros((n_real, domain.d))
    axes[:, domain.real] = np.eye(n_real)
    leak = rng.uniform(-1.0, 1.0, (n_real, n_integer))
    axes[:, domain.integer] = INTEGER_LEAK * leak / max(n_integer, 1)
    count = min(MOST_COMBINATIONS * n_real, max(COMBINATIONS, n_real))
    count = 0 if n_real < 2 else count
    mix = rng.normal(size=(count, n_real))
    mix *= rng.random((count, n_real)).argsort(axis=1) < 3  # about three a direction
    mix /= np.maximum(np.abs(mix).sum(axis=1, keepdims=True), 1e-12)
    return axes, mix @ axes


def _mixed_directions(
    domain: Domain,
    rng: np.random.Generator,
    vectors: FloatArray,
    relevance: FloatArray,
    kinks: int,
) -> list[_Direction]:
    # what is too narrow to divide by counts as a single value
    width = np.where(domain.span > THINNEST, domain.span, 1.0)
    scale = MIXED_WEIGHT / math.sqrt(max(domain.d, 1))
    signs = np.where(np.arange(kinks) % 2 == 0, 1.0, -1.0)
    directions = []
    shares = rng.random((len(vectors), kinks))
    for vector, share in zip(vectors, shares, strict=True):
        scaled = scale * vector * relevance / width
        low, high = _reach(domain, scaled)
        # one offset in each of as many equal strips, so the kinks cover the box
        strip = (np.arange(kinks) + share) / kinks
        directions.append(_Direction(scaled, signs, low + strip * (high - low)))
    return directions
