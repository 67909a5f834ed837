"""Spaces of linear models, for features of about unit variance.

Put a ``StandardScaler`` before these models. Ranges for a regression take the target to
be of about unit variance too; a ``TransformedTargetRegressor`` sees to it.
"""

from sklearn.linear_model import LogisticRegression

from sklearn_mvrsm import Categorical, Real
from sklearn_mvrsm.spaces._declare import Params, ready_made

__all__ = [
    "elastic_net",
    "linear_svc",
    "linear_svr",
    "logistic_regression",
    "ridge",
    "sgd",
]

_USUAL_SAMPLES = 1000  # where the number is not told


def _inverse_penalty(n_samples: int | None) -> Real:
    n = _USUAL_SAMPLES if n_samples is None else n_samples
    return Real(0.1 / n, 1e7 / n, log=True)


@ready_made
def logistic_regression(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``LogisticRegression``, for scaled features.

    Solvers differ in the penalties that they know: ``lbfgs`` has the squares only and
    is fast, ``saga`` mixes squares and absolute values, so ``l1_ratio`` exists for it
    alone. Give the estimator a ``max_iter`` of some thousands for ``saga``.

    Sizes
    -----
    ``C`` weighs a sum over rows, so its range is divided by ``n_samples``; the default
    is that of 1000 rows.

    Notes
    -----
    For 1000 rows, ``C`` has the range of ``LogisticRegressionCV``. The mixture of
    penalties is that of [1]_. Before scikit-learn 1.8, which needs to be told, there is
    a ``penalty``, too.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Regularization paths for
       generalized linear models via coordinate descent", Journal of Statistical
       Software 33(1), 2010.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.logistic_regression(n_samples=100)["C"]
    Real(0.001, 100000.0, log=True)
    """
    space: Params = {
        "C": _inverse_penalty(n_samples),
        "solver": Categorical(["lbfgs", "saga"]),
        "l1_ratio": Real(0.0, 1.0).when(solver="saga"),
    }
    if LogisticRegression().get_params()["penalty"] == "l2":  # it heeds no l1_ratio yet
        space["penalty"] = Categorical(["elasticnet"]).when(solver="saga")
    return space


@ready_made
def ridge(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``Ridge`` and ``RidgeClassifier``, for scaled features.

    Sizes
    -----
    ``alpha`` is added to sums of squares over rows, so its range grows with
    ``n_samples`` (1000 if it is not given).

    Notes
    -----
    Scaled features have sums of squares of ``n_samples``: the range is from a millionth
    of that, which shrinks nothing but exact collinearity, to ten times that, which
    leaves a tenth of a coefficient [1]_.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, "The elements of statistical
       learning", 2nd edition, section 3.4.1, Springer, 2009.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.ridge(n_samples=200)
    {'alpha': Real(0.0002, 2000.0, log=True)}
    """
    n = _USUAL_SAMPLES if n_samples is None else n_samples
    return {"alpha": Real(n / 1e6, 10.0 * n, log=True)}


@ready_made
def elastic_net(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``ElasticNet``, for a scaled target and scaled features.

    Sizes
    -----
    ``alpha`` is a penalty on a mean over rows, so it depends on no size.

    Notes
    -----
    After [1]_: with unit variances, no coefficient survives ``alpha * l1_ratio >= 1``,
    and four decades below that the penalty is hardly felt. scikit-learn's solver is not
    reliable for shares of the absolute values of 0.01 and less; :func:`ridge` has none.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Regularization paths for
       generalized linear models via coordinate descent", Journal of Statistical
       Software 33(1), 2010.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.elastic_net(prefix="model__")
    {'model__alpha': Real(0.0001, 10.0, log=True), 'model__l1_ratio': Real(0.05, 1.0)}
    """
    return {"alpha": Real(1e-4, 10.0, log=True), "l1_ratio": Real(0.05, 1.0)}


@ready_made
def linear_svc(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``LinearSVC``, for scaled features.

    Sizes
    -----
    ``C`` as in :func:`logistic_regression`.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.linear_svc()["penalty"]
    Categorical(['l2', 'l1'])
    """
    penalty = Categorical(["l2", "l1"])
    return {"C": _inverse_penalty(n_samples), "penalty": penalty}


@ready_made
def linear_svr(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``LinearSVR``, for a scaled target and scaled features.

    Sizes
    -----
    ``C`` as in :func:`logistic_regression`, ``epsilon`` as in :func:`svr`.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> sorted(spaces.linear_svr())
    ['C', 'epsilon']
    """
    epsilon = Real(1e-3, 1.0, log=True)
    return {"C": _inverse_penalty(n_samples), "epsilon": epsilon}


@ready_made
def sgd(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``SGDClassifier`` and ``SGDRegressor``, for scaled features.

    How long to train is left to the estimator: set ``max_iter``.

    Sizes
    -----
    ``alpha`` is a penalty on a mean over rows, so nothing here depends on sizes.

    Notes
    -----
    Parameters and ranges as in auto-sklearn [1]_. All schedules of the learning rate
    but ``"optimal"`` begin with ``eta0``.

    References
    ----------
    .. [1] M. Feurer, A. Klein, K. Eggensperger, J. Springenberg, M. Blum and F. Hutter,
       "Efficient and robust automated machine learning", NeurIPS 2015.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.sgd()["l1_ratio"]
    Real(0.0, 1.0).when(penalty='elasticnet')
    """
    stepped = ["invscaling", "constant", "adaptive"]
    return {
        "alpha": Real(1e-7, 0.1, log=True),
        "penalty": Categorical(["l2", "l1", "elasticnet"]),
        "l1_ratio": Real(0.0, 1.0).when(penalty="elasticnet"),
        "learning_rate": Categorical(["optimal", *stepped]),
        "eta0": Real(1e-4, 0.1, log=True).when(learning_rate=stepped),
        "average": Categorical([False, True]),
    }
