"""Where the surrogate is low: L-BFGS over the numbers, scores of candidates.

Notation
--------
``g``       a ridge spline, see :mod:`sklearn_mvrsm._basis`
``m, v``    the surrogate's value and posterior deviation at a candidate
``y*``      the best observation
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import erfcx, ndtr

from sklearn_mvrsm._basis import RidgeSplines
from sklearn_mvrsm._domain import Domain

__all__ = ["log_expected_improvement", "minimise_spline"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


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
    result = minimize(
        splines.value_and_gradient,
        start,
        args=(weights,),
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([low, high]),
        options={"maxiter": iterations, "maxfun": iterations},
    )
    return np.clip(result.x, low, high), float(result.fun)


def log_expected_improvement(
    value: FloatArray, deviation: FloatArray, best: float
) -> FloatArray:
    """Logarithm of the expected improvement on ``best``.

    ``log(v h(z))`` with ``z = (y* - m) / v`` and ``h(z) = z Phi(z) + phi(z)`` (Jones,
    Schonlau and Welch, 1998), evaluated in logarithms so that hopeless candidates
    still compare (Ament et al., 2023).

    Parameters
    ----------
    value, deviation : ndarray of shape (m,)
    best : float

    Returns
    -------
    ndarray of shape (m,)
    """
    z = (best - value) / deviation
    upper, lower = np.maximum(z, -1.0), np.clip(z, -1e3, -1.0)
    density = np.exp(-0.5 * upper**2) / math.sqrt(2.0 * math.pi)
    direct = np.log(upper * ndtr(upper) + density)
    # h(z) / phi(z) = 1 + z sqrt(pi/2) erfcx(-z / sqrt 2), about z^-2 far below
    ratio = 1.0 + lower * math.sqrt(0.5 * math.pi) * erfcx(-lower / math.sqrt(2.0))
    scaled = np.log(np.where(lower > -50.0, ratio, 1.0 / lower**2))
    below = scaled - 0.5 * z**2 - 0.5 * math.log(2.0 * math.pi)
    return np.asarray(np.log(deviation) + np.where(z > -1.0, direct, below))
