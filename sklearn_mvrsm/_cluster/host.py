"""State that a cluster worker keeps for one search: the data, and children.

Each task of the cluster runs its fit in a child that can be killed, so that no fit can
hurt the process of the cluster. A child stays for the next task, and all of it until
the search is over; where that cannot be known, until it was not used for a while.
"""

import contextlib
import math
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.util import Finalize

import joblib
import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._cluster.backends import Liveness
from sklearn_mvrsm._compat.joblib import thread_limits
from sklearn_mvrsm._execution import (
    Outcome,
    PayloadCopy,
    Raised,
    TaskEnd,
    WorkerPool,
    encode_task,
    run_encoded,
    to_outcome,
)

IDLE_SECONDS = 60.0
"""After so long without a task a host closes that cannot know if the search is over."""

_WATCH_SECONDS = 1.0
"""How often a host that is idle asks whether the search is over."""

_CLOSE_TIMEOUT = 5.0
"""How long the end of a host waits for that of the tasks that run."""

_POLL_SECONDS = 0.1
"""Seconds between checks whether a running task is still wanted."""


Data = npt.NDArray[np.uint8]

_TASK_ID = 0
"""Names the task of a pool, which has one at a time."""


@dataclass(frozen=True)
class HostConfig:
    """What a host must know of a search; it goes with every task, and is small.

    Attributes
    ----------
    key : str
        Names the search.
    setup : callable
        Called once in each child, with the path of the data.
    memory_limit : int or None
        Bytes for one fit.
    n_threads : int
        Threads that a fit was told to use.
    """

    key: str
    setup: Callable[[str], object]
    memory_limit: int | None
    n_threads: int = 1


@dataclass(frozen=True)
class HostReply:
    """What a task of the cluster sends back: plain data.

    Attributes
    ----------
    place : str
        Where it ran: a child's slot in a process on a machine.
    outcome : Outcome or None
        What became of the task, what it returned or raised as a `WorkerMessage`. None
        if it was not run.
    elapsed : float
        Seconds in the child. Of a task that was given up: until it was killed.
    problem : str
        Why no task can be run here; empty if they can.
    """

    place: str
    outcome: Outcome | None = None
    elapsed: float = 0.0
    problem: str = ""


def run_on_host(
    liveness: Liveness,
    config: HostConfig,
    blob: bytes,
    timeout: float | None,
    data: object = None,
) -> HostReply:
    """Run a task for a search in this process of a cluster.

    Parameters
    ----------
    liveness : Liveness
        Whether anybody waits for the task, and for others of the search.
    config : HostConfig
        The search.
    blob : bytes
        A function and its arguments, as `encode_task` makes them. The function is given
        the path of the data before them.
    timeout : float or None
        Seconds for the task.
    data : ndarray of uint8, optional
        The bytes of a payload file.

    Returns
    -------
    HostReply
        Without an outcome and a problem where the data are missing, or where the
        search or the task was given up.
    """
    try:
        if liveness.is_cancelled():
            raise HostClosedError
        return _host(config, liveness, data).run(liveness, blob, timeout)
    except HostClosedError:
        return HostReply(_here())
    except Exception as error:
        return HostReply(_here(), problem=to_outcome(error).message)


class HostClosedError(Exception):
    """There is no host for a task, or it is about to close."""


def _here() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


_hosts: dict[str, "FitHost"] = {}
_registry = threading.Lock()


def _host(config: HostConfig, liveness: Liveness, data: object) -> "FitHost":
    """Find the host of a search in this process, or make it."""
    with _registry:
        found = _hosts.get(config.key)
        if found is None or found.has_ended:
            if data is None:
                raise HostClosedError
            found = _hosts[config.key] = FitHost(config, liveness, data)
        return found


