"""The step that changes a few coordinates of the best points.

Candidates near the best points and some from anywhere are scored by expected
improvement. The best are refined by smaller changes, and then along their reals by
L-BFGS on expected improvement.
"""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray, IntArray, Region
from sklearn_mvrsm._optimizer.acquisition import (
    log_expected_improvement,
    maximise_expected_improvement,
)
from sklearn_mvrsm._optimizer.candidates import admissible, neighbours
from sklearn_mvrsm._optimizer.model_step import ModelStep
from sklearn_mvrsm._optimizer.step_control import StepControl
from sklearn_mvrsm._optimizer.success import Success
from sklearn_mvrsm._surrogate import Surrogate

__all__ = ["CoordinateStep"]


PARENTS = 5  # best points that candidates are grown from
CANDIDATES = 100  # near the best points
ANYWHERE = 30  # candidates drawn from the whole space
PERTURBED = 8  # perturbations of the spline's minimum among the candidates
REFINEMENTS = 2  # rounds of smaller changes to the best candidates,
REFINED = 10  # which are so many,
CLOSER = 100  # by so many candidates a round,
SHORTER = 0.3  # with steps of this share of the width,
FEWER = 0.5  # and this share of the chance that a coordinate changes
BOX = 1.0  # half of the box of L-BFGS, in widths of a coordinate step
ASCENTS = 2  # candidates whose reals are optimised
ITERATIONS = 20  # of L-BFGS from a candidate, fewer where
ASCENT_WORK = 5e7  # multiplications are spent,
FEWEST_ITERATIONS = 5  # but never fewer than these
RESOLUTION = 2.0**24  # steps of a range, on which reals end
WORK = 2e8  # multiplications that covariances of one batch of candidates may cost
SHORTEST = 8  # candidates that are scored whatever it costs


@dataclass(frozen=True)
class CoordinateStep:
    """The candidate with the greatest expected improvement.

    Parameters
    ----------
    region : Region
        Where configurations live.
    surrogate : Surrogate
        Solved for the values observed.
    success : Success
        What is added to the logarithm of expected improvement.
    control : StepControl
        How far a step reaches, and how many coordinates it changes.
    judged : ModelStep or None
        Its minimum and some perturbations of that are among the candidates.
    """

    region: Region
    surrogate: Surrogate
    success: Success
    control: StepControl
    judged: ModelStep | None

    def propose(
        self,
        points: FloatArray,
        merit: FloatArray,
        seen: Set[bytes],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return a canonical point.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            Observed.
        merit : ndarray of shape (n,)
            Low for good ones: their values, unless there is a constraint.
        seen : set of bytes
            Points that are not proposed.
        rng : numpy.random.Generator
        """
        parents = points[_best(merit, PARENTS, rng)]
        chance = self.control.chance(self.surrogate.kernel.relevance)
        region, width = self.region, self.control.width
        near = neighbours(region, parents, CANDIDATES, width, chance, rng)
        anywhere = region.canonical(region.domain.sample(rng, ANYWHERE))
        offered = [near, anywhere]
        if self.judged is not None:
            minimum = self.judged.minimum(points, merit, rng)
            perturbed = [self.judged.perturbed(minimum, rng) for _ in range(PERTURBED)]
            offered = [np.array([minimum, *perturbed]), *offered]
        points = admissible(region, np.concatenate(offered), seen)
        points = self._shortlist(points, parents[0])
        scores = self._score(points)
        for _ in range(REFINEMENTS):
            if not len(points):
                break
            top = np.argsort(-scores, kind="stable")[:REFINED]
            fewer = np.maximum(FEWER * chance, 1.0 / region.domain.d)
            closer = neighbours(
                region, points[top], CLOSER, SHORTER * width, fewer, rng
            )
            closer = self._shortlist(admissible(region, closer, seen), parents[0])
            points = np.concatenate([points[top], closer])
            scores = np.concatenate([scores[top], self._score(closer)])
        if not len(points):
            return region.canonical(region.domain.sample(rng))
        return self._maximise_reals(points, scores, seen)

    def _maximise_reals(
        self, points: FloatArray, scores: FloatArray, seen: Set[bytes]
    ) -> FloatArray:
        """Return the best candidate, after L-BFGS over the reals of the first."""
        domain, order = self.region.domain, np.argsort(-scores, kind="stable")
        best, highest = points[order[0]], scores[order[0]]
        real = np.arange(domain.d) >= domain.d - domain.n_real
        for start in points[order[:ASCENTS]]:
            active = self.region.active(start)
            free = active & real & (domain.span > 0.0)
            if not free.any():
                continue
            posterior = self.surrogate.real_slice(start, active)
            reach = BOX * self.control.width * domain.span
            low = np.maximum(domain.lower, start - reach)
            high = np.minimum(domain.upper, start + reach)
            top, score = maximise_expected_improvement(
                (posterior, self.success.real_slice(start, active)),
                start,
                (low, high),
                free,
                self._iterations(),
                self.surrogate.target,
            )
            top = self.region.canonical(np.clip(_on_grid(domain, top, free), low, high))
            if score > highest and len(admissible(self.region, top[np.newaxis], seen)):
                best, highest = top, score
        return np.asarray(best)

    def _iterations(self) -> int:
        """Bound the cost of an ascent, however many observations there are."""
        n, width = self.surrogate.n, self.surrogate.width
        affordable = int(ASCENT_WORK / max(n * (n + width), 1))
        return min(max(affordable, FEWEST_ITERATIONS), ITERATIONS)

    def _shortlist(self, points: FloatArray, incumbent: FloatArray) -> FloatArray:
        """Keep as many as may be scored: those lowest on the incumbent's spline."""
        splines, surrogate = self.surrogate.splines, self.surrogate
        limit = max(int(WORK / (surrogate.width * surrogate.n)), SHORTEST)
        if len(points) <= limit:
            return points
        active = self.region.active(incumbent)
        weights, _ = surrogate.spline_at(incumbent, active)
        values = splines.features(points) @ weights
        return points[np.sort(np.argsort(values, kind="stable")[:limit])]

    def _score(self, points: FloatArray) -> FloatArray:
        """Return the logarithm of the expected improvement, shape ``(n,)``."""
        if not len(points):
            return np.zeros(0)
        active = self.region.active(points)
        value, deviation = self.surrogate.predict_with_deviation(points, active)
        target = self.surrogate.target
        improvement = log_expected_improvement(value, deviation, target)
        return improvement + self.success.log_factor(points, active)


def _best(values: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Choose the lowest values, best first; among equal ones the last are drawn."""
    order = np.argsort(values, kind="stable")
    if len(order) <= count or values[order[count - 1]] < values[order[count]]:
        return order[:count]
    lower = order[values[order] < values[order[count]]]
    tied = np.flatnonzero(values == values[order[count]])
    drawn = rng.choice(tied, count - len(lower), replace=False)
    return np.concatenate([lower, drawn])


def _on_grid(domain: Domain, point: FloatArray, free: BoolArray) -> FloatArray:
    """Round reals to steps of their range, which hides how sums were rounded.

    Two processes may add the same numbers up in another order, and L-BFGS makes more of
    the difference.
    """
    lower, span = domain.lower[free], domain.span[free]
    share = np.round((point[free] - lower) / span * RESOLUTION) / RESOLUTION
    rounded = point.copy()
    rounded[free] = lower + share * span
    return rounded
