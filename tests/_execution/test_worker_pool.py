"""Laws of the pool. Its workers take seconds to start, so tests share them."""

import ctypes
import errno
import os
import signal
import struct
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial

import pytest
from estimators import (
    OwnError,
    UnpicklableError,
    exit_code,
    failing_setup,
    fresh_death,
    segfault,
    setup_that_fails_second,
    sigkill,
    sleep_forever,
    wait_for_go,
)

from sklearn_mvrsm._execution import pool as pool_module
from sklearn_mvrsm._execution import process as process_module
from sklearn_mvrsm._execution import worker_pool
from sklearn_mvrsm._execution.child import encode_task
from sklearn_mvrsm._execution.outcomes import (
    Died,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
)
from sklearn_mvrsm._execution.pool import InlinePool
from sklearn_mvrsm._execution.process import LEAD, WorkerProcess
from sklearn_mvrsm._execution.watchdog import suspended_seconds, watchdog
from sklearn_mvrsm._execution.worker_pool import WorkerPool

pytestmark = pytest.mark.filterwarnings("error")
posix_only = pytest.mark.skipif(
    os.name != "posix",
    reason="Windows has neither SIGKILL nor an exit code that names a signal",
)

PATIENCE = 300.0


@pytest.fixture(scope="module")
def shared_pool():
    with WorkerPool(2, env={"MVRSM_TEST_VARIABLE": "seen"}) as pool:
        yield pool


@pytest.fixture
def pool(shared_pool):
    yield shared_pool
    assert shared_pool.next_event(PATIENCE) is None, "the test left a task behind"


@pytest.fixture(params=["processes", "inline"])
def any_pool(request):
    if request.param == "inline":
        with InlinePool() as pool:
            yield pool
    else:
        yield request.getfixturevalue("pool")


def collect(pool):
    """Return all events that are still to come, by task."""
    events = {}
    while (event := pool.next_event(PATIENCE)) is not None:
        assert event.task_id not in events
        events[event.task_id] = event
    return events


def outcomes(pool):
    return {task_id: event.outcome for task_id, event in collect(pool).items()}


def until(condition):
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def ran_before(pool, ready=2):
    """Wait until so many slots are ready."""

    def warm():
        for k in range(ready):  # a worker is only started where there is a task for it
            pool.submit(("warm", k), os.getpid)
        collect(pool)
        return n_idle(pool) >= ready

    until(lambda: n_idle(pool) >= ready or warm())


def n_idle(pool):
    return sum(slot.run is None and slot.is_ready for slot in pool._slots)


def until_spare_is_ready(pool):
    ran_before(pool)
    while not pool._spare.is_ready:
        near_its_limit(pool)
        collect(pool)


def near_its_limit(pool):
    """Submit a task for which a spare is due, as if workers took so long to start."""
    pool._start_seconds = PATIENCE
    pool.submit("near its limit", time.sleep, 0.05, timeout=PATIENCE)


