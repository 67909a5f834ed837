"""What an estimator's parameters are before a search, as its first candidate."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from sklearn_mvrsm import (
    Integer,
    MVRSMSearchCV,
    Ordinal,
    Real,
    SearchSpace,
    spaces,
)
from sklearn_mvrsm._search.own_values import own_values
from sklearn_mvrsm._search.run import make_space
from sklearn_mvrsm._space.default import default_params
from sklearn_mvrsm.boosting import EarlyStopping

X, y = load_wine(return_X_y=True)  # 178 rows, 13 features


class CatBoostClassifier(SVC):
    """Names nothing that was not set, as CatBoost's classes do."""

    __module__ = "catboost.core"

    def __init__(self, n_estimators=None, depth=None):
        self.n_estimators = n_estimators
        self.depth = depth

    def get_params(self, deep=True):
        return {k: v for k, v in vars(self).items() if v is not None}


def first(estimator, space, X=X):
    return default_params(SearchSpace.from_any(space), own_values(estimator, X))


@pytest.mark.parametrize(
    ("estimator", "space", "expected"),
    [
        (SVC(C=2.0), {"C": Real(0.1, 10.0, log=True)}, {"C": 2.0}),
        (SVC(), {"gamma": Real(1e-4, 1.0, log=True)}, {"gamma": 1 / 13}),
        (SVC(), {"max_iter": Integer(10, 900)}, {"max_iter": 900}),
        (
            XGBClassifier(max_depth=3),
            {
                "max_depth": Integer(1, 10),
                "learning_rate": Real(0.01, 1.0, log=True),
                "booster": ["dart", "gbtree"],
                "subsample": Real(0.1, 0.8),
                "max_leaves": Integer(2, 64),
                "rate_drop": Real(0.0, 0.5),
            },
            {
                "max_depth": 3,
                "learning_rate": 0.3,
                "booster": "gbtree",
                "subsample": 0.8,
                "max_leaves": 64,
                "rate_drop": 0.0,
            },
        ),
        (
            XGBClassifier(booster="gblinear", eta=0.25),
            {"reg_lambda": Real(0.0, 1.0), "learning_rate": Real(0.0, 1.0)},
            {"reg_lambda": 0.0, "learning_rate": 0.25},
        ),
        (
            XGBClassifier(),
            {"max_depth": [None, 3], "n_estimators": [10, 99, 1000]},
            {"max_depth": None, "n_estimators": 99},
        ),
        (
            LGBMClassifier(subsample=0.7),
            {
                "max_depth": Integer(3, 12),
                "bagging_fraction": Real(0.1, 1.0),
                "drop_rate": Real(0.0, 1.0),
            },
            {"max_depth": 12, "bagging_fraction": 0.7, "drop_rate": 0.1},
        ),
        (
            LGBMClassifier(num_iterations=20, lambda_l2=2.0, feature_fraction=0.5),
            {
                "num_iterations": Integer(10, 500),
                "lambda_l2": Real(0.0, 9.0),
                "feature_fraction": Real(0.1, 1.0),
                "lambda_l1": Real(0.0, 9.0),
            },
            {
                "num_iterations": 20,
                "lambda_l2": 2.0,
                "feature_fraction": 0.5,
                "lambda_l1": 0.0,
            },
        ),
        (
            LGBMRegressor(objective="quantile", alpha=0.7),
            {"alpha": Real(0.05, 0.95), "reg_alpha": Real(0.0, 9.0)},
            {"alpha": 0.7, "reg_alpha": 0.0},
        ),
        (LGBMRegressor(), {"alpha": Real(0.05, 0.95)}, {"alpha": 0.9}),
        (
            LGBMRegressor(alpha=0.7, reg_alpha=None),
            {"lambda_l1": Real(1.0, 9.0), "alpha": Real(0.0, 1.0)},
            {"lambda_l1": 5.0, "alpha": 0.7},  # nothing is known of the first
        ),
        (XGBClassifier(alpha=0.5), {"reg_alpha": Real(0.0, 9.0)}, {"reg_alpha": 0.5}),
        (
            CatBoostClassifier(n_estimators=20),
            {
                "iterations": Integer(10, 2000),
                "max_depth": Integer(2, 10),
                "l2_leaf_reg": Real(0.1, 10.0, log=True),
                "unheard_of": Real(1.0, 4.0),
            },
            {
                "iterations": 20,
                "max_depth": 6,
                "l2_leaf_reg": 3.0,
                "unheard_of": 2.5,
            },
        ),
        (
            RandomForestClassifier(),
            {
                "max_features": Real(0.01, 1.0),
                "max_samples": Real(0.2, 1.0),
                "max_depth": Integer(2, 20),
                "min_samples_leaf": Real(0.001, 0.5),
            },
            {
                "max_features": 13**-0.5,
                "max_samples": 1.0,
                "max_depth": 20,
                "min_samples_leaf": 1 / 178,
            },
        ),
        (
            RandomForestClassifier(max_features=0.6, min_samples_leaf=0.05),
            {"max_features": Integer(1, 13), "min_samples_leaf": Integer(1, 40)},
            {"max_features": 8, "min_samples_leaf": 9},
        ),
        (
            DecisionTreeClassifier(max_features="log2"),
            {"max_features": Integer(1, 13), "max_depth": [3, 30, 10]},
            {"max_features": 4, "max_depth": 30},
        ),
        (
            MLPClassifier(),
            {"batch_size": Ordinal([32, 64, 256]), "hidden_layer_sizes": [(9,), (90,)]},
            {"batch_size": 256, "hidden_layer_sizes": (90,)},
        ),
        (
            make_pipeline(SelectKBest(k="all"), PCA(), EarlyStopping(XGBClassifier())),
            {
                "selectkbest__k": Integer(2, 13),
                "pca__n_components": Integer(2, 9),
                "earlystopping__estimator__max_depth": Integer(1, 9),
                "earlystopping__n_iter_no_change": Integer(2, 50),
            },
            {
                "selectkbest__k": 13,
                "pca__n_components": 9,
                "earlystopping__estimator__max_depth": 6,
                "earlystopping__n_iter_no_change": 10,
            },
        ),
        (
            Pipeline([("scale", None), ("model", SVC(C=3.0, kernel="poly"))]),
            {
                "scale": [StandardScaler(), "passthrough"],
                "model__kernel": ["rbf", "poly"],
                "model__C": Real(0.1, 10.0),
                "model__gamma": Real(0.1, 1.0).when(model__kernel="rbf"),
                "model__degree": Integer(1, 5, default=2).when(model__kernel="poly"),
            },
            {
                "scale": "passthrough",
                "model__kernel": "poly",
                "model__C": 3.0,
                "model__degree": 2,
            },
        ),
        (Pipeline([("m", "passthrough")]), {"m__C": Real(0.1, 1.0)}, None),
        (SVC(), {"gamma": ["auto"], "C": Real(2.0, 5.0)}, {"gamma": "auto", "C": 2.0}),
        (SVC(), {}, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_own_values_are_found(estimator, space, expected):
    found = first(estimator, space)
    if expected is None:
        assert found is None
        return
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert type(found[name]) is type(value)
        is_number = isinstance(value, float)
        assert found[name] == (pytest.approx(value, rel=1e-12) if is_number else value)


LOGISTIC, SVM = LogisticRegression(C=3.0, max_iter=5000), SVC(C=5.0)


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (LOGISTIC, {"model": LOGISTIC, "model__C": 3.0}),
        (SVM, {"model": SVM, "model__C": 5.0, "model__kernel": "rbf"}),
        (clone(SVM), {"model": SVM, "model__C": 5.0, "model__kernel": "rbf"}),
        # another one of the class: the values are those of the one that is searched
        (SVC(C=9.0, kernel="linear"), {"model": SVM, "model__C": 5.0}),
        (MLPClassifier(), {"model": LOGISTIC, "model__C": 3.0}),
        (None, {"model": LOGISTIC, "model__C": 3.0}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_of_several_models_the_current_one_comes_first(current, expected):
    pairs = [
        (LOGISTIC, {"C": Real(0.1, 10.0)}),
        (SVM, {"C": Real(1.0, 10.0), "kernel": ["linear", "rbf"]}),
    ]
    pipeline = Pipeline([("scale", StandardScaler()), ("model", current)])
    found = first(pipeline, spaces.any_of({"model": pairs}))
    assert found.keys() >= expected.keys()
    for name, value in expected.items():
        assert found[name] is value or found[name] == value


FOREST = RandomForestClassifier(n_estimators=10, random_state=0)
SCALED = Pipeline([("scale", StandardScaler()), ("model", SVC(C=0.3))])
SIZES = {"n_samples": 178, "n_features": 13}


@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        (SCALED, spaces.svc(prefix="model__")),
        (SCALED, {"scale": [MinMaxScaler(), "passthrough", StandardScaler()]}),
        (
            SCALED,
            spaces.any_of({"model": [(FOREST, {"max_depth": [1]}), (SVC(C=0.3), {})]}),
        ),
        (FOREST, {"max_depth": [None, 1, 2], "max_features": ["sqrt", 1]}),
        (
            XGBClassifier(n_estimators=8, max_depth=2),
            {"learning_rate": Real(1e-4, 1.0, log=True), "max_depth": [1, 2]},
        ),
        (
            LGBMClassifier(n_estimators=8, verbosity=-1, n_jobs=1),
            {"num_leaves": Integer(2, 60), "drop_rate": Real(0.0, 1.0)},
        ),
        (
            HistGradientBoostingClassifier(max_iter=8),
            spaces.hist_gradient_boosting(**SIZES)
            | {"l2_regularization": Real(0.0, 9.0), "max_iter": [8]},
        ),
        (
            ExtraTreesClassifier(n_estimators=10, random_state=0),
            spaces.extra_trees(**SIZES),
        ),
    ],
)
@pytest.mark.parametrize("method", ["mvrsm", "paper"])
def test_the_winner_is_never_worse_than_the_estimator_as_it_is(
    estimator, space, method
):
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    untuned = cross_val_score(estimator, X, y, cv=cv)
    search = MVRSMSearchCV(
        estimator, space, n_iter=2, cv=cv, method=method, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = clone(search).fit(X, y)
    assert search.best_score_ >= untuned.mean()
    scores = [search.cv_results_[f"split{k}_test_score"][0] for k in range(3)]
    np.testing.assert_allclose(scores, untuned)


SPACE = {"C": Real(0.1, 10.0, log=True), "kernel": ["linear", "rbf"]}


def candidates(**options):
    options = {"n_iter": 4, "cv": 2, "random_state": 0, "refit": False} | options
    search = MVRSMSearchCV(SVC(C=2.0), options.pop("space", SPACE), **options)
    return search.fit(X, y).cv_results_["params"]


def test_the_default_comes_after_initial_points_and_once():
    own = {"C": 2.0, "kernel": "rbf"}
    given = {"C": 0.5, "kernel": "linear"}
    plain = candidates(include_default=False)
    assert own not in plain
    assert candidates() == [own, *plain[1:]]  # the random ones that follow are the same
    assert candidates(n_iter=1) == [own]
    assert candidates(initial_points=[given]) == [given, own, *plain[2:]]
    twice = [dict(reversed(own.items())), given]
    assert candidates(initial_points=twice) == [own, given, *plain[2:]]
    assert candidates(initial_points=[given], n_iter=1) == [given]
    declared = SPACE | {"C": Real(0.1, 10.0, log=True, default=7.0)}
    assert candidates(space=declared) == [own | {"C": 7.0}, *plain[1:]]
    forbidding = SearchSpace(SPACE, constraints=[lambda params: params["C"] != 2.0])
    assert candidates(space=forbidding) == plain


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"include_default": False}, "arguments, include_default: "),
        (
            {"param_space": SPACE | {"C": Real(0.1, 10.0, log=True, default=7.0)}},
            "space, 'C', default: ",
        ),
        ({"estimator__C": 3.0}, "estimator, parameters, C: "),
    ],
)
def test_the_default_belongs_to_a_checkpoint(tmp_path, change, differs):
    options = {"n_iter": 3, "cv": 2, "random_state": 0}
    path = tmp_path / "checkpoint"
    search = MVRSMSearchCV(SVC(C=2.0), SPACE, checkpoint=path, **options).fit(X, y)
    again = clone(search).set_params(n_iter=4).fit(X, y)
    whole = clone(search).set_params(n_iter=4, checkpoint=None).fit(X, y)
    assert again.cv_results_["params"] == whole.cv_results_["params"]
    with pytest.raises(ValueError, match=differs):
        clone(search).set_params(**change).fit(X, y)


