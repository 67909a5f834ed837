"""Laws of the table of results."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_mvrsm._evaluation.scores import Candidate
from sklearn_mvrsm._search.results import (
    any_score,
    count_non_finite,
    format_results,
    param_columns,
    rank_scores,
)

nan = np.nan


@dataclass(frozen=True)
class Fold:
    status: str = "ok"
    test_scores: dict | None = None
    train_scores: dict | None = None
    fit_time: float = 1.0
    score_time: float = 0.5
    error: str = ""


def ok(score, *, metric="score", train=0.0, fit_time=1.0):
    return Fold("ok", {metric: score}, {metric: train}, fit_time)


def error(text="boom", **scores):
    return Fold("error", scores or None, scores or None, error=text)


def ended(status, elapsed=2.0):
    return Fold(status, fit_time=elapsed, score_time=0.0, error=f"{status} at 2 s")


SKIPPED = Fold("skipped", fit_time=0.0, score_time=0.0)


def table(*rows, metrics=("score",), error_score=nan, return_train_score=False):
    candidates = [Candidate({"a": i}, tuple(folds)) for i, folds in enumerate(rows)]
    return format_results(
        candidates,
        metrics,
        error_score=error_score,
        return_train_score=return_train_score,
    )


class Moody(BaseEstimator):
    """Scores what it is told, or fails on request."""

    def __init__(self, level=0.0, fails=False):
        self.level = level
        self.fails = fails

    def fit(self, X, y):
        if self.fails:
            raise ValueError("moody")
        return self

    def score(self, X, y):
        return self.level + len(X) / 100.0


def candidates_like(grid, metrics):
    """The candidates of a fitted grid search, rebuilt from its own columns."""
    results = grid.cv_results_
    candidates = []
    for row, params in enumerate(results["params"]):
        folds = []
        for k in range(grid.n_splits_):
            test = {m: results[f"split{k}_test_{m}"][row] for m in metrics}
            train = {m: results[f"split{k}_train_{m}"][row] for m in metrics}
            folds.append(Fold("ok", test, train, k + row, k * row))
        candidates.append(Candidate(params, tuple(folds)))
    return candidates


def same_column(ours, theirs):
    if isinstance(theirs, np.ma.MaskedArray):
        assert_array_equal(np.ma.getmaskarray(ours), np.ma.getmaskarray(theirs))
        assert list(ours.compressed()) == list(theirs.compressed())
    elif isinstance(theirs, list):
        assert ours == theirs
        return
    else:
        assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("scoring", [None, {"acc": "accuracy", "f1": "f1"}])
def test_columns_are_those_of_grid_search(scoring):
    X, y = make_classification(60, random_state=0)
    grid = GridSearchCV(
        SVC(),
        [{"kernel": ["rbf"], "gamma": [0.1, 1]}, {"kernel": ["poly"], "C": [1, 2.5]}],
        cv=3,
        scoring=scoring,
        refit=False,
        return_train_score=True,
    ).fit(X, y)
    metrics = ["score"] if scoring is None else list(scoring)
    ours = format_results(
        candidates_like(grid, metrics),
        metrics,
        error_score=nan,
        return_train_score=True,
    )
    extra = ["status"]
    extra += [f"split{k}_{kind}" for k in range(3) for kind in ("status", "error")]
    assert list(ours) == list(grid.cv_results_) + extra
    for name, theirs in grid.cv_results_.items():
        if not name.endswith("_time"):
            same_column(ours[name], theirs)


class Sized:
    """Looks like a sequence, yet is one value."""

    def __len__(self):
        raise AttributeError("not fitted")

    def __getitem__(self, index):
        raise IndexError(index)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        [1, 2.5],
        [True, False],
        [1, True],
        ["a", "bc"],
        ["a", 1],
        [None, 1],
        [(1,), (1, 2)],
        [(1, 2), (3, 4)],
        [[1], [2, 3]],
        [{"a": 1}, {}],
        [np.float32(0.5), np.float32(1.5)],
        [np.int8(1), 2.0],
        [1j, 2],
        [len, max],
    ],
    ids=str,
)
def test_parameter_columns_have_the_types_of_grid_search(values):
    class Anything(BaseEstimator):
        def __init__(self, p=None):
            self.p = p

        def fit(self, X, y):
            return self

        def score(self, X, y):
            return 0.0

    grid = GridSearchCV(Anything(), {"p": values}, cv=2, refit=False)
    grid.fit(np.zeros((4, 1)), [0, 1, 0, 1])
    ours = param_columns([{"p": value} for value in values])["param_p"]
    same_column(ours, grid.cv_results_["param_p"])


def test_values_that_look_like_sequences_are_kept_whole():
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    values = [pipe, BaggingClassifier(), Sized(), np.arange(3), [1, 2]]
    column = param_columns([{"p": value} for value in values])["param_p"]
    assert column.shape == (5,)
    assert column.dtype == object
    assert all(a is b for a, b in zip(column, values, strict=True))


def test_absent_parameters_are_masked():
    columns = param_columns([{"a": 1}, {"b": "x"}, {"a": 3, "b": "y"}, {}])
    assert list(columns) == ["param_a", "param_b"]
    assert columns["param_a"].mask.tolist() == [False, True, False, True]
    assert columns["param_b"].mask.tolist() == [True, False, False, True]
    assert columns["param_a"].dtype == np.dtype(int)


def test_a_space_without_parameters_has_no_parameter_columns():
    results = format_results(
        [Candidate({}, (ok(1.0),))],
        ["score"],
        error_score=nan,
        return_train_score=False,
    )
    assert results["params"] == [{}]
    assert not [name for name in results if name.startswith("param_")]


def test_params_of_the_table_are_copies_of_the_mapping_alone():
    value = [1, 2]
    params = {"a": value}
    results = format_results(
        [Candidate(params, (ok(1.0),))],
        ["score"],
        error_score=nan,
        return_train_score=False,
    )
    assert results["params"][0] is not params
    assert results["params"][0]["a"] is value


def test_failed_folds_count_with_error_score():
    results = table([ok(0.9), error()], [ok(0.5), ok(0.7)], error_score=-7.0)
    assert results["split1_test_score"].tolist() == [-7.0, 0.7]
    assert results["mean_test_score"] == pytest.approx([-3.05, 0.6])
    assert results["status"].tolist() == ["error", "ok"]
    assert results["split1_error"].tolist() == ["boom", ""]


@pytest.mark.parametrize("status", ["timeout", "out_of_memory", "crashed"])
@pytest.mark.parametrize("error_score", [-7.0, nan])
def test_an_ended_candidate_has_error_score_and_nan_where_it_never_ran(
    status, error_score
):
    results = table(
        [ok(0.9), ended(status), SKIPPED], [ok(0.5)] * 3, error_score=error_score
    )
    assert_array_equal(results["mean_test_score"], [error_score, 0.5])
    assert_array_equal(results["split0_test_score"], [0.9, 0.5])
    assert_array_equal(results["split1_test_score"], [error_score, 0.5])
    assert_array_equal(results["split2_test_score"], [nan, 0.5])
    assert_array_equal(results["std_test_score"], [0.0 * error_score, 0.0])
    assert results["status"].tolist() == [status, "ok"]
    assert results["split2_status"].tolist() == ["skipped", "ok"]
    assert results["rank_test_score"].tolist() == [2, 1]


def test_the_fold_that_ended_a_candidate_names_its_status():
    assert Candidate({}, (error(), ended("timeout"), SKIPPED)).status == "timeout"
    assert Candidate({}, (error(), ok(1.0))).status == "error"
    assert Candidate({}, (ok(1.0), SKIPPED)).status == "ok"


def test_times_are_means_over_the_folds_that_ran():
    results = table(
        [ok(0.9, fit_time=1.0), ended("timeout", 3.0), SKIPPED],
        [ok(0.9, fit_time=4.0)] * 3,
    )
    assert results["mean_fit_time"].tolist() == [2.0, 4.0]
    assert results["std_fit_time"].tolist() == [1.0, 0.0]
    assert results["mean_score_time"].tolist() == [0.25, 0.5]


def test_a_candidate_of_which_nothing_ran_has_no_times():
    results = table([SKIPPED, SKIPPED], [ok(0.9)] * 2)
    assert_array_equal(results["mean_fit_time"], [nan, 1.0])
    assert_array_equal(results["std_score_time"], [nan, 0.0])


def test_ranks_start_at_one_and_ties_share_the_lowest():
    ranks = rank_scores(np.array([0.1, 0.9, 0.9, 0.5]), np.zeros(4, bool))
    assert ranks.tolist() == [4, 1, 1, 3]
    assert ranks.dtype == np.int32


def test_candidates_without_a_score_rank_behind_all_others():
    means = np.array([0.0, -5.0, nan, -0.1, 3.0, nan])
    failed = np.array([True, False, True, False, True, False])
    assert rank_scores(means, failed).tolist() == [4, 2, 5, 1, 3, 5]


def test_where_every_mean_is_nan_all_are_first():
    assert rank_scores(np.full(3, nan), np.ones(3, bool)).tolist() == [1, 1, 1]


def test_infinite_scores_keep_their_order():
    ranks = rank_scores(np.array([-np.inf, 0.0, np.inf, nan]), np.zeros(4, bool))
    assert ranks.tolist() == [3, 2, 1, 4]


def test_an_error_score_above_all_scores_does_not_win():
    losses = table([error(), error()], [ok(-3.0), ok(-4.0)], error_score=0.0)
    assert losses["rank_test_score"].tolist() == [2, 1]


def test_a_metric_that_failed_leaves_the_others_alone():
    both = Fold("ok", {"a": 0.5, "b": 0.1}, {})
    half = error(a=0.9)
    results = table([half, half], [both, both], metrics=("a", "b"), error_score=9.0)
    assert results["mean_test_a"].tolist() == [0.9, 0.5]
    assert results["mean_test_b"].tolist() == [9.0, 0.1]
    assert results["rank_test_a"].tolist() == [1, 2]
    assert results["rank_test_b"].tolist() == [2, 1]
    candidate = Candidate({}, (half, half))
    assert candidate.mean_test_score("a") == 0.9
    assert np.isnan(candidate.mean_test_score("b"))


def test_a_mean_needs_every_fold():
    assert Candidate({}, (ok(0.5), ok(1.0))).mean_test_score("score") == 0.75
    assert np.isnan(Candidate({}, (ok(0.5), SKIPPED)).mean_test_score("score"))
    assert np.isnan(Candidate({}, (ok(0.5), error())).mean_test_score("score"))


def test_training_scores_have_columns_only_on_request():
    rows = [[ok(0.5, train=0.9), ok(0.5, train=0.7)]]
    assert not [name for name in table(*rows) if "train" in name]
    results = table(*rows, return_train_score=True)
    assert results["split1_train_score"].tolist() == [0.7]
    assert results["mean_train_score"] == pytest.approx([0.8])
    assert "rank_train_score" not in results


def test_non_finite_means_are_counted_by_set():
    clean = table([ok(0.5), ok(0.6)], return_train_score=True)
    assert count_non_finite(clean) == {}
    dirty = table(
        [ok(nan, train=1.0), ok(0.6, train=1.0)],
        [ok(0.5, train=np.inf), ok(0.6, train=1.0)],
        return_train_score=True,
    )
    assert count_non_finite(dirty) == {"test": {"score": 1}, "train": {"score": 1}}


def test_non_finite_means_are_counted_by_metric():
    fold, half = Fold("ok", {"a": nan, "b": np.inf}, {}), Fold("ok", {"a": nan, "b": 1})
    found = count_non_finite(table([fold], [half], metrics=("a", "b")))
    assert found == {"test": {"a": 2, "b": 1}}


def test_candidates_that_were_given_up_are_no_reason_to_warn():
    given_up = [ok(0.5, train=1.0), SKIPPED]
    results = table(given_up, [ok(0.9, train=1.0)] * 2, return_train_score=True)
    assert np.isnan(results["mean_test_score"][0])
    assert results["status"].tolist() == ["ok", "ok"]
    assert results["rank_test_score"].tolist() == [2, 1]
    assert count_non_finite(results) == {}
    dirty = table(given_up, [ok(np.inf)] * 2)
    assert count_non_finite(dirty) == {"test": {"score": 1}}


def test_success_of_one_fit_is_a_success():
    assert any_score([Candidate({}, (error(), ok(1.0)))])
    assert any_score([Candidate({}, (error(a=1.0),))])
    assert not any_score([Candidate({}, (error(), ended("timeout"), SKIPPED))])


def test_means_equal_those_of_cross_validation():
    X, y = make_classification(60, random_state=0)
    scores = cross_validate(LogisticRegression(), X, y, cv=3)["test_score"]
    results = table([ok(score) for score in scores])
    assert results["mean_test_score"][0] == scores.mean()
    assert results["std_test_score"][0] == scores.std()
