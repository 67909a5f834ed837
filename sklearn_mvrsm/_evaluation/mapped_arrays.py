"""How arrays go into a file from which they can be mapped, whatever their layout.

Notation: the *extent* of an array is the memory from its first byte to its last, which
has gaps where it is a part of a larger array, and less bytes than the elements together
where these overlap (``broadcast_to``, ``sliding_window_view``).
"""

import copyreg
import functools
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from sklearn_mvrsm._execution import MIN_MAPPED, Blocks

__all__ = ["reduce_array"]


Array = np.ndarray[Any, Any]

_BLOCK_BYTES = 2**18
"""How much of an array is copied at a time to be written."""


def reduce_array(value: object, *, by_path: bool) -> object:
    """Return how to pickle a large array, so that it can be mapped: a `Reducer`.

    What it gives back has the layout in memory that the array has, or one without the
    gaps. It is read-only.

    Parameters
    ----------
    value : object
        Anything.
    by_path : bool
        Whether an array that is mapped from a file is read from that file. Else its
        elements are written, as those of others are.

    Returns
    -------
    tuple or NotImplemented
        A function and its arguments. The second for what is no array, small, of Python
        objects, or of a class that has a pickle of its own.
    """
    kind: Any = type(value)
    reduce_frame = _FRAMES.get((kind.__module__, kind.__name__))
    if reduce_frame is not None:
        return reduce_frame(value)
    if (
        not isinstance(value, np.ndarray)
        or value.nbytes < MIN_MAPPED
        or value.dtype.hasobject
    ):
        return NotImplemented
    if isinstance(value, np.ma.MaskedArray) and kind is np.ma.MaskedArray:
        mask = np.ma.getmask(value)
        return _restore_masked, (value.data, mask, value.fill_value, value.hardmask)
    if not _is_pickled_as_array(kind):
        return NotImplemented
    array = np.asarray(value)
    low, n_bytes = _extent(array)
    layout = array.dtype, array.shape, array.strides, -low
    if by_path and (place := _file_behind(array.ctypes.data + low, n_bytes)):
        return _restore_from_file, (kind, *place, n_bytes, *layout)
    # along an axis of stride 0 there is one element, told again and again
    once = array[(*(slice(1 if s == 0 else None) for s in array.strides), ...)]
    if n_bytes <= once.nbytes:
        return _restore, (kind, Blocks(n_bytes, _memory(once)), *layout)
    blocks, strides = _without_gaps(once)
    own = (
        0 if s == 0 else step for s, step in zip(array.strides, strides, strict=True)
    )
    return _restore, (kind, blocks, array.dtype, array.shape, tuple(own), 0)


def _reduce_series(series: Any) -> Any:
    """Return how to pickle a polars series: as an array, if no number is missing."""
    if not series.dtype.is_numeric() or series.estimated_size() < MIN_MAPPED:
        return NotImplemented
    try:
        arrays = [each.to_numpy(allow_copy=False) for each in series.get_chunks()]
    except RuntimeError:  # some values are missing
        return NotImplemented
    kind, dtype = type(series), arrays[0].dtype
    if kind(arrays[0][:0]).dtype != series.dtype:
        return NotImplemented
    n_bytes = sum(array.nbytes for array in arrays)
    blocks = Blocks(n_bytes, [array.view(np.uint8) for array in arrays])
    return _restore_series, (kind, series.name, blocks, dtype)


def _reduce_frame(frame: Any) -> Any:
    """Return how to pickle a polars frame: by its columns, if it is large."""
    if frame.estimated_size() < MIN_MAPPED:
        return NotImplemented
    return type(frame), (frame.get_columns(),)


def _reduce_block(block: Any) -> Any:
    """Return how to pickle a block of a pandas frame: its own way copies gaps away."""
    known = _restorer_of_blocks()
    if known is None or type(block) is not known[0]:
        return NotImplemented
    return known[1], (block.values, block.mgr_locs.indexer, block.ndim)


@functools.cache
def _restorer_of_blocks() -> tuple[object, object] | None:
    """Return the blocks of pandas that hold an array, and what restores one.

    None where their parts are not as expected.
    """
    try:
        pandas = sys.modules["pandas"]
        (block,) = pandas.DataFrame(np.zeros((1, 1)))._mgr.blocks
        restore, (values, *others) = block.__reduce__()
        known = others == [block.mgr_locs.indexer, block.ndim]
        known = known and np.array_equal(values, block.values)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return (type(block), restore) if known else None


