"""What a process of a cluster keeps for a search; this one plays the part."""

import multiprocessing
import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from estimators import failing_setup, segfault

from sklearn_mvrsm import _outpost
from sklearn_mvrsm._outcomes import Died, Raised, Returned, TimedOut
from sklearn_mvrsm._outpost import Mission, run_at_outpost
from sklearn_mvrsm._payload import read_payload, write_payload
from sklearn_mvrsm._process import decode, encode_task
from sklearn_mvrsm._tether import Tether, hold

PATIENCE = 60.0


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("data") / "payload")
    write_payload(path, "some data")
    return np.fromfile(path, dtype=np.uint8)


@pytest.fixture(scope="module")
def tether():
    tether = Tether()
    yield tether
    tether.close()


@pytest.fixture(scope="module")
def mission(tether, data):
    mission = Mission("shared", tether.number, read_payload, None)
    yield mission
    _outpost._outposts["shared"].close()


def run(mission, serial, fn, *args, timeout=None, data=None):
    return run_at_outpost(mission, serial, encode_task(fn, args), timeout, data)


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def pid(path):
    return os.getpid()


def child_of(report):
    return decode(report.outcome.value).value


def test_a_task_runs_in_a_child_that_stays(mission, data):
    first = run(mission, 0, pid, data=data)
    again = run(mission, 1, pid)
    assert child_of(first) == child_of(again) != os.getpid()
    assert first.place == again.place
    assert first.place.endswith(f":{os.getpid()}:0")
    assert again.elapsed > 0.0


def test_a_task_finds_the_data(mission, data):
    report = run(mission, 2, lambda path: read_payload(path), data=data)
    assert decode(report.outcome.value) == Returned("some data")


def test_errors_travel_as_they_do_from_any_child(mission, data):
    report = run(mission, 3, lambda path: 1 / 0, data=data)
    outcome = decode(report.outcome.value)
    assert isinstance(outcome, Raised)
    assert isinstance(outcome.exception, ZeroDivisionError)


def test_a_fault_costs_the_child_only(mission, data):
    run(mission, 4, pid, data=data)
    late = run(mission, 5, lambda path: time.sleep(60), timeout=0.2)
    crash = run(mission, 6, lambda path: segfault())
    assert isinstance(late.outcome, TimedOut)
    assert isinstance(crash.outcome, Died)
    assert late.elapsed >= 0.2
    assert isinstance(run(mission, 7, pid).outcome, Returned)


