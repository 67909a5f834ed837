"""Searches whose fits run on a cluster of dask or ray: two processes of this machine.

Children of the cluster's processes take seconds to start, so tests share what they can.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from estimators import Misbehaving, OwnError, worker_pid
from joblib import parallel_config
from made_up import copies_of_data
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._cluster.remote_pool import RemotePool
from sklearn_mvrsm._evaluation.evaluator import Evaluator
from sklearn_mvrsm._evaluation.fold_fit import FitJob

if sys.platform != "linux":
    pytest.skip(
        "fits shared here have a memory limit, which only Linux keeps",
        allow_module_level=True,
    )

X, Y = load_iris(return_X_y=True)
SPLITS = list(StratifiedKFold(2).split(X, Y))
TESTS = str(Path(__file__).parent.parent)
PATIENCE = 180.0

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning"),
    pytest.mark.filterwarnings("ignore:One or more of the test scores"),
    # What others leave open at the end of their process is theirs.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    # dask says so where the disk is busy
    pytest.mark.filterwarnings("ignore:Creating scratch directories"),
]


@contextlib.contextmanager
def dask():
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        parallel_config("dask"),
    ):
        yield cluster.scheduler_address


@contextlib.contextmanager
def ray():
    ray = pytest.importorskip("ray", reason="ray is not installed (nor is it in CI)")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100_000_000,
        logging_level="ERROR",
        log_to_driver=False,
    )
    try:
        with parallel_config("ray"):
            yield None
    finally:
        ray.shutdown()


@pytest.fixture(scope="module", params=[dask, ray], ids=["dask", "ray"])
def cluster(request, tmp_path_factory):
    """A cluster, made the place of all fits; its address."""
    before = {*children()}  # joblib keeps workers of its own
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("far")))
        patch.setattr(tempfile, "tempdir", None)
        paths = [TESTS, *sys.path]  # for the module `estimators`
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        with request.param() as address:
            yield address
    until_gone(lambda: {*children()} - before)


def children():
    """Find the processes that fit, on the cluster and here."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # gone, or a zombie
            if "popen_loky_posix" in " ".join(process.cmdline()):
                found.append(process)
    return found


def copies():
    me = psutil.Process()
    pids = [process.pid for process in (me, *me.children(recursive=True))]
    return copies_of_data(tempfile.gettempdir(), pids)


def until_gone(find):
    """Wait until nothing is found any more."""
    end = time.monotonic() + PATIENCE
    while left := find():
        assert time.monotonic() < end, left
        time.sleep(0.05)


@contextlib.contextmanager
def nothing_left():
    """Assert that a block leaves no process and no file."""
    before = {*children(), *copies()}
    yield
    until_gone(lambda: {*children(), *copies()} - before)


def job(estimator=None, scorer=None, **kwargs):
    estimator = Misbehaving() if estimator is None else estimator
    scorer = get_scorer("accuracy") if scorer is None else scorer
    return FitJob(estimator, X, Y, SPLITS, scorer, **kwargs)


def drain(evaluator):
    scores = []
    while (score := evaluator.next_event(PATIENCE)) is not None:
        scores.append(score)
    return sorted(scores, key=lambda score: (score.candidate, score.fold))


def evaluate(evaluator, candidates, folds=(0, 1)):
    for k, params in enumerate(candidates):
        evaluator.submit(k, params, folds)
    return drain(evaluator)


def search(estimator=None, **options):
    defaults = {"n_iter": 8, "cv": 2, "random_state": 0, "n_initial_points": 4}
    space = {"level": Real(0.0, 1.0), "fault": [None, "own_error", "memory_error"]}
    return MVRSMSearchCV(
        Misbehaving() if estimator is None else estimator,
        options.pop("space", space),
        **defaults | options,
    )


def columns(fitted):
    """What must not depend on where fits run."""
    names = ["status", "split0_status", "split1_status", "mean_test_score"]
    table = {name: list(fitted.cv_results_[name]) for name in names}
    return {**table, "params": fitted.cv_results_["params"]}


def by_accuracy(estimator, X, y):
    """Return a score that depends on the level."""
    return float(np.mean(estimator.predict(X) == y) - (estimator.level - 0.3) ** 2)


def test_a_search_finds_what_it_finds_on_one_machine(cluster):
    faults = ("own_error", "memory_error")
    points = [{"level": 0.5, "fault": fault} for fault in faults]
    options = {"scoring": by_accuracy, "initial_points": points}
    with nothing_left():
        there = search(**options).fit(X, Y)
    with parallel_config("loky"):
        here = search(**options).fit(X, Y)
    np.testing.assert_equal(columns(there), columns(here))
    assert {"ok", "error", "out_of_memory"} == set(there.cv_results_["status"])
    log = there.fit_log_
    ran = log["slot"] >= 0
    assert set(log["slot"][ran]) <= {0, 1}
    assert (log["start"][ran] >= 0.0).all()
    assert (log["start"][ran] <= log["finish"][ran]).all()


# ------------------------------------------------------------------ one fit


@pytest.fixture(scope="module")
def shared(cluster):
    """Fits on the cluster that have limits; errors are raised."""
    limits = {"timeout": 3.0, "memory_limit": 500_000_000}
    with Evaluator(job(raise_errors=True), **limits) as evaluator:
        assert isinstance(evaluator._pool, RemotePool)
        assert evaluator.n_slots == 2
        yield evaluator


