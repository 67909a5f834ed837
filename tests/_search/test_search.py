"""Laws of the search: all that GridSearchCV promises, and what is added to it."""

import contextlib
import copy
import pickle
import re
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import psutil
import pytest
import scipy.sparse as sp
import sklearn
from estimators import Bowl
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMOptimizer,
    MVRSMSearchCV,
    Real,
    SearchSpace,
)
from sklearn_mvrsm._evaluation import FitJob
from sklearn_mvrsm._search import loop

X, y = make_classification(60, n_features=5, flip_y=0.2, random_state=0)
TWO = {"acc": "accuracy", "loss": "neg_log_loss"}


BOWL = {"x": Real(-1.0, 1.0), "k": Integer(0, 9)}


def make(estimator=None, space=None, n_iter=6, **options):
    options = {"cv": 3, "random_state": 0} | options
    return MVRSMSearchCV(
        Bowl() if estimator is None else estimator,
        BOWL if space is None else space,
        n_iter=n_iter,
        **options,
    )


def moods(*names):
    """Initial points of the given moods, and a space that has them."""
    space = {"mood": sorted({"fine", *names}), "x": Real(0.0, 1.0)}
    points = [{"mood": name, "x": 0.1 * k} for k, name in enumerate(names)]
    return {"space": space, "initial_points": points, "n_iter": len(names)}


def fit_quietly(search, *data, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(*(data or (X, y)), **params)


def assert_same_results(first, second):
    """Everything is equal but times."""
    assert list(first) == list(second)
    for name in first:
        if not name.endswith("_time"):
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)


# --- what GridSearchCV gives --------------------------------------------------------


def rows(results):
    names = [n for n in results if not n.startswith("param") and "_time" not in n]
    return {
        repr(sorted(params.items())): {name: results[name][i] for name in names}
        for i, params in enumerate(results["params"])
    }


@pytest.mark.parametrize(
    ("scoring", "refit"),
    [
        (None, True),
        ("roc_auc", False),
        (["accuracy", "neg_log_loss"], "neg_log_loss"),
        ({"a": "accuracy", "b": make_scorer(accuracy_score)}, "b"),
        (lambda e, X, y: {"one": e.score(X, y), "two": 1.0}, "one"),
        (lambda e, X, y: e.score(X, y), True),
    ],
    ids=["default", "no-refit", "list", "dict", "callable-dict", "callable"],
)
def test_a_finite_space_gives_the_rows_of_grid_search(scoring, refit):
    space = [{"max_depth": [1, 2, 3]}, {"max_depth": [4], "criterion": ["gini"]}]
    tree = DecisionTreeClassifier(random_state=0)
    options = {"scoring": scoring, "refit": refit, "return_train_score": True, "cv": 3}
    grid = GridSearchCV(tree, space, **options).fit(X, y)
    ours = make(tree, space, n_iter=4, **options).fit(X, y)
    expected, got = rows(grid.cv_results_), rows(ours.cv_results_)
    assert got.keys() == expected.keys()
    for key, row in expected.items():
        assert row.items() <= got[key].items()
    assert set(grid.cv_results_) < set(ours.cv_results_)
    for name in ("best_score_", "multimetric_", "n_splits_"):
        assert getattr(ours, name) == getattr(grid, name)
    assert type(ours.scorer_) is type(grid.scorer_)
    fitted = {name for name in vars(grid) if name.endswith("_")}
    assert fitted < {name for name in vars(ours) if name.endswith("_")}


def test_ties_go_to_the_first_row():
    search = make(space={"mood": ["fine"] * 5}, n_iter=5).fit(X, y)
    assert search.best_index_ == 0
    assert search.cv_results_["rank_test_score"].tolist() == [1] * 5


def test_the_best_estimator_is_fitted_on_all_data():
    search = make(LogisticRegression(), {"C": Real(0.1, 1.0)}).fit(X, y)
    again = LogisticRegression(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, again.coef_)
    np.testing.assert_array_equal(search.predict_proba(X), again.predict_proba(X))
    assert search.score(X, y) == again.score(X, y)
    assert search.refit_time_ > 0.0
    assert search.classes_.tolist() == [0, 1]
    assert search.n_features_in_ == 5


def test_the_named_metric_guides_and_scores():
    search = make(
        LogisticRegression(), {"C": Real(0.01, 1.0)}, scoring=TWO, refit="loss"
    ).fit(X, y)
    means = search.cv_results_["mean_test_loss"]
    assert search.best_index_ == np.argmax(means)
    assert [trial.value for trial in search.optimizer_.trials] == (-means).tolist()
    expected = get_scorer("neg_log_loss")(search.best_estimator_, X, y)
    assert search.score(X, y) == expected


def test_without_a_named_metric_the_first_guides():
    search = make(
        LogisticRegression(), {"C": Real(0.01, 1.0)}, scoring=TWO, refit=False
    ).fit(X, y)
    values = [trial.value for trial in search.optimizer_.trials]
    assert values == (-search.cv_results_["mean_test_acc"]).tolist()
    assert not hasattr(search, "best_params_")


def test_a_callable_refit_chooses_the_row():
    def last(results):
        assert set(results["status"]) == {"ok"}
        return len(results["params"]) - 1

    search = make(refit=last).fit(X, y)
    assert search.best_index_ == 5
    assert search.best_params_ == search.cv_results_["params"][5]
    assert not hasattr(search, "best_score_")
    assert search.best_estimator_.x == search.best_params_["x"]


@pytest.mark.parametrize(
    ("answer", "error"), [("first", TypeError), (6, IndexError), (-1, IndexError)]
)
def test_a_callable_refit_must_give_a_row(answer, error):
    with pytest.raises(error, match="best_index_"):
        make(refit=lambda results: answer).fit(X, y)


@pytest.mark.parametrize("refit", [True, "auc"])
def test_an_impossible_refit_is_refused_before_any_fit(refit):
    Bowl.fits = 0
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        make(scoring=["accuracy", "f1"], refit=refit).fit(X, y)
    assert Bowl.fits == 0