def meet(path, folder):
    """Note this process; wait for another one to do so too."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    until(lambda: len(os.listdir(folder)) == 2)
    return os.getpid()


def test_tasks_at_a_time_have_a_child_each(mission, data, tmp_path):
    # As in a process of dask's with several threads.
    run(mission, 10, pid, data=data)
    with ThreadPoolExecutor(2) as executor:
        folder = str(tmp_path)
        reports = executor.map(lambda k: run(mission, k, meet, folder), (11, 12))
        reports = list(reports)
    assert len({child_of(report) for report in reports}) == 2
    assert len({report.place for report in reports}) == 2


def note_and_hang(path, folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(600)


def test_a_task_that_is_not_wanted_any_more_is_killed(mission, tether, data, tmp_path):
    place = run(mission, 20, pid, data=data).place
    until(lambda: tether.n_held == 1)
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(run, mission, 21, note_and_hang, str(tmp_path))
        until(lambda: os.listdir(tmp_path))
        tether.cancel(21)
        assert future.result(PATIENCE).outcome is None
    (child,) = os.listdir(tmp_path)
    with pytest.raises(ProcessLookupError):  # it does not wait for a next task
        os.kill(int(child), 0)
    again = run(mission, 22, pid)
    assert isinstance(again.outcome, Returned)
    assert again.place == place


def test_a_short_task_that_is_not_wanted_any_more_costs_no_child(mission, tether, data):
    child = child_of(run(mission, 23, pid, data=data))
    until(lambda: tether.n_held == 1)
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(run, mission, 24, lambda path: time.sleep(0.4))
        until(lambda: _outpost._outposts["shared"]._n_busy == 1)
        tether.cancel(24)
        future.result(PATIENCE)
    assert child_of(run(mission, 25, pid)) == child


def test_a_task_that_is_given_up_while_its_child_starts_leaves_the_child(
    tether, data, tmp_path
):
    mission = Mission("starting", tether.number, read_payload, None)
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(
            run, mission, 28, note_and_hang, str(tmp_path), data=data
        )
        until(lambda: "starting" in _outpost._outposts)
        tether.cancel(28)
        assert future.result(PATIENCE).outcome is None
    outpost = _outpost._outposts["starting"]
    ((slot, pool),) = outpost._idle
    assert isinstance(run(mission, 29, pid).outcome, Returned)
    assert outpost._idle == [(slot, pool)]
    assert os.listdir(tmp_path) == []
    outpost.close()


def test_a_task_that_was_given_up_before_it_came_is_not_begun(
    mission, tether, data, tmp_path
):
    run(mission, 26, pid, data=data)
    tether.cancel(27)
    until(lambda: 27 in _outpost._outposts["shared"]._unwanted)
    assert run(mission, 27, note_and_hang, str(tmp_path)).outcome is None
    assert os.listdir(tmp_path) == []


def test_without_data_there_is_nothing(mission):
    report = run(replace(mission, key="never heard of"), 0, pid)
    assert report.outcome is None
    assert report.problem == ""


def test_a_child_that_is_set_up_sends_nothing_of_the_data(mission, data):
    large = replace(mission, key="large", setup=lambda path: bytes(10**7))
    run(large, 0, pid, data=data)
    outpost = _outpost._outposts["large"]
    ((_, pool),) = outpost._idle
    assert len(pickle.dumps(pool._slots[0].worker.ready.result())) < 500
    outpost.close()


def test_a_child_that_cannot_be_set_up_is_a_problem(mission, data):
    broken = replace(mission, key="broken", setup=lambda path: failing_setup())
    report = run(broken, 0, pid, data=data)
    assert report.outcome is None
    assert "no such module" in report.problem
    _outpost._outposts["broken"].close()
    assert "broken" not in _outpost._outposts


def test_the_end_of_a_search_ends_its_outposts(data):
    tether = Tether()
    mission = Mission("short", tether.number, read_payload, None)
    folder = os.path.dirname(child_path(run(mission, 0, path_of, data=data)))
    outpost = _outpost._outposts["short"]
    with ThreadPoolExecutor(1) as executor:
        until(lambda: tether.n_held == 1)
        future = executor.submit(run, mission, 1, lambda path: time.sleep(600))
        until(lambda: outpost._n_busy == 1)
        tether.close()
        assert future.result(PATIENCE).outcome is None
    until(lambda: "short" not in _outpost._outposts and not os.path.exists(folder))
    assert outpost._idle == []
    with pytest.raises(_outpost._NobodyHereError):
        outpost.run(2, b"", None)
    outpost.close()


def test_an_outpost_that_closes_is_replaced(data, mission, monkeypatch):
    run(mission, 40, pid, data=data)
    old = _outpost._outposts["shared"]
    monkeypatch.setattr(old._file, "_remove", lambda: None)  # does not come to an end
    old._ended.set()
    assert run(mission, 41, pid).outcome is None
    assert isinstance(run(mission, 42, pid, data=data).outcome, Returned)
    assert _outpost._outposts["shared"] is not old
    monkeypatch.undo()
    old.close()
    assert "shared" in _outpost._outposts


def path_of(path):
    return path


child_path = child_of


def test_an_outpost_without_a_line_closes_when_it_is_forgotten(data, monkeypatch):
    monkeypatch.setattr(_outpost, "IDLE_SECONDS", 0.5)
    tether = Tether()
    tether.close()
    mission = Mission("forgotten", tether.number, read_payload, None)
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(run, mission, 0, lambda path: time.sleep(2), data=data)
        assert isinstance(future.result(PATIENCE).outcome, Returned)
    until(lambda: "forgotten" not in _outpost._outposts)


def test_a_search_that_could_not_be_reached_is_called_again(data, monkeypatch):
    monkeypatch.setattr(_outpost, "_REDIAL_SECONDS", 0.1)
    calls = []

    def hold_later(number, on_cancel, on_end):
        calls.append(number)
        return len(calls) > 1 and hold(number, on_cancel, on_end)

    monkeypatch.setattr(_outpost, "hold", hold_later)
    tether = Tether()
    mission = Mission("far", tether.number, read_payload, None)
    run(mission, 0, pid, data=data)
    until(lambda: tether.n_held == 1)
    tether.close()
    until(lambda: "far" not in _outpost._outposts)
    assert calls == [tether.number] * 2


def be_a_machine_that_is_retired(mission, data, folder):
    """Run a task, and come to the end of this process."""
    run(mission, 0, note, folder, data=data)


def note(path, folder):
    Path(folder, "child").write_text(str(os.getpid()))
    Path(folder, "data").write_text(path)


def test_outposts_close_with_their_process(tether, data, tmp_path):
    # As a worker of dask under its nanny; it must not wait for its child to end.
    mission = Mission("retired", tether.number, read_payload, None)
    process = multiprocessing.get_context("spawn").Process(
        target=be_a_machine_that_is_retired, args=(mission, data, str(tmp_path))
    )
    process.daemon = True
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)
    assert not os.path.exists((tmp_path / "data").read_text())
