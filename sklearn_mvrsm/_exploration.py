"""New points from known ones: initial designs, the paper's perturbation, candidates.

Everything here draws; nothing here looks at the objective. What a parameter is, and
when it exists, is known to a :class:`Region` only through its functions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._domain import Domain

__all__ = ["Region", "initial_design", "neighbours", "perturb_as_paper", "redraw"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """The part of a box that holds configurations.

    Parameters
    ----------
    domain : Domain
        The box.
    canonical : callable
        Maps points to the one representative of their configuration.
    active : callable
        Tells which coordinates of points exist.
    feasible : callable
        Tells whether one point is allowed.
    """

    domain: Domain
    canonical: Callable[[FloatArray], FloatArray]
    active: Callable[[FloatArray], BoolArray]
    feasible: Callable[[FloatArray], bool]


def initial_design(region: Region, rng: np.random.Generator, n: int) -> FloatArray:
    """Draw a Latin hypercube: each coordinate's values are spread evenly.

    Parameters
    ----------
    region : Region
    rng : numpy.random.Generator
    n : int
        Number of points.

    Returns
    -------
    ndarray of shape (n, d)
        Canonical points, feasible or not.
    """
    domain = region.domain
    if domain.d == 0 or n == 0:
        return np.zeros((n, domain.d))
    strata = rng.permuted(np.tile(np.arange(n), (domain.d, 1)), axis=1).T
    share = (strata + rng.random((n, domain.d))) / n
    split = domain.n_categorical + domain.n_integer
    points = domain.lower + share * domain.span
    # equal shares for whole values
    whole = np.floor(share[:, :split] * (domain.span[:split] + 1.0))
    points[:, :split] = domain.lower[:split] + whole
    return region.canonical(domain.clip(points))


def reflect(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Fold values back into their bounds, as a mirror at each end would."""
    width = np.where(high > low, high - low, 1.0)
    away = np.mod(values - low, 2.0 * width)
    folded = low + np.where(away > width, 2.0 * width - away, away)
    return np.where(high > low, np.clip(folded, low, high), low)


def perturb_as_paper(
    domain: Domain, point: FloatArray, free: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Explore around a minimum of the surrogate: Algorithm 2 of the paper's appendix.

    Each integer moves by a whole step with probability ``1/d``, and after each step by
    another one with probability 1/2; each real by ``N(0, 0.1 range / sqrt(d))``,
    drawn again until it lies in the box.

    Parameters
    ----------
    domain : Domain
        Without categories: see :meth:`Domain.relaxed`.
    point : ndarray of shape (d,)
        Whole in its integers.
    free : ndarray of bool of shape (d,)
        Coordinates that may move; ``d`` counts these.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (d,)
    """
    d = max(int(free.sum()), 1)
    moved = point.copy()
    for i in np.flatnonzero(free):
        if domain.span[i] == 0.0:
            continue
        if i < domain.n_categorical + domain.n_integer:
            moved[i] = _integer_steps(domain, int(i), float(point[i]), 1.0 / d, rng)
        else:
            moved[i] = _real_step(domain, int(i), float(point[i]), d, rng)
    return moved


def _integer_steps(
    domain: Domain, i: int, value: float, p: float, rng: np.random.Generator
) -> float:
    low, high = float(domain.lower[i]), float(domain.upper[i])
    r_1, upwards = rng.random(), rng.random() < 0.5
    while 0.0 < r_1 < p:  # doubling would leave zero where it is
        if value == low:
            value += 1.0
        elif value == high:
            value -= 1.0
        else:
            value += 1.0 if upwards else -1.0
        r_1 *= 2.0
    return value


def _real_step(
    domain: Domain, i: int, value: float, d: int, rng: np.random.Generator
) -> float:
    low, high = float(domain.lower[i]), float(domain.upper[i])
    deviation = 0.1 * (high - low) / math.sqrt(d)
    while True:
        moved = value + deviation * rng.normal()
        if low <= moved <= high:
            return moved


def neighbours(
    region: Region,
    parents: FloatArray,
    n: int,
    width: float,
    chance: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw candidates that change a few coordinates of their parents.

    A category is redrawn among its other values; an integer moves by at least one
    step of the same width as reals or, half the time, to a uniform value; a real moves
    by ``N(0, width * range)``, reflected at its bounds. What comes into existence with
    a change is drawn uniformly.

    Parameters
    ----------
    region : Region
    parents : ndarray of shape (m, d)
    n : int
        Number of candidates.
    width : float
        Standard deviation of a step, as a share of the range.
    chance : ndarray of shape (d,)
        Probability that a coordinate changes. At least one does.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, d)
        Canonical points.
    """
    chosen = parents[rng.integers(len(parents), size=n)]
    active = region.active(chosen)
    change = (rng.random(chosen.shape) < chance) & active
    still = ~change.any(axis=1)
    # who would be first, had each its chance per unit of time
    wait = rng.standard_exponential(chosen.shape) / np.maximum(chance, 1e-9)
    wait[~active] = np.inf
    change[still, wait[still].argmin(axis=1)] = True
    stepped = _steps(region.domain, chosen, width, rng)
    return redraw(region, np.where(change, stepped, chosen), active, rng)


def _steps(
    domain: Domain, points: FloatArray, width: float, rng: np.random.Generator
) -> FloatArray:
    """Change every coordinate of every point."""
    n = len(points)
    uniform = domain.sample(rng, n)
    step = rng.normal(size=points.shape) * width * domain.span
    integer = domain.integer
    whole = np.maximum(np.round(np.abs(step[:, integer])), 1.0)
    step[:, integer] = np.copysign(whole, step[:, integer])
    moved = reflect(points + step, domain.lower, domain.upper)
    anywhere = rng.random((n, domain.n_integer)) < 0.5
    moved[:, integer] = np.where(anywhere, uniform[:, integer], moved[:, integer])
    sizes = np.array(domain.category_sizes, dtype=np.float64)
    ahead = 1.0 + np.floor(rng.random((n, domain.n_categorical)) * (sizes - 1.0))
    other = np.mod(points[:, domain.categorical] + ahead, sizes)
    moved[:, domain.categorical] = np.where(sizes > 1.0, other, 0.0)
    return moved


def redraw(
    region: Region, points: FloatArray, active: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Give uniform values to the coordinates that have come into existence.

    Parameters
    ----------
    region : Region
    points : ndarray of shape (n, d)
    active : ndarray of bool of shape (n, d) or (d,)
        What existed before the points were changed.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, d)
        Canonical points.
    """
    points = region.canonical(points)
    known = active
    for _ in range(region.domain.d):  # a new parent can bring new children
        exists = region.active(points)
        fresh = exists & ~known
        if not fresh.any():
            break
        uniform = region.domain.sample(rng, len(points))
        points = region.canonical(np.where(fresh, uniform, points))
        known = known | exists
    return points
