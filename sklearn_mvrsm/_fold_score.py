"""What became of one candidate on one fold, as a record: plain data."""

from dataclasses import dataclass, field
from typing import Any

from sklearn_mvrsm._fold import FitReport, MisuseError
from sklearn_mvrsm._outcomes import (
    Died,
    Event,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
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
        "ok", "error" (the fit or a scorer raised), "timeout", "out_of_memory",
        "crashed" (its process died) or "skipped".
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


def fold_score(event: Event, *, keep_exception: bool) -> FoldScore:
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
                error="\n".join(report.errors),
                multimetric=report.multimetric,
                stop=report.stop,
                **common,
            )
        case Raised(traceback=text, exception=exception):
            status, error = "error", text
            if keep_exception or isinstance(exception, MisuseError):
                common["exception"] = exception
        case TimedOut(limit, elapsed):
            status, common["killed"] = "timeout", True
            error = f"the fit was stopped after {elapsed:.2f} s, its limit is {limit} s"
        case OutOfMemory(message, text):
            status, error = "out_of_memory", text or message
            common["killed"] = not text
        case Died(reason):
            status, error = "crashed", reason
            common["killed"] = event.slot is not None  # else it never told that it ran
    return FoldScore(candidate, fold, status, fit_time=took, error=error, **common)
