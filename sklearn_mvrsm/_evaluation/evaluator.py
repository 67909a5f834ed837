"""Candidates evaluated on folds: every fit becomes a row.

A fit in a process of its own may crash or hang; one in the process of the search must
not.

A record does not depend on how many fits run at a time, or on which ends first: the
folds of a candidate are decided in their order. After the first one that times out,
crashes or runs out of memory, the later ones are skipped, even if they had run.

Under a joblib backend that reaches other machines (dask's, ray's), fits run there.
"""

import contextlib
import functools
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import joblib
from joblib.parallel import get_active_backend
from sklearn.base import BaseEstimator, clone

from sklearn_mvrsm._compat.joblib import is_local_backend, thread_limits
from sklearn_mvrsm._evaluation.environment import (
    FitEnvironment,
    fit_environment,
    restored,
)
from sklearn_mvrsm._evaluation.fold_fit import FitReport, FoldContext, Job, MisuseError
from sklearn_mvrsm._evaluation.mapped_arrays import reduce_array
from sklearn_mvrsm._evaluation.scores import ENDING_STATUSES, FoldScore, fold_score
from sklearn_mvrsm._execution import (
    Abandoned,
    InlinePool,
    PayloadFile,
    Pool,
    TaskEnd,
    WorkerPool,
    read_payload,
    remove_leftovers,
    to_outcome,
)

if TYPE_CHECKING:
    from sklearn_mvrsm._cluster import Cluster


class FoldStore(Protocol):
    """Knows folds that were finished before, and keeps new ones."""

    def recall(
        self, candidate: int, params: Mapping[str, object]
    ) -> Mapping[int, FoldScore]:
        """Return the folds of a candidate that need not be fitted, by number."""

    def record(self, fold: FoldScore) -> None:
        """Keep a fold that has just been finished."""