class FitHost:
    """The children and the data of one search in this process.

    Parameters
    ----------
    config : HostConfig
        The search.
    liveness : Liveness
        Of the first task.
    data : ndarray of uint8
        The bytes of a payload file.
    """

    def __init__(self, config: HostConfig, liveness: Liveness, data: object) -> None:
        self._config = config
        self._liveness = liveness  # of the last task
        self._file = PayloadCopy(data)
        self._file.__enter__()
        self._lock = threading.Lock()
        self._idle: list[tuple[int, WorkerPool | None]] = []
        self._n_pools = 0
        self._n_busy = 0
        self._last_used = time.monotonic()
        self._ended = threading.Event()
        self._closing = threading.Lock()
        self._is_closed = False
        # Not by atexit: before, a process of multiprocessing waits for its children.
        self._at_exit = Finalize(None, self.close, exitpriority=100)
        threading.Thread(target=self._watch, name="fit-host", daemon=True).start()

    def run(self, liveness: Liveness, blob: bytes, timeout: float | None) -> HostReply:
        """Run a task in a child; see `run_on_host`."""
        with self._child(liveness) as (slot, pool):
            place = f"{_here()}:{slot}"
            task = encode_task(_call_with_path, (self._file.path, blob))
            pool.submit(_TASK_ID, run_encoded, task, None, None, timeout=timeout)
            event = self._wait(pool, liveness)
        if event is None:
            ran = sum(run.finished - run.started for run in pool.abandoned)
            return HostReply(place, elapsed=ran)
        outcome = event.outcome
        if isinstance(outcome, Raised):
            outcome = replace(outcome, exception=None)
        return HostReply(place, outcome, event.finished - event.started)

    @property
    def has_ended(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._ended.is_set()

    def close(self) -> None:
        """Kill the children, and remove the data; return when that is done."""
        with self._lock:
            self._ended.set()
            idle, self._idle = self._idle, []
        for _, pool in idle:
            if pool is not None:
                pool.close()
        end = time.monotonic() + _CLOSE_TIMEOUT
        while self._n_busy and time.monotonic() < end:  # they close their own
            time.sleep(0.02)
        with self._closing:
            if not self._is_closed:
                self._file.__exit__()
            self._is_closed = True
        self._at_exit.cancel()
        with _registry:
            if _hosts.get(self._config.key) is self:
                del _hosts[self._config.key]

    @contextlib.contextmanager
    def _child(self, liveness: Liveness) -> Iterator[tuple[int, WorkerPool]]:
        """Lend a pool of one child, which nobody else uses meanwhile."""
        with self._lock:
            if self._ended.is_set():
                raise HostClosedError
            self._liveness = liveness
            self._n_busy += 1
            slot, pool = self._idle.pop() if self._idle else (self._n_pools, None)
            self._n_pools = max(self._n_pools, slot + 1)
        well = False
        try:
            pool = self._new_pool() if pool is None else pool
            yield slot, pool
            well = not pool.n_open
        finally:
            with self._lock:
                well = well and not self._ended.is_set()
                if well:
                    self._idle.append((slot, pool))
            if not well and pool is not None:
                pool.close()
            with self._lock:
                if not well and not self._ended.is_set():
                    self._idle.append((slot, None))
                self._n_busy -= 1
                self._last_used = time.monotonic()

    def _new_pool(self) -> WorkerPool:
        return WorkerPool(
            1,
            setup=partial(self._config.setup, self._file.path),
            # a slot of a cluster is one core
            env=thread_limits(joblib.cpu_count(), self._config.n_threads),
            memory_limit=self._config.memory_limit,
            keep_spare=False,
        )

    def _wait(self, pool: WorkerPool, liveness: Liveness) -> TaskEnd | None:
        """Wait for the task; None if it was cancelled, or the search is over.

        A cancelled one may go on for as long as a new child takes to start, as in
        `Pool.cancel`.
        """
        give_up = math.inf
        while not self._ended.is_set() and time.monotonic() < give_up:
            event = pool.next_event(_POLL_SECONDS)
            if event is not None:
                return event
            if not liveness.is_cancelled():
                continue
            if not pool.n_running:  # its child is still starting, and may stay
                pool.cancel(_TASK_ID)
                return None
            if liveness.is_over():
                return None
            give_up = min(give_up, time.monotonic() + pool.start_seconds)
        return None

    def _watch(self) -> None:
        """Close when the search is over, or seems to be."""
        while not self._ended.wait(_WATCH_SECONDS):
            idle = self._idle_seconds()
            if idle < _WATCH_SECONDS:
                continue
            is_over = self._liveness.is_over()
            if is_over or (is_over is None and idle > IDLE_SECONDS):
                with self._lock:
                    if not self._n_busy:
                        self._ended.set()
        self.close()

    def _idle_seconds(self) -> float:
        with self._lock:
            return 0.0 if self._n_busy else time.monotonic() - self._last_used


def _call_with_path(path: str, blob: bytes) -> object:
    """Run a task in a child."""
    fn, args = pickle.loads(blob)
    result: object = fn(path, *args)
    return result