def test_a_callable_refit_may_alter_what_it_gets():
    def rule(results):
        row = int(np.argmax(results["mean_test_score"]))
        for name in list(results):
            if name.startswith(("split", "mean")):
                results.pop(name)[:] = "" if name.endswith(("error", "status")) else 7.0
        results["params"][row].clear()
        return row

    expected, search = make().fit(X, y), make(refit=rule).fit(X, y)
    assert list(search.cv_results_) == list(expected.cv_results_)
    assert search.best_params_ == expected.best_params_
    means = [each.cv_results_["mean_test_score"] for each in (search, expected)]
    np.testing.assert_array_equal(*means)


def test_a_callable_scorer_reveals_an_impossible_refit_at_its_first_fit():
    Bowl.fits = 0
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        make(scoring=lambda e, X, y: {"a": 1.0}, refit=True).fit(X, y)
    assert Bowl.fits == 1


def test_score_with_several_metrics_and_a_callable_refit_says_what_is_missing():
    search = make(
        LogisticRegression(),
        {"C": Real(0.1, 1.0)},
        scoring=TWO,
        refit=lambda results: 0,
    ).fit(X, y)
    with pytest.raises(ValueError, match=r"score needs one metric.*callable"):
        search.score(X, y)
    assert search.scorer_["acc"](search.best_estimator_, X, y) > 0.5
    single = search.set_params(scoring="accuracy").fit(X, y)
    assert single.score(X, y) > 0.5


def test_without_refit_there_is_nothing_to_predict_with():
    search = make(refit=False).fit(X, y)
    check_is_fitted(search)
    assert not hasattr(search, "predict")
    assert not hasattr(search, "best_estimator_")
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    with pytest.raises(AttributeError, match="refit=False"):
        search.score(X, y)


def test_an_unfitted_search_says_so():
    search = make(LogisticRegression(), {"C": Real(0.1, 1.0)})
    assert hasattr(search, "predict")
    with pytest.raises(NotFittedError):
        search.predict(X)


# --- parameters ---------------------------------------------------------------------


def test_arguments_are_stored_as_they_are():
    arguments = {
        "estimator": object(),
        "param_space": object(),
        "n_iter": -1,
        "n_initial_points": "many",
        "initial_points": 7,
        "scoring": object(),
        "refit": object(),
        "cv": object(),
        "error_score": object(),
        "return_train_score": object(),
        "verbose": object(),
        "random_state": object(),
        "n_jobs": object(),
        "n_pending": object(),
        "fit_timeout": object(),
        "fit_memory_limit": object(),
        "timeout": object(),
        "checkpoint": object(),
        "racing": object(),
        "method": object(),
        "progress": object(),
    }
    search = MVRSMSearchCV(**arguments)
    stored = search.get_params(deep=False)
    for name, value in arguments.items():
        assert stored[name] is value