def meet(folder):
    """Wait until two tasks run at a time; return the process of this one."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    until(lambda: len(os.listdir(folder)) > 1)
    return os.getpid()


@pytest.fixture
def never_stopped(monkeypatch):
    """Charge limits also for the time for which this process seems to be stopped."""
    seconds = suspended_seconds()
    monkeypatch.setattr(watchdog(), "suspended_seconds", lambda: seconds)


def raise_(error):
    raise error


# ------------------------------------------------------------------ tasks that end


def test_every_task_has_one_event(any_pool):
    for k in range(7):
        any_pool.submit(k, divmod, k, 3)
    assert outcomes(any_pool) == {k: Returned(divmod(k, 3)) for k in range(7)}
    assert any_pool.next_event() is None


def test_events_tell_when_a_task_ran(any_pool):
    before = time.monotonic()
    any_pool.submit("nap", time.sleep, 0.05)
    event = collect(any_pool)["nap"]
    assert before <= event.started <= event.finished - 0.05
    assert event.finished <= time.monotonic()
    assert event.slot in range(any_pool.n_workers)


def test_what_a_task_raises_comes_back(any_pool):
    any_pool.submit("own", raise_, OwnError("why"))
    any_pool.submit("exit", sys.exit, 7)
    found = outcomes(any_pool)
    assert found["own"].type_name == "OwnError"
    assert type(found["own"].exception) is OwnError
    assert "in raise_" in found["own"].traceback
    assert found["exit"].type_name == "SystemExit"


def test_a_task_that_is_cancelled_has_no_event(any_pool):
    any_pool.submit("a", time.sleep, 0.1)
    any_pool.submit("b", time.sleep, 0.1)
    any_pool.submit("c", os.getpid)
    any_pool.cancel("c")
    any_pool.cancel("never submitted")
    assert set(collect(any_pool)) == {"a", "b"}


def test_tasks_run_beside_each_other(pool, tmp_path):
    ran_before(pool)
    for k in range(2):
        pool.submit(k, meet, tmp_path)
    first, second = collect(pool).values()
    assert {first.slot, second.slot} == {0, 1}
    assert max(first.started, second.started) < min(first.finished, second.finished)


def test_tasks_start_in_the_order_of_submission(pool):
    for k in range(8):
        pool.submit(k, time.sleep, 0.01)
    started = {k: event.started for k, event in collect(pool).items()}
    assert sorted(started, key=started.get) == list(range(8))


def test_a_worker_goes_on_while_nobody_listens(pool):
    ran_before(pool)
    for k in range(6):
        pool.submit(k, time.sleep, 0.01)

    def is_idle():
        with pool._lock:
            return not pool._queue and not pool.n_running

    until(is_idle)
    now = time.monotonic()
    assert all(event.finished < now for event in collect(pool).values())


def test_lambdas_and_the_pools_environment_reach_the_worker(pool):
    pool.submit("env", lambda: os.environ["MVRSM_TEST_VARIABLE"])
    assert outcomes(pool) == {"env": Returned("seen")}


def test_a_task_that_cannot_be_pickled_is_an_error(pool):
    with open(os.devnull, "w") as unpicklable:
        pool.submit("bad", print, unpicklable)
        pool.submit("dropped", print, unpicklable)
    pool.cancel("dropped")
    event = collect(pool)["bad"]
    assert isinstance(event.outcome, Raised)
    assert "pickle" in event.outcome.message
    assert event.slot is None


def test_exceptions_that_cannot_be_pickled_leave_the_worker_well(pool):
    ran_before(pool)
    pool.submit("before", os.getpid)
    first = collect(pool)["before"]
    for k in range(2):
        pool.submit(k, lambda: raise_(UnpicklableError(1, 2)))
    assert {type(outcome) for outcome in outcomes(pool).values()} == {Raised}
    pids = set()
    for k in range(4):
        pool.submit(k, lambda: (time.sleep(0.05), os.getpid())[1])
    pids = {outcome.value for outcome in outcomes(pool).values()}
    assert first.outcome.value in pids


def test_two_tasks_of_one_name_are_refused(pool):
    pool.submit("a", os.getpid)
    with pytest.raises(ValueError, match="'a' is under way"):
        pool.submit("a", os.getpid)
    collect(pool)


def test_waiting_for_an_event_can_be_limited(pool, tmp_path):
    ran_before(pool)
    pool.submit("nap", wait_for_go, str(tmp_path))
    assert pool.next_event(0.1) is None
    (tmp_path / "go").touch()  # had there been no limit, the nap would have ended first
    assert outcomes(pool) == {"nap": Returned(None)}


def test_workers_do_not_hold_back_interrupts(pool):
    pool.submit("mask", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    assert outcomes(pool) == {"mask": Returned(set())}


# ------------------------------------------------------------------ tasks that do not


def test_a_late_task_is_stopped_and_its_neighbour_is_not(pool):
    ran_before(pool)
    pool.submit("late", sleep_forever, timeout=0.5)
    (run,) = pool._runs()
    assert run.deadline - run.started == pytest.approx(0.5)
    pool.submit("neighbour", time.sleep, 1.0)
    events = collect(pool)
    assert events["neighbour"].outcome == Returned(None)
    late = events["late"]
    assert isinstance(late.outcome, TimedOut)
    assert late.outcome.limit == 0.5
    assert 0.5 <= late.outcome.elapsed < PATIENCE
    assert late.finished - late.started == pytest.approx(late.outcome.elapsed)


@pytest.mark.usefixtures("never_stopped")
def test_a_task_that_ends_late_is_late_even_if_nobody_looked(pool):
    ran_before(pool)
    pool.submit("late", time.sleep, 0.3, timeout=0.1)
    (run,) = pool._runs()
    until(lambda: run.finished)
    time.sleep(0.3)
    outcome = outcomes(pool)["late"]
    assert isinstance(outcome, TimedOut)
    assert 0.3 <= outcome.elapsed <= run.finished - run.started


@posix_only
@pytest.mark.parametrize(
    ("fault", "outcome_type", "text"),
    [
        (segfault, Died, "SIGSEGV"),
        (exit_code, Died, "exit code 1"),
        (partial(os._exit, 0), Died, "exit code 0"),
        (sigkill, OutOfMemory, "probably"),
    ],
)
def test_a_death_costs_one_task(pool, fault, outcome_type, text):
    ran_before(pool)
    pool.submit("fault", fault)
    pool.submit("neighbour", time.sleep, 0.3)
    pool.submit("next", os.getpid)
    found = outcomes(pool)
    assert isinstance(found["fault"], outcome_type)
    assert text in str(found["fault"])
    assert found["neighbour"] == Returned(None)
    assert isinstance(found["next"], Returned)


def hold_the_lock(seconds):
    """Keep all other threads of this process from running Python."""
    ctypes.PyDLL(None).usleep(int(1e6 * seconds))


def note_and_nap(folder):
    open(os.path.join(folder, "begun"), "w").close()
    time.sleep(0.1)


@pytest.fixture
def patient(monkeypatch):
    """The last moment for an answer is long enough for any machine."""
    monkeypatch.setattr(worker_pool, "_LAST_MOMENT", PATIENCE)
    monkeypatch.setattr(worker_pool, "_LONGEST_MOMENT", PATIENCE)


@posix_only
def test_an_answer_in_time_counts_even_if_nobody_could_read_it(pool, tmp_path, patient):
    ran_before(pool)
    pool.submit("nap", note_and_nap, str(tmp_path), timeout=1000.0)
    wait_until_there(tmp_path)
    (run,) = pool._runs()  # its limit is short from here on: the start may take longer
    run.task = pool._open["nap"] = replace(run.task, timeout=6.0)
    run.deadline = time.monotonic() + 6.0
    hold_the_lock(7.0)
    assert outcomes(pool) == {"nap": Returned(None)}


def test_an_answer_has_a_moment_to_arrive_where_a_task_seems_late(
    pool, tmp_path, patient
):
    ran_before(pool)
    pool.submit("nap", wait_for_go, str(tmp_path), timeout=1000.0)
    (run,) = pool._runs()
    run.deadline = time.monotonic()
    assert pool.next_event(0.1) is None
    (tmp_path / "go").touch()
    assert outcomes(pool) == {"nap": Returned(None)}


def die_amid_the_answer():
    """Send the length of an answer, and be killed before the rest."""
    frame = sys._getframe()
    while "result_queue" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["result_queue"]._writer._send(struct.pack("!i", 100_000))
    sigkill()


@posix_only
def test_a_death_amid_an_answer_is_noticed(pool):
    # The caller holds the pipe too, and would wait for the rest.
    ran_before(pool)
    pool.submit("fault", die_amid_the_answer)
    assert isinstance(outcomes(pool)["fault"], OutOfMemory)


def fork_and_die():
    """Die, but leave a child that holds all that the worker had open."""
    if os.fork() == 0:
        time.sleep(120)
    os._exit(3)


@posix_only
def test_a_death_is_noticed_even_if_a_fork_lives_on(pool):
    ran_before(pool)
    pool.submit("fault", fork_and_die)
    outcome = outcomes(pool)["fault"]
    assert isinstance(outcome, Died)
    assert "exit code 3" in outcome.reason


def leave_a_stranger_and_die(folder):
    """Die, but leave a child in a session of its own, which holds all that was open."""
    if os.fork() == 0:
        os.setsid()
        open(os.path.join(folder, str(os.getpid())), "w").close()
        time.sleep(120)
    wait_until_there(folder)
    os._exit(3)


def wait_until_there(folder):
    until(lambda: os.listdir(folder))


@posix_only
@pytest.mark.parametrize("when", ["in a task", "at its start"])
def test_a_death_is_noticed_even_if_what_lives_on_cannot_be_killed(
    tmp_path, monkeypatch, when
):
    monkeypatch.setattr(process_module, "can_find_processes", lambda: False)
    monkeypatch.setattr(process_module, "kill_process_tree", lambda process: None)
    leave = partial(leave_a_stranger_and_die, str(tmp_path))
    setup = leave if when == "at its start" else None
    try:
        with WorkerPool(1, setup=setup, keep_spare=False) as pool:
            pool.submit("fault", leave)
            if setup is None:
                assert "exit code 3" in outcomes(pool)["fault"].reason
            else:
                with pytest.raises(RuntimeError, match="in a row died while starting"):
                    pool.next_event(PATIENCE)
    finally:
        for pid in os.listdir(tmp_path):
            os.kill(int(pid), signal.SIGKILL)


@posix_only
def test_a_worker_that_died_idle_costs_no_task(pool):
    ran_before(pool)
    victims = [slot.worker for slot in pool._slots]
    for worker in victims:
        worker.kill()
        worker._process.join()
    for k in range(4):
        pool.submit(k, os.getpid)
    assert {type(outcome) for outcome in outcomes(pool).values()} == {Returned}


@posix_only
def test_a_process_that_died_idle_is_not_signalled_for_its_number_may_be_reused(
    pool, monkeypatch
):
    ran_before(pool)
    worker = pool._slots[0].worker
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.join()
    until(lambda: not worker.is_served)  # its executor signals what is left of it too
    signalled = []
    monkeypatch.setattr(os, "killpg", lambda *args: signalled.append(args))
    monkeypatch.setattr(os, "kill", lambda *args: signalled.append(args))
    for k in range(4):
        pool.submit(k, os.getpid)
    assert {type(outcome) for outcome in outcomes(pool).values()} == {Returned}
    assert pool._slots[0].worker is not worker
    assert signalled == []


@posix_only
def test_a_worker_that_dies_at_the_moment_of_its_task_costs_no_task(pool, monkeypatch):
    ran_before(pool)
    run = WorkerProcess.run

    def dies_once(self, *args):
        monkeypatch.setattr(WorkerProcess, "run", run)
        raise BrokenProcessPool

    monkeypatch.setattr(WorkerProcess, "run", dies_once)
    for k in range(4):
        pool.submit(k, os.getpid)
    assert {type(outcome) for outcome in outcomes(pool).values()} == {Returned}


def test_a_task_that_a_thread_cannot_hand_on_is_not_lost(pool, monkeypatch, tmp_path):
    ran_before(pool)
    run = WorkerProcess.run
    refused = []

    def refuse(self, *args):
        if threading.current_thread() is threading.main_thread():
            return run(self, *args)
        refused.append(self)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(WorkerProcess, "run", refuse)
    for k in range(6):
        pool.submit(k, wait_until_there, tmp_path)
    (tmp_path / "go").touch()  # others wait when the first ones end
    assert {type(outcome) for outcome in outcomes(pool).values()} == {Returned}
    assert refused


def refuse_processes(monkeypatch, n):
    """Refuse so many processes; return those that it was asked for."""
    asked = []
    start = WorkerProcess.__init__

    def refuse(self, *args):
        asked.append(self)
        if len(asked) <= n:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        start(self, *args)

    monkeypatch.setattr(WorkerProcess, "__init__", refuse)
    monkeypatch.setattr(worker_pool, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(pool_module, "_MAX_PAUSE", 0.01)
    return asked


def test_a_spare_that_cannot_be_started_is_done_without(monkeypatch):
    with WorkerPool(1) as pool:
        pool.submit("first", os.getpid)
        collect(pool)
        asked = refuse_processes(monkeypatch, n=1)
        near_its_limit(pool)
        pool.submit("next", os.getpid)
        assert {type(outcome) for outcome in outcomes(pool).values()} == {Returned}
        assert pool._spare.workers == []
    assert len(asked) == 1


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_worker_that_cannot_be_started_is_tried_again(monkeypatch, n_workers):
    asked = refuse_processes(monkeypatch, n=3)
    with WorkerPool(n_workers, keep_spare=False) as pool:
        for k in range(3):
            pool.submit(k, os.getpid)
        pool.submit("fault", os._exit, 3)
        found = outcomes(pool)
    assert [type(found[k]) for k in range(3)] == [Returned] * 3
    assert isinstance(found["fault"], Died)
    assert len(asked) > 3


@posix_only
def test_refusals_count_only_while_there_is_no_worker(monkeypatch, tmp_path):
    with WorkerPool(2, keep_spare=False) as pool:
        ran_before(pool)
        asked = refuse_processes(monkeypatch, n=10**6)
        pool.submit("first", os._exit, 3)
        pool.submit("last", lambda: (wait_until_there(tmp_path), os._exit(3)))
        pool.submit("next", os.getpid)
        assert pool.next_event(PATIENCE).task_id == "first"
        while len(asked) < worker_pool._MAX_REFUSALS:
            assert pool.next_event(0.01) is None
        (tmp_path / "go").touch()
        assert pool.next_event(PATIENCE).task_id == "last"
        monkeypatch.undo()
        assert isinstance(outcomes(pool)["next"], Returned)


def test_where_no_worker_can_be_started_the_pool_gives_up(monkeypatch):
    with WorkerPool(1, keep_spare=False) as pool:
        pool.submit("first", os.getpid)
        pool.submit("fault", os._exit, 3)
        asked = refuse_processes(monkeypatch, n=1000)
        pool.submit("next", os.getpid)
        assert isinstance(pool.next_event(PATIENCE).outcome, Returned)
        assert isinstance(pool.next_event(PATIENCE).outcome, Died)
        with pytest.raises(RuntimeError, match=r"no worker.*BlockingIOError.*unavail"):
            pool.next_event(PATIENCE)
    assert len(asked) == worker_pool._MAX_REFUSALS


@posix_only
def test_a_spare_that_dies_at_its_start_is_done_without(capfd):
    with WorkerPool(1) as pool:
        pool.submit("first", os.getpid)
        collect(pool)
        pool._setup = encode_task(fresh_death, ())
        near_its_limit(pool)
        assert pool._spare.workers != []
        collect(pool)
        while pool._spare.workers:
            pool.submit("nap", time.sleep, 0.05)
            collect(pool)
        near_its_limit(pool)
        assert outcomes(pool) == {"near its limit": Returned(None)}
        assert pool._spare.workers == []


@posix_only
def test_a_setup_that_fails_once_for_a_replacement_ends_nothing(tmp_path):
    setup = partial(setup_that_fails_second, str(tmp_path))
    with WorkerPool(1, setup=setup, keep_spare=False) as pool:
        pool.submit("fault", exit_code)
        pool.submit("next", os.getpid)
        found = outcomes(pool)
    assert isinstance(found["fault"], Died)
    assert isinstance(found["next"], Returned)
    assert len(os.listdir(tmp_path)) == 3


@posix_only
def test_workers_that_die_idle_again_and_again_raise(pool, monkeypatch):
    ran_before(pool)

    def dies(self, *args):
        raise BrokenProcessPool

    monkeypatch.setattr(WorkerProcess, "run", dies)
    pool.submit("never", os.getpid)
    with pytest.raises(RuntimeError, match="in a row died while they waited"):
        collect(pool)
    pool.cancel("never")


@posix_only
def test_what_has_finished_is_given_at_the_end_and_nothing_begins():
    with WorkerPool(1) as pool:
        pool.submit("first", os.getpid)
        collect(pool)
        pool.submit("done", os.getpid)
        until(lambda: not pool._notes.empty())
        pool.submit("stuck", sleep_forever)
        pool.submit("waiting", os.getpid)
        (event,) = pool.drain()
        assert event.task_id == "done"
        assert isinstance(event.outcome, Returned)
        assert pool.drain() == []
        assert set(pool._open) == {"stuck"}
    with InlinePool() as pool:
        pool.submit("waiting", os.getpid)
        assert pool.drain() == []
        assert pool.next_event() is None


def test_a_spare_is_started_when_a_task_comes_near_its_limit_and_takes_over():
    with WorkerPool(1) as pool:
        pool.submit("far from its limit", time.sleep, 0.1, timeout=1000.0)
        collect(pool)
        assert pool._spare.workers == []
        pool._start_seconds = PATIENCE
        pool.submit("late", sleep_forever, timeout=(LEAD + 1.0) * PATIENCE)
        pool.submit("next", os.getpid)
        assert pool._spare.workers == []
        (run,) = pool._runs()
        run.deadline -= PATIENCE
        while not pool._spare.workers:
            assert pool.next_event(0.1) is None
        run.deadline = time.monotonic()
        spare = pool._spare.workers[0]._process.pid
        found = outcomes(pool)
    assert isinstance(found["late"], TimedOut)
    assert found["next"] == Returned(spare)


def test_a_cancelled_task_that_ends_by_itself_costs_no_process():
    with WorkerPool(1) as pool:
        pool.submit("warm", os.getpid)
        collect(pool)
        pool._start_seconds = PATIENCE  # the task may go on for so long
        pool.submit("dropped", time.sleep, 0.1)
        pool.cancel("dropped")
        pool.submit("next", os.getpid)
        assert isinstance(outcomes(pool)["next"], Returned)
        assert pool._spare.workers == []


def test_a_cancelled_task_is_killed_once_a_spare_is_ready(pool, tmp_path):
    until_spare_is_ready(pool)
    n_before = len(pool.abandoned)
    spares = [worker._process.pid for worker in pool._spare.workers]
    pool.submit("dropped", sleep_forever)
    while not pool.n_running:
        pool.next_event(0.02)
    pool._start_seconds = 0.5
    time.sleep(0.5)  # it has run for longer than a start takes
    pool.cancel("dropped")
    for name in ("next", "more"):  # one of them must take the slot that is freed
        pool.submit(name, meet, tmp_path)
    assert {outcome.value for outcome in outcomes(pool).values()} & set(spares)
    (run,) = pool.abandoned[n_before:]
    assert (run.task_id, run.killed) == ("dropped", True)
    assert run.finished - run.started >= 0.5


def test_a_cancelled_task_that_ended_by_itself_is_told_too(pool, tmp_path, monkeypatch):
    ran_before(pool)
    n_before = len(pool.abandoned)
    monkeypatch.setattr(pool, "_start_seconds", PATIENCE)  # it may go on for so long
    pool.submit("dropped", wait_for_go, str(tmp_path))
    pool.cancel("dropped")
    pool.submit("other", time.sleep, 0.2)
    collect(pool)
    (tmp_path / "go").touch()
    until(lambda: not pool.n_running)
    pool.submit("later", os.getpid)
    collect(pool)
    (run,) = pool.abandoned[n_before:]
    assert (run.task_id, run.killed) == ("dropped", False)
    assert run.finished - run.started >= 0.2


def test_what_runs_at_the_end_of_a_pool_is_told():
    with WorkerPool(1) as pool:
        pool.submit("warm", os.getpid)
        collect(pool)
        pool.submit("stuck", sleep_forever)
    (run,) = pool.abandoned
    assert (run.task_id, run.killed, run.slot) == ("stuck", True, 0)


@posix_only
def test_a_spare_that_died_costs_no_task(pool):
    until_spare_is_ready(pool)
    for worker in pool._spare.workers:
        worker.kill()
        worker._process.join()
    pool.submit("late", sleep_forever, timeout=0.1)
    pool.submit("next", os.getpid)
    pool.submit("more", os.getpid)
    found = outcomes(pool)
    assert isinstance(found.pop("late"), TimedOut)
    assert {type(outcome) for outcome in found.values()} == {Returned}


@posix_only
def test_a_warm_spare_takes_over_at_once(pool, tmp_path):
    until_spare_is_ready(pool)
    spares = [worker._process.pid for worker in pool._spare.workers]
    pool.submit("fault", exit_code)
    death = collect(pool)["fault"]
    spare = pool._slots[death.slot].worker._process.pid
    assert spare in spares
    assert n_idle(pool) == 2
    for name in ("next", "other"):
        pool.submit(name, meet, tmp_path)
    assert Returned(spare) in outcomes(pool).values()


def test_a_cancelled_task_that_goes_on_is_killed_without_an_event(pool):
    ran_before(pool)
    pool.submit("a", sleep_forever)
    pool.submit("b", sleep_forever, timeout=PATIENCE)
    pool._start_seconds = 0.1  # they may go on for four times as long
    pool.cancel("a")
    pool.cancel("b")
    pool.submit("a", os.getpid)
    assert set(collect(pool)) == {"a"}


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux keeps RLIMIT_AS; test_outcomes.py holds the refusal elsewhere",
)
def test_a_task_over_its_memory_limit_leaves_the_worker_well():
    with WorkerPool(1, memory_limit=200_000_000, keep_spare=False) as pool:
        pool.submit("before", os.getpid)
        pool.submit("big", bytearray, 10**9)
        pool.submit("after", os.getpid)
        found = outcomes(pool)
    assert isinstance(found["big"], OutOfMemory)
    assert found["before"] == found["after"]


# ------------------------------------------------------------------ starting, closing


def test_workers_that_keep_dying_at_their_start_raise(capfd):
    with WorkerPool(1, setup=fresh_death) as pool:
        pool.submit("a", os.getpid)
        with pytest.raises(RuntimeError, match=r"2 workers in a row.*exit code 4"):
            pool.next_event(PATIENCE)


def test_a_setup_that_raises_is_shown_at_once():
    with WorkerPool(1, setup=failing_setup) as pool:
        pool.submit("a", os.getpid)
        with pytest.raises(RuntimeError, match="ImportError: no such module"):
            pool.next_event(PATIENCE)


@posix_only
def test_close_leaves_no_process_whatever_it_was_doing():
    with WorkerPool(1) as pool:
        pool.submit("first", os.getpid)
        pid = collect(pool)["first"].outcome.value
        pool.submit("stuck", sleep_forever)
        pool.submit("queued", sleep_forever)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert pool.next_event() is None
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit("late", os.getpid)
    pool.close()


@posix_only
def test_close_kills_workers_that_are_still_starting():
    with WorkerPool(2) as pool:
        pool.submit("a", os.getpid)
        pool.submit("b", os.getpid)
        pids = [slot.worker._process.pid for slot in pool._slots]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_bad_sizes_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="'n_workers' must be >= 1, got 0"):
        WorkerPool(0)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ValueError, match=r"memory_limit.*only Linux.*win32"):
        WorkerPool(1, memory_limit=1)


def test_the_callers_process_refuses_limits():
    with InlinePool() as pool, pytest.raises(ValueError, match="time limit"):
        pool.submit("a", os.getpid, timeout=1.0)
