"""Laws of the pool on a cluster: one that is made up here, of threads."""

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from estimators import Misbehaving, OwnError
from made_up import MadeUp

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._cluster import remote_pool
from sklearn_mvrsm._cluster.backends import Lost
from sklearn_mvrsm._cluster.host import HostReply
from sklearn_mvrsm._cluster.remote_pool import RemotePool
from sklearn_mvrsm._evaluation import evaluator as evaluator_module
from sklearn_mvrsm._evaluation.evaluator import Evaluator
from sklearn_mvrsm._evaluation.fold_fit import FitJob
from sklearn_mvrsm._execution import pool as pool_module
from sklearn_mvrsm._execution.child import encode_task
from sklearn_mvrsm._execution.outcomes import (
    Died,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
)
from sklearn_mvrsm._execution.payload import write_payload

PATIENCE = 60.0


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "payload")
    write_payload(path, "some data")
    return path


def pool_on(cluster, path):
    cluster.path = f"{path}-copy"
    return RemotePool(cluster, path, setup=open)


def collect(pool):
    events = {}
    while (event := pool.next_event(PATIENCE)) is not None:
        events[event.task_id] = event
    return events


def double(path, x):
    return 2 * x


def nap(path, seconds):
    time.sleep(seconds)


def fail(path):
    raise ArithmeticError("no")


def wait_for(gate):
    """Begin tasks when ``gate`` is set."""
    return lambda *_: None if gate.wait(PATIENCE) else GONE


def test_tasks_give_what_they_would_here(path):
    cluster = MadeUp()
    before = time.monotonic()
    with pool_on(cluster, path) as pool:
        assert pool.n_workers == 2
        pool.submit("first", nap, 0.2)
        pool.submit("nap", nap, 0.2)
        pool.submit("path", lambda path: path)
        pool.submit("double", double, 4)
        pool.submit("fail", fail)
        events = collect(pool)
        assert not pool._sent
    assert events["path"].outcome == Returned(cluster.path)
    with open(path, "rb") as there, open(cluster.path, "rb") as copy:
        assert copy.read() == there.read()
    assert events["double"].outcome == Returned(8)
    raised = events["fail"].outcome
    assert isinstance(raised, Raised)
    assert isinstance(raised.exception, ArithmeticError)
    assert raised.traceback.count("File") == 1
    slept = events["nap"]
    assert before <= slept.started <= slept.finished - 0.2 <= time.monotonic()
    assert {event.slot for event in events.values()} == {0, 1}
    assert cluster.most_running == 2
    assert cluster.opened
    assert cluster.closed


def test_what_has_finished_is_given_at_the_end_and_nothing_more_is_sent(path):
    gate = threading.Event()
    stuck = wait_for(gate)
    cluster = MadeUp(disturb=lambda name, *_: None if name == "done" else stuck())
    with pool_on(cluster, path) as pool:
        pool.submit("done", double, 4)
        while pool._notes.empty():
            time.sleep(0.01)
        for name in ("stuck", "stuck too", "waiting"):
            pool.submit(name, double, 1)
        (event,) = pool.drain()
        assert (event.task_id, event.outcome) == ("done", Returned(8))
        assert pool.drain() == []
        gate.set()
        assert set(collect(pool)) == {"stuck", "stuck too"}
    assert sorted(name for name, _ in cluster.sent) == ["done", "stuck", "stuck too"]


def test_the_data_go_with_the_first_tasks_only(path):
    cluster = MadeUp()
    with pool_on(cluster, path) as pool:
        for k in range(5):
            pool.submit(k, double, k)
        collect(pool)
    assert sorted(cluster.sent) == [(k, k < 2) for k in range(5)]
    assert cluster.n_shared == 1


