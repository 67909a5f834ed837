"""Observers of a search: the lines it prints, its bar; and the log of its fits."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np

from sklearn_mvrsm._domain import FloatArray, IntArray
from sklearn_mvrsm._evaluation import Candidate, FoldScore

__all__ = ["Best", "Observer", "Printer", "ProgressBar", "fit_log"]


class Observer:
    """Sees what happens in a search; each method does nothing unless overridden."""

    def started(self, number: int, params: Mapping[str, object]) -> None:
        """Observe a candidate whose folds begin to wait for a slot."""

    def scored(self, fold: FoldScore, params: Mapping[str, object]) -> None:
        """Observe a fold that is decided."""

    def finished(self, number: int, candidate: Candidate) -> None:
        """Observe a candidate whose folds are all decided."""

    def waited(self, seconds: float) -> None:
        """See how long the first fit started ago, once a second at least."""


NOWHERE = -1  # slot of a fit that never ran; row of a candidate that is not a row


def fit_log(
    folds: Sequence[FoldScore],
    n_splits: int,
    begin: float,
    unrecorded: Sequence[FoldScore] = (),
) -> dict[str, np.ndarray]:
    """Return the table of all fits of a search.

    Parameters
    ----------
    folds : sequence of FoldScore
        Those that are decided, in any order.
    n_splits : int
        Number of folds of a candidate.
    begin : float
        When the search began, by ``time.monotonic``.
    unrecorded : sequence of FoldScore
        Fits that ran, and were skipped meanwhile, or not decided at all.

    Returns
    -------
    dict of str to ndarray
        Columns of one length, a row a fit: ``candidate`` (row of
        ``cv_results_``, -1 if the search ended before its last fold), ``fold``,
        ``status`` (as in ``cv_results_``; "killed" if it was ended since nobody
        wanted its result any more), ``slot`` (from 0 on, -1 for a fit that did not
        run, or not in this session), ``start`` and ``finish`` (seconds since the
        search began, nan where ``slot`` is -1).
    """
    counts = Counter(fold.candidate for fold in folds)
    known = {(fold.candidate, fold.fold): fold for fold in [*folds, *unrecorded]}
    ordered = [known[key] for key in sorted(known)]
    complete = [k for k in sorted(counts) if counts[k] == n_splits]
    rows = {candidate: row for row, candidate in enumerate(complete)}
    status = np.empty(len(ordered), dtype=object)
    status[:] = [fold.status for fold in ordered]
    slots = [NOWHERE if fold.slot is None else fold.slot for fold in ordered]
    return {
        "candidate": _whole([rows.get(fold.candidate, NOWHERE) for fold in ordered]),
        "fold": _whole([fold.fold for fold in ordered]),
        "status": status,
        "slot": _whole(slots),
        "start": _seconds([fold.started for fold in ordered]) - begin,
        "finish": _seconds([fold.finished for fold in ordered]) - begin,
    }


def _seconds(moments: list[float | None]) -> FloatArray:
    return np.array([np.nan if at is None else at for at in moments], np.float64)


def _whole(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


class Best(Observer):
    """Knows the best candidate so far, the first of those with the best mean score.

    It satisfies the constraint, if there is one.

    Parameters
    ----------
    score : callable
        Returns the score of a candidate by which the search goes.
    greater_is_better : bool
        Whether the best score is the highest.
    growth : float
        How much longer than on a fold the refit takes; 0 if there is none.

    Attributes
    ----------
    score : float
        Its score; nan while there is none.
    refit_time : float
        Seconds that its refit should take; 0 while there is none.
    """

    def __init__(
        self,
        score: Callable[[Candidate], float],
        greater_is_better: bool = True,
        growth: float = 0.0,
    ) -> None:
        self._score = score
        self._sign = 1.0 if greater_is_better else -1.0
        self._growth = growth
        self.score, self.refit_time = math.nan, 0.0
        self._number = 0

    def finished(self, number: int, candidate: Candidate) -> None:
        """Compare a candidate with the best one."""
        score = self._score(candidate)
        if not (candidate.is_feasible and math.isfinite(score)):
            return
        is_first = score == self.score and number < self._number
        if is_first or not self._sign * score <= self._sign * self.score:
            mean = sum(fold.fit_time for fold in candidate.folds) / len(candidate.folds)
            self.score, self._number = score, number
            self.refit_time = max(self._growth * mean, 0.0)  # clocks may be set back


_TIME_FORMAT = "{l_bar}{bar}| {n}/{total:g} s{postfix}"


class ProgressBar(Observer):
    """Shows fits done, running and failed, the best score, and the time left.

    Where the time decides, it shows what refitting the best candidate will take.

    It is closed at the end of its ``with`` block.

    Parameters
    ----------
    n_candidates : int or None
        How many there will be; None if the time decides, which the bar shows then.
    timeout : float or None
        Seconds for all of them.
    n_splits : int
        Number of folds of each.
    n_slots : int
        Fits at a time.
    best : Best
        Observes before the bar does.
    unit : str
        What is counted.

    Raises
    ------
    ImportError
        If tqdm is not installed.
    """

    def __init__(
        self,
        n_candidates: int | None,
        timeout: float | None,
        n_splits: int,
        n_slots: int,
        best: Best,
        unit: str = "fit",
    ) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "progress=True needs tqdm, which 'pip install sklearn-mvrsm[progress]' "
                "installs"
            ) from error
        self._n_slots, self._unit = n_slots, unit
        self._n_splits = n_splits
        self._best = best
        self._n_open = 0  # folds that are not decided
        self._n_done = 0
        self._n_failed = 0
        self._has_started = False
        self._timeout = timeout if n_candidates is None else None
        total = n_splits * n_candidates if n_candidates is not None else timeout
        self._bar = tqdm(
            total=total,
            desc="search",
            unit=unit,
            dynamic_ncols=True,
            bar_format=None if self._timeout is None else _TIME_FORMAT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.close()

    def started(self, number: int, params: Mapping[str, object]) -> None:
        """Count the folds of a candidate as under way."""
        self._n_open += self._n_splits
        self._show()

    def scored(self, fold: FoldScore, params: Mapping[str, object]) -> None:
        """Count a fold as done."""
        self._n_open -= 1
        self._n_done += 1
        self._n_failed += fold.status not in {"ok", "skipped"}
        if self._timeout is None:
            self._count_time(fold)
            self._bar.update()
        self._show()

    def finished(self, number: int, candidate: Candidate) -> None:
        """Show the best score."""
        self._show()

    def waited(self, seconds: float) -> None:
        """Move a bar that shows time."""
        if self._timeout is None:
            return
        passed = int(min(seconds, self._timeout)) - self._bar.n
        if passed:  # else tqdm draws it anew each time, until the first fit starts
            self._bar.update(passed)

    def _count_time(self, fold: FoldScore) -> None:
        """Start the bar's clock at the first fit that runs in this session."""
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
        best = self._best
        shown: dict[str, object] = {}
        if not math.isnan(best.score):
            shown["best"] = f"{best.score:.4g}"
        if self._timeout is not None:
            shown[f"{self._unit}s"] = self._n_done
        shown["failed"] = self._n_failed
        shown["running"] = min(self._n_open, self._n_slots)
        if self._timeout is not None and best.refit_time >= 0.05:
            shown["refit"] = f"{best.refit_time:.1f} s"
        self._bar.set_postfix(shown, refresh=False)


