from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import pytest

from sklearn_mvrsm._execution.child import encode_task, run_encoded
from sklearn_mvrsm._execution.outcomes import (
    Died,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
)
from sklearn_mvrsm._execution.pool import InlinePool
from sklearn_mvrsm._execution.tasks import Run, Task
from sklearn_mvrsm._execution.watchdog import watchdog


class DeadWorker:
    """Stands in for a process that ended."""

    def __init__(self, how):
        self.how_it_ended = lambda: how


def run(*, result=None, error=None, how="", limit=None, took=0.5):
    future = Future()
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
    task = Task("a", b"", limit)
    return Run(task, DeadWorker(how), 0, 10.0, None, future, 10.0 + took)


def answer(fn, *args):
    return run_encoded(encode_task(fn, args), None, None)


def test_an_answer_is_an_outcome():
    ended = run(result=answer(divmod, 7, 3), limit=60.0)
    assert ended.outcome() == Returned((2, 1))
    assert ended.is_healthy()


def test_the_worker_measures_the_limit():
    late = answer(divmod, 7, 3)
    ended = run(result=late, limit=late.elapsed / 2)
    assert ended.outcome() == TimedOut(late.elapsed / 2, late.elapsed)
    assert not ended.is_healthy()


@pytest.mark.parametrize(
    ("how", "outcome"),
    [
        ("exit code 3", Died("the worker died with exit code 3")),
        ("signal SIGSEGV", Died("the worker died with signal SIGSEGV")),
    ],
)
def test_a_death_is_told_by_its_signal(how, outcome):
    ended = run(error=BrokenProcessPool(), how=how, limit=60.0)
    assert ended.outcome() == outcome
    assert ended.worker_died()
    assert not ended.is_healthy()


@pytest.mark.parametrize(
    ("lives", "kind"), [(False, OutOfMemory), (True, Died)], ids=["gone", "alive"]
)
def test_a_kill_for_a_lost_connection_is_no_want_of_memory(lives, kind):
    ended = run(error=BrokenProcessPool(), how="signal SIGKILL")
    ended.worker.ends_within = lambda seconds: not lives
    ended.note_end()
    assert isinstance(ended.outcome(), kind)
    assert ended.finished > 0.0


def test_a_kill_by_somebody_else_is_probably_for_memory():
    outcome = run(error=BrokenProcessPool(), how="signal SIGKILL").outcome()
    assert isinstance(outcome, OutOfMemory)
    assert "probably" in outcome.message


def test_a_worker_that_ended_itself_past_its_limit_was_late():
    ended = run(error=BrokenProcessPool(), how="exit code 1", limit=0.4, took=0.5)
    assert ended.outcome() == TimedOut(0.4, 0.5)


def test_a_task_that_could_not_be_sent_is_an_error():
    ended = run(error=ValueError("too large"))
    assert isinstance(ended.outcome(), Raised)
    assert ended.outcome().message == "too large"
    assert not ended.worker_died()
    assert not ended.is_healthy()


@pytest.fixture
def stop(monkeypatch):
    """Return what has this process seem to be stopped for so many seconds."""

    def stop(seconds):
        watch = watchdog()
        monkeypatch.setattr(watch, "_suspended", watch._suspended + seconds)

    return stop


def test_time_for_which_the_caller_was_stopped_is_not_charged(stop):
    late = answer(divmod, 7, 3)
    ended = run(result=replace(late, elapsed=5.0), limit=2.0)
    ended.deadline = 12.0
    stop(4.0)
    assert [ended.kill_time(ready) for ready in (True, False)] == [16.0, 16.0]
    ended.patience_ends = 11.0, 20.0
    assert [ended.kill_time(ready) for ready in (True, False)] == [15.0, 16.0]
    assert ended.outcome() == Returned((2, 1))
    assert ended.is_healthy()


def test_the_first_start_of_a_pool_is_later_by_what_the_caller_was_stopped(stop):
    pool = InlinePool()
    assert pool.first_start is None
    stop(100.0)  # before it began
    for number in (1, 2):
        pool.submit(number, abs, number)
    first = pool.next_event()
    stop(4.0)
    assert pool.first_start == pytest.approx(first.started + 4.0, abs=1e-6)
    pool.next_event()
    assert pool.first_start == pytest.approx(first.started + 4.0, abs=1e-6)


@pytest.mark.parametrize(("took", "cut_short"), [(5.0, True), (7.0, False)])
def test_a_worker_that_ended_itself_for_a_suspension_was_not_late(
    stop, took, cut_short
):
    ended = run(error=BrokenProcessPool(), how="exit code 1", limit=2.0, took=took)
    assert not ended.was_cut_short()
    stop(4.0)
    assert ended.was_cut_short() == cut_short


def test_want_of_memory_waits_for_consent():
    assert not run(result=answer(bytearray, 10**15)).is_healthy()
