"""The pool whose slots are on a cluster.

A task goes to the cluster as soon as a slot is free, from whichever thread finds out.
There it runs in a child of some process (`run_on_host`), so the cluster never loses
a process to a fit. The data go along with the first tasks, and again where a process
says that it does not have them. All times are those of ``time.monotonic`` here.
"""

import time
import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from sklearn_mvrsm._cluster.backends import Cluster, Lost
from sklearn_mvrsm._cluster.host import HostConfig, HostReply, run_on_host
from sklearn_mvrsm._execution import (
    Abandoned,
    Died,
    Outcome,
    OutOfMemory,
    Raised,
    ReportingPool,
    Returned,
    TaskEnd,
    WorkerMessage,
    attempt,
    causes,
    decode,
    encode_task,
    summary,
)

_MAX_TRIES = 2
"""How often a task is sent to the cluster before it counts as crashed."""


@dataclass(eq=False)
class _Task:
    task_id: Hashable
    blob: bytes
    timeout: float | None
    needs_data: bool = False
    n_tries: int = 0
    sent: float = 0.0
    ticket: object = None  # of the answer that is waited for, if one is
    handle: Any = None  # of the cluster
    is_cancelled: bool = False


@dataclass(frozen=True)
class _Note:
    """What a thread found out about a task."""

    task: _Task
    result: HostReply | Lost | Raised | OutOfMemory
    when: float


