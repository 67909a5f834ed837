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

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray, IntArray
from sklearn_mvrsm._paper.lbfgs import minimise

__all__ = [
    "Direction",
    "RidgeSplines",
    "integer_directions",
    "minimise_spline",
    "paper_basis",
    "reach",
    "stack",
]


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

    @cached_property
    def _counts(self) -> IntArray:
        """Number of splines of each direction, shape ``(m,)``."""
        return np.bincount(self.group, minlength=len(self.directions))

    def features(
        self, points: FloatArray, scale: FloatArray | float = 1.0
    ) -> FloatArray:
        """Evaluate every spline at every point.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        scale : ndarray of shape (D,) or float, default=1.0
            Positive factor of each spline.

        Returns
        -------
        ndarray of shape (n, D)
        """
        z = np.repeat(points @ self.directions.T, self._counts, axis=1)
        z -= self.offset
        z *= self.sign * scale  # eq. (4)
        return np.maximum(z, 0.0, out=z)  # eq. (3)

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
        value = float(weights @ np.maximum(z, 0.0))  # eqs. (2) and (3)
        return value, self.gradient(z, weights)

    def arguments(self, point: FloatArray) -> FloatArray:
        """Evaluate ``s_k (a_group(k) . u - o_k)``, shape ``(D,)``, at one point."""
        z = (self.directions @ point)[self.group]
        z -= self.offset
        z *= self.sign  # eq. (4)
        return z

    def gradient(self, z: FloatArray, weights: FloatArray) -> FloatArray:
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
        slope = np.heaviside(z, 0.5)  # the paper's relu'(0) = 1/2
        slope *= weights * self.sign
        along = np.add.reduceat(slope, self.starts)
        return np.asarray(along @ self.directions)

    def first_along(self, coordinates: slice) -> int:
        """Return the index of the first spline that some coordinates change."""
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
class Direction:
    """One direction with its splines, before they are stacked."""

    vector: FloatArray
    signs: FloatArray
    offsets: FloatArray


def stack(directions: list[Direction], d: int) -> RidgeSplines:
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
    """Return at most MAX_OFFSETS whole numbers from low to high, both included."""
    if high - low < MAX_OFFSETS:
        return np.arange(low, high + 1, dtype=np.float64)
    return np.unique(np.round(np.linspace(low, high, MAX_OFFSETS)))


def _integer_direction(vector: FloatArray, low: int, high: int) -> Direction:
    """Return both signs at every offset, less the two that are zero on the box."""
    offsets = _whole_offsets(low, high)
    rising, falling = offsets[:-1], offsets[1:]
    signs = np.repeat([1.0, -1.0], [len(rising), len(falling)])
    return Direction(vector, signs, np.concatenate([rising, falling]))


def _unit(d: int, *entries: tuple[int, float]) -> FloatArray:
    vector = np.zeros(d)
    for index, value in entries:
        vector[index] = value
    return vector


def integer_directions(domain: Domain) -> tuple[list[Direction], list[Direction]]:
    """Return the integer z-functions: of one integer, and of two neighbouring ones.

    Definition 1 of the paper, and Algorithm 2 of IDONE that it points to.
    """
    first = domain.n_categorical
    bounds = domain.integer_bounds
    # definition 1: +-(x_i - alpha)
    singles = [
        _integer_direction(_unit(domain.d, (first + i, 1.0)), low, high)
        for i, (low, high) in enumerate(bounds)
    ]
    # definition 1: +-(x_i - x_{i-1} - alpha)
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


def reach(domain: Domain, vector: FloatArray) -> tuple[float, float]:
    """Return the extreme projections over the box, the appendix's beta_1, beta_2."""
    ends = np.sort([vector * domain.lower, vector * domain.upper], axis=0)
    low, high = ends.sum(axis=1)  # eqs. (5) to (8)
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
    constant = Direction(np.zeros(d), np.ones(1), -np.ones(1))
    singles, pairs = integer_directions(domain)
    integer = singles + pairs
    count = sum(len(direction.signs) for direction in integer)
    share = math.ceil(count / domain.n_integer) if count else DONE_OFFSETS
    mixed = []
    # definition 2: one direction for each real, uniform in [-1/d, 1/d]^d (appendix A)
    for vector in rng.uniform(-1.0, 1.0, (domain.n_real, d)) / max(d, 1):
        low, high = reach(domain, vector)
        offsets = rng.uniform(low, high, share)  # theorem 2: -b_k
        mixed.append(Direction(vector, np.ones(share), offsets))
    return stack([constant, *integer, *mixed], d)


def minimise_spline(
    splines: RidgeSplines,
    weights: FloatArray,
    start: FloatArray,
    domain: Domain,
    free: BoolArray,
    iterations: int,
) -> tuple[FloatArray, float]:
    """Minimise ``g`` over the box by L-BFGS-B, with the analytic gradient.

    Parameters
    ----------
    splines : RidgeSplines
    weights : ndarray of shape (D,)
        The coefficients ``c``.
    start : ndarray of shape (d,)
    domain : Domain
    free : ndarray of bool of shape (d,)
        Coordinates that may move.
    iterations : int
        Bounds the steps and the evaluations of ``g``, as the published code does.

    Returns
    -------
    point : ndarray of shape (d,)
        Inside the box. Integers come out whole at strict local minima inside the box
        (Theorem 1), not where a real sits on its bound or the steps ran out.
    value : float
        ``g`` there.
    """
    if not free.any() or not splines.size:
        return start.copy(), splines.value_and_gradient(start, weights)[0]
    low = np.where(free, domain.lower, start)
    high = np.where(free, domain.upper, start)
    return minimise(
        lambda point: splines.value_and_gradient(point, weights),
        start,
        (low, high),
        iterations,
        iterations,
    )
