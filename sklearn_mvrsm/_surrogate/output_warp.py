"""The objective as the surrogate sees it: shifted, scaled and perhaps warped.

Notation
--------
``z``    ``(y - min y) / deviation of y``, taken afresh at every step
``a``    the warp, ``a >= 0``
``t``    ``log(1 + a z) / a``, and ``z`` itself for ``a = 0``

A logarithm keeps the differences between good values visible beside values that are
far worse. The data choose ``a``: :func:`choose_warp`
compares likelihoods of ``y``, the slope of the warp included (Snelson, Rasmussen and
Ghahramani, NIPS 2003).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from sklearn_mvrsm._domain import FloatArray

__all__ = ["WARPS", "OutputTransform", "choose_warp"]


WARPS = (0.0, 1.0, 4.0)


@dataclass(frozen=True)
class OutputTransform:
    """A monotone map from values of the objective to those that the surrogate sees.

    Parameters
    ----------
    low : float
        The best value, which is mapped to 0.
    scale : float
        Positive unit of the values.
    warp : float
        ``a``.
    """

    low: float
    scale: float
    warp: float

    @classmethod
    def of(cls, values: FloatArray, warp: float) -> "OutputTransform":
        """Return the map that suits these values."""
        low = float(values.min())
        width = float(np.ptp(values)) or 1.0  # squares must not overflow or vanish
        scale = width * float(((values - low) / width).std()) or 1.0
        return cls(low, scale, warp)

    def apply(self, values: FloatArray) -> FloatArray:
        """Map values of the objective."""
        z = (values - self.low) / self.scale
        if self.warp == 0.0:
            return z
        return np.asarray(np.log1p(self.warp * z) / self.warp)

    def threshold(self, value: float) -> float:
        """Map a value that may be below the lowest, where the map is linear."""
        z = (value - self.low) / self.scale
        if self.warp == 0.0 or z <= 0.0:
            return z
        return math.log1p(self.warp * z) / self.warp

    def invert(
        self, mean: FloatArray, deviation: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return median and deviation in units of the objective, to first order."""
        if self.warp == 0.0:
            return self.low + self.scale * mean, self.scale * deviation
        slope = np.exp(self.warp * mean)
        z = np.expm1(self.warp * mean) / self.warp
        return self.low + self.scale * z, self.scale * slope * deviation


def choose_warp(values: FloatArray, lower: FloatArray) -> float:
    """Choose the warp under which the values are most likely.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Not all equal.
    lower : ndarray of shape (n, n)
        Cholesky factor of the prior covariance of the warped values, noise included,
        up to a factor that is set by likelihood too.

    Returns
    -------
    float
        One of ``WARPS``.
    """
    n = len(values)
    losses = []
    for warp in WARPS:
        output = OutputTransform.of(values, warp)
        t = output.apply(values)
        white = solve_triangular(
            lower, np.column_stack([t, np.ones(n)]), lower=True, check_finite=False
        )
        mean = (white[:, 0] @ white[:, 1]) / (white[:, 1] @ white[:, 1])
        # the mean and the amplitude that make t most likely
        amplitude = np.mean((white[:, 0] - mean * white[:, 1]) ** 2)
        # log dt/dz = -log(1 + a z)
        log_slope = -np.log1p(warp * ((values - output.low) / output.scale))
        losses.append(0.5 * n * np.log(amplitude) - log_slope.sum())
    return WARPS[int(np.argmin(losses))]
