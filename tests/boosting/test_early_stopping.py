"""Boosters that are stopped by samples held out of those they are given."""

import pickle
import warnings
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from xgboost import XGBClassifier, XGBRegressor

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real, spaces
from sklearn_mvrsm.boosting import EarlyStopping
from sklearn_mvrsm.boosting._holdout import of_each_class

X, y = load_breast_cancer(return_X_y=True)

XGB = {"n_estimators": 2000, "n_jobs": 1, "max_depth": 3, "learning_rate": 0.3}
LGBM = {"n_estimators": 2000, "n_jobs": 1, "verbosity": -1, "learning_rate": 0.3}

boosters = pytest.mark.parametrize(
    "booster",
    [XGBClassifier(**XGB), LGBMClassifier(**LGBM)],
    ids=["xgboost", "lightgbm"],
)


class Watching:
    """Keeps what its fit is given to watch; not a booster at all."""

    def __init__(self, early_stopping_rounds=None):
        super().__init__()
        self.early_stopping_rounds = early_stopping_rounds

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        eval_set=None,
        eval_sample_weight=None,
        init_score=None,
        eval_init_score=None,
        cat_features=None,
    ):
        self.eval_set_ = eval_set
        self.eval_sample_weight_ = eval_sample_weight
        self.init_scores_ = init_score, eval_init_score
        self.cat_features_ = cat_features
        self.seen_ = X, y, sample_weight
        return super().fit(X, y, sample_weight)


class WatchingClassifier(Watching, DecisionTreeClassifier):
    pass


class WatchingRegressor(Watching, DecisionTreeRegressor):
    pass


class WithoutWatching(DecisionTreeClassifier):
    """Takes what is to be watched under the newer names."""

    def __init__(self, early_stopping_rounds=None):
        super().__init__()
        self.early_stopping_rounds = early_stopping_rounds

    def fit(self, X, y, eval_X=None, eval_y=None):
        self.eval_ = eval_X, eval_y
        return super().fit(X, y)


# What is held out is drawn by sample, so a weight of 2 is not the sample twice.
BY_SAMPLE = {
    "check_sample_weight_equivalence_on_dense_data": "held out by sample",
    "check_sample_weight_equivalence_on_sparse_data": "held out by sample",
    "check_all_zero_sample_weights_error": "LightGBM takes them",
}


@parametrize_with_checks(
    [
        EarlyStopping(LGBMClassifier(n_estimators=10, verbosity=-1, n_jobs=1)),
        EarlyStopping(LGBMRegressor(n_estimators=10, verbosity=-1, n_jobs=1)),
    ],
    expected_failed_checks=lambda _: BY_SAMPLE,
)
@pytest.mark.filterwarnings("ignore:Converting data to scipy sparse matrix")
@pytest.mark.filterwarnings("ignore:Converting column-vector to 1d array")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_scikit_learn_checks(estimator, check):
    check(estimator.set_params(random_state=0))


# --- what is held out -----------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_each_class_gives_its_share(share):
    X, y = make_classification(
        1000, n_classes=3, n_informative=4, weights=[0.8, 0.15], random_state=0
    )
    model = EarlyStopping(
        WatchingClassifier(), validation_fraction=share, random_state=0
    ).fit(X, y)
    ((_, held),) = model.estimator_.eval_set_
    assert len(held) == round(share * 1000)
    assert np.abs(np.bincount(held) - share * np.bincount(y)).max() <= 1.0


