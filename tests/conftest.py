"""Fixtures that several test modules use."""

import signal

import pytest
from threadpoolctl import threadpool_limits

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # as in the background of a shell; tests of interrupts would wait for ever
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread():
    """One thread of BLAS in this process: tables are tiny, and cores may be busy."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def plt():
    """Matplotlib without a screen, and no figure left open."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not there")
    pyplot.close("all")  # what a test that failed has left
    pyplot.switch_backend("Agg")
    yield pyplot
    pyplot.close("all")
