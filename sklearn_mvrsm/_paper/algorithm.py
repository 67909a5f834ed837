"""``method="paper"``: the published algorithm (Bliek et al., GECCO 2021, Algorithm 1).

Categories are integers, as in the paper's experiments. What the paper leaves open is
defined here: a failed evaluation, and one that violates a constraint, counts as the
worst finite value seen so far; while there is none it is kept aside. Inactive
coordinates rest at their neutral value, and one that comes into existence is drawn
uniformly.
"""

import math

import numpy as np

from sklearn_mvrsm._domain import FloatArray, History, Region, redraw
from sklearn_mvrsm._paper.least_squares import RecursiveLeastSquares
from sklearn_mvrsm._paper.perturbation import perturb_as_paper
from sklearn_mvrsm._paper.splines import RidgeSplines, minimise_spline, paper_basis

__all__ = ["PaperMethod"]


INITIAL_POINTS = 24  # as in the paper's experiments
RIDGE = 1e-8  # the paper's regularisation factor: P_0 = I / RIDGE
ITERATIONS = 20  # of L-BFGS
SCALE_FLOOR = 1e-8  # a first value nearer to zero does not scale the others
LARGEST = 1e100  # scaled value; the squares of larger ones are out of reach
PREDICT_ROWS = 2000  # points predicted at a time, to bound the memory
FEASIBLE_TRIES = 100  # perturbations drawn until one satisfies the constraints


def initial_weights(splines: RidgeSplines) -> FloatArray:
    """Return c = 1 for integer splines and 0 for the constant and mixed ones.

    An integer spline has whole directions and offsets, and is not the constant.
    """
    whole = (splines.directions == np.round(splines.directions)).all(axis=1)
    moving = splines.directions.any(axis=1)
    return np.asarray((whole & moving)[splines.group], dtype=np.float64)


class PaperMethod:
    """Recursive least squares on the paper's basis, its minimum, and a perturbation.

    Parameters
    ----------
    region : Region
        Where configurations live.
    seed : int
        Of the random basis.
    n_iter : int or None
        Evaluations in all, where known: there is no exploration before the last.
    """

    may_repeat = True
    n_initial_points = INITIAL_POINTS

    def __init__(self, region: Region, seed: int, n_iter: int | None) -> None:
        self.region = region
        self.relaxed = region.domain.relaxed()
        self.n_iter = n_iter
        self.splines = paper_basis(self.relaxed, np.random.default_rng(seed))
        self.model = RecursiveLeastSquares(initial_weights(self.splines), RIDGE)
        self._first = math.nan
        self._worst = -math.inf
        self._best = math.inf
        self._best_point: FloatArray = region.domain.neutral
        self._aside: list[FloatArray] = []  # failures before the first success

    def initial_points(
        self, design: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return uniform points, as many as the design has."""
        drawn = self.region.domain.sample(rng, len(design))
        return self.region.canonical(drawn)

    def observe(
        self, point: FloatArray, value: float, constraint: float | None = None
    ) -> None:
        """Update the surrogate with one evaluation."""
        infeasible = constraint is not None and not constraint <= 0.0
        if infeasible or not math.isfinite(value):
            if math.isinf(self._worst):
                self._aside.append(point)
            else:
                self._update(point, self._worst)
            return
        if math.isnan(self._first):
            self._first = value
        self._worst = max(self._worst, value)
        if value < self._best:
            self._best, self._best_point = value, point
        self._update(point, value)
        for failed in self._aside:
            self._update(failed, value)
        self._aside.clear()

    def _update(self, point: FloatArray, value: float) -> None:
        scaled = value - self._first
        if abs(self._first) > SCALE_FLOOR:
            scaled /= abs(self._first)
        scaled = min(max(scaled, -LARGEST), LARGEST)
        # algorithm 1: update the weights of g by recursive least squares
        self.model.update(self.splines.features(point[np.newaxis])[0], scaled)

    def predict(
        self, history: History, points: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the surrogate's values, and nan for their deviations.

        Parameters
        ----------
        history : History
            Not used: the surrogate has seen it.
        points : ndarray of shape (n, d)
            Canonical.
        """
        parts = np.array_split(points, len(points) // PREDICT_ROWS + 1)
        scaled = np.concatenate(
            [self.splines.features(part) @ self.model.weights for part in parts]
        )
        scale = abs(self._first) if abs(self._first) > SCALE_FLOOR else 1.0
        return self._first + scale * scaled, np.full(len(points), np.nan)

    def propose(self, history: History, rng: np.random.Generator) -> FloatArray:
        """Return the surrogate's minimum near the best point, perturbed.

        Parameters
        ----------
        history : History
            Only its length is used; the surrogate has seen the rest.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of shape (d,)
            Canonical; feasible unless every perturbation tried was not.
        """
        active = self.region.active(self._best_point)
        # algorithm 1: minimise g from the best point with L-BFGS
        minimum, _ = minimise_spline(
            self.splines,
            self.model.weights,
            self._best_point,
            self.relaxed,
            active,
            ITERATIONS,
        )
        minimum = self.relaxed.round(minimum)
        if self.n_iter == len(history.points) + len(history.pending) + 1:
            point: FloatArray = redraw(self.region, minimum[np.newaxis], active, rng)[0]
            if self.region.feasible(point):
                return point
        for _ in range(FEASIBLE_TRIES):
            # algorithm 1: explore around the minimum
            moved = perturb_as_paper(self.relaxed, minimum, active, rng)
            point = redraw(self.region, moved[np.newaxis], active, rng)[0]
            if self.region.feasible(point):
                break
        return point
