"""The winner on every fold: models that did not see what they predict."""

import numpy as np
import pandas as pd
import pytest
from formulas import fitted, minus, plus
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
from sklearn_mvrsm.selection import refit_folds

X, y = load_iris(return_X_y=True)


def searched(estimator=None, space=None, X=X, y=y, fit_params=None, n_iter=4, **kwargs):
    if estimator is None:
        estimator = DecisionTreeClassifier(random_state=0)
        space = {"max_depth": Integer(1, 6)}
    return MVRSMSearchCV(
        estimator,
        space,
        n_iter=n_iter,
        n_initial_points=n_iter,  # at random: faster
        **{"cv": 3, "random_state": 0, **kwargs},
    ).fit(X, y, **(fit_params or {}))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_predictions_are_those_of_cross_val_predict_on_the_same_folds(method):
    search = searched(cv=KFold(3, shuffle=True))
    with np.errstate(divide="ignore"):
        folds = refit_folds(search, X, y, method=method)
        expected = cross_val_predict(
            search.best_estimator_, X, y, cv=search.cv_, method=method
        )
    assert np.array_equal(folds.predictions, expected)
    assert folds.predictions.dtype == expected.dtype


def test_models_score_on_their_folds_what_the_search_has_seen():
    search = searched(cv=KFold(3, shuffle=True))
    folds = refit_folds(search, X, y)
    for k, (model, test) in enumerate(
        zip(folds.estimator, folds.indices["test"], strict=True)
    ):
        seen = search.cv_results_[f"split{k}_test_score"][search.best_index_]
        assert model.score(X[test], y[test]) == seen
        assert np.array_equal(folds.fold_predictions[k], model.predict(X[test]))
    for train, test in zip(*folds.indices.values(), strict=True):
        assert not set(train) & set(test)


def test_any_candidate_can_be_asked_for():
    search = searched()
    for row, params in enumerate(search.cv_results_["params"]):
        folds = refit_folds(search, X, y, candidate=row, method=None)
        depths = {model.get_params()["max_depth"] for model in folds.estimator}
        assert depths == {params["max_depth"]}
        assert folds.predictions is folds.fold_predictions is None


@pytest.mark.parametrize("candidate", [-1, 4, True, 1.0, "1"])
def test_rows_that_are_not_there_are_refused(candidate):
    with pytest.raises(ValueError, match=f"0 to 3, got {candidate!r}"):
        refit_folds(searched(), X, y, candidate=candidate)


def test_without_a_winner_a_candidate_must_be_named():
    from formulas import X, y

    search = fitted(
        lambda params: params["x"],
        {"x": Real(0, 1)},
        scoring={"up": plus, "down": minus},
        refit=False,
    )
    with pytest.raises(ValueError, match=r"no winner.* got None"):
        refit_folds(search, X, y)
    assert len(refit_folds(search, X, y, candidate=2).estimator) == 2


def test_a_search_that_is_not_fitted_or_not_ours_is_refused():
    grid = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}).fit(X, y)
    for search in (grid, MVRSMSearchCV(GaussianNB(), {"var_smoothing": [1e-9]})):
        with pytest.raises(NotFittedError, match="needs a fitted MVRSMSearchCV"):
            refit_folds(search, X, y)


def test_other_data_are_refused():
    with pytest.raises(ValueError, match=r"the 150 samples .* got 149"):
        refit_folds(searched(), X[:-1], y[:-1])


def test_a_method_that_models_do_not_have_is_refused():
    search = searched(SVC(), {"C": [1.0]}, n_iter=1)
    with pytest.raises(AttributeError, match="predict_proba"):
        refit_folds(search, X, y, method="predict_proba")
    assert refit_folds(search, X, y, method="decision_function").predictions.shape == (
        150,
        3,
    )


def test_jobs_change_nothing():
    search = searched()
    alone = refit_folds(search, X, y)
    together = refit_folds(search, X, y, n_jobs=2)
    assert np.array_equal(alone.predictions, together.predictions)


# --- folds of every kind --------------------------------------------------------


def test_samples_that_no_fold_tests_are_masked():
    search = searched(cv=TimeSeriesSplit(3))
    tested = np.concatenate([test for _, test in search.cv_.split()])
    for method in ("predict", "predict_proba"):
        predictions = refit_folds(search, X, y, method=method).predictions
        mask = np.ma.getmaskarray(predictions).reshape(150, -1)
        assert np.array_equal(mask.all(axis=1), ~np.isin(np.arange(150), tested))
        assert np.array_equal(mask.all(axis=1), mask.any(axis=1))


def test_samples_that_several_folds_test_get_the_mean_of_their_predictions():
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    search = searched(cv=cv)
    folds = refit_folds(search, X, y, method="predict_proba")
    by_hand = np.zeros((150, 3))
    for model, test in zip(folds.estimator, folds.indices["test"], strict=True):
        by_hand[test] += model.predict_proba(X[test]) / 2
    assert folds.predictions == pytest.approx(by_hand)