def test_options_are_keyword_only():
    with pytest.raises(TypeError, match="positional"):
        MVRSMSearchCV(Bowl(), BOWL, 5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("estimator", 1),
        ("param_space", 3),
        ("n_iter", 0),
        ("n_iter", 2.5),
        ("n_iter", True),
        ("n_initial_points", -1),
        ("initial_points", {"x": 1}),
        ("refit", 2.5),
        ("error_score", "ignore"),
        ("error_score", True),
        ("n_jobs", 1.5),
        ("n_jobs", True),
        ("n_pending", 0),
        ("fit_timeout", 0),
        ("fit_timeout", -1.0),
        ("fit_timeout", True),
        ("fit_memory_limit", 0),
        ("timeout", 0.0),
        ("progress", "yes"),
        ("method", "bayes"),
        ("random_state", "seed"),
        ("verbose", -1),
    ],
)
def test_a_bad_argument_is_named(name, value):
    search = make().set_params(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of MVRSMSearchCV"):
        search.fit(X, y)


def test_nothing_that_was_passed_is_altered():
    inner = Bowl(k=7)
    points = [{"x": 0.5, "k": 3}]
    search = make(inner, initial_points=points)
    before = search.get_params(deep=False).copy()
    search.fit(X, y)
    after = search.get_params(deep=False)
    assert all(after[name] is before[name] for name in before)
    assert vars(inner) == vars(Bowl(k=7))
    assert points == [{"x": 0.5, "k": 3}]


def test_a_space_may_be_written_in_every_way():
    declared = SearchSpace(BOWL)
    search = make(space=declared).fit(X, y)
    assert search.space_ is declared
    assert_same_results(search.cv_results_, make().fit(X, y).cv_results_)
    search = make(
        Ridge(), {"alpha": loguniform(0.1, 1.0), "max_iter": randint(5, 9)}
    ).fit(X, y)
    assert all(type(p["alpha"]) is float for p in search.cv_results_["params"])
    assert all(type(p["max_iter"]) is int for p in search.cv_results_["params"])


def test_a_name_that_the_estimator_lacks_is_refused_before_any_fit():
    Bowl.fits = 0
    with pytest.raises(ValueError, match=r"'xx' of the space cannot be set on Bowl\("):
        make(space={"x": [1.0], "xx": Real(0.0, 1.0)}).fit(X, y)
    assert Bowl.fits == 0


def test_a_bad_space_is_refused_at_fit():
    search = make(space={"x": Real(0.0, 1.0).when(y=1)})
    with pytest.raises(ValueError, match="'x' depends on 'y'"):
        search.fit(X, y)


def test_initial_points_come_first_and_count():
    points = [{"x": 0.3, "k": 4}, {"x": -1.0, "k": 9}]
    search = make(initial_points=points).fit(X, y)
    assert search.cv_results_["params"][:2] == points
    assert len(search.cv_results_["params"]) == 6
    assert search.best_params_ == points[0]


@pytest.mark.parametrize(
    ("point", "error"),
    [
        ({"x": 0.3}, "'k' must have a value"),
        ({"x": 0.3, "k": 4, "z": 1}, "'z' .* is not in the space"),
        ({"x": 5.0, "k": 4}, "'x'"),
    ],
)
def test_a_bad_initial_point_is_named_by_its_place(point, error):
    Bowl.fits = 0
    search = make(initial_points=[{"x": 0.3, "k": 4}, point])
    with pytest.raises(ValueError, match=rf"initial_points\[1\]: .*{error}"):
        search.fit(X, y)
    assert Bowl.fits == 0


def test_initial_points_beyond_the_budget_are_left_out_with_a_warning():
    points = [{"x": 0.1 * k, "k": k} for k in range(5)]
    search = make(initial_points=points, n_iter=3)
    with pytest.warns(UserWarning, match="'initial_points' has 5 .* n_iter=3"):
        search.fit(X, y)
    assert search.cv_results_["params"] == points[:3]


def test_more_initial_points_than_candidates_are_clipped_with_a_warning():
    search = make(n_initial_points=10)
    with pytest.warns(UserWarning, match="'n_initial_points' must be at most 'n_iter'"):
        search.fit(X, y)
    assert search.optimizer_.n_initial_points == 6
    assert len(search.cv_results_["params"]) == 6


# --- the proposals ------------------------------------------------------------------


def test_the_optimiser_is_told_the_negated_scores():
    search = make().fit(X, y)
    means = search.cv_results_["mean_test_score"]
    trials = search.optimizer_.trials
    assert [trial.value for trial in trials] == (-means).tolist()
    assert [trial.params for trial in trials] == search.cv_results_["params"]
    assert search.optimizer_.best_params == search.best_params_


@pytest.mark.parametrize("method", ["mvrsm", "paper"])
def test_the_search_finds_what_there_is_to_find(method):
    search = make(n_iter=40, n_initial_points=10, method=method).fit(X, y)
    assert abs(search.best_params_["k"] - 4) <= 1
    assert abs(search.best_params_["x"] - 0.3) < 0.2


def test_the_seed_decides_the_candidates():
    first, second = (make(n_iter=12).fit(X, y).cv_results_ for _ in range(2))
    assert_same_results(first, second)
    other = make(n_iter=12, random_state=1).fit(X, y).cv_results_
    assert other["params"] != first["params"]


def test_a_random_state_moves_on():
    source = np.random.RandomState(0)
    search = make(random_state=source)
    first = search.fit(X, y).cv_results_["params"]
    assert search.fit(X, y).cv_results_["params"] != first
    again = make(random_state=np.random.RandomState(0)).fit(X, y)
    assert again.cv_results_["params"] == first


def test_numpy_is_not_reseeded():
    numpys_own = check_random_state(None)
    before = numpys_own.get_state()
    make().fit(X, y)
    np.testing.assert_equal(numpys_own.get_state(), before)


@pytest.mark.long
def test_results_do_not_depend_on_n_jobs_or_on_the_time_of_fits():
    options = {"estimator": Bowl(wait=0.05), "n_iter": 14, "n_initial_points": 5}
    alone = make(**options).fit(X, y)
    for n_jobs in (2, 4):
        together = make(**options, n_jobs=n_jobs).fit(X, y)
        assert_same_results(alone.cv_results_, together.cv_results_)


def test_n_pending_changes_the_order_of_asking_and_telling_alone():
    strict = make(n_iter=14, n_initial_points=5, n_pending=1).fit(X, y)
    loose = make(n_iter=14, n_initial_points=5, n_pending=4).fit(X, y)
    assert strict.cv_results_["params"][:5] == loose.cv_results_["params"][:5]
    assert strict.cv_results_["params"] != loose.cv_results_["params"]


def test_slots_that_n_pending_leaves_idle_are_told():
    search = make(space={"k": [1, 2]}, n_iter=2, n_jobs=7)
    with pytest.warns(UserWarning, match=r"n_jobs=7 .* n_pending=2 .* only 6"):
        search.fit(X, y)


def test_an_exhausted_space_ends_the_search_with_a_warning():
    search = make(space={"k": Integer(0, 2), "mood": ["fine"]}, n_iter=20)
    with pytest.warns(UserWarning, match="only 3 configurations"):
        search.fit(X, y)
    assert sorted(p["k"] for p in search.cv_results_["params"]) == [0, 1, 2]


@pytest.mark.parametrize("space", [{}, [{}]])
def test_an_empty_space_is_the_defaults(space):
    search = make(space=space, n_iter=1).fit(X, y)
    assert search.cv_results_["params"] == [{}]
    assert search.best_params_ == {}


def test_an_empty_alternative_is_the_defaults():
    search = make(space=[{"k": [1, 2]}, {}], n_iter=3).fit(X, y)
    tried = sorted(map(str, search.cv_results_["params"]))
    assert tried == ["{'k': 1}", "{'k': 2}", "{}"]


def test_values_that_occur_twice_are_two_candidates():
    search = make(space={"k": [2, 2, 2]}, n_iter=3).fit(X, y)
    assert search.cv_results_["params"] == [{"k": 2}] * 3


# --- folds --------------------------------------------------------------------------


class Counted(KFold):
    """A splitter without a seed that counts how often it is asked."""

    asked = 0

    def split(self, X, y=None, groups=None):
        Counted.asked += 1
        return super().split(X, y, groups)


def test_folds_are_drawn_once():
    Counted.asked = 0
    make(cv=Counted(3, shuffle=True)).fit(X, y)
    assert Counted.asked == 1


def sees_its_fold(estimator, X, y):
    return float(np.abs(X).sum())


@pytest.mark.parametrize(
    "cv",
    [
        4,
        KFold(3, shuffle=True),
        ShuffleSplit(3),
        PredefinedSplit(np.arange(60) % 2),
        [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))],
        [(np.arange(60) < 20, np.arange(60) >= 20)],
    ],
    ids=["int", "shuffled", "shuffle-split", "predefined", "lists", "masks"],
)
def test_every_candidate_is_scored_on_the_same_folds(cv):
    search = make(cv=cv, scoring=sees_its_fold).fit(X, y)
    for k in range(search.n_splits_):
        assert len(set(search.cv_results_[f"split{k}_test_score"])) == 1


def test_a_classifier_gets_stratified_folds():
    uneven = np.array([1] * 6 + [0] * 54)
    search = make(cv=3, scoring=lambda e, X, y: float(y.sum())).fit(X, uneven)
    assert search.cv_results_["split2_test_score"].tolist() == [2.0] * 6


def test_a_generator_as_cv_works_for_one_fit():
    search = make(cv=KFold(3).split(X)).fit(X, y)
    assert search.n_splits_ == 3
    with pytest.raises(ValueError, match="Was the CV iterator empty"):
        search.fit(X, y)


class Lying(KFold):
    def get_n_splits(self, X=None, y=None, groups=None):
        return 7


