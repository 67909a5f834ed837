import os
import sys
import threading
import time
import warnings

import awkward
import numpy as np
import pytest
import sklearn
from estimators import Constant, Handle, Misbehaving, OwnError, lock_score, worker_pid
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_mvrsm._evaluation.environment import fit_environment
from sklearn_mvrsm._evaluation.evaluator import Evaluator, _open_job, _run_mapped_fold
from sklearn_mvrsm._evaluation.fold_fit import FitJob, FitReport, FunctionJob, run_fold
from sklearn_mvrsm._evaluation.scores import FoldScore
from sklearn_mvrsm._execution.outcomes import Died, Returned, TaskEnd
from sklearn_mvrsm._execution.payload import write_payload
from sklearn_mvrsm._space import evaluated

X, Y = load_iris(return_X_y=True)
SPLITS = list(StratifiedKFold(3).split(X, Y))
ACCURACY = get_scorer("accuracy")
PATIENCE = 300.0
posix_only = pytest.mark.skipif(
    os.name != "posix",
    reason="Windows has neither SIGKILL nor an exit code that names a signal",
)


def job(estimator, scorer=ACCURACY, X=X, **kwargs):
    return FitJob(estimator, X, Y, SPLITS, scorer, **kwargs)


def evaluate(evaluator, candidates, folds=range(3)):
    """Return the folds of all candidates, in the order in which they were decided."""
    for k, params in enumerate(candidates):
        evaluator.submit(k, params, folds)
    return drain(evaluator)


def drain(evaluator):
    scores = []
    while (score := evaluator.next_event(PATIENCE)) is not None:
        scores.append(score)
    return scores


def table(scores):
    """What must not depend on the number of slots: all but times and places."""
    rows = {}
    for s in scores:
        row = s.fold, s.status, s.test_scores, s.train_scores, s.n_test_samples
        error = "timeout" if s.status == "timeout" else s.error
        rows.setdefault(s.candidate, []).append((*row, error))
    return rows


# -------------------------------------------------------------- one record, anywhere


@pytest.fixture(scope="module")
def in_caller():
    with Evaluator(job(Misbehaving(), return_train_score=True)) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def in_processes():
    faulty = job(Misbehaving(), return_train_score=True)
    with Evaluator(faulty, n_jobs=2, timeout=PATIENCE) as evaluator:
        yield evaluator


HARMLESS = [
    {},
    {"fault": "value_error"},
    {"fault": "system_exit"},
    {"level": 1.0},
    {"fault": "own_error"},
    {"fault": "memory_error"},
    {"nope": 1.0},
    {"seconds": 0.01},
]


def test_records_do_not_depend_on_where_fits_run(in_caller, in_processes):
    expected = table(evaluate(in_caller, HARMLESS))
    assert table(evaluate(in_processes, HARMLESS)) == expected
    statuses = {k: [row[1] for row in rows] for k, rows in expected.items()}
    assert statuses == {
        0: ["ok"] * 3,
        1: ["error"] * 3,
        2: ["error"] * 3,
        3: ["ok"] * 3,
        4: ["error"] * 3,
        5: ["out_of_memory", "skipped", "skipped"],
        6: ["error"] * 3,
        7: ["ok"] * 3,
    }
    assert "ValueError: bad parameters" in expected[1][0][-1]
    assert "Invalid parameter 'nope'" in expected[6][0][-1]


def test_any_exception_of_a_fit_is_a_row(in_caller, in_processes):
    faults = [{"fault": fault} for fault in awkward.FAULTS]
    expected = table(evaluate(in_caller, faults, folds=[0]))
    assert table(evaluate(in_processes, faults, folds=[0])) == expected
    assert {row[1] for (row,) in expected.values()} == {"error"}


def fail_awkwardly(estimator, X, y):
    awkward.FAULTS[estimator.level]()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_exception_of_a_scorer_is_a_row(n_jobs):
    faults = [{"level": fault} for fault in awkward.FAULTS]
    with Evaluator(job(Constant(), scorer=fail_awkwardly), n_jobs=n_jobs) as evaluator:
        scores = evaluate(evaluator, faults, folds=[0])
    assert {score.status for score in scores} == {"error"}
    assert {score.n_test_samples for score in scores} == {50}  # the fit was well
    for score in scores:
        assert f"in {list(awkward.FAULTS)[score.candidate]}" in score.error


