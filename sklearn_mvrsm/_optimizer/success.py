"""The probability that an evaluation succeeds and is feasible: two more regressions.

Notation
--------
``m, v``    value and posterior deviation of a surrogate: of failures, which is 1 for a
            failure and 0 for a success; or of the constraint
``t``       on the surrogate's scale: one half; or 0, the constraint's limit
``P``       probability of being below ``t``: ``Phi(z)`` with ``z = (t - m) / s`` and
            ``s^2 = v^2 + e^2``. Near an edge, where failures begin, ``m`` lies between
            0 and 1, and the surrogate is surer of it than it should be: ``e = t / 2``.
            A constraint goes on beyond its limit: ``e = 0``
``log A``   ``log P + w min(0, log P - log 0.9)``, which is added to ``log EI``

Without the second term (``w = 0``) this is expected improvement times the probability
of success. Once the values differ little, that spends most evaluations on failures
beyond the edge, where the surrogate of values knows nothing. ``w`` grows with the share
of failures among the latest trials, or of those that violate the constraint, once one
satisfies it.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from sklearn_mvrsm._domain import BoolArray, FloatArray, Region
from sklearn_mvrsm._optimizer.observed_surrogate import ObservedSurrogate
from sklearn_mvrsm._surrogate import RealSlice, Surrogate

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
FAILURES, CONSTRAINT = "failures", "constraint"


class Success:
    """What the probability of success adds to the logarithm of an improvement.

    Parameters
    ----------
    region : Region
    seed : int
        Of the surrogates' random directions.
    """

    def __init__(self, region: Region, seed: int) -> None:
        self._region, self._seed = region, seed
        self._models: dict[str, ObservedSurrogate] = {}  # none while nothing is amiss
        self._limits: dict[str, Limit] = {}

    def observe(self, points: FloatArray, failed: BoolArray) -> None:
        """Update the surrogate of failures with every trial, some of which have failed.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        failed : ndarray of bool of shape (n,)
        """
        model = self._model(FAILURES)
        model.observe(points, failed.astype(np.float64), np.arange(len(failed)))
        t = model.surrogate.output.threshold(0.5)
        self._limits[FAILURES] = Limit(
            model.surrogate, t, EDGE * t, _strictness(failed)
        )

    def observe_constraint(self, points: FloatArray, numbers: FloatArray) -> None:
        """Update the surrogate of the constraint with every trial.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        numbers : ndarray of shape (n,)
            What must be <= 0; not finite where it is not known.
        """
        known = np.flatnonzero(np.isfinite(numbers))
        if not len(known):
            return
        model = self._model(CONSTRAINT)
        model.observe(points, numbers, known, np.abs(numbers), limit=0.0)
        t = model.surrogate.output.threshold(0.0)
        violated = numbers[known] > 0.0
        w = 0.0 if violated.all() else _strictness(violated)
        self._limits[CONSTRAINT] = Limit(model.surrogate, t, 0.0, w)

    def _model(self, of: str) -> ObservedSurrogate:
        if of not in self._models:
            self._models[of] = ObservedSurrogate(self._region, self._seed)
        return self._models[of]

    def log_factor(self, points: FloatArray, active: BoolArray) -> FloatArray:
        """Return ``log A``, shape ``(n,)``; 0 while nothing is amiss."""
        factor = np.zeros(len(points))
        for limit in self._limits.values():
            factor += limit.log_factor(limit.log_probability(points, active))
        return factor

    def is_likely(self, point: FloatArray, active: BoolArray) -> bool:
        """Return whether success is likelier than failure."""
        at = point[np.newaxis], active[np.newaxis]
        log_p = [limit.log_probability(*at)[0] for limit in self._limits.values()]
        return bool(sum(log_p) >= LIKELY)

    def real_slice(self, point: FloatArray, active: BoolArray) -> "SuccessSlice | None":
        """Return ``log A`` along the reals; None while nothing is amiss."""
        parts = [
            (limit, limit.surrogate.real_slice(point, active))
            for limit in self._limits.values()
        ]
        return SuccessSlice(tuple(parts)) if parts else None


def _strictness(bad: BoolArray) -> float:
    """Return ``w`` for trials of which some are bad."""
    share = float(bad[-WINDOW:].mean())
    return STRICTNESS * math.pow(share / USUAL, POWER)


@dataclass(frozen=True)
class Limit:
    """A surrogate, and below what it is to be.

    Parameters
    ----------
    surrogate : Surrogate
    threshold, edge, strictness : float
        ``t``, ``e`` and ``w``.
    """

    surrogate: Surrogate
    threshold: float
    edge: float
    strictness: float

    def log_probability(self, points: FloatArray, active: BoolArray) -> FloatArray:
        """Return ``log P``, shape ``(n,)``."""
        value, v = self.surrogate.predict_with_deviation(points, active)
        return np.asarray(log_ndtr((self.threshold - value) / np.hypot(v, self.edge)))

    def log_factor(self, log_p: FloatArray) -> FloatArray:
        """Return ``log A``."""
        return np.asarray(log_p + self.strictness * np.minimum(0.0, log_p - SURE))

    def log_factor_at(
        self, posterior: RealSlice, point: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return ``log A`` and its gradient, shape ``(d,)``, at a point of a slice."""
        here = posterior.at(point)
        s = math.hypot(here.deviation, self.edge)
        z = (self.threshold - here.value) / s
        log_p = float(log_ndtr(z))
        # d log Phi / dz = phi / Phi, and ds / dv = v / s
        slope = math.exp(-0.5 * z * z - log_p) / ROOT_2_PI if z > FURTHEST else -z
        slope *= 1.0 + self.strictness * (log_p < SURE)
        gradient = here.gradient(-slope / s, -slope * z * here.deviation / s**2)
        return log_p + self.strictness * min(0.0, log_p - SURE), gradient


@dataclass(frozen=True)
class SuccessSlice:
    """``log A`` as a function of the reals.

    Parameters
    ----------
    parts : tuple of (Limit, RealSlice)
        Each limit with its posterior.
    """

    parts: tuple[tuple[Limit, RealSlice], ...]

    def at(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Return ``log A`` and its gradient, shape ``(d,)``, at a point."""
        factor, gradient = 0.0, np.zeros(len(point))
        for limit, posterior in self.parts:
            added, slope = limit.log_factor_at(posterior, point)
            factor, gradient = factor + added, gradient + slope
        return factor, gradient
