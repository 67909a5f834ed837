"""The ready-made space and portfolio of an estimator, found by its class."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from sklearn_mvrsm.spaces._boosting import (
    ada_boost,
    catboost,
    gradient_boosting,
    hist_gradient_boosting,
    lightgbm,
    xgboost,
)
from sklearn_mvrsm.spaces._declare import Params, ReadyMade, Space, limit, rename, under
from sklearn_mvrsm.spaces._forests import decision_tree, extra_trees, random_forest
from sklearn_mvrsm.spaces._learned import LEARNED
from sklearn_mvrsm.spaces._linear import (
    elastic_net,
    linear_svc,
    linear_svr,
    logistic_regression,
    ridge,
    sgd,
)
from sklearn_mvrsm.spaces._scaled import k_neighbors, mlp, svc, svr
from sklearn_mvrsm.spaces._settle import settle

__all__ = ["from_estimator", "portfolio"]

# By name, so that no library is imported. None: not what the class it inherits from is.
_READY_MADE: dict[str, ReadyMade | None] = {
    "LogisticRegressionCV": None,
    "XGBRFClassifier": None,
    "XGBRFRegressor": None,
    "XGBClassifier": xgboost,
    "XGBRegressor": xgboost,
    "LGBMClassifier": lightgbm,
    "LGBMRegressor": lightgbm,
    "CatBoostClassifier": catboost,
    "CatBoostRegressor": catboost,
    "GradientBoostingClassifier": gradient_boosting,
    "GradientBoostingRegressor": gradient_boosting,
    "AdaBoostClassifier": ada_boost,
    "AdaBoostRegressor": ada_boost,
    "HistGradientBoostingClassifier": hist_gradient_boosting,
    "HistGradientBoostingRegressor": hist_gradient_boosting,
    "RandomForestClassifier": random_forest,
    "RandomForestRegressor": random_forest,
    "ExtraTreesClassifier": extra_trees,
    "ExtraTreesRegressor": extra_trees,
    "DecisionTreeClassifier": decision_tree,
    "DecisionTreeRegressor": decision_tree,
    "LinearSVC": linear_svc,
    "LinearSVR": linear_svr,
    "SGDClassifier": sgd,
    "SGDRegressor": sgd,
    "SVC": svc,
    "SVR": svr,
    "LogisticRegression": logistic_regression,
    "Ridge": ridge,
    "RidgeClassifier": ridge,
    "ElasticNet": elastic_net,
    "KNeighborsClassifier": k_neighbors,
    "KNeighborsRegressor": k_neighbors,
    "MLPClassifier": mlp,
    "MLPRegressor": mlp,
}


# Other names that a library heeds. LightGBM has more, which its constructor overrules.
_SYNONYMS: dict[ReadyMade, dict[str, tuple[str, ...]]] = {
    xgboost: {
        "learning_rate": ("eta",),
        "reg_lambda": ("lambda",),
        "reg_alpha": ("alpha",),
    },
    lightgbm: {
        "boosting_type": ("boosting", "boost"),
        "n_estimators": (
            *("num_iterations", "num_iteration", "n_iter", "max_iter", "nrounds"),
            *("num_tree", "num_trees", "num_round", "num_rounds", "num_boost_round"),
        ),
        "min_child_samples": ("min_data_in_leaf", "min_data", "min_samples_leaf"),
        "subsample": ("bagging_fraction", "bagging", "sub_row"),
        "subsample_freq": ("bagging_freq",),
        "colsample_bytree": ("feature_fraction", "sub_feature"),
        "reg_alpha": ("lambda_l1",),
        "reg_lambda": ("lambda_l2", "lambda"),
        "drop_rate": ("rate_drop",),
    },
    catboost: {
        "iterations": ("n_estimators", "num_boost_round", "num_trees"),
        "learning_rate": ("eta",),
        "depth": ("max_depth",),
        "max_leaves": ("num_leaves",),
        "min_data_in_leaf": ("min_child_samples",),
        "l2_leaf_reg": ("reg_lambda",),
    },
}

# The names under which EarlyStopping finds the number of rounds.
_ROUNDS = {xgboost: "n_estimators", lightgbm: "n_estimators", catboost: "iterations"}

# A setting of the estimator and its values (none named: any that is set), and a
# parameter that has to be one of some values then, or the fit would fail.
_CONFLICTS: tuple[tuple[ReadyMade, str, tuple[Any, ...], str, list[Any]], ...] = (
    (random_forest, "bootstrap", (False,), "max_samples", [None]),
    (extra_trees, "max_samples", (), "bootstrap", [True]),
    (extra_trees, "oob_score", (), "bootstrap", [True]),
    (svc, "kernel", ("precomputed",), "kernel", ["precomputed"]),
    (svr, "kernel", ("precomputed",), "kernel", ["precomputed"]),
    (k_neighbors, "metric", ("precomputed",), "metric", ["precomputed"]),
    (k_neighbors, "algorithm", ("kd_tree", "ball_tree"), "metric", ["minkowski"]),
    (logistic_regression, "penalty", ("l1", "elasticnet"), "solver", ["saga"]),
    (logistic_regression, "l1_ratio", (), "solver", ["saga"]),
    (logistic_regression, "dual", (), "solver", ["liblinear"]),
    (linear_svc, "loss", ("hinge",), "penalty", ["l2"]),
    (linear_svc, "dual", (True,), "penalty", ["l2"]),
    (lightgbm, "data_sample_strategy", ("goss",), "subsample", [1.0]),
    (catboost, "max_leaves", (), "grow_policy", ["Lossguide"]),
    (catboost, "subsample", (), "bootstrap_type", ["Bernoulli", "MVS"]),
    (catboost, "bagging_temperature", (), "bootstrap_type", ["Bayesian"]),
)

# A setting of the estimator and its values, and parameters without effect then.
_WITHOUT_EFFECT: tuple[tuple[ReadyMade, str, tuple[Any, ...], tuple[str, ...]], ...] = (
    (logistic_regression, "penalty", ("l1", "l2"), ("l1_ratio",)),
    (logistic_regression, "penalty", (None,), ("l1_ratio", "C", "penalty")),
)


def from_estimator(
    estimator: Any,
    *,
    prefix: str = "",
    n_samples: int | None = None,
    n_features: int | None = None,
) -> Space:
    """Return the ready-made space of an estimator.

    Parameters
    ----------
    estimator : estimator
        Of one of the classes that have a space here, or of a class that inherits from
        one. Of a pipeline, the space of its last step. Of an estimator that is given
        others (:class:`~sklearn_mvrsm.boosting.EarlyStopping`,
        ``CalibratedClassifierCV``, ``StackingClassifier``), the spaces of these.
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`.

    Returns
    -------
    dict of str to parameter
        Under the names that lead to the parameters, and by which the estimator was
        given them: of ``CatBoostClassifier(n_estimators=100)``, with ``n_estimators``
        in place of ``iterations``. Without those that the class does not have, or that
        the ``penalty`` of a logistic regression does not use, without values that the
        estimator's other settings forbid, and without the number of rounds where
        ``EarlyStopping`` chooses it.

    Raises
    ------
    TypeError
        If it is a class.
    ValueError
        If there is none for it.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_mvrsm import spaces
    >>> spaces.from_estimator(make_pipeline(StandardScaler(), Ridge()))
    {'ridge__alpha': Real(0.001, 10000.0, log=True)}
    """
    return _found(
        estimator, prefix, {"n_samples": n_samples, "n_features": n_features}
    )[0]


def portfolio(
    estimator: Any,
    *,
    prefix: str = "",
    n_samples: int | None = None,
    n_features: int | None = None,
) -> list[Params]:
    """Return configurations that are worth trying first, the best first.

    They are few that complement each other and the estimator as it comes, learned on
    open data sets of at most 400 rows. ``param_space="auto"`` begins with them; for
    another search of the ready-made space they can be its ``initial_points``.

    Parameters
    ----------
    estimator : estimator
        As for :func:`from_estimator`. Of several models within, each has its own.
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`.

    Returns
    -------
    list of dict of str to object
        Configurations of the space that :func:`from_estimator` returns for the same
        arguments.

    Raises
    ------
    TypeError
        If it is a class.
    ValueError
        If there is no ready-made space for it, or nothing was learned for it.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from sklearn_mvrsm import MVRSMSearchCV, spaces
    >>> search = MVRSMSearchCV(
    ...     SVC(), spaces.svc(), initial_points=spaces.portfolio(SVC())
    ... )
    """
    learned = _found(
        estimator, prefix, {"n_samples": n_samples, "n_features": n_features}
    )[1]
    if not learned:
        raise ValueError(
            f"There is no portfolio for {estimator!r}, only for "
            f"{_names(lambda make: make.__name__ in LEARNED)}"
        )
    return learned


def _names(is_one: Callable[[ReadyMade], bool]) -> str:
    return ", ".join(
        sorted(k for k, make in _READY_MADE.items() if make and is_one(make))
    )


def _found(
    estimator: Any, prefix: str, sizes: Mapping[str, int | None]
) -> tuple[Space, list[Params]]:
    """Return the space and the portfolio of an estimator, under a prefix."""
    if isinstance(estimator, type):
        raise TypeError(
            f"'estimator' must be an instance, got the class {estimator.__name__}"
        )
    space, learned = _of_models(estimator, sizes)
    if not space:
        raise ValueError(
            f"There is no ready-made space for {estimator!r}, only for "
            f"{_names(lambda _: True)}"
        )
    return under(prefix, space), [_under(prefix, params) for params in learned]


def _under(prefix: str, params: Params) -> Params:
    return {prefix + name: value for name, value in params.items()}


def _of_models(
    estimator: Any, sizes: Mapping[str, int | None], around: Any = None
) -> tuple[Params, list[Params]]:
    """Return the space of a model or of the models within, and what is tried first.

    Both are empty if there is no space, and the latter if one of the models has none.
    """
    make = next(
        (_READY_MADE[name] for name in _bases(estimator) if name in _READY_MADE), None
    )
    space: Params = {}
    lists = []
    if make is not None:
        own = _suited(
            make,
            make(n_samples=sizes["n_samples"], n_features=sizes["n_features"]),
            estimator,
            around,
        )
        space, learned = _named(make, own, estimator)
        lists.append(learned)
    for name, inner in _models_within(estimator):
        own, learned = _of_models(inner, sizes, estimator)
        if own:
            space |= under(f"{name}__", own)
            lists.append([_under(f"{name}__", params) for params in learned])
    longest = max(map(len, lists), default=0) if all(lists) else 0
    return space, [
        {k: v for each in lists for k, v in each[place % len(each)].items()}
        for place in range(longest)
    ]


def _named(
    make: ReadyMade, space: Params, estimator: Any
) -> tuple[Params, list[Params]]:
    """Return a space and its portfolio by the names that an estimator was given."""
    learned: list[Params] = []
    for params in LEARNED.get(make.__name__, ()):
        settled = settle(space, make(), params)
        if settled is not None and settled not in learned:
            learned.append(settled)
    names = _names_of(make, estimator)
    return rename(space, lambda name: names.get(name, name)), [
        {names.get(name, name): value for name, value in params.items()}
        for params in learned
    ]


def _bases(estimator: object) -> list[str]:
    return [base.__name__ for base in type(estimator).__mro__]


def _models_within(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an estimator hands its data to, by the names of its parameters."""
    if isinstance(estimator, Pipeline):
        steps = [step for step in estimator.steps if _is_estimator(step[1])]
        yield from steps[-1:]
    elif _is_estimator(estimator) and not isinstance(estimator, FrozenEstimator):
        for name, value in estimator.get_params(deep=False).items():
            if _is_estimator(value) and name != "init":  # it is where boosting begins
                yield name, value
            elif isinstance(value, list | tuple):
                for item in value:
                    if isinstance(item, tuple) and len(item) > 1:
                        yield from [item[:2]] if _is_estimator(item[1]) else []