def test_each_combination_of_several_outputs_gives_its_share():
    kinds = np.repeat([0, 1, 2, 3], [40, 80, 120, 160])
    both = np.column_stack([np.array(["a", "b"], dtype=object)[kinds % 2], kinds // 2])
    model = EarlyStopping(WatchingClassifier(), validation_fraction=0.2, shuffle=True)
    data = kinds.reshape(-1, 1)
    ((held, _),) = model.fit(data, (both != "a").astype(int)).estimator_.eval_set_
    assert len(held) == 80
    order = np.random.default_rng(0).permutation(400)
    chosen = of_each_class(both, order, 80)
    assert np.bincount(kinds[chosen]).tolist() == [8, 16, 24, 32]


def test_samples_are_either_fitted_or_held_out():
    rows = np.arange(90).reshape(-1, 1)
    model = EarlyStopping(WatchingRegressor(), random_state=0)
    model.fit(rows, rows[:, 0])
    ((X_held, y_held),) = model.estimator_.eval_set_
    X_seen, y_seen, _ = model.estimator_.seen_
    assert np.array_equal(X_held[:, 0], y_held)
    assert np.array_equal(X_seen[:, 0], y_seen)
    assert np.array_equal(np.sort(np.append(y_held, y_seen)), rows[:, 0])
    assert len(y_held) == 9


def test_the_only_sample_of_a_class_is_fitted():
    labels = np.array(["common"] * 30 + ["rare"])
    data = np.arange(31.0).reshape(-1, 1)
    for seed in range(40):
        model = EarlyStopping(
            WatchingClassifier(), validation_fraction=0.5, random_state=seed
        ).fit(data, labels)
        assert list(model.classes_) == ["common", "rare"]
        assert "rare" not in model.estimator_.eval_set_[0][1]


@pytest.mark.parametrize(("share", "n_common"), [(0.7, 18), (0.9, 24)])
def test_a_class_is_held_out_but_for_one_where_its_share_is_all(share, n_common):
    kinds = np.repeat([0, 1], [27, 3])
    order = np.random.default_rng(0).permutation(30)
    chosen = of_each_class(kinds, order, round(share * 30))
    assert len(set(chosen)) == len(chosen)
    assert np.bincount(kinds[chosen]).tolist() == [n_common, 2]


@pytest.mark.parametrize("booster", [WatchingClassifier(), WatchingRegressor()])
def test_in_the_order_of_time_the_last_are_held_out(booster):
    model = EarlyStopping(booster, shuffle=False, validation_fraction=0.2)
    model.fit(np.arange(20).reshape(-1, 1), [0, 1] * 10)
    assert model.estimator_.eval_set_[0][0][:, 0].tolist() == [16, 17, 18, 19]


def test_a_seed_decides_what_is_held_out():
    def held(seed):
        model = EarlyStopping(WatchingClassifier(), random_state=seed).fit(X, y)
        return model.estimator_.eval_set_[0][0]

    assert np.array_equal(held(1), held(1))
    assert not np.array_equal(held(1), held(2))


@pytest.mark.parametrize("convert", [pd.DataFrame, csr_array, np.ndarray.tolist])
def test_tables_sparse_matrices_and_lists_are_taken_apart(convert):
    expected = EarlyStopping(WatchingClassifier(), random_state=0).fit(X, y)
    model = EarlyStopping(WatchingClassifier(), random_state=0).fit(convert(X), y)
    ((held, _),) = model.estimator_.eval_set_
    if isinstance(held, csr_array):
        held = held.toarray()
    assert np.array_equal(held, expected.estimator_.eval_set_[0][0])


def test_weights_stay_with_their_samples():
    weights = np.arange(len(y)) + 1.0
    data = np.column_stack([weights, X])
    model = EarlyStopping(WatchingClassifier(), random_state=0)
    model.fit(data, y, sample_weight=weights)
    ((X_held, _),) = model.estimator_.eval_set_
    (held,) = model.estimator_.eval_sample_weight_
    X_seen, _, seen = model.estimator_.seen_
    assert np.array_equal(X_held[:, 0], held)
    assert np.array_equal(X_seen[:, 0], seen)


def test_what_else_the_booster_is_given_is_passed_on_or_split():
    scores = np.arange(len(y)) + 1.0
    data = np.column_stack([scores, X])
    model = make_pipeline(EarlyStopping(WatchingClassifier(), random_state=0))
    model.fit(
        data, y, earlystopping__init_score=scores, earlystopping__cat_features=[0, 2]
    )
    booster = model[-1].estimator_
    assert booster.cat_features_ == [0, 2]
    seen, (held,) = booster.init_scores_
    assert np.array_equal(booster.seen_[0][:, 0], seen)
    assert np.array_equal(booster.eval_set_[0][0][:, 0], held)
    assert booster.eval_sample_weight_ is None


@pytest.mark.parametrize("name", ["eval_set", "eval_sample_weight"])
def test_what_is_to_be_watched_cannot_be_given(name):
    with pytest.raises(TypeError, match=f"'{name}' must not be given .* got 3"):
        EarlyStopping(WatchingClassifier()).fit(X, y, **{name: 3})


def test_combinations_of_several_outputs_that_occur_once_may_be_held_out():
    both = np.arange(32)[:, None] >> np.arange(5) & 1
    model = EarlyStopping(WatchingClassifier(), validation_fraction=0.25)
    ((held, _),) = model.fit(np.ones((32, 1)), both).estimator_.eval_set_
    assert len(held) == 8


# --- groups ---------------------------------------------------------------------

GROUPS = np.repeat(np.arange(60), 5)  # of one class each, a third of them is rare
GROUPED = np.column_stack([GROUPS, np.random.default_rng(0).normal(size=(300, 2))])
LABELS = np.array(["rare", "common", "common"])[GROUPS % 3]


def fitted_and_held(model):
    ((X_held, _),) = model.estimator_.eval_set_
    return [np.unique(each[:, 0]) for each in (model.estimator_.seen_[0], X_held)]


@pytest.mark.parametrize(
    "groups", [GROUPS, [f"patient {k}" for k in GROUPS], pd.Series(GROUPS)]
)
@pytest.mark.parametrize("booster", [WatchingClassifier(), WatchingRegressor()])
def test_groups_are_held_out_as_a_whole(booster, groups):
    model = EarlyStopping(booster, validation_fraction=0.2, random_state=0)
    target = LABELS if is_classifier(booster) else np.arange(300.0)
    fitted, held = fitted_and_held(model.fit(GROUPED, target, groups=groups))
    assert np.array_equal(np.sort(np.append(fitted, held)), np.arange(60))
    assert len(held) == 12
    if is_classifier(booster):
        assert np.bincount(held.astype(int) % 3 > 0).tolist() == [4, 8]
    again = clone(model).fit(GROUPED, target, groups=groups)
    other = clone(model).set_params(random_state=1).fit(GROUPED, target, groups=groups)
    assert np.array_equal(held, fitted_and_held(again)[1])
    assert not np.array_equal(held, fitted_and_held(other)[1])


def test_in_the_order_of_time_the_groups_that_end_last_are_held_out():
    model = EarlyStopping(WatchingClassifier(), shuffle=False)
    _, held = fitted_and_held(model.fit(GROUPED, LABELS, groups=GROUPS))
    assert held.tolist() == list(range(54, 60))


@pytest.mark.parametrize(
    ("sizes", "held"), [([50, 30, 20], [2]), ([30, 31, 32], [0]), ([99, 1], [1])]
)
def test_of_large_groups_the_nearest_in_size_is_held_out(sizes, held):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    model = EarlyStopping(WatchingRegressor())
    data = groups.reshape(-1, 1)
    assert fitted_and_held(model.fit(data, groups, groups=groups))[1].tolist() == held


def test_a_class_of_one_group_is_fitted():
    labels = np.where(GROUPS == 7, "one group", LABELS)
    for seed in range(20):
        model = EarlyStopping(
            WatchingClassifier(), validation_fraction=0.7, random_state=seed
        ).fit(GROUPED, labels, groups=GROUPS)
        assert len(model.classes_) == 3


@pytest.mark.parametrize("groups", [np.zeros(300), LABELS == "rare"])
def test_too_few_groups_are_refused(groups):
    with pytest.raises(ValueError, match=r"needs more groups \(two with each class\)"):
        EarlyStopping(WatchingClassifier()).fit(GROUPED, LABELS, groups=groups)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EarlyStopping(WatchingClassifier()).fit(GROUPED, LABELS, groups=groups[1:])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([None] * 300, "'groups' must name a group for each sample, got None"),
        (np.full(300, np.nan), "Input groups contains NaN"),
        (GROUPED, "should be a 1d array"),
    ],
)
def test_groups_that_are_no_good_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        EarlyStopping(WatchingClassifier()).fit(GROUPED, LABELS, groups=groups)


