import inspect
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    Lasso,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMSearchCV,
    Ordinal,
    Real,
    SearchSpace,
    spaces,
)
from sklearn_mvrsm.boosting import EarlyStopping
from sklearn_mvrsm.spaces._learned import LEARNED

READY_MADE = sorted(set(spaces.__all__) - {"any_of", "from_estimator", "portfolio"})
N_SAMPLES, N_FEATURES = 40, 3

# Space -> the estimators it is for, and what makes them quick and quiet.
ESTIMATORS = {
    "xgboost": ("xgboost", ["XGBClassifier", "XGBRegressor"], {"n_jobs": 1}),
    "lightgbm": (
        "lightgbm",
        ["LGBMClassifier", "LGBMRegressor"],
        {"n_jobs": 1, "verbosity": -1},
    ),
    "catboost": (
        "catboost",
        ["CatBoostClassifier", "CatBoostRegressor"],
        {"thread_count": 1, "verbose": False, "allow_writing_files": False},
    ),
    "hist_gradient_boosting": (
        "sklearn.ensemble",
        ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"],
        {},
    ),
    "random_forest": (
        "sklearn.ensemble",
        ["RandomForestClassifier", "RandomForestRegressor"],
        {"n_estimators": 5},
    ),
    "extra_trees": (
        "sklearn.ensemble",
        ["ExtraTreesClassifier", "ExtraTreesRegressor"],
        {"n_estimators": 5},
    ),
    "svc": ("sklearn.svm", ["SVC"], {"max_iter": 1000}),
    "svr": ("sklearn.svm", ["SVR"], {"max_iter": 1000}),
    "logistic_regression": ("sklearn.linear_model", ["LogisticRegression"], {}),
    "ridge": ("sklearn.linear_model", ["Ridge", "RidgeClassifier"], {}),
    "elastic_net": ("sklearn.linear_model", ["ElasticNet"], {}),
    "gradient_boosting": (
        "sklearn.ensemble",
        ["GradientBoostingClassifier", "GradientBoostingRegressor"],
        {},
    ),
    "ada_boost": (
        "sklearn.ensemble",
        ["AdaBoostClassifier", "AdaBoostRegressor"],
        {},
    ),
    "decision_tree": (
        "sklearn.tree",
        ["DecisionTreeClassifier", "DecisionTreeRegressor"],
        {},
    ),
    "linear_svc": ("sklearn.svm", ["LinearSVC"], {}),
    "linear_svr": ("sklearn.svm", ["LinearSVR"], {}),
    "sgd": ("sklearn.linear_model", ["SGDClassifier", "SGDRegressor"], {}),
    "k_neighbors": (
        "sklearn.neighbors",
        ["KNeighborsClassifier", "KNeighborsRegressor"],
        {},
    ),
    "mlp": ("sklearn.neural_network", ["MLPClassifier", "MLPRegressor"], {}),
}
CASES = [
    pytest.param(space, module, name, quick, id=name)
    for space, (module, names, quick) in ESTIMATORS.items()
    for name in names
]
QUICK_MLP = {"max_iter": 2}


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def estimator_of(module, name, quick):
    library = pytest.importorskip(module, reason=f"{module} is not installed")
    quick = QUICK_MLP if name.startswith("MLP") else quick
    estimator = getattr(library, name)(**quick)
    if "random_state" in inspect.signature(type(estimator)).parameters:
        estimator.set_params(random_state=0)
    return estimator


def data_for(name, n_samples=N_SAMPLES):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, N_FEATURES))
    y = X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=n_samples)
    named = ("SVC", "LinearSVC", "LogisticRegression")
    is_classifier = name in named or "Classifier" in name
    return X, (y > np.median(y)).astype(int) if is_classifier else y / y.std()