def test_a_switch_that_is_no_bool_is_refused():
    with pytest.raises(ValueError, match=r"'include_default' .* Got 'yes'"):
        candidates(include_default="yes")


# --- param_space="auto" -------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "prefix", "columns"),
    [
        (SVC(), "", 13),
        (make_pipeline(StandardScaler(), SVC()), "svc__", 13),
        (make_pipeline(SimpleImputer(), "passthrough", SVC()), "svc__", 13),
        (make_pipeline(PCA(5), SVC()), "svc__", None),
        (BaggingClassifier(make_pipeline(PCA(5), SVC())), "estimator__svc__", None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_ready_made_space_is_sized_by_the_data(estimator, prefix, columns):
    for data in (X, pd.DataFrame(X), csr_array(X)):
        space = make_space("auto", estimator, data)
        expected = SearchSpace(spaces.svc(prefix=prefix, n_features=columns))
        assert space.fingerprint() == expected.fingerprint()
    listed = make_space("auto", estimator, X.tolist())
    unsized = SearchSpace(spaces.svc(prefix=prefix))
    assert listed.fingerprint() == unsized.fingerprint()
    forest = make_space("auto", RandomForestClassifier(), X[:20])
    few = SearchSpace(spaces.random_forest(n_samples=20, n_features=13))
    assert forest.fingerprint() == few.fingerprint()


def test_a_search_finds_its_space(tmp_path):
    estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    options = {"n_iter": 3, "cv": 2, "random_state": 0}
    path = tmp_path / "checkpoint"
    search = MVRSMSearchCV(estimator, "auto", checkpoint=path, **options)
    search = clone(search).fit(X, y)
    expected = spaces.from_estimator(estimator, n_samples=178, n_features=13)
    assert search.space_.names == tuple(expected)
    params = search.cv_results_["params"]
    assert params[0]["logisticregression__C"] == 1.0
    more = clone(search).set_params(n_iter=4).fit(X, y)
    assert more.cv_results_["params"][:3] == params
    with pytest.raises(ValueError, match="is of another search"):
        clone(search).fit(X[::2], y[::2])


@pytest.mark.parametrize(("n_iter", "default"), [(1, True), (7, True), (8, False)])
def test_a_portfolio_follows_the_default_in_half_of_the_budget(n_iter, default):
    estimator = make_pipeline(StandardScaler(), SVC())
    options = {"n_iter": n_iter, "cv": 2, "include_default": default}
    search = MVRSMSearchCV(estimator, "auto", random_state=0, **options).fit(X, y)
    first = search.cv_results_["params"]
    if default:
        assert first[0]["svc__C"] == 1.0
    learned = spaces.portfolio(estimator, n_samples=178, n_features=13)
    room = max(0, n_iter // 2 - default)
    assert first[default : default + room] == learned[:room]
    assert learned[room] not in first


def test_a_checkpoint_remembers_the_portfolio(tmp_path, monkeypatch):
    options = {"n_iter": 4, "cv": 2, "random_state": 0}
    search = MVRSMSearchCV(SVC(), "auto", checkpoint=tmp_path / "c", **options)
    search.fit(X, y)
    more = clone(search).set_params(n_iter=8).fit(X, y)
    tried = more.cv_results_["params"]
    assert tried[:4] == search.cv_results_["params"]
    learned = spaces.portfolio(SVC(), n_samples=178, n_features=13)
    assert [params in tried for params in learned[:3]] == [True, False, False]
    monkeypatch.setattr(spaces, "portfolio", lambda *_, **__: learned[1:])
    with pytest.raises(ValueError, match="is of another search"):
        clone(search).fit(X, y)


def test_without_a_ready_made_space_the_search_says_so():
    message = "'param_space' must not be 'auto': There is no ready-made space for PCA"
    with pytest.raises(ValueError, match=message):
        MVRSMSearchCV(PCA(), "auto").fit(X)
    with pytest.raises(ValueError, match=r"'param_space' .*'auto'.* Got 'all'"):
        MVRSMSearchCV(SVC(), "all").fit(X, y)
