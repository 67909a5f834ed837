"""A search as a study of optuna: same parameters, scores and states."""

import importlib
import json
import math
import sys
import warnings
from wsgiref.util import setup_testing_defaults

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Ordinal, Real

optuna = pytest.importorskip("optuna", reason="optuna is not installed")
to_study = pytest.importorskip("sklearn_mvrsm.optuna").to_study
CategoricalDistribution = optuna.distributions.CategoricalDistribution
FloatDistribution = optuna.distributions.FloatDistribution
IntDistribution = optuna.distributions.IntDistribution
TrialState = optuna.trial.TrialState

X, y = load_iris(return_X_y=True)
SPACE = {
    "kernel": ["linear", "rbf"],
    "C": Real(1e-3, 1e3, log=True),
    "gamma": Real(0.01, 10.0).when(kernel="rbf"),
    "degree": Integer(1, 5),
    "tol": Ordinal([1e-4, 1e-3]),
}


class Any(ClassifierMixin, BaseEstimator):
    """Takes whatever it is given, and fails for a high level."""

    def __init__(self, level=0.0, part=None, kind=None):
        self.level = level
        self.part = part
        self.kind = kind

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.level > 0.8:
            raise ValueError("too high")
        return self

    def score(self, X, y):
        return 1.0 - (self.level - 0.3) ** 2 + 0.001 * float(X[0, 0])


