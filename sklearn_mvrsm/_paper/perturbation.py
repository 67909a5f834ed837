"""The exploration step of the published algorithm (appendix B, algorithm 2)."""

import math

import numpy as np

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray

__all__ = ["perturb_as_paper"]


REACH = 0.1  # of a real, in ranges over the root of d


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
    moving = np.flatnonzero(free & (domain.span > 0.0))
    low, high = domain.lower[moving].tolist(), domain.upper[moving].tolist()
    boxes = list(zip(point[moving].tolist(), low, high, strict=True))
    n = int(np.searchsorted(moving, domain.n_categorical + domain.n_integer))
    values = [_integer_steps(*box, 1.0 / d, rng) for box in boxes[:n]]
    values += [_real_step(*box, d, rng) for box in boxes[n:]]
    moved = point.copy()
    moved[moving] = values
    return moved


def _integer_steps(
    value: float, low: float, high: float, p: float, rng: np.random.Generator
) -> float:
    r_1, upwards = rng.random(), rng.random() < 0.5
    while 0.0 < r_1 < p:  # algorithm 2; doubling would leave zero as it is
        if value == low:
            value += 1.0
        elif value == high:
            value -= 1.0
        else:
            value += 1.0 if upwards else -1.0
        r_1 *= 2.0
    return value


def _real_step(
    value: float, low: float, high: float, d: int, rng: np.random.Generator
) -> float:
    deviation = REACH * (high - low) / math.sqrt(d)  # appendix B
    while True:
        moved = value + deviation * rng.normal()
        if low <= moved <= high:
            return moved
