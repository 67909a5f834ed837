"""Which kinds of step have been made, and what came of them.

The kind of the next step is drawn by how often each has improved on the best value; how
far a coordinate step reaches follows its latest successes, as in trust regions.
"""

import math

import numpy as np

from sklearn_mvrsm._domain import FloatArray

__all__ = ["COORDINATE", "MODEL", "StepControl"]


MODEL, COORDINATE = 0, 1
DECAY = 0.98  # of the success counts, a step
FLOOR = 0.15  # smallest chance of either kind of step
TRIED, IMPROVED = 2.0, 1.0  # counts of each kind before the first step
WIDEST, WIDTH, NARROWEST = 0.4, 0.2, 0.0025  # of a coordinate step
STREAK = 3  # successes in a row after which a step is doubled
PATIENCE = (5.0, 20.0)  # fewest and most failures until a step is halved, else d / 2
HORIZON = 200  # steps until only single coordinates change
CHANGED = 20.0  # coordinates that change in the first step, on average
LEAST_CHANCE = 0.25  # of an irrelevant coordinate, against that of the average one


class StepControl:
    """Counts of the kinds of step and their successes, and the width that follows.

    Parameters
    ----------
    d : int
        Number of coordinates.

    Attributes
    ----------
    width : float
        How far a coordinate step reaches, in units of a range.
    n : int
        Steps whose value was told.
    tried, improved : ndarray of shape (2,)
        Discounted counts, by kind.
    best : float
        Lowest finite value told, of those that violate the constraint least.
    violation : float
        How much that is, 0 where there is no constraint.
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self._streak = 0  # successes in a row, or failures as a negative number
        self._kind: dict[bytes, int] = {}  # kind of step behind each pending point
        self.width = WIDTH
        self.n = 0
        self.tried = np.full(2, TRIED)
        self.improved = np.full(2, IMPROVED)
        self.best = self.violation = math.inf

    def draw(self, rng: np.random.Generator) -> int:
        """Draw the kind of the next step, by its rate of success."""
        rate = self.improved / self.tried
        chance = np.clip(rate[MODEL] / max(rate.sum(), 1e-12), FLOOR, 1.0 - FLOOR)
        return MODEL if rng.random() < chance else COORDINATE

    def propose(self, point: FloatArray, kind: int, pending: FloatArray) -> None:
        """Store the kind of the step behind a point, and drop all but the pending ones.

        Proposals that were not taken are never told.
        """
        waiting = {row.tobytes() for row in pending}
        self._kind = {key: k for key, k in self._kind.items() if key in waiting}
        self._kind[point.tobytes()] = kind

    def observe(self, point: FloatArray, value: float, violation: float = 0.0) -> None:
        """Count whether the step that proposed ``point`` improved on the best value.

        A smaller violation of the constraint is better than any smaller value.
        """
        better = math.isfinite(value) and (
            (violation, value) < (self.violation, self.best)
        )
        if better:
            self.violation, self.best = violation, value
        kind = self._kind.pop(point.tobytes(), None)
        if kind is None:
            return
        self.n += 1
        self.count(kind, better)
        if kind == COORDINATE:
            self._adapt_width(better)

    def count(self, kind: int, better: bool) -> None:
        """Count a step."""
        self.tried[kind] = DECAY * self.tried[kind] + 1.0
        self.improved[kind] = DECAY * self.improved[kind] + better

    def chance(self, relevance: FloatArray) -> FloatArray:
        """Return the probability that each coordinate changes.

        It falls with the steps made and grows with relevance.

        Parameters
        ----------
        relevance : ndarray of shape (d,)

        Returns
        -------
        ndarray of shape (d,)
        """
        share = 1.0 - math.log1p(min(self.n, HORIZON)) / math.log1p(HORIZON)
        chance = max(1.0 / self._d, min(1.0, CHANGED / self._d) * share)
        scaled = chance * relevance / relevance.mean()
        return np.asarray(np.clip(scaled, LEAST_CHANCE * chance, 1.0))

    def _adapt_width(self, better: bool) -> None:
        streak, (low, high) = self._streak, PATIENCE
        self._streak = max(streak, 0) + 1 if better else min(streak, 0) - 1
        if self._streak >= STREAK:
            self.width, self._streak = min(2.0 * self.width, WIDEST), 0
        elif self._streak <= -min(max(self._d / 2.0, low), high):
            self.width, self._streak = self.width / 2.0, 0
        if self.width < NARROWEST:
            self.width = WIDTH
