"""Kill workers with all they have started; remove the files of searches that are gone.

Every worker has a mark in its environment, which all that it starts inherits. On Linux
a process can read the environments of the others of its user, so what a fit has started
is found by its mark, wherever it has moved; and by descent, if it has dropped the mark.

This file is a program too, of the standard library alone. A caller of workers starts it
(see `watchdog`); it waits until the caller is gone, however that ended, and kills all
that carries the caller's mark, whoever holds which lock there.
"""

import contextlib
import math
import os
import signal
import sys
import time
from collections.abc import Collection, Iterable, Mapping

if os.name == "posix":
    import fcntl
    import select

PREFIX = "sklearn-mvrsm-"
"""How the name of a temporary folder begins."""

OWNER = "owner"
"""The file in such a folder that its owner keeps locked while it lives."""

_KILL_SECONDS = 5.0
"""How long to look for processes that were killed, or that others start meanwhile."""

_QUIET_WALKS, _WALK_SECONDS = 10, 0.001
"""So many looks in a row must find nothing: a process may replace itself unseen."""

_POLL_SECONDS = 1.0
"""How often to check that the caller is there, if its end of the pipe lives on."""

_GONE = (b"Z", b"X")
"""States of processes that are dead, but for their parents."""

_KERNEL_THREAD = 0x00200000
"""A flag in the state of a process of Linux that runs no program."""

_N_ROUNDS, _ROUND_SECONDS = 3, 0.5
"""How often, and how far apart, a caller's files are removed: others remove theirs."""

_SHARED_MEMORY = "/dev/shm"


def can_find_processes() -> bool:
    """Return whether this system shows the environments of its processes."""
    return os.path.exists("/proc/self/environ")


def kill_marked(roots: Mapping[bytes, int | None]) -> set[int]:
    """Kill processes with all that they have started, until nothing is left of them.

    Parameters
    ----------
    roots : mapping of bytes to int or None
        A mark, and the process that was started with it, a leader of a group; None if
        that is long gone, for its number may be another's by now. This process itself
        is spared.

    Returns
    -------
    set of int
        The processes that were killed. None where they cannot be found.
    """
    if not roots or not can_find_processes():
        return set()
    killed: set[int] = set()
    seen: set[int] = set()
    n_quiet = 0
    end = time.monotonic() + _KILL_SECONDS
    while n_quiet < _QUIET_WALKS and time.monotonic() < end:
        found = _kill_once(roots, seen)
        killed |= found
        n_quiet = 0 if found else n_quiet + 1
        time.sleep(_WALK_SECONDS)
    return killed


def _kill_once(roots: Mapping[bytes, int | None], seen: set[int]) -> set[int]:
    """Kill all that is found in one walk, and return it.

    The youngest come first: a process that does nothing but replace itself is reached
    before it has, and the parent of each is read before that is killed. A number is
    good for one walk: later it may be another's.

    Parameters
    ----------
    roots : mapping of bytes to int or None
        As in `kill_marked`.
    seen : set of int
        Strangers of earlier walks, which need not be read again; those of this walk
        are added.
    """
    parents: dict[int, int] = {}
    family = {os.getpid()} & set(roots.values())
    found, unsure = set(), set()
    groups = set() if seen else set(roots.values())

    def kill(pid: int) -> None:
        family.add(pid)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            found.add(pid)

    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc"))), reverse=True):
        if pid in seen or pid == os.getpid():
            continue
        with contextlib.suppress(OSError):  # it is gone, or another user's
            state, *numbers = _read(pid, "stat").rpartition(b")")[2].split()[:7]
            parent, group, session, _, _, flags = map(int, numbers)
            if state in _GONE:
                continue
            parents[pid] = parent
            if group in groups and session == os.getsid(0):
                kill(pid)
            elif not flags & _KERNEL_THREAD:
                environ = _read(pid, "environ")
                if any(mark in environ for mark in roots):
                    kill(pid)
                elif not environ:
                    unsure.add(pid)  # it may be becoming another program right now
    while family and (
        children := {p for p in parents if parents[p] in family} - family
    ):
        for pid in children:
            kill(pid)
    seen |= parents.keys() - family - unsure
    return found


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()


def _is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return _read(pid, "stat").rpartition(b")")[2].split()[0] not in _GONE
    return False


_own: set[str] = set()


