"""A file that carries an object to many processes, its large arrays mapped, not copied.

Layout: eight bytes, the length of the head; the head, a pickle of (the object without
its large buffers, the sizes of the buffers); the buffers, each at a multiple of 64.
"""

import mmap
import os
import pickle
import sys
import tempfile
from typing import Any, BinaryIO, Self

from sklearn_mvrsm._reaper import (
    PREFIX,
    claim_folder,
    remove_folder,
    remove_leftovers,
)
from sklearn_mvrsm._sklearn_compat import cloudpickle_dumps
from sklearn_mvrsm._watchdog import watchdog

MIN_MAPPED = 1_000_000
"""Bytes from which a buffer is mapped; it is then read-only, as joblib's are."""

_ALIGNMENT = 64
_LENGTH_BYTES = 8


class PayloadFile:
    """An object in a private temporary folder, which goes with the ``with`` block.

    If this process is killed, its watchdog removes the folder, or else the next search
    of this user on this host.

    Parameters
    ----------
    content : object
        Anything that cloudpickle can pickle.
    """

    def __init__(self, content: object) -> None:
        self._content: Any = content
        self._folder = ""
        self._claim = -1

    @property
    def path(self) -> str:
        """Where the file is, within the ``with`` block."""
        return os.path.join(self._folder, "payload")

    def __enter__(self) -> Self:
        self._watchdog, self._pid = watchdog().hold(), os.getpid()
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
        write_payload(self.path, self._content)

    def _remove(self) -> None:
        if os.getpid() == self._pid:  # in a process that was forked it is not its own
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

    def __init__(self, data: Any) -> None:
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


def write_payload(path: str, content: object) -> None:
    """Write an object to a file for `read_payload`.

    Parameters
    ----------
    path : str
        The file, overwritten.
    content : object
        Anything that cloudpickle can pickle.
    """
    buffers: list[memoryview] = []

    def keep_inside(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < MIN_MAPPED:
            return True
        buffers.append(view)
        return False

    inside = cloudpickle_dumps(content, protocol=5, buffer_callback=keep_inside)
    head = pickle.dumps((inside, [view.nbytes for view in buffers]))
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(_LENGTH_BYTES, "little"))
        file.write(head)
        for view in buffers:
            file.write(bytes(-file.tell() % _ALIGNMENT))
            file.write(view)


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
    start = _LENGTH_BYTES
    end = start + int.from_bytes(view[:start], "little")
    inside, sizes = pickle.loads(view[start:end])
    buffers = []
    for size in sizes:
        start = end + -end % _ALIGNMENT
        end = start + size
        buffers.append(view[start:end])
    return pickle.loads(inside, buffers=buffers)