def test_inconsistent_splits_are_told_as_grid_search_tells_them():
    messages = []
    for search in (
        make(cv=Lying(3)),
        GridSearchCV(Bowl(), {"k": [1]}, cv=Lying(3)),
    ):
        with pytest.raises(ValueError, match="inconsistent results") as caught:
            search.fit(X, y)
        messages.append(str(caught.value).replace("returned", "return"))
    assert messages[0].split() == messages[1].split()


def test_groups_reach_the_splitter():
    groups = np.arange(60) % 4
    search = make(cv=GroupKFold(4), scoring=lambda e, X, y: float(len(X)))
    search.fit(X, y, groups=groups)
    assert search.cv_results_["split3_test_score"].tolist() == [15.0] * 6
    with pytest.raises(ValueError, match="groups"):
        search.fit(X, y)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make().fit(X, y[:-1])


def test_a_classifier_without_a_target_is_refused():
    Bowl.fits = 0
    with pytest.raises(ValueError, match=r"requires y to be passed, .* is None"):
        make().fit(X)
    with pytest.raises(ValueError, match="requires y to be passed"):
        make(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1.0]}).fit(X)
    assert Bowl.fits == 0


def test_unsupervised_estimators_need_no_target():
    means = KMeans(n_init=1, random_state=0)
    search = make(means, {"n_clusters": [2, 3, 4]}, n_iter=3).fit(X)
    assert search.best_params_ == {"n_clusters": 4}
    assert search.predict(X).max() == 3
    assert search.transform(X).shape == (60, 4)
    assert search.score(X) < 0.0


# --- what goes along with the data --------------------------------------------------


def test_fit_params_of_one_entry_a_sample_follow_their_fold():
    seen = []

    def scorer(estimator, X, y):
        seen.append((estimator.weights_, estimator.flag_))
        return 0.0

    weights = np.arange(60.0)
    search = make(scoring=scorer, cv=KFold(3), n_iter=1)
    fit_quietly(search, X, y, sample_weight=weights, flag="on")
    assert [len(w) for w, _ in seen] == [40, 40, 40]
    np.testing.assert_array_equal(seen[0][0], weights[20:])
    assert {flag for _, flag in seen} == {"on"}


def test_the_refit_gets_all_fit_params():
    weights = np.arange(60.0)
    search = make().fit(X, y, sample_weight=weights, flag="on")
    np.testing.assert_array_equal(search.best_estimator_.weights_, weights)
    assert search.best_estimator_.flag_ == "on"


def test_weights_give_the_scores_of_grid_search():
    weights = np.linspace(0.1, 2.0, 60)
    model, space = LogisticRegression(), {"C": [0.1, 1.0]}
    grid = GridSearchCV(model, space, cv=3).fit(X, y, sample_weight=weights)
    ours = make(model, space, n_iter=2).fit(X, y, sample_weight=weights)
    expected, got = rows(grid.cv_results_), rows(ours.cv_results_)
    assert all(row.items() <= got[key].items() for key, row in expected.items())


class Weighed(KFold):
    """A splitter that consumes metadata of its own."""

    def split(self, X, y=None, groups=None, *, seasons=None):
        assert seasons is not None
        return super().split(X, y)

    def get_n_splits(self, X=None, y=None, groups=None, *, seasons=None):
        return super().get_n_splits()


def test_metadata_is_routed_where_it_is_asked_for():
    Weighed.__metadata_request__split = {"seasons": True}
    weights, seasons = np.linspace(0.1, 2.0, 60), np.arange(60)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=True)
        options = {
            "cv": Weighed(3).set_split_request(seasons=True),
            "scoring": scorer,
        }
        routed = {"sample_weight": weights, "seasons": seasons}
        grid = GridSearchCV(model, {"C": [0.1, 1.0]}, **options).fit(X, y, **routed)
        ours = make(model, {"C": [0.1, 1.0]}, n_iter=2, **options)
        ours.fit(X, y, **routed)
        expected, got = rows(grid.cv_results_), rows(ours.cv_results_)
        assert all(row.items() <= got[key].items() for key, row in expected.items())
        assert ours.score(X, y, sample_weight=weights) == pytest.approx(
            accuracy_score(y, ours.predict(X), sample_weight=weights)
        )
        with pytest.raises(TypeError, match="unexpected argument"):
            ours.fit(X, y, unknown=weights)


def test_routed_groups_go_to_a_group_splitter_alone():
    groups = np.arange(60) % 4
    with sklearn.config_context(enable_metadata_routing=True):
        search = make(cv=GroupKFold(4), scoring=lambda e, X, y: float(len(X)))
        search.fit(X, y, groups=groups)
        assert search.n_splits_ == 4
        make().fit(X, y)


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.tolist(),
        pd.DataFrame,
        pl.DataFrame,
        sp.csr_array,
        lambda a: a.astype(np.float32),
    ],
    ids=["list", "pandas", "polars", "sparse", "float32"],
)
def test_data_may_be_of_any_kind(convert):
    model, space = LogisticRegression(), {"C": [0.1, 1.0]}
    data = convert(X)
    grid = GridSearchCV(model, space, cv=3).fit(data, y)
    ours = make(model, space, n_iter=2).fit(data, y)
    expected, got = rows(grid.cv_results_), rows(ours.cv_results_)
    assert all(row.items() <= got[key].items() for key, row in expected.items())
    np.testing.assert_array_equal(ours.predict(data), grid.predict(data))


def test_names_of_features_are_kept():
    frame = pd.DataFrame(X, columns=list("abcde"))
    search = make(LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2).fit(frame, y)
    assert search.feature_names_in_.tolist() == list("abcde")


def test_targets_may_be_several_or_words():
    Xr, yr = make_regression(40, 4, n_targets=2, random_state=0)
    search = make(Ridge(), {"alpha": Real(0.1, 1.0)}).fit(Xr, yr)
    assert search.predict(Xr).shape == (40, 2)
    words = np.where(y == 0, "no", "yes")
    search = make(LogisticRegression(), {"C": Real(0.1, 1.0)}).fit(X, pd.Series(words))
    assert search.classes_.tolist() == ["no", "yes"]


# --- failures -----------------------------------------------------------------------


