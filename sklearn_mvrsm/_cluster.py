"""Other machines, as dask, ray or joblib know them: where functions can be run.

The joblib backend in force says where that is. Functions are then handed over one by
one. ``joblib.Parallel`` would only take a stream of them, which stands still while
nothing waits in it, and which a lost machine can stop for good. Dask and ray are asked
directly: joblib's backend for the one keeps errors to itself, that for the other deals
functions out in turn, to busy machines too. Any other backend is given functions in the
way in which `Parallel` does it, the contract that all of them keep.
"""

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import joblib
from joblib.parallel import get_active_backend

from sklearn_mvrsm._sklearn_compat import is_local_backend, submit_to_backend

OnDone = Callable[["Any | Lost"], None]


@dataclass(frozen=True)
class Lost:
    """A function of which no result will come, because of ``error``."""

    error: BaseException


class Cluster(Protocol):
    """A place where functions can be run, each in one slot."""

    n_slots: int

    def open(self) -> None:
        """Make ready; in the thread of the caller."""

    def share(self, data: Any) -> Any:
        """Return what to give to functions instead of a large array: it goes once."""

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], on_done: OnDone
    ) -> None:
        """Run a function; ``on_done`` is called with its result, in any thread."""

    def close(self) -> None:
        """Let go of it; functions that still run are given up."""


def active_cluster(n_jobs: int | None) -> Cluster | None:
    """Look up where fits are to run, by the joblib backend in force.

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
    kinds: dict[str, Callable[[Any, int], Cluster]] = {
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


class BackendCluster:
    """What any joblib backend reaches.

    Parameters
    ----------
    backend : joblib.parallel.ParallelBackendBase
        The one in force.
    n_jobs : int
        As for `active_cluster`.
    """

    def __init__(self, backend: Any, n_jobs: int) -> None:
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

    def share(self, data: Any) -> Any:
        """Return the data: they go with each function that needs them."""
        return data

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], on_done: OnDone
    ) -> None:
        """Run a function; ``on_done`` is called with its result, in any thread."""
        submit_to_backend(
            self._backend,
            self._nested,
            (fn, args, {}),
            on_done,
            lambda error: on_done(Lost(error)),
        )

    def close(self) -> None:
        """Let go of the backend; functions that still run are given up."""
        self._resources.close()


class DaskCluster:
    """A cluster of dask, asked through the client of the joblib backend.

    Parameters
    ----------
    backend : DaskDistributedBackend
        The one in force; its ``submit_kwargs`` hold here too.
    n_jobs : int
        As for `active_cluster`.
    """

    def __init__(self, backend: Any, n_jobs: int) -> None:
        self._backend = backend
        self._client = backend.client
        self.n_slots = _n_slots(backend.effective_n_jobs(-1), n_jobs)
        self._running: set[Any] = set()
        self._resources = contextlib.ExitStack()

    def open(self) -> None:
        """Give up the slot of the caller, if it runs in a task of the cluster."""
        self._resources.enter_context(self._backend.retrieval_context())

    def share(self, data: Any) -> Any:
        """Give an array to a process of the cluster, from which others take it."""
        self._check()
        return self._client.scatter(data, hash=False)

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], on_done: OnDone
    ) -> None:
        """Run a function; ``on_done`` is called with its result, in any thread."""
        self._check()
        options = {"pure": False, **self._backend.submit_kwargs}
        future = self._client.submit(fn, *args, **options)
        self._running.add(future)

        def finish(future: Any) -> None:
            self._running.discard(future)
            try:
                result = future.result()
            except (
                BaseException
            ) as error:  # a cancelled one raises what is no Exception
                result = Lost(error)
            on_done(result)

        future.add_done_callback(finish)

    def close(self) -> None:
        """Take back functions that have not begun, and forget those that run."""
        with contextlib.suppress(Exception):  # the cluster may be gone
            self._client.cancel(list(self._running), force=True)
        self._running.clear()
        self._resources.close()

    def _check(self) -> None:
        if self._client.status in ("closing", "closed"):
            raise ConnectionError("the client of the cluster is closed")


class RayCluster:
    """A cluster of ray, asked for tasks of its own kind.

    Parameters
    ----------
    backend : RayBackend
        The one in force; its ``ray_remote_args`` hold here too.
    n_jobs : int
        As for `active_cluster`.
    """

    def __init__(self, backend: Any, n_jobs: int) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        self._options = {"num_cpus": 1, **(backend.ray_remote_args or {})}
        cluster_resources: Any = ray.cluster_resources  # untyped
        cores = cluster_resources().get("CPU", 1)
        total = int(cores / (self._options["num_cpus"] or 1))
        self.n_slots = _n_slots(max(total, 1), n_jobs)
        self._task_of = functools.cache(ray.remote)
        self._running: set[Any] = set()

    def open(self) -> None:
        """Do nothing: ray is there."""

    def share(self, data: Any) -> Any:
        """Put an array in ray's object store."""
        import ray

        return ray.put(data)

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], on_done: OnDone
    ) -> None:
        """Run a function; ``on_done`` is called with its result, in any thread."""
        task = self._task_of(fn).options(**self._options).remote(*args)
        self._running.add(task)

        def finish(future: Any) -> None:
            self._running.discard(task)
            error = future.exception()
            on_done(future.result() if error is None else Lost(error))

        task.future().add_done_callback(finish)

    def close(self) -> None:
        """Give up functions that still run; ray ends their processes."""
        import ray

        for task in list(self._running):
            with contextlib.suppress(Exception):  # ray may be gone
                ray.cancel(task, force=True)
        self._running.clear()
