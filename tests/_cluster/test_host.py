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
from estimators import failing_setup, segfault, wait_for_go

from sklearn_mvrsm._cluster import host as host_module
from sklearn_mvrsm._cluster.host import HostConfig, HostReply, run_on_host
from sklearn_mvrsm._execution.child import decode, encode_task
from sklearn_mvrsm._execution.outcomes import Died, Raised, Returned, TimedOut
from sklearn_mvrsm._execution.payload import read_payload, write_payload

PATIENCE = 300.0


class FakeLiveness:
    """What a cluster says of a task and of its search."""

    def __init__(self, *, cancelled=False, over=False):
        self.cancelled = cancelled
        self.over = over

    def is_cancelled(self):
        return self.cancelled

    def is_over(self):
        return self.over


ALIVE = FakeLiveness()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("data") / "payload")
    write_payload(path, "some data")
    return np.fromfile(path, dtype=np.uint8)


@pytest.fixture(scope="module")
def config():
    yield HostConfig("shared", read_payload, None)
    host_module._hosts["shared"].close()


def run(config, fn, *args, liveness=ALIVE, timeout=None, data=None):
    return run_on_host(liveness, config, encode_task(fn, args), timeout, data)


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def pid(path):
    return os.getpid()


def child_of(report):
    return decode(report.outcome.value).value


def test_a_task_runs_in_a_child_that_stays(config, data):
    first = run(config, pid, data=data)
    again = run(config, pid)
    assert child_of(first) == child_of(again) != os.getpid()
    assert first.place == again.place
    assert first.place.endswith(f":{os.getpid()}:0")
    assert again.elapsed > 0.0


def test_a_task_finds_the_data(config, data):
    report = run(config, lambda path: read_payload(path), data=data)
    assert decode(report.outcome.value) == Returned("some data")


def test_errors_travel_as_they_do_from_any_child(config, data):
    report = run(config, lambda path: 1 / 0, data=data)
    outcome = decode(report.outcome.value)
    assert isinstance(outcome, Raised)
    assert isinstance(outcome.exception, ZeroDivisionError)


def test_a_fault_costs_the_child_only(config, data):
    run(config, pid, data=data)
    late = run(config, lambda path: time.sleep(60), timeout=0.2)
    crash = run(config, lambda path: segfault())
    assert isinstance(late.outcome, TimedOut)
    assert isinstance(crash.outcome, Died)
    assert late.elapsed >= 0.2
    assert isinstance(run(config, pid).outcome, Returned)