_FRAMES = {
    ("polars.series.series", "Series"): _reduce_series,
    ("polars.dataframe.frame", "DataFrame"): _reduce_frame,
    ("pandas.core.internals.blocks", "NumpyBlock"): _reduce_block,
}


def _is_pickled_as_array(kind: type) -> bool:
    """Return whether a class of arrays has the pickle of arrays, not its own."""
    names = ("__reduce__", "__reduce_ex__", "__setstate__")
    return kind not in copyreg.dispatch_table and all(
        getattr(kind, name) is getattr(np.ndarray, name) for name in names
    )


def _extent(array: Array) -> tuple[int, int]:
    """Return where the extent begins, from the first element on, and its bytes."""
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low = sum(step for step in steps if step < 0)
    return low, sum(map(abs, steps)) + array.itemsize


def _memory(array: Array) -> Iterator[Array]:
    """Yield the extent of an array."""
    ends = [slice(-1, None) if s < 0 else slice(1) for s in array.strides]
    lowest = array[(*ends, np.newaxis)].reshape(1).view(np.uint8)
    yield as_strided(lowest, (_extent(array)[1],), (1,), writeable=False)


def _without_gaps(array: Array) -> tuple[Blocks, list[int]]:
    """Return the elements of an array, and the strides of what they make up."""
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    strides, step = [0] * array.ndim, array.itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= array.shape[axis]
    return Blocks(array.nbytes, _pieces(array.transpose(order))), strides


def _pieces(array: Array) -> Iterator[Array]:
    """Yield the elements of an array in C order, in pieces."""
    rows = max(_BLOCK_BYTES * len(array) // array.nbytes, 1)
    for start in range(0, len(array), rows):
        piece = array[start : start + rows]
        if piece.nbytes > _BLOCK_BYTES and piece.ndim > 1:
            yield from _pieces(piece[0])
        else:
            yield np.ascontiguousarray(piece).reshape(-1).view(np.uint8)


def _file_behind(address: int, n_bytes: int) -> tuple[str, int, int] | None:
    """Find the file that memory is mapped from, shared with whoever maps it.

    Parameters
    ----------
    address, n_bytes : int
        The memory.

    Returns
    -------
    (str, int, int) or None
        The path, the number of the file there, and the position in it. None where
        the memory is not mapped from a file or, for all that can be seen, the path
        leads to another one by now; and where the system does not say.
    """
    try:
        with open(
            "/proc/self/maps", encoding="utf-8", errors="surrogateescape"
        ) as file:
            lines = file.readlines()
    except OSError:
        return None
    for line in lines:
        span, rights, position, _, number, *rest = line.rstrip("\n").split(None, 5)
        start, end = (int(each, 16) for each in span.split("-"))
        if not start <= address or not address + n_bytes <= end:
            continue
        if not rest or not rights.endswith("s") or not os.access(rest[0], os.R_OK):
            return None
        status = os.stat(rest[0])
        if not stat.S_ISREG(status.st_mode) or status.st_ino != int(number):
            return None
        return rest[0], status.st_ino, int(position, 16) + address - start
    return None


def _restore(
    kind: type[Array],
    buffer: Any,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> Array:
    """Make an array of a buffer."""
    array = np.ndarray.__new__(kind, shape, dtype, buffer, offset, strides)
    array.flags.writeable = False
    return array


def _restore_series(kind: Any, name: str, buffer: Any, dtype: np.dtype[Any]) -> Any:
    return kind(name, np.frombuffer(buffer, dtype))


def _restore_from_file(
    kind: type[Array],
    path: str,
    number: int,
    position: int,
    n_bytes: int,
    *layout: Any,
) -> Array:
    """Map an array from a file that was there before."""
    start = position - position % mmap.ALLOCATIONGRANULARITY
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_ino != number:
            raise OSError(
                f"the data were mapped from {path!r}, which is another file now"
            )
        size = position + n_bytes - start
        pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=start)
    return _restore(kind, memoryview(pages)[position - start :], *layout)


def _restore_masked(data: Array, mask: Any, fill_value: Any, hard_mask: bool) -> Array:
    return np.ma.MaskedArray(
        data, mask=mask, fill_value=fill_value, hard_mask=hard_mask
    )