def claim_folder(folder: str) -> int:
    """Mark a temporary folder as this process's own, for as long as a file is open.

    Parameters
    ----------
    folder : str
        An empty folder.

    Returns
    -------
    int
        The descriptor of the file. It is locked, where a file that is open can be
        removed. A process that is forked does not have the lock.
    """
    _own.add(os.path.basename(folder))
    path = os.path.join(folder, OWNER)
    flags = os.O_RDWR | os.O_CREAT
    if os.name != "posix":
        return os.open(path, flags)
    new = f"{path}-new"
    file = os.open(new, flags, 0o600)
    with contextlib.suppress(OSError):  # a file system without locks
        os.write(file, os.fsencode(os.uname().nodename))
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(new, path)
    return file


def remove_folder(path: str) -> None:
    """Remove a temporary folder, which holds files alone, or a file.

    Parameters
    ----------
    path : str
        What is not there, or cannot be removed, is passed over.
    """
    _own.discard(os.path.basename(path))
    with contextlib.suppress(OSError):
        if not os.path.isdir(path):
            os.remove(path)
            return
        for name in sorted(os.listdir(path), key=OWNER.__eq__):  # that one last
            os.remove(os.path.join(path, name))
        os.rmdir(path)


def remove_leftovers(pids: Collection[int] = (), parent: str | None = None) -> None:
    """Remove the folders of owners that are gone, and what joblib has left.

    Parameters
    ----------
    pids : collection of int
        Processes that are gone: the semaphores and arrays that joblib has shared with
        others there are removed, too. Their names say who made them.
    parent : str, optional
        Where temporary files are. Folders of other users and of other hosts stay, and
        those whose owner cannot be known.
    """
    kinds = ("sem.loky-{}-", "joblib_memmapping_folder_{}_")
    gone = [pid for pid in pids if not _is_running(pid)]  # a number may be reused
    traces = tuple(kind.format(pid) for kind in kinds for pid in gone)
    with contextlib.suppress(OSError):
        if parent is None:
            import tempfile  # not needed, and not small, where this is a program

            parent = tempfile.gettempdir()
        for name in os.listdir(parent):
            if name.startswith(PREFIX) and name not in _own:
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(os.path.join(parent, name))
    for folder in (parent, os.environ.get("JOBLIB_TEMP_FOLDER"), _SHARED_MEMORY):
        if folder and traces and os.path.isdir(folder):
            for name in os.listdir(folder):
                if name.startswith(traces):
                    remove_folder(os.path.join(folder, name))


def remove_semaphores(names: Iterable[str]) -> None:
    """Remove the names of semaphores; who has opened them keeps them."""
    for name in names:
        with contextlib.suppress(OSError):
            os.remove(os.path.join(_SHARED_MEMORY, f"sem.{name.lstrip('/')}"))


def _remove_if_abandoned(folder: str) -> None:
    path = os.path.join(folder, OWNER)
    if os.name != "posix":
        os.remove(path)
        remove_folder(folder)
    elif os.lstat(folder).st_uid == os.geteuid():
        with open(path, "r+b") as file:
            if os.fsdecode(file.read()) == os.uname().nodename:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_folder(folder)


def main() -> None:
    """Wait for the end of the caller, and end what it has left behind.

    The caller's end of the pipe at the standard input closes with it; a process that
    it has forked may still hold that.
    """
    parent, mark, folder = int(sys.argv[1]), os.fsencode(sys.argv[2]), sys.argv[3]
    os.chdir(os.sep)  # keep no file system busy
    if not _is_orphaned(parent):
        return
    killed = {parent}
    for _ in range(_N_ROUNDS):
        killed |= kill_marked({mark: None})
        remove_leftovers(killed, folder)
        time.sleep(_ROUND_SECONDS)


def _is_orphaned(parent: int) -> bool:
    """Wait for the end of the pipe or of the caller; return whether it is gone."""
    if os.name != "posix":
        return not os.read(0, 1)
    end = math.inf
    while os.getppid() == parent:
        if time.monotonic() > end:
            return False
        if select.select([0], [], [], _POLL_SECONDS)[0]:
            end = min(end, time.monotonic() + _POLL_SECONDS)
            time.sleep(0.02)  # the caller closes its files before it is gone
    return True


if __name__ == "__main__":
    main()
