"""The caller's side of a process: started, given tasks, killed with all it has started.

Spare processes stand by for the slots that lose their own. A process costs seconds of
CPU time to start and holds as much memory as a worker, so there is none in reserve
while nothing suggests that it will be needed: until a worker was lost, one is started
shortly before a running task comes to its deadline. From then on there always is one,
and as many as tasks come to their deadlines together. Where tasks are killed without
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

from sklearn_mvrsm._compat.joblib import (
    children_allowed,
    close_result_writer,
    executor_process,
    executor_thread,
    kill_process_tree,
    one_worker_executor,
    report_death,
    take_over_semaphores,
)
from sklearn_mvrsm._execution.child import (
    WorkerMessage,
    enter_process,
    run_encoded,
    set_up,
)
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
    suspended_seconds,
    watchdog,
)

__all__ = ["LEAD", "Spare", "WorkerProcess", "kill_all"]


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
        self.started = time.monotonic() - suspended_seconds()
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
                self.ready: Future[WorkerMessage] = self._executor.submit(set_up, setup)
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
    ) -> "Future[WorkerMessage]":
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
        """Return whether the process is gone by then; wait for that."""
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
        """Report to the caller's thread that the process is gone, if it is.

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
    """Block Ctrl-C in a process that is started here until it has its own group."""
    if os.name == "posix":
        resource_tracker.ensure_running()  # starting it would lift the block
    with signals_blocked({signal.SIGINT}):
        yield


LEAD = 3.0  # how long before a deadline, in units of what a worker took to start


class Spare:
    """Workers in reserve, and whether there should be more.

    Parameters
    ----------
    allowed : bool
        Whether there is ever to be one.
    always : bool
        Whether a worker may be lost at any time, and not at a deadline only.

    Attributes
    ----------
    workers : list of WorkerProcess
        They may have died since they were put here.
    """

    def __init__(self, *, allowed: bool, always: bool) -> None:
        self.workers: list[WorkerProcess] = []
        self._allowed = allowed
        self._always = always
        self._has_lost = False
        self._failed = False

    @property
    def is_ready(self) -> bool:
        """Whether one could take over at once."""
        return any(worker.is_ready for worker in self.workers)

    def due(self, deadlines: Iterable[float], start_seconds: float) -> float:
        """Return when to start one more; infinity if there are enough.

        Parameters
        ----------
        deadlines : iterable of float
            Of the tasks that run; infinity for one without.
        start_seconds : float
            What a worker took to start.
        """
        n = len(self.workers)
        if not self._allowed or self._failed or (n > 0 and not self._has_lost):
            return math.inf
        if n == 0 and (self._always or self._has_lost):
            return -math.inf
        ends = sorted(deadlines)
        return ends[n] - LEAD * start_seconds if n < len(ends) else math.inf

    def take(self) -> WorkerProcess | None:
        """Return one that is ready, if any, as a worker was lost."""
        self._has_lost, self._failed = True, False
        self.workers.sort(key=lambda worker: worker.is_ready)
        return self.workers.pop() if self.workers else None

    def give_up(self, worker: WorkerProcess | None = None) -> None:
        """Do without one that could not be started, until the next worker is lost."""
        if worker is not None:
            self.workers.remove(worker)
        self._failed = True