def whole(model, X, y):
    fitted, held = fitted_and_held(model["boost"])
    return float(len(fitted) + len(held) == len(np.union1d(fitted, held)))


@pytest.mark.parametrize("routing", [False, True])
def test_a_search_gives_each_fold_its_groups(routing):
    boost = EarlyStopping(WatchingClassifier(), random_state=0)
    search = MVRSMSearchCV(
        Pipeline([("scale", "passthrough"), ("boost", boost)]),
        {"boost__validation_fraction": [0.1, 0.3]},
        scoring=whole,
        n_iter=2,
        cv=GroupKFold(3),
        random_state=0,
    )
    more = {} if routing else {"boost__groups": GROUPS}
    with config_context(enable_metadata_routing=routing):
        search.fit(GROUPED, LABELS, groups=GROUPS, **more)
    for k in range(3):
        assert search.cv_results_[f"split{k}_test_score"].tolist() == [1.0, 1.0]


def test_earlier_steps_have_transformed_what_is_held_out():
    model = make_pipeline(
        StandardScaler(), EarlyStopping(WatchingClassifier(), random_state=0)
    ).fit(1e6 + 1e3 * X, y)
    ((held, _),) = model[-1].estimator_.eval_set_
    assert np.abs(held).max() < 20.0


def test_newer_names_for_what_is_watched_are_used():
    model = EarlyStopping(WithoutWatching(), random_state=0).fit(X, y)
    assert len(model.estimator_.eval_[0]) == len(model.estimator_.eval_[1]) == 57