def test_a_broken_fit_costs_itself_only(shared, late_if):
    late_if(lambda params: params["fault"] == "sleep_forever")
    greedy = "ask_numpy_for_memory"
    faults = ["sleep_forever", None, "segfault", None, "sigkill", greedy, None]
    scores = evaluate(shared, [{"fault": fault} for fault in faults], folds=[0])
    assert [s.status for s in scores] == [
        "timeout",
        "ok",
        "crashed",
        "ok",
        "out_of_memory",
        "out_of_memory",
        "ok",
    ]
    assert [s.killed for s in scores] == [1, 0, 1, 0, 1, 0, 0]
    late, well = scores[:2]
    assert 3.0 <= late.fit_time < PATIENCE
    assert "its limit is 3.0 s" in late.error
    assert "SIGSEGV" in scores[2].error
    assert "Unable to allocate" in scores[5].error
    assert well.started <= well.finished - well.fit_time
    assert {s.slot for s in scores} == {0, 1}


def test_errors_are_raised_as_what_they_were(shared):
    shared.submit(0, {"fault": "own_error"}, [0])
    with pytest.raises(OwnError) as caught:
        shared.next_event(PATIENCE)
    assert caught.value.args == ("why", 3)
    assert "in own_error" in caught.value.__notes__[0]


# ------------------------------------------------------------------ ends


def test_copies_are_found_whichever_files_are_open(tmp_path):
    # The list of a process's files has a file of its own, which is gone at the end.
    lower = os.open(os.devnull, os.O_RDONLY)
    copy = tmp_path / "sklearn-mvrsm-copy"
    with copy.open("w"):
        os.close(lower)
        found = copies_of_data(str(tmp_path), [os.getpid()])
    assert found == {str(copy), f"{copy} of {os.getpid()}"}


def noted(folder, n=1):
    """Wait until ``n`` fits have noted their processes; return the numbers of all."""
    end = time.monotonic() + PATIENCE
    while len(found := os.listdir(folder)) < n:
        assert time.monotonic() < end
        time.sleep(0.05)
    return [int(name) for name in found]


def test_nothing_that_runs_outlives_what_asked_for_it(cluster, tmp_path):
    given_up, stuck = tmp_path / "given up", tmp_path / "stuck"
    given_up.mkdir()
    stuck.mkdir()
    hang = {"fault": "sleep_forever"}
    with nothing_left(), Evaluator(job()) as evaluator:
        evaluator.submit(0, {**hang, "folder": str(given_up)}, [0])
        (pid,) = noted(given_up)
        evaluator.cancel(0)
        assert [s.status for s in drain(evaluator)] == ["skipped"]
        evaluator.submit(1, {"seconds": 0.5}, [0, 1])
        assert [s.status for s in drain(evaluator)] == ["ok"] * 2
        end = time.monotonic() + PATIENCE
        while psutil.pid_exists(pid):  # both may have run in the other slot
            assert time.monotonic() < end
            time.sleep(0.05)
        evaluator.submit(2, {**hang, "folder": str(stuck)}, [0])
        while not os.listdir(stuck):  # it may have to be sent again, with the data
            assert evaluator.next_event(0.1) is None


def test_an_interrupt_keeps_what_has_finished(cluster, tmp_path):
    stuck = {"fault": "sleep_forever", "folder": str(tmp_path)}
    interrupted = search(
        space={"fault": [None, "sleep_forever"], "folder": [None, str(tmp_path)]},
        initial_points=[{"fault": None, "folder": None}, stuck],
        n_iter=2,
        n_initial_points=2,
        n_pending=1,
        timeout=2 * PATIENCE,
    )

    def interrupt():
        noted(tmp_path)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with nothing_left(), pytest.raises(KeyboardInterrupt):
        interrupted.fit(X, Y)
    thread.join()
    assert list(interrupted.cv_results_["status"]) == ["ok"]
    assert interrupted.best_params_ == {"fault": None, "folder": None}


@pytest.mark.long
def test_a_machine_that_is_lost_costs_no_more_than_its_fit(cluster, tmp_path):
    with Evaluator(job(scorer=worker_pid)) as evaluator:
        evaluator.submit(0, {"fault": "wait_for_go", "folder": str(tmp_path)}, [0])
        (pid,) = noted(tmp_path)
        psutil.Process(pid).parent().kill()
        (tmp_path / "go").touch()
        (again,) = drain(evaluator)
        assert again.status == "ok"
        assert again.test_scores["score"] != pid
        until_gone(lambda: psutil.pid_exists(pid))


KILLED = """
import sys
from distributed import Client
from joblib import parallel_config
from made_up import copies_of_data
from test_distributed import X, Y, search

with Client(sys.argv[1]), parallel_config("dask"):
    search(space={"fault": ["sleep_forever"], "folder": [sys.argv[2]]}).fit(X, Y)
"""


# not ray: its processes are those of the program, and it ends them itself
@pytest.mark.long
@pytest.mark.parametrize("cluster", [dask], ids=["dask"], indirect=True)
def test_nothing_outlives_a_search_that_is_killed(cluster, tmp_path):
    command = [sys.executable, "-c", KILLED, cluster, str(tmp_path)]
    with nothing_left(), subprocess.Popen(command) as script:
        try:
            # Both: what begins when the search is gone cannot hear of that.
            fits = noted(tmp_path, 2)
            assert set(fits) <= {process.pid for process in children()}
        finally:
            script.kill()
