"""A file that carries an object to many processes, its large buffers mapped.

Layout: eight bytes, where the table begins; a pickle of the object without its large
buffers; the buffers, each at a multiple of 64; the table, a pickle of where the object
ends, and of where each buffer begins and ends. All is written as it comes up, so that
whoever writes needs no copy of it.
"""

import mmap
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO, Self

from sklearn_mvrsm._compat.joblib import CloudPickler
from sklearn_mvrsm._execution.reaper import (
    PREFIX,
    claim_folder,
    remove_folder,
    remove_leftovers,
)
from sklearn_mvrsm._execution.watchdog import watchdog

MIN_MAPPED = 1_000_000
"""Bytes from which a buffer is mapped; it is then read-only, as joblib's are."""

_ALIGNMENT = 64
_LENGTH_BYTES = 8

Reducer = Callable[[object], Any]
"""Return what an object is made from, as ``__reduce__`` does, or NotImplemented."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A buffer that is made piece by piece while it is written.

    A `Reducer` may return one among the arguments; whoever reads finds a buffer there.

    Parameters
    ----------
    n_bytes : int
        Their size together.
    pieces : iterable of buffer
        The pieces, each contiguous.
    """

    n_bytes: int
    pieces: Iterable[Any]


class PayloadFile:
    """An object in a private temporary folder, which goes with the ``with`` block.

    If this process is killed, its watchdog removes the folder, or else the next search
    of this user on this host.

    Parameters
    ----------
    content : object
        Anything that cloudpickle can pickle.
    reduce : Reducer, optional
        As in `write_payload`.
    """

    def __init__(self, content: object, reduce: Reducer | None = None) -> None:
        self._content: Any = content
        self._reduce = reduce
        self._folder = ""
        self._claim = -1

    @property
    def path(self) -> str:
        """Where the file is, within the ``with`` block."""
        return os.path.join(self._folder, "payload")

    def __enter__(self) -> Self:
        self._watchdog, self._owner = watchdog().acquire(), os.getpid()
        try:
            remove_leftovers()
            self._folder = tempfile.mkdtemp(prefix=PREFIX)
            self._claim = claim_folder(self._folder)
            self._write()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._remove()

    def _write(self) -> None:
        write_payload(self.path, self._content, self._reduce)

    def _remove(self) -> None:
        if os.getpid() == self._owner:  # in a process that was forked it is not its own
            self._owner = -1
            if self._claim >= 0:
                os.close(self._claim)
            remove_folder(self._folder)
            self._watchdog.release()


class PayloadCopy(PayloadFile):
    """A copy of a payload file.

    On Linux it has no name: it is gone with this process and its children, however
    they end. A cluster may kill them with all that could clean up.

    Parameters
    ----------
    data : bytes-like
        What is in the file.
    """

    def __init__(self, data: object) -> None:
        super().__init__(data)
        self._opened: BinaryIO | None = None

    @property
    def path(self) -> str:
        """Where this process and its children find it, within the ``with`` block."""
        if self._opened is None:
            return super().path
        return f"/proc/{os.getpid()}/fd/{self._opened.fileno()}"

    def __enter__(self) -> Self:
        super().__enter__()
        if sys.platform == "linux":
            self._opened = open(self.path, "rb")
            super().__exit__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._opened is None:
            super().__exit__()
        else:
            self._opened.close()

    def _write(self) -> None:
        with open(self.path, "wb") as file:
            file.write(self._content)
        self._content = None


def write_payload(path: str, content: object, reduce: Reducer | None = None) -> None:
    """Write an object to a file for `read_payload`.

    Parameters
    ----------
    path : str
        The file, overwritten.
    content : object
        Anything that cloudpickle can pickle.
    reduce : Reducer, optional
        Asked first how to pickle an object.
    """
    with open(path, "wb") as file:
        file.write(bytes(_LENGTH_BYTES))
        pickler = _Pickler(file, reduce)
        pickler.dump(content)
        table: list[Any] = [file.tell()]
        for buffer in pickler.buffers:
            file.write(bytes(-file.tell() % _ALIGNMENT))
            start = file.tell()
            for piece in buffer.pieces:
                file.write(piece)
            table.append((start, file.tell()))
        end = file.tell()
        pickle.dump(table, file)
        file.seek(0)
        file.write(end.to_bytes(_LENGTH_BYTES, "little"))


def read_payload(path: str) -> Any:
    """Read an object, with its large buffers mapped.

    Parameters
    ----------
    path : str
        A file made by `write_payload`. It may be removed while the object is in use
        (except on Windows).

    Returns
    -------
    object
        Its large arrays are read-only.
    """
    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    table = int.from_bytes(view[:_LENGTH_BYTES], "little")
    end, *places = pickle.loads(view[table:])
    buffers = [view[start:stop] for start, stop in places]
    return pickle.loads(view[_LENGTH_BYTES:end], buffers=buffers)


class _Pickler(CloudPickler):  # type: ignore[misc]  # base is Any: cloudpickle has no py.typed
    """Pickles to a file, and collects the large buffers to be written behind.

    Attributes
    ----------
    buffers : list of Blocks
        In the order in which they are to be read.
    """

    def __init__(self, file: object, reduce: Reducer | None) -> None:
        super().__init__(file, protocol=5, buffer_callback=self._is_small)
        self._reduce = reduce
        self._tokens: dict[int, tuple[bytearray, Blocks]] = {}
        self.buffers: list[Blocks] = []

    def reducer_override(self, value: object) -> object:
        """Pickle blocks as a buffer, and what the reducer knows as it says."""
        if type(value) is Blocks:
            if value.n_bytes < MIN_MAPPED:
                return bytes, (b"".join(value.pieces),)
            token = bytearray()  # a buffer that stands for them
            self._tokens[id(token)] = token, value
            return memoryview, (pickle.PickleBuffer(token),)
        reduced = NotImplemented if self._reduce is None else self._reduce(value)
        if reduced is NotImplemented:
            return super().reducer_override(value)
        return reduced

    def _is_small(self, buffer: pickle.PickleBuffer) -> bool:
        """Return whether to pickle a buffer among the rest; else collect it."""
        view = buffer.raw()
        _, blocks = self._tokens.get(id(view.obj), (None, None))
        if blocks is None and view.nbytes < MIN_MAPPED:
            return True
        self.buffers.append(Blocks(view.nbytes, [view]) if blocks is None else blocks)
        return False
