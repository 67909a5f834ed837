"""Callbacks of the user: called after each candidate, in order, they may end it all."""

import contextlib
import json
import math
import sys
import warnings

import numpy as np
import pytest
from estimators import Constant
from sklearn.base import clone
from sklearn.datasets import load_iris

from sklearn_mvrsm import MVRSMSearchCV, Real, minimize
from sklearn_mvrsm.callbacks import (
    CandidateResult,
    JSONLogger,
    MLflowLogger,
    StopAtScore,
    StopWhenStalled,
)

X, y = load_iris(return_X_y=True)
SPACE = {"level": Real(0.0, 1.0)}


def by_level(estimator, X, y):
    return 1.0 - (estimator.level - 0.3) ** 2


in_any_order = pytest.mark.parametrize(
    ("n_jobs", "n_pending"), [(1, 1), (1, 4), (3, 2), (3, 4)]
)


class Notes:
    """Keeps what it is given, and stops at a number."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.results = []

    def __call__(self, result):
        self.results.append(result)
        return result.number == self.stop_at

    @property
    def numbers(self):
        return [result.number for result in self.results]


def make(callback, **options):
    options = {"n_iter": 8, "cv": 3, "random_state": 0, "scoring": by_level} | options
    return MVRSMSearchCV(Constant(), SPACE, callback=callback, **options)


@in_any_order
def test_callbacks_see_the_rows_of_the_results_in_order(n_jobs, n_pending):
    notes, others = Notes(), Notes()
    search = make([notes, others], n_jobs=n_jobs, n_pending=n_pending).fit(X, y)
    results = search.cv_results_
    assert notes.numbers == others.numbers == list(range(8))
    means = results["mean_test_score"]
    for k, result in enumerate(notes.results):
        assert result.params == results["params"][k]
        assert result.score == result.mean_scores["score"] == means[k]
        assert result.fold_scores == tuple(
            results[f"split{j}_test_score"][k] for j in range(3)
        )
        assert result.fit_time == pytest.approx(results["mean_fit_time"][k])
        assert result.best_score == means[: k + 1].max()
        assert result.best_number == np.argmax(means[: k + 1])
        assert (result.status, result.restored) == ("ok", False)
        assert result.greater_is_better


@in_any_order
def test_a_true_answer_ends_the_search_after_the_same_candidates_for_any_n_jobs(
    n_jobs, n_pending
):
    notes, idle = Notes(stop_at=3), Notes()
    search = make([notes, idle], n_iter=20, n_jobs=n_jobs, n_pending=n_pending)
    search.fit(X, y)
    n = 3 + n_pending  # what was in flight is finished
    assert len(search.cv_results_["params"]) == n
    assert notes.numbers == idle.numbers == list(range(n))
    assert search.best_estimator_.level == search.best_params_["level"]


def test_a_callback_may_alter_the_params_it_is_given():
    def spoil(result):
        result.params.clear()

    plain = make(None).fit(X, y)
    assert make(spoil).fit(X, y).cv_results_["params"] == plain.cv_results_["params"]


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_callback_raises_ends_the_search_and_keeps_what_was_found(n_jobs, error):
    def fail(result):
        if result.number == 2:
            raise error("enough")

    search = make(fail, n_jobs=n_jobs, n_pending=1)
    with pytest.raises(error, match="enough"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert search.best_params_ in search.cv_results_["params"]


@pytest.mark.parametrize("callback", [3, [print, "x"], [Notes]])
def test_what_is_no_callback_is_refused_before_any_fit(callback, tmp_path):
    search = make(callback)
    search.estimator.folder = str(tmp_path)
    with pytest.raises((TypeError, ValueError), match="'callback'"):
        search.fit(X, y)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="'callback' must be a callable or a list"):
        minimize(lambda params: 0.0, SPACE, 3, callback=callback)


def test_failures_and_candidates_that_were_given_up_have_a_status_and_no_score():
    def moody(estimator, X, y):
        if estimator.level > 0.8:
            raise ValueError("too high")
        return by_level(estimator, X, y) + 0.001 * float(X[0, 0])

    notes = Notes()
    search = make(notes, n_iter=25, scoring=moody, racing=True, cv=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    seen = {result.status for result in notes.results}
    assert seen == {"ok", "error", "pruned"}
    for result in notes.results:
        assert math.isfinite(result.score) == (result.status == "ok")
        assert math.isfinite(result.best_score) == (result.best_number is not None)
    skipped = search.cv_results_["split3_status"] == "skipped"
    assert [r.status == "pruned" for r in notes.results] == skipped.tolist()


@pytest.mark.parametrize("n_pending", [1, 3])
def test_a_resumed_search_ends_where_its_callbacks_had_ended_it(tmp_path, n_pending):
    options = {"n_iter": 30, "n_pending": n_pending}
    whole = make(Notes(stop_at=6), **options).fit(X, y)
    path = tmp_path / "search.jsonl"
    make(None, **(options | {"n_iter": 5}), checkpoint=path).fit(X, y)
    for restored in (5, 6 + n_pending):
        notes = Notes(stop_at=6)
        search = make(notes, **options, checkpoint=path).fit(X, y)
        assert search.cv_results_["params"] == whole.cv_results_["params"]
        assert notes.numbers == list(range(6 + n_pending))
        assert [result.restored for result in notes.results].count(True) == restored


def test_a_search_with_a_callback_can_be_cloned_and_its_callback_changed(tmp_path):
    logger = JSONLogger(tmp_path / "log")
    search = clone(make([StopWhenStalled(3), StopAtScore(0.5), logger]))
    assert repr(search.callback[:2]) == "[StopWhenStalled(3), StopAtScore(0.5)]"
    assert search.callback[2].path == logger.path


# --- the ready-made ones -------------------------------------------------------------


def result(number, score, best, **options):
    return CandidateResult(number, {}, score, *best, **options)


def test_stop_when_stalled_counts_candidates_without_a_better_one():
    stop = StopWhenStalled(3)
    assert [stop(result(k, 0.5, (1, 0.9))) for k in range(1, 6)] == [
        False, False, False, True, True
    ]  # fmt: skip
    none = (None, math.nan)
    assert [stop(result(k, math.nan, none)) for k in range(4)] == [
        False, False, True, True
    ]  # fmt: skip
    assert not any(stop(result(k, 0.5, none, constraint=9.0 - k)) for k in range(6))
    assert stop(result(9, 0.5, (6, 0.5), constraint=1.0))


def test_stop_at_score_knows_which_way_is_better():
    stop = StopAtScore(0.9)
    assert stop(result(0, 0.9, (0, 0.9)))
    assert not stop(result(0, 0.8, (0, 0.8)))
    assert not stop(result(0, math.nan, (None, math.nan)))
    assert stop(result(0, 0.8, (0, 0.8), greater_is_better=False))
    assert not stop(result(0, 1.0, (0, 1.0), greater_is_better=False))


@pytest.mark.parametrize(
    ("make_one", "match"),
    [
        (lambda: StopWhenStalled(0), "'n' must be a whole number >= 1, got 0"),
        (lambda: StopWhenStalled(2.5), "'n' must be a whole number >= 1, got 2.5"),
        (lambda: StopWhenStalled(True), "'n' must be"),
        (lambda: StopAtScore("high"), "'score' must be a number, got 'high'"),
        (lambda: StopAtScore(math.nan), "'score' must be a number, got nan"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(make_one, match):
    with pytest.raises(ValueError, match=match):
        make_one()


def test_they_end_a_search():
    stalled = make(StopWhenStalled(4), n_iter=100, n_pending=1).fit(X, y)
    means = stalled.cv_results_["mean_test_score"]
    assert len(means) == np.argmax(means) + 5 < 100
    reached = make(StopAtScore(0.999), n_iter=100, n_pending=1).fit(X, y)
    means = reached.cv_results_["mean_test_score"]
    assert means[-1] >= 0.999 > means[:-1].max()


def test_they_end_minimize():
    seen = Notes()
    found = minimize(
        lambda params: (params["level"] - 0.3) ** 2,
        SPACE,
        200,
        random_state=0,
        callback=[seen, StopAtScore(1e-3)],
    )
    assert found.nfev == len(seen.results) < 200
    assert found.func_vals[-1] <= 1e-3 < found.func_vals[:-1].min()
    assert [r.x for r in seen.results] == found.x_iters
    assert [r.fun for r in seen.results] == found.func_vals.tolist()
    assert [r.best_score for r in seen.results] == np.minimum.accumulate(
        found.func_vals
    ).tolist()


def test_json_lines_have_every_candidate_once_also_of_a_resumed_search(tmp_path):
    log, path = tmp_path / "log.jsonl", tmp_path / "search.jsonl"
    make(JSONLogger(log), n_iter=4, checkpoint=path).fit(X, y)
    log.write_bytes(log.read_bytes()[:-20])  # as after a crash
    search = make(JSONLogger(log), n_iter=6, checkpoint=path).fit(X, y)
    lines = []
    for line in log.read_text().splitlines():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    assert [line["number"] for line in lines] == list(range(6))
    for line, params in zip(lines, search.cv_results_["params"], strict=True):
        assert line["params"] == params
        assert len(line["fold_scores"]) == 3


def test_json_has_null_for_nan_and_text_for_objects(tmp_path):
    log = tmp_path / "log.jsonl"
    params = {"a": np.float64(0.5), "b": np.int64(3), "c": (1, None), "d": Constant()}
    JSONLogger(log)(CandidateResult(0, params, math.nan, None, -math.inf))
    found = json.loads(log.read_text())
    assert found["params"] == {"a": 0.5, "b": 3, "c": [1, None], "d": "Constant()"}
    assert (found["score"], found["best_score"], found["fit_time"]) == (None,) * 3
    with pytest.raises(FileNotFoundError, match="'path' must be in a folder"):
        JSONLogger(tmp_path / "absent" / "log.jsonl")


def test_mlflow_has_a_nested_run_for_each_new_candidate(monkeypatch, tmp_path):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer ones want a database
    mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    path = tmp_path / "search.jsonl"
    make(None, n_iter=2, checkpoint=path).fit(X, y)
    with mlflow.start_run(run_name="whole") as active:
        search = make(MLflowLogger(), n_iter=5, checkpoint=path).fit(X, y)
        assert mlflow.active_run().info.run_id == active.info.run_id
    client, id_of_whole = mlflow.MlflowClient(), active.info.run_id
    *runs, whole = mlflow.search_runs(output_format="list")  # the newest first
    assert whole.info.run_id == id_of_whole
    assert [run.info.run_name for run in runs] == [f"candidate {k}" for k in (4, 3, 2)]
    means = search.cv_results_["mean_test_score"]
    best = client.get_metric_history(id_of_whole, "best_score")
    assert {each.step: each.value for each in best} == {
        k: means[: k + 1].max() for k in (2, 3, 4)
    }
    for k, run in zip((4, 3, 2), runs, strict=True):
        tags, data = run.data.tags, run.data
        assert tags["mlflow.parentRunId"] == id_of_whole
        assert (run.info.status, tags["status"]) == ("FINISHED", "ok")
        assert data.params == {"level": str(search.cv_results_["params"][k]["level"])}
        assert data.metrics["score"] == means[k]
        folds = client.get_metric_history(run.info.run_id, "fold_score")
        assert {each.step: each.value for each in folds} == {
            fold: search.cv_results_[f"split{fold}_test_score"][k] for fold in range(3)
        }


def test_without_mlflow_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match="pip install mlflow-skinny"):
        MLflowLogger()