class Evaluator:
    """Evaluates candidates on folds, several at a time. Use it in a ``with`` block.

    Fits run in the caller's process if ``n_jobs`` is one and nothing may end them, else
    in processes of their own, which read the job from a file that is written once; on
    a cluster, if one is in force and ``n_jobs`` is not one.

    Parameters
    ----------
    job : FitJob or FunctionJob
        What is to be run.
    n_jobs : int or None
        Fits at a time, as joblib reads it.
    timeout : float or None
        Seconds for one fit with its scoring.
    memory_limit : int or None
        Bytes for one fit.
    killable : bool
        Whether fits must run where `close` can end them, even without limits.
    store : FoldStore or None
        What it recalls is not fitted.

    Attributes
    ----------
    n_slots : int
        Fits at a time.
    raised : BaseException or None
        What `next_event` raised, since a fit did.
    """

    def __init__(
        self,
        job: Job,
        *,
        n_jobs: int | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        killable: bool = False,
        store: FoldStore | None = None,
    ) -> None:
        self._cluster = _cluster_in_force(n_jobs)
        self.n_slots: int = (
            joblib.effective_n_jobs(n_jobs)
            if self._cluster is None
            else self._cluster.n_slots
        )
        self._job = job
        self._timeout = timeout
        self._memory_limit = memory_limit
        self._store = store
        no_limits = timeout is memory_limit is None and not killable
        self._in_caller = self._cluster is None and self.n_slots == 1 and no_limits
        self.raised: BaseException | None = None
        self._tasks: dict[tuple[int, int], FoldContext] = {}  # those that cannot travel
        self._records: dict[int, _CandidateFolds] = {}
        self._decided: deque[FoldScore] = deque()
        self._resources = contextlib.ExitStack()
        self._pool: Pool = InlinePool()  # until this is opened
        self._run: Callable[..., FitReport]

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            if self._in_caller:
                remove_leftovers()
                self._pool = stack.enter_context(InlinePool())
                self._run = self._job.run
            else:
                content = (self._job, fit_environment())
                reduce = functools.partial(reduce_array, by_path=self._cluster is None)
                try:
                    path = stack.enter_context(PayloadFile(content, reduce)).path
                except Exception as error:
                    error.add_note(
                        f"It was raised while {self._job.sent} was pickled for worker "
                        "processes. Remove what cannot be pickled, or set n_jobs=1 "
                        "and no limits: then no process is needed."
                    )
                    raise
                self._pool = self._new_pool(path)
                stack.enter_context(self._pool)
                self._run = (
                    functools.partial(_run_mapped_fold, path)
                    if self._cluster is None
                    else _run_mapped_fold  # the path is another one there
                )
            self._resources = stack.pop_all()
        return self

    def _new_pool(self, path: str) -> Pool:
        asked_for = self._job.n_threads
        if self._cluster is not None:
            from sklearn_mvrsm._cluster import RemotePool

            return RemotePool(
                self._cluster,
                path,
                setup=_open_job,
                memory_limit=self._memory_limit,
                n_threads=asked_for,
            )
        return WorkerPool(
            self.n_slots,
            setup=functools.partial(_open_job, path),
            env=thread_limits(self.n_slots, asked_for),
            memory_limit=self._memory_limit,
        )

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def first_start(self) -> float | None:
        """When the first fit started, by ``time.monotonic``; None before that.

        It is later by the time for which the search was stopped since then. On a
        cluster it is known once a fit has ended.
        """
        return self._pool.first_start

    def n_due(self, candidate: int) -> int:
        """Return how many fits of a candidate have not ended, and are to."""
        record = self._records[candidate]
        due = record.folds[record.n_decided : record.n_kept]
        return sum(fold not in record.arrived for fold in due)

    def submit(
        self,
        candidate: int,
        params: Mapping[str, object],
        folds: Sequence[int],
        tasks: Sequence[FoldContext] | None = None,
    ) -> None:
        """Evaluate a candidate; earlier candidates and folds go first.

        Parameters
        ----------
        candidate : int
            Its number.
        params : mapping
            Its parameters.
        folds : sequence of int
            Which of the job's splits, in the order in which they are to be decided.
        tasks : sequence, optional
            Callback contexts of scikit-learn 1.9, one a fold.
        """
        record = _CandidateFolds(candidate, tuple(folds))
        self._records[candidate] = record
        known: Mapping[int, FoldScore] = {}
        if self._store is not None:
            known = self._store.recall(candidate, params)
        for fold in known.keys() & set(folds):
            self._add_fold(record, known[fold])
        own: Sequence[FoldContext | None] = tasks or [None] * len(folds)
        for fold, task in zip(folds, own, strict=True):
            if fold in known or fold in record.folds[record.n_kept :]:
                continue
            if task is not None and self._cluster is not None:
                self._tasks[candidate, fold] = task
                task = None
            self._pool.submit(
                (candidate, fold), self._run, params, fold, task, timeout=self._timeout
            )
        self._decided.extend(record.decide())

    def next_event(self, timeout: float | None = None) -> FoldScore | None:
        """Wait for the next fold to be decided.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most. Fits in the caller's process run to their end.

        Returns
        -------
        FoldScore or None
            Each fold comes once, those of a candidate in their order. None when the
            time is over, or when nothing is under way.

        Raises
        ------
        Exception
            What a fit or a scorer raised, if errors are to be raised; in any case
            what a callback raised, or that a scorer gave something else than numbers.
        """
        give_up = None if timeout is None else time.monotonic() + timeout
        while not self._decided:
            left = None if give_up is None else max(give_up - time.monotonic(), 0.0)
            event = self._pool.next_event(left)
            if event is None:
                return None
            self._record_end(event)
        score = self._decided.popleft()
        misused = isinstance(score.exception, MisuseError)
        if misused or (self._job.raise_errors and score.has_raised):
            self.raised = _raised(score, self._job.noun)
            raise self.raised
        return score

    def cancel(self, candidate: int) -> None:
        """Skip the folds of a candidate that are not decided yet.

        Parameters
        ----------
        candidate : int
            Its number.
        """
        record = self._records[candidate]
        self._end(record, record.n_decided)
        self._decided.extend(record.decide())

    def close(self) -> None:
        """Kill what runs, and remove the file of the job; keep what has finished."""
        with self._resources, contextlib.suppress(Exception):
            # what ends the search comes first: an error here is none of its own
            for event in self._pool.drain():
                self._record_end(event)

    @property
    def unrecorded(self) -> list[FoldScore]:
        """Fits that ran and are in no record that was returned, once it is closed.

        Their status is "killed" where they were ended; else it is what became of them,
        or "skipped" where nobody wanted to know. On a cluster, fits that run at the
        end are not known.
        """
        arrived = (r.arrived.values() for r in self._records.values())
        known = [*self._decided, *itertools.chain.from_iterable(arrived)]
        ran = [score for score in known if score.slot is not None]
        return ran + [_abandoned(run) for run in self._pool.abandoned]

    def _record_end(self, event: TaskEnd) -> None:
        job = self._job
        score = fold_score(event, keep_exception=job.raise_errors, noun=job.noun)
        task = self._tasks.pop((score.candidate, score.fold), None)
        if task is not None:
            score = _with_hooks_called(score, task)
        if self._store is not None:
            self._store.record(score)
        record = self._records[score.candidate]
        self._add_fold(record, score)
        self._decided.extend(record.decide())

    def _add_fold(self, record: "_CandidateFolds", score: FoldScore) -> None:
        record.arrived[score.fold] = score
        if score.status in ENDING_STATUSES:
            self._end(record, record.folds.index(score.fold) + 1)

    def _end(self, record: "_CandidateFolds", n_kept: int) -> None:
        """Keep the first folds only."""
        for fold in record.folds[n_kept : record.n_kept]:
            if not self._pool.cancel((record.candidate, fold)):
                record.begun.add(fold)
            self._tasks.pop((record.candidate, fold), None)
        record.n_kept = min(record.n_kept, n_kept)


