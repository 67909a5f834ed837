"""Every name of joblib and loky that is not public.

Each such name is a debt: it may move in any release. Importing them in one place means
that a move breaks one module, whose test names what moved.
"""

import contextlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from multiprocessing import util
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, cast

from joblib.parallel import (
    BatchedCalls,
    LokyBackend,
    MultiprocessingBackend,
    ParallelBackendBase,
    SequentialBackend,
    ThreadingBackend,
    get_active_backend,
)

__all__ = [
    "CloudPickler",
    "children_allowed",
    "close_result_writer",
    "cloudpickle_dumps",
    "executor_process",
    "executor_thread",
    "forbid_recycling",
    "is_local_backend",
    "kill_process_tree",
    "one_worker_executor",
    "redirect_tracker",
    "report_death",
    "submit_to_backend",
    "take_over_semaphores",
    "thread_limits",
]


try:
    from joblib.externals.loky import ProcessPoolExecutor, process_executor
    from joblib.externals.loky.backend import resource_tracker
    from joblib.externals.loky.backend.context import LokyContext
    from joblib.externals.loky.backend.synchronize import SemLock
    from joblib.externals.loky.backend.utils import kill_process_tree
    from joblib.externals.loky.cloudpickle_wrapper import dumps as cloudpickle_dumps
except ImportError:  # a joblib that no longer brings a copy of its own
    from loky import ProcessPoolExecutor, process_executor
    from loky.backend import resource_tracker
    from loky.backend.context import LokyContext
    from loky.backend.synchronize import SemLock
    from loky.backend.utils import kill_process_tree
    from loky.cloudpickle_wrapper import dumps as cloudpickle_dumps

# of joblib's copy of cloudpickle, or of cloudpickle itself since joblib 1.6
CloudPickler: Any = sys.modules[cloudpickle_dumps.__module__].CloudPickler

_allowing = threading.Lock()


def one_worker_executor(
    initializer: Callable[..., None],
    initargs: tuple[object, ...],
    env: Mapping[str, str],
) -> Executor:
    """Make a loky executor of one process, which starts with the first task.

    It calls ``initializer(*initargs)`` there before anything else, and adds ``env`` to
    the environment. It has a context of its own: the one registered under the name
    "loky" is another copy's where a program imports both copies of loky.
    """
    executor: Executor = ProcessPoolExecutor(
        max_workers=1,
        context=LokyContext(),
        initializer=initializer,
        initargs=initargs,
        env=dict(env),
    )
    return executor


def executor_process(executor: ProcessPoolExecutor) -> BaseProcess:
    """Return the process of a one-worker executor that has been given a task."""
    (process,) = executor._processes.values()
    assert isinstance(process, BaseProcess)
    return process


def executor_thread(executor: ProcessPoolExecutor) -> threading.Thread:
    """Return the thread of an executor that has been given a task."""
    thread = executor._executor_manager_thread
    assert isinstance(thread, threading.Thread)
    return thread


def close_result_writer(executor: ProcessPoolExecutor) -> None:
    """Close this process's writing end of the pipe for results, which it never uses.

    Else the thread of a one-worker executor that has begun to read a result waits for
    the rest for ever, should the worker be killed amid it.
    """
    executor._result_queue._writer.close()


def report_death(executor: ProcessPoolExecutor, process: BaseProcess) -> None:
    """Report to an executor's thread that its process is gone, whoever holds a pipe."""
    if os.name == "posix":
        reader, writer = os.pipe()
        os.close(writer)
        os.dup2(reader, process.sentinel, inheritable=False)
        os.close(reader)
        with executor._shutdown_lock:
            executor._executor_manager_thread_wakeup.wakeup()


def take_over_semaphores(executor: ProcessPoolExecutor) -> list[str]:
    """Return the semaphores of an executor, which loky then leaves to the caller."""
    holders = [executor, executor._call_queue, executor._result_queue]
    values = [
        x for y in (*holders, executor_process(executor)) for x in vars(y).values()
    ]
    names = [x._semlock.name for x in values if isinstance(x, SemLock)]
    for finalizer in list(cast(Any, util)._finalizer_registry.values()):
        if finalizer._callback is SemLock._cleanup and finalizer._args[0] in names:
            resource_tracker.unregister(*finalizer._args, "semlock")
            finalizer.cancel()
    return names