def test_the_data_go_to_who_asks_for_them(path):
    def forgets(task_id, n_try, has_data):
        return HostReply("new:1") if task_id == 3 and not has_data else None

    cluster = MadeUp(disturb=forgets)
    with pool_on(cluster, path) as pool:
        for k in range(5):
            pool.submit(k, double, k)
        assert {k: e.outcome for k, e in collect(pool).items()} == {
            k: Returned(2 * k) for k in range(5)
        }
    assert [has_data for k, has_data in cluster.sent if k == 3] == [0, 1]
    assert cluster.n_shared == 1


GONE = Lost(ConnectionError("gone"))


@pytest.mark.parametrize("loss", [GONE, HostReply("there:1"), "nonsense"])
def test_a_task_that_is_lost_is_sent_again_with_the_data(path, loss):
    cluster = MadeUp(
        disturb=lambda k, n_try, _: loss if k == 0 and n_try == 1 else None
    )
    with pool_on(cluster, path) as pool:
        pool.submit(0, double, 1)
        assert collect(pool)[0].outcome == Returned(2)
    assert cluster.sent == [(0, True), (0, True)]
    assert cluster.n_shared == 2


def test_a_task_that_is_lost_twice_costs_itself_only(path):
    cluster = MadeUp(disturb=lambda k, *_: GONE if k % 2 else None)
    with pool_on(cluster, path) as pool:
        for k in range(10):
            pool.submit(k, double, k)
            outcome = collect(pool)[k].outcome
            assert isinstance(outcome, Died if k % 2 else Returned)
    assert "ConnectionError: gone" in outcome.reason


def test_a_cluster_that_loses_everything_is_an_error(path):
    with pool_on(MadeUp(disturb=lambda *_: GONE), path) as pool:
        for k in range(4):
            pool.submit(k, double, k)
        with pytest.raises(RuntimeError, match=r"lost 5 fits in a row.*gone"):
            collect(pool)


class Refusing(MadeUp):
    def submit(self, fn, args, on_done):
        raise ConnectionError("closed")


def test_a_cluster_that_takes_nothing_is_an_error(path):
    with pool_on(Refusing(), path) as pool:
        for k in range(4):
            pool.submit(k, double, k)
        with pytest.raises(RuntimeError, match="closed"):
            collect(pool)


def test_a_cluster_that_is_gone_is_an_error(path, monkeypatch):
    cluster = MadeUp(disturb=lambda *_: GONE)
    with pool_on(cluster, path) as pool:
        pool.submit(0, double, 1)
        monkeypatch.setattr(cluster, "share", [].pop)
        with pytest.raises(RuntimeError, match="the cluster is gone") as caught:
            collect(pool)
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_is_not_installed_there_is_said(path, wrapped):
    error = cause = ModuleNotFoundError("No module named 'sklearn_mvrsm'")
    if wrapped:  # as dask's scheduler does
        error = RuntimeError("sklearn_mvrsm: different environments")
        error.__cause__ = cause
    missing = Lost(error)
    with pool_on(MadeUp(disturb=lambda *_: missing), path) as pool:
        pool.submit(0, double, 1)
        with pytest.raises(RuntimeError, match=r"sklearn_mvrsm.*installed there"):
            collect(pool)


def test_a_machine_that_cannot_fit_is_an_error(path):
    broken = HostReply("there:1", problem="a worker could not be set up")
    with pool_on(MadeUp(disturb=lambda *_: broken), path) as pool:
        pool.submit(0, double, 1)
        with pytest.raises(RuntimeError, match="there:1: a worker could not"):
            collect(pool)


@pytest.mark.parametrize(
    "outcome", [TimedOut(1.0, 1.1), Died("it"), OutOfMemory("it"), Raised("E", "", "")]
)
def test_other_outcomes_come_as_they_are(path, outcome):
    report = HostReply("there:1", outcome, 1.1)
    with pool_on(MadeUp(disturb=lambda *_: report), path) as pool:
        pool.submit(0, double, 1)
        event = collect(pool)[0]
    assert event.outcome == outcome
    assert event.started <= event.finished


