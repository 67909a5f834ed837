"""Other machines, as dask, ray or joblib know them: where functions can be run.

The joblib backend in force says where that is. Functions are then handed over one by
one. ``joblib.Parallel`` would only take a stream of them, which stands still while
nothing waits in it, and which a lost machine can stop for good. Dask and ray are asked
directly: joblib's backend for the one keeps errors to itself, that for the other deals
functions out in turn, to busy machines too. Any other backend is given functions in the
way in which `Parallel` does it, the contract that all of them keep.

A function learns over there whether anybody still waits for it, and whether the search
goes on (`Liveness`). Dask and ray know both by themselves: each drops what was asked
for by a program that is gone. So the search opens no port of its own.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

import joblib
from joblib.parallel import ParallelBackendBase, get_active_backend

from sklearn_mvrsm._compat.joblib import is_local_backend, submit_to_backend

_RPC_TIMEOUT = 5.0
"""Seconds to wait for the answer of dask's scheduler."""

_POLL_SECONDS = 0.1
"""Seconds between checks whether ray has interrupted a task."""

OnDone = Callable[["Any | Lost"], None]


@dataclass(frozen=True)
class Lost:
    """A function of which no result will come, because of ``error``."""

    error: BaseException


class Liveness(Protocol):
    """What a process of a cluster can learn of its task and of the search."""

    def is_cancelled(self) -> bool:
        """Return whether nobody waits for the task any more."""

    def is_over(self) -> bool | None:
        """Return whether the search has ended or was killed; None if unknown."""


class Cluster(Protocol):
    """A place where functions can be run, each in one slot."""

    n_slots: int

    def open(self) -> None:
        """Make ready; in the thread of the caller."""

    def share(self, data: object) -> object:
        """Return what to give to functions instead of a large array: it goes once."""

    def submit(
        self, fn: Callable[..., object], args: tuple[object, ...], on_done: OnDone
    ) -> object:
        """Run a function on a `Liveness` and ``args``; return a handle to cancel it.

        ``on_done`` is called with its result, in any thread.
        """

    def cancel(self, handle: object) -> None:
        """Drop a function that waits; tell one that runs, by its `Liveness`."""

    def close(self) -> None:
        """Cancel all functions, and tell everybody there that the search is over."""


def active_cluster(n_jobs: int | None) -> Cluster | None:
    """Return where fits are to run, by the joblib backend in force.

    Parameters
    ----------
    n_jobs : int or None
        Fits at a time: no more than so many; negative numbers count from the number of
        slots of the cluster, and None is all of them, unless the backend was put in
        force with a number.

    Returns
    -------
    Cluster or None
        None for a backend of this machine, and for ``n_jobs=1``: then everything runs
        on this machine.
    """
    backend, default = get_active_backend()
    wanted = default if n_jobs is None else n_jobs
    if is_local_backend(backend) or wanted == 1:
        return None
    kinds: dict[str, Callable[[ParallelBackendBase, int], Cluster]] = {
        "DaskDistributedBackend": DaskCluster,
        "RayBackend": RayCluster,
    }
    kind = kinds.get(type(backend).__name__, BackendCluster)
    return kind(backend, -1 if wanted is None else wanted)


def _n_slots(total: int, wanted: int) -> int:
    """Read ``n_jobs`` as joblib does, but never as more than there are."""
    if wanted == 0:
        raise ValueError("'n_jobs' must not be 0")
    return min(wanted, max(total, 1)) if wanted > 0 else max(total + 1 + wanted, 1)


class Unwatched:
    """Of a backend that can be asked about neither task nor search."""

    def is_cancelled(self) -> bool:
        """Return False: nobody can say."""
        return False

    def is_over(self) -> None:
        """Return None: nobody can say."""