def fit(estimator, params, X, y):
    """Fit a clone; only an unfinished optimisation may be complained of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(estimator).set_params(**params).fit(X, y)
        prediction = fitted.predict(X)
    others = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    assert [str(w.message) for w in others] == [], params
    assert len(prediction) == len(X)


def ends(parameter):
    if isinstance(parameter, Real | Integer):
        return [parameter.low, parameter.high]
    return list(parameter.values)


def at_every_end(space):
    """Configurations that hold each parameter at each end, or value, once at least."""
    samples = space.sample(200, random_state=0)
    for each in space.parameters:
        usable = [params for params in samples if each.name in params]
        for k, value in enumerate(ends(each.parameter)):
            params = usable[k % len(usable)]
            try:
                space.encode(params | {each.name: value})
            except ValueError:  # a parent: its children differ
                params = next(p for p in usable if p[each.name] == value)
            yield params | {each.name: value}


@pytest.mark.parametrize("name", READY_MADE)
def test_every_ready_made_space_names_an_estimator_here(name):
    assert name in ESTIMATORS


@pytest.mark.parametrize(("space", "module", "name", "quick"), CASES)
def test_every_parameter_is_heeded_by_the_estimator_at_its_ends(
    space, module, name, quick
):
    estimator = estimator_of(module, name, quick)
    X, y = data_for(name)
    ready = SearchSpace(
        getattr(spaces, space)(n_samples=N_SAMPLES, n_features=N_FEATURES)
    )
    for params in at_every_end(ready):
        fit(estimator, params, X, y)


@pytest.mark.parametrize(("space", "module", "name", "quick"), CASES)
def test_without_sizes_every_parameter_can_be_set(space, module, name, quick):
    estimator = estimator_of(module, name, quick)
    ready = getattr(spaces, space)()
    known = set()
    for params in SearchSpace(ready).sample(100, random_state=0):
        taken = clone(estimator).set_params(**params).get_params()
        assert {key: taken[key] for key in params} == params
        known |= set(params)
    assert known == set(ready)


@pytest.mark.parametrize("n_samples", [2, 10])
@pytest.mark.parametrize(("space", "module", "name", "quick"), CASES)
def test_half_of_the_rows_are_enough_for_every_configuration(
    space, module, name, quick, n_samples
):
    estimator = estimator_of(module, name, quick)
    ready = SearchSpace(getattr(spaces, space)(n_samples=n_samples, n_features=1))
    X, y = data_for(name, n_samples)
    rows = slice(None) if n_samples == 2 else slice(0, n_samples // 2)
    for params in ready.sample(2, random_state=0):
        fit(estimator, params, X[rows, :1], y[rows])


@pytest.mark.parametrize("name", READY_MADE)
def test_prefix_changes_names_and_nothing_else(name):
    make = getattr(spaces, name)
    bare = SearchSpace(make(n_samples=50, n_features=7))
    under = SearchSpace(make(prefix="a__b__", n_samples=50, n_features=7))
    for plain, prefixed in zip(
        bare.sample(20, random_state=1), under.sample(20, random_state=1), strict=True
    ):
        assert {f"a__b__{key}": value for key, value in plain.items()} == prefixed


@pytest.mark.parametrize("name", READY_MADE)
def test_all_ready_made_spaces_take_the_same_arguments(name):
    taken = inspect.signature(getattr(spaces, name)).parameters
    assert list(taken) == ["prefix", "n_samples", "n_features"]
    for each in taken.values():
        assert each.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", READY_MADE)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"prefix": "clf"}, ValueError, "'prefix' must be '' or end with '__'"),
        ({"prefix": None}, TypeError, "'prefix' must be a str, got None"),
        ({"n_samples": 0}, ValueError, "'n_samples' must be >= 1, got 0"),
        ({"n_samples": True}, TypeError, "'n_samples' must be an int or None"),
        ({"n_features": 2.0}, TypeError, "'n_features' must be an int or None"),
    ],
)
def test_arguments_that_make_no_sense_are_named(name, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(spaces, name)(**arguments)


@pytest.mark.parametrize("n_samples", [1, 2, 3, 7, 50, 10**6])
def test_sizes_bound_what_depends_on_them(n_samples):
    made = {name: getattr(spaces, name)(n_samples=n_samples) for name in READY_MADE}
    assert max(ends(made["k_neighbors"]["n_neighbors"])) <= max(1, n_samples // 2)
    assert max(ends(made["random_forest"]["min_samples_leaf"])) <= max(2, n_samples / 4)
    assert max(ends(made["lightgbm"]["num_leaves"])) <= max(8, n_samples / 4)
    assert max(ends(made["xgboost"]["n_estimators"])) <= max(100, n_samples)
    batches = [b for b in ends(made["mlp"]["batch_size"]) if b != "auto"]
    assert max(batches, default=0) <= n_samples / 2
    assert ("lbfgs" in ends(made["mlp"]["solver"])) == (n_samples <= 10_000)


def test_penalties_keep_their_meaning_whatever_the_number_of_rows():
    few, many = (spaces.logistic_regression(n_samples=n)["C"] for n in (100, 10_000))
    assert few.high * 100 == pytest.approx(many.high * 10_000)
    few, many = (spaces.ridge(n_samples=n)["alpha"] for n in (100, 10_000))
    assert few.low / 100 == pytest.approx(many.low / 10_000)


def test_scale_of_the_kernel_lies_inside_whatever_the_number_of_features():
    for p in (1, 10, 10_000):
        gamma = spaces.svc(n_features=p)["gamma"]
        assert gamma.low * 100 < 1.0 / p < gamma.high / 10


def test_a_split_looks_at_one_feature_at_least():
    assert spaces.random_forest(n_features=64)["max_features"].low == 1 / 64
    assert ends(spaces.extra_trees(n_features=1)["max_features"]) == [1.0]


# --- from_estimator ----------------------------------------------------------------


@pytest.mark.parametrize(("space", "module", "name", "quick"), CASES)
def test_an_estimator_gets_the_space_of_its_class(space, module, name, quick):
    estimator = estimator_of(module, name, quick)
    sizes = {"n_samples": 30, "n_features": 4}
    assert spaces.from_estimator(estimator, prefix="m__", **sizes) == getattr(
        spaces, space
    )(prefix="m__", **sizes)


class OwnSVC(SVC):
    """A class that inherits from one that has a space."""


class OwnWrapper(BaseEstimator):
    """A wrapper of a stranger's, whose parameter has a name of its own."""

    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, X, y):
        return self


