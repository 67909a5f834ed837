"""The kernel's hyperparameters as logarithms, and their normal priors."""

from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm._domain import FloatArray

__all__ = [
    "BOUNDS",
    "CENTRE",
    "GATE",
    "KINDS",
    "LENGTHSCALE_BOUNDS",
    "LINEAR",
    "LOCAL",
    "NOISE",
    "SHARPNESS",
    "SMOOTH",
    "SPREAD",
    "Hyperparameters",
    "default_lengthscales",
    "negative_log_prior",
]


KINDS = 4  # of splines: see span_basis


@dataclass(frozen=True)
class Hyperparameters:
    """Logarithms of the prior's strengths.

    The covariance of two points with spline covariances ``B_k``, similarity ``S`` and
    smooth covariance ``M`` is ``(1 + gate S) sum_k splines_k B_k + linear S + local
    exp(sharpness (S - 1)) + smooth M``.

    Parameters
    ----------
    log : ndarray of shape (KINDS + 6,)
        Logarithms of splines (KINDS of them), gate, linear, local, sharpness, smooth,
        noise.
    """

    log: FloatArray

    @classmethod
    def default(cls) -> "Hyperparameters":
        """Return what is believed before there are data."""
        return cls(CENTRE.copy())

    @property
    def splines(self) -> FloatArray:
        """Variance of each kind of spline, shape ``(KINDS,)``."""
        return np.exp(self.log[:KINDS])

    @property
    def smooth(self) -> float:
        """Variance of the smooth part."""
        return float(np.exp(self.log[SMOOTH]))

    @property
    def noise(self) -> float:
        """Variance of the noise: the ridge ``lambda``."""
        return float(np.exp(self.log[NOISE]))

    def gate(self, similarity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the factor of the splines' covariance and what is added to it."""
        gate, linear, local, sharpness = np.exp(self.log[KINDS : KINDS + 4])
        peak = np.exp(sharpness * (similarity - 1.0))
        return 1.0 + gate * similarity, linear * similarity + local * peak


GATE, LINEAR, LOCAL, SHARPNESS, SMOOTH, NOISE = range(KINDS, KINDS + 6)
CENTRE = np.log([1.0] * KINDS + [1.0, 0.3, 0.3, 3.0, 1.0, 1e-3])
SPREAD = np.array([1.5] * KINDS + [1.0, 1.5, 1.5, 0.7, 2.0, 2.0])
BOUNDS = [(-12.0, 12.0)] * (KINDS + 5) + [(np.log(1e-8), 1.0)]
LENGTHSCALE_BOUNDS = (-4.0, 6.0)  # of a log length
_LENGTHSCALE = 0.5  # usual length of one coordinate alone, in units of its range


def default_lengthscales(d: int) -> FloatArray:
    """Return the log lengths that are believed in before there are data.

    They grow with the root of the number of coordinates, as distances do (Hvarfner,
    Hellsten and Nardi, ICML 2024).
    """
    return np.full(d, np.log(_LENGTHSCALE * np.sqrt(max(d, 1))))


def negative_log_prior(
    values: FloatArray, centre: FloatArray, spread: FloatArray
) -> tuple[float, FloatArray]:
    """Return the negative log density of a normal kernel, and its gradient."""
    z = (values - centre) / spread
    return 0.5 * float(z @ z), z / spread