def test_after_a_failure_the_caller_may_drop_what_waits(path):
    # As in the pool of this machine: nothing starts until the caller has been told.
    died = HostReply("there:1", Died("it"))
    told = threading.Event()

    def disturb(task_id, *_):
        return died if task_id == 0 and told.wait(PATIENCE) else None

    cluster = MadeUp(1, disturb)
    with pool_on(cluster, path) as pool:
        pool.submit(0, double, 0)
        pool.submit(1, double, 1)
        pool.submit(2, double, 2)
        told.set()
        assert pool.next_event(PATIENCE).task_id == 0
        assert pool.cancel(1)
        assert list(collect(pool)) == [2]
    assert [task_id for task_id, _ in cluster.sent] == [0, 2]


def test_a_cancelled_task_gives_no_event_and_frees_its_slot(path):
    gate = threading.Event()
    hang = wait_for(gate)
    cluster = MadeUp(1, lambda name, *_: hang() if name == "runs" else None)
    with pool_on(cluster, path) as pool:
        pool.submit("runs", double, 1)
        pool.submit("waits", double, 1)
        pool.submit("next", double, 1)
        assert pool.cancel("waits")
        assert not pool.cancel("runs")
        assert not pool.cancel("unknown")
        assert list(collect(pool)) == ["next"]
        gate.set()
    assert cluster.cancelled == ["runs"]


def test_what_cannot_be_pickled_is_an_outcome(path):
    with pool_on(MadeUp(), path) as pool:
        pool.submit(0, double, threading.Lock())
        outcome = collect(pool)[0].outcome
    assert isinstance(outcome, Raised)
    assert "pickle" in outcome.message


def test_a_refused_task_may_be_cancelled(path):
    with pool_on(MadeUp(), path) as pool:
        pool.submit(0, double, threading.Lock())
        pool.cancel(0)
        assert collect(pool) == {}


def test_waiting_can_be_limited(path, monkeypatch):
    monkeypatch.setattr(pool_module, "_MAX_PAUSE", 0.02)
    gate = threading.Event()
    with pool_on(MadeUp(disturb=wait_for(gate)), path) as pool:
        pool.submit(0, double, 1)
        assert pool.next_event(0.05) is None
        assert pool.next_event(0.0) is None
        threading.Timer(0.2, gate.set).start()
        assert pool.next_event().outcome == Returned(2)


def test_a_closed_pool_sends_nothing_more(path):
    gate = threading.Event()
    cluster = MadeUp(disturb=wait_for(gate))
    with pool_on(cluster, path) as pool:
        for k in range(3):
            pool.submit(k, double, k)
    assert cluster.closed
    gate.set()
    assert pool.next_event() is None
    assert [task_id for task_id, _ in cluster.sent] == [0, 1]


def test_a_pool_that_cannot_be_opened_leaves_nothing(path, monkeypatch):
    class Unreachable(MadeUp):
        def open(self):
            raise TimeoutError("no scheduler")

    cluster = Unreachable()
    pool = pool_on(cluster, path)
    with pytest.raises(TimeoutError, match="no scheduler"), pool:
        pass
    assert cluster.closed


# ------------------------------------------------------------------ a whole search

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 2


@pytest.fixture
def cluster(path, monkeypatch):
    """A cluster of one slot that is the place of all fits."""
    made_up = MadeUp(1, path=f"{path}-copy")
    monkeypatch.setattr(evaluator_module, "_cluster_in_force", lambda _: made_up)
    return made_up


def search(**options):
    space = {"level": Real(0.0, 1.0), "fault": [None, "own_error"]}
    defaults = {"n_iter": 6, "n_initial_points": 3, "cv": 3, "random_state": 1}
    return MVRSMSearchCV(Misbehaving(), space, scoring=by_level, **defaults | options)


def by_level(estimator, X, y):
    return estimator.level


def table(fitted):
    names = ["status", "mean_test_score", "split0_status", "split2_status"]
    return [list(fitted.cv_results_[name]) for name in names]


