"""An append-only file of JSON lines: written, synced, matched and read again.

The first line is the header: what the file belongs to. Each further line is an entry
that stands for itself. A line counts once it ends with a newline, and it has been
synced to the disk before `Journal.append` returns. Opening a journal parses JSON and
nothing else, so no file can run code.

Each line ends with a checksum of what it says. Those of entries are keyed by that of
the header, so an entry of another journal is not taken for one of this journal.
"""

import contextlib
import errno
import hashlib
import json
import os
import stat
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Self

__all__ = ["Journal", "Record", "differences"]


fcntl: Any = None
with contextlib.suppress(ImportError):  # Windows has none; see _lock_file
    import fcntl as _posix

    fcntl = _posix

Record = dict[str, Any]

_FORMAT = "format"
_CHECK = "check"
_BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


class Journal:
    """A journal, locked while it is open. Use it in a ``with`` block.

    A file that does not exist, is empty or breaks off within the header is begun anew.
    A last line that breaks off, as after a crash in the middle of a write, is dropped.
    A process that is forked meanwhile neither holds the lock nor can write.

    Parameters
    ----------
    path : str or path-like
        The file; its folder must exist.
    kind : str
        Name of the format with its version. Other files are refused, and never changed.
    header : mapping
        Written into a new file: JSON's types only, no nan, no infinity.

    Attributes
    ----------
    header : dict
        As the file has it.
    entries : list of dict
        Those that were there when the file was opened, the first from line 2.
    is_new : bool
        Whether the file was begun just now.
    is_torn : bool
        Whether a last line was dropped.

    Raises
    ------
    OSError
        If the file cannot be opened, written or synced.
    RuntimeError
        If another journal has it open.
    ValueError
        If it is no journal of this kind, or a line before the last is damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str], kind: str, header: Mapping[str, object]
    ) -> None:
        self.path = os.fspath(path)
        self._magic = json.dumps({_FORMAT: kind})[:-1].encode()
        self._key = ""
        self._owner = os.getpid()
        with contextlib.ExitStack() as stack:
            self._fd = self._open()
            _open_journals.add(self)
            stack.callback(self._close_file)
            stack.enter_context(self._locked())
            records, self.is_torn = self._read()
            self.is_new = not records
            if self.is_new:
                line = _line({_FORMAT: kind, **header}, "")
                self._write(line)
                self._sync_folder()
                records = [json.loads(line)]
            self.header, *self.entries = records
            self._key = self.header.pop(_CHECK)
            self._resources = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def append(self, entry: Mapping[str, object]) -> None:
        """Write an entry; it is on the disk when this returns.

        Parameters
        ----------
        entry : mapping
            JSON's types only, no nan, no infinity.

        Raises
        ------
        OSError
            If it cannot be written or synced. The entries before are not affected.
        """
        self._write(_line(entry, self._key))

    def close(self) -> None:
        """Close the file, which unlocks it."""
        self._resources.close()

    def damaged(self, index: int, fault: str) -> ValueError:
        """Return the error for an entry that is not what it has to be.

        Parameters
        ----------
        index : int
            Its place in ``entries``; -1 is the header.
        fault : str
            What is wrong with it.
        """
        cure = (
            "Remove this line, and its fit is repeated; the other lines stay good."
            if index >= 0
            else "The lines after it are of no use without it."
        )
        return ValueError(
            f"Line {index + 2} of the checkpoint {self.path!r} is damaged: {fault}. "
            f"The file was left as it is. {cure}"
        )

    # --- the file ---------------------------------------------------------------

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            return os.open(self.path, flags, 0o666)
        except OSError as error:
            raise self._failure("open", error) from error

    def _close_file(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._fd)
        self._fd = -1

    def _failure(self, verb: str, error: OSError) -> OSError:
        """Return the error; Python picks the subclass that fits its number."""
        text = f"cannot {verb} the checkpoint: {error.strerror}"
        return OSError(error.errno, text, self.path)

    def _write(self, line: bytes) -> None:
        try:
            end = os.fstat(self._fd).st_size
        except OSError as error:  # of a forked process
            raise self._failure("write", error) from error
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):  # the next opening does it otherwise
                os.ftruncate(self._fd, end)
            raise self._failure("write", error) from error

    def _sync_folder(self) -> None:
        """Make the name of a new file last, where the platform can sync a folder."""
        folder = os.path.dirname(os.path.abspath(self.path))
        with contextlib.suppress(OSError):
            fd = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    # --- the lock ---------------------------------------------------------------

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the file; the lock ends with the process, where ``flock`` works."""
        if fcntl is not None:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in _BUSY:
                    raise self._in_use() from error
            else:
                try:
                    yield
                finally:
                    if self._is_owner():  # closing is not enough after a fork in C
                        with contextlib.suppress(OSError):
                            fcntl.flock(self._fd, fcntl.LOCK_UN)
                return
        with self._lock_file():
            yield

    @contextlib.contextmanager
    def _lock_file(self) -> Iterator[None]:
        """Lock by a file beside it, which a process that is killed leaves behind."""
        path = f"{self.path}.lock"
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError as error:
            hint = f"; if that search was killed, remove the file {path!r}"
            raise self._in_use(hint) from error
        except OSError as error:
            raise self._failure("lock", error) from error
        try:
            with open(fd, "w", encoding="ascii") as file:
                file.write(f"process {os.getpid()}\n")
            yield
        finally:
            if self._is_owner():
                os.unlink(path)

    def _is_owner(self) -> bool:
        """Return whether this process opened the journal, and is no fork of it."""
        return os.getpid() == self._owner

    def _in_use(self, hint: str = "") -> RuntimeError:
        return RuntimeError(
            f"The checkpoint {self.path!r} is in use by another search{hint}. Wait for "
            "its end, or give each search a path of its own."
        )

    # --- the content ------------------------------------------------------------

    def _read(self) -> tuple[list[Record], bool]:
        """Read the whole lines; cut off a broken one, and say whether there was one."""
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            return [], False  # a device: all that can be done is try to write
        os.lseek(self._fd, 0, os.SEEK_SET)
        with open(self._fd, "rb", closefd=False) as file:
            content = file.read()
        if not (content.startswith(self._magic) or self._magic.startswith(content)):
            begin = content[: len(self._magic)].decode("ascii", "backslashreplace")
            magic = self._magic.decode()
            cure = ""
            if begin.rstrip('0123456789"') == magic.rstrip('0123456789"'):
                cure = (
                    " Another version began it, and did not compare searches as this "
                    "one does: go on with that version, or begin anew at another path."
                )
            raise ValueError(
                f"{self.path!r} is not a checkpoint that this version can read: its "
                f"line 1 begins with {begin!r}, not with {magic!r}. It was left as it "
                f"is.{cure}"
            )
        *lines, rest = content.split(b"\n")
        records: list[Record] = []
        key = ""
        for k, line in enumerate(lines):
            try:
                record = _parsed(line, key)
            except ValueError as error:
                if k < len(lines) - 1:
                    raise self.damaged(k - 1, str(error)) from error
                rest = line + b"\n" + rest
                break
            records.append(record)
            key = records[0][_CHECK]
        if rest:
            os.ftruncate(self._fd, len(content) - len(rest))
        return records, bool(rest)


