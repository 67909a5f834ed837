"""Expected improvement: its logarithm for candidates, and L-BFGS over the reals on it.

Notation
--------
``m, v``    value and posterior deviation of the surrogate at a candidate
``y*``      the value to improve on: the best one observed, where nothing is constrained
``EI``      expected improvement on it, ``v h(z)`` with ``z = (y* - m) / v`` and
            ``h(z) = z Phi(z) + phi(z)`` (Jones, Schonlau and Welch, 1998)
"""

import math

import numpy as np
from scipy.special import erfcx, ndtr

from sklearn_mvrsm._domain import BoolArray, FloatArray
from sklearn_mvrsm._optimizer.success import SuccessSlice
from sklearn_mvrsm._paper import minimise
from sklearn_mvrsm._surrogate import RealSlice

__all__ = ["log_expected_improvement", "maximise_expected_improvement"]


NEAR = -1.0  # of z: below, h is the small difference of two terms,
FAR = -50.0  # and below this, its leading term
FURTHEST = -1e3  # z itself where it is squared, so that it does not overflow
ROOT_2, ROOT_2_PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)
LOG_ROOT_2_PI = math.log(ROOT_2_PI)
TOLERANCE = 1e-4  # relative change of log EI at which L-BFGS ends


def log_expected_improvement(
    value: FloatArray, deviation: FloatArray, best: float
) -> FloatArray:
    """Return the logarithm of the expected improvement on ``best``.

    Parameters
    ----------
    value, deviation : ndarray of shape (m,)
    best : float

    Returns
    -------
    ndarray of shape (m,)
    """
    z = np.asarray((best - value) / deviation)
    # log EI = log v + log h(z)
    log_h, near = np.empty_like(z), z > NEAR
    high, low = z[near], z[~near]
    log_h[near] = np.log(high * ndtr(high) + np.exp(-0.5 * high**2) / ROOT_2_PI)
    # in logarithms, so that hopeless candidates still compare (Ament et al., 2023)
    bounded = np.maximum(low, FURTHEST)
    # Phi / phi, and h / phi = 1 + z Phi / phi, which is about z^-2 far below
    # erfcx(x) = exp(x^2) erfc(x), so that Phi / phi does not underflow
    tail = 0.5 * ROOT_2_PI * erfcx(-bounded / ROOT_2)
    ratio = np.where(bounded > FAR, 1.0 + bounded * tail, 1.0 / bounded**2)
    log_h[~near] = np.log(ratio) - 0.5 * low**2 - LOG_ROOT_2_PI
    return np.asarray(np.log(deviation) + log_h)


def _log_h(z: float) -> tuple[float, float]:
    """Return ``log h(z)`` and its derivative ``Phi(z) / h(z)`` at one ``z``.

    As above, without the time that arrays take for a single number.
    """
    if z > NEAR:
        below = float(ndtr(z))
        h = z * below + math.exp(-0.5 * z * z) / ROOT_2_PI
        return math.log(h), below / h
    bounded = max(z, FURTHEST)
    if bounded > FAR:
        tail = 0.5 * ROOT_2_PI * float(erfcx(-bounded / ROOT_2))
        ratio = 1.0 + bounded * tail
        slope = tail / ratio
    else:
        ratio, slope = 1.0 / bounded**2, -z
    return math.log(ratio) - 0.5 * z * z - LOG_ROOT_2_PI, slope


def maximise_expected_improvement(
    slices: tuple[RealSlice, SuccessSlice | None],
    start: FloatArray,
    box: tuple[FloatArray, FloatArray],
    free: BoolArray,
    iterations: int,
    best: float = 0.0,
) -> tuple[FloatArray, float]:
    """Maximise the expected improvement along the reals by L-BFGS-B.

    Parameters
    ----------
    slices : tuple of RealSlice and (SuccessSlice or None)
        Of the values, and of what is added to the logarithm; at the categories,
        integers and activity of ``start``.
    start : ndarray of shape (d,)
    box : tuple of ndarray of shape (d,) and ndarray of shape (d,)
        Lower and upper bounds; ``start`` is inside.
    free : ndarray of bool of shape (d,)
        Reals that may move; at least one does.
    iterations : int
        Bounds the steps, and the evaluations of the posterior.
    best : float
        The value to improve on.

    Returns
    -------
    point : ndarray of shape (d,)
        Inside the box.
    score : float
        ``log EI`` there, with what is added.
    """
    posterior, success = slices
    moving = np.flatnonzero(free)
    point = start.copy()

    def loss(reals: FloatArray) -> tuple[float, FloatArray]:
        point[moving] = reals
        here = posterior.at(point)
        z = (best - here.value) / here.deviation
        log_h, slope = _log_h(z)
        # d log EI = h'/h dz + dv / v, with dz = -dm / v - z dv / v
        gradient = here.gradient(
            -slope / here.deviation, (1.0 - slope * z) / here.deviation
        )
        score = math.log(here.deviation) + log_h
        if success is not None:
            log_p, slope_p = success.at(point)
            score, gradient = score + log_p, gradient + slope_p
        return -score, -gradient[moving]

    low, high = (bound[moving] for bound in box)
    point[moving], lowest = minimise(
        loss, start[moving], (low, high), iterations, iterations, TOLERANCE
    )
    return point, -lowest