# --- stopping -------------------------------------------------------------------


@boosters
def test_boosting_stops_at_the_best_round_of_what_is_held_out(booster, capfd):
    model = EarlyStopping(booster, n_iter_no_change=7, random_state=0)
    spy = EarlyStopping(WatchingClassifier(), random_state=0).fit(X, y)
    ((X_held, y_held),) = spy.estimator_.eval_set_
    model.fit(X, y)
    assert capfd.readouterr() == ("", "")
    curve = np.ravel(
        [list(each.values()) for each in model.estimator_.evals_result_.values()]
    )
    assert model.n_iter_ == np.argmin(curve) + 1
    assert len(curve) == model.n_iter_ + 7
    best = log_loss(y_held, model.predict_proba(X_held))
    assert best == pytest.approx(curve.min(), rel=1e-5)


@pytest.mark.parametrize(
    "booster", [XGBRegressor(**XGB), LGBMRegressor(**LGBM)], ids=["xgboost", "lightgbm"]
)
def test_regressors_are_stopped_too(booster):
    X, y = make_regression(300, 5, noise=50.0, random_state=0)
    model = EarlyStopping(booster, random_state=0).fit(X, y)
    assert 1 <= model.n_iter_ < 200
    assert model.score(X, y) == booster.__class__.score(model.estimator_, X, y)


def test_catboost_is_stopped_too(tmp_path):
    catboost = pytest.importorskip("catboost", reason="catboost is not there")
    booster = catboost.CatBoostClassifier(
        n_estimators=2000,
        learning_rate=0.3,
        thread_count=1,
        verbose=False,
        train_dir=str(tmp_path),
    )
    model = EarlyStopping(booster, n_iter_no_change=5, random_state=0)
    model.fit(X, y, sample_weight=np.ones(len(y)))
    assert model.n_iter_ == model.estimator_.tree_count_ < 300
    assert len(list(model.staged_predict(X))) == model.n_iter_
    weights = np.where(np.arange(len(y)) % 3, 1e-3, 1.0)
    held_out = [
        EarlyStopping(clone(booster).set_params(**patience), random_state=0)
        .fit(X, y, sample_weight=each)
        .evals_result_["validation"]["Logloss"][0]
        for patience in ({"od_wait": 7}, {"early_stopping_rounds": 7})
        for each in (weights, 2.0 * weights, None)
    ]
    assert held_out[0] == held_out[1] != held_out[2]
    assert held_out[:3] == held_out[3:]
    kinds = pd.DataFrame({"x": X[:, 0], "kind": np.where(y == 1, "a", "b")})
    model.fit(kinds, y, cat_features=["kind"], sample_weight=weights)
    assert model.score(kinds, y) == 1.0