quiet = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning"),
    pytest.mark.filterwarnings("ignore:One or more of the test scores"),
]


def marked_quiet(test):
    for mark in quiet:
        test = mark(test)
    return test


# the faults of the estimator need a class that raises at any touch
@pytest.mark.filterwarnings("ignore:The checkpoint .* cannot tell whether")
@marked_quiet
def test_a_search_goes_on_from_its_checkpoint(cluster, tmp_path):
    whole = search().fit(X, Y)
    n_fits = len(cluster.sent)
    journal = tmp_path / "journal"
    search(n_iter=4, checkpoint=journal).fit(X, Y)
    cluster.sent.clear()
    rest = search(checkpoint=journal).fit(X, Y)
    np.testing.assert_equal(table(rest), table(whole))
    assert len(cluster.sent) == n_fits - 4 * 3


@marked_quiet
def test_candidates_are_given_up_as_they_are_here(cluster, monkeypatch):
    options = {"racing": 0.4, "cv": 6, "n_iter": 12}
    there = search(**options).fit(X, Y)
    assert len(cluster.sent) > 0
    monkeypatch.setattr(evaluator_module, "_cluster_in_force", lambda _: None)
    here = search(**options).fit(X, Y)
    np.testing.assert_equal(table(there), table(here))


class Notes:
    """A callback that stays where it is."""

    def __init__(self, stop_after=None):
        self.seen = []
        self.stop_after = stop_after
        self.lock = threading.Lock()  # does not travel

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.seen.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.seen.append(("end", context.task_name))
        if self.seen.count(("end", FOLD)) == self.stop_after:
            return True

    def teardown(self, estimator, context):
        pass


FOLD = "candidate-split-evaluation"
needs_callbacks = pytest.mark.skipif(
    not hasattr(MVRSMSearchCV, "set_callbacks"),
    reason="scikit-learn before 1.9 has no set_callbacks to inherit",
)


@needs_callbacks
@marked_quiet
@pytest.mark.parametrize("end", [HostReply("there:1", Died("it")), GONE, "unpicklable"])
def test_callbacks_are_told_here_of_every_fold(cluster, monkeypatch, end):
    serials = itertools.count()

    def encode_all_but_one(*task):
        if next(serials) == 4:
            raise TypeError("cannot pickle it")
        return encode_task(*task)

    notes = Notes()
    if end == "unpicklable":
        monkeypatch.setattr(remote_pool, "encode_task", encode_all_but_one)
    else:
        cluster.disturb = lambda task_id, *_: end if task_id == (1, 1) else None
    fitted = search().set_callbacks(notes).fit(X, Y)
    failed = "error" if end == "unpicklable" else "crashed"
    assert failed in fitted.cv_results_["split1_status"]
    assert notes.seen.count(("begin", FOLD)) == notes.seen.count(("end", FOLD)) == 18
    assert notes.seen.count(("begin", "search")) == 1


def test_a_fold_that_is_skipped_needs_no_task_any_more(cluster):
    job = FitJob(Misbehaving(), X, Y, [(np.arange(9), np.arange(9))] * 3, by_level)
    told = threading.Event()
    cluster.disturb = wait_for(told)
    with Evaluator(job) as evaluator:
        evaluator.submit(0, {}, range(3), [SimpleNamespace()] * 3)
        evaluator.cancel(0)
        assert evaluator._tasks == {}
        told.set()


@needs_callbacks
@marked_quiet
def test_a_callback_may_stop_a_search(cluster):
    fitted = (
        search(n_pending=1, random_state=0).set_callbacks(Notes(stop_after=3)).fit(X, Y)
    )
    assert len(fitted.cv_results_["params"]) == 1


@needs_callbacks
def test_what_a_callback_raises_is_raised(cluster):
    class Angry(Notes):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == FOLD:
                raise OwnError("no more")

    with pytest.raises(OwnError, match="no more"):
        search().set_callbacks(Angry()).fit(X, Y)
