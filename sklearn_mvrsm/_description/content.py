"""The content of arrays, columns, data frames and sparse matrices, taken apart.

The parts are plain values, new lists of them, digests of buffers, and smaller data.
They do not depend on where data lie in memory or on how a library stores them, and
nothing that has a plain array in it is converted to Python objects.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._description.code import is_installed

__all__ = ["content", "digest"]


Parts = Iterator[object]

_BLOCK = 2**20  # items that are copied at a time, where an array is not contiguous
_WIDE = 1000  # columns of one type above which a frame is read as one array


def digest(data: Any) -> str:
    """Return a digest of bytes, or of what an array of plain items has in C order."""
    hasher = hashlib.blake2b(digest_size=20)
    if not isinstance(data, np.ndarray):
        hasher.update(data)
    elif data.size and data.flags.c_contiguous:
        hasher.update(data.reshape(-1).view(np.uint8).data)
    elif data.size:
        rows = max(_BLOCK * len(data) // data.size, 1)
        for start in range(0, len(data), rows):
            block = np.ascontiguousarray(data[start : start + rows])
            hasher.update(block.reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()


def content(data: object, *, labels: bool) -> Parts | None:
    """Return what data consist of; None for what is no data.

    Parameters
    ----------
    data : object
        An array, a column or frame of pandas or polars, a sparse matrix, or anything.
    labels : bool
        Whether the index of pandas is content.

    Returns
    -------
    iterator or None
        Parts that are equal for equal content. It raises what the library raises.
    """
    kind = type(data)
    if isinstance(data, np.ma.MaskedArray):
        return iter(("masked", np.ma.getmaskarray(data), np.asarray(data.filled())))
    if isinstance(data, np.ndarray):
        return _array(data)
    if hasattr(kind, "tocsr"):
        return _sparse(data)
    if hasattr(kind, "dtypes") and hasattr(kind, "columns"):
        return _frame(data, labels)
    if hasattr(kind, "dtype") and hasattr(kind, "to_numpy"):
        return _column(data, labels)
    if hasattr(kind, "__array__") and is_installed(kind.__module__):
        return iter((kind, np.asarray(data)))
    return None


def _array(array: npt.NDArray[Any]) -> Parts:
    if type(array) not in (np.ndarray, np.memmap):
        yield type(array)
        yield getattr(array, "__dict__", None)
    array = np.asarray(array)
    dtype = array.dtype
    head = f"array {dtype.str} {array.shape}"
    if dtype.names is not None:  # field by field: between them lie bytes of no meaning
        yield head
        for name in dtype.names:
            yield from (name, array[name])
    elif dtype.hasobject or dtype.char in "gG":  # so do some behind a long double
        yield from (head, array.ravel().tolist())
    else:
        yield f"{head} {digest(array)}"


def _sparse(matrix: Any) -> Parts:
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    yield from ("sparse", matrix.shape, rows.data)
    yield rows.indices.astype(np.int64, copy=False)
    yield rows.indptr.astype(np.int64, copy=False)


def _frame(frame: Any, labels: bool) -> Parts:
    yield from ("frame", frame.shape, list(frame.columns))
    if not hasattr(type(frame), "iloc"):
        yield from frame.get_columns()
        return
    if labels:
        yield frame.index
    dtypes = set(frame.dtypes)
    if len(dtypes) == 1 and frame.shape[1] > _WIDE:
        (dtype,) = dtypes
        if isinstance(dtype, np.dtype):
            yield frame.to_numpy()
            return
        if getattr(dtype, "fill_value", None) == 0:
            yield frame.sparse.to_coo()
            return
    for place in range(frame.shape[1]):
        yield frame.iloc[:, place].array


def _column(column: Any, labels: bool) -> Parts:
    yield from ("column", str(column.dtype), getattr(column, "name", None))
    if hasattr(type(column), "to_physical"):
        yield from _polars(column)
        return
    if labels and hasattr(type(column), "iloc"):
        yield column.index
    yield from _pandas(column)


def _polars(column: Any) -> Parts:
    if column.dtype.is_temporal():
        column = column.to_physical()
    dtype = column.dtype
    if hasattr(dtype, "fields"):
        yield from (np.asarray(column.is_null()), column.struct.unnest())
    elif (dtype.is_integer() or dtype.is_float()) and "128" not in str(dtype):
        yield np.asarray(column.is_null())
        yield column.fill_null(0).to_numpy()
    else:
        yield column.to_list()


def _pandas(column: Any) -> Parts:
    """Yield the values of a series, an index or an array of pandas."""
    if getattr(column, "nlevels", 1) > 1:
        for level in range(column.nlevels):
            yield column.get_level_values(level)
        return
    dtype = column.dtype
    array = getattr(column, "array", column)
    if hasattr(dtype, "pyarrow_dtype"):
        yield from _arrow(array.__arrow_array__())
    elif hasattr(dtype, "categories"):
        yield from (np.asarray(array.codes), dtype.categories, dtype.ordered)
    elif hasattr(dtype, "closed"):  # intervals
        yield from (array.left, array.right)
    elif dtype.kind in "mM" or hasattr(dtype, "freq"):  # moments, spans and periods
        yield np.asarray(array.view("i8"))
    elif hasattr(dtype, "storage"):  # text
        yield column.to_numpy(dtype=object, na_value=None).tolist()
    elif (
        getattr(dtype, "numpy_dtype", None) is not None and dtype.na_value is not np.nan
    ):
        plain = dtype.numpy_dtype
        yield np.asarray(column.isna())
        yield column.to_numpy(dtype=plain, na_value=plain.type(0))
    else:
        values = np.asarray(column)
        yield values.tolist() if values.dtype.hasobject else values


def _arrow(column: Any) -> Parts:
    if hasattr(column.type, "unit") or str(column.type).startswith("date"):
        column = column.cast(f"int{column.type.bit_width}")
    plain = np.dtype(column.type.to_pandas_dtype())
    if plain.kind in "biuf":
        yield np.asarray(column.is_null())
        yield column.fill_null(plain.type(0).item()).to_numpy()
    else:
        yield column.to_pylist()
