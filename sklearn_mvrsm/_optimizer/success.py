"""The probability that an evaluation succeeds: a second regression, on failures.

Notation
--------
``m, v``    the surrogate's value and posterior deviation, of 1 for a failure and 0 for
            a success
``t``       one half, on the surrogate's scale
``P``       probability of success, ``Phi(z)`` with ``z = (t - m) / s`` and
            ``s^2 = v^2 + (t / 2)^2``: near an edge, where failures begin, ``m`` lies
            between 0 and 1, and the surrogate is surer of it than it should be
``log A``   ``log P + w min(0, log P - log 0.9)``, which is added to ``log EI``

Without the second term (``w = 0``) this is expected improvement times the probability
of success. Once the values differ little, that spends most evaluations on failures
beyond the edge, where the surrogate of values knows nothing. ``w`` grows with the share
of failures among the latest trials.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from sklearn_mvrsm._domain import BoolArray, FloatArray, Region
from sklearn_mvrsm._optimizer.observed_surrogate import ObservedSurrogate
from sklearn_mvrsm._surrogate import RealSlice

__all__ = ["Success", "SuccessSlice"]


EDGE = 0.5  # deviation of the edge, in units of t
SURE = math.log(0.9)  # log P, below which w counts
USUAL = 0.05  # share of failures among
WINDOW = 30  # the latest trials, at which w is
STRICTNESS = 300.0  # this,
POWER = 4.0  # and it grows by this power of the share
LIKELY = math.log(0.5)  # least log P of the paper's step
ROOT_2_PI = math.sqrt(2.0 * math.pi)
FURTHEST = -1e3  # z, below which the slope of log Phi(z) is -z


class Success:
    """What the probability of success adds to the logarithm of an improvement.

    Parameters
    ----------
    region : Region
    seed : int
        Of the surrogate's random directions.
    """

    def __init__(self, region: Region, seed: int) -> None:
        self._region, self._seed = region, seed
        self._model: ObservedSurrogate | None = None  # while nothing has failed
        self._threshold = self._strictness = 0.0

    def observe(self, points: FloatArray, failed: BoolArray) -> None:
        """Update the surrogate with every trial, some of which have failed.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        failed : ndarray of bool of shape (n,)
        """
        if self._model is None:
            self._model = ObservedSurrogate(self._region, self._seed)
        self._model.observe(points, failed.astype(np.float64), np.arange(len(failed)))
        self._threshold = float(self._model.surrogate.output.apply(np.array([0.5]))[0])
        share = float(failed[-WINDOW:].mean())
        self._strictness = STRICTNESS * (share / USUAL) ** POWER

    def log_factor(self, points: FloatArray, active: BoolArray) -> FloatArray:
        """Return ``log A``, shape ``(n,)``; 0 while nothing has failed."""
        log_p = self._log_probability(points, active)
        return log_p + self._strictness * np.minimum(0.0, log_p - SURE)

    def is_likely(self, point: FloatArray, active: BoolArray) -> bool:
        """Return whether success is likelier than failure."""
        log_p = self._log_probability(point[np.newaxis], active[np.newaxis])
        return bool(log_p[0] >= LIKELY)

    def _log_probability(self, points: FloatArray, active: BoolArray) -> FloatArray:
        if self._model is None:
            return np.zeros(len(points))
        value, v = self._model.surrogate.predict_with_deviation(points, active)
        t = self._threshold
        return np.asarray(log_ndtr((t - value) / np.hypot(v, EDGE * t)))

    def real_slice(self, point: FloatArray, active: BoolArray) -> "SuccessSlice | None":
        """Return ``log A`` along the reals; None while nothing has failed."""
        if self._model is None:
            return None
        posterior = self._model.surrogate.real_slice(point, active)
        return SuccessSlice(posterior, self._threshold, self._strictness)


@dataclass(frozen=True)
class SuccessSlice:
    """``log A`` as a function of the reals.

    Parameters
    ----------
    posterior : RealSlice
        Of failures.
    threshold, strictness : float
        ``t`` and ``w``.
    """

    posterior: RealSlice
    threshold: float
    strictness: float

    def at(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Return ``log A`` and its gradient, shape ``(d,)``, at a point."""
        here = self.posterior.at(point)
        s = math.hypot(here.deviation, EDGE * self.threshold)
        z = (self.threshold - here.value) / s
        log_p = float(log_ndtr(z))
        # d log Phi / dz = phi / Phi, and ds / dv = v / s
        slope = math.exp(-0.5 * z * z - log_p) / ROOT_2_PI if z > FURTHEST else -z
        slope *= 1.0 + self.strictness * (log_p < SURE)
        gradient = here.gradient(-slope / s, -slope * z * here.deviation / s**2)
        return log_p + self.strictness * min(0.0, log_p - SURE), gradient
