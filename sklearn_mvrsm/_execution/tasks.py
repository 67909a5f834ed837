"""A task on a worker and what became of it, or why the worker takes none.

A limit is not charged for the time for which the caller itself was stopped: it could
not look, and where all processes of a program are stopped, nor could the task run.
"""

import math
import time
from collections.abc import Hashable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from sklearn_mvrsm._execution.child import WorkerMessage, decode
from sklearn_mvrsm._execution.outcomes import (
    Abandoned,
    Died,
    Outcome,
    OutOfMemory,
    Returned,
    TimedOut,
    to_outcome,
)
from sklearn_mvrsm._execution.process import WorkerProcess
from sklearn_mvrsm._execution.watchdog import suspended_seconds

_TO_END = 1.0
"""Seconds in which a process is gone after it has lost its files."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be run, pickled."""

    task_id: Hashable
    blob: bytes
    timeout: float | None


@dataclass(eq=False)
class Run:
    """A task that a worker has been given.

    Attributes
    ----------
    started, finished : float
        When it was given to the worker, and when the answer, or the news of the
        worker's death, came.
    deadline : float or None
        When to kill the worker, had the caller never been stopped.
    was_late : bool
        Whether the worker has been given the last moment for its answer to arrive.
    patience_ends : tuple of float
        The same for a task that is not wanted any more: if another worker is ready, and
        in any case.
    lost_touch : bool
        Whether the worker could not answer any more, and lived.
    """

    task: Task
    worker: WorkerProcess
    slot: int
    started: float
    deadline: float | None
    future: "Future[WorkerMessage]"
    finished: float = 0.0
    was_late: bool = False
    patience_ends: tuple[float, float] = (math.inf, math.inf)
    lost_touch: bool = False
    _suspended_before: float = field(default_factory=suspended_seconds)

    def note_end(self) -> None:
        """Note the time; and whether the worker lives, though its end was reported.

        It cannot answer any more then, and is killed for that.
        """
        self.finished = time.monotonic()
        self.lost_touch = self.worker_died() and not self.worker.ends_within(_TO_END)

    @property
    def suspended(self) -> float:
        """For how many seconds the caller was stopped since the start."""
        return suspended_seconds() - self._suspended_before

    def kill_time(self, spare_is_ready: bool) -> float:
        """Return when to kill the worker, by what is known now; infinity if never."""
        end = math.inf if self.deadline is None else self.deadline
        return min(end, self.patience_ends[not spare_is_ready]) + self.suspended

    def worker_died(self) -> bool:
        """Return whether it ended with its worker."""
        return isinstance(self.future.exception(), BrokenProcessPool)

    def was_cut_short(self) -> bool:
        """Return whether it ended itself at a limit that a suspension used up."""
        limit = self.task.timeout
        if limit is None or not self.worker_died():
            return False
        elapsed = self.finished - self.started
        return elapsed - self.suspended < limit <= elapsed

    def is_healthy(self) -> bool:
        """Return whether its worker can start the next task without the caller.

        After other outcomes the caller may want to drop tasks that wait.
        """
        if self.future.exception() is not None:
            return False
        answer = self.future.result()
        return not self._is_late(answer.elapsed) and not isinstance(
            answer.outcome, OutOfMemory
        )

    def outcome(self) -> Outcome:
        """Return what became of it, once it has ended by itself."""
        limit = self.task.timeout
        if self.worker_died():
            elapsed = self.finished - self.started
            if limit is not None and elapsed >= limit:  # it ended itself: nobody came
                return TimedOut(limit, elapsed)
            if self.lost_touch:
                return Died(
                    "the worker lost its connection with the search: a fit may have "
                    "closed files that it had not opened"
                )
            return _cause_of_death(self.worker)
        error = self.future.exception()
        if error is not None:
            return to_outcome(error)
        answer = self.future.result()
        if limit is not None and self._is_late(answer.elapsed):
            return TimedOut(limit, answer.elapsed)
        return decode(answer)

    def abandoned(self, *, killed: bool) -> Abandoned:
        """Return what there is to know of a run whose outcome nobody wants."""
        end = time.monotonic() if killed else self.finished
        return Abandoned(self.task.task_id, killed, self.slot, self.started, end)

    def _is_late(self, elapsed: float) -> bool:
        limit = self.task.timeout
        return limit is not None and elapsed > limit + self.suspended


def _cause_of_death(worker: WorkerProcess) -> Died | OutOfMemory:
    reason = worker.how_it_ended()
    if reason == "signal SIGKILL":
        return OutOfMemory(
            "the worker was killed with SIGKILL by somebody else, probably by the "
            "system because memory ran out"
        )
    return Died(f"the worker died with {reason}")


@dataclass(frozen=True)
class SetupFailure:
    """Why a worker is not ready."""

    is_error: bool  # of its setup; else it died
    reason: str

    def message(self, n_times: int) -> str:
        """Return a message for who has to mend it."""
        if self.is_error:
            return f"a worker could not be set up:\n{self.reason}"
        return (
            f"{n_times} workers in a row died while starting, the last one with "
            f"{self.reason}. Look at the standard error output for its cause; too "
            "little memory and modules that cannot be imported are common."
        )


def setup_failure(worker: WorkerProcess) -> SetupFailure | None:
    """Return why a worker that should be ready is not."""
    if worker.ready.exception() is not None:
        return SetupFailure(False, worker.how_it_ended())
    outcome = decode(worker.ready.result())
    if isinstance(outcome, Returned):
        return None
    return SetupFailure(True, outcome.traceback)
