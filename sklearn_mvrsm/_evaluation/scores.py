"""Scores: what became of a candidate, fold by fold, as plain data."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sklearn_mvrsm._evaluation.fold_fit import FitReport, MisuseError
from sklearn_mvrsm._execution import (
    Died,
    OutOfMemory,
    Raised,
    Returned,
    TaskEnd,
    TimedOut,
    shortened,
)

ENDING_STATUSES = frozenset({"timeout", "out_of_memory", "crashed"})
"""Statuses of a fold after which the later folds of its candidate are skipped."""


@dataclass(frozen=True)
class FoldScore:
    """What became of one candidate on one fold.

    Attributes
    ----------
    candidate, fold : int
        Which fit it was.
    status : str
        "ok", "error" (the fit or a scorer raised, or the value of a function is not
        finite), "timeout", "out_of_memory", "crashed" (its process died) or "skipped".
    test_scores, train_scores : dict of str to float, or None
        By name of the metric ("score" where it has none), without those that could not
        be computed. None if nothing was computed.
    fit_time, score_time : float
        Seconds. Of a fit that failed: all it took, and 0.
    n_test_samples : int or None
        None if the fit failed.
    error : str
        What went wrong: a traceback's text, or a sentence. Empty where nothing did.
    exception : BaseException or None
        What was raised, where errors are to be raised and it could be brought here.
    slot : int or None
        Where it ran. None if it never did, or not in this search.
    started, finished : float or None
        When it ran, by ``time.monotonic``.
    multimetric : bool
        Whether the scorer gave its scores names.
    killed : bool
        Whether the fit ended with its process, or was left behind to be killed. Not
        if it was lost, with the machine it ran on.
    stop : bool
        Whether a callback of scikit-learn's asked to stop the search.
    """

    candidate: int
    fold: int
    status: str
    test_scores: dict[str, float] | None = None
    train_scores: dict[str, float] | None = None
    fit_time: float = 0.0
    score_time: float = 0.0
    n_test_samples: int | None = None
    error: str = ""
    exception: BaseException | None = field(default=None, compare=False)
    slot: int | None = None
    started: float | None = None
    finished: float | None = None
    multimetric: bool = False
    killed: bool = False
    stop: bool = False

    @property
    def has_raised(self) -> bool:
        """Whether the fit or a scorer raised: a function's nan is no exception."""
        is_lone = not self.multimetric and self.train_scores is None
        has_value = is_lone and "score" in (self.test_scores or {})
        return self.status == "error" and not has_value


def fold_score(event: TaskEnd, *, keep_exception: bool, noun: str = "fit") -> FoldScore:
    """Turn what became of a task into a record."""
    assert isinstance(event.task_id, tuple)
    candidate, fold = event.task_id
    common: dict[str, Any] = {
        "slot": event.slot,
        "started": event.started,
        "finished": event.finished,
    }
    took = event.finished - event.started
    match event.outcome:
        case Returned(FitReport() as report):
            return FoldScore(
                candidate,
                fold,
                status="error" if report.errors else "ok",
                test_scores=report.test_scores,
                train_scores=report.train_scores,
                fit_time=report.fit_time,
                score_time=report.score_time,
                n_test_samples=report.n_test_samples,
                error=shortened("\n".join(report.errors)),
                multimetric=report.multimetric,
                stop=report.stop,
                **common,
            )
        case Raised(traceback=text, exception=exception):
            status, error = "error", text
            if keep_exception or issubclass(type(exception), MisuseError):
                common["exception"] = exception
        case TimedOut(limit, elapsed):
            status, common["killed"] = "timeout", True
            error = f"the {noun} was stopped after {elapsed:.2f} s, "
            error += f"its limit is {limit} s"
        case OutOfMemory(message, text):
            status, error = "out_of_memory", text or message
            common["killed"] = not text
        case Died(reason):
            status, error = "crashed", reason
            common["killed"] = event.slot is not None  # else it never told that it ran
    return FoldScore(candidate, fold, status, fit_time=took, error=error, **common)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


def _are_scores(value: object) -> bool:
    return value is None or (
        isinstance(value, dict)
        and all(_is_number(v) or v in _NOT_FINITE for v in value.values())
    )