def fitted(estimator, space, **options):
    options = {"n_iter": 12, "cv": 3, "random_state": 0} | options
    search = MVRSMSearchCV(estimator, space, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(X, y)


@pytest.fixture(scope="module")
def svc():
    return fitted(SVC(), SPACE)


def test_trials_are_the_rows_with_the_parameters_that_exist_there(svc):
    study = to_study(svc)
    results = svc.cv_results_
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert [trial.number for trial in study.trials] == list(range(12))
    assert [trial.params for trial in study.trials] == results["params"]
    assert [trial.value for trial in study.trials] == results[
        "mean_test_score"
    ].tolist()
    assert study.best_value == svc.best_score_
    for k, trial in enumerate(study.trials):
        assert trial.state == TrialState.COMPLETE
        assert list(trial.intermediate_values.values()) == [
            results[f"split{j}_test_score"][k] for j in range(3)
        ]
        assert trial.duration.total_seconds() >= 3 * results["mean_fit_time"][k] * 0.9
        assert trial.user_attrs["status"] == "ok"
    (rbf,) = {t.params["kernel"]: t.distributions for t in study.trials if
              t.params["kernel"] == "rbf"}.values()  # fmt: skip
    assert rbf == {
        "kernel": CategoricalDistribution(["linear", "rbf"]),
        "C": FloatDistribution(1e-3, 1e3, log=True),
        "gamma": FloatDistribution(0.01, 10.0),
        "degree": IntDistribution(1, 5),
        "tol": CategoricalDistribution([1e-4, 1e-3]),
    }


@pytest.fixture(scope="module")
def raced():
    return fitted(Any(), {"level": Real(0.0, 1.0)}, n_iter=30, cv=4, racing=True)


def test_failed_and_pruned_candidates_have_their_states(raced):
    study, results = to_study(raced), raced.cv_results_
    failed = results["status"] == "error"
    pruned = (results["split3_status"] == "skipped") & ~failed
    assert failed.any()
    assert pruned.any()
    for trial, fails, prunes in zip(study.trials, failed, pruned, strict=True):
        expected = TrialState.FAIL if fails else TrialState.PRUNED
        assert trial.state == (expected if fails or prunes else TrialState.COMPLETE)
        assert (trial.value is None) == (fails or prunes)
        assert ("error" in trial.user_attrs) == fails
        assert 0 < len(trial.intermediate_values) < 4 if prunes else True
    assert study.best_trial.number == raced.best_index_


def test_categories_that_are_objects_are_named_and_told_apart():
    parts = [SVC(), LogisticRegression(C=2.0), SVC(), None]
    space = {"part": Categorical(parts), "kind": Categorical([1, True, "1"])}
    search = fitted(Any(), space, n_iter=12)
    study = to_study(search)
    names = ["SVC() [0]", "LogisticRegression(C=2.0)", "SVC() [2]", "None"]
    kinds = ["1 [0]", "True", "1 [2]"]
    for trial, params in zip(study.trials, search.cv_results_["params"], strict=True):
        place = [part is params["part"] for part in parts].index(True)
        assert trial.params["part"] == names[place]
        same = [v is params["kind"] for v in space["kind"].values]
        assert trial.params["kind"] == kinds[same.index(True)]


def test_alternatives_share_a_distribution_that_holds_all_of_them():
    space = [
        {"level": Real(0.0, 0.2), "part": [1, 2], "kind": Integer(1, 3)},
        {"level": Real(0.3, 0.5), "part": Real(3.0, 4.0), "kind": Integer(10, 20)},
    ]
    search = fitted(Any(), space, include_default=False)
    study = to_study(search)
    assert [trial.params for trial in study.trials] == search.cv_results_["params"]
    distributions = study.trials[0].distributions
    assert distributions["level"] == FloatDistribution(0.0, 0.5)
    assert distributions["kind"] == IntDistribution(1, 20)
    assert set(distributions["part"].choices[:2]) == {1, 2}


def test_distributions_have_the_steps_that_optuna_can_have():
    space = {
        "level": Real(0, 0.7, step=0.1),
        "part": Integer(0, 8, step=2),
        "kind": Real(0, 1, step=1 / 3),  # optuna would end at 2/3
    }
    told = [{"level": 3 * 0.1, "part": 2, "kind": 1 / 3}]  # 0.30000000000000004
    study = to_study(fitted(Any(), space, n_iter=20, initial_points=told))
    distributions = study.trials[0].distributions
    assert study.trials[0].params["level"] == 0.3
    assert distributions["level"] == FloatDistribution(0.0, 0.7, step=0.1)
    assert distributions["part"] == IntDistribution(0, 8, step=2)
    assert distributions["kind"] == FloatDistribution(0.0, 1.0)
    assert {trial.params["kind"] for trial in study.trials} == {0.0, 1 / 3, 2 / 3, 1.0}


def test_the_metric_is_the_one_that_is_followed_the_others_are_attributes():
    both = {"a": "accuracy", "b": "neg_log_loss"}
    space = {"C": Real(0.01, 10.0, log=True)}
    search = fitted(LogisticRegression(), space, scoring=both, refit="b", n_iter=4)
    trials = to_study(search).trials
    assert [t.value for t in trials] == search.cv_results_["mean_test_b"].tolist()
    assert [t.user_attrs["mean_test_a"] for t in trials] == search.cv_results_[
        "mean_test_a"
    ].tolist()


def test_without_optuna_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    for name in ("", "._sampler", "._study"):
        monkeypatch.delitem(sys.modules, f"sklearn_mvrsm.optuna{name}")
    with pytest.raises(ImportError, match=r"'pip install sklearn-mvrsm\[optuna\]'"):
        importlib.import_module("sklearn_mvrsm.optuna")


def test_a_search_without_results_is_refused():
    with pytest.raises(NotFittedError, match="to_study needs a search that is fitted"):
        to_study(MVRSMSearchCV(SVC(), SPACE))
    for other in (OptimizeResult(x={}), GridSearchCV(SVC(), {"C": [1.0]})):
        named = f"needs a fitted MVRSMSearchCV, got {type(other).__name__}$"
        with pytest.raises(TypeError, match=named):
            to_study(other)


def test_a_study_can_be_stored_and_what_was_restored_has_no_duration(svc, tmp_path):
    path = tmp_path / "journal"
    search = fitted(SVC(), SPACE, checkpoint=path)
    again = fitted(SVC(), SPACE, checkpoint=path, n_iter=13)
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study"))
    storage = optuna.storages.JournalStorage(backend)
    to_study(again, storage=storage, study_name="svc")
    loaded = optuna.load_study(study_name="svc", storage=storage)
    assert [t.params for t in loaded.trials] == again.cv_results_["params"]
    trials = to_study(again).trials
    assert [t.duration.total_seconds() for t in trials[:12]] == [0.0] * 12
    assert trials[12].duration.total_seconds() > 0.0
    assert [t.value for t in trials[:12]] == [t.value for t in to_study(search).trials]


def test_importances_and_plots_can_be_made_of_it(svc):
    study = to_study(svc)
    found = optuna.importance.get_param_importances(
        study, params=["C", "degree", "kernel"]
    )
    assert math.isclose(sum(found.values()), 1.0)
    pytest.importorskip("plotly", reason="plotly is optional to optuna")
    from optuna import visualization

    for name in (
        "contour",
        "edf",
        "intermediate_values",
        "optimization_history",
        "parallel_coordinate",
        "rank",
        "slice",
        "timeline",
    ):
        assert getattr(visualization, f"plot_{name}")(study).data


@pytest.mark.parametrize("search", ["svc", "raced"])
def test_the_dashboard_opens_it(search, request):
    dashboard = pytest.importorskip(
        "optuna_dashboard", reason="optuna-dashboard is not there"
    )
    storage = optuna.storages.InMemoryStorage()
    study = to_study(request.getfixturevalue(search), storage=storage)
    environ = {
        "PATH_INFO": f"/api/studies/{study._study_id}",
        "QUERY_STRING": "after=0",
    }
    setup_testing_defaults(environ)
    answers = []
    body = dashboard.wsgi(storage)(environ, lambda *answer: answers.append(answer))
    assert answers[0][0] == "200 OK"
    shown = json.loads(b"".join(body))["trials"]
    for trial, expected in zip(shown, study.trials, strict=True):
        assert trial["state"] == expected.state.name.capitalize()
        assert trial.get("values") == expected.values
        params = {
            each["name"]: each["param_external_value"] for each in trial["params"]
        }
        assert params == {name: str(value) for name, value in expected.params.items()}
        steps = {each["step"]: each["value"] for each in trial["intermediate_values"]}
        assert steps == expected.intermediate_values
