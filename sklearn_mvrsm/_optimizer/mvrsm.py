"""``method="mvrsm"``: the paper's two ideas on a better model, with uncertainty.

There are two kinds of step: the paper's (`model_step.py`) and one that changes a few
coordinates of the best points, scored by expected improvement (`coordinate_step.py`).

With up to `JUDGED_D` coordinates that always exist every step is a coordinate step, and
the paper's minimum with some of its perturbations is among the candidates. With more,
or where some exist only for certain values of others, the kind is chosen by how often
each has improved on the best value: the paper's step then tries other alternatives,
which expected improvement would give up after few points.
"""

import math

import numpy as np

from sklearn_mvrsm._domain import FloatArray, History, Region, impute_failures
from sklearn_mvrsm._optimizer.candidates import admissible
from sklearn_mvrsm._optimizer.coordinate_step import CoordinateStep
from sklearn_mvrsm._optimizer.model_step import ModelStep
from sklearn_mvrsm._optimizer.observed_surrogate import ObservedSurrogate, retained
from sklearn_mvrsm._optimizer.step_control import COORDINATE, MODEL, StepControl
from sklearn_mvrsm._optimizer.success import Success
from sklearn_mvrsm._surrogate import CAPACITY, Surrogate

__all__ = ["MvrsmMethod"]


FEWEST_INITIAL, MOST_INITIAL = 6, 24  # initial points: the fewest, and one more
COORDINATES_A_POINT = 3  # for so many coordinates
JUDGED_D = 40  # coordinates up to which expected improvement judges the paper's step
PROBES = 256  # points that tell whether all coordinates always exist
PREDICT_ROWS = 2000  # points predicted at a time, to bound the memory


class MvrsmMethod:
    """Proposals of the default method.

    Parameters
    ----------
    region : Region
        Where configurations live.
    seed : int
        Of the surrogate's random directions.
    """

    may_repeat = False

    def __init__(self, region: Region, seed: int) -> None:
        self.region = region
        self.observed = ObservedSurrogate(region, seed)
        self.surrogate = self.observed.surrogate
        self.success = Success(region, seed)
        self.control = StepControl(region.domain.d)
        self._is_constrained = False
        self.model_step = ModelStep(region, self.surrogate)
        probes = region.domain.sample(np.random.default_rng(seed), PROBES)
        everywhere = bool(region.active(region.canonical(probes)).all())
        judged = everywhere and region.domain.d <= JUDGED_D
        self.coordinate_step = CoordinateStep(
            region,
            self.surrogate,
            self.success,
            self.control,
            self.model_step if judged else None,
        )

    @property
    def n_initial_points(self) -> int:
        """Points proposed before the model is used."""
        more = self.region.domain.d // COORDINATES_A_POINT
        return min(FEWEST_INITIAL + more, MOST_INITIAL)

    def initial_points(
        self, design: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the Latin hypercube."""
        return design

    def observe(
        self, point: FloatArray, value: float, constraint: float | None = None
    ) -> None:
        """Count whether the step that proposed ``point`` improved."""
        if constraint is not None and not self._is_constrained:
            self._is_constrained = True
            self.control.best = self.control.violation = math.inf  # nobody knows
        violation = math.inf if self._is_constrained else 0.0
        if constraint is not None and not math.isnan(constraint):
            violation = max(constraint, 0.0)
        self.control.observe(point, value, violation)

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
        points, values, merit = self._observe(history)
        if len(history.pending):
            pending = history.pending
            self.surrogate.fantasize(pending, self.region.active(pending))
        judged = self.coordinate_step.judged is not None
        kind = COORDINATE if judged else self.control.draw(rng)
        if kind == MODEL:
            point = self.model_step.propose(points, merit, rng)
            known = not len(admissible(self.region, point[np.newaxis], history.seen))
            if known or not self.success.is_likely(point, self.region.active(point)):
                self.control.count(MODEL, better=False)
                kind = COORDINATE
        if kind == COORDINATE:
            point = self.coordinate_step.propose(points, merit, history.seen, rng)
        self.surrogate.truncate(len(values))
        self.control.propose(point, kind, history.pending)
        return point

    def _observe(self, history: History) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Update the surrogates with every trial.

        Returns
        -------
        points, values, merit : ndarray of shape (k, d) and two of shape (k,)
            Of the trials that the surrogate of values holds. Merit is low for good
            ones: the value, or the rank by the violation of the constraint, then by
            the value.
        """
        failed, numbers = ~np.isfinite(history.values), history.constraints
        succeeded, merit = np.flatnonzero(~failed), history.values
        if numbers is not None:
            failed = failed | (numbers == np.inf)
            self.success.observe_constraint(history.points, numbers)
            violation = np.where(np.isnan(numbers), np.inf, np.maximum(numbers, 0.0))
            order = np.lexsort([history.values, violation])
            merit = np.argsort(order).astype(np.float64)
        if failed.any():
            self.success.observe(history.points, failed)
        points, values = self.observed.observe(
            history.points, history.values, succeeded, merit
        )
        if numbers is None:
            return points, values, values
        rows, mapped = self.observed.rows, self.surrogate.output.apply(values)
        feasible = numbers[rows] <= 0.0
        self.surrogate.target = float(
            mapped[feasible].min() if feasible.any() else mapped.max()
        )
        return points, values, merit[rows]

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
        rows = np.arange(len(values))
        if len(rows) > CAPACITY:
            rows = retained(rows, values[rows])
        observed, values = history.points[rows], values[rows]
        surrogate = Surrogate(self.region.domain, self.surrogate.seed)
        surrogate.fit_hyperparameters(observed, self.region.active(observed), values)
        surrogate.solve(values)
        parts = [
            surrogate.predict_with_deviation(part, self.region.active(part))
            for part in np.array_split(points, len(points) // PREDICT_ROWS + 1)
        ]
        value, deviation = (np.concatenate(each) for each in zip(*parts, strict=True))
        return surrogate.output.invert(value, deviation)
