"""What runs tasks, wherever that is: the interface of all pools.

All times are those of ``time.monotonic``.
"""

import math
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, Self, TypeVar

from sklearn_mvrsm._execution.outcomes import Abandoned, TaskEnd, attempt
from sklearn_mvrsm._execution.watchdog import suspended_seconds

__all__ = ["InlinePool", "Pool", "ReportingPool"]


_MAX_PAUSE = 1.0
"""Seconds between looks at what runs, where nothing is reported."""


class Pool(ABC):
    """Runs tasks, and says what became of them. Use it in a ``with`` block.

    Tasks wait in a queue, first in, first out.

    Attributes
    ----------
    n_workers : int
        Tasks at a time.
    first_start : float or None
        When the first task started, as far as that is known; later by the time for
        which this process was stopped since then, while it watched workers.
    abandoned : list of Abandoned
        Tasks that had begun when they were dropped, once they have ended; those that
        ran at the end of the pool too.
    """

    n_workers: int
    _first: tuple[float, float] | None = None  # start of a task, suspension until then
    abandoned: list[Abandoned]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def first_start(self) -> float | None:
        """When the first task started; see the class."""
        if self._first is None:
            return None
        started, suspension = self._first
        return started + suspended_seconds() - suspension

    def _note_start(self, started: float) -> None:
        """Note when a task started, if it is the first."""
        if self._first is None or started < self._first[0]:
            self._first = started, suspended_seconds()

    @abstractmethod
    def submit(
        self,
        task_id: Hashable,
        fn: Callable[..., object],
        *args: object,
        timeout: float | None = None,
    ) -> None:
        """Queue a task.

        Parameters
        ----------
        task_id : hashable
            Names the task in its event; not that of a task still under way.
        fn : callable
            What to run. Where it runs elsewhere, it and its arguments are pickled now.
        *args
            Its arguments.
        timeout : float, optional
            Seconds after its start at which the task is killed.
        """

    @abstractmethod
    def next_event(self, timeout: float | None = None) -> TaskEnd | None:
        """Wait for a task to end.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Returns
        -------
        TaskEnd or None
            None when the time is over, or when no task is under way.

        Raises
        ------
        RuntimeError
            If nothing can be run there.
        """

    @abstractmethod
    def drain(self) -> list[TaskEnd]:
        """Return what has ended and was not asked for; what waits is not begun."""

    @abstractmethod
    def cancel(self, task_id: Hashable) -> bool:
        """Drop a task; no event follows. One that runs is killed, or soon ends.

        Parameters
        ----------
        task_id : hashable
            A task under way; others are ignored.

        Returns
        -------
        bool
            Whether it was still waiting, so that nothing of it has been run.
        """

    @abstractmethod
    def close(self) -> None:
        """Kill all that runs; no event follows."""


class _Named(Protocol):
    @property
    def task_id(self) -> Hashable: ...


_Task = TypeVar("_Task", bound=_Named)
_Note = TypeVar("_Note")


class ReportingPool(Pool, Generic[_Task, _Note]):
    """A pool whose tasks run elsewhere; threads note what becomes of them.

    The caller's thread reads the notes, in `next_event`. What it shares with the other
    threads is guarded by one lock.

    Parameters
    ----------
    n_workers : int
        Tasks at a time.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._queue: deque[_Task] = deque()
        self._open: dict[Hashable, _Task] = {}  # tasks whose event is still owed
        self._lock = threading.RLock()
        self._notes: queue.SimpleQueue[_Note] = queue.SimpleQueue()
        self._closed = False
        self.abandoned = []

    @property
    def n_open(self) -> int:
        """How many tasks wait or run."""
        return len(self._open)

    def next_event(self, timeout: float | None = None) -> TaskEnd | None:
        """Wait for a task to end. See `Pool.next_event`."""
        give_up = math.inf if timeout is None else time.monotonic() + timeout
        while self._open:
            self._fill()
            event = self._stop_overdue()
            if event is not None:
                return event
            wait = min(give_up, self._next_deadline()) - time.monotonic()
            try:
                note = self._notes.get(timeout=max(min(wait, _MAX_PAUSE), 0.0))
            except queue.Empty:
                if time.monotonic() >= give_up:
                    return None
                continue
            event = self._read(note)
            if event is not None:
                return event
        return None

    def drain(self) -> list[TaskEnd]:
        """Return what has ended, and begin nothing more. See `Pool.drain`."""
        with self._lock:
            for task in self._queue:
                del self._open[task.task_id]
            self._queue.clear()
        events = []
        while not self._notes.empty():
            event = self._end_of(self._notes.get())
            if event is not None:
                events.append(event)
        return events

    def _is_open(self, task: _Task) -> bool:
        return self._open.get(task.task_id) is task

    @abstractmethod
    def _fill(self) -> None:
        """Start tasks that wait where there is room."""

    def _stop_overdue(self) -> TaskEnd | None:
        """Stop what should have ended, which nobody reports; return its event."""
        return None

    def _next_deadline(self) -> float:
        """Return when to do that next, if nothing is reported before."""
        return math.inf

    @abstractmethod
    def _read(self, note: _Note) -> TaskEnd | None:
        """Act on a note; return the event of a task that has ended by it."""

    @abstractmethod
    def _end_of(self, note: _Note) -> TaskEnd | None:
        """Return the event of a task that has ended; do nothing else about it."""


class InlinePool(Pool):
    """Run tasks in the caller's process, without limits.

    A task runs when its event is asked for.
    """

    n_workers = 1

    def __init__(self) -> None:
        self._queue: deque[tuple[Hashable, Callable[..., Any], tuple[Any, ...]]]
        self._queue = deque()
        self.abandoned = []

    def submit(
        self,
        task_id: Hashable,
        fn: Callable[..., object],
        *args: object,
        timeout: float | None = None,
    ) -> None:
        """Queue a task, without a limit. See `Pool.submit`."""
        if timeout is not None:
            raise ValueError("a task in the caller's process cannot have a time limit")
        self._queue.append((task_id, fn, args))

    def next_event(self, timeout: float | None = None) -> TaskEnd | None:
        """Run the next task, to its end whatever the timeout. See `Pool.next_event`."""
        if not self._queue:
            return None
        task_id, fn, args = self._queue.popleft()
        started = time.monotonic()
        self._note_start(started)
        outcome = attempt(fn, args)
        return TaskEnd(task_id, outcome, 0, started, time.monotonic())

    def drain(self) -> list[TaskEnd]:
        """Return nothing: a task ends when it is asked for. See `Pool.drain`."""
        self._queue.clear()
        return []

    def cancel(self, task_id: Hashable) -> bool:
        """Drop a task that waits. See `Pool.cancel`."""
        kept = [task for task in self._queue if task[0] != task_id]
        was_waiting = len(kept) < len(self._queue)
        self._queue = deque(kept)
        return was_waiting

    def close(self) -> None:
        """Drop all tasks."""
        self._queue.clear()
