"""What the processes of a fit share by its name, and what they leave of it.

Semaphores, memory and folders that processes share outlive them, unless a *resource
tracker* knows their names. Each program has its own, which removes what is left when
the program ends, and says so on its standard error output. What a worker and all that
it starts would tell it goes to the caller instead, which removes what is left, without
a word, when the worker is gone.
"""

import base64
import contextlib
import functools
import json
import os
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from multiprocessing import Pipe, resource_tracker, util
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from sklearn_mvrsm._compat.joblib import redirect_tracker

__all__ = ["Resources", "report_resources"]

_SHARED_MEMORY = "/dev/shm"
_FILES = {  # kind -> where one is: of multiprocessing, of loky, of joblib
    "shared_memory": _SHARED_MEMORY + "/{}",
    "semaphore": _SHARED_MEMORY + "/sem.{}",
    "semlock": _SHARED_MEMORY + "/sem.{}",
    "file": "/{}",
    "folder": "/{}",
}
_OF_MULTIPROCESSING = ("shared_memory", "semaphore")

_OTHER = "loky.backend.resource_tracker"

_END = b"END\n"
_JOIN_SECONDS = 5.0


class Resources:
    """The named resources of a worker and of all that it starts.

    Attributes
    ----------
    writer : Connection or None
        Where the worker's resource trackers are to write; None on other systems than
        Linux, where they write to the caller's.
    """

    def __init__(self) -> None:
        self.writer: Connection | None = None
        self._counts: Counter[tuple[str, str]] = Counter()
        if sys.platform != "linux":
            return
        # what is there already is not the worker's, even if that makes use of it
        self._older = {f"/{name}" for name in os.listdir(_SHARED_MEMORY)}
        self._reader, self.writer = Pipe(duplex=False)
        self._thread = threading.Thread(
            target=self._listen, name="resources", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Remove what is left; the worker, and all that it started, is dead."""
        if self.writer is None or self.writer.closed:
            return
        os.write(self.writer.fileno(), _END)
        self._thread.join(_JOIN_SECONDS)
        self.writer.close()

    def _listen(self) -> None:
        with (
            self._reader,
            os.fdopen(self._reader.fileno(), "rb", closefd=False) as file,
        ):
            for line in iter(file.readline, _END):
                with contextlib.suppress(ValueError, KeyError):  # of a later release
                    self._track(*_parsed(line))
        for kind, name in sorted(self._counts):  # folders after files
            self._remove(kind, name)
            self._forget(kind, name)

    def _track(self, command: str, kind: str, name: str) -> None:
        """Act as a resource tracker does."""
        if kind not in _FILES or (kind == "shared_memory" and name in self._older):
            return
        if command == "REGISTER":
            self._counts[kind, name] += 1
            if kind in _OF_MULTIPROCESSING:  # in case that this process is killed
                resource_tracker.register(name, kind)
        elif command == "UNREGISTER":
            self._forget(kind, name)
        elif command == "MAYBE_UNLINK":
            self._counts[kind, name] -= 1
            if self._counts[kind, name] == 0:
                self._remove(kind, name)
                self._forget(kind, name)

    def _forget(self, kind: str, name: str) -> None:
        if self._counts.pop((kind, name), None) and kind in _OF_MULTIPROCESSING:
            resource_tracker.unregister(name, kind)

    def _remove(self, kind: str, name: str) -> None:
        path = _FILES[kind].format(name.lstrip("/"))
        if kind == "folder":
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _parsed(line: bytes) -> tuple[str, str, str]:
    """Read what is told to a resource tracker: a command, a kind and a name."""
    if line.startswith(b"{"):  # since Python 3.14, for names with odd characters
        told = json.loads(line)
        decoded = base64.urlsafe_b64decode(told["base64_name"])
        return told["cmd"], told["rtype"], os.fsdecode(decoded)
    command, rest = os.fsdecode(line.strip()).split(":", 1)
    name, kind = rest.rsplit(":", 1)
    return command, kind, name


def report_resources(file: int) -> None:
    """Report named resources of this process, and all that it starts, to a file.

    Parameters
    ----------
    file : int
        The descriptor of `Resources.writer`.
    """
    finder = _Redirection(file)
    sys.meta_path.insert(0, finder)
    finder.redirect(keep=False)
    # A copy of loky lets go of its tracker there. One that has not may be about to be
    # replaced by a program that is told where to write: that must stay.
    os.register_at_fork(after_in_child=functools.partial(finder.redirect, keep=True))
    make_folder = util.get_temp_dir

    @functools.cache
    def reported_folder() -> str:
        folder: str = make_folder()  # removed by multiprocessing, unless it is killed
        os.write(file, os.fsencode(f"REGISTER:{folder}:folder\n"))
        return folder

    util.get_temp_dir = reported_folder


class _Redirection:
    """Redirects resource trackers, that of the other copy of loky once it is there."""

    def __init__(self, file: int) -> None:
        self._file = file

    def redirect(self, *, keep: bool) -> None:
        """Redirect those that are there; with ``keep`` those that write nowhere."""
        redirect_tracker(self._file, keep=keep)
        for name in ("multiprocessing.resource_tracker", _OTHER):
            if name in sys.modules:
                redirect_tracker(self._file, sys.modules[name], keep=keep)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module of the other tracker, as others would."""
        if name != _OTHER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            run = loader.exec_module

            def run_and_redirect(module: ModuleType) -> None:
                run(module)
                redirect_tracker(self._file, module)

            loader.exec_module = run_and_redirect
        return spec
