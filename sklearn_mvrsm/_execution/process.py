"""The caller's side of a process: started, given tasks, killed with all it has started.

A spare process stands by for the slot that next loses its own. A process costs seconds
of CPU time to start and holds as much memory as a worker, so there is none in reserve
while nothing suggests that it will be needed: until a worker was lost, it is started
shortly before a running task comes to its deadline. Where tasks are killed without
notice, by a limit of their memory, there always is one.

All times are those of ``time.monotonic``.
"""

import contextlib
import math
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

from sklearn_mvrsm._execution.child import Answer, enter_process, run_encoded, set_up
from sklearn_mvrsm._execution.outcomes import Returned
from sklearn_mvrsm._execution.reaper import (
    can_find_processes,
    kill_marked,
    remove_leftovers,
    remove_semaphores,
)
from sklearn_mvrsm._execution.resources import Resources
from sklearn_mvrsm._execution.watchdog import (
    MARK,
    signals_blocked,
    stood_still,
    watchdog,
)
from sklearn_mvrsm._joblib_compat import (
    children_allowed,
    close_result_writer,
    executor_process,
    executor_thread,
    kill_process_tree,
    one_worker_executor,
    report_death,
    take_over_semaphores,
)

__all__ = ["Spare", "WorkerProcess", "kill_all"]


_REAP_SECONDS, _REAP_TRIES = 5.0, 100
"""How long to wait for a killed process; one stuck in the kernel may never go."""

_NO_LEAK_CHECK = {"LOKY_MAX_MEMORY_LEAK_SIZE": str(10**18)}


class WorkerProcess:
    """A process, started at once; ``ready`` is done when its setup has run.

    Parameters
    ----------
    setup : bytes
        A task, made by `encode_task`.
    env : mapping
        Environment variables of the process, added to the caller's.
    lifeline : Connection
        Reading end of a pipe: the process ends itself when the other end is closed.
    """

    def __init__(
        self, setup: bytes, env: Mapping[str, str], lifeline: Connection
    ) -> None:
        self.started = time.monotonic() - stood_still()
        self._killed = False
        self._mark = watchdog().new_mark()
        marks = {MARK: os.environ.get(MARK, "") + self._mark}
        self._resources = Resources()
        arguments = (lifeline, os.getpid(), self._resources.writer)
        self._executor = one_worker_executor(
            enter_process, arguments, {**_NO_LEAK_CHECK, **env, **marks}
        )
        try:
            with children_allowed(), _interrupts_blocked():
                self.ready: Future[Answer] = self._executor.submit(set_up, setup)
        except BaseException:  # it may be there, without a thread that serves it
            kill_marked({self._mark.encode(): None})
            self._resources.close()
            raise
        close_result_writer(self._executor)
        self._process = executor_process(self._executor)
        self._thread = executor_thread(self._executor)
        if sys.platform == "linux":
            # once the process has opened them, their names can only be left over
            names = take_over_semaphores(self._executor)
            self.ready.add_done_callback(lambda _: remove_semaphores(names))

    def run(
        self, task: bytes, timeout: float | None, memory_limit: int | None
    ) -> "Future[Answer]":
        """Start a task.

        Parameters
        ----------
        task, timeout, memory_limit
            As in `run_encoded`.

        Returns
        -------
        Future
            Its exception is a ``BrokenProcessPool`` if the process died.

        Raises
        ------
        BrokenProcessPool
            If the process is known to be dead.
        """
        return self._executor.submit(run_encoded, task, timeout, memory_limit)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return not self.has_exited and not wait([self._process.sentinel], 0)

    @property
    def has_exited(self) -> bool:
        """Whether the process is gone, if not those that it forked."""
        return self._process.exitcode is not None

    @property
    def is_ready(self) -> bool:
        """Whether the process has been set up without fail."""
        return (
            self.ready.done()
            and self.ready.exception() is None
            and isinstance(self.ready.result().outcome, Returned)
        )

    def ends_within(self, seconds: float) -> bool:
        """Whether the process is gone by then; wait for that."""
        end = time.monotonic() + seconds
        while not self.has_exited and time.monotonic() < end:
            time.sleep(0.01)
        return self.has_exited

    def how_it_ended(self) -> str:
        """Name the exit code or the signal of a process that died."""
        self._process.join(1.0)
        code = self._process.exitcode
        if code is None:
            return "an unknown exit code"
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"

    def kill(self, *, just_died: bool = False) -> None:
        """Kill the process and those it started.

        Parameters
        ----------
        just_died : bool
            Whether a process that is gone already died a moment ago, so that its group
            is still its own. Its number may be another's later, and is left alone.
        """
        kill_all([self], just_died=just_died)

    def discard(self, *, just_died: bool = False) -> None:
        """Kill the process and those it started, and wait until it is gone.

        The executor finds its process dead, as after a crash. It is not shut down: if
        a task was submitted just before, that breaks its thread.

        Parameters
        ----------
        just_died : bool
            As in `kill`.
        """
        self.kill(just_died=just_died)
        for _ in range(_REAP_TRIES):
            if self.has_exited:
                report_death(self._executor, self._process)
                break
            self._process.join(_REAP_SECONDS / _REAP_TRIES)
        self._resources.close()

    def notice_death(self, *, just_died: bool) -> None:
        """Have the caller's thread learn that the process is gone, if it is.

        Left to itself the thread waits for the end of pipes that others may hold. For
        the parameter see `kill`.
        """
        if not self._killed and self.has_exited:
            self.discard(just_died=just_died)

    @property
    def is_served(self) -> bool:
        """Whether the caller's process still has a thread for a discarded one."""
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait until nothing in the caller's process serves a discarded one."""
        self._thread.join(_REAP_SECONDS)


def kill_all(workers: Iterable[WorkerProcess], *, just_died: bool = False) -> None:
    """Kill processes and those they started, in as little time as one.

    Parameters
    ----------
    workers : iterable of WorkerProcess
        Those that were killed before are left alone.
    just_died : bool
        As in `WorkerProcess.kill`.
    """
    workers = [worker for worker in workers if not worker._killed]
    for worker in workers:
        worker._killed = True
    pids = {  # without those that may be another's by now
        worker: None if worker.has_exited and not just_died else worker._process.pid
        for worker in workers
    }
    if os.name == "posix" and can_find_processes():
        roots = {worker._mark.encode(): pid for worker, pid in pids.items()}
        killed = kill_marked(roots)
        remove_leftovers(killed.union(filter(None, roots.values())))
        return
    for worker, pid in pids.items():
        if worker.is_alive:
            kill_process_tree(worker._process)
        if os.name == "posix" and pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let a process that is started here ignore Ctrl-C until it has its own group."""
    if os.name == "posix":
        resource_tracker.ensure_running()  # starting it would lift the block
    with signals_blocked({signal.SIGINT}):
        yield


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