_WIDTH = 80


class Printer(Observer):
    """Prints what ``verbose`` asks for, in the process of the caller.

    Parameters
    ----------
    verbose : int
        From 1 on the number of fits; from 2 on a line a fit; from 3 on its score; from
        10 on a line at its start.
    n_candidates : int or None
        How many there are; None if the time decides.
    timeout : float or None
        Seconds for all of them.
    n_splits : int
        Number of folds of each.
    unit : str
        "fit", or "evaluation" of a function, which has no folds.
    """

    def __init__(
        self,
        verbose: int,
        n_candidates: int | None,
        timeout: float | None,
        n_splits: int,
        unit: str = "fit",
    ) -> None:
        self._verbose = verbose
        self._n_candidates = n_candidates
        self._timeout = timeout
        self._n_splits = n_splits
        self._has_folds = unit == "fit"

    def begin(self) -> None:
        """Print how many fits there will be."""
        if not self._has_folds:
            is_timed = self._n_candidates is None
            n_times = f"{self._n_candidates} times"
            budget = f"for {self._timeout:g} s" if is_timed else n_times
            print(f"Evaluating the function {budget}")
        elif self._n_candidates is None:
            print(f"Fitting {self._n_splits} folds a candidate for {self._timeout:g} s")
        else:
            print(
                f"Fitting {self._n_splits} folds for each of {self._n_candidates} "
                f"candidates, totalling {self._n_candidates * self._n_splits} fits"
            )

    def started(self, number: int, params: Mapping[str, object]) -> None:
        """Print that the folds of a candidate wait for a slot."""
        if self._verbose > 9:
            for fold in range(self._n_splits):
                line = f"[{self._progress(number, fold)}] START {_text(params)}"
                print(line + (_WIDTH - len(line)) * ".")

    def scored(self, fold: FoldScore, params: Mapping[str, object]) -> None:
        """Print what became of a fold."""
        if self._verbose <= 1:
            return
        start = f"[{self._progress(fold.candidate, fold.fold)}] END "
        end = f"{_text(params)};"
        if not self._has_folds and fold.status == "ok" and fold.test_scores:
            end += f" value={fold.test_scores['score']:.4g};"
        elif self._verbose > 2:
            end += _scores(fold)
        elif fold.status != "ok":
            end += f" {fold.status};"
        end += f" total time={_duration(fold.fit_time + fold.score_time)}"
        print(start + "." * (_WIDTH - len(start) - len(end)) + end)

    def _progress(self, candidate: int, fold: int) -> str:
        share = "" if self._n_candidates is None else f"/{self._n_candidates}"
        if not self._has_folds:
            return f"{candidate + 1}{share}"
        text = "CV"
        if self._verbose > 2:
            text += f" {fold + 1}/{self._n_splits}"
        if self._verbose > 9:
            text += f"; {candidate + 1}{share}"
        return text


def _text(params: Mapping[str, object]) -> str:
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
