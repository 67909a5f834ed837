"""A task on a worker, and what became of it."""

from collections.abc import Hashable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from sklearn_mvrsm._outcomes import Died, Outcome, OutOfMemory, TimedOut, describe
from sklearn_mvrsm._process import Answer, WorkerProcess, decode


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
        When to kill the worker.
    """

    task: Task
    worker: WorkerProcess
    slot: int
    started: float
    deadline: float | None
    future: "Future[Answer]"
    finished: float = 0.0

    def worker_died(self) -> bool:
        """Whether it ended with its worker."""
        return isinstance(self.future.exception(), BrokenProcessPool)

    def is_healthy(self) -> bool:
        """Whether its worker may take another task without anybody's consent.

        After other outcomes the caller may want to drop tasks that wait.
        """
        if self.future.exception() is not None:
            return False
        answer = self.future.result()
        return not self._is_late(answer.elapsed) and not isinstance(
            answer.outcome, OutOfMemory
        )

    def outcome(self) -> Outcome:
        """Say what became of it, once it has ended by itself."""
        limit = self.task.timeout
        if self.worker_died():
            elapsed = self.finished - self.started
            if limit is not None and elapsed >= limit:  # it ended itself: nobody came
                return TimedOut(limit, elapsed)
            return _cause_of_death(self.worker)
        error = self.future.exception()
        if error is not None:
            return describe(error)
        answer = self.future.result()
        if limit is not None and self._is_late(answer.elapsed):
            return TimedOut(limit, answer.elapsed)
        return decode(answer)

    def _is_late(self, elapsed: float) -> bool:
        return self.task.timeout is not None and elapsed > self.task.timeout


def _cause_of_death(worker: WorkerProcess) -> Died | OutOfMemory:
    reason = worker.how_it_ended()
    if reason == "signal SIGKILL":
        return OutOfMemory(
            "the worker was killed with SIGKILL by somebody else, probably by the "
            "system because memory ran out"
        )
    return Died(f"the worker died with {reason}")