class BackendCluster:
    """What any joblib backend reaches.

    Parameters
    ----------
    backend : joblib.parallel.ParallelBackendBase
        The one in force.
    n_jobs : int
        As for `active_cluster`.
    """

    def __init__(self, backend: ParallelBackendBase, n_jobs: int) -> None:
        self._backend = backend
        self.n_slots = _n_slots(backend.effective_n_jobs(-1), n_jobs)
        self._resources = contextlib.ExitStack()

    def open(self) -> None:
        """Configure the backend, as ``Parallel`` does."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._backend.retrieval_context())
            stack.enter_context(joblib.Parallel(n_jobs=self.n_slots))
            self._backend.start_call()
            stack.callback(self._backend.stop_call)
            stack.callback(self._backend.abort_everything, ensure_ready=False)
            self._nested = self._backend.get_nested_backend()
            self._resources = stack.pop_all()

    def share(self, data: object) -> object:
        """Return the data: they go with each function that needs them."""
        return data

    def submit(
        self, fn: Callable[..., object], args: tuple[object, ...], on_done: OnDone
    ) -> None:
        """Run a function. See `Cluster.submit`."""
        submit_to_backend(
            self._backend,
            self._nested,
            (fn, (Unwatched(), *args), {}),
            on_done,
            lambda error: on_done(Lost(error)),
        )

    def cancel(self, handle: object) -> None:
        """Do nothing: not every backend can."""

    def close(self) -> None:
        """Release the backend, which ends what still runs if it can."""
        self._resources.close()


class DaskLiveness:
    """Of the task of dask that this thread runs.

    The scheduler forgets a key once no client wants it, and takes it from the worker.
    A client wants its keys until it cancels them or is gone.

    Parameters
    ----------
    marker : str
        The key that the client wants as long as the search goes on.
    """

    def __init__(self, marker: str) -> None:
        from distributed import get_worker

        self._worker = get_worker()
        self._key = self._worker.get_current_task()
        self._marker = marker

    def is_cancelled(self) -> bool:
        """Return whether the worker was told to forget the task, or closes."""
        task = self._worker.state.tasks.get(self._key)
        state = None if task is None else task.state
        return state not in ("executing", "long-running") or self._is_closing()

    def is_over(self) -> bool | None:
        """Ask the scheduler for the marker; None if it does not answer."""
        from distributed.utils import sync

        worker = self._worker
        try:
            found = sync(
                worker.loop,
                worker.scheduler.get_task_status,
                keys=[self._marker],
                callback_timeout=_RPC_TIMEOUT,
            )
        except Exception:
            return True if self._is_closing() else None
        return found[self._marker] is None

    def _is_closing(self) -> bool:
        return self._worker.status.name in ("closing", "closed", "failed")


def _run_on_dask(marker: str, fn: Callable[..., object], *args: object) -> object:
    return fn(DaskLiveness(marker), *args)


class DaskCluster:
    """A cluster of dask, asked through the client of the joblib backend.

    Parameters
    ----------
    backend : DaskDistributedBackend
        The one in force; its ``submit_kwargs`` hold here too.
    n_jobs : int
        As for `active_cluster`.
    """

    def __init__(self, backend: ParallelBackendBase, n_jobs: int) -> None:
        self._backend = backend
        self._client = backend.client
        self.n_slots = _n_slots(backend.effective_n_jobs(-1), n_jobs)
        self._marker: Any = None
        self._running: set[Any] = set()
        self._resources = contextlib.ExitStack()

    def open(self) -> None:
        """Release the slot of the caller, if it runs in a task of the cluster."""
        self._resources.enter_context(self._backend.retrieval_context())

    def share(self, data: object) -> object:
        """Send an array to a process of the cluster, from which others read it.

        Where there is none, wait until one joins, as the tasks of dask do.
        """
        while True:
            self._check()
            with contextlib.suppress(TimeoutError):
                return self._client.scatter(data, hash=False)

    def submit(
        self, fn: Callable[..., object], args: tuple[object, ...], on_done: OnDone
    ) -> object:
        """Run a function. See `Cluster.submit`."""
        self._check()
        if self._marker is None or self._marker.cancelled():  # by a lost connection
            self._marker = self._client.submit(int, pure=False)
        options = {"pure": False, **self._backend.submit_kwargs}
        call = (_run_on_dask, self._marker.key, fn, *args)
        future = self._client.submit(*call, **options)
        self._running.add(future)

        def finish(future: "Future[object]") -> None:
            self._running.discard(future)
            try:
                result = future.result()
            except BaseException as error:  # what a cancelled one raises, too
                result = Lost(error)
            on_done(result)

        future.add_done_callback(finish)
        return future

    def cancel(self, handle: object) -> None:
        """Cancel a function in the scheduler. See `Cluster.cancel`."""
        with contextlib.suppress(Exception):  # the cluster may be gone
            self._client.cancel([handle], force=True)

    def close(self) -> None:
        """Cancel the marker, and all functions, in the scheduler."""
        marker = [] if self._marker is None else [self._marker]
        # in any case, though interrupted; and the cluster may be gone
        with self._resources, contextlib.suppress(Exception):
            self._client.cancel([*marker, *self._running], force=True)
        self._marker = None
        self._running.clear()

    def _check(self) -> None:
        if self._client.status in ("closing", "closed"):
            raise ConnectionError("the client of the cluster is closed")


class RayLiveness:
    """Of a task of ray.

    Parameters
    ----------
    interrupted : threading.Event
        Set once ray has interrupted the task.
    markers : list of ObjectRef
        One, of a task that goes on until the search ends or is gone.
    """

    def __init__(self, interrupted: threading.Event, markers: list[object]) -> None:
        self._interrupted = interrupted
        self._markers = markers

    def is_cancelled(self) -> bool:
        """Return whether the task was interrupted."""
        return self._interrupted.is_set()

    def is_over(self) -> bool:
        """Return whether the task of the marker has ended."""
        import ray

        try:
            return bool(ray.wait(self._markers, timeout=0)[0])
        except Exception:  # ray itself has ended here
            return True


def _run_on_ray(
    markers: list[object], fn: Callable[..., object], *args: object
) -> object:
    """Run a function in a thread, and watch in this one, which ray interrupts."""
    interrupted = threading.Event()
    liveness = RayLiveness(interrupted, markers)
    future: Future[object] | None = None
    with ThreadPoolExecutor(1) as executor:
        while future is None or not future.done():
            try:
                if future is None:
                    future = executor.submit(fn, liveness, *args)
                wait([future], _POLL_SECONDS)
            except KeyboardInterrupt:
                interrupted.set()
                if future is None:  # it may have been submitted all the same
                    raise
    return future.result()


def _sleep() -> None:
    """Mark a search as alive."""
    while True:
        time.sleep(1.0)


class RayCluster:
    """A cluster of ray, asked for tasks of its own kind.

    Parameters
    ----------
    backend : RayBackend
        The one in force; its ``ray_remote_args`` hold here too.
    n_jobs : int
        As for `active_cluster`.
    """

    def __init__(self, backend: ParallelBackendBase, n_jobs: int) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        self._options = {"num_cpus": 1, **(backend.ray_remote_args or {})}
        cluster_resources: Any = ray.cluster_resources  # untyped
        cores = cluster_resources().get("CPU", 1)
        total = int(cores / (self._options["num_cpus"] or 1))
        self.n_slots = _n_slots(max(total, 1), n_jobs)
        self._task_of = functools.cache(ray.remote)
        self._markers: list[Any] = []
        self._running: set[Any] = set()

    def open(self) -> None:
        """Start the task that marks the search as alive; it takes no slot."""
        marker = self._task_of(_sleep).options(num_cpus=0, max_retries=-1)
        self._markers = [marker.remote()]

    def share(self, data: object) -> object:
        """Put an array in ray's object store."""
        import ray

        return ray.put(data)

    def submit(
        self, fn: Callable[..., object], args: tuple[object, ...], on_done: OnDone
    ) -> object:
        """Run a function. See `Cluster.submit`."""
        task = self._task_of(_run_on_ray).options(**self._options)
        reference = task.remote(self._markers, fn, *args)
        self._running.add(reference)

        def finish(future: "Future[object]") -> None:
            self._running.discard(reference)
            error = future.exception()
            on_done(future.result() if error is None else Lost(error))

        reference.future().add_done_callback(finish)
        return reference

    def cancel(self, handle: object) -> None:
        """Interrupt a function through ray. See `Cluster.cancel`."""
        import ray

        with contextlib.suppress(Exception):  # ray may be gone
            ray.cancel(handle)

    def close(self) -> None:
        """Interrupt the marker and all functions through ray."""
        for handle in [*self._markers, *self._running]:
            self.cancel(handle)
        self._markers = []
        self._running.clear()