class RemotePool(ReportingPool[_Task, _Note]):
    """Run tasks on a cluster, each in a child process that can be killed there.

    Parameters
    ----------
    cluster : Cluster
        Where.
    path : str
        A payload file. Each process of the cluster that is used gets a copy.
    setup : callable
        Called once in each child, with the path of the copy.
    memory_limit : int, optional
        Bytes that one task may use on top of what its process uses already.
    n_threads : int
        Threads that a task was told to use.
    """

    def __init__(
        self,
        cluster: Cluster,
        path: str,
        *,
        setup: Callable[[str], object],
        memory_limit: int | None = None,
        n_threads: int = 1,
    ) -> None:
        super().__init__(cluster.n_slots)
        self._cluster = cluster
        self._data: Any = np.asarray(np.memmap(path, mode="r"))
        self._shared: Any = None
        self._sent: set[_Task] = set()  # each has a slot
        self._places: dict[str, int] = {}
        self._n_submitted = 0
        self._n_losses = 0
        self._config = HostConfig(uuid.uuid4().hex, setup, memory_limit, n_threads)

    def __enter__(self) -> Self:
        try:
            self._cluster.open()
            self._shared = self._cluster.share(self._data)
        except BaseException:
            self.close()
            raise
        return self

    def submit(
        self,
        task_id: Hashable,
        fn: Callable[..., object],
        *args: object,
        timeout: float | None = None,
    ) -> None:
        """Queue a task; it is sent now if a slot is free. See `Pool.submit`.

        ``fn`` is given the path of the data before its other arguments.
        """
        encoded = attempt(encode_task, (fn, args))
        blob = encoded.value if isinstance(encoded, Returned) else b""
        is_first = self._n_submitted < self.n_workers
        task = _Task(task_id, blob, timeout, needs_data=is_first)
        self._n_submitted += 1
        self._open[task_id] = task
        if not isinstance(encoded, Returned):
            self._notes.put(_Note(task, encoded, time.monotonic()))
            return
        with self._lock:
            self._queue.append(task)
        self._fill()

    def cancel(self, task_id: Hashable) -> bool:
        """Drop a task. See `Pool.cancel`."""
        task = self._open.pop(task_id, None)
        if task is None:
            return False
        with self._lock:
            if task in self._queue:
                self._queue.remove(task)
                return True
            task.is_cancelled = True
        if task.handle is not None:
            self._cluster.cancel(task.handle)
        return False

    def close(self) -> None:
        """Kill all that runs on the cluster, and remove the data."""
        self._closed = True
        with self._lock:
            self._queue.clear()
        self._open.clear()
        self._cluster.close()
        self._shared = self._data = None

    def _fill(self) -> None:
        """Send tasks that wait to slots that are free."""
        with self._lock:
            while self._queue and len(self._sent) < self.n_workers and not self._closed:
                task = self._queue.popleft()
                self._sent.add(task)
                self._send(task)

    def _send(self, task: _Task) -> None:
        task.n_tries += 1
        task.ticket = ticket = object()
        task.sent = time.monotonic()
        args: tuple[Any, ...] = (self._config, task.blob, task.timeout)
        if task.needs_data:
            args = (*args, self._shared)
        try:
            on_done = partial(self._on_done, task, ticket)
            task.handle = self._cluster.submit(run_on_host, args, on_done)
        except Exception as error:
            self._on_done(task, ticket, Lost(error))

    def _on_done(self, task: _Task, ticket: object, result: object) -> None:
        """Note what became of a task; called in a thread of the cluster."""
        now = time.monotonic()
        with self._lock:
            if task.ticket is not ticket:
                return  # said before
            task.ticket = task.handle = None
            if not isinstance(result, HostReply | Lost):
                result = Lost(TypeError(f"the cluster returned {type(result)}"))
            if task.is_cancelled or _is_well(result):
                self._sent.discard(task)
                self._fill()
            self._notes.put(_Note(task, result, now))

    def _read(self, note: _Note) -> TaskEnd | None:
        """Act on what a thread found out."""
        task, result = note.task, note.result
        with self._lock:
            self._sent.discard(task)  # not well: still in its slot
        if isinstance(result, HostReply) and result.problem:
            raise RuntimeError(
                f"no fit can be run in a process of the cluster, {result.place}: "
                f"{result.problem}"
            )
        if not self._is_open(task):
            self._abandon(task, result, note.when)
            return None
        if isinstance(result, Raised | OutOfMemory):  # it could not be pickled
            return self._event(task, result, None, note.when, note.when)
        if isinstance(result, HostReply) and result.outcome is not None:
            self._n_losses = 0
            return self._reported(task, result, note.when)
        return self._try_again(task, result, note.when)

    def _end_of(self, note: _Note) -> TaskEnd | None:
        """Return the event of a task whose outcome was reported."""
        task, result = note.task, note.result
        if not self._is_open(task) or not isinstance(result, HostReply):
            return None
        return self._reported(task, result, note.when) if result.outcome else None

    def _abandon(self, task: _Task, result: object, when: float) -> None:
        """Note a task that ran, and whose outcome nobody wants."""
        if isinstance(result, HostReply) and result.elapsed > 0.0:
            slot = self._slot_of(result)
            started = max(when - result.elapsed, task.sent)
            killed = result.outcome is None
            self.abandoned.append(Abandoned(task.task_id, killed, slot, started, when))

    def _slot_of(self, reply: HostReply) -> int:
        return self._places.setdefault(reply.place, len(self._places))

    def _reported(self, task: _Task, report: HostReply, when: float) -> TaskEnd:
        """Make an event of a report that has an outcome."""
        assert report.outcome is not None
        slot = self._slot_of(report)
        started = max(when - report.elapsed, task.sent)
        self._note_start(started)
        return self._event(task, _decoded(report.outcome), slot, started, when)

    def _try_again(
        self, task: _Task, result: HostReply | Lost, now: float
    ) -> TaskEnd | None:
        """Send a task once more, with the data; give it up if that was in vain."""
        if isinstance(result, HostReply) and not task.needs_data:
            task.n_tries = 0  # its data were not there
        else:
            reason, error = _reason(result)
            self._n_losses += 1
            if _is_import_error(error):
                raise RuntimeError(
                    f"the cluster cannot import what it needs ({reason}); the same "
                    "packages have to be installed there"
                ) from error
            if self._n_losses > _MAX_TRIES * self.n_workers:  # no result in between
                raise RuntimeError(
                    f"the cluster has lost {self._n_losses} fits in a row; of the last "
                    f"one it says: {reason}"
                ) from error
            if task.n_tries >= _MAX_TRIES:
                return self._event(task, Died(reason), None, task.sent, now)
            try:
                self._shared = self._cluster.share(self._data)
            except Exception as error:
                raise RuntimeError(f"the cluster is gone: {reason}") from error
        task.needs_data = True
        with self._lock:
            self._queue.appendleft(task)
        return None

    def _event(
        self,
        task: _Task,
        outcome: Outcome,
        slot: int | None,
        started: float,
        finished: float,
    ) -> TaskEnd:
        del self._open[task.task_id]
        return TaskEnd(task.task_id, outcome, slot, started, finished)


def _is_well(result: object) -> bool:
    """Return whether the next task can be sent without consulting the caller.

    After other outcomes the caller may want to drop tasks that wait.
    """
    return isinstance(result, HostReply) and isinstance(result.outcome, Returned | None)


def _decoded(outcome: Outcome) -> Outcome:
    """Restore what a child sent."""
    if isinstance(outcome, Returned):
        assert isinstance(outcome.value, WorkerMessage)
        return decode(outcome.value)
    return outcome


def _reason(result: HostReply | Lost) -> tuple[str, BaseException | None]:
    """Return why there is no outcome."""
    if isinstance(result, Lost):
        return f"the fit was lost: {summary(result.error)}", result.error
    return f"{result.place} ended before the fit", None


def _is_import_error(error: BaseException | None) -> bool:
    """Return whether an exception, or one it was raised from, is about an import."""
    if error is None:
        return False
    return any(issubclass(type(cause), ImportError) for cause in causes(error))
