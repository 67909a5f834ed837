"""One candidate on one fold, in this process: a fit with its scores, or a call."""

import contextlib
import math
import numbers
import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from sklearn.base import BaseEstimator, clone

from sklearn_mvrsm._compat.sklearn import MultimetricScorer, fit_and_score, num_samples
from sklearn_mvrsm._evaluation.environment import threads_asked_for
from sklearn_mvrsm._execution import (
    OutOfMemory,
    Returned,
    attempt,
    copies_ended,
    pickled_exception,
    shortened,
    to_outcome,
)


class FoldContext(Protocol):
    """The callback context of one fold, whose block is entered where the fold runs.

    Attributes
    ----------
    caller : object
        What the callbacks see as the search.
    stop : bool or None
        Whether a callback asks to stop; None before the end of the fold.
    failure : BaseException or None
        What a callback raised.
    """

    @property
    def caller(self) -> object: ...

    stop: bool | None
    failure: BaseException | None

    def __enter__(self) -> object: ...

    def __exit__(self, *exc_info: object) -> None: ...

    def call_on_fit_task_begin(self, **kwargs: object) -> object:
        """Call the hooks of the begin of the fold."""


class Job(Protocol):
    """What is run for every candidate, fold by fold."""

    @property
    def n_splits(self) -> int:
        """Number of folds."""

    @property
    def growth(self) -> float:
        """How much longer than on a fold it runs on all data."""

    @property
    def n_threads(self) -> int:
        """Threads that it needs to do as it is told, see `threads_asked_for`."""

    @property
    def raise_errors(self) -> bool:
        """Whether what it raises ends the search."""

    @property
    def noun(self) -> str:
        """What it is called to run one candidate on one fold."""

    @property
    def sent(self) -> str:
        """What is pickled for worker processes, in words."""

    @property
    def run(self) -> Callable[..., "FitReport"]:
        """Runs one candidate on one fold; `run_fold` has the arguments."""


