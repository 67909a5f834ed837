"""What watches over the workers of this process; test_faults has what it is for."""

import os
import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

import pytest

from sklearn_mvrsm._execution import watchdog as watchdog_module
from sklearn_mvrsm._execution.watchdog import Watchdog, suspended_seconds, watchdog


@pytest.fixture
def watch():
    watch = Watchdog().acquire()
    yield watch
    watch.release()


def until(condition):
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_its_process_lives_as_long_as_somebody_holds_it():
    watch = Watchdog().acquire()
    process = watch._reaper
    assert watch.acquire() is watch
    watch.release()
    assert process.poll() is None
    watch.release()
    assert process.poll() is not None


def test_its_process_is_started_again(watch):
    first = watch._reaper
    first.kill()
    until(lambda: watch._reaper is not first and watch._reaper.poll() is None)


def test_where_its_process_cannot_run_it_does_without(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(watchdog_module, "_BEAT_SECONDS", 0.01)
    watch = Watchdog().acquire()
    until(lambda: watch._n_starts > watchdog_module._MAX_STARTS)
    assert watch._reaper is None
    watch.release()


def test_each_worker_has_a_mark_and_each_watch_has_its_own(watch):
    marks = [watch.new_mark(), watch.new_mark(), Watchdog().new_mark()]
    assert len(set(marks)) == 3
    assert not any(a in b for a in marks for b in marks if a is not b)


def test_only_a_long_time_without_a_beat_is_a_suspension(monkeypatch):
    now = 100.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(watchdog_module, "time", clock)
    monkeypatch.setattr(watchdog_module, "_BEAT_SECONDS", 600.0)
    watch = Watchdog().acquire()
    assert watch.suspended_seconds() == 0.0
    now += 1.0
    assert watch.suspended_seconds() == 0.0
    now += 60.0
    assert watch.suspended_seconds() == 61.0
    watch.release()


def test_nothing_stands_still_that_is_not_watched():
    watch = Watchdog()
    watch._beat -= 60.0
    assert watch.suspended_seconds() == 0.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")
def test_a_forked_process_has_a_watch_of_its_own(monkeypatch):
    before = suspended_seconds()
    held = watchdog().acquire()
    process = held._reaper
    with warnings.catch_warnings():  # of the fork, where other tests left threads
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:
        try:
            held.release()  # as the end of a ``with`` block does
            own = watchdog().acquire()
            alive = own._reaper.poll() is None
            own.release()
            os._exit(0 if own is not held and alive else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    assert process.poll() is None
    held.release()
    assert isinstance(process, subprocess.Popen)
    assert suspended_seconds() >= before