@boosters
def test_without_an_end_all_rounds_are_used(booster):
    short = clone(booster).set_params(n_estimators=2)
    assert EarlyStopping(short, random_state=0).fit(X, y).n_iter_ == 2


@boosters
def test_weights_decide_where_boosting_stops(booster):
    weights = np.where(np.arange(len(y)) % 3, 1e-3, 1.0)
    plain = EarlyStopping(booster, random_state=0).fit(X, y)
    weighted = EarlyStopping(booster, random_state=0).fit(X, y, sample_weight=weights)
    assert not np.array_equal(plain.predict_proba(X), weighted.predict_proba(X))
    assert weighted.score(X, y, sample_weight=weights) != weighted.score(X, y)


@pytest.mark.parametrize("name", ["early_stopping_round", "n_iter_no_change"])
def test_patience_under_another_name_is_replaced(name):
    booster = LGBMClassifier(**LGBM, **{name: 1})
    model = EarlyStopping(booster, n_iter_no_change=30, random_state=0).fit(X, y)
    (curve,) = model.evals_result_["valid_0"].values()
    assert len(curve) == model.n_iter_ + 30


def test_a_metric_may_be_chosen_at_fit():
    model = EarlyStopping(LGBMClassifier(**LGBM), random_state=0)
    model.fit(X, y, eval_metric="auc")
    assert set(model.evals_result_["valid_0"]) == {"auc", "binary_logloss"}


def test_labels_of_text_stay_text():
    names = np.array(["malign", "benign"])[y]
    model = EarlyStopping(LGBMClassifier(**LGBM), random_state=0).fit(X, names)
    assert model.classes_.tolist() == ["benign", "malign"]
    assert model.score(X, names) > 0.95


def test_the_booster_that_was_given_is_left_alone():
    booster = XGBClassifier(**XGB)
    before = booster.get_params()
    EarlyStopping(booster, random_state=0).fit(X, y)
    assert booster.get_params() == before
    assert not hasattr(booster, "classes_")


def test_other_warnings_of_the_booster_are_shown():
    class Warning(WatchingClassifier):
        def fit(self, X, y, eval_set):
            warnings.warn("of the booster", UserWarning, stacklevel=2)
            return super().fit(X, y, eval_set=eval_set)

    with pytest.warns(UserWarning, match="of the booster"):
        EarlyStopping(Warning(), random_state=0).fit(X, y)


# --- the contract ---------------------------------------------------------------


@boosters
@pytest.mark.parametrize("selector", [RFE, SelectFromModel])
def test_features_are_selected_by_what_the_booster_says(booster, selector):
    model = EarlyStopping(booster, random_state=0)
    importances = clone(model).fit(X, y).feature_importances_
    if selector is RFE:
        chosen = RFE(model, n_features_to_select=29).fit(X, y).support_
        assert not chosen[np.flatnonzero(importances == importances.min())].all()
    else:
        chosen = SelectFromModel(model).fit(X, y).get_support()
        assert np.array_equal(chosen, importances >= importances.mean())


def test_what_the_fitted_booster_has_can_be_reached():
    model = EarlyStopping(XGBClassifier(**XGB), random_state=0)
    for name in ("feature_importances_", "get_booster", "best_iteration"):
        assert not hasattr(model, name)
        with pytest.raises(NotFittedError, match=f"'{name}' before it is fitted"):
            attrgetter(name)(model)
    model.fit(X, y)
    booster = model.estimator_
    assert np.array_equal(model.feature_importances_, booster.feature_importances_)
    assert model.get_booster() is booster.get_booster()
    assert model.best_iteration == booster.best_iteration == model.n_iter_ - 1
    assert np.array_equal(model.apply(X), booster.apply(X))
    raw = model.predict(X, output_margin=True)
    assert np.array_equal(raw, booster.predict(X, output_margin=True))
    for name in ("coef_", "n_estimators", "_Booster", "nothing"):
        assert not hasattr(model, name)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.feature_importances_, booster.feature_importances_)


