"""Fixtures that several test modules use."""

import signal

import pytest
import sklearn.ensemble  # noqa: F401  its OpenMP is there before threads are limited
from threadpoolctl import threadpool_limits

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
def plt():
    """Matplotlib without a screen, and no figure left open."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not there")
    pyplot.close("all")  # what a test that failed has left
    pyplot.switch_backend("Agg")
    yield pyplot
    pyplot.close("all")
