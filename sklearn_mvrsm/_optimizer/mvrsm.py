"""``method="mvrsm"``: the paper's two ideas on a better model, with uncertainty.

There are two kinds of step:

* *model*: the paper's step. L-BFGS over the numbers on the section of the surrogate
  at the incumbent, sweeps over single-category changes with the best re-optimised,
  then a small perturbation;
* *coordinate*: a few hundred candidates that change a few coordinates of the best
  points, scored by expected improvement, the best refined by smaller changes and
  by L-BFGS over the reals.

With up to `JUDGED_D` coordinates that always exist every step is a coordinate step, and
the paper's minimum with some of its perturbations is among the candidates. With more,
or where some exist only for certain values of others, the kind is chosen by how often
each has improved on the best value: the paper's step then tries other alternatives,
which expected improvement would give up after few points.
"""

import math
from collections.abc import Set

import numpy as np

from sklearn_mvrsm._domain import (
    BoolArray,
    Domain,
    FloatArray,
    IntArray,
    Region,
    redraw,
)
from sklearn_mvrsm._history import History, impute_failures
from sklearn_mvrsm._optimizer.acquisition import (
    climb_expected_improvement,
    log_expected_improvement,
)
from sklearn_mvrsm._optimizer.candidates import neighbours
from sklearn_mvrsm._optimizer.step_control import COORDINATE, MODEL, Steps
from sklearn_mvrsm._paper import minimise_spline, perturb_as_paper
from sklearn_mvrsm._surrogate import CAPACITY, FORGET, Surrogate

__all__ = ["MvrsmMethod"]


GROWTH = 1.15  # the prior is learnt again when there are this many times more values
ITERATIONS = 20  # of L-BFGS from the incumbent or from a candidate
SWEEP_ITERATIONS = 10  # of L-BFGS after a change of category
SWEEPS = 2
SWEEP_MOST = 500  # values that are tried where very many are listed,
SWEEP_FEWEST = 5  # of each category at least
SWEEP_BEST = 2  # changes of category that are re-optimised
CANDIDATES = 100  # near the best points
JUDGED_D = 40  # coordinates up to which expected improvement judges the paper's step
PROBES = 256  # points that tell whether all coordinates always exist
PERTURBED = 8  # perturbations of the spline's minimum among the candidates
ANYWHERE = 30  # candidates drawn from the whole space
PARENTS = 5  # best points that candidates are grown from
REFINEMENTS = 2  # rounds of smaller changes to the ten best candidates
BOX = 1.0  # half of a climb's box, in widths of a coordinate step
CLIMBS = 2  # candidates whose reals are optimised
CLIMB_WORK = 5e7  # bounds the multiplications of one climb
RESOLUTION = 2.0**24  # steps of a range, on which climbs end
SHORTEST_CLIMB = 5  # steps of a climb that are made whatever they cost
PREDICT_ROWS = 2000  # points predicted at a time, to bound the memory
WORK = 2e8  # multiplications that covariances of one batch of candidates may cost
SHORTEST = 8  # candidates that are scored whatever it costs


