"""Spaces of boosted trees."""

from sklearn_mvrsm import Categorical, Integer, Real
from sklearn_mvrsm.spaces._declare import (
    Params,
    at_most,
    ready_made,
    rows_in_a_leaf,
    share_of_features,
)

__all__ = [
    "ada_boost",
    "catboost",
    "gradient_boosting",
    "hist_gradient_boosting",
    "lightgbm",
    "xgboost",
]

_FEWEST_TREES, _MOST_TREES = 10, 1000


def _trees(n_samples: int | None) -> Integer | Categorical:
    # FLAML never boosts longer than there are rows; little data is fast anyway
    cap = None if n_samples is None else max(100, n_samples)
    return at_most(_FEWEST_TREES, _MOST_TREES, cap)


def _leaves(n_samples: int | None) -> Integer | Categorical:
    # with fewer than four rows in each leaf a tree learns them by heart
    cap = None if n_samples is None else max(8, n_samples // 4)
    return at_most(4, 256 if n_samples is None else 1024, cap)


@ready_made
def xgboost(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``XGBClassifier``, ``XGBRegressor`` and the like.

    Of trees that are boosted as usual, for XGBoost 3.4 announces that it will do
    without the other boosters. The examples add one of them.

    Sizes
    -----
    With ``n_samples`` there are never more trees than rows (100 at least).

    Notes
    -----
    Ranges follow the study of tunability [1]_ (its tuning spaces, cut to where its
    best settings of 38 data sets lie), and the depth is that of [2]_. Penalties and
    weights of leaves end where a table of some hundred rows is not split any more.

    References
    ----------
    .. [1] P. Probst, A.-L. Boulesteix and B. Bischl, "Tunability: importance of
       hyperparameters of machine learning algorithms", JMLR 20(53), 2019.
    .. [2] L. Grinsztajn, E. Oyallon and G. Varoquaux, "Why do tree-based models still
       outperform deep learning on typical tabular data?", NeurIPS 2022.

    Examples
    --------
    >>> from sklearn_mvrsm import Categorical, Real, spaces
    >>> space = spaces.xgboost(prefix="clf__")
    >>> space["clf__max_depth"]
    Integer(1, 11)
    >>> boosters = {"clf__booster": Categorical(["gbtree", "dart"])}
    >>> drop = {"clf__rate_drop": Real(0.0, 0.5).when(clf__booster="dart")}
    >>> space = space | boosters | drop
    """
    return {
        "n_estimators": _trees(n_samples),
        "learning_rate": Real(0.005, 0.5, log=True),
        "reg_lambda": Real(1e-3, 1e2, log=True),
        "reg_alpha": Real(1e-3, 10.0, log=True),
        "max_depth": Integer(1, 11),
        "min_child_weight": Real(0.1, 10.0, log=True),
        "subsample": Real(0.3, 1.0),
        "colsample_bytree": Real(0.3, 1.0),
    }


@ready_made
def lightgbm(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``LGBMClassifier``, ``LGBMRegressor`` and the like.

    ``subsample`` does nothing in LightGBM unless ``subsample_freq`` is set, so it is.

    Sizes
    -----
    With ``n_samples`` there are never more trees than rows (100 at least), nor leaves
    than a quarter of the rows.

    Notes
    -----
    Which parameters: the page "Parameters Tuning" of LightGBM's documentation, which
    names the number of leaves as the main one and ``dart`` as worth trying. Ranges:
    those of FLAML [1]_, whose numbers of leaves and trees grow with the data.

    References
    ----------
    .. [1] C. Wang, Q. Wu, M. Weimer and E. Zhu, "FLAML: a fast and lightweight AutoML
       library", MLSys 2021.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.lightgbm(n_samples=500)["num_leaves"]
    Integer(4, 125, log=True)
    """
    return {
        "boosting_type": Categorical(["gbdt", "dart"]),
        "n_estimators": _trees(n_samples),
        "learning_rate": Real(0.005, 0.5, log=True),
        "num_leaves": _leaves(n_samples),
        "min_child_samples": rows_in_a_leaf(128, n_samples),
        "subsample": Real(0.3, 1.0),
        "subsample_freq": Categorical([1]),
        "colsample_bytree": Real(0.3, 1.0),
        "reg_alpha": Real(1e-3, 10.0, log=True),
        "reg_lambda": Real(1e-3, 1e2, log=True),
        "drop_rate": Real(0.0, 0.5).when(boosting_type="dart"),
        "skip_drop": Real(0.0, 1.0).when(boosting_type="dart"),
    }


@ready_made
def catboost(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``CatBoostClassifier`` and ``CatBoostRegressor``.

    Names are CatBoost's own, for it refuses a parameter that is given under two names.

    Sizes
    -----
    With ``n_samples`` there are never more trees than rows (100 at least).

    Notes
    -----
    Which parameters, and that depths from 4 to 10 are usually best and more than 64
    leaves rarely help: the pages "Parameter tuning" and "Training parameters" of
    CatBoost's documentation. Each policy of growing has a size of its own, and each
    kind of bootstrap [1]_ its own amount of randomness. All of it runs on a CPU; a GPU
    does not offer ``bootstrap_type="MVS"`` for every loss.

    References
    ----------
    .. [1] L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush and A. Gulin,
       "CatBoost: unbiased boosting with categorical features", NeurIPS 2018.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.catboost()["bagging_temperature"]
    Real(0.0, 1.0).when(bootstrap_type='Bayesian')
    """
    layered = ["SymmetricTree", "Depthwise"]
    uneven = ["Depthwise", "Lossguide"]
    return {
        "iterations": _trees(n_samples),
        "learning_rate": Real(0.005, 0.5, log=True),
        "grow_policy": Categorical(["SymmetricTree", *uneven]),
        "depth": Integer(2, 10).when(grow_policy=layered),
        "max_leaves": at_most(4, 64, None).when(grow_policy="Lossguide"),
        "min_data_in_leaf": rows_in_a_leaf(100, n_samples).when(grow_policy=uneven),
        "l2_leaf_reg": Real(0.1, 100.0, log=True),
        "random_strength": Real(0.1, 10.0, log=True),
        "bootstrap_type": Categorical(["Bayesian", "Bernoulli", "MVS"]),
        "bagging_temperature": Real(0.0, 1.0).when(bootstrap_type="Bayesian"),
        "subsample": Real(0.3, 1.0).when(bootstrap_type=["Bernoulli", "MVS"]),
    }


@ready_made
def hist_gradient_boosting(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``HistGradientBoostingClassifier`` and its regressor.

    Sizes
    -----
    With ``n_samples`` there are never more trees than rows (100 at least), nor leaves
    than a quarter of the rows.

    Notes
    -----
    The parameters are those of auto-sklearn [1]_ and the share of the features that a
    split looks at; ranges as in :func:`lightgbm`, whose algorithm it is. How early to
    stop is left to the estimator.

    References
    ----------
    .. [1] M. Feurer, K. Eggensperger, S. Falkner, M. Lindauer and F. Hutter,
       "Auto-sklearn 2.0: hands-free AutoML via meta-learning", JMLR 23(261), 2022.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> sorted(spaces.hist_gradient_boosting())[:3]
    ['l2_regularization', 'learning_rate', 'max_features']
    """
    return {
        "max_iter": _trees(n_samples),
        "learning_rate": Real(0.005, 0.5, log=True),
        "max_leaf_nodes": _leaves(n_samples),
        "min_samples_leaf": rows_in_a_leaf(128, n_samples),
        "l2_regularization": Real(1e-3, 1e2, log=True),
        "max_features": Real(0.3, 1.0),
    }


@ready_made
def gradient_boosting(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``GradientBoostingClassifier`` and its regressor.

    Sizes
    -----
    With ``n_samples`` there are never more trees than rows (100 at least), and a leaf
    never needs more than a quarter of the rows; with ``n_features`` a split looks at
    one at least.

    Notes
    -----
    The parameters of [1]_, which reads: shallow trees, shares of the rows. Ranges as in
    :func:`xgboost`.

    References
    ----------
    .. [1] J. H. Friedman, "Stochastic gradient boosting", Computational Statistics and
       Data Analysis 38(4), 2002.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.gradient_boosting()["max_depth"]
    Integer(1, 11)
    """
    return {
        "n_estimators": _trees(n_samples),
        "learning_rate": Real(0.005, 0.5, log=True),
        "max_depth": Integer(1, 11),
        "min_samples_leaf": rows_in_a_leaf(128, n_samples),
        "subsample": Real(0.3, 1.0),
        "max_features": share_of_features(n_features),
    }


@ready_made
def ada_boost(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``AdaBoostClassifier`` and ``AdaBoostRegressor``.

    What the boosted model has is not searched: its space has to be added, as
    :func:`from_estimator` does.

    Sizes
    -----
    Nothing here depends on sizes.

    Notes
    -----
    Ranges as in auto-sklearn [1]_, with fewer models too.

    References
    ----------
    .. [1] M. Feurer, A. Klein, K. Eggensperger, J. Springenberg, M. Blum and F. Hutter,
       "Efficient and robust automated machine learning", NeurIPS 2015.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.ada_boost()["n_estimators"]
    Integer(10, 500, log=True)
    """
    return {
        "n_estimators": at_most(_FEWEST_TREES, 500, None),
        "learning_rate": Real(0.01, 2.0, log=True),
    }
