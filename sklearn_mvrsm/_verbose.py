"""The lines that a search prints, in the style of ``GridSearchCV``."""

from collections.abc import Mapping
from typing import Any

from sklearn_mvrsm._fold_score import FoldScore

_WIDTH = 80


class Printer:
    """Prints what ``verbose`` asks for, in the process of the caller.

    Parameters
    ----------
    verbose : int
        From 1 on the number of fits; from 2 on a line a fit; from 3 on its score; from
        10 on a line at its start.
    n_candidates, n_splits : int
        How many there are.
    """

    def __init__(self, verbose: int, n_candidates: int, n_splits: int) -> None:
        self._verbose = verbose
        self._n_candidates = n_candidates
        self._n_splits = n_splits

    def begin(self) -> None:
        """Say how many fits there will be."""
        if self._verbose > 0:
            print(
                f"Fitting {self._n_splits} folds for each of {self._n_candidates} "
                f"candidates, totalling {self._n_candidates * self._n_splits} fits"
            )

    def started(self, candidate: int, params: Mapping[str, Any]) -> None:
        """Say that the folds of a candidate are waiting for a slot."""
        if self._verbose > 9:
            for fold in range(self._n_splits):
                line = f"[CV{self._progress(candidate, fold)}] START {_text(params)}"
                print(line + (_WIDTH - len(line)) * ".")

    def scored(self, fold: FoldScore, params: Mapping[str, Any]) -> None:
        """Say what became of a fold."""
        if self._verbose <= 1:
            return
        start = f"[CV{self._progress(fold.candidate, fold.fold)}] END "
        end = f"{_text(params)};"
        if self._verbose > 2:
            end += _scores(fold)
        elif fold.status != "ok":
            end += f" {fold.status};"
        end += f" total time={_duration(fold.fit_time + fold.score_time)}"
        print(start + "." * (_WIDTH - len(start) - len(end)) + end)

    def _progress(self, candidate: int, fold: int) -> str:
        text = ""
        if self._verbose > 2:
            text += f" {fold + 1}/{self._n_splits}"
        if self._verbose > 9:
            text += f"; {candidate + 1}/{self._n_candidates}"
        return text


def _text(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={params[name]}" for name in sorted(params))


def _scores(fold: FoldScore) -> str:
    if fold.status != "ok" or fold.test_scores is None:
        return f" {fold.status};"
    texts = {}
    for name, score in fold.test_scores.items():
        texts[name] = f"test={score:.3f}"
        if fold.train_scores is not None:
            texts[name] = f"train={fold.train_scores[name]:.3f}, {texts[name]}"
    if fold.multimetric:
        return "".join(f" {name}: ({texts[name]})" for name in sorted(texts))
    if fold.train_scores is None:
        return f", score={fold.test_scores['score']:.3f}"
    return f", score=({texts['score']})"


def _duration(seconds: float) -> str:
    if seconds > 60.0:
        return f"{seconds / 60.0:4.1f}min"
    return f" {seconds:5.1f}s"