class Sure(WatchingClassifier):
    """Knows more than probabilities."""

    def decision_function(self, X):
        return self.predict_proba(X)[:, 1] - 0.5


def test_other_predictions_are_there_where_the_booster_has_them():
    model = EarlyStopping(Sure(), random_state=0)
    for name in ("decision_function", "predict_log_proba"):
        assert hasattr(model, name)
        with pytest.raises(NotFittedError):
            getattr(model, name)(X)
        assert not hasattr(EarlyStopping(XGBRegressor()), name)
    model.fit(X, y)
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == 1)
    with np.errstate(divide="ignore"):
        logs = np.log(model.predict_proba(X))
        assert np.array_equal(model.predict_log_proba(X), logs)


def test_it_is_what_its_booster_is():
    assert is_classifier(EarlyStopping(XGBClassifier()))
    assert is_regressor(EarlyStopping(XGBRegressor()))
    assert not hasattr(EarlyStopping(XGBRegressor()), "predict_proba")
    assert hasattr(EarlyStopping(XGBClassifier()), "predict_proba")


def test_nested_parameters_are_set_and_cloned():
    model = EarlyStopping(XGBClassifier(), n_iter_no_change=3)
    model.set_params(estimator__max_depth=2, validation_fraction=0.3)
    copy = clone(model)
    assert copy.estimator is not model.estimator
    assert copy.get_params()["estimator__max_depth"] == 2
    assert (copy.n_iter_no_change, copy.validation_fraction) == (3, 0.3)


def test_what_is_fitted_is_only_there_after_fit():
    model = EarlyStopping(LGBMClassifier(**LGBM), random_state=0)
    for name in ("n_iter_", "classes_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.predict(X)
    names = [f"x{k}" for k in range(X.shape[1])]
    model.fit(pd.DataFrame(X, columns=names), y)
    assert model.n_features_in_ == len(names)
    assert list(model.feature_names_in_) == names


def test_a_booster_that_keeps_its_rounds_secret_has_no_number_of_them():
    model = EarlyStopping(WatchingClassifier(), random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="does not say where it was stopped"):
        attrgetter("n_iter_")(model)


@pytest.mark.parametrize("booster", [GradientBoostingClassifier(), StandardScaler()])
def test_a_model_that_cannot_watch_is_refused(booster):
    with pytest.raises(TypeError, match=r"takes no samples to watch.*early_stopping"):
        EarlyStopping(booster).fit(X, y)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_iter_no_change", 0),
        ("n_iter_no_change", 2.5),
        ("n_iter_no_change", True),
        ("validation_fraction", 0.0),
        ("validation_fraction", 1.0),
        ("validation_fraction", "half"),
    ],
)
def test_arguments_that_are_no_good_are_refused(argument, value):
    model = EarlyStopping(WatchingClassifier(), **{argument: value})
    with pytest.raises(ValueError, match=f"'{argument}' must be .*got {value!r}"):
        model.fit(X, y)


@pytest.mark.parametrize("booster", [WatchingClassifier(), WatchingRegressor()])
@pytest.mark.parametrize("n_samples", [0, 1])
def test_too_few_samples_are_refused(booster, n_samples):
    with pytest.raises(ValueError, match=f"n_samples={n_samples}"):
        EarlyStopping(booster).fit(np.ones((n_samples, 1)), np.ones(n_samples, int))


def test_weights_are_routed_where_they_are_asked_for():
    with config_context(enable_metadata_routing=True):
        model = EarlyStopping(WatchingClassifier(), random_state=0)
        pipeline = Pipeline([("scale", StandardScaler()), ("boost", model)])
        pipeline["scale"].set_fit_request(sample_weight=False)
        model.set_fit_request(sample_weight=True)
        weights = np.arange(len(y)) + 1.0
        pipeline.fit(X, y, sample_weight=weights)
    (held,) = pipeline["boost"].estimator_.eval_sample_weight_
    assert set(held) < set(weights)