class XGBRFClassifier(XGBClassifier):
    """A forest in spite of what it inherits from; the library's own is deprecated."""


FOREST_AND_SVM = [("f", RandomForestClassifier()), ("s", SVC()), ("n", "drop")]


@pytest.mark.parametrize(
    ("estimator", "prefixes"),
    [
        (make_pipeline(StandardScaler(), SVC()), ["svc__"]),
        (make_pipeline(SelectFromModel(ExtraTreesClassifier()), SVC()), ["svc__"]),
        (
            make_pipeline(
                make_column_transformer((StandardScaler(), [0])),
                make_pipeline(PCA(), OneVsRestClassifier(OwnSVC())),
            ),
            ["pipeline__onevsrestclassifier__estimator__"],
        ),
        (OwnSVC(), [""]),
        (OneVsOneClassifier(SVC()), ["estimator__"]),
        (CalibratedClassifierCV(SVC()), ["estimator__"]),
        (BaggingClassifier(SVC()), ["estimator__"]),
        (FixedThresholdClassifier(SVC()), ["estimator__"]),
        (TunedThresholdClassifierCV(SVC()), ["estimator__"]),
        (MultiOutputClassifier(SVC()), ["estimator__"]),
        (OwnWrapper(OneVsRestClassifier(SVC())), ["inner__estimator__"]),
        (VotingClassifier([("a", SVC()), ("b", SVC()), ("c", PCA())]), ["a__", "b__"]),
        (StackingClassifier(FOREST_AND_SVM[1:], SVC()), ["final_estimator__", "s__"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_wrappers_and_subclasses_get_the_space_of_what_they_fit(estimator, prefixes):
    found = spaces.from_estimator(estimator, prefix="whole__", n_features=5)
    expected = {}
    for prefix in prefixes:
        expected |= spaces.svc(prefix=f"whole__{prefix}", n_features=5)
    assert found == expected
    estimator.set_params(**{name.removeprefix("whole__"): None for name in found})


def test_a_model_that_is_boosted_is_searched_and_where_boosting_begins_is_not():
    boosted = spaces.from_estimator(AdaBoostClassifier(SVC()))
    assert boosted == spaces.ada_boost() | spaces.svc(prefix="estimator__")
    begun = spaces.from_estimator(GradientBoostingClassifier(init=SVC()))
    assert begun == spaces.gradient_boosting()


def test_a_transformed_target_and_forests_in_a_vote_are_found():
    regressor = make_pipeline(StandardScaler(), Ridge())
    target = TransformedTargetRegressor(regressor, transformer=StandardScaler())
    assert list(spaces.from_estimator(target)) == ["regressor__ridge__alpha"]
    found = spaces.from_estimator(VotingClassifier(FOREST_AND_SVM))
    assert found == spaces.random_forest(prefix="f__") | spaces.svc(prefix="s__")


def test_a_subclass_without_a_parameter_is_not_given_it():
    assert spaces.from_estimator(Lasso()) == {"alpha": spaces.elastic_net()["alpha"]}


@pytest.mark.parametrize(
    ("make", "module", "name", "settings", "names"),
    [
        ("xgboost", "xgboost", "XGBClassifier", {"eta": 0.1}, {"learning_rate": "eta"}),
        (
            "lightgbm",
            "lightgbm",
            "LGBMClassifier",
            {"num_iterations": 9, "boosting": "dart", "eta": 0.1, "lambda": 2.0},
            {
                "n_estimators": "num_iterations",
                "boosting_type": "boosting",
                "reg_lambda": "lambda",
            },
        ),
        (
            "catboost",
            "catboost",
            "CatBoostClassifier",
            {"n_estimators": 9, "eta": 0.1, "max_depth": 3, "reg_lambda": 2.0},
            {
                "iterations": "n_estimators",
                "learning_rate": "eta",
                "depth": "max_depth",
                "l2_leaf_reg": "reg_lambda",
            },
        ),
    ],
    ids=["xgboost", "lightgbm", "catboost"],
)
def test_a_parameter_has_the_name_by_which_the_estimator_was_given_it(
    make, module, name, settings, names
):
    estimator = estimator_of(module, name, ESTIMATORS[make][2] | settings)
    found = spaces.from_estimator(estimator, n_samples=N_SAMPLES)
    usual = getattr(spaces, make)(n_samples=N_SAMPLES)
    assert list(found) == [names.get(each, each) for each in usual]
    X, y = data_for(name)
    for params in SearchSpace(found).sample(6, random_state=0):
        fit(estimator, params, X, y)


@pytest.mark.parametrize(
    ("name", "settings", "allowed"),
    [
        ("RandomForestClassifier", {"bootstrap": False}, {"max_samples": [None]}),
        (
            "ExtraTreesClassifier",
            {"bootstrap": True, "max_samples": 0.9},
            {"bootstrap": [True]},
        ),
        (
            "ExtraTreesClassifier",
            {"bootstrap": True, "oob_score": True, "n_estimators": 50},
            {"bootstrap": [True]},
        ),
        ("KNeighborsClassifier", {"algorithm": "kd_tree"}, {"metric": ["minkowski"]}),
        ("LinearSVC", {"loss": "hinge"}, {"penalty": ["l2"]}),
        ("LinearSVC", {"dual": True}, {"penalty": ["l2"]}),
        (
            "LogisticRegression",
            {"dual": True, "solver": "liblinear"},
            {"solver": ["liblinear"], "l1_ratio": None},
        ),
        (
            "LogisticRegression",
            {"l1_ratio": 0.5, "solver": "saga"},
            {"solver": ["saga"]},
        ),
        (
            "LGBMClassifier",
            {"data_sample_strategy": "goss"},
            {"subsample": [1.0]},
        ),
        (
            "CatBoostClassifier",
            {"subsample": 0.5, "num_leaves": 9},
            {
                "bootstrap_type": ["Bernoulli", "MVS"],
                "bagging_temperature": None,
                "grow_policy": ["Lossguide"],
                "depth": None,
            },
        ),
        (
            "CatBoostRegressor",
            {"bagging_temperature": 0.0},
            {"bootstrap_type": ["Bayesian"], "subsample": None},
        ),
    ],
)
def test_values_that_the_estimators_settings_forbid_are_left_out(
    name, settings, allowed
):
    module, quick = next(
        (module, quick) for module, names, quick in ESTIMATORS.values() if name in names
    )
    estimator = estimator_of(module, name, quick | settings)
    found = spaces.from_estimator(estimator, n_samples=N_SAMPLES, n_features=N_FEATURES)
    for each, values in allowed.items():
        assert (list(found[each].values) if each in found else None) == values
    X, y = data_for(name)
    for params in SearchSpace(found).sample(8, random_state=0):
        fit(estimator, params, X, y)


@pytest.mark.parametrize(
    ("penalty", "names"),
    [
        ("l1", {"C", "solver"}),
        ("l2", {"C", "solver"}),
        ("elasticnet", {"C", "solver", "l1_ratio"}),
        (None, {"solver"}),
    ],
)
def test_what_a_penalty_does_not_use_is_left_out(penalty, names):
    if penalty is not None and "penalty" in spaces.logistic_regression():
        names = {"C", "solver", "l1_ratio", "penalty"}  # before scikit-learn 1.8
    model = LogisticRegression(penalty=penalty, solver="saga")
    assert set(spaces.from_estimator(model)) == names


def test_a_subclass_need_not_have_a_penalty():
    class Plain(LogisticRegression):
        def __init__(self, C=1.0):
            super().__init__(C=C)

    assert set(spaces.from_estimator(Plain())) == {"C"}


def test_a_linear_booster_has_no_parameters_of_trees():
    found = spaces.from_estimator(XGBClassifier(booster="gblinear"))
    assert set(found) == {"n_estimators", "learning_rate", "reg_lambda"}


def test_what_early_stopping_decides_is_left_out():
    found = spaces.from_estimator(EarlyStopping(XGBClassifier()), n_samples=500)
    usual = spaces.xgboost(prefix="estimator__", n_samples=500)
    assert usual.pop("estimator__n_estimators").high == 500
    assert found == usual
    found = spaces.from_estimator(EarlyStopping(LGBMClassifier(num_iterations=300)))
    assert found["estimator__boosting_type"].values == ("gbdt",)
    usual = spaces.lightgbm(prefix="estimator__").keys()
    assert usual - found.keys() == {
        "estimator__n_estimators",
        "estimator__drop_rate",
        "estimator__skip_drop",
    }


def test_a_selector_needs_coefficients():
    found = spaces.from_estimator(RFE(SVC(kernel="linear")))
    assert set(found) == {"estimator__C", "estimator__kernel"}
    assert found["estimator__kernel"].values == ("linear",)


@pytest.mark.parametrize(
    "estimator",
    [
        Perceptron(),
        LogisticRegressionCV(),
        XGBRFClassifier(),
        BaggingClassifier(),
        OneVsRestClassifier(Perceptron()),
        CalibratedClassifierCV(FrozenEstimator(SVC())),
        make_pipeline(SVC(), PCA()),
        None,
        "passthrough",
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_estimator_without_a_space_is_named(estimator):
    with pytest.raises(ValueError, match="no ready-made space for") as caught:
        spaces.from_estimator(estimator)
    assert repr(estimator) in str(caught.value)


def test_a_class_is_no_estimator():
    with pytest.raises(TypeError, match="got the class SVC"):
        spaces.from_estimator(SVC)


def test_no_library_is_imported_to_find_a_space():
    code = (
        "import sys; from sklearn.svm import SVC; from sklearn_mvrsm import spaces; "
        "spaces.from_estimator(SVC()); "
        "assert not {'xgboost', 'lightgbm', 'catboost'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- portfolio ---------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [{}, {"n_samples": 10, "n_features": 1}, None])
@pytest.mark.parametrize(("space", "module", "name", "quick"), CASES)
def test_what_was_learned_is_in_the_space(space, module, name, quick, sizes):
    estimator = estimator_of(module, name, quick)
    if sizes is None:
        sizes = {"n_samples": 10**6, "n_features": 10**4}
    ready = SearchSpace(spaces.from_estimator(estimator, prefix="m__", **sizes))
    if space not in LEARNED:
        with pytest.raises(ValueError, match=r"no portfolio for .*, only for "):
            spaces.portfolio(estimator)
        return
    learned = spaces.portfolio(estimator, prefix="m__", **sizes)
    codes = {ready.encode(params).tobytes() for params in learned}
    assert len(codes) == len(learned) <= 10
    n_left_out = 2 if space == "mlp" and sizes else 0  # lbfgs, where there is much data
    if sizes.get("n_features") != 1:
        assert len(LEARNED[space]) >= 4
        assert len(learned) == len(LEARNED[space]) - n_left_out


def test_a_portfolio_keeps_its_numbers_but_for_ranges_that_move():
    rows = {"n_samples": 500, "n_features": 40}
    usual, wide = spaces.portfolio(SVC()), spaces.portfolio(SVC(), **rows)
    for few, many in zip(usual, wide, strict=True):
        assert many["C"] == few["C"]
        if "gamma" in few:  # as wide as before, around one by the number of features
            assert many["gamma"] == pytest.approx(few["gamma"] * 10 / 40)
    forest, few = RandomForestClassifier(), {"n_samples": 16}
    leaves = [params["min_samples_leaf"] for params in spaces.portfolio(forest)]
    sized = [p["min_samples_leaf"] for p in spaces.portfolio(forest, **few)]
    assert sized == [min(leaf, 4) for leaf in leaves]


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), OwnSVC()),
        XGBClassifier(eta=0.1),
        EarlyStopping(LGBMClassifier(n_estimators=100)),
        StackingClassifier(FOREST_AND_SVM, SVC()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_portfolio_has_the_names_of_the_space(estimator):
    ready = SearchSpace(spaces.from_estimator(estimator))
    learned = spaces.portfolio(estimator)
    for params in learned:
        ready.encode(params)
    assert {name for params in learned for name in params} <= set(ready.names)
    if isinstance(estimator, StackingClassifier):
        assert learned[1]["s__C"] == spaces.portfolio(SVC())[1]["C"]


def test_of_several_models_one_without_a_portfolio_leaves_none():
    voting = VotingClassifier([("s", SVC()), ("r", RidgeClassifier())])
    with pytest.raises(ValueError, match=r"There is no portfolio for Voting.*, SVC"):
        spaces.portfolio(voting)
    with pytest.raises(ValueError, match=r"no portfolio for .*precomputed"):
        spaces.portfolio(SVC(kernel="precomputed"))  # what was learned has kernels
    with pytest.raises(ValueError, match="There is no ready-made space for PCA"):
        spaces.portfolio(PCA())
    with pytest.raises(TypeError, match="must be an instance, got the class SVC"):
        spaces.portfolio(SVC)


# --- any_of ------------------------------------------------------------------------

LOGISTIC, SVM, FOREST = (
    LogisticRegression(max_iter=2000),
    SVC(),
    RandomForestClassifier(n_estimators=5, random_state=0),
)


def three_models():
    return [
        (LOGISTIC, {"C": Real(1.0, 2.0)}),
        (SVM, spaces.svc() | {"C": Real(10.0, 20.0)}),
        (FOREST, {"max_depth": Integer(1, 4)}),
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_are_chosen_in_five_lines():
    X, y = make_classification(60, random_state=0)
    models = [(each, spaces.from_estimator(each)) for each in (LOGISTIC, SVM, FOREST)]
    pipeline = Pipeline([("scale", StandardScaler()), ("model", LOGISTIC)])
    search = MVRSMSearchCV(
        pipeline,
        spaces.any_of({"model": models}),
        n_iter=8,
        cv=2,
        error_score="raise",
        random_state=0,
    ).fit(X, y)
    assert search.best_score_ > 0.7
    tried = {type(each).__name__ for each in search.cv_results_["param_model"]}
    assert len(tried) > 1


def test_models_share_names_but_not_ranges():
    space = spaces.any_of({"model": three_models()})
    drawn = space.sample(200, random_state=0)
    for params in drawn:
        match params["model"]:
            case LogisticRegression():
                assert set(params) == {"model", "model__C"}
                assert 1.0 <= params["model__C"] <= 2.0
            case SVC():
                assert 10.0 <= params["model__C"] <= 20.0
                curved = params["model__kernel"] != "linear"
                assert ("model__gamma" in params) == curved
            case RandomForestClassifier():
                assert set(params) == {"model", "model__max_depth"}
    counts = [sum(params["model"] is m for params in drawn) for m, _ in three_models()]
    assert min(counts) > 40


def test_choices_survive_encoding_and_pickling():
    space = spaces.any_of({"model": three_models(), "scale__with_mean": [True, False]})
    again = pickle.loads(pickle.dumps(space))
    for params in space.sample(50, random_state=1):
        assert space.decode(space.encode(params)) == params
        assert set(again.decode(space.encode(params))) == set(params)


def test_other_parameters_are_part_of_every_alternative():
    space = spaces.any_of(
        {
            "scale": [StandardScaler(), MinMaxScaler()],
            "model": three_models(),
            "pca__n_components": Integer(2, 10),
        }
    )
    for params in space.sample(60, random_state=0):
        assert {"scale", "model", "pca__n_components"} <= set(params)
    assert space.names[0] == "scale"


def test_other_parameters_may_depend_on_the_models_and_on_what_these_have():
    space = spaces.any_of(
        {
            "scale": Categorical([StandardScaler(), "passthrough"]).when(
                model=[LOGISTIC, SVM]
            ),
            "scale__with_std": Categorical([True, False]).when(model=LOGISTIC),
            "model": three_models(),
            "pca__whiten": Categorical([True]).when(model__kernel="rbf"),
            "pca__tol": Real(0.0, 1.0).when(pca__whiten=True),
        }
    )
    seen = set()
    for params in space.sample(200, random_state=0):
        assert ("scale" in params) == (params["model"] is not FOREST)
        assert ("scale__with_std" in params) == (params["model"] is LOGISTIC)
        whitened = params.get("model__kernel") == "rbf"
        assert ("pca__whiten" in params) == ("pca__tol" in params) == whitened
        seen.add(whitened)
    assert seen == {True, False}


def test_several_steps_are_chosen_together():
    pca, best = PCA(), SelectKBest()
    space = spaces.any_of(
        {
            "pick": [
                (pca, {"n_components": Integer(1, 4)}),
                (best, {"k": Integer(1, 4)}),
                "passthrough",
            ],
            "model": three_models(),
        }
    )
    pairs = set()
    for params in space.sample(300, random_state=0):
        assert ("pick__n_components" in params) == (params["pick"] is pca)
        assert ("pick__k" in params) == (params["pick"] is best)
        pairs.add((type(params["pick"]), type(params["model"])))
    assert len(pairs) == 9


def test_a_choice_may_hold_alternatives_and_choices():
    inner = make_pipeline("passthrough", SVM)
    space = spaces.any_of(
        {
            "model": [
                (SVM, [{"kernel": ["linear"]}, {"kernel": ["rbf"], "gamma": [1, 2]}]),
                (inner, spaces.any_of({"svc": three_models()})),
            ]
        }
    )
    shapes = {tuple(sorted(params)) for params in space.sample(300, random_state=0)}
    assert ("model", "model__kernel") in shapes
    assert ("model", "model__gamma", "model__kernel") in shapes
    assert ("model", "model__svc", "model__svc__max_depth") in shapes
    assert len(space.parameters[0].parameter.values) == 5


def small_together(params):
    return params["C"] * params["degree"] <= 4


def test_constraints_are_asked_of_their_model_alone():
    polynomial = {"C": Real(1.0, 4.0), "degree": Integer(1, 4)}
    space = spaces.any_of(
        {
            "model": [
                (SVM, SearchSpace(polynomial, constraints=[small_together])),
                (LOGISTIC, {"C": Real(1.0, 4.0)}),
            ],
            "scale": ["passthrough"],
        }
    )
    assert len(space.constraints) == 1
    products = [
        params["model__C"] * params.get("model__degree", math.nan)
        for params in space.sample(100, random_state=0)
    ]
    assert np.nanmax(products) <= 4
    assert np.isnan(products).sum() > 50  # half of the draws of the other are refused
    again = pickle.loads(pickle.dumps(space))
    for params in again.sample(50, random_state=1):
        assert params["model__C"] * params.get("model__degree", 0) <= 4
    names = [text for _, text in space.fingerprint()["constraints"]]
    assert "model: small_together" in names[0]


def test_tuples_that_are_no_pairs_are_values():
    sizes = [(50,), (50, 50), (1, 2)]
    space = spaces.any_of({"model__hidden_layer_sizes": sizes})
    assert space.parameters[0].parameter == Categorical(sizes)
    order = Ordinal([(1, {}), (2, {})])
    assert spaces.any_of({"x": order}).parameters[0].parameter == order


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"model": [(SVM, {"C": [1]})], "model__C": [2]},
            "'model__C' must be given once",
        ),
        (
            {"model": [(SVM, {"C": [1]})], "a": Categorical([1]).when(model=FOREST)},
            "'a' depends on 'model' being RandomForest",
        ),
        (
            {"model": [(SVM, {"C": [1]})], "a": Categorical([1]).when(nothing=1)},
            "'a' depends on 'nothing'",
        ),
        (
            {
                "model": [
                    (SVM, SearchSpace({"C": [1]}, constraints=[small_together])),
                    (SVM, {"C": [2]}),
                ]
            },
            "'model' must not list the same object twice",
        ),
        ({"model": [(SVM, {"C": []})]}, "'C'"),
    ],
)
def test_choices_that_make_no_sense_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        spaces.any_of(params)