def _is_estimator(value: object) -> bool:
    is_instance = not isinstance(value, type)
    return is_instance and hasattr(value, "fit") and hasattr(value, "get_params")


def _names_of(make: ReadyMade, estimator: Any) -> dict[str, str]:
    """Return the names of parameters by which an estimator was given them."""
    own = estimator.get_params(deep=False)
    return {
        name: next((other for other in others if own.get(other) is not None), name)
        for name, others in _SYNONYMS.get(make, {}).items()
    }


def _suited(make: ReadyMade, space: Params, estimator: Any, around: Any) -> Params:
    """Change the space of a class to that of an instance, within another estimator."""
    own = estimator.get_params(deep=False)
    if make not in _SYNONYMS:  # the libraries that have synonyms take any name
        space = {name: each for name, each in space.items() if name in own}
    if make is xgboost and own.get("booster") == "gblinear":  # it has no trees
        linear = ("n_estimators", "learning_rate", "reg_lambda")
        space = {name: space[name] for name in linear}
    names = _names_of(make, estimator)
    for rule, setting, values, name, allowed in _CONFLICTS:
        value = own.get(names.get(setting, setting))
        forbids = bool(value) or (make is catboost and value is not None)
        if values:
            forbids = any(value is each for each in values) or (
                isinstance(value, str) and value in values
            )
        if rule is make and forbids and name in space:
            space = limit(space, name, allowed)
    for rule, setting, values, idle in _WITHOUT_EFFECT:
        value = own.get(setting, "")
        searched = setting in space and value is not None  # None switches it off
        if rule is make and value in values and not searched:
            space = {name: space[name] for name in space if name not in idle}
    if make in (svc, svr) and hasattr(around, "importance_getter"):  # needs coef_
        space = limit(space, "kernel", ["linear"])
    if "EarlyStopping" in _bases(around):
        space.pop(_ROUNDS.get(make, ""), None)
        if make is lightgbm:  # which cannot stop dart early
            space = limit(space, "boosting_type", ["gbdt"])
    return space
