"""When all that was tried has failed in the same way: what no candidate can cure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sklearn_mvrsm._evaluation import Candidate, FoldScore
from sklearn_mvrsm._search.failures import describe_failures, message_of
from sklearn_mvrsm._search.objective import Judge
from sklearn_mvrsm._space import Categorical, Ordinal

__all__ = ["CommonFailure"]


_FEWEST = 3
_SLOTS_FACTOR = 2
_CLOCK_TIME = re.compile(r"\b\d\d:\d\d:\d\d\b")  # XGBoost puts it into messages


class CommonFailure:
    """Ends a search whose first candidates have all failed with the same exception.

    They are twice as many as there are slots, three at least. Fold by fold, their fits
    must have raised the same, or have crashed alike; numbers in the messages count.
    Nor may a choice explain it: a family that was not tried might succeed. So each
    alternative and each estimator on offer must have failed, and of other categories
    more than one value.

    Parameters
    ----------
    search : MVRSMSearchCV
        It has ``space_`` and ``n_splits_``.
    arguments : object
        Those of the search. A number as ``error_score`` has it go on whatever fails.
    judge : Judge
        Knows which scores guide the search.
    n_slots : int
        Fits at a time.
    has_succeeded : bool
        Whether a score is known from an earlier session.
    """

    def __init__(
        self,
        search: Any,
        arguments: Any,
        judge: Judge,
        n_slots: int,
        *,
        has_succeeded: bool,
    ) -> None:
        number = arguments.error_score
        goes_on = not isinstance(number, str) and not np.isnan(number)
        self._search = search
        self._arguments = arguments
        self._judge = judge
        self._n_first = max(_SLOTS_FACTOR * n_slots, _FEWEST)
        self._is_ruled_out = goes_on or has_succeeded
        self._params: list[Mapping[str, Any]] = []
        self._folds: list[list[FoldScore]] = []
        self._n_alike = 0  # of the first candidates

    def started(self, candidate: int, params: dict[str, Any]) -> None:
        """Expect the folds of a candidate."""
        self._params.append(params)
        self._folds.append([])

    def scored(self, fold: FoldScore, params: dict[str, Any]) -> None:
        """Compare a fold with those of the first candidate.

        Parameters
        ----------
        fold : FoldScore
            What became of a fit.
        params : dict
            Of its candidate.

        Raises
        ------
        ValueError
            If all candidates so far failed alike, and are enough.
        """
        if self._is_ruled_out:
            return
        if self._judge.is_scored(fold) or fold.status in ("timeout", "out_of_memory"):
            self._is_ruled_out = True
            return
        self._folds[fold.candidate].append(fold)
        n_before = self._n_alike
        while self._is_complete(self._n_alike):
            if _reasons(self._folds[self._n_alike]) != _reasons(self._folds[0]):
                self._is_ruled_out = True
                return
            self._n_alike += 1
        is_news = self._n_alike > n_before
        if is_news and self._n_alike >= self._n_first and not self._is_explained():
            raise ValueError(self._text())

    def _is_complete(self, candidate: int) -> bool:
        folds = self._folds[candidate : candidate + 1]
        return bool(folds) and len(folds[0]) == self._search.n_splits_

    def _is_explained(self) -> bool:
        """Whether what failed shares a choice that other candidates need not make."""
        space = self._search.space_
        points = np.array([space.encode(p) for p in self._params[: self._n_alike]])
        for j in np.flatnonzero(space.active(points).all(axis=0)):
            parameter = space.parameters[j].parameter
            if not isinstance(parameter, Categorical | Ordinal):
                continue
            families = space.parameters[j].name is None or any(
                hasattr(value, "fit") for value in parameter.values
            )
            n_needed = parameter.size if families else min(parameter.size, 2)
            if len(np.unique(points[:, j])) < n_needed:
                return True
        return False

    def _text(self) -> str:
        n, arguments = self._n_alike, self._arguments
        hint = "Set 'error_score' to a number to have the search go on nevertheless."
        if arguments.checkpoint is not None:
            hint += (
                " The checkpoint keeps these failures: once their cause is mended, "
                "begin a new one."
            )
        pairs = zip(self._params[:n], self._folds[:n], strict=True)
        failures = describe_failures(
            [Candidate(params, tuple(folds)) for params, folds in pairs], np.nan
        )
        return (
            f"\nThe search ends after {n} of {arguments.n_iter} candidates: they all "
            "failed in the same way, and no other one seems able to cure that. "
            f"{hint}\n{failures}"
        )


def _reasons(folds: Sequence[FoldScore]) -> list[tuple[str, str]]:
    """Return why each fold failed, without what differs from one run to the next."""
    return [
        (fold.status, _CLOCK_TIME.sub("", message_of(fold.error))) for fold in folds
    ]