def forbid_recycling() -> None:
    """Keep loky, in this worker, from replacing it once it has grown by 300 MB."""
    process_executor._USE_PSUTIL = False


def redirect_tracker(
    file: int, module: ModuleType = resource_tracker, *, keep: bool = False
) -> None:
    """Redirect the resource tracker of a module, by default loky's, to a file.

    What it knew is left to the process that started this one. With ``keep`` it goes on
    as it does, unless it has no file to write to.
    """
    tracker = module._resource_tracker
    if tracker._fd is not None:
        if keep:
            return
        os.close(tracker._fd)
    tracker._fd, tracker._pid = os.dup(file), None


@contextlib.contextmanager
def children_allowed() -> Iterator[None]:
    """Allow a daemonic process of multiprocessing (a dask worker, say) start processes.

    The rule against it protects from orphans; ours end themselves with their parent.
    One thread at a time, or the first to end would forbid it to the others.
    """
    process: Any = multiprocessing.current_process()
    config = process._config  # ``daemon`` itself cannot be set once it has started
    with _allowing:
        daemon = config.pop("daemon", None)
        try:
            yield
        finally:
            if daemon is not None:
                config["daemon"] = daemon


def is_local_backend(backend: object) -> bool:
    """Return whether a backend is one of those that joblib has for one machine."""
    return type(backend) in (
        LokyBackend,
        MultiprocessingBackend,
        SequentialBackend,
        ThreadingBackend,
    )


def submit_to_backend(
    backend: ParallelBackendBase,
    nested: tuple[object, ...],
    call: tuple[Callable[..., object], tuple[object, ...], dict[str, object]],
    on_result: Callable[[Any], None],
    on_error: Callable[[BaseException], None],
) -> None:
    """Hand one call to a backend of joblib, as ``joblib.Parallel`` does.

    Parameters
    ----------
    backend : ParallelBackendBase
        It has been configured, by entering a ``Parallel``, and its call was started.
    nested : tuple
        What its ``get_nested_backend`` returned.
    call : tuple
        A function, its arguments and its keyword arguments.
    on_result, on_error : callable
        One of them is called, in any thread, with what the function returned, or with
        the reason for which there is nothing. An error may be reported twice.
    """

    def finish(out: Any) -> None:
        try:
            if backend.supports_retrieve_callback:
                out = backend.retrieve_result_callback(out)
            if isinstance(out, BaseException):
                raise out
            (result,) = out
        except BaseException as error:
            on_error(error)
        else:
            on_result(result)

    def look_for_error(future: Future[object]) -> None:
        # Backends like dask's report here, and only here, that a call is given up.
        error = None if future.cancelled() else future.exception()
        if error is not None:
            on_error(error)

    inherited = getattr(ParallelBackendBase, "submit", None)  # joblib >= 1.5
    of_its_own = getattr(type(backend), "submit", inherited) is not inherited
    submit = backend.submit if of_its_own else backend.apply_async
    job = submit(BatchedCalls([call], nested), finish)
    if isinstance(job, Future):
        job.add_done_callback(look_for_error)


def thread_limits(n_slots: int, asked_for: int = 1) -> dict[str, str]:
    """Return environment variables that keep slots from sharing cores, as joblib does.

    Parameters
    ----------
    n_slots : int
        Fits at a time.
    asked_for : int
        Threads that OpenMP must have at least, see `threads_asked_for`.

    Returns
    -------
    dict of str to str
        The number of threads of the common numerical libraries: joblib's
        ``inner_max_num_threads``, else what the user's own environment says, else the
        cores by the slots.
    """
    backend, _ = get_active_backend()
    chosen = getattr(backend, "inner_max_num_threads", None)
    loky = LokyBackend(inner_max_num_threads=chosen)
    limits: dict[str, str] = loky._prepare_worker_env(n_slots)
    openmp = "OMP_NUM_THREADS"
    if chosen is None and openmp not in os.environ:
        limits[openmp] = str(max(int(limits[openmp]), asked_for))
    return limits
