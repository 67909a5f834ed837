"""A bar that shows how far a search is, in a terminal or a notebook."""

import math
import time
from collections.abc import Mapping
from typing import Any, Self

from sklearn_mvrsm._fold_score import FoldScore
from sklearn_mvrsm._judge import Judge
from sklearn_mvrsm._results import Candidate


class ProgressBar:
    """Shows fits done, running and failed, the best score, and the time left.

    It is closed at the end of its ``with`` block.

    Parameters
    ----------
    n_candidates, n_splits : int
        How many there will be.
    n_slots : int
        Fits at a time.
    judge : Judge
        Knows the score that guides the search.

    Raises
    ------
    ImportError
        If tqdm is not installed.
    """

    def __init__(
        self, n_candidates: int, n_splits: int, n_slots: int, judge: Judge
    ) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "progress=True needs tqdm, which 'pip install sklearn-mvrsm[progress]' "
                "installs"
            ) from error
        self._n_slots = n_slots
        self._n_splits = n_splits
        self._judge = judge
        self._folds: dict[int, list[FoldScore]] = {}
        self._n_failed = 0
        self._best = -math.inf
        self._has_started = False
        self._bar = tqdm(
            total=n_candidates * n_splits, desc="search", unit="fit", dynamic_ncols=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.close()

    def started(self, candidate: int, params: Mapping[str, Any]) -> None:
        """Count the folds of a candidate as under way."""
        self._folds[candidate] = []
        self._show()

    def scored(self, fold: FoldScore, params: Mapping[str, Any]) -> None:
        """Count a fold as done.

        Parameters
        ----------
        fold : FoldScore
            What became of it.
        params : mapping
            Of its candidate.
        """
        self._count_time(fold)
        folds = self._folds[fold.candidate]
        folds.append(fold)
        self._n_failed += fold.status not in {"ok", "skipped"}
        if len(folds) == self._n_splits:
            score = self._judge.score(Candidate(params, tuple(folds)))
            self._best = max(self._best, score if math.isfinite(score) else -math.inf)
            del self._folds[fold.candidate]
        self._bar.update()
        self._show()

    def _count_time(self, fold: FoldScore) -> None:
        """Begin the bar's clock with the first fit; keep the journal's out of it."""
        if self._bar.disable:
            return
        if fold.started is not None and not self._has_started:
            begin = time.time() - (time.monotonic() - fold.started)
            self._bar.start_t = self._bar.last_print_t = begin
            self._has_started = True
        if not self._has_started:
            self._bar.initial += 1
            self._bar.last_print_n += 1

    def _show(self) -> None:
        n_open = sum(self._n_splits - len(folds) for folds in self._folds.values())
        shown: dict[str, Any] = {}
        if math.isfinite(self._best):
            shown["best"] = f"{self._best:.4g}"
        shown["failed"] = self._n_failed
        shown["running"] = min(n_open, self._n_slots)
        self._bar.set_postfix(shown, refresh=False)
