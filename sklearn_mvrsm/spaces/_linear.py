"""Spaces of linear models, for features of about unit variance.

Put a ``StandardScaler`` before these models. Ranges for a regression take the target to
be of about unit variance too; a ``TransformedTargetRegressor`` sees to it.
"""

from sklearn.linear_model import LogisticRegression

from sklearn_mvrsm import Categorical, Real
from sklearn_mvrsm.spaces._declare import Space, check_sizes, under

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


def logistic_regression(
    *, prefix: str = "", n_samples: int | None = None, n_features: int | None = None
) -> Space:
    """Return a space for ``LogisticRegression``, for scaled features.

    Solvers differ in the penalties that they know: ``lbfgs`` has the squares only and
    is fast, ``saga`` mixes squares and absolute values, so ``l1_ratio`` exists for it
    alone. Give the estimator a ``max_iter`` of some thousands for ``saga``.

    Parameters
    ----------
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`. ``C`` weighs a sum over
        rows, so its range is divided by ``n_samples``; the default is that of
        1000 rows.

    Returns
    -------
    dict of str to parameter
        Where the installed scikit-learn still needs to be told (before 1.8), with
        ``penalty``.

    Notes
    -----
    For 1000 rows, ``C`` has the range of ``LogisticRegressionCV``. The mixture of
    penalties is that of [1]_.

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
    check_sizes(n_samples, n_features)
    space: Space = {
        "C": _inverse_penalty(n_samples),
        "solver": Categorical(["lbfgs", "saga"]),
        "l1_ratio": Real(0.0, 1.0).when(solver="saga"),
    }
    if LogisticRegression().get_params()["penalty"] == "l2":  # it heeds no l1_ratio yet
        space["penalty"] = Categorical(["elasticnet"]).when(solver="saga")
    return under(prefix, space)


def ridge(
    *, prefix: str = "", n_samples: int | None = None, n_features: int | None = None
) -> Space:
    """Return a space for ``Ridge`` and ``RidgeClassifier``, for scaled features.

    Parameters
    ----------
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`. ``alpha`` is added to
        sums of squares over rows, so its range grows with ``n_samples`` (1000 if it is
        not given).

    Returns
    -------
    dict of str to parameter

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
    check_sizes(n_samples, n_features)
    n = _USUAL_SAMPLES if n_samples is None else n_samples
    return under(prefix, {"alpha": Real(n / 1e6, 10.0 * n, log=True)})


def elastic_net(
    *, prefix: str = "", n_samples: int | None = None, n_features: int | None = None
) -> Space:
    """Return a space for ``ElasticNet``, for a scaled target and scaled features.

    Parameters
    ----------
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`; ``alpha`` is a penalty on
        a mean over rows, so it depends on no size.

    Returns
    -------
    dict of str to parameter

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
    check_sizes(n_samples, n_features)
    return under(
        prefix,
        {"alpha": Real(1e-4, 10.0, log=True), "l1_ratio": Real(0.05, 1.0)},
    )


def linear_svc(
    *, prefix: str = "", n_samples: int | None = None, n_features: int | None = None
) -> Space:
    """Return a space for ``LinearSVC``, for scaled features.

    Parameters
    ----------
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`; ``C`` as in
        :func:`logistic_regression`.

    Returns
    -------
    dict of str to parameter

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.linear_svc()["penalty"]
    Categorical(['l2', 'l1'])
    """
    check_sizes(n_samples, n_features)
    penalty = Categorical(["l2", "l1"])
    return under(prefix, {"C": _inverse_penalty(n_samples), "penalty": penalty})


def linear_svr(
    *, prefix: str = "", n_samples: int | None = None, n_features: int | None = None
) -> Space:
    """Return a space for ``LinearSVR``, for a scaled target and scaled features.

    Parameters
    ----------
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`; ``C`` as in
        :func:`logistic_regression`, ``epsilon`` as in :func:`svr`.

    Returns
    -------
    dict of str to parameter

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> sorted(spaces.linear_svr())
    ['C', 'epsilon']
    """
    check_sizes(n_samples, n_features)
    epsilon = Real(1e-3, 1.0, log=True)
    return under(prefix, {"C": _inverse_penalty(n_samples), "epsilon": epsilon})


def sgd(
    *, prefix: str = "", n_samples: int | None = None, n_features: int | None = None
) -> Space:
    """Return a space for ``SGDClassifier`` and ``SGDRegressor``, for scaled features.

    How long to train is left to the estimator: set ``max_iter``.

    Parameters
    ----------
    prefix, n_samples, n_features
        As for every function of :mod:`sklearn_mvrsm.spaces`; ``alpha`` is a penalty on
        a mean over rows, so nothing here depends on sizes.

    Returns
    -------
    dict of str to parameter

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
    check_sizes(n_samples, n_features)
    stepped = ["invscaling", "constant", "adaptive"]
    return under(
        prefix,
        {
            "alpha": Real(1e-7, 0.1, log=True),
            "penalty": Categorical(["l2", "l1", "elasticnet"]),
            "l1_ratio": Real(0.0, 1.0).when(penalty="elasticnet"),
            "learning_rate": Categorical(["optimal", *stepped]),
            "eta0": Real(1e-4, 0.1, log=True).when(learning_rate=stepped),
            "average": Categorical([False, True]),
        },
    )
