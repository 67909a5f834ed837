"""Which fit ran where and when: a table with one row a fit."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from sklearn_mvrsm._fold_score import FoldScore

__all__ = ["FitLog"]

NOWHERE = -1  # slot of a fit that never ran; row of a candidate that is not a row


class FitLog:
    """Keeps the record of every fit of a search, in the order of candidates.

    Parameters
    ----------
    n_splits : int
        Number of folds of a candidate.
    """

    def __init__(self, n_splits: int) -> None:
        self._n_splits = n_splits
        self._begin = time.monotonic()
        self._folds: list[FoldScore] = []

    def started(self, candidate: int, params: Mapping[str, Any]) -> None:
        """Look at a candidate: none of its fits has been decided yet."""

    def scored(self, fold: FoldScore, params: Mapping[str, Any]) -> None:
        """Take note of a fit."""
        self._folds.append(fold)

    def to_dict(self) -> dict[str, Any]:
        """Return the table.

        Returns
        -------
        dict of str to ndarray
            Columns of one length, a row a fit: ``candidate`` (row of
            ``cv_results_``, -1 if the search ended before its last fold), ``fold``,
            ``status``, ``slot`` (from 0 on, -1 for a fit that did not run, or not in
            this session), ``start`` and ``finish`` (seconds since the search began,
            nan where ``slot`` is -1).
        """
        folds = sorted(self._folds, key=lambda fold: (fold.candidate, fold.fold))
        counts = Counter(fold.candidate for fold in folds)
        complete = [k for k in counts if counts[k] == self._n_splits]
        rows = {candidate: row for row, candidate in enumerate(complete)}
        status = np.empty(len(folds), dtype=object)
        status[:] = [fold.status for fold in folds]
        return {
            "candidate": _whole([rows.get(fold.candidate, NOWHERE) for fold in folds]),
            "fold": _whole([fold.fold for fold in folds]),
            "status": status,
            "slot": _whole([_known(fold.slot, NOWHERE) for fold in folds]),
            "start": self._seconds([fold.started for fold in folds]),
            "finish": self._seconds([fold.finished for fold in folds]),
        }

    def _seconds(self, moments: list[float | None]) -> Any:
        return np.array([_known(at, np.nan) for at in moments], float) - self._begin


def _known(value: Any, otherwise: float) -> Any:
    return otherwise if value is None else value


def _whole(values: list[int]) -> Any:
    return np.array(values, dtype=np.int64)