_NOT_FINITE = ("nan", "inf", "-inf")  # as text: JSON has no such numbers
_KEPT = ("ok", "error", *sorted(ENDING_STATUSES))
_SCORES = ("a number for each metric, or null", _are_scores)
_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "candidate": ("a whole number from 0 on", _is_count),
    "fold": ("a whole number from 0 on", _is_count),
    "status": (f"one of {_KEPT}", lambda value: value in _KEPT),
    "fit_time": ("a number", _is_number),
    "score_time": ("a number", _is_number),
    "n_test_samples": (
        "a whole number from 0 on, or null",
        lambda value: value is None or _is_count(value),
    ),
    "error": ("text", lambda value: isinstance(value, str)),
    "multimetric": ("true or false", lambda value: isinstance(value, bool)),
    "test_scores": _SCORES,
    "train_scores": _SCORES,
}


def to_record(fold: FoldScore) -> dict[str, object]:
    """Return what outlives the search that a fold ran in, by JSON's types."""
    record = {name: getattr(fold, name) for name in _RULES}
    for part in ("test_scores", "train_scores"):
        if (scores := record[part]) is not None:
            finite = {name: math.isfinite(scores[name]) for name in scores}
            record[part] = {k: v if finite[k] else str(v) for k, v in scores.items()}
    return record


def from_record(record: Mapping[str, Any], n_splits: int) -> FoldScore:
    """Restore a fold that did not run here: it has no slot.

    Parameters
    ----------
    record : mapping
        Of JSON's types, made by `to_record` or wrong.
    n_splits : int
        Number of folds.

    Raises
    ------
    ValueError
        If it is no record of a fold; the message names the part, the rule and the
        value.
    """
    if odd := record.keys() ^ _RULES.keys():
        raise ValueError(f"these parts are missing or unknown: {sorted(odd)}")
    for name, (rule, holds) in _RULES.items():
        if not holds(record[name]):
            found = shortened(repr(record[name]))
            raise ValueError(f"{name!r} must be {rule}, got {found}")
    if record["fold"] >= n_splits:
        raise ValueError(f"'fold' must be < {n_splits}, got {record['fold']}")
    if record["status"] == "ok" and not record["test_scores"]:
        raise ValueError("'test_scores' must not be empty where 'status' is 'ok'")
    scores = {}
    for part in ("test_scores", "train_scores"):
        found = record[part]
        scores[part] = None if found is None else {k: float(found[k]) for k in found}
    return FoldScore(**{**record, **scores})


class ScoredFold(Protocol):
    """What became of one candidate on one fold: all that the table needs of it."""

    @property
    def status(self) -> str:
        """One of the statuses that `FoldScore` lists."""

    @property
    def test_scores(self) -> Mapping[str, float] | None:
        """Scores by name of the metric, without those that could not be computed."""

    @property
    def train_scores(self) -> Mapping[str, float] | None:
        """As ``test_scores``, on the training part of the fold."""

    @property
    def fit_time(self) -> float:
        """Seconds of the fit, up to its failure if it failed."""

    @property
    def score_time(self) -> float:
        """Seconds of the scoring on the test part."""

    @property
    def error(self) -> str:
        """What went wrong, empty where nothing did."""

    @property
    def started(self) -> float | None:
        """When it began to run; None if it did not, or not in this search."""


@dataclass(frozen=True)
class Candidate:
    """A configuration and what became of it on each fold, in the order of folds.

    Its ``constraint`` is the number that must be <= 0: nan if it failed, None without a
    constraint, and where nothing is known of it.
    """

    params: Mapping[str, Any]
    folds: tuple[ScoredFold, ...]
    constraint: float | None = None

    @property
    def status(self) -> str:
        """The status of the fold that ended it, else ``error`` if any, else ``ok``."""
        statuses = [fold.status for fold in self.folds]
        ending = [status for status in statuses if status in ENDING_STATUSES]
        if ending:
            return ending[0]
        return "error" if "error" in statuses else "ok"

    @property
    def is_pruned(self) -> bool:
        """Whether folds were skipped although none before them ended the candidate."""
        skipped = any(fold.status == "skipped" for fold in self.folds)
        return skipped and self.status not in ENDING_STATUSES

    @property
    def is_feasible(self) -> bool:
        """Whether no constraint is known to be violated."""
        return self.constraint is None or self.constraint <= 0.0

    def mean_test_score(self, metric: str) -> float:
        """Return the mean over the folds; nan unless each has a score of ``metric``."""
        scores = [(fold.test_scores or {}).get(metric, np.nan) for fold in self.folds]
        return float(np.mean(scores))
