"""A worker in reserve, for the slot that next loses its own.

A process costs seconds of CPU time to start and holds as much memory as a worker, so
there is none in reserve while nothing suggests that it will be needed: until a worker
was lost, it is started shortly before a running task comes to its deadline. Where tasks
are killed without notice, by a limit of their memory, there always is one.

All times are those of ``time.monotonic``.
"""

import math
from collections.abc import Iterable

from sklearn_mvrsm._process import WorkerProcess

__all__ = ["Spare"]

LEAD = 3.0  # how long before a deadline, in units of what a worker took to start


class Spare:
    """At most one worker, and whether there should be one.

    Parameters
    ----------
    allowed : bool
        Whether there is ever to be one.
    always : bool
        Whether a worker may be lost at any time, and not at a deadline only.

    Attributes
    ----------
    worker : WorkerProcess or None
        It may have died since it was put here.
    """

    def __init__(self, *, allowed: bool, always: bool) -> None:
        self.worker: WorkerProcess | None = None
        self._allowed = allowed
        self._always = always
        self._failed = False

    def due(self, deadlines: Iterable[float | None], start_seconds: float) -> float:
        """Return when to start one; infinity if there is one, or is to be none.

        Parameters
        ----------
        deadlines : iterable of float or None
            Of the tasks that run.
        start_seconds : float
            What a worker took to start.
        """
        if self.worker is not None or not self._allowed or self._failed:
            return math.inf
        if self._always:
            return -math.inf
        ends = (end for end in deadlines if end is not None)
        return min(ends, default=math.inf) - LEAD * start_seconds

    def take(self) -> WorkerProcess | None:
        """Give it away, as a worker was lost: from now on there is always to be one."""
        self._always, self._failed = True, False
        worker, self.worker = self.worker, None
        return worker

    def give_up(self) -> None:
        """Do without it until the next worker is lost, as it could not be started."""
        self.worker, self._failed = None, True
