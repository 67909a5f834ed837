import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import Constant, Misbehaving, lock_score
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, check_scoring, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from sklearn_mvrsm._evaluation.fold_fit import FitJob, MisuseError, run_fold
from sklearn_mvrsm._evaluation.scores import fold_score
from sklearn_mvrsm._execution.outcomes import LONGEST_TEXT, Returned, TaskEnd, attempt

X, Y = load_iris(return_X_y=True)
SPLITS = list(StratifiedKFold(3).split(X, Y))
ACCURACY = get_scorer("accuracy")


class WritesIntoX(LogisticRegression):
    """Scales its data in place."""

    def fit(self, X, y):
        X *= 0.5
        return super().fit(X, y)


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it is fitted and scored with."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.classes_ = np.unique(y)
        seen.append((len(X), sample_weight, note))
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def score(self, X, y, sample_weight=None):
        seen.append((len(X), sample_weight, None))
        return 0.5


seen = []


def job(estimator=None, X=X, y=Y, scorer=ACCURACY, **kwargs):
    estimator = LogisticRegression(max_iter=500) if estimator is None else estimator
    return FitJob(estimator, X, y, SPLITS, scorer, **kwargs)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        sparse.csr_matrix,
        sparse.csr_array,
        pd.DataFrame,
        pl.DataFrame,
        lambda X: X.tolist(),
    ],
)
def test_a_fold_is_scored_as_grid_search_scores_it(convert):
    data = convert(X)
    estimator = LogisticRegression(max_iter=500)
    grid = GridSearchCV(estimator, {"C": [0.1]}, cv=SPLITS, return_train_score=True)
    grid.fit(data, Y)
    for fold in range(3):
        report = run_fold(job(X=data, return_train_score=True), {"C": 0.1}, fold)
        results = grid.cv_results_
        assert report.test_scores == {"score": results[f"split{fold}_test_score"][0]}
        assert report.train_scores == {"score": results[f"split{fold}_train_score"][0]}
        assert report.n_test_samples == 50
        assert report.fit_time > 0.0
        assert report.score_time > 0.0
        assert report.errors == ()


def test_nothing_that_a_fit_does_to_its_data_reaches_the_next():
    data = X.copy()
    data.setflags(write=False)
    template = WritesIntoX(max_iter=500)
    first = run_fold(job(template, X=data), {"C": 1.0}, 0)
    assert run_fold(job(template, X=data), {"C": 1.0}, 0).test_scores == (
        first.test_scores
    )
    assert not hasattr(template, "coef_")
    assert template.C == LogisticRegression().C


def test_parameters_that_are_estimators_are_cloned():
    from sklearn.ensemble import BaggingClassifier

    inner = LogisticRegression(max_iter=500)
    run_fold(job(BaggingClassifier(n_estimators=2)), {"estimator": inner}, 0)
    assert not hasattr(inner, "coef_")


def test_what_has_an_entry_a_sample_is_cut_to_the_fold():
    seen.clear()
    weight = np.arange(150.0)
    fit_params = {"sample_weight": weight, "note": "n"}
    score_params = {"sample_weight": weight}
    run_fold(
        job(
            Recorder(),
            scorer=lambda e, X, y, **kwargs: e.score(X, y, **kwargs),
            fit_params=fit_params,
            score_params=score_params,
        ),
        {},
        1,
    )
    train, test = SPLITS[1]
    (n_train, fit_weight, note), (n_test, score_weight, _) = seen
    assert (n_train, n_test, note) == (100, 50, "n")
    np.testing.assert_array_equal(fit_weight, weight[train])
    np.testing.assert_array_equal(score_weight, weight[test])
    assert fit_params["sample_weight"] is weight


def test_no_target_is_no_argument():
    class NoTarget(BaseEstimator):
        def fit(self, X):
            return self

        def score(self, X):
            return 0.25

    scored = job(NoTarget(), y=None, scorer=lambda e, X: e.score(X))
    assert run_fold(scored, {}, 0).test_scores == {"score": 0.25}


def test_a_name_that_the_estimator_does_not_have_is_an_ordinary_error():
    with pytest.raises(ValueError, match="Invalid parameter 'nope'"):
        run_fold(job(), {"nope": 1}, 0)


