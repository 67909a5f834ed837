import os
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from sklearn_mvrsm._execution.payload import (
    MIN_MAPPED,
    PayloadCopy,
    PayloadFile,
    read_payload,
    write_payload,
)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "payload")


def test_what_is_written_is_read(path):
    rng = np.random.default_rng(0)
    big = rng.normal(size=(400, 400))
    content = {
        "big": big,
        "fortran": np.asfortranarray(big),
        "strided": big[::2, ::3],
        "small": rng.normal(size=3),
        "objects": np.array(["a", None, (1, 2)], dtype=object),
        "sparse": sparse.random(3000, 300, 0.3, format="csr", random_state=0),
        "pandas": pd.DataFrame(big, columns=[f"x{k}" for k in range(400)]),
        "polars": pl.DataFrame({"a": big.ravel()}),
        "list": [[1.0, 2.0], [3.0, 4.0]],
    }
    write_payload(path, content)
    read = read_payload(path)
    for name in ("big", "fortran", "strided", "small", "objects"):
        np.testing.assert_array_equal(read[name], content[name])
    assert (read["sparse"] != content["sparse"]).nnz == 0
    pd.testing.assert_frame_equal(read["pandas"], content["pandas"])
    assert read["polars"].equals(content["polars"])
    assert read["list"] == content["list"]


def test_large_arrays_are_mapped_and_small_ones_are_copied(path):
    large, small = np.zeros(MIN_MAPPED // 8), np.zeros(MIN_MAPPED // 8 - 1)
    write_payload(path, (large, small, large))
    read_large, read_small, again = read_payload(path)
    assert not read_large.flags.writeable
    assert np.shares_memory(read_large, again)
    assert read_small.flags.writeable
    assert os.path.getsize(path) < large.nbytes + small.nbytes + 10_000
    assert read_large.ctypes.data % 64 == 0


def test_functions_without_a_module_are_carried(path):
    write_payload(path, lambda x: x + 1)
    assert read_payload(path)(2) == 3


def test_the_file_goes_with_the_block():
    with PayloadFile({"a": 1}) as file:
        folder = os.path.dirname(file.path)
        assert read_payload(file.path) == {"a": 1}
        assert os.stat(folder).st_mode & 0o077 == 0
    assert not os.path.exists(folder)


def test_nothing_is_left_of_what_cannot_be_pickled(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(TypeError, match="pickle"), PayloadFile(threading.Lock()):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("platform", [sys.platform, "another"])
def test_a_copy_reads_as_the_file_does(platform, tmp_path, monkeypatch):
    content = {"big": np.arange(1_000_000.0), "small": "text"}
    with PayloadFile(content) as file:
        data = np.fromfile(file.path, np.uint8)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    with PayloadCopy(data) as copy:
        path = copy.path
        read = read_payload(path)
        # what has no name is gone when this process is, even if that is killed
        assert bool(list(tmp_path.iterdir())) == (platform != "linux")
    np.testing.assert_array_equal(read["big"], content["big"])
    assert read["small"] == "text"
    assert not os.path.exists(path)
    assert not list(tmp_path.iterdir())
