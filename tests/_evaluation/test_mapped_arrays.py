import functools
import os
import pickle
import shutil
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from sklearn_mvrsm._evaluation import mapped_arrays
from sklearn_mvrsm._evaluation.mapped_arrays import reduce_array
from sklearn_mvrsm._execution.payload import MIN_MAPPED, read_payload, write_payload

DATA = np.random.default_rng(0).normal(size=(30_000, 40))
TABLE = pd.DataFrame(DATA, copy=False)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "payload")


def write(path, value, by_path=False):
    write_payload(path, value, functools.partial(reduce_array, by_path=by_path))


class Own(np.ndarray):
    """A subclass that is pickled as its parent is."""


class Named(np.ndarray):
    """A subclass that adds to its pickle."""

    name = ""

    def __reduce__(self):
        function, arguments, state = super().__reduce__()
        return function, arguments, (state, self.name)

    def __setstate__(self, state):
        super().__setstate__(state[0])
        self.name = state[1]


ARRAYS = {
    "rows": DATA,
    "columns": np.asfortranarray(DATA),
    "all columns but one": DATA[:, :-1],
    "of columns": np.asfortranarray(DATA)[1:],
    "every other row": DATA[::2],
    "reversed": DATA[::-1, ::-1],
    "reversed with gaps": DATA[::-2, 3:],
    "transposed": DATA[:, 3:].T,
    "three axes": DATA.reshape(300, 100, 40).transpose(2, 0, 1)[1:],
    "one column": DATA.repeat(20, axis=0)[:, 3],
    "big-endian": DATA.astype(">f8")[:, 1:],
    "dates": DATA.astype("datetime64[ns]")[:, 1:],
    "times": DATA.astype("timedelta64[s]"),
    "texts": DATA.astype("U8")[:, 1:],
    "records": np.rec.fromarrays([DATA.ravel(), DATA.ravel()], names="a,b")[1:],
    "a field of records": np.zeros(500_000, dtype="i1,f8")["f1"],
    "imaginary parts": (DATA + 1j).imag,
    "small numbers": DATA.repeat(4, axis=0).astype(np.float16)[:, 1:],
    "matrix": DATA[:, 1:].view(np.matrix),
    "subclass": DATA.view(Own)[:, 1:],
    "masked": np.ma.masked_array(DATA, DATA > 0, fill_value=7.0)[:, 1:],
    "without a mask": np.ma.masked_array(DATA)[1:],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_any_layout_are_mapped(path, name):
    array = ARRAYS[name]
    tracemalloc.start()
    write(path, array)
    copied = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert copied < MIN_MAPPED  # it is written in pieces
    tracemalloc.start()
    read = read_payload(path)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < MIN_MAPPED
    assert not read.flags.writeable
    assert type(read) is type(array)
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)
    np.testing.assert_array_equal(np.ma.getmask(read), np.ma.getmask(array))
    assert np.argsort(np.abs(read.strides)).tolist() == (
        np.argsort(np.abs(array.strides)).tolist()
    )
    mask = np.ma.getmaskarray(array).nbytes if np.ma.isMA(array) else 0
    assert os.path.getsize(path) < array.nbytes + mask + 10_000


@pytest.mark.parametrize(
    ("array", "n_bytes"),
    [
        (np.broadcast_to(3.0, (10**9,)), 8),
        (np.broadcast_to(DATA[0], (10**6, 40)), 320),
        (np.broadcast_to(DATA, (9, *DATA.shape)), DATA.nbytes),
        (np.broadcast_to(DATA[:, ::2], (9, 30_000, 20)), DATA.nbytes / 2),
        (sliding_window_view(DATA.ravel(), 1000), DATA.nbytes),
    ],
)
def test_elements_that_are_there_once_are_written_once(path, array, n_bytes):
    write(path, array)
    assert os.path.getsize(path) < n_bytes + 10_000
    read = read_payload(path)
    assert read.shape == array.shape
    assert not read.flags.writeable
    np.testing.assert_array_equal(read[..., -1], array[..., -1])
    np.testing.assert_array_equal(read[-1], array[-1])


def test_an_array_that_is_there_twice_is_written_once(path):
    view = DATA[:, 1:]
    write(path, [view, {"again": view}])
    first, second = read_payload(path)
    assert first is second["again"]
    assert os.path.getsize(path) < view.nbytes + 10_000


def test_arrays_with_a_pickle_of_their_own_keep_it(path):
    named = DATA.view(Named)
    named.name = "mine"
    write(path, [named, np.array([None, 2] * 10**6, dtype=object), DATA[:3, 1:]])
    read, objects, small = read_payload(path)
    assert type(read) is Named
    assert read.name == "mine"
    np.testing.assert_array_equal(read, named)
    assert objects.tolist() == [None, 2] * 10**6
    assert small.flags.writeable