class MvrsmMethod:
    """Proposals of the default method.

    Parameters
    ----------
    region : Region
        Where configurations live.
    seed : int
        Of the surrogate's random directions.
    """

    def __init__(self, region: Region, seed: int) -> None:
        self.region = region
        self.surrogate = Surrogate(region.domain, seed)
        self._rows: list[int] = []  # trials that the surrogate holds
        self._known = 0  # trials that were offered to it
        self._learnt_at = 0
        self.steps = Steps(region.domain.d)
        probes = region.domain.sample(np.random.default_rng(seed), PROBES)
        everywhere = bool(region.active(region.canonical(probes)).all())
        # whether the paper's step is one candidate of many
        self._judges = everywhere and region.domain.d <= JUDGED_D

    def observe(self, point: FloatArray, value: float) -> None:
        """Take note of whether the step that proposed ``point`` improved."""
        self.steps.observe(point, value)

    # --- proposing ------------------------------------------------------------

    def propose(self, history: History, rng: np.random.Generator) -> FloatArray:
        """Return a canonical point to evaluate next.

        Parameters
        ----------
        history : History
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of shape (d,)
            It may be a repetition or infeasible: the caller draws again then.
        """
        self._refresh(history)
        points = history.points[self._rows]
        values = impute_failures(history.values[self._rows])
        self.surrogate.solve(values)
        if len(history.pending):
            pending = history.pending
            self.surrogate.fantasize(pending, self.region.active(pending))
        kind = COORDINATE if self._judges else self.steps.draw(rng)
        if kind == MODEL:
            point = self._model_step(points, values, rng)
            if not len(self._open(point[np.newaxis], history.seen)):
                self.steps.count(MODEL, better=False)
                kind = COORDINATE
        if kind == COORDINATE:
            point = self._coordinate_step(points, values, history.seen, rng)
        self.surrogate.truncate(len(self._rows))
        self.steps.propose(point, kind, history.pending)
        return point

    def predict(
        self, history: History, points: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return values and deviations of a surrogate fitted anew, in units of values.

        Parameters
        ----------
        history : History
            At least one value is finite.
        points : ndarray of shape (n, d)
            Canonical.

        Returns
        -------
        value, deviation : ndarray of shape (n,)
        """
        values = impute_failures(history.values)
        rows = np.array([*self._rows, *range(self._known, len(values))])
        if len(rows) > CAPACITY:
            rows = _memorable(rows, values[rows])
        told, values = history.points[rows], values[rows]
        surrogate = Surrogate(self.region.domain, self.surrogate.seed)
        surrogate.fit_hyperparameters(told, self.region.active(told), values)
        surrogate.solve(values)
        parts = [
            surrogate.predict_with_deviation(part, self.region.active(part))
            for part in np.array_split(points, len(points) // PREDICT_ROWS + 1)
        ]
        value, deviation = (np.concatenate(each) for each in zip(*parts, strict=True))
        return surrogate.output.invert(value, deviation)

    def _refresh(self, history: History) -> None:
        """Bring the surrogate up to date, at a bounded cost."""
        n = len(history.points)
        new, self._known = history.points[self._known :], n
        self._rows += range(n - len(new), n)
        crowded = len(self._rows) > CAPACITY
        if crowded:
            self._forget(impute_failures(history.values[self._rows]))
        if crowded or len(self._rows) >= GROWTH * self._learnt_at:
            self._learnt_at = len(self._rows)
            points = history.points[self._rows]
            values = impute_failures(history.values[self._rows])
            self.surrogate.fit_hyperparameters(
                points, self.region.active(points), values
            )
        elif len(new):
            self.surrogate.append(new, self.region.active(new))

    def _forget(self, values: FloatArray) -> None:
        """Drop the old and bad: those with the worst sum of ranks in value and age."""
        self._rows = _memorable(np.array(self._rows), values).tolist()

    def _model_step(
        self, points: FloatArray, values: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the paper's proposal: the spline's minimum, perturbed."""
        return self._perturbed(self._spline_minimum(points, values, rng), rng)

    def _spline_minimum(
        self, points: FloatArray, values: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Minimise the spline from the best point, over categories too."""
        ties = np.flatnonzero(values <= values.min())
        point = points[rng.choice(ties)]
        point, value = self._descend(point, ITERATIONS)
        for _ in range(SWEEPS if self.region.domain.n_categorical else 0):
            swept, lower = self._sweep(point, rng)
            if lower >= value - 1e-9:
                break
            point, value = swept, lower
        return point

    def _perturbed(self, point: FloatArray, rng: np.random.Generator) -> FloatArray:
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
        """Minimise the section of the surrogate at the point's gates."""
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
        """Draw each category anew with probability 2 / d."""
        count = self.region.domain.n_categorical
        chance = 2.0 / max(int(active.sum()), 1)
        again = (rng.random(count) < chance) & active[:count]
        uniform = self.region.domain.sample(rng)[:count]
        moved = point.copy()
        moved[:count] = np.where(again, uniform, point[:count])
        return moved

    def _coordinate_step(
        self,
        points: FloatArray,
        values: FloatArray,
        seen: Set[bytes],
        rng: np.random.Generator,
    ) -> FloatArray:
        parents = points[_best(values, PARENTS, rng)]
        chance = self.steps.chance(self.surrogate.kernel.relevance)
        region, width = self.region, self.steps.width
        near = neighbours(region, parents, CANDIDATES, width, chance, rng)
        anywhere = region.canonical(region.domain.sample(rng, ANYWHERE))
        offered = [near, anywhere]
        if self._judges:
            minimum = self._spline_minimum(points, values, rng)
            perturbed = [self._perturbed(minimum, rng) for _ in range(PERTURBED)]
            offered = [np.array([minimum, *perturbed]), *offered]
        points = self._open(np.concatenate(offered), seen)
        points = self._shortlist(points, parents[0])
        scores = self._score(points)
        for _ in range(REFINEMENTS):
            if not len(points):
                break
            top = np.argsort(-scores, kind="stable")[:10]
            fewer = np.maximum(0.5 * chance, 1.0 / region.domain.d)
            closer = neighbours(region, points[top], 100, 0.3 * width, fewer, rng)
            closer = self._shortlist(self._open(closer, seen), parents[0])
            points = np.concatenate([points[top], closer])
            scores = np.concatenate([scores[top], self._score(closer)])
        if not len(points):
            return region.canonical(region.domain.sample(rng))
        return self._climb(points, scores, seen)

    def _climb(
        self, points: FloatArray, scores: FloatArray, seen: Set[bytes]
    ) -> FloatArray:
        """Return the best of the candidates, the first of them moved uphill."""
        domain, order = self.region.domain, np.argsort(-scores, kind="stable")
        best, highest = points[order[0]], scores[order[0]]
        real = np.arange(domain.d) >= domain.d - domain.n_real
        for start in points[order[:CLIMBS]]:
            active = self.region.active(start)
            free = active & real & (domain.span > 0.0)
            if not free.any():
                continue
            posterior = self.surrogate.real_slice(start, active)
            reach = BOX * self.steps.width * domain.span
            low = np.maximum(domain.lower, start - reach)
            high = np.minimum(domain.upper, start + reach)
            top, score = climb_expected_improvement(
                posterior, start, (low, high), free, self._climb_iterations()
            )
            top = self.region.canonical(np.clip(_on_grid(domain, top, free), low, high))
            if score > highest and len(self._open(top[np.newaxis], seen)):
                best, highest = top, score
        return np.asarray(best)

    def _climb_iterations(self) -> int:
        """Bound what a climb costs, however many observations there are."""
        n, width = self.surrogate.n, self.surrogate.width
        affordable = int(CLIMB_WORK / max(n * (n + width), 1))
        return min(max(affordable, SHORTEST_CLIMB), ITERATIONS)

    def _open(self, points: FloatArray, seen: Set[bytes]) -> FloatArray:
        """Keep candidates that are neither known nor forbidden."""
        novel = _novel(points, seen)
        allowed = np.array([self.region.feasible(each) for each in novel], np.bool_)
        return np.asarray(novel[allowed])

    def _shortlist(self, points: FloatArray, incumbent: FloatArray) -> FloatArray:
        """Keep as many candidates as may be scored, those lowest on a section."""
        splines, surrogate = self.surrogate.splines, self.surrogate
        limit = max(int(WORK / (surrogate.width * surrogate.n)), SHORTEST)
        if len(points) <= limit:
            return points
        active = self.region.active(incumbent)
        weights, _ = surrogate.spline_at(incumbent, active)
        values = splines.features(points) @ weights
        return points[np.sort(np.argsort(values, kind="stable")[:limit])]

    def _score(self, points: FloatArray) -> FloatArray:
        if not len(points):
            return np.zeros(0)
        active = self.region.active(points)
        value, deviation = self.surrogate.predict_with_deviation(points, active)
        # the best value is mapped to 0
        return log_expected_improvement(value, deviation, 0.0)


def _memorable(rows: IntArray, values: FloatArray) -> IntArray:
    """Choose the trials to keep, ascending: good or late, and always the best."""
    rank = np.argsort(np.argsort(values, kind="stable"))
    age = np.arange(len(rows))[::-1]
    keep = np.argsort(rank + age, kind="stable")[: int(CAPACITY * (1.0 - FORGET))]
    return np.sort(rows[np.union1d(keep, [np.argmin(values)])])


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


def _novel(points: FloatArray, seen: Set[bytes]) -> FloatArray:
    """Leave out repetitions, of each other and of what is known."""
    keys = {row.tobytes(): i for i, row in enumerate(points)}
    return points[sorted(i for key, i in keys.items() if key not in seen)]
