import pickle
import re
import sys

import awkward
import numpy as np
import pytest

from sklearn_mvrsm._execution.outcomes import (
    LONGEST_TEXT,
    OutOfMemory,
    Raised,
    Returned,
    attempt,
    memory_limit_problem,
    memory_limited,
    shortened,
)

linux_only = pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux keeps RLIMIT_AS; limits are refused elsewhere, as held below",
)


def raise_(error):
    raise error


def raise_from(error, cause):
    raise error from cause


def test_a_value_is_returned():
    assert attempt(divmod, (7, 3)) == Returned((2, 1))


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit("bad")])
def test_an_exception_is_described(error):
    outcome = attempt(raise_, (error,))
    assert outcome == Raised(type(error).__name__, "bad", outcome.traceback)
    assert outcome.exception is error
    assert outcome.traceback.endswith(f"{type(error).__name__}: bad\n")
    assert "in raise_" in outcome.traceback
    assert "in attempt" not in outcome.traceback


def test_an_interrupt_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        attempt(raise_, (KeyboardInterrupt(),))


@pytest.mark.parametrize("fault", awkward.FAULTS)
def test_any_exception_is_described(fault):
    outcome = attempt(awkward.FAULTS[fault])
    assert isinstance(outcome, Raised)
    said = outcome.type_name, outcome.message, outcome.traceback
    assert pickle.loads(pickle.dumps(said)) == said
    assert all(type(text) is str and text.encode() for text in said)
    assert outcome.type_name in outcome.traceback
    assert f"in {fault}" in outcome.traceback
    assert len(outcome.traceback) < 100_000


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("none left"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("bad_malloc: Failed to allocate 279991040 bytes."),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        OSError("Cannot allocate memory"),
        OSError(12, "as the system says it, in any language"),
        type("XGBoostError", (ValueError,), {})("gpu.cu:60: std::bad_alloc: none"),
    ],
)
def test_want_of_memory_is_recognised(error):
    outcome = attempt(raise_, (error,))
    assert isinstance(outcome, OutOfMemory)
    assert str(error) in outcome.message
    wrapped = attempt(raise_from, (ValueError("the fit failed"), error))
    assert isinstance(wrapped, OutOfMemory)
    assert str(error) in wrapped.traceback


@pytest.mark.parametrize("kind", [ValueError, MemoryError])
def test_long_texts_lose_their_middle(kind):
    error = kind("begin" + "x" * 1_000_000 + "end")
    error.add_note("a note" + "y" * 1_000_000)
    outcome = attempt(raise_, (error,))
    whole = f"MemoryError: {error}" if kind is MemoryError else str(error)
    left, n_cut, right = re.fullmatch(
        r"(.*) \[\.\.\. (\d+) characters left out \.\.\.\] (.*)", outcome.message
    ).groups()
    assert whole.startswith(left)
    assert whole.endswith(right)
    assert len(left) + int(n_cut) + len(right) == len(whole)
    assert 9_900 < len(outcome.message) <= LONGEST_TEXT
    assert 9_900 < len(outcome.traceback) <= LONGEST_TEXT
    assert f"{kind.__name__}: beginxxx" in outcome.traceback
    assert outcome.traceback.endswith("yyy\n")
    assert shortened("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT


def test_want_of_memory_is_recognised_in_a_group_and_behind_a_cycle():
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    group = ExceptionGroup("group", [first, MemoryError("none left")])
    assert isinstance(attempt(raise_, (group,)), OutOfMemory)
    assert isinstance(attempt(raise_from, (ValueError("bad"), group)), OutOfMemory)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("'out of memory' is none of the labels"),
        KeyError("bad_alloc"),
        RuntimeError("the text has no label: " + 99 * "word " + "out of memory"),
    ],
)
def test_words_about_memory_need_not_mean_it(error):
    assert isinstance(attempt(raise_, (error,)), Raised)


@linux_only
def test_a_memory_limit_holds_for_one_task_only():
    n_bytes = 1_500_000_000
    assert isinstance(attempt(bytearray, (n_bytes,), n_bytes // 2), OutOfMemory)
    assert isinstance(attempt(bytearray, (n_bytes,), 2 * n_bytes), Returned)
    assert isinstance(attempt(bytearray, (n_bytes,)), Returned)


@linux_only
def test_a_memory_limit_never_loosens_the_users_own():
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    tight = 2**40
    resource.setrlimit(resource.RLIMIT_AS, (tight, hard))
    try:
        with memory_limited(2**50):
            assert resource.getrlimit(resource.RLIMIT_AS) == (tight, hard)
        with memory_limited(2**20):
            assert resource.getrlimit(resource.RLIMIT_AS)[0] < tight
        assert resource.getrlimit(resource.RLIMIT_AS) == (tight, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_a_memory_limit_counts_from_what_is_used_already():
    ballast = np.ones(20_000_000)
    assert isinstance(attempt(np.ones, (1_000_000,), 100_000_000), Returned)
    assert ballast[0] == 1.0


def test_platforms_that_cannot_limit_memory_say_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert memory_limit_problem() == ""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "only Linux" in memory_limit_problem()
    assert "darwin" in memory_limit_problem()
    with memory_limited(1):
        assert len(bytes(1_000_000)) == 1_000_000
