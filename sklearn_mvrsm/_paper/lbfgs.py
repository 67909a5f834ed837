"""L-BFGS-B, called so that little time passes between evaluations."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from sklearn_mvrsm._domain import FloatArray

__all__ = ["minimise"]


EPSILON = float(np.finfo(np.float64).eps)
TOLERANCE = 1e7 * EPSILON  # SciPy's
MOST_EVALUATIONS = 15_000  # SciPy's


def minimise(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    box: tuple[FloatArray, FloatArray],
    iterations: int,
    evaluations: int = MOST_EVALUATIONS,
    tolerance: float = TOLERANCE,
) -> tuple[FloatArray, float]:
    """Minimise a function with a gradient over a box.

    ``scipy.optimize.minimize`` takes a third longer for functions of microseconds: it
    compares each point three times with the one before, and converts the bounds twice.

    Parameters
    ----------
    loss : callable
        Takes a point, and returns a value and a gradient.
    start : ndarray of shape (n,)
    box : tuple of ndarray of shape (n,) and ndarray of shape (n,)
        Lower and upper bounds.
    iterations, evaluations : int
        Bounds of both; the last iteration is finished.
    tolerance : float
        Relative change of the value at which it ends.

    Returns
    -------
    point : ndarray of shape (n,)
        Inside the box.
    value : float
    """
    key, slope = b"", start

    def value(x: FloatArray) -> float:
        nonlocal key, slope
        key = x.tobytes()
        found, slope = loss(x)
        return found

    def gradient(x: FloatArray) -> FloatArray:
        if x.tobytes() != key:  # SciPy asks for the value first
            value(x)
        return slope

    low, high = (bound.tolist() for bound in box)
    point, lowest, _ = fmin_l_bfgs_b(
        value,
        start,
        gradient,
        bounds=list(zip(low, high, strict=True)),
        factr=tolerance / EPSILON,
        maxiter=iterations,
        maxfun=evaluations,
    )
    return np.clip(point, *box), float(lowest)
