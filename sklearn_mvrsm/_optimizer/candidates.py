"""Points to choose from: the initial design, neighbours of the best, what is new."""

from collections.abc import Set

import numpy as np

from sklearn_mvrsm._domain import Domain, FloatArray, Region, redraw

__all__ = ["admissible", "initial_design", "neighbours"]


ANYWHERE = 0.5  # share of the moves of an integer that end at a uniform value
LEAST_CHANCE = 1e-9  # of a change


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
    # where none has changed, one does: the first to arrive, were changes Poisson
    # processes with the chances as rates, so that ratios of chances are kept
    wait = rng.standard_exponential(chosen.shape) / np.maximum(chance, LEAST_CHANCE)
    wait[~active] = np.inf
    change[still, wait[still].argmin(axis=1)] = True
    stepped = _steps(region.domain, chosen, width, rng)
    return redraw(region, np.where(change, stepped, chosen), active, rng)


def _steps(
    domain: Domain, points: FloatArray, width: float, rng: np.random.Generator
) -> FloatArray:
    """Return points in which every coordinate has changed."""
    n = len(points)
    uniform = domain.sample(rng, n)
    step = rng.normal(size=points.shape) * width * domain.span
    integer = domain.integer
    whole = np.maximum(np.round(np.abs(step[:, integer])), 1.0)
    step[:, integer] = np.copysign(whole, step[:, integer])
    moved = reflect(points + step, domain.lower, domain.upper)
    anywhere = rng.random((n, domain.n_integer)) < ANYWHERE
    moved[:, integer] = np.where(anywhere, uniform[:, integer], moved[:, integer])
    sizes = np.array(domain.category_sizes, dtype=np.float64)
    ahead = 1.0 + np.floor(rng.random((n, domain.n_categorical)) * (sizes - 1.0))
    other = np.mod(points[:, domain.categorical] + ahead, sizes)
    moved[:, domain.categorical] = np.where(sizes > 1.0, other, 0.0)
    return moved


def admissible(region: Region, points: FloatArray, seen: Set[bytes]) -> FloatArray:
    """Return the points that are new and feasible, each once, in their order."""
    keys = {row.tobytes(): i for i, row in enumerate(points)}
    novel = points[sorted(i for key, i in keys.items() if key not in seen)]
    allowed = np.array([region.feasible(each) for each in novel], np.bool_)
    return np.asarray(novel[allowed])
