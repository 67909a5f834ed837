"""The callbacks of the user, called after each candidate."""

import math
from collections.abc import Sequence

from sklearn_mvrsm._evaluation import Candidate
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._space import copied
from sklearn_mvrsm.callbacks import Callback, CandidateResult

__all__ = ["Reporter"]


class Reporter:
    """Calls the callbacks of a search, and knows the best candidate so far.

    Parameters
    ----------
    callbacks : sequence of callable
        Called in this order.
    objective : Objective
        Knows the metrics.
    """

    def __init__(self, callbacks: Sequence[Callback], objective: Objective) -> None:
        self._callbacks = callbacks
        self._objective = objective
        self._best_number: int | None = None
        self._best_score = math.nan

    def report(self, number: int, candidate: Candidate) -> bool:
        """Call the callbacks; return whether one of them ends the search.

        Parameters
        ----------
        number : int
            Number of the candidate.
        candidate : Candidate
            Its folds are all decided.
        """
        score = self._objective.score(candidate)
        sign = 1.0 if self._objective.greater_is_better else -1.0
        better = math.isfinite(score) and not sign * score <= sign * self._best_score
        if better and candidate.is_feasible:
            self._best_number, self._best_score = number, score
        result = self._result(number, candidate, score)
        return any([callback(result) for callback in self._callbacks])  # calls all

    def _result(
        self, number: int, candidate: Candidate, score: float
    ) -> CandidateResult:
        folds = candidate.folds
        ran = [fold.fit_time for fold in folds if fold.status != "skipped"]
        return CandidateResult(
            number,
            copied(candidate.params),
            score,
            self._best_number,
            self._best_score,
            greater_is_better=self._objective.greater_is_better,
            status="pruned" if candidate.is_pruned else candidate.status,
            fold_scores=self._objective.fold_scores(candidate),
            mean_scores={
                name: candidate.mean_test_score(name) for name in self._objective.names
            },
            fit_time=sum(ran) / len(ran) if ran else math.nan,
            restored=all(fold.started is None for fold in folds),
            constraint=candidate.constraint,
        )