class _CandidateFolds:
    """The folds of one candidate, which arrive in any order and are decided in one."""

    def __init__(self, candidate: int, folds: tuple[int, ...]) -> None:
        self.candidate = candidate
        self.folds = folds
        self.arrived: dict[int, FoldScore] = {}
        self.begun: set[int] = set()  # of those that are skipped
        self.n_decided = 0
        self.n_kept = len(folds)  # those behind are skipped

    def decide(self) -> Iterator[FoldScore]:
        """Yield what can be said by now."""
        while self.n_decided < len(self.folds):
            fold = self.folds[self.n_decided]
            if self.n_decided >= self.n_kept:
                score = self._skipped(fold)
            elif fold in self.arrived:
                score = self.arrived.pop(fold)
            else:
                return
            self.n_decided += 1
            yield score

    def _skipped(self, fold: int) -> FoldScore:
        """Return the record of a skipped fold, which may have run all the same."""
        ran = self.arrived.pop(fold, None)
        if ran is None:
            killed = fold in self.begun
            return FoldScore(self.candidate, fold, "skipped", killed=killed)
        return FoldScore(
            self.candidate,
            fold,
            "skipped",
            slot=ran.slot,
            started=ran.started,
            finished=ran.finished,
            killed=ran.killed,
            stop=ran.stop,
        )


def _cluster_in_force(n_jobs: int | None) -> "Cluster | None":
    """Return where fits are to run, if not on this machine."""
    if is_local_backend(get_active_backend()[0]):
        return None  # nor is what serves clusters imported, here or in any worker
    from sklearn_mvrsm._cluster import active_cluster

    return active_cluster(n_jobs)


@functools.lru_cache(maxsize=1)
def _open_job(path: str) -> tuple[Job, FitEnvironment]:
    """Open the job that this process works on, once."""
    job, environment = read_payload(path)
    return job, environment


def _run_mapped_fold(
    path: str, params: Mapping[str, object], fold: int, task: FoldContext | None
) -> FitReport:
    """Run a fold in a worker."""
    job, environment = _open_job(path)
    with restored(environment):
        return job.run(params, fold, task, functools.partial(_new_estimator, path))


def _new_estimator(path: str) -> BaseEstimator:
    """Return an unfitted copy of the job's estimator.

    What was read from the file need not allow copies, even where the original does: it
    may have opened a file. Then the estimator is read again.
    """
    job: Any = _open_job(path)[0]
    try:
        return clone(job.estimator)
    except Exception:
        return read_payload(path)[0].estimator


def _abandoned(run: Abandoned) -> FoldScore:
    """Make the record of a fit whose outcome nobody wanted."""
    assert isinstance(run.task_id, tuple)
    candidate, fold = run.task_id
    return FoldScore(
        candidate,
        fold,
        "killed" if run.killed else "skipped",
        slot=run.slot,
        started=run.started,
        finished=run.finished,
        killed=run.killed,
    )


def _with_hooks_called(score: FoldScore, task: FoldContext) -> FoldScore:
    """Call callbacks here for a fold that ended on another machine."""
    if score.slot is None:  # whoever reads the record says that it has begun and ended
        return score
    try:
        if score.killed:  # whoever reads the record says that it has ended
            task.call_on_fit_task_begin(estimator=task.caller)
            return score
        with task:
            pass
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return replace(
            score,
            status="error",
            test_scores=None,
            train_scores=None,
            error=to_outcome(error).traceback,
            exception=MisuseError(error),
        )
    return replace(score, stop=bool(task.stop))


def _raised(score: FoldScore, noun: str) -> BaseException:
    """Return what a fit raised."""
    error = score.exception
    if error is not None and issubclass(type(error), MisuseError):
        error = error.args[0]
    if not isinstance(error, BaseException):
        return RuntimeError(f"a {noun} raised:\n{score.error}")
    with contextlib.suppress(Exception):  # its class may not bear a note
        if error.__traceback__ is None:
            error.add_note(f"It was raised in a worker:\n{score.error}")
    return error
