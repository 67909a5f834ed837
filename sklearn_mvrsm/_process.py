"""One process that runs a task at a time and can be killed with all it has started.

The first half is what the caller holds, the second what runs in the process. Between
them everything travels as bytes made with cloudpickle, and is read where a failure can
be told from a broken process: an exception that does not survive pickling, or a result
that does not, becomes text, and the process goes on.

A process never outlives its caller: it watches a pipe that ends with the caller, and
then kills all that it has started, and itself. Where it cannot watch, because a fit
holds Python's lock, the caller's `Watchdog` does it.
"""

import contextlib
import ctypes
import faulthandler
import gc
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from sklearn_mvrsm._outcomes import OutOfMemory, Raised, Returned, attempt, describe
from sklearn_mvrsm._reaper import (
    can_find_processes,
    kill_marked,
    remove_leftovers,
    remove_semaphores,
)
from sklearn_mvrsm._sklearn_compat import (
    children_allowed,
    close_result_writer,
    cloudpickle_dumps,
    executor_process,
    executor_thread,
    forbid_recycling,
    kill_process_tree,
    one_worker_executor,
    report_death,
    take_over_semaphores,
)
from sklearn_mvrsm._watchdog import MARK, signals_blocked, stood_still, watchdog

GRACE = 5.0
"""Seconds past its limit after which a process that nobody stopped ends itself."""

_WATCH_SECONDS = 5.0
"""How often a process checks that its parent is the one that started it."""

_REAP_SECONDS, _REAP_TRIES = 5.0, 100
"""How long to wait for a killed process; one stuck in the kernel may never go."""

_MAX_ALARM = 1e8
_MAX_EXCEPTION_BYTES = 1_000_000
_NO_LEAK_CHECK = {"LOKY_MAX_MEMORY_LEAK_SIZE": str(10**18)}


@dataclass(frozen=True)
class Answer:
    """What a process sends back: an outcome whose object, if any, travels as bytes."""

    outcome: Returned | Raised | OutOfMemory
    blob: bytes | None
    elapsed: float


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
        self._executor = one_worker_executor(
            _enter_process, (lifeline, os.getpid()), {**_NO_LEAK_CHECK, **env, **marks}
        )
        try:
            with children_allowed(), _interrupts_blocked():
                self.ready: Future[Answer] = self._executor.submit(set_up, setup)
        except BaseException:  # it may be there, without a thread that serves it
            kill_marked({self._mark.encode(): None})
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
                return
            self._process.join(_REAP_SECONDS / _REAP_TRIES)

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


def _enter_process(lifeline: Connection, parent: int) -> None:
    """Give this process its group and its watch: the first thing that it does."""
    if os.name == "posix":
        os.setpgid(0, 0)
        for number in (signal.SIGTTIN, signal.SIGTTOU):  # they would stop it for ever
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # forget what came until now
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "linux":
        # what loses its parent becomes a child of this process, and can be found
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    forbid_recycling()
    threading.Thread(
        target=_watch_parent, args=(lifeline, parent), name="watch-parent", daemon=True
    ).start()


def _watch_parent(lifeline: Connection, parent: int) -> None:
    """End this process and what it started as soon as the parent is gone."""
    pipe = _file_of(lifeline)
    mark = os.environ.get(MARK, "").rpartition(";")[0].rpartition(";")[2]
    try:
        while os.getppid() == parent:
            if lifeline.poll(_WATCH_SECONDS):
                if _file_of(lifeline) == pipe:
                    break
                time.sleep(_WATCH_SECONDS)  # a task has closed it: its number tells not
    finally:
        with contextlib.suppress(Exception):
            sys.setswitchinterval(1e-6)  # or a fit would keep this thread waiting
            roots = {f"{mark};".encode(): os.getpid()} if mark else {}
            gone = {os.getpid(), *kill_marked(roots)}
            remove_leftovers(gone | ({parent} - {os.getppid()}))
        if os.name == "posix":
            os.killpg(0, signal.SIGKILL)
        else:
            os.kill(os.getpid(), signal.SIGTERM)


def _file_of(connection: Connection) -> tuple[int, int] | None:
    """Return what tells a connection's file from others; None if it is closed."""
    if os.name != "posix":
        return (0, connection.fileno())
    try:
        status = os.fstat(connection.fileno())
    except OSError:
        return None
    return status.st_dev, status.st_ino


