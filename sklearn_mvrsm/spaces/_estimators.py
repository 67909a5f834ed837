"""The ready-made space of an estimator, found by its class."""

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline

from sklearn_mvrsm.spaces._boosting import (
    catboost,
    hist_gradient_boosting,
    lightgbm,
    xgboost,
)
from sklearn_mvrsm.spaces._declare import Space, under
from sklearn_mvrsm.spaces._forests import extra_trees, random_forest
from sklearn_mvrsm.spaces._scaled import (
    elastic_net,
    k_neighbors,
    logistic_regression,
    mlp,
    ridge,
    svc,
    svr,
)

__all__ = ["from_estimator"]

_READY_MADE: dict[str, Callable[..., Space]] = {
    "XGBClassifier": xgboost,
    "XGBRegressor": xgboost,
    "LGBMClassifier": lightgbm,
    "LGBMRegressor": lightgbm,
    "CatBoostClassifier": catboost,
    "CatBoostRegressor": catboost,
    "HistGradientBoostingClassifier": hist_gradient_boosting,
    "HistGradientBoostingRegressor": hist_gradient_boosting,
    "RandomForestClassifier": random_forest,
    "RandomForestRegressor": random_forest,
    "ExtraTreesClassifier": extra_trees,
    "ExtraTreesRegressor": extra_trees,
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


def from_estimator(
    estimator: Any,
    *,
    prefix: str = "",
    n_samples: int | None = None,
    n_features: int | None = None,
) -> Space:
    """Give the ready-made space of an estimator.

    Parameters
    ----------
    estimator : estimator
        Of one of the classes that have a space here. Of a pipeline, the space of its
        last step.
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`.

    Returns
    -------
    dict of str to parameter

    Raises
    ------
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
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        own = from_estimator(last, n_samples=n_samples, n_features=n_features)
        return under(prefix, under(f"{name}__", own))
    make = _READY_MADE.get(type(estimator).__name__)
    if make is None:
        raise ValueError(
            f"There is no ready-made space for {estimator!r}, only for "
            f"{', '.join(sorted(_READY_MADE))}"
        )
    return make(prefix=prefix, n_samples=n_samples, n_features=n_features)
