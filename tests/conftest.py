"""Fixtures that several test modules use."""

import pytest


@pytest.fixture
def plt():
    """Matplotlib without a screen, and no figure left open."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not there")
    pyplot.close("all")  # what a test that failed has left
    pyplot.switch_backend("Agg")
    yield pyplot
    pyplot.close("all")