def test_failed_candidates_are_rows_that_rank_last():
    search = fit_quietly(make(**moods("fine", "fails", "fine")))
    results = search.cv_results_
    assert results["status"].tolist() == ["ok", "error", "ok"]
    assert results["split0_status"].tolist() == ["ok", "error", "ok"]
    assert "ArithmeticError: cannot fit x=0.1" in results["split2_error"][1]
    assert results["split2_error"][0] == ""
    assert np.isnan(results["mean_test_score"][1])
    assert results["rank_test_score"][1] == 3
    assert np.isnan(search.optimizer_.trials[1].value)


@pytest.mark.parametrize("return_train_score", [True, False])
def test_a_search_warns_once_of_failures_and_once_a_set(return_train_score):
    search = make(
        **moods("fine", "fails", "fine", "fails"), return_train_score=return_train_score
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    messages = [str(warning.message) for warning in caught]
    assert caught[0].category is FitFailedWarning
    assert "6 fits failed out of a total of 12." in messages[0]
    assert "By kind: 6 error." in messages[0]
    sets = ["test", "train"] if return_train_score else ["test"]
    assert len(messages) == 1 + len(sets)
    for part, message in zip(sets, messages[1:], strict=True):
        counted = "2 of 4 means of 'score'"
        text = f"One or more of the {part} scores are non-finite: {counted}."
        assert message == text
    assert all(warning.filename == __file__ for warning in caught)


def test_a_numeric_error_score_is_recorded_yet_never_wins():
    search = make(**moods("fine", "fails", "fine"), error_score=100.0)
    with pytest.warns(FitFailedWarning, match="will be set to 100.0"):
        search.fit(X, y)
    assert search.cv_results_["mean_test_score"][1] == 100.0
    assert search.cv_results_["rank_test_score"][1] == 3
    assert search.best_params_["mood"] == "fine"


def test_only_where_nothing_works_the_search_raises_at_its_end():
    search = make(space={"mood": ["fails"], "x": Real(0.0, 1.0)}, n_iter=4)
    with pytest.raises(ValueError, match="All the 12 fits failed") as caught:
        search.fit(X, y)
    assert "ArithmeticError: cannot fit x=" in str(caught.value)
    assert search.cv_results_["status"].tolist() == ["error"] * 4
    assert not hasattr(search, "best_params_")


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_raise_raises_what_the_fit_raised(n_jobs):
    Bowl.fits = 0
    search = make(**moods("fine", "fails"), error_score="raise", n_jobs=n_jobs)
    with pytest.raises(ArithmeticError, match=r"cannot fit x=0\.1"):
        search.fit(X, y)
    assert Bowl.fits == (4 if n_jobs is None else 0)


def test_fits_that_are_stopped_or_crash_are_rows_even_where_errors_raise(late_if):
    late_if(lambda params: params["mood"] == "hangs")
    search = make(
        **moods("fine", "hangs", "dies", "fine"),
        error_score="raise",
        fit_timeout=0.5,
        n_jobs=2,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert "will be set to nan" in str(caught[0].message)
    results = search.cv_results_
    assert results["status"].tolist() == ["ok", "timeout", "crashed", "ok"]
    assert results["split0_status"].tolist() == ["ok", "timeout", "crashed", "ok"]
    assert results["split2_status"].tolist() == ["ok", "skipped", "skipped", "ok"]
    assert np.isnan(results["mean_test_score"]).tolist() == [False, True, True, False]
    assert "0.5 s" in results["split0_error"][1]
    assert "3" in results["split0_error"][2]
    assert search.best_params_["mood"] == "fine"


@pytest.mark.parametrize(
    "options",
    [
        {"n_jobs": 2},
        {"fit_timeout": 1e6},
        {"timeout": 1e6},
        pytest.param(
            {"fit_memory_limit": 2**36},
            marks=pytest.mark.skipif(
                sys.platform != "linux", reason="only Linux limits memory"
            ),
        ),
    ],
    ids=str,
)
def test_a_crash_costs_a_row_with_the_arguments_that_the_guide_names(options):
    guide = Path(__file__).parent.parent.parent / "docs" / "guide" / "failures.rst"
    (line,) = re.findall(
        r"os\._exit``\)\n(.*?)\n\n?   \*", guide.read_text(), re.DOTALL
    )
    assert set(re.findall(r"``(\w+)``", line)) == {
        "n_jobs",
        "fit_timeout",
        "fit_memory_limit",
        "timeout",
    }
    search = make(**moods("fine", "dies"), **options)
    assert fit_quietly(search).cv_results_["status"].tolist() == ["ok", "crashed"]


def test_a_summary_counts_failures_by_kind(late_if):
    late_if(lambda params: params["mood"] == "hangs")
    search = make(
        **moods("fine", "hangs", "fails"), fit_timeout=0.5, error_score=0.0, cv=2
    )
    with pytest.warns(FitFailedWarning, match=r"By kind: 2 error, 1 timeout \(1 more"):
        search.fit(X, y)


def test_a_scorer_that_fails_is_a_failure_of_the_candidate():
    def moody(estimator, X, y):
        if estimator.x > 0.05:
            raise LookupError("no score")
        return 1.0

    search = make(**moods("fine", "fine"), scoring=moody, error_score=-1.0)
    with pytest.warns(FitFailedWarning, match="LookupError: no score"):
        search.fit(X, y)
    assert search.cv_results_["status"].tolist() == ["ok", "error"]
    assert search.cv_results_["mean_test_score"].tolist() == [1.0, -1.0]
    with pytest.raises(LookupError, match="no score"):
        search.set_params(error_score="raise").fit(X, y)


def test_one_of_several_metrics_may_fail_without_harm_to_the_others():
    def bad(estimator, X, y):
        raise LookupError("no score")

    search = make(scoring={"good": sees_its_fold, "bad": bad}, refit="good")
    fit_quietly(search)
    assert np.isnan(search.cv_results_["mean_test_bad"]).all()
    assert np.isfinite(search.best_score_)
    assert search.cv_results_["status"].tolist() == ["error"] * 6
    assert np.isfinite([trial.value for trial in search.optimizer_.trials]).all()


@pytest.mark.parametrize("score", ["good", None, [1.0, 2.0], 1j])
@pytest.mark.parametrize("named", [True, False])
def test_a_score_that_is_no_number_ends_the_search_at_once(score, named):
    Bowl.fits = 0
    search = make(
        scoring=(lambda e, X, y: {"a": score}) if named else (lambda e, X, y: score),
        refit=False,
    )
    with pytest.raises(ValueError, match="scoring must return a number, got"):
        search.fit(X, y)
    assert Bowl.fits == 1


def test_a_score_that_is_no_number_ends_the_search_from_a_worker_too():
    search = make(scoring=lambda e, X, y: "good", n_jobs=2)
    with pytest.raises(ValueError, match="scoring must return a number, got 'good'"):
        search.fit(X, y)


def test_scores_of_numpy_are_numbers():
    search = make(scoring=lambda e, X, y: np.float32(0.5)).fit(X, y)
    assert search.best_score_ == 0.5
    search = make(scoring=lambda e, X, y: np.array(1)).fit(X, y)
    assert search.best_score_ == 1.0


def test_metrics_that_change_are_refused():
    search = make(
        scoring=lambda e, X, y: {"a": 1.0, **({"b": 1.0} if e.x > 0.0 else {})},
        refit="a",
        initial_points=[{"x": 0.5, "k": 1}, {"x": -0.5, "k": 1}],
    )
    with pytest.raises(ValueError, match="same metrics for every fit"):
        search.fit(X, y)


def test_a_scorer_without_any_metric_is_refused():
    with pytest.raises(ValueError, match="at least one metric"):
        make(scoring=lambda e, X, y: {}, refit=False).fit(X, y)


def test_infinite_scores_are_failures_for_the_optimiser_alone():
    search = make(scoring=lambda e, X, y: -np.inf if e.k > 4 else float(e.k))
    with pytest.warns(UserWarning, match="test scores are non-finite"):
        search.fit(X, y)
    assert np.isfinite(search.best_score_)


# --- interruption -------------------------------------------------------------------


def assert_interrupted(search, n_finished):
    assert len(search.cv_results_["params"]) == n_finished
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.n_splits_ == 3
    assert search.multimetric_ is False
    assert callable(search.scorer_)
    with pytest.raises(
        NotFittedError, match=f"after {n_finished} candidates.* 'refit_best' with the"
    ):
        search.predict(X)


def test_an_interrupt_keeps_what_has_finished_and_goes_on():
    search = make(**moods("fine", "fine", "interrupted", "fine"))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert_interrupted(search, 2)
    assert "Best score" in search._repr_html_()


class Refused(Bowl):
    """Cannot be fitted on all of the data."""

    def fit(self, X, y, sample_weight=None):
        if len(X) == 60:
            raise ArithmeticError("too many samples")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("estimator", "options", "error"),
    [
        (Bowl(), moods("fine", "interrupted"), KeyboardInterrupt),
        (Refused(), moods("fine", "fine"), ArithmeticError),
    ],
)
def test_one_call_fits_the_best_estimator_of_a_search_that_ended_early(
    estimator, options, error
):
    search = make(estimator, **options)
    weights = np.ones(len(y))
    with pytest.raises(error):
        search.fit(X, y, sample_weight=weights)
    part = pd.DataFrame(X).rename(columns=str)[:50]
    assert search.refit_best(part, y[:50], sample_weight=weights[:50]) is search
    assert search.best_estimator_.mood == "fine"
    assert search.best_estimator_.weights_.tolist() == [1.0] * 50
    assert search.refit_time_ >= 0.0
    assert search.score(X, y) == search.best_estimator_.score(X, y)
    assert search.predict(X).tolist() == [0] * 60


def test_without_a_candidate_that_has_a_score_there_is_nothing_to_refit():
    search = make(**moods("fails", "interrupted"))
    with pytest.raises(NotFittedError, match="needs 'best_params_'"):
        search.refit_best(X, y)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    with pytest.raises(NotFittedError, match=r"after 1 candidates.*no 'best_params_'"):
        search.predict(X)
    with pytest.raises(NotFittedError, match="needs 'best_params_'"):
        search.refit_best(X, y)
    with pytest.raises(ValueError, match="requires y"):
        make().fit(X, y).refit_best(X)


def test_an_interrupt_before_anything_has_finished_leaves_nothing():
    search = make(**moods("interrupted", "fine"))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")
    assert not hasattr(search, "best_params_")


def test_an_interrupt_is_not_hidden_by_a_refit_that_wants_all_results():
    search = make(
        **moods("fine", "fine", "interrupted"),
        refit=lambda results: results["params"].index("absent"),
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 2
    assert not hasattr(search, "best_params_")


def test_a_signal_to_the_parent_ends_all_workers():
    before = set(psutil.Process().children(recursive=True))
    search = make(**moods("fine", "fine", "signals"), n_jobs=2, n_pending=1)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert_interrupted(search, 2)
    left = set(psutil.Process().children(recursive=True)) - before
    names = []
    for child in left:
        with contextlib.suppress(psutil.NoSuchProcess):  # gone meanwhile, or a zombie
            names.append(" ".join(child.cmdline()))
    assert all("resource_tracker" in name for name in names), names


def test_a_second_fit_forgets_the_first():
    search = make().fit(X, y)
    search.set_params(
        param_space=moods("interrupted")["space"],
        initial_points=[{"mood": "interrupted", "x": 0.5}],
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")
    assert not hasattr(search, "best_estimator_")


# --- an estimator among estimators --------------------------------------------------


def test_a_fitted_search_pickles():
    search = make(n_iter=8).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    assert_same_results(search.cv_results_, again.cv_results_)
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.optimizer_.ask() == search.optimizer_.ask()


def test_a_clone_is_unfitted_and_equal():
    search = make().fit(X, y)
    copy = clone(search)
    assert not hasattr(copy, "cv_results_")
    assert_same_results(copy.fit(X, y).cv_results_, search.cv_results_)


def scaled(x, by):
    return x * by


class Offer(BaseEstimator):
    """Takes any object, and is as good as ``x``."""

    def __init__(self, p=None, x=0.0):
        self.p = p
        self.x = x

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        return float(self.x)


OBJECTS = {
    "splitters": (KFold(3), KFold(5)),
    "partials": (partial(scaled, by=1), partial(scaled, by=2)),
    "equal estimators": (StandardScaler(), StandardScaler()),
    "equal splitters": (KFold(3), KFold(3)),
    "equal lists": ([KFold(3)], [KFold(3)]),
}
SPACES = {
    "list": lambda a, b, x: {"p": [a, b], "x": x.when(p=b)},
    "values": lambda a, b, x: {"p": Categorical([a, b]), "x": x.when(p=[b])},
    "dicts": lambda a, b, x: [{"p": [a, b], "x": x.when(p=b)}, {"p": [None]}],
    "tuple": lambda a, b, x: ({"p": (a, b), "x": x.when(p=b)}, {"p": [None]}),
    "space": lambda a, b, x: SearchSpace({"p": [a, b], "x": x.when(p=b)}),
}
COPIES = {
    "clone": clone,
    "clone of a clone": lambda search: clone(clone(search)),
    "clone in a pipeline": lambda search: clone(make_pipeline(search))[0],
    "deep copy": copy.deepcopy,
    "pickle": lambda search: pickle.loads(pickle.dumps(search)),
}


@pytest.mark.parametrize(
    ("objects", "form"),
    [
        *((each, "list") for each in OBJECTS),
        *(("equal lists", each) for each in SPACES if each != "list"),
    ],
)
def test_a_copy_searches_the_same_space_and_proposes_the_same(objects, form, tmp_path):
    def codes(search):
        trials = search.fit(X).optimizer_.trials
        return [search.space_.to_codes(trial.params) for trial in trials]

    a, b = OBJECTS[objects]
    search = MVRSMSearchCV(
        Offer(),
        SPACES[form](a, b, Real(0.0, 1.0)),
        initial_points=[{"p": b, "x": 0.5}, {"p": a}],
        n_iter=5,
        n_initial_points=4,
        cv=2,
        refit=False,
        random_state=0,
        checkpoint=tmp_path / "journal",
    )
    expected = codes(search)
    assert [code["p"] for code in expected[:2]] == [1, 0]
    for name, make_copy in COPIES.items():
        copied = make_copy(search)
        assert codes(copied) == expected, name
        assert set(copied.fit_log_["slot"]) == {-1}, name  # all from the checkpoint


def test_a_clone_can_be_changed_alone():
    search = make(space={"k": [1, 2]}, initial_points=[{"k": 1}])
    copied = clone(search)
    copied.param_space["k"].append(3)
    copied.param_space["x"] = [0.5]
    copied.initial_points[0]["k"] = 2
    assert search.param_space == {"k": [1, 2]}
    assert search.initial_points == [{"k": 1}]


def test_a_search_can_be_nested():
    inner = make(LogisticRegression(), {"C": Real(0.1, 1.0)}, n_iter=3)
    assert cross_val_score(inner, X, y, cv=2).shape == (2,)
    pipe = make_pipeline(StandardScaler(), inner).fit(X, y)
    assert pipe.predict(X).shape == (60,)
    outer = make(inner, {"estimator__fit_intercept": [True, False]}, n_iter=2)
    assert outer.fit(X, y).best_estimator_.best_params_.keys() == {"C"}


def test_estimators_as_categories_are_cloned():
    options = [LogisticRegression(), DecisionTreeClassifier()]
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    search = make(
        pipe,
        {"logisticregression": Categorical(options)},
        n_iter=2,
        cv=StratifiedKFold(2),
    ).fit(X, y)
    assert not any(hasattr(option, "coef_") for option in options)
    used = [params["logisticregression"] for params in search.cv_results_["params"]]
    assert {type(model) for model in used} == {
        LogisticRegression,
        DecisionTreeClassifier,
    }


def test_a_search_shows_itself():
    search = make()
    assert "MVRSMSearchCV" in repr(search)
    assert "Bowl" in search._repr_html_()
    assert "Bowl" in search.fit(X, y)._repr_html_()


def test_columns_make_a_data_frame():
    frame = pd.DataFrame(make().fit(X, y).cv_results_)
    assert len(frame) == 6
    assert frame["status"].eq("ok").all()


# --- limits, racing, progress -------------------------------------------------------


@pytest.mark.parametrize("n_iter", [50, None])
def test_the_whole_search_ends_in_time_and_refits(n_iter, over):
    class HangsWhenItsTimeIsOver(Bowl):
        def fit(self, X, y):
            if self.mood == "hangs":
                over.touch()
            return super().fit(X, y)

    options = moods("fine", "fine", "hangs", "hangs") | {"n_iter": n_iter}
    search = make(HangsWhenItsTimeIsOver(), **options, timeout=500.0)
    search.fit(X, y)
    assert [p["mood"] for p in search.cv_results_["params"]] == ["fine", "fine"]
    assert len(search.optimizer_.trials) == 2
    assert search.predict(X).shape == (60,)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_a_search_that_nothing_would_end_is_refused():
    Bowl.fits = 0
    with pytest.raises(ValueError, match=r"'timeout' must .* 'n_iter' is None, got N"):
        make(n_iter=None).fit(X, y)
    assert Bowl.fits == 0


@pytest.mark.filterwarnings("ignore:The space has only 10 configurations")
def test_a_search_by_time_and_one_by_number_share_a_checkpoint(tmp_path):
    options = {"space": {"k": Integer(0, 9)}, "racing": True, "n_initial_points": 3}
    expected = make(n_iter=10, **options).fit(X, y).cv_results_
    options |= {"timeout": 1e6, "verbose": 1, "progress": True}
    for k, numbers in enumerate([(4, None), (None, 10)]):
        for n_iter in numbers:
            search = make(n_iter=n_iter, checkpoint=tmp_path / f"{k}", **options)
            search.fit(X, y)
        assert_same_results(search.cv_results_, expected)


def test_a_search_that_finishes_nothing_in_time_says_so():
    search = make(**moods("hangs"), timeout=2.0)
    with pytest.raises(TimeoutError, match=r"within timeout=2\.0 seconds.*3 fits"):
        search.fit(X, y)


class StartsSlowly(Bowl):
    """Takes long to be read by a worker."""

    def __setstate__(self, state):
        time.sleep(5.0)
        super().__setstate__(state)


@pytest.mark.long
def test_the_time_of_a_search_does_not_pay_for_the_start_of_its_workers():
    search = make(StartsSlowly(), timeout=4.0, n_iter=3).fit(X, y)
    assert len(search.cv_results_["params"]) > 0
    assert search.fit_log_["start"].min() > 5.0


@pytest.fixture
def over(tmp_path, monkeypatch):
    """A file; once it is there, the time of a search is over."""
    file = tmp_path / "over"
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + 1e6 * file.exists())
    monkeypatch.setattr(loop, "time", clock)
    return file


def test_a_search_that_finishes_nothing_says_what_its_time_bought(over):
    class HangsWithFifty(Bowl):
        def fit(self, X, y):
            if len(X) == 50:
                over.touch()
                time.sleep(120.0)
            return super().fit(X, y)

    folds = [(range(k), range(k, 60)) for k in (40, 50)]
    search = make(HangsWithFifty(), cv=folds, timeout=500.0)
    with pytest.raises(TimeoutError) as caught:
        search.fit(X, y)
    text = str(caught.value)
    assert re.search(r"workers took \d+\.\d s to start, which is not part", text)
    assert re.search(r"1 fits ended, the first of them took \d\.\d s", text)
    assert "Raise 'timeout'" in text


def test_time_enough_changes_nothing():
    assert_same_results(
        make(timeout=1e6, n_pending=1).fit(X, y).cv_results_,
        make(n_pending=1).fit(X, y).cv_results_,
    )


@pytest.mark.parametrize(
    ("refit", "asked", "n_candidates"),
    [(True, True, 1), (True, False, 2), (False, True, 2)],
)
def test_only_on_request_time_is_left_for_the_refit(
    monkeypatch, refit, asked, n_candidates
):
    monkeypatch.setattr(FitJob, "growth", 1e15)  # a refit takes longer than there is
    options = {"timeout": 1e6, "n_iter": 2, "n_pending": 1, "refit": refit}
    search = make(Bowl(wait=0.02), **options, timeout_includes_refit=asked)
    assert len(search.fit(X, y).cv_results_["params"]) == n_candidates


def test_a_checkpoint_may_leave_time_for_the_refit_alone(monkeypatch, tmp_path):
    options = {"n_pending": 1, "checkpoint": tmp_path / "journal"}
    make(Bowl(wait=0.02), n_iter=2, **options).fit(X, y)
    monkeypatch.setattr(FitJob, "growth", 1e15)
    options |= {"timeout": 1e6, "timeout_includes_refit": True}
    search = make(Bowl(wait=0.02), n_iter=5, **options).fit(X, y)
    assert set(search.fit_log_["slot"]) == {-1}
    assert len(search.cv_results_["params"]) == 1


def test_a_memory_limit_that_cannot_be_kept_is_refused_first(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "win32")
    path = tmp_path / "journal"
    with pytest.raises(ValueError, match=r"'fit_memory_limit' must be None.*1000000"):
        make(fit_memory_limit=1_000_000, checkpoint=path).fit(X, y)
    assert not path.exists()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_that_ends_a_search_leaves_what_had_finished(monkeypatch, n_jobs):
    ask, asked = MVRSMOptimizer.ask, []

    def fails_at_the_fifth(self):
        asked.append(ask(self))
        if len(asked) == 5:
            raise OSError("no space left")
        return asked[-1]

    monkeypatch.setattr(MVRSMOptimizer, "ask", fails_at_the_fifth)
    search = make(n_iter=8, n_jobs=n_jobs, n_pending=1)
    with pytest.raises(OSError, match="no space left"):
        search.fit(X, y)
    assert search.cv_results_["params"] == asked[:4]
    assert search.best_params_ in asked[:4]
    assert not hasattr(search, "best_estimator_")
    assert len(search.fit_log_["candidate"]) == 4 * search.n_splits_


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="only Linux keeps RLIMIT_AS; test_checks.py holds the refusal elsewhere",
)
def test_a_fit_that_asks_for_too_much_memory_is_a_row():
    search = make(**moods("fine", "grows", "fine"), fit_memory_limit=3e8)
    with pytest.warns(FitFailedWarning, match="By kind: 1 out_of_memory"):
        fit_but_for_non_finite(search)
    assert search.cv_results_["status"].tolist() == ["ok", "out_of_memory", "ok"]
    assert search.cv_results_["split1_status"][1] == "skipped"


def fit_but_for_non_finite(search):
    with warnings.catch_warnings():
        warnings.filterwarnings("default")
        warnings.filterwarnings("ignore", "One or more of the test scores")
        search.fit(X, y)


RACE = {"n_iter": 25, "n_initial_points": 15, "cv": 5, "scoring": None}


def noisy(estimator, X, y):
    return estimator.score(X, y) + 0.05 * float(X[:, 0].mean())


@pytest.mark.parametrize("racing", [True, 0.2])
def test_racing_skips_folds_of_hopeless_candidates(racing):
    search = make(**RACE | {"scoring": noisy}, racing=racing).fit(X, y)
    results = search.cv_results_
    last = results["split4_status"]
    assert set(last) == {"ok", "skipped"}
    assert set(results["status"]) == {"ok"}
    given_up = last == "skipped"
    assert np.isnan(results["mean_test_score"]).tolist() == given_up.tolist()
    ranks = results["rank_test_score"]
    assert ranks[given_up].min() > ranks[~given_up].max()
    assert results["split0_status"].tolist() == ["ok"] * 25
    values = np.array([trial.value for trial in search.optimizer_.trials])
    assert np.isfinite(values).all()
    assert values.argmin() == search.best_index_


def test_racing_does_not_depend_on_n_jobs():
    options = RACE | {"scoring": noisy, "racing": True, "estimator": Bowl(wait=0.02)}
    alone = make(**options).fit(X, y)
    together = make(**options, n_jobs=2).fit(X, y)
    assert "skipped" in alone.cv_results_["split4_status"]
    assert_same_results(alone.cv_results_, together.cv_results_)


def test_without_racing_every_fold_is_run():
    results = make(**RACE | {"scoring": noisy}).fit(X, y).cv_results_
    assert set(results["split4_status"]) == {"ok"}


@pytest.mark.parametrize("racing", [0.0, 1.0, -0.1, "yes"])
def test_racing_needs_an_error_level(racing):
    with pytest.raises(ValueError, match="The 'racing' parameter of MVRSMSearchCV"):
        make(racing=racing).fit(X, y)


def test_progress_shows_a_bar(capsys):
    pytest.importorskip("tqdm", reason="tqdm is optional")
    make(progress=True, space={"k": [1, 4]}, n_iter=2).fit(X, y)
    shown = capsys.readouterr().err
    assert "search: 100%" in shown
    assert "6/6" in shown
    assert "failed=0" in shown