def test_some_several_times_and_some_never_are_both_right():
    X, y = make_regression(40, 3, random_state=0)
    search = searched(
        DecisionTreeRegressor(random_state=0),
        {"max_depth": Integer(1, 4)},
        X,
        y,
        cv=ShuffleSplit(3, test_size=0.4, random_state=0),
    )
    folds = refit_folds(search, X, y)
    times = np.bincount(np.concatenate(folds.indices["test"]), minlength=40)
    assert set(times) >= {0, 2}
    sums = np.zeros(40)
    for each, test in zip(folds.fold_predictions, folds.indices["test"], strict=True):
        sums[test] += each
    assert np.array_equal(np.ma.getmaskarray(folds.predictions), times == 0)
    known = times > 0
    assert folds.predictions[known].data == pytest.approx(sums[known] / times[known])


def test_labels_have_no_mean():
    search = searched(cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=2))
    with pytest.raises(ValueError, match="tested by 2 folds, and labels have no mean"):
        refit_folds(search, X, y)
    assert len(refit_folds(search, X, y, method=None).estimator) == 4


def test_a_class_that_a_fold_has_not_seen_has_probability_zero():
    search = searched(cv=KFold(3))  # iris is sorted: each fold lacks a class
    folds = refit_folds(search, X, y, method="predict_proba")
    assert folds.predictions.shape == (150, 3)
    assert (folds.predictions[np.arange(150), y] == 0).all()
    with np.errstate(divide="ignore"):
        logs = refit_folds(search, X, y, method="predict_log_proba").predictions
    assert (logs[np.arange(150), y] == -np.inf).all()


# --- data and models of every kind ----------------------------------------------


def test_labels_of_text_stay_text():
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    search = searched(y=names)
    predictions = refit_folds(search, X, names).predictions
    assert predictions.dtype == names.dtype
    assert np.mean(predictions == names) > 0.9


@pytest.mark.parametrize("convert", [pd.DataFrame, csr_array, np.ndarray.tolist])
def test_tables_sparse_matrices_and_lists_are_taken_apart(convert):
    data = convert(X)
    search = searched(X=data)
    assert np.array_equal(
        refit_folds(search, data, y).predictions, refit_folds(search, X, y).predictions
    )


def test_a_precomputed_kernel_is_cut_on_both_sides():
    gram = X @ X.T
    search = searched(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, gram, n_iter=2)
    linear = SVC(kernel="linear", **search.best_params_)
    expected = cross_val_predict(linear, X, y, cv=search.cv_)
    assert np.array_equal(refit_folds(search, gram, y).predictions, expected)


def test_several_outputs_have_a_table_of_probabilities_each():
    both = np.column_stack([y, y > 0])
    search = searched(
        MultiOutputClassifier(GaussianNB()),
        {"estimator__var_smoothing": [1e-9, 1e-3]},
        y=both,
        n_iter=2,
    )
    assert refit_folds(search, X, both).predictions.shape == (150, 2)
    tables = refit_folds(search, X, both, method="predict_proba").predictions
    assert [table.shape for table in tables] == [(150, 3), (150, 2)]


def test_a_model_without_a_target_is_fitted_without_one():
    search = searched(
        make_pipeline(StandardScaler()),
        {"standardscaler__with_std": [True, False]},
        y=None,
        scoring=lambda estimator, X, y=None: 1.0,
        n_iter=2,
    )
    folds = refit_folds(search, X, method="transform")
    assert folds.predictions.shape == X.shape


# --- what travels with the samples ----------------------------------------------


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_fit_of_every_fold(routing):
    X, y = make_regression(30, 2, noise=10.0, random_state=0)
    weight = np.random.default_rng(0).uniform(size=30)
    with config_context(enable_metadata_routing=routing):
        model = Ridge()
        if routing:
            model.set_fit_request(sample_weight=True)
            model.set_score_request(sample_weight=False)
        search = searched(
            model,
            {"alpha": [1e-3]},
            X,
            y,
            {"sample_weight": weight},
            n_iter=1,
        )
        folds = refit_folds(search, X, y, sample_weight=weight)
    for fitted_model, train in zip(
        folds.estimator, folds.indices["train"], strict=True
    ):
        by_hand = Ridge(alpha=1e-3).fit(X[train], y[train], weight[train])
        assert fitted_model.coef_ == pytest.approx(by_hand.coef_)


@pytest.mark.parametrize("routing", [False, True])
def test_groups_are_not_needed_but_do_no_harm(routing):
    groups = np.arange(150) % 5
    with config_context(enable_metadata_routing=routing):
        search = searched(cv=GroupKFold(5), fit_params={"groups": groups})
        alone = refit_folds(search, X, y)
        with_groups = refit_folds(search, X, y, groups=groups)
    assert np.array_equal(alone.predictions, with_groups.predictions)
    for test in alone.indices["test"]:
        assert len(set(groups[test])) == 1


def test_estimators_among_the_parameters_are_not_fitted_in_place():
    step = LinearRegression()
    X, y = make_regression(30, 2, random_state=0)
    search = searched(
        make_pipeline(StandardScaler(), Ridge()), {"ridge": [step]}, X, y, n_iter=1
    )
    refit_folds(search, X, y)
    assert not hasattr(step, "coef_")