@dataclass(frozen=True)
class FitJob:
    """All about a fit that is the same for every candidate.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fit.
    X : array-like of shape (n_samples, n_features)
        The data, of any kind that scikit-learn can index.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs) or None
        The target.
    splits : sequence of (train, test)
        Indices of each fold.
    scorer : callable
        ``scorer(estimator, X, y, **score_params)`` gives a number or a dict of them.
    fit_params, score_params : mapping
        Those with one entry a sample are cut to the samples of the fold.
    return_train_score : bool
        Whether to score on the training samples too.
    raise_errors : bool
        Whether ``error_score`` is "raise".
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    scorer: Any
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    score_params: Mapping[str, Any] = field(default_factory=dict)
    return_train_score: bool = False
    raise_errors: bool = False
    noun: ClassVar[str] = "fit"
    sent: ClassVar[str] = "the estimator with data, folds and scorer"

    @property
    def n_splits(self) -> int:
        """Number of folds."""
        return len(self.splits)

    @property
    def growth(self) -> float:
        """Rows of all data, for each row that a fold trains on in the mean."""
        n_trained = sum(len(train) for train, _ in self.splits)
        return int(num_samples(self.X)) * self.n_splits / n_trained

    @property
    def n_threads(self) -> int:
        """Threads that the estimator needs to do as it is told."""
        return threads_asked_for(self.estimator)

    def run(self, *args: Any) -> "FitReport":
        """Fit and score one candidate on one fold. See `run_fold`."""
        return run_fold(self, *args)


@dataclass(frozen=True)
class FunctionJob:
    """A function that is called once for every candidate; its value is the score.

    Parameters
    ----------
    function : callable
        What is evaluated.
    call : callable
        ``call(function, params)`` returns its value.
    raise_errors : bool
        Whether what it raises ends the search.
    """

    function: Callable[..., Any]
    call: Callable[[Callable[..., Any], Mapping[str, Any]], float]
    raise_errors: bool = False
    n_splits: ClassVar[int] = 1
    growth: ClassVar[float] = 1.0
    n_threads: ClassVar[int] = 1
    noun: ClassVar[str] = "call"
    sent: ClassVar[str] = "'func'"

    def run(self, params: Mapping[str, Any], *unused: object) -> "FitReport":
        """Call the function with one candidate."""
        begin = time.perf_counter()
        value = self.call(self.function, params)
        took = time.perf_counter() - begin
        wrong = () if math.isfinite(value) else (f"func(params) returned {value}",)
        return FitReport({"score": value}, None, took, errors=wrong)


class MisuseError(Exception):
    """A mistake that no candidate can cure; ``args[0]`` is what was raised.

    It is None after a journey that what was raised does not survive.
    """

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[bytes | None]]:
        return self._arrived, (pickled_exception(self.args[0]),)

    @classmethod
    def _arrived(cls, blob: bytes | None) -> Self:
        """Restore one from the pickle of what was raised, which may fail here."""
        loaded = Returned(None) if blob is None else attempt(pickle.loads, (blob,))
        value = loaded.value if isinstance(loaded, Returned) else None
        return cls(value if isinstance(value, BaseException) else None)


@dataclass(frozen=True)
class FitReport:
    """What a fit sends back: plain data, so that it can always be sent."""

    test_scores: dict[str, float]
    train_scores: dict[str, float] | None
    fit_time: float
    score_time: float = 0.0
    n_test_samples: int = 0
    errors: tuple[str, ...] = ()
    multimetric: bool = False
    stop: bool = False


def run_fold(
    job: FitJob,
    params: Mapping[str, object],
    fold: int,
    task: FoldContext | None = None,
    new_estimator: Callable[[], BaseEstimator] | None = None,
) -> FitReport:
    """Fit and score one candidate on one fold, in this process.

    Parameters
    ----------
    job : FitJob
        What is to be fitted.
    params : mapping
        The candidate. Values that are estimators are cloned.
    fold : int
        Which of ``job.splits``.
    task : object, optional
        Callback context of scikit-learn 1.9, with a ``caller``.
    new_estimator : callable, optional
        Returns the estimator to fit; by default a clone of the job's.

    Returns
    -------
    FitReport
        A failed fit raises; a failed scorer does if ``job.raise_errors`` is set, and
        is one of ``errors`` otherwise.

    Raises
    ------
    MisuseError
        If a scorer returns something else than numbers, or a callback raises.
    """
    scorer = _CarefulScorer(job.scorer, job.raise_errors)
    try:
        with contextlib.nullcontext() if task is None else task:
            estimator = new_estimator() if new_estimator else clone(job.estimator)
            with copies_ended():
                result = _fit(job, estimator, params, fold, scorer, task)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if task is not None and task.failure is not None:
            raise MisuseError(task.failure) from error
        raise
    return FitReport(
        test_scores=result["test_scores"],
        train_scores=result.get("train_scores"),
        fit_time=float(result["fit_time"]),
        score_time=float(result["score_time"]),
        n_test_samples=int(result["n_test_samples"]),
        errors=tuple(scorer.errors),
        multimetric=scorer.multimetric,
        stop=task is not None and bool(task.stop),
    )


def _fit(
    job: FitJob,
    estimator: object,
    params: Mapping[str, object],
    fold: int,
    scorer: "_CarefulScorer",
    task: FoldContext | None,
) -> dict[str, Any]:
    train, test = job.splits[fold]
    return fit_and_score(
        estimator,
        job.X,
        job.y,
        scorer=scorer,
        train=train,
        test=test,
        verbose=0,
        parameters=params,
        fit_params=dict(job.fit_params),
        score_params=dict(job.score_params),
        return_train_score=job.return_train_score,
        return_n_test_samples=True,
        return_times=True,
        error_score="raise",
        caller=getattr(task, "caller", None),
        callback_ctx=task,
    )


class _CarefulScorer:
    """A scorer whose scores are floats by name, without those that failed."""

    def __init__(self, scorer: Callable[..., object], raise_errors: bool) -> None:
        self._scorer = scorer
        self._raise_errors = raise_errors
        self._pid = os.getpid()
        self.errors: list[str] = []
        self.multimetric = False

    def __call__(
        self, estimator: object, *args: object, **kwargs: object
    ) -> dict[str, float]:
        if os.getpid() != self._pid:  # a copy of the process has returned from the fit
            os._exit(0)
        try:
            scores = self._scorer(estimator, *args, **kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            outcome = to_outcome(error)
            if self._raise_errors or isinstance(outcome, OutOfMemory):
                raise
            self.errors.append(outcome.traceback)
            return {}
        self.multimetric = isinstance(scores, dict)
        named = scores if isinstance(scores, dict) else {"score": scores}
        floats = {name: self._number(name, score) for name, score in named.items()}
        return {name: score for name, score in floats.items() if score is not None}

    def _number(self, name: str, score: Any) -> float | None:
        if hasattr(score, "item"):
            with contextlib.suppress(ValueError):
                score = score.item()
        if isinstance(score, numbers.Real):
            return float(score)
        if isinstance(self._scorer, MultimetricScorer) and _is_traceback(score):
            self.errors.append(shortened(score))  # of a scorer that failed among others
            return None
        raise MisuseError(
            ValueError(
                f"scoring must return a number, got {shortened(repr(score))} "
                f"({type(score)}) instead. (scorer={name})"
            )
        )


def _is_traceback(score: object) -> bool:
    return isinstance(score, str) and score.startswith("Traceback (most recent call")
