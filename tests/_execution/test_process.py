"""What runs in a worker, run here; test_workers runs it there."""

import copyreg
import faulthandler
import gc
import os
import pickle
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing import Pipe

import awkward
import pytest
from estimators import OwnError, UnpicklableError

from sklearn_mvrsm._execution import child, process
from sklearn_mvrsm._execution.child import decode, encode_task, run_encoded, set_up
from sklearn_mvrsm._execution.outcomes import OutOfMemory, Raised, Returned, attempt

posix_only = pytest.mark.skipif(
    os.name != "posix",
    reason="os.setpgid, os.killpg and signal.pthread_sigmask are POSIX's",
)


def raise_(error):
    raise error


def travel(fn, *args, timeout=None, memory_limit=None):
    answer = run_encoded(encode_task(fn, args), timeout, memory_limit)
    return pickle.loads(pickle.dumps(answer))


def test_a_value_travels():
    assert decode(travel(divmod, 7, 3)) == Returned((2, 1))


def test_the_time_taken_travels():
    start = time.monotonic()
    elapsed = travel(time.sleep, 0.05).elapsed
    assert 0.05 <= elapsed <= time.monotonic() - start


def test_an_exception_travels_as_what_it_was():
    outcome = decode(travel(raise_, OwnError("why", 3)))
    assert type(outcome.exception) is OwnError
    assert outcome.exception.args == ("why", 3)
    assert outcome.message == "('why', 3)"
    assert "in raise_" in outcome.traceback


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: UnpicklableError(1, 2), id="does not load"),
        pytest.param(lambda: OwnError(threading.Lock()), id="does not dump"),
        pytest.param(lambda: OwnError(bytes(10**7)), id="too large"),
    ],
)
def test_an_exception_that_does_not_travel_well_becomes_text(make, monkeypatch):
    # distributed, where it is imported, has tblib teach exceptions to travel
    for kind in (UnpicklableError, OwnError):
        monkeypatch.delitem(copyreg.dispatch_table, kind, raising=False)
    outcome = decode(travel(lambda: raise_(make())))
    assert isinstance(outcome, Raised)
    assert outcome.type_name in outcome.traceback
    assert outcome.exception is None


@pytest.mark.parametrize("fault", awkward.FAULTS)
def test_any_exception_travels_at_least_as_text(fault):
    there = attempt(awkward.FAULTS[fault])
    outcome = decode(travel(awkward.FAULTS[fault]))
    assert outcome == there
    assert type(outcome.exception) in (type(there.exception), type(None))


def test_an_interrupt_that_a_task_raises_is_an_error():
    assert decode(travel(raise_, KeyboardInterrupt("why"))).type_name == (
        "KeyboardInterrupt"
    )


def test_a_value_that_cannot_be_pickled_is_an_error():
    outcome = decode(travel(threading.Lock))
    assert isinstance(outcome, Raised)
    assert "pickle" in outcome.message


class LoadsOnce:
    """Cannot be restored where it arrives."""

    def __reduce__(self):
        return raise_, (OwnError("not here"),)


def test_a_value_that_cannot_be_restored_here_is_an_error():
    outcome = decode(travel(LoadsOnce))
    assert isinstance(outcome, Raised)
    assert outcome.message == "not here"


def test_a_task_that_cannot_be_restored_there_is_an_error():
    outcome = decode(travel(print, LoadsOnce()))
    assert isinstance(outcome, Raised)
    assert outcome.message == "not here"


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux keeps RLIMIT_AS; test_outcomes.py holds the refusal elsewhere",
)
def test_a_memory_limit_is_an_outcome_that_travels():
    outcome = decode(travel(bytearray, 10**9, memory_limit=10**8))
    assert isinstance(outcome, OutOfMemory)


def test_a_limit_sets_the_alarm_of_last_resort_and_lifts_it(monkeypatch):
    calls = []
    monkeypatch.setattr(
        faulthandler,
        "dump_traceback_later",
        lambda seconds, **kwargs: calls.append((seconds, kwargs["exit"])),
    )
    monkeypatch.setattr(
        faulthandler, "cancel_dump_traceback_later", lambda: calls.append("lifted")
    )
    travel(raise_, OwnError(), timeout=2.0)
    assert calls == [(2.0 + child.GRACE, True), "lifted"]
    calls.clear()
    travel(divmod, 7, 3)
    assert calls == []
    travel(divmod, 7, 3, timeout=float("inf"))
    assert calls[0][0] < 1e9


