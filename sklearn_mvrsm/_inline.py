"""The pool that has no processes: tasks run in the caller's, one after the other."""

import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from sklearn_mvrsm._outcomes import Event, attempt
from sklearn_mvrsm._pool import Pool


class InlinePool(Pool):
    """Run tasks in the caller's process, without limits.

    A task runs when its event is asked for.
    """

    n_workers = 1

    def __init__(self) -> None:
        self._queue: deque[tuple[Hashable, Callable[..., Any], tuple[Any, ...]]]
        self._queue = deque()

    @property
    def free(self) -> int:
        """1 while nothing waits, else 0."""
        return int(not self._queue)

    def submit(
        self,
        task_id: Hashable,
        fn: Callable[..., Any],
        *args: Any,
        timeout: float | None = None,
    ) -> None:
        """Queue a task, without a limit. See `Pool.submit`."""
        if timeout is not None:
            raise ValueError("a task in the caller's process cannot have a time limit")
        self._queue.append((task_id, fn, args))

    def next_event(self, timeout: float | None = None) -> Event | None:
        """Run the next task, to its end whatever the timeout. See `Pool.next_event`."""
        if not self._queue:
            return None
        task_id, fn, args = self._queue.popleft()
        started = time.monotonic()
        if self.first_start is None:
            self.first_start = started
        outcome = attempt(fn, args)
        return Event(task_id, outcome, 0, started, time.monotonic())

    def finished(self) -> list[Event]:
        """Return nothing: a task ends when it is asked for. See `Pool.finished`."""
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