def test_a_fit_that_fails_raises_whatever_the_error_score():
    with pytest.raises(ValueError, match="bad parameters"):
        run_fold(job(Misbehaving()), {"fault": "value_error"}, 0)


# ------------------------------------------------------------------ scores


def broken_metric(y, prediction):
    raise ZeroDivisionError("broken metric")


@pytest.mark.parametrize("raises", [False, True])
def test_a_scorer_that_fails_is_an_error_of_the_fold(raises):
    scored = job(Constant(), scorer=make_scorer(broken_metric), raise_errors=raises)
    if raises:
        with pytest.raises(ZeroDivisionError, match="broken metric"):
            run_fold(scored, {}, 0)
        return
    report = run_fold(scored, {}, 0)
    assert report.test_scores == {}
    assert report.n_test_samples == 50
    (error,) = report.errors
    assert error.endswith("ZeroDivisionError: broken metric\n")


def test_one_scorer_that_fails_leaves_the_others_their_scores():
    scoring = {"good": "accuracy", "bad": make_scorer(broken_metric)}
    scorer = check_scoring(Constant(), scoring, raise_exc=False)
    report = run_fold(job(Constant(), scorer=scorer), {}, 0)
    assert set(report.test_scores) == {"good"}
    assert report.multimetric
    (error,) = report.errors
    assert "ZeroDivisionError: broken metric" in error


def wordy_metric(y, prediction):
    raise ZeroDivisionError("x" * 1_000_000)


@pytest.mark.parametrize(
    "scoring",
    [
        make_scorer(wordy_metric),
        {f"metric {k}": make_scorer(wordy_metric) for k in range(3)},
        lambda estimator, X, y: "x" * 1_000_000,
    ],
)
def test_long_texts_of_scorers_are_cut_where_they_come_up(scoring):
    scorer = check_scoring(Constant(), scoring, raise_exc=False)
    outcome = attempt(run_fold, (job(Constant(), scorer=scorer), {}, 0))
    if isinstance(outcome, Returned):
        assert {len(text) > 9_900 for text in outcome.value.errors} == {True}
    assert len(pickle.dumps(outcome)) < 50_000
    score = fold_score(TaskEnd((0, 0), outcome, 0, 0.0, 1.0), keep_exception=True)
    assert score.status == "error"
    assert "characters left out" in score.error
    assert 9_900 < len(score.error) <= LONGEST_TEXT


def test_want_of_memory_in_a_scorer_is_not_hidden():
    def hungry(estimator, X, y):
        raise MemoryError("none left")

    with pytest.raises(MemoryError, match="none left"):
        run_fold(job(Constant(), scorer=hungry), {}, 0)


@pytest.mark.parametrize(
    "score", [np.float32(0.5), np.array(0.5), np.array([0.5]), 0.5, np.int64(1), True]
)
def test_scores_become_floats(score):
    report = run_fold(job(Constant(), scorer=lambda e, X, y: score), {}, 0)
    assert type(report.test_scores["score"]) is float
    assert report.test_scores["score"] == float(np.ravel(score)[0])
    assert not report.multimetric


def test_a_callable_may_give_scores_names():
    def scorer(estimator, X, y):
        return {"a": accuracy_score(y, estimator.predict(X)), "b": np.float64(2.0)}

    report = run_fold(job(Constant(), scorer=scorer), {}, 0)
    assert report.test_scores == {"a": 0.34, "b": 2.0}
    assert report.multimetric


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize(
    "scorer", [lock_score, lambda e, X, y: "0.5", lambda e, X, y: {"a": None}]
)
def test_a_score_that_is_no_number_is_misuse(scorer, raises):
    with pytest.raises(MisuseError) as caught:
        run_fold(job(Constant(), scorer=scorer, raise_errors=raises), {}, 0)
    (mistake,) = caught.value.args
    assert isinstance(mistake, ValueError)
    assert "scoring must return a number, got" in str(mistake)


def test_all_data_have_more_rows_than_a_fold_trains_on():
    splits = [(range(40), range(40, 60)), (range(20), range(20, 60))]
    frame = pd.DataFrame(np.zeros((60, 2)))
    for data in (np.zeros((60, 2)), frame, sparse.eye(60, format="csr")):
        job = FitJob(LogisticRegression(), data, None, splits, None)
        assert job.growth == 2.0