@pytest.fixture
def unfrozen():
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_setup_hides_what_it_leaves_from_the_collector():
    assert decode(set_up(encode_task(divmod, (7, 3)))) == Returned(None)
    assert gc.get_freeze_count() > 10_000


@pytest.mark.usefixtures("unfrozen")
@pytest.mark.parametrize(
    "setup", [partial(bytes, 10**7), threading.Lock], ids=["large", "cannot travel"]
)
def test_the_answer_of_a_setup_carries_nothing_of_its_value(setup):
    answer = set_up(encode_task(setup, ()))
    assert decode(answer) == Returned(None)
    assert len(pickle.dumps(answer)) < 500


@pytest.mark.usefixtures("unfrozen")
def test_a_setup_that_fails_says_so():
    answer = set_up(encode_task(raise_, (OwnError("no such module"),)))
    assert "no such module" in decode(answer).message


class Ended:
    """Stands in for a process that is gone."""

    def __init__(self, exitcode):
        self.exitcode = exitcode
        self.pid = 2**22 + 1  # of no process

    def join(self, timeout):
        assert timeout > 0.0


@pytest.mark.parametrize(
    ("exitcode", "words"),
    [
        (3, "exit code 3"),
        (-11, "signal SIGSEGV"),
        (-63, "signal 63"),
        (None, "an unknown exit code"),
    ],
)
def test_an_end_is_put_into_words(exitcode, words):
    worker = object.__new__(process.WorkerProcess)
    worker._process = Ended(exitcode)
    assert worker.how_it_ended() == words


def test_elsewhere_the_tree_of_processes_is_killed(monkeypatch):
    trees = []
    monkeypatch.setattr(os, "name", "nt")
    monkeypatch.setattr(process, "kill_process_tree", trees.append)
    monkeypatch.setattr(process.WorkerProcess, "is_alive", True)
    worker = object.__new__(process.WorkerProcess)
    worker._process, worker._killed = Ended(None), False
    worker._resources = process.Resources()
    worker.discard()
    worker.discard()
    assert trees == [worker._process]
    with process._interrupts_blocked():
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@posix_only
def test_a_process_gets_a_group_and_forgets_interrupts(monkeypatch):
    groups, watches = [], []
    monkeypatch.setattr(os, "setpgid", lambda *args: groups.append(args))
    monkeypatch.setattr(child, "forbid_recycling", lambda: None)
    monkeypatch.setattr(child, "_watch_parent", lambda *args: watches.append(args))
    handler = signal.getsignal(signal.SIGINT)
    try:
        with process._interrupts_blocked():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            child.enter_process("lifeline", 42, None)
            assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGINT, handler)
    for thread in threading.enumerate():
        if thread.name == "watch-parent":
            thread.join()
    assert groups == [(0, 0)]
    assert watches == [("lifeline", 42)]


@posix_only
@pytest.mark.parametrize("what_happens", ["pipe ends", "parent changes"])
def test_a_process_ends_its_group_once_the_parent_is_gone(monkeypatch, what_happens):
    killed = []
    monkeypatch.setattr(os, "killpg", lambda *args: killed.append(args))
    monkeypatch.setattr(child, "_WATCH_SECONDS", 0.01)
    reader, writer = Pipe(duplex=False)
    with reader, writer:
        parents = [42] * 3
        if what_happens == "parent changes":
            monkeypatch.setattr(os, "getppid", lambda: parents.pop() if parents else 1)
        else:
            monkeypatch.setattr(os, "getppid", lambda: 42)
        watch = threading.Thread(target=child._watch_parent, args=(reader, 42))
        watch.start()
        if what_happens == "pipe ends":
            time.sleep(0.05)
            assert killed == []
            writer.close()
        watch.join(60.0)
    assert killed == [(0, signal.SIGKILL)]