def interrupted(estimator, X, y):
    raise KeyboardInterrupt("by the user's own code")


@pytest.mark.parametrize("options", [{}, {"scorer": interrupted}])
def test_an_interrupt_in_the_callers_process_is_raised(options):
    with Evaluator(job(Misbehaving(), **options)) as evaluator:
        evaluator.submit(0, {"fault": None if options else "interrupt"}, [0])
        with pytest.raises(KeyboardInterrupt):
            evaluator.next_event()


def test_folds_of_a_candidate_are_decided_in_their_order(in_processes):
    scores = evaluate(in_processes, [{}, {"seconds": 0.05}, {}], folds=[2, 0, 1])
    for k in range(3):
        assert [s.fold for s in scores if s.candidate == k] == [2, 0, 1]


def test_records_tell_where_and_when_a_fit_ran(in_processes):
    before = time.monotonic()
    (score,) = evaluate(in_processes, [{"seconds": 0.05}], folds=[0])
    assert score.slot in (0, 1)
    assert before <= score.started <= score.finished - 0.05 < time.monotonic()
    assert 0.05 <= score.fit_time <= score.finished - score.started
    assert not score.killed


def test_a_late_fold_ends_its_candidate_only(in_processes):
    in_processes.submit(0, {"fault": "sleep_forever"}, range(3))
    while in_processes._pool.n_running < 2:
        assert in_processes.next_event(0.02) is None
    first = min(in_processes._pool._runs(), key=lambda run: run.task.task_id)
    time.sleep(0.5)
    first.deadline = time.monotonic()  # it is late, and the second has begun
    in_processes.submit(1, {}, range(3))
    scores = drain(in_processes)
    rows = table(scores)
    assert [row[1] for row in rows[0]] == ["timeout", "skipped", "skipped"]
    assert [row[1] for row in rows[1]] == ["ok"] * 3
    late = next(s for s in scores if s.status == "timeout")
    assert late.test_scores is None
    assert late.killed
    assert 0.5 <= late.fit_time <= late.finished - late.started
    assert late.error == (
        f"the fit was stopped after {late.fit_time:.2f} s, its limit is {PATIENCE} s"
    )
    skipped = next(s for s in scores if s.status == "skipped")
    assert skipped == FoldScore(0, skipped.fold, "skipped", killed=True)  # had begun


@posix_only
@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        ("segfault", "crashed", "SIGSEGV"),
        ("exit_code", "crashed", "exit code 1"),
        ("close_files", "crashed", "lost its connection"),
        ("sigkill", "out_of_memory", "probably"),
    ],
)
def test_a_crash_ends_its_candidate_only(in_processes, fault, status, text):
    scores = evaluate(in_processes, [{"fault": fault}, {}])
    rows = table(scores)
    assert [row[1] for row in rows[0]] == [status, "skipped", "skipped"]
    assert [row[1] for row in rows[1]] == ["ok"] * 3
    assert text in rows[0][0][-1]
    assert scores[0].killed


def test_what_ran_after_the_fold_that_ended_a_candidate_is_skipped(monkeypatch):
    # Whatever the timing: here the later folds come back before the first.
    report = FitReport({"score": 1.0}, None, 0.1, 0.1, 50, (), False, False)
    arrivals = {3: Returned(report), 1: Returned(report), 2: Died("it"), 0: Died("it")}
    with Evaluator(job(Constant())) as evaluator:
        evaluator.submit(7, {}, range(4))
        events = [
            TaskEnd((7, k), outcome, 0, 0.0, 1.0) for k, outcome in arrivals.items()
        ]
        monkeypatch.setattr(
            evaluator._pool, "next_event", lambda _: events.pop(0) if events else None
        )
        scores = drain(evaluator)
    assert [s.status for s in scores] == ["crashed", "skipped", "skipped", "skipped"]


