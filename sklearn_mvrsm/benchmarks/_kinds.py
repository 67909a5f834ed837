"""The kinds of model of the tuning problems: spaces that a practitioner writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn_mvrsm import Categorical, Integer, Real, spaces
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Params


@dataclass(frozen=True)
class Kind:
    """A kind of model: its space, how params make one, and the loss that judges it.

    ``usual`` has the params of the model as it comes, for some number of columns, and
    ``path`` leads to the class whose portfolio serves it.
    """

    space: Callable[[int, int], dict[str, Any]]
    build: Callable[[Mapping[str, Any]], Any]
    scoring: str
    path: str = ""
    usual: Callable[[int], Params] = lambda _: {}


def _svm_space(n: int, p: int) -> dict[str, object]:
    return {
        **spaces.svc(n_samples=n, n_features=p),
        "class_weight": Categorical([None, "balanced"]),
        "scaler": Categorical(["standard", "min-max", "none"]),
    }


def _svm(params: Mapping[str, Any]) -> object:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.svm import SVC

    own = dict(params)
    scalers = {"standard": StandardScaler(), "min-max": MinMaxScaler()}
    scaler = scalers.get(own.pop("scaler"), "passthrough")
    return make_pipeline(scaler, SVC(**own, max_iter=100_000, random_state=0))


def _lightgbm_space(n: int, p: int) -> dict[str, object]:
    return {
        "n_estimators": Integer(10, 300, log=True),
        "learning_rate": Real(0.005, 0.5, log=True),
        "num_leaves": Integer(4, 128, log=True),
        "min_child_samples": Integer(1, 100, log=True),
        "subsample": Real(0.3, 1.0),
        "colsample_bytree": Real(0.3, 1.0),
        "reg_alpha": Real(1e-3, 1e2, log=True),
        "reg_lambda": Real(1e-3, 1e2, log=True),
    }


def _lightgbm(params: Mapping[str, object]) -> object:
    library = require("lightgbm", "lightgbm")
    return library.LGBMClassifier(
        **params, subsample_freq=1, n_jobs=1, random_state=0, verbose=-1
    )


def _xgboost_space(n: int, p: int) -> dict[str, object]:
    trees = ["gbtree", "dart"]
    return {
        "booster": Categorical([*trees, "gblinear"]),
        "n_estimators": Integer(10, 200, log=True),
        "learning_rate": Real(0.01, 1.0, log=True),
        "reg_lambda": Real(0.01, 100.0, log=True),
        "max_depth": Integer(1, 10).when(booster=trees),
        "subsample": Real(0.3, 1.0).when(booster=trees),
        "rate_drop": Real(0.0, 0.5).when(booster="dart"),
    }


def _xgboost(params: Mapping[str, object]) -> object:
    library = require("xgboost", "xgboost")
    return library.XGBClassifier(**params, n_jobs=1, random_state=0)


def _forest_space(n: int, p: int) -> dict[str, object]:
    return {
        **spaces.random_forest(n_samples=n, n_features=p),
        "max_depth": Integer(2, 30, log=True),
        "criterion": Categorical(["gini", "entropy"]),
        "class_weight": Categorical([None, "balanced"]),
    }


def _forest(params: Mapping[str, object]) -> object:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**params, n_estimators=60, random_state=0)


def _models_space(n: int, p: int) -> dict[str, object]:
    """Return a space of five models with 14 parameters of their own."""
    own: dict[str, dict[str, Any]] = {
        "logistic": {"C": Real(1e-4, 1e4, log=True)},
        "forest": spaces.random_forest(n_samples=n, n_features=p),
        "lightgbm": {
            "n_estimators": Integer(10, 200, log=True),
            "learning_rate": Real(0.005, 0.5, log=True),
            "num_leaves": Integer(4, 128, log=True),
            "min_child_samples": Integer(1, 100, log=True),
        },
        "neighbours": {
            "n_neighbors": Integer(1, 60, log=True),
            "weights": Categorical(["uniform", "distance"]),
            "p": Integer(1, 2),
        },
        "svm": {
            "C": Real(2.0**-5, 2.0**15, log=True),
            "kernel": Categorical(["linear", "rbf"]),
            "gamma": Real(1e-3 / p, 1e2 / p, log=True).when(svm__kernel="rbf"),
        },
    }
    space: dict[str, Any] = {"model": Categorical(list(own))}
    for model, parameters in own.items():
        for name, parameter in parameters.items():
            space[f"{model}__{name}"] = parameter.when(model=model)
    return space


def _models(params: Mapping[str, object]) -> object:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    own = {k.partition("__")[2]: v for k, v in params.items() if k != "model"}
    match params["model"]:
        case "forest":
            return _forest(own)
        case "lightgbm":
            return _lightgbm(own)
        case "logistic":
            model = LogisticRegression(**own, max_iter=1000)
        case "neighbours":
            model = KNeighborsClassifier(**own)
        case _:
            model = SVC(**own, max_iter=100_000, random_state=0)
    return make_pipeline(StandardScaler(), model)


def _mlp_space(n: int, p: int) -> dict[str, object]:
    return spaces.mlp(n_samples=n, n_features=p)


def _mlp(params: Mapping[str, object]) -> object:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = MLPClassifier(**params, max_iter=30, random_state=0)
    return make_pipeline(StandardScaler(), model)


_BOOSTING = {"n_estimators": 100, "subsample": 1.0}
FAMILIES = {"forest": "forest", "lightgbm": "lightgbm", "svm": "svm"}
KINDS: dict[str, Kind] = {
    "svm": Kind(
        _svm_space,
        _svm,
        "accuracy",
        "sklearn.svm.SVC",
        lambda p: {"C": 1.0, "kernel": "rbf", "gamma": 1.0 / p},
    ),
    "lightgbm": Kind(
        _lightgbm_space,
        _lightgbm,
        "log_loss",
        "lightgbm.LGBMClassifier",
        lambda _: {
            **_BOOSTING,
            "learning_rate": 0.1,
            "num_leaves": 31,
            "min_child_samples": 20,
            "colsample_bytree": 1.0,
            "reg_alpha": 0.0,
            "reg_lambda": 0.0,
        },
    ),
    "xgboost": Kind(
        _xgboost_space,
        _xgboost,
        "log_loss",
        "xgboost.XGBClassifier",
        lambda _: {
            **_BOOSTING,
            "learning_rate": 0.3,
            "reg_lambda": 1.0,
            "max_depth": 6,
        },
    ),
    "forest": Kind(
        _forest_space,
        _forest,
        "log_loss",
        "sklearn.ensemble.RandomForestClassifier",
        lambda p: {
            "max_features": p**-0.5,
            "min_samples_leaf": 1,
            "max_samples": 1.0,
            "max_depth": 30,
        },
    ),
    "models": Kind(_models_space, _models, "balanced_accuracy"),
    "mlp": Kind(
        _mlp_space,
        _mlp,
        "accuracy",
        "sklearn.neural_network.MLPClassifier",
        lambda _: {
            "hidden_layer_sizes": (64,),
            "alpha": 1e-4,
            "learning_rate_init": 1e-3,
            "batch_size": 256,
        },
    ),
}
