"""What a process of a cluster keeps for a search: the data, and children that fit.

Each task of the cluster runs its fit in a child that can be killed, so that no fit can
hurt the process of the cluster. A child stays for the next task, and an outpost until
the search is over; where it cannot learn that, until nobody has used it for a while.
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
from typing import Any

import joblib

from sklearn_mvrsm._outcomes import Event, Outcome, Raised, describe
from sklearn_mvrsm._payload import PayloadCopy
from sklearn_mvrsm._process import encode_task, run_encoded
from sklearn_mvrsm._surroundings import thread_limits
from sklearn_mvrsm._tether import Number, hold
from sklearn_mvrsm._workers import WorkerPool

IDLE_SECONDS = 60.0
"""After so long without a task an outpost that has no line to its search closes."""

_FAREWELL_SECONDS = 5.0
"""How long the end of an outpost waits for that of the tasks that run."""

_REDIAL_SECONDS = 10.0
"""How soon a search that could not be reached is called again."""

_GLANCE = 0.1
"""Seconds between looks at whether a running task is still wanted."""


@dataclass(frozen=True)
class Mission:
    """What an outpost must know; it goes with every task, and is small.

    Attributes
    ----------
    key : str
        Names the search.
    number : Number
        Where the search can be called.
    setup : callable
        Called once in each child, with the path of the data.
    memory_limit : int or None
        Bytes for one fit.
    n_threads : int
        Threads that a fit was told to use.
    """

    key: str
    number: Number
    setup: Callable[[str], object]
    memory_limit: int | None
    n_threads: int = 1


@dataclass(frozen=True)
class Report:
    """What a task of the cluster sends back: plain data.

    Attributes
    ----------
    place : str
        Where it ran: a child's slot in a process on a machine.
    outcome : Outcome or None
        What became of the task, what it returned or raised as an `Answer`. None if it
        was not run.
    elapsed : float
        Seconds in the child.
    problem : str
        Why no task can be run here; empty if they can.
    """

    place: str
    outcome: Outcome | None = None
    elapsed: float = 0.0
    problem: str = ""


def run_at_outpost(
    mission: Mission, serial: int, blob: bytes, timeout: float | None, data: Any = None
) -> Report:
    """Run a task for a search in this process of a cluster.

    Parameters
    ----------
    mission : Mission
        The search.
    serial : int
        Number of the task.
    blob : bytes
        A function and its arguments, as `encode_task` makes them. The function is given
        the path of the data before them.
    timeout : float or None
        Seconds for the task.
    data : ndarray of uint8, optional
        The bytes of a payload file.

    Returns
    -------
    Report
        Without an outcome and a problem where the data are missing, or where the
        search or the task was given up.
    """
    try:
        outpost = _outpost(mission, data)
        return outpost.run(serial, blob, timeout)
    except _NobodyHereError:
        return Report(_here())
    except Exception as error:
        return Report(_here(), problem=describe(error).message)


class _NobodyHereError(Exception):
    """There is no outpost, or it is about to close."""


def _here() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


_outposts: dict[str, "Outpost"] = {}
_registry = threading.Lock()


def _outpost(mission: Mission, data: Any) -> "Outpost":
    """Find the outpost of a search in this process, or make it."""
    with _registry:
        found = _outposts.get(mission.key)
        if found is None or found.has_ended:
            if data is None:
                raise _NobodyHereError
            found = _outposts[mission.key] = Outpost(mission, data)
        return found


class Outpost:
    """The children and the data of one search in this process.

    Parameters
    ----------
    mission : Mission
        The search.
    data : ndarray of uint8
        The bytes of a payload file.
    """

    def __init__(self, mission: Mission, data: Any) -> None:
        self._mission = mission
        self._file = PayloadCopy(data)
        self._file.__enter__()
        self._lock = threading.Lock()
        self._idle: list[tuple[int, WorkerPool | None]] = []
        self._n_pools = 0
        self._n_busy = 0
        self._last_used = time.monotonic()
        self._unwanted: set[int] = set()
        self._ended = threading.Event()
        self._closing = threading.Lock()
        self._is_closed = False
        # Not by atexit: before, a process of multiprocessing waits for its children.
        self._at_exit = Finalize(None, self.close, exitpriority=100)
        threading.Thread(target=self._watch, name="outpost", daemon=True).start()

    def run(self, serial: int, blob: bytes, timeout: float | None) -> Report:
        """Run a task in a child; see `run_at_outpost`."""
        if serial in self._unwanted:
            return Report(_here())
        with self._child() as (slot, pool):
            place = f"{_here()}:{slot}"
            task = encode_task(_call_with_path, (self._file.path, blob))
            pool.submit(serial, run_encoded, task, None, None, timeout=timeout)
            event = self._wait(pool, serial)
        if event is None:
            return Report(place)
        outcome = event.outcome
        if isinstance(outcome, Raised):
            outcome = replace(outcome, exception=None)
        return Report(place, outcome, event.finished - event.started)

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
        end = time.monotonic() + _FAREWELL_SECONDS
        while self._n_busy and time.monotonic() < end:  # they close their own
            time.sleep(0.02)
        with self._closing:
            if not self._is_closed:
                self._file.__exit__()
            self._is_closed = True
        self._at_exit.cancel()
        with _registry:
            if _outposts.get(self._mission.key) is self:
                del _outposts[self._mission.key]

    @contextlib.contextmanager
    def _child(self) -> Iterator[tuple[int, WorkerPool]]:
        """Lend a pool of one child, which nobody else uses meanwhile."""
        with self._lock:
            if self._ended.is_set():
                raise _NobodyHereError
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
            setup=partial(self._mission.setup, self._file.path),
            # a slot of a cluster is one core
            env=thread_limits(joblib.cpu_count(), self._mission.n_threads),
            memory_limit=self._mission.memory_limit,
            keep_spare=False,
        )

    def _wait(self, pool: WorkerPool, serial: int) -> Event | None:
        """Wait for a task; None if it is not wanted any more.

        It may go on for as long as a new child takes to start, as in `Pool.cancel`.
        """
        give_up = math.inf
        while not self._ended.is_set() and time.monotonic() < give_up:
            event = pool.next_event(_GLANCE)
            if event is not None:
                return event
            if serial in self._unwanted:
                self._unwanted.discard(serial)
                if not pool.n_running:  # its child is still starting, and may stay
                    pool.cancel(serial)
                    return None
                give_up = time.monotonic() + pool.start_seconds
        return None

    def _watch(self) -> None:
        """Close when the search is over, or seems to be."""
        while not hold(self._mission.number, self._unwanted.add, self.close):
            call_again = time.monotonic() + _REDIAL_SECONDS
            while time.monotonic() < call_again and not self._ended.wait(1.0):
                self._end_if_forgotten()
            if self._ended.is_set():
                self.close()
                return

    def _end_if_forgotten(self) -> None:
        with self._lock:
            idle = time.monotonic() - self._last_used
            if not self._n_busy and idle > IDLE_SECONDS:
                self._ended.set()


def _call_with_path(path: str, blob: bytes) -> Any:
    """Run a task in a child."""
    fn, args = pickle.loads(blob)
    return fn(path, *args)
