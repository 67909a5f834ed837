"""What the parameters of an estimator are before a search.

Values that are no number often mean one: None to XGBoost and CatBoost, which then have
a default of their own, ``max_depth=None`` or ``k="all"`` (no limit), ``gamma="scale"``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.pipeline import Pipeline

from sklearn_mvrsm._compat.sklearn import num_samples
from sklearn_mvrsm._description import is_estimator
from sklearn_mvrsm._space import Integer, Parameter, Real, Wanted, is_integer, is_real

__all__ = ["data_sizes", "own_values"]


# Names of one parameter in the libraries below; tables have the first. Another name
# that a table has is a parameter of its own there.
_SYNONYMS = (
    ("learning_rate", "eta", "shrinkage_rate"),
    ("n_estimators", "iterations", "num_iterations", "num_boost_round", "num_trees"),
    ("max_depth", "depth"),
    ("max_leaves", "num_leaves"),
    ("min_child_samples", "min_data_in_leaf"),
    ("reg_lambda", "lambda", "lambda_l2", "l2_leaf_reg"),
    ("reg_alpha", "alpha", "lambda_l1"),
    ("gamma", "min_split_loss"),
    ("subsample", "bagging_fraction"),
    ("subsample_freq", "bagging_freq"),
    ("colsample_bytree", "feature_fraction"),
    ("colsample_bynode", "feature_fraction_bynode"),
    ("colsample_bylevel", "rsm"),
    ("max_bin", "border_count"),
    ("boosting_type", "boosting"),
)

# What a parameter is that is None, or not set at all.
_LIBRARIES: dict[str, dict[str, Any]] = {
    "xgboost": {
        "booster": "gbtree",
        "n_estimators": 100,
        "learning_rate": 0.3,
        "max_depth": 6,
        "max_leaves": 0,
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
        "reg_alpha": 0.0,
        "gamma": 0.0,
        "max_delta_step": 0.0,
        "subsample": 1.0,
        "colsample_bytree": 1.0,
        "colsample_bylevel": 1.0,
        "colsample_bynode": 1.0,
        "max_bin": 256,
        "grow_policy": "depthwise",
        "tree_method": "hist",
        "sampling_method": "uniform",
        "num_parallel_tree": 1,
        "scale_pos_weight": 1.0,
        "rate_drop": 0.0,
        "skip_drop": 0.0,
        "sample_type": "uniform",
        "normalize_type": "tree",
    },
    "lightgbm": {
        "max_bin": 255,
        "min_sum_hessian_in_leaf": 1e-3,
        "colsample_bynode": 1.0,
        "extra_trees": False,
        "path_smooth": 0.0,
        "max_delta_step": 0.0,
        "cat_smooth": 10.0,
        "cat_l2": 10.0,
        "alpha": 0.9,
        "drop_rate": 0.1,
        "skip_drop": 0.5,
        "max_drop": 50,
        "data_sample_strategy": "bagging",
    },
    "catboost": {
        "n_estimators": 1000,
        "learning_rate": 0.03,
        "max_depth": 6,
        "max_leaves": 31,
        "min_child_samples": 1,
        "reg_lambda": 3.0,
        "random_strength": 1.0,
        "bagging_temperature": 1.0,
        "bootstrap_type": "MVS",
        "subsample": 0.8,
        "colsample_bylevel": 1.0,
        "max_bin": 254,
        "grow_policy": "SymmetricTree",
        "boosting_type": "Plain",
        "one_hot_max_size": 2,
        "model_size_reg": 0.5,
    },
}
_GBLINEAR = {"learning_rate": 0.5, "reg_lambda": 0.0}

# Counts of rows or of features where they are int, shares of them where they are float.
_SHARES = {
    "max_features": "n_features",
    "max_samples": "n_samples",
    "min_samples_leaf": "n_samples",
    "min_samples_split": "n_samples",
}


def data_sizes(estimator: BaseEstimator, X: object) -> dict[str, int]:
    """Return the sizes of the data that the model within an estimator is fitted on.

    Parameters
    ----------
    estimator : estimator
        The columns are unknown behind steps of a pipeline that may change them.
    X : array-like
        The data.

    Returns
    -------
    dict of str to int
        ``n_samples`` and ``n_features``, as far as they are known and not 0.
    """
    shape = getattr(X, "shape", (num_samples(X),))
    within = [estimator, *estimator.get_params(deep=True).values()]
    steps = [
        step
        for each in within
        if isinstance(each, Pipeline)
        for _, step in each.steps[:-1]
    ]
    names = ("n_samples", "n_features" if all(map(_keeps_columns, steps)) else "")
    sizes = dict(zip(names, map(int, shape), strict=False))
    return {name: size for name, size in sizes.items() if name and size > 0}


def _keeps_columns(step: object) -> bool:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    imputes = type(step).__name__.endswith("Imputer")
    return imputes or isinstance(step, OneToOneFeatureMixin)


def own_values(estimator: object, X: object) -> Wanted:
    """Return what tells the own values of an estimator, for `default_params`.

    Parameters
    ----------
    estimator : estimator
        What is searched. The parameters of a step that is searched, too, are those of
        the value that was chosen for the step.
    X : array-like
        The data. Some values depend on its sizes.
    """
    sizes = data_sizes(estimator, X)
    params_of: dict[int, dict[str, Any]] = {}

    def wanted(
        name: str, parameter: Parameter, chosen: Mapping[str, object]
    ) -> Sequence[object]:
        parts = name.split("__")
        steps = ["__".join(parts[:k]) for k in range(len(parts) - 1, 0, -1)]
        step = next((step for step in steps if step in chosen), "")
        base = chosen.get(step, estimator)
        path = name[len(step) + 2 :] if step else name
        if not is_estimator(base):
            return []
        if id(base) not in params_of:
            params_of[id(base)] = base.get_params(deep=True)
        prefix = path.rpartition("__")[0]
        own = {
            each.removeprefix(f"{prefix}__"): value
            for each, value in params_of[id(base)].items()
            if prefix == "" or each.startswith(f"{prefix}__")
        }
        owner = params_of[id(base)].get(prefix) if prefix else base
        return _readings(owner, parts[-1], own, parameter, sizes)

    return wanted


def _readings(
    owner: object,
    name: str,
    own: Mapping[str, object],
    parameter: Parameter,
    sizes: Mapping[str, int],
) -> Sequence[object]:
    """Return the value of a parameter, and the number that it means if there is one."""
    library = _library(owner)
    names = _synonyms(name, library)
    # itself first: what LightGBM's constructor has by default is never None
    given = (own[each] for each in (name, *names) if own.get(each) is not None)
    value = next(given, None)
    if value is None and names[0] in library:
        known = library | (_GBLINEAR if own.get("booster") == "gblinear" else {})
        meant = known[names[0]]
        return [value, meant, *_limit(name, meant)] if name in own else [meant]
    if name not in own and value is None:
        return []
    size = sizes.get(_SHARES.get(name, ""))
    if size is not None and is_real(value):
        if isinstance(parameter, Integer) and not is_integer(value):
            return [value * size]
        if isinstance(parameter, Real) and is_integer(value):
            return [value / size]
    return [value, *_limit(name, value), *_meaning(name, value, parameter, sizes)]


def _synonyms(name: str, library: Mapping[str, object]) -> tuple[str, ...]:
    for first, *others in _SYNONYMS:
        names = (first, *(each for each in others if each not in library))
        if library and name in names:
            return names
    return (name,)


def _library(owner: object) -> dict[str, object]:
    """Return the table of the library of which an estimator is, also by inheritance."""
    roots = [base.__module__.partition(".")[0] for base in type(owner).__mro__]
    return next((_LIBRARIES[root] for root in roots if root in _LIBRARIES), {})


def _limit(name: str, value: object) -> list[float]:
    """Return infinity for a limit that is not there."""
    if not (name.startswith("max_") or name in ("depth", "n_components", "k")):
        return []
    absent = value is None or (isinstance(value, str) and value == "all")
    return [math.inf] if absent or (is_real(value) and value <= 0) else []


def _meaning(
    name: str, value: object, parameter: Parameter, sizes: Mapping[str, int]
) -> list[float]:
    """Return the number that a word means where it depends on the shape of the data."""
    rows, columns = sizes.get("n_samples"), sizes.get("n_features")
    if name == "l1_ratio" and value is None:
        return [0.0]
    word = (name, value) if isinstance(value, str) else None
    if word == ("batch_size", "auto") and rows is not None:
        return [min(200, rows)]
    if columns is None:
        return []
    if word in (("gamma", "scale"), ("gamma", "auto")):
        return [1.0 / columns]  # of features of unit variance
    roots = {"sqrt": math.sqrt(columns), "log2": math.log2(columns)}
    if word is not None and name == "max_features" and word[1] in roots:
        count = max(1.0, roots[str(word[1])])
        return [count if isinstance(parameter, Integer) else count / columns]
    return []
