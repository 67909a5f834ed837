"""Ready-made spaces for common models, and the choice among models.

Each function returns a dict that can be searched as it is, or changed first:
``spaces.svc() | {"tol": [1e-3]}``, ``spaces.svc().without("coef0")``. One function
serves the classifier and the regressor where both have the same parameters. What a
model is asked to do, its loss and the weights of classes, is never searched.

All functions take the same arguments:

prefix : str, default=""
    The step of a pipeline to which the parameters belong, with two underscores:
    ``"clf__"``.
n_samples, n_features : int or None, default=None
    Rows and columns of ``X``, where they are known. Some ranges depend on them. Folds
    are trained on fewer rows; every configuration can be fitted to half of them.
"""

from sklearn_mvrsm.spaces._any_of import any_of
from sklearn_mvrsm.spaces._boosting import (
    ada_boost,
    catboost,
    gradient_boosting,
    hist_gradient_boosting,
    lightgbm,
    xgboost,
)
from sklearn_mvrsm.spaces._declare import Space as Space  # for pickles
from sklearn_mvrsm.spaces._estimators import from_estimator, portfolio
from sklearn_mvrsm.spaces._forests import decision_tree, extra_trees, random_forest
from sklearn_mvrsm.spaces._linear import (
    elastic_net,
    linear_svc,
    linear_svr,
    logistic_regression,
    ridge,
    sgd,
)
from sklearn_mvrsm.spaces._scaled import k_neighbors, mlp, svc, svr
from sklearn_mvrsm.spaces._settle import settle as settle  # for the benchmarks

__all__ = [
    "ada_boost",
    "any_of",
    "catboost",
    "decision_tree",
    "elastic_net",
    "extra_trees",
    "from_estimator",
    "gradient_boosting",
    "hist_gradient_boosting",
    "k_neighbors",
    "lightgbm",
    "linear_svc",
    "linear_svr",
    "logistic_regression",
    "mlp",
    "portfolio",
    "random_forest",
    "ridge",
    "sgd",
    "svc",
    "svr",
    "xgboost",
]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