_open_journals: "weakref.WeakSet[Journal]" = weakref.WeakSet()


def _close_in_child() -> None:
    """Close journals in a process that was just forked: they are its parent's."""
    for journal in list(_open_journals):
        journal._close_file()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def differences(there: object, here: object, name: str = "") -> Iterator[str]:
    """Yield one sentence for each part in which two JSON values differ.

    Parameters
    ----------
    there, here : object
        The value in a journal, and the one that is expected.
    name : str
        What they are called.

    Yields
    ------
    str
        Name of the innermost part that differs, with both values.
    """
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*there, *(key for key in here if key not in there)]:
            inner = f"{name}, {key}" if name else key
            if key not in here:
                yield f"{inner}: only in the checkpoint"
            elif key not in there:
                yield f"{inner}: not in the checkpoint"
            else:
                yield from differences(there[key], here[key], inner)
    elif there != here:
        yield f"{name}: {json.dumps(there)} in the checkpoint, now {json.dumps(here)}"


def _line(record: Mapping[str, object], key: str) -> bytes:
    sealed = {**record, _CHECK: _checksum(record, key)}
    return json.dumps(sealed, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes, key: str) -> Record:
    """Return the record of a line, the header with its checksum; raise ValueError."""
    try:
        record = json.loads(line)
        check = record.pop(_CHECK)
        found = _checksum(record, key)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("it has no checksum") from error
    if check != found:
        raise ValueError(
            "its checksum is wrong, it was changed or is of another checkpoint"
        )
    return record if key else {**record, _CHECK: check}


def _checksum(record: Mapping[str, object], key: str) -> str:
    """Return a checksum of what a record says, not of how it is spaced."""
    text = json.dumps(record, allow_nan=False).encode()
    return hashlib.blake2b(text, digest_size=8, key=key.encode()).hexdigest()