@pytest.mark.parametrize("where", ["in_caller", "in_processes"])
def test_a_cancelled_candidate_is_skipped_from_where_it_is(request, where):
    evaluator = request.getfixturevalue(where)
    evaluator.submit(0, {}, range(3))
    first = evaluator.next_event(PATIENCE)
    evaluator.submit(1, {}, range(2))
    evaluator.cancel(0)
    scores = drain(evaluator)
    assert first.status == "ok"
    assert [(s.candidate, s.status) for s in scores] == [
        (0, "skipped"),
        (0, "skipped"),
        (1, "ok"),
        (1, "ok"),
    ]


def test_waiting_can_be_limited(in_processes, tmp_path):
    params = {"fault": "wait_for_go", "folder": str(tmp_path)}
    in_processes.submit(0, params, [0])
    assert in_processes.next_event(0.05) is None
    (tmp_path / "go").touch()  # had there been no limit, the fit would have ended first
    assert [s.status for s in drain(in_processes)] == ["ok"]


# ------------------------------------------------------------------ error_score="raise"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_are_raised_as_what_they_were_and_losses_stay_rows(n_jobs):
    strict = job(Misbehaving(), raise_errors=True)
    with Evaluator(strict, n_jobs=n_jobs) as evaluator:
        evaluator.submit(0, {"fault": "memory_error"}, range(2))
        assert evaluator.next_event(PATIENCE).status == "out_of_memory"
        assert evaluator.next_event(PATIENCE).status == "skipped"
        evaluator.submit(1, {"fault": "own_error"}, range(1))
        with pytest.raises(OwnError) as caught:
            evaluator.next_event(PATIENCE)
        assert caught.value.args == ("why", 3)
        notes = getattr(caught.value, "__notes__", [])
        assert any("in own_error" in note for note in notes) == (n_jobs == 2)
        if n_jobs == 2:
            evaluator.submit(2, {"fault": "unpicklable_error"}, range(1))
            with pytest.raises(RuntimeError, match="UnpicklableError: one argument"):
                evaluator.next_event(PATIENCE)


def test_misuse_is_raised_in_any_case():
    with Evaluator(job(Constant(), scorer=lock_score)) as evaluator:
        evaluator.submit(0, {}, range(3))
        with pytest.raises(ValueError, match="scoring must return a number"):
            evaluator.next_event()


# ------------------------------------------------------------------ where fits run


@pytest.mark.parametrize(
    ("kwargs", "in_this_process"),
    [
        ({}, True),
        ({"n_jobs": 1}, True),
        ({"timeout": 60.0}, False),
        ({"killable": True}, False),
    ],
)
def test_fits_run_in_this_process_unless_something_may_end_them(
    kwargs, in_this_process
):
    with Evaluator(job(Constant(), scorer=worker_pid), **kwargs) as evaluator:
        assert evaluator.n_slots == 1
        (score,) = evaluate(evaluator, [{}], folds=[0])
    assert (score.test_scores["score"] == os.getpid()) == in_this_process


def look_around(estimator, X, y):
    """Score with what is found: settings, warnings as errors, threads."""
    if not sklearn.get_config()["assume_finite"]:
        return -1.0
    try:
        warnings.warn("an error here", FutureWarning, stacklevel=1)
    except FutureWarning:
        return float(os.environ["OMP_NUM_THREADS"])
    return -2.0