FRAMES = {
    "table": TABLE,
    "some columns": TABLE[[3, 7, 9]],
    "all columns but one": TABLE.iloc[:, :-1],
    "every other row": TABLE.iloc[::2],
    "of an array with gaps": pd.DataFrame(DATA[:, :-1], copy=False),
    "kinds": pd.DataFrame(
        {
            "category": pd.Categorical(np.arange(2_000_000) % 300),
            "date": pd.to_datetime(np.arange(2_000_000)),
            "zone": pd.to_datetime(np.arange(2_000_000)).tz_localize("UTC"),
            "missing": pd.array([1, None] * 1_000_000, dtype="Int64"),
        }
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_columns_of_pandas_are_mapped(path, name):
    frame = FRAMES[name]
    tracemalloc.start()
    write(path, frame)
    copied = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert copied < MIN_MAPPED
    tracemalloc.start()
    read = read_payload(path)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < MIN_MAPPED
    pd.testing.assert_frame_equal(read, frame)


def test_blocks_of_an_unknown_pandas_are_pickled_as_pandas_does(monkeypatch):
    restorer = mapped_arrays._restorer_of_blocks.__wrapped__
    kind = type(TABLE._mgr.blocks[0])
    assert restorer()[0] is kind
    monkeypatch.setattr(kind, "__reduce__", lambda self: (kind, ("other", "parts")))
    assert restorer() is None


def test_numbers_of_polars_are_mapped(path):
    numbers = pl.DataFrame(
        {"a": DATA.ravel(), "b": np.arange(1_200_000, dtype=np.int32)}
    )
    others = {"c": ["text"] * 1_200_000, "d": [None, 1.5] * 600_000}
    frame = pl.concat([numbers, numbers], rechunk=False).with_columns(
        **{name: pl.Series(2 * values) for name, values in others.items()}
    )
    write(path, frame)
    read = read_payload(path)
    assert read.equals(frame)
    assert read.schema == frame.schema
    write(path, frame[["a", "b"]])
    assert inside(path) < 10_000
    assert read_payload(path).equals(frame[["a", "b"]])


def inside(path):
    """How many bytes of a payload are read, and not mapped."""
    with open(path, "rb") as file:
        start = int.from_bytes(file.read(8), "little")
        file.seek(start)
        return pickle.load(file)[0]


def test_sparse_tables_are_mapped(path):
    table = sparse.random(3000, 3000, 0.1, format="csr", random_state=0)
    write(path, table)
    assert inside(path) < 100_000
    assert (read_payload(path) != table).nnz == 0


# -------------------------------------------------------------- mapped by their path


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "data.npy", DATA)
    return np.load(tmp_path / "data.npy", mmap_mode="r+")


@pytest.mark.parametrize(
    "cut",
    [
        lambda data: data,
        lambda data: data[5:, ::-2],
        lambda data: np.asarray(data).T,
        lambda data: pd.DataFrame(data[:, 1:], copy=False),
    ],
)
def test_what_is_mapped_from_a_file_is_not_copied(path, mapped, cut):
    data = cut(mapped)
    write(path, data, by_path=True)
    assert os.path.getsize(path) < 10_000
    read = read_payload(path)
    np.testing.assert_array_equal(read, data)
    assert type(read) is type(data)
    write(path, data)
    assert os.path.getsize(path) > np.asarray(data).nbytes
    np.testing.assert_array_equal(read_payload(path), data)


def test_what_was_changed_in_memory_only_is_copied(path, tmp_path, mapped):
    data = np.load(mapped.filename, mmap_mode="c")
    data[0, 0] = 42.0
    write(path, data, by_path=True)
    assert read_payload(path)[0, 0] == 42.0


@pytest.mark.parametrize("happens", ["removed", "replaced"])
def test_a_file_that_is_another_one_by_now_is_not_read(path, mapped, happens):
    expected = np.array(mapped)
    os.remove(mapped.filename)
    if happens == "replaced":
        np.save(mapped.filename, np.zeros_like(DATA))
    write(path, mapped, by_path=True)
    np.testing.assert_array_equal(read_payload(path), expected)


def test_a_file_that_is_replaced_later_is_refused(path, mapped, tmp_path):
    write(path, mapped, by_path=True)
    np.save(tmp_path / "other.npy", DATA)
    shutil.move(tmp_path / "other.npy", mapped.filename)
    with pytest.raises(OSError, match=r"data.npy', which is another file now"):
        read_payload(path)