def encode_task(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Pickle a task, lambdas and classes of ``__main__`` included."""
    blob: bytes = cloudpickle_dumps((fn, args), protocol=pickle.HIGHEST_PROTOCOL)
    return blob


def set_up(task: bytes) -> Answer:
    """Run the setup of this process.

    What it leaves behind (modules, the data) is put out of the garbage collector's
    sight: loky collects after a task, once a second, and the next task would wait for
    it, 0.1 s with scikit-learn imported.

    Parameters
    ----------
    task : bytes
        Made by `encode_task`.

    Returns
    -------
    Answer
        As of any other task, but without what the setup returned: that stays here.
    """
    outcome, elapsed = _run(task, None)
    if isinstance(outcome, Returned):
        outcome = Returned(None)
    gc.collect()
    gc.freeze()
    return _encode(outcome, elapsed)


def run_encoded(task: bytes, timeout: float | None, memory_limit: int | None) -> Answer:
    """Run a task in a worker.

    Parameters
    ----------
    task : bytes
        Made by `encode_task`.
    timeout : float or None
        Seconds. Stopping the task in time is the parent's job; this process ends
        itself `GRACE` seconds later if the parent does not.
    memory_limit : int or None
        As in `attempt`.

    Returns
    -------
    Answer
        It can be pickled whatever the task returned or raised.
    """
    with _last_resort(timeout):
        return _encode(*_run(task, memory_limit))


def _run(
    task: bytes, memory_limit: int | None
) -> tuple[Returned | Raised | OutOfMemory, float]:
    """Run a task; return what became of it, and the seconds that it took."""
    start = time.monotonic()
    try:
        outcome = attempt(pickle.loads, (task,))
        if isinstance(outcome, Returned):
            fn, args = outcome.value
            outcome = attempt(fn, args, memory_limit)
    except KeyboardInterrupt as error:  # of the task's own: nobody's Ctrl-C gets here
        outcome = describe(error)
    return outcome, time.monotonic() - start


def decode(answer: Answer) -> Returned | Raised | OutOfMemory:
    """Restore the outcome that a worker sent.

    Parameters
    ----------
    answer : Answer
        Made by `run_encoded`.

    Returns
    -------
    Returned, Raised or OutOfMemory
        Raised too where the value cannot be restored here.
    """
    outcome = answer.outcome
    if answer.blob is None:
        return outcome
    loaded = attempt(pickle.loads, (answer.blob,))
    if isinstance(outcome, Raised):
        if isinstance(loaded, Returned) and isinstance(loaded.value, BaseException):
            return replace(outcome, exception=loaded.value)
        return outcome
    return loaded


def _encode(outcome: Returned | Raised | OutOfMemory, elapsed: float) -> Answer:
    match outcome:
        case Returned(value):
            dumped = attempt(cloudpickle_dumps, (value,))
            if isinstance(dumped, Returned):
                return Answer(Returned(None), dumped.value, elapsed)
            return _encode(dumped, elapsed)
        case Raised(exception=BaseException() as error):
            return Answer(replace(outcome, exception=None), portable(error), elapsed)
    return Answer(outcome, None, elapsed)


def portable(error: BaseException) -> bytes | None:
    """Pickle an exception.

    Parameters
    ----------
    error : BaseException
        It may refuse.

    Returns
    -------
    bytes or None
        None where it does not come back as what it was.
    """
    dumped = attempt(cloudpickle_dumps, (error,))
    if not isinstance(dumped, Returned) or len(dumped.value) > _MAX_EXCEPTION_BYTES:
        return None
    loaded = attempt(pickle.loads, (dumped.value,))
    if isinstance(loaded, Returned) and type(loaded.value) is type(error):
        blob: bytes = dumped.value
        return blob
    return None


@contextlib.contextmanager
def _last_resort(timeout: float | None) -> Iterator[None]:
    """End this process at its limit plus the grace, from C, whoever holds the GIL."""
    if timeout is None:
        yield
        return
    seconds = min(timeout + GRACE, _MAX_ALARM)
    faulthandler.dump_traceback_later(seconds, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
