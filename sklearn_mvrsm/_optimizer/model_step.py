"""The paper's step on the model of the default method.

L-BFGS over the numbers on the spline at the incumbent (`Surrogate.spline_at`), sweeps
over changes of one category with the best re-optimised, then a small perturbation.
"""

import math
from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm._domain import BoolArray, FloatArray, IntArray, Region, redraw
from sklearn_mvrsm._paper import minimise_spline, perturb_as_paper
from sklearn_mvrsm._surrogate import Surrogate

__all__ = ["ModelStep"]


ITERATIONS = 20  # of L-BFGS from the incumbent
SWEEP_ITERATIONS = 10  # of L-BFGS after a change of category
SWEEPS = 2
SWEEP_MOST = 500  # values that are tried where very many are listed,
SWEEP_FEWEST = 5  # of each category at least
SWEEP_BEST = 2  # changes of category that are re-optimised
GAIN = 1e-9  # a sweep that lowers the spline by less is the last
REDRAWN = 2.0  # categories that a perturbation redraws, on average


@dataclass(frozen=True)
class ModelStep:
    """The spline's minimum, over categories too, and its perturbations.

    Parameters
    ----------
    region : Region
        Where configurations live.
    surrogate : Surrogate
        Solved for the values observed.
    """

    region: Region
    surrogate: Surrogate

    def propose(
        self, points: FloatArray, values: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the paper's proposal: the spline's minimum, perturbed."""
        return self.perturbed(self.minimum(points, values, rng), rng)

    def minimum(
        self, points: FloatArray, values: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Minimise the spline from the best point, over categories too."""
        ties = np.flatnonzero(values <= values.min())
        point = points[rng.choice(ties)]
        point, value = self._descend(point, ITERATIONS)
        for _ in range(SWEEPS if self.region.domain.n_categorical else 0):
            swept, lower = self._sweep(point, rng)
            if lower >= value - GAIN:
                break
            point, value = swept, lower
        return point

    def perturbed(self, point: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Perturb a point as the paper does, categories included."""
        active = self.region.active(point)
        moved = perturb_as_paper(self.region.domain, point, active & self._numbers, rng)
        moved = self._redraw_categories(moved, active, rng)
        return np.asarray(redraw(self.region, moved[np.newaxis], active, rng)[0])

    @property
    def _numbers(self) -> BoolArray:
        """Which coordinates are not categories."""
        domain = self.region.domain
        return np.arange(domain.d) >= domain.n_categorical

    def _descend(self, point: FloatArray, iterations: int) -> tuple[FloatArray, float]:
        """Minimise the spline at the point's categories and integers."""
        active = self.region.active(point)
        weights, constant = self.surrogate.spline_at(point, active)
        minimum, value = minimise_spline(
            self.surrogate.splines,
            weights,
            point,
            self.region.domain,
            active & self._numbers,
            iterations,
        )
        return self.region.canonical(minimum), value + constant

    def _sweep(
        self, point: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, float]:
        """Try every change of one category; re-optimise over the numbers."""
        domain, active = self.region.domain, self.region.active(point)
        changeable = np.flatnonzero(active[: domain.n_categorical])
        changed = []
        for i in changeable:
            codes = np.arange(domain.category_sizes[i])
            if not self.surrogate.kernel.one_hot:
                most = max(SWEEP_MOST // len(changeable), SWEEP_FEWEST)
                codes = self._sampled_codes(int(i), most, rng)
            for code in codes[codes != point[i]]:
                changed.append(point.copy())
                changed[-1][i] = code
        if not changed:
            return point, math.inf
        candidates = redraw(self.region, np.array(changed), active, rng)
        values = self.surrogate.predict(candidates, self.region.active(candidates))
        best, lowest = point, math.inf
        for k in np.argsort(values, kind="stable")[:SWEEP_BEST]:
            minimum, value = self._descend(candidates[k], SWEEP_ITERATIONS)
            if value < lowest:
                best, lowest = minimum, value
        return best, lowest

    def _sampled_codes(self, i: int, most: int, rng: np.random.Generator) -> IntArray:
        """Return some values of a category: as many observed ones as any others.

        The surrogate expects the same of all values that it has not observed.
        """
        observed = self.surrogate.features.codes[-most:, i]
        drawn = rng.integers(self.region.domain.category_sizes[i], size=most)
        codes = np.concatenate([observed[~np.isnan(observed)], drawn])
        return np.unique(codes.astype(np.intp))

    def _redraw_categories(
        self, point: FloatArray, active: BoolArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw each category anew with probability ``REDRAWN / d``."""
        count = self.region.domain.n_categorical
        chance = REDRAWN / max(int(active.sum()), 1)
        again = (rng.random(count) < chance) & active[:count]
        uniform = self.region.domain.sample(rng)[:count]
        moved = point.copy()
        moved[:count] = np.where(again, uniform, point[:count])
        return moved
