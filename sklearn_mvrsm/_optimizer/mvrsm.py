"""``method="mvrsm"``: the paper's two ideas on a better model, with uncertainty.

There are two kinds of step: the paper's (`model_step.py`) and one that changes a few
coordinates of the best points, scored by expected improvement (`coordinate_step.py`).

With up to `JUDGED_D` coordinates that always exist every step is a coordinate step, and
the paper's minimum with some of its perturbations is among the candidates. With more,
or where some exist only for certain values of others, the kind is chosen by how often
each has improved on the best value: the paper's step then tries other alternatives,
which expected improvement would give up after few points.
"""

import numpy as np

from sklearn_mvrsm._domain import FloatArray, IntArray, Region
from sklearn_mvrsm._history import History, impute_failures
from sklearn_mvrsm._optimizer.candidates import admissible
from sklearn_mvrsm._optimizer.coordinate_step import CoordinateStep
from sklearn_mvrsm._optimizer.model_step import ModelStep
from sklearn_mvrsm._optimizer.step_control import COORDINATE, MODEL, StepControl
from sklearn_mvrsm._surrogate import CAPACITY, FORGET, Surrogate

__all__ = ["MvrsmMethod"]


FEWEST_INITIAL, MOST_INITIAL = 6, 24  # initial points: the fewest, and one more
COORDINATES_A_POINT = 3  # for so many coordinates
GROWTH = 1.15  # the model is fitted again when there are so many times more values
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
        self.surrogate = Surrogate(region.domain, seed)
        self._rows: list[int] = []  # trials that the surrogate holds
        self._known = 0  # trials that were offered to it
        self._fitted_at = 0  # trials that it held when it was fitted
        self.control = StepControl(region.domain.d)
        self.model_step = ModelStep(region, self.surrogate)
        probes = region.domain.sample(np.random.default_rng(seed), PROBES)
        everywhere = bool(region.active(region.canonical(probes)).all())
        judged = everywhere and region.domain.d <= JUDGED_D
        self.coordinate_step = CoordinateStep(
            region, self.surrogate, self.control, self.model_step if judged else None
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

    def observe(self, point: FloatArray, value: float) -> None:
        """Count whether the step that proposed ``point`` improved."""
        self.control.observe(point, value)

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
        judged = self.coordinate_step.judged is not None
        kind = COORDINATE if judged else self.control.draw(rng)
        if kind == MODEL:
            point = self.model_step.propose(points, values, rng)
            if not len(admissible(self.region, point[np.newaxis], history.seen)):
                self.control.count(MODEL, better=False)
                kind = COORDINATE
        if kind == COORDINATE:
            point = self.coordinate_step.propose(points, values, history.seen, rng)
        self.surrogate.truncate(len(self._rows))
        self.control.propose(point, kind, history.pending)
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
            rows = _retained(rows, values[rows])
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

    def _refresh(self, history: History) -> None:
        """Bring the surrogate up to date, at a bounded cost."""
        n = len(history.points)
        new, self._known = history.points[self._known :], n
        self._rows += range(n - len(new), n)
        crowded = len(self._rows) > CAPACITY
        if crowded:
            values = impute_failures(history.values[self._rows])
            self._rows = _retained(np.array(self._rows), values).tolist()
        if crowded or len(self._rows) >= GROWTH * self._fitted_at:
            self._fitted_at = len(self._rows)
            points = history.points[self._rows]
            values = impute_failures(history.values[self._rows])
            self.surrogate.fit_hyperparameters(
                points, self.region.active(points), values
            )
        elif len(new):
            self.surrogate.append(new, self.region.active(new))


def _retained(rows: IntArray, values: FloatArray) -> IntArray:
    """Choose the trials to keep, ascending: good or late, and always the best.

    Those with the greatest sum of ranks in value and age are dropped.
    """
    rank = np.argsort(np.argsort(values, kind="stable"))
    age = np.arange(len(rows))[::-1]
    keep = np.argsort(rank + age, kind="stable")[: int(CAPACITY * (1.0 - FORGET))]
    return np.sort(rows[np.union1d(keep, [np.argmin(values)])])