def test_what_is_requested_of_the_booster_is_passed_on():
    with config_context(enable_metadata_routing=True):
        booster = LGBMClassifier(**LGBM).set_fit_request(
            sample_weight="w", init_score=True
        )
        pipeline = make_pipeline(EarlyStopping(booster, random_state=0))
        alone = EarlyStopping(booster, random_state=0)
        start, weights = np.linspace(-1, 1, len(y)), np.arange(len(y)) + 1.0
        pipeline.fit(X, y, w=weights, init_score=start)
        alone.fit(X, y, sample_weight=weights, init_score=start)
    assert np.array_equal(pipeline.predict_proba(X), alone.predict_proba(X))
    plain = clone(alone).fit(X, y)
    assert not np.array_equal(alone.predict_proba(X), plain.predict_proba(X))


# --- in a pipeline, in a search, in workers -------------------------------------


def searched(boost, space, X=X, y=y, **arguments):
    pipeline = Pipeline([("scale", StandardScaler()), ("boost", boost)])
    return MVRSMSearchCV(
        pipeline, space, n_iter=4, cv=3, n_jobs=2, random_state=0, **arguments
    ).fit(X, y)


@boosters
def test_every_fold_of_a_search_is_stopped_by_its_own(booster):
    search = searched(
        EarlyStopping(booster, random_state=0),
        {
            "boost__estimator__learning_rate": Real(0.1, 0.5, log=True),
            "boost__n_iter_no_change": Integer(3, 8),
        },
        fit_timeout=120.0,
    )
    assert set(search.cv_results_["status"]) == {"ok"}
    assert search.best_score_ > 0.93
    assert search.best_estimator_[-1].n_iter_ < 1000
    alone = clone(search).set_params(n_jobs=1, fit_timeout=None).fit(X, y)
    for k in range(3):
        assert np.array_equal(
            search.cv_results_[f"split{k}_test_score"],
            alone.cv_results_[f"split{k}_test_score"],
        )


def own_weights(model, X, y):
    """Return whether each sample was fitted or held out with its own weight."""
    booster = model["boost"].estimator_
    ((X_held, _),) = booster.eval_set_
    (held,) = booster.eval_sample_weight_
    X_seen, _, seen = booster.seen_
    return float(
        np.array_equal(X_held[:, 0], held) and np.array_equal(X_seen[:, 0], seen)
    )


def test_a_search_gives_each_fold_its_weights():
    weights = np.arange(len(y)) + 1.0
    data = np.column_stack([weights, X])
    boost = EarlyStopping(WatchingClassifier(), random_state=0)
    search = MVRSMSearchCV(
        Pipeline([("scale", "passthrough"), ("boost", boost)]),
        {"boost__validation_fraction": [0.1, 0.2]},
        scoring=own_weights,
        n_iter=2,
        cv=3,
        random_state=0,
    ).fit(data, y, boost__sample_weight=weights)
    for k in range(3):
        assert search.cv_results_[f"split{k}_test_score"].tolist() == [1.0, 1.0]
    assert own_weights(search.best_estimator_, data, y) == 1.0


def test_histograms_of_scikit_learn_need_no_help():
    for model, target in (
        (HistGradientBoostingClassifier, y),
        (HistGradientBoostingRegressor, X[:, 0]),
    ):
        boost = model(max_iter=500, early_stopping=True, random_state=0)
        search = searched(
            boost,
            {
                "boost__learning_rate": Real(0.1, 0.5, log=True),
                "boost__n_iter_no_change": Integer(3, 8),
            },
            y=target,
        )
        assert set(search.cv_results_["status"]) == {"ok"}
        assert search.best_estimator_[-1].n_iter_ < 500


def test_ready_made_spaces_fit_in():
    space = spaces.xgboost(prefix="boost__estimator__")
    del space["boost__estimator__n_estimators"]
    boost = EarlyStopping(XGBClassifier(n_estimators=60, n_jobs=1), random_state=0)
    search = searched(boost, space)
    assert set(search.cv_results_["status"]) == {"ok"}