def test_settings_filters_and_threads_reach_the_workers(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with sklearn.config_context(assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        looking = job(Constant(), scorer=look_around)
        with Evaluator(looking, killable=True) as evaluator:
            (score,) = evaluate(evaluator, [{}], folds=[0])
    assert score.test_scores == {"score": 3.0}


def threads_of_openmp(estimator, X, y):
    return float(os.environ["OMP_NUM_THREADS"])


def test_an_estimator_may_use_as_many_threads_as_it_was_told_to(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    booster = pytest.importorskip("xgboost").XGBClassifier(n_estimators=2, n_jobs=3)
    with Evaluator(job(booster, scorer=threads_of_openmp), n_jobs=2) as evaluator:
        (score,) = evaluate(evaluator, [{}], folds=[0])
    assert score.test_scores == {"score": 3.0}


def test_large_data_and_lambdas_reach_the_workers(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    big = np.repeat(X, 2000, axis=1)
    estimator = make_pipeline(FunctionTransformer(lambda X: X[:, ::2000]), Constant())
    with Evaluator(job(estimator, X=big), killable=True) as evaluator:
        (score,) = evaluate(evaluator, [{"constant__level": 1.0}], folds=[0])
        (payload,) = tmp_path.glob("*/payload")
        assert payload.stat().st_size > big.nbytes
    assert score.status == "ok"
    assert list(tmp_path.iterdir()) == []


def test_what_travels_once_only_is_searched_on():
    data = np.array([[Handle()] for _ in X], dtype=object)
    with Evaluator(job(Constant(level=Handle()), X=data), n_jobs=2) as it:
        scores = evaluate(it, [{"seconds": 0.0}, {"seconds": 0.01}])
    assert [(s.status, s.error) for s in scores] == [("ok", "")] * 6


def test_what_a_worker_does_gives_what_the_caller_would(tmp_path):
    path = str(tmp_path / "payload")
    good = job(Constant())
    with sklearn.config_context(assume_finite=True):
        write_payload(path, (good, fit_environment()))
    report = _run_mapped_fold(path, {"level": 1.0}, 0, None)
    assert report.test_scores == run_fold(good, {"level": 1.0}, 0).test_scores
    assert _open_job(path) is _open_job(path)
    assert not sklearn.get_config()["assume_finite"]


class Recalls:
    """A store that knows some folds and keeps the new ones."""

    def __init__(self, *known):
        self.known = known
        self.kept = []

    def recall(self, candidate, params):
        return {fold.fold: fold for fold in self.known if fold.candidate == candidate}

    def record(self, fold):
        self.kept.append((fold.candidate, fold.fold, fold.status))


def test_folds_that_are_remembered_are_not_fitted_again():
    store = Recalls(
        FoldScore(0, 1, "ok", {"score": 0.25}), FoldScore(1, 1, "crashed", error="it")
    )
    with Evaluator(job(Constant()), store=store) as evaluator:
        scores = evaluate(evaluator, [{}, {}])
    rows = table(scores)
    assert [row[1] for row in rows[0]] == ["ok"] * 3
    assert rows[0][1][2] == {"score": 0.25}
    assert [row[1] for row in rows[1]] == ["ok", "crashed", "skipped"]
    assert store.kept == [(0, 0, "ok"), (0, 2, "ok"), (1, 0, "ok")]


@pytest.mark.parametrize(
    ("unsendable", "named"),
    [
        (job(Constant(folder=threading.Lock())), "the estimator with data, folds and"),
        (FunctionJob(threading.Lock().locked, evaluated), "'func' was pickled for"),
    ],
    ids=["fit", "function"],
)
def test_nothing_is_left_of_a_job_that_cannot_be_sent(
    unsendable, named, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(TypeError, match="pickle") as info:
        Evaluator(unsendable, n_jobs=2).__enter__()
    assert named in info.value.__notes__[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux keeps RLIMIT_AS; test_outcomes.py holds the refusal elsewhere",
)
def test_a_fit_over_its_memory_limit_is_a_row():
    with Evaluator(job(Misbehaving()), memory_limit=500_000_000) as evaluator:
        scores = evaluate(evaluator, [{"fault": "ask_numpy_for_memory"}, {}])
    rows = table(scores)
    assert [row[1] for row in rows[0]] == ["out_of_memory", "skipped", "skipped"]
    assert [row[1] for row in rows[1]] == ["ok"] * 3
    assert "Unable to allocate" in rows[0][0][-1]
    assert not scores[0].killed


def test_a_memory_limit_that_cannot_be_enforced_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with (
        pytest.raises(ValueError, match=r"memory_limit.*only Linux"),
        Evaluator(job(Constant()), memory_limit=10**9),
    ):
        pass