def meet(path, folder):
    """Note this process; wait for another one to do so too."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    until(lambda: len(os.listdir(folder)) == 2)
    return os.getpid()


def test_tasks_at_a_time_have_a_child_each(config, data, tmp_path):
    # As in a process of dask's with several threads.
    run(config, pid, data=data)
    with ThreadPoolExecutor(2) as executor:
        folder = str(tmp_path)
        reports = executor.map(lambda _: run(config, meet, folder), range(2))
        reports = list(reports)
    assert len({child_of(report) for report in reports}) == 2
    assert len({report.place for report in reports}) == 2


def note_and_hang(path, folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(600)


def test_a_cancelled_task_is_killed(config, data, tmp_path):
    place = run(config, pid, data=data).place
    liveness = FakeLiveness()
    with ThreadPoolExecutor(1) as executor:
        call = (run, config, note_and_hang, str(tmp_path))
        future = executor.submit(*call, liveness=liveness)
        until(lambda: os.listdir(tmp_path))
        liveness.cancelled = True
        report = future.result(PATIENCE)
    assert report.outcome is None
    assert report.elapsed > 0.0
    (child,) = os.listdir(tmp_path)
    with pytest.raises(ProcessLookupError):  # it does not wait for a next task
        os.kill(int(child), 0)
    again = run(config, pid)
    assert isinstance(again.outcome, Returned)
    assert again.place == place


def test_a_short_task_that_is_cancelled_costs_no_child(config, data, monkeypatch):
    child = child_of(run(config, pid, data=data))
    # shorter than a new child would take to start, on any machine
    monkeypatch.setattr(host_module.WorkerPool, "start_seconds", PATIENCE)
    liveness = FakeLiveness()
    with ThreadPoolExecutor(1) as executor:
        call = (run, config, lambda path: time.sleep(0.4))
        future = executor.submit(*call, liveness=liveness)
        until(lambda: host_module._hosts["shared"]._n_busy == 1)
        liveness.cancelled = True
        future.result(PATIENCE)
    assert child_of(run(config, pid)) == child


def test_a_task_that_is_cancelled_while_its_child_starts_leaves_the_child(
    data, tmp_path
):
    begun, folder = tmp_path / "begun", str(tmp_path)
    begun.mkdir()
    config = HostConfig("starting", lambda path: wait_for_go(folder), None)
    liveness = FakeLiveness()
    with ThreadPoolExecutor(1) as executor:
        call = (run, config, note_and_hang, str(begun))
        future = executor.submit(*call, liveness=liveness, data=data)
        until(lambda: "starting" in host_module._hosts)
        liveness.cancelled = True
        assert future.result(PATIENCE) == HostReply(f"{host_module._here()}:0")
    (tmp_path / "go").touch()
    host = host_module._hosts["starting"]
    ((slot, pool),) = host._idle
    assert isinstance(run(config, pid).outcome, Returned)
    assert host._idle == [(slot, pool)]
    assert os.listdir(begun) == []
    host.close()


def test_a_task_that_comes_after_the_end_is_not_begun(data, tmp_path):
    # As in a process that still imports when the search is over.
    late = FakeLiveness(cancelled=True, over=True)
    config = HostConfig("late", read_payload, None)
    call = (config, note_and_hang, str(tmp_path))
    assert run(*call, liveness=late, data=data).outcome is None
    assert "late" not in host_module._hosts
    assert os.listdir(tmp_path) == []


def test_without_data_there_is_nothing(config):
    report = run(replace(config, key="never heard of"), pid)
    assert report.outcome is None
    assert report.problem == ""


def test_a_child_that_is_set_up_sends_nothing_of_the_data(config, data):
    large = replace(config, key="large", setup=lambda path: bytes(10**7))
    run(large, pid, data=data)
    host = host_module._hosts["large"]
    ((_, pool),) = host._idle
    assert len(pickle.dumps(pool._slots[0].worker.ready.result())) < 500
    host.close()


def test_a_child_that_cannot_be_set_up_is_a_problem(config, data):
    broken = replace(config, key="broken", setup=lambda path: failing_setup())
    report = run(broken, pid, data=data)
    assert report.outcome is None
    assert "no such module" in report.problem
    host_module._hosts["broken"].close()
    assert "broken" not in host_module._hosts


def test_the_end_of_a_search_ends_its_hosts(data):
    config = HostConfig("short", read_payload, None)
    liveness = FakeLiveness()
    call = (run, config, lambda path: time.sleep(600))
    first = run(config, lambda path: path, liveness=liveness, data=data)
    data_path = child_of(first)
    host = host_module._hosts["short"]
    ((_, pool),) = host._idle
    pool._start_seconds = PATIENCE  # what was cancelled alone could go on for so long
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(*call, liveness=liveness)
        until(lambda: host._n_busy == 1)
        liveness.cancelled = liveness.over = True
        assert future.result(PATIENCE / 2).outcome is None
    until(lambda: "short" not in host_module._hosts and not os.path.exists(data_path))
    assert host._idle == []
    with pytest.raises(host_module.HostClosedError):
        host.run(ALIVE, b"", None)
    host.close()


def test_a_host_that_closes_is_replaced(data, config, monkeypatch):
    run(config, pid, data=data)
    old = host_module._hosts["shared"]
    monkeypatch.setattr(old._file, "_remove", lambda: None)  # does not come to an end
    old._ended.set()
    assert run(config, pid).outcome is None
    assert isinstance(run(config, pid, data=data).outcome, Returned)
    assert host_module._hosts["shared"] is not old
    monkeypatch.undo()
    old.close()
    assert "shared" in host_module._hosts


@pytest.mark.parametrize("over", [None, False])
def test_an_idle_host_closes_only_if_nobody_knows_of_its_search(
    data, monkeypatch, over, tmp_path
):
    monkeypatch.setattr(host_module, "_WATCH_SECONDS", 0.05)
    liveness = FakeLiveness(over=over)
    config = HostConfig(f"idle {over}", read_payload, None)
    folder = str(tmp_path)
    with ThreadPoolExecutor(1) as executor:
        call = (run, config, lambda path: wait_for_go(folder))
        future = executor.submit(*call, liveness=liveness, data=data)
        until(lambda: config.key in host_module._hosts)
        host = host_module._hosts[config.key]
        until(lambda: host._n_busy == 1)
        monkeypatch.setattr(host_module, "IDLE_SECONDS", 0.2)
        time.sleep(1.0)  # it is not idle meanwhile
        (tmp_path / "go").touch()
        assert isinstance(future.result(PATIENCE).outcome, Returned)
    if over is None:
        until(lambda: config.key not in host_module._hosts)
    else:
        assert not host._ended.wait(1.0)
        liveness.over = True
        assert host._ended.wait(PATIENCE)


def be_a_machine_that_is_retired(config, data, folder):
    """Run a task, and come to the end of this process."""
    run(config, note, folder, data=data)


def note(path, folder):
    Path(folder, "child").write_text(str(os.getpid()))
    Path(folder, "data").write_text(path)


def test_hosts_close_with_their_process(data, tmp_path):
    # As a worker of dask under its nanny; it must not wait for its child to end.
    config = HostConfig("retired", read_payload, None)
    process = multiprocessing.get_context("spawn").Process(
        target=be_a_machine_that_is_retired, args=(config, data, str(tmp_path))
    )
    process.daemon = True
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)
    assert not os.path.exists((tmp_path / "data").read_text())
