"""A watch over the workers of this process, in case it is killed or stopped.

A small process of its own (`reaper`) ends what is left when this one is gone. Its
session is another, so that neither the end of the terminal nor a key reaches it, and it
shares no lock with any fit. A thread starts it again should it be killed, and measures
for how long this process is stopped.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Self

from sklearn_mvrsm._execution import reaper

__all__ = [
    "MARK",
    "Watchdog",
    "signals_blocked",
    "start_reaper",
    "suspended_seconds",
    "watchdog",
]


MARK = "SKLEARN_MVRSM_WORKER"
"""The environment variable of a worker's mark, behind those of workers it is in."""

_BEAT_SECONDS, _LONGEST_PAUSE = 0.5, 1.5
"""How often there is a beat; more time between two means that this process was stopped.
"""

_ALL_SIGNALS = signal.valid_signals()

_MAX_STARTS = 10
"""Where the small process keeps ending, this is done without."""


class Watchdog:
    """The watch over the workers of this process, while anybody holds it."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._n_holders = 0
        self._token = os.urandom(12).hex()
        self._reaper: subprocess.Popen[bytes] | None = None
        self._n_starts = 0
        self._over = threading.Event()
        self._over.set()
        self._thread: threading.Thread | None = None
        self._beat = 0.0
        self._suspended = 0.0

    def acquire(self) -> Self:
        """Begin the watch, or share it; each holder has to release it once."""
        with self._lock:
            self._n_holders += 1
            if self._n_holders == 1:
                self._token, self._n_starts = os.urandom(12).hex(), 0
                self._start_reaper()
                self._start_thread()
        return self

    def release(self) -> None:
        """End the watch, if nobody else holds it."""
        if self._pid != os.getpid():
            return  # a process that was forked has a watch of its own
        with self._lock:
            self._n_holders -= 1
            if self._n_holders:
                return
            self._over.set()
            thread, self._thread = self._thread, None
            if self._reaper is not None:
                self._reaper.kill()
                self._reaper.communicate()
                self._reaper = None
        if thread is not None:
            thread.join()

    def new_mark(self) -> str:
        """Return a mark for a worker that is to be started."""
        return f"{self._token}.{next(self._numbers)};"

    def suspended_seconds(self) -> float:
        """Return for how many seconds this process was stopped while it was watched."""
        if time.monotonic() - self._beat > _LONGEST_PAUSE:
            self._note_beat()
        return self._suspended

    def _note_beat(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._beat > _LONGEST_PAUSE and not self._over.is_set():
                self._suspended += now - self._beat
            self._beat = now

    def forget(self) -> None:
        """Leave the reaper to the process from which this one was forked."""
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.stdin.close()
            self._reaper.returncode = 0  # or Popen would warn that it still runs

    def _start_thread(self) -> None:
        over, self._beat = threading.Event(), time.monotonic()
        thread = threading.Thread(target=self._run, args=(over,), daemon=True)
        with contextlib.suppress(RuntimeError):  # the system has no thread to give
            thread.start()
            self._over, self._thread = over, thread

    def _run(self, over: threading.Event) -> None:
        while not over.wait(_BEAT_SECONDS):
            self._note_beat()
            with self._lock:
                if not over.is_set():
                    self._start_reaper()

    def _start_reaper(self) -> None:
        """Start the reaper, unless it runs; where it cannot be, try again later."""
        if self._reaper is not None:
            if self._reaper.poll() is None:
                return
            self._reaper.communicate()
        self._n_starts += 1
        if self._n_starts > _MAX_STARTS or not sys.executable:
            return
        with contextlib.suppress(OSError), signals_blocked(_ALL_SIGNALS):
            self._reaper = start_reaper(f"{self._token}.")


def start_reaper(
    mark: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start the program that ends what this process leaves behind.

    Parameters
    ----------
    mark : str
        What the processes to be killed have in their environment.
    env : mapping, optional
        The environment of the program, by default the caller's.
    """
    program = [sys.executable, "-I", "-S", reaper.__file__]
    return subprocess.Popen(
        [*program, str(os.getpid()), mark, tempfile.gettempdir()],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


@contextlib.contextmanager
def signals_blocked(numbers: Collection[int]) -> Iterator[None]:
    """Block signals in a process that is started inside the block."""
    if os.name != "posix":
        yield
        return
    old = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


_current = Watchdog()


def watchdog() -> Watchdog:
    """Return the watch over the workers of this process."""
    return _current


def suspended_seconds() -> float:
    """Return for how many seconds this process was stopped while it was watched."""
    return _current.suspended_seconds()


def _renew() -> None:
    global _current
    _current.forget()
    _current = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
