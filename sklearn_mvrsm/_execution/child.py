"""The other side of a process: its watch over the caller, and how it runs a task.

Everything travels as bytes made with cloudpickle, and is read where a failure can be
told from a broken process: an exception that does not survive pickling, or a result
that does not, becomes text, and the process goes on.

A process never outlives its caller: it watches a pipe that ends with the caller, and
then kills its own group.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from sklearn_mvrsm._compat.joblib import cloudpickle_dumps, forbid_recycling
from sklearn_mvrsm._execution.outcomes import (
    OutOfMemory,
    Raised,
    Returned,
    attempt,
    to_outcome,
)
from sklearn_mvrsm._execution.reaper import kill_marked, remove_leftovers
from sklearn_mvrsm._execution.resources import report_resources
from sklearn_mvrsm._execution.watchdog import MARK, start_reaper

GRACE = 5.0
"""Seconds past its limit after which a process that nobody stopped ends itself."""

_WATCH_SECONDS = 5.0
"""How often a process checks that its parent is the one that started it."""

_MAX_ALARM = 1e8
_MAX_EXCEPTION_BYTES = 1_000_000


@dataclass(frozen=True)
class WorkerMessage:
    """What a process sends back: an outcome whose object, if any, travels as bytes."""

    outcome: Returned | Raised | OutOfMemory
    blob: bytes | None
    elapsed: float


def enter_process(
    lifeline: Connection, parent: int, resources: Connection | None
) -> None:
    """Start this process's own group and its watch; called before anything else."""
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
    if resources is not None:
        report_resources(resources.fileno())
        _kept.append(resources)
    threading.Thread(
        target=_watch_parent, args=(lifeline, parent), name="watch-parent", daemon=True
    ).start()


_kept: list[Connection] = []
"""What would be closed if nobody held it."""


def _watch_parent(lifeline: Connection, parent: int) -> None:
    """End this process and what it started as soon as the parent is gone."""
    pipe = _file_of(lifeline)
    environment = dict(os.environ)  # now: later a fit may write to it meanwhile
    outer, end, mark = environment.get(MARK, "").removesuffix(";").rpartition(";")
    environment[MARK] = outer + end
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
            gone = kill_marked(roots)
            remove_leftovers(gone | ({parent} - {os.getppid()}))
            if mark:  # what this process has shared by name can go when it is gone
                start_reaper(f"{mark};", environment)
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


def encode_task(fn: Callable[..., object], args: tuple[object, ...]) -> bytes:
    """Pickle a task, lambdas and classes of ``__main__`` included."""
    blob: bytes = cloudpickle_dumps((fn, args), protocol=pickle.HIGHEST_PROTOCOL)
    return blob


def set_up(task: bytes) -> WorkerMessage:
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
    WorkerMessage
        As of any other task, but without what the setup returned: that stays here.
    """
    outcome, elapsed = _run(task, None)
    if isinstance(outcome, Returned):
        outcome = Returned(None)
    gc.collect()
    gc.freeze()
    return _encode(outcome, elapsed)


def run_encoded(
    task: bytes, timeout: float | None, memory_limit: int | None
) -> WorkerMessage:
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
    WorkerMessage
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
        outcome = to_outcome(error)
    return outcome, time.monotonic() - start


def decode(answer: WorkerMessage) -> Returned | Raised | OutOfMemory:
    """Restore the outcome that a worker sent.

    Parameters
    ----------
    answer : WorkerMessage
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


def _encode(outcome: Returned | Raised | OutOfMemory, elapsed: float) -> WorkerMessage:
    match outcome:
        case Returned(value):
            dumped = attempt(cloudpickle_dumps, (value,))
            if isinstance(dumped, Returned):
                return WorkerMessage(Returned(None), dumped.value, elapsed)
            return _encode(dumped, elapsed)
        case Raised(exception=BaseException() as error):
            return WorkerMessage(
                replace(outcome, exception=None), pickled_exception(error), elapsed
            )
    return WorkerMessage(outcome, None, elapsed)


def pickled_exception(error: BaseException) -> bytes | None:
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
