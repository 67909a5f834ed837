"""Spaces of kernels, neighbours and networks, for features of about unit variance.

Put a ``StandardScaler`` before these models. Ranges for a regression take the target to
be of about unit variance too; a ``TransformedTargetRegressor`` sees to it.
"""

from sklearn_mvrsm import Categorical, Integer, Ordinal, Real
from sklearn_mvrsm.spaces._declare import Params, at_most, ready_made

__all__ = [
    "k_neighbors",
    "mlp",
    "svc",
    "svr",
]

_USUAL_FEATURES = 10  # where the number is not told
_HIDDEN = [  # by the number of weights
    (16,),
    (16, 16),
    (64,),
    (64, 64),
    (256,),
    (64, 64, 64),
    (256, 256),
    (256, 256, 256),
]


def _kernels(n_features: int | None) -> Params:
    p = _USUAL_FEATURES if n_features is None else n_features
    curved = ["rbf", "poly", "sigmoid"]
    return {
        "C": Real(2.0**-5, 2.0**15, log=True),
        "kernel": Categorical(["linear", *curved]),
        "gamma": Real(1e-3 / p, 1e2 / p, log=True).when(kernel=curved),
        "degree": Integer(2, 5).when(kernel="poly"),
        "coef0": Real(-1.0, 1.0).when(kernel=["poly", "sigmoid"]),
    }


@ready_made
def svc(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``SVC``, for scaled features.

    Each kernel has the parameters that it uses.

    Sizes
    -----
    Squared distances of scaled rows grow with ``n_features`` (10 if it is not given),
    so ``gamma`` shrinks with it: five decades around scikit-learn's ``gamma="scale"``.

    Notes
    -----
    ``C``, and the width of the range of ``gamma``, are those of the guide [1]_. Very
    large ``C`` on noisy data can take very long: a ``fit_timeout`` bounds it.

    References
    ----------
    .. [1] C.-W. Hsu, C.-C. Chang and C.-J. Lin, "A practical guide to support vector
       classification", National Taiwan University, 2003, updated 2016.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.svc()["degree"]
    Integer(2, 5).when(kernel='poly')
    """
    return _kernels(n_features)


@ready_made
def svr(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``SVR``, for a scaled target and scaled features.

    Sizes
    -----
    As in :func:`svc`.

    Notes
    -----
    Kernels as in :func:`svc`. ``epsilon``, below which an error counts as none, should
    be near the noise of the target [1]_: a thousandth of its standard deviation to all
    of it.

    References
    ----------
    .. [1] V. Cherkassky and Y. Ma, "Practical selection of SVM parameters and noise
       estimation for SVM regression", Neural Networks 17(1), 2004.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.svr()["epsilon"]
    Real(0.001, 1.0, log=True)
    """
    epsilon = {"epsilon": Real(1e-3, 1.0, log=True)}
    return _kernels(n_features) | epsilon


@ready_made
def k_neighbors(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``KNeighborsClassifier`` and regressor, for scaled features.

    Sizes
    -----
    With ``n_samples`` never more neighbours than half of the rows, which is what two
    folds leave.

    Notes
    -----
    Numbers of neighbours as in auto-sklearn [1]_. In many dimensions, distances of
    absolute values tell rows better apart than those of squares [2]_; the cosine looks
    at directions only. The power exists for Minkowski's distance alone.

    References
    ----------
    .. [1] M. Feurer, A. Klein, K. Eggensperger, J. Springenberg, M. Blum and F. Hutter,
       "Efficient and robust automated machine learning", NeurIPS 2015.
    .. [2] C. C. Aggarwal, A. Hinneburg and D. A. Keim, "On the surprising behavior of
       distance metrics in high dimensional space", ICDT 2001.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.k_neighbors(n_samples=120)["n_neighbors"]
    Integer(1, 60, log=True)
    """
    cap = None if n_samples is None else n_samples // 2
    return {
        "n_neighbors": at_most(1, 100, cap),
        "weights": Categorical(["uniform", "distance"]),
        "metric": Categorical(["minkowski", "cosine"]),
        "p": Ordinal([1, 2]).when(metric="minkowski"),
    }


@ready_made
def mlp(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``MLPClassifier`` and ``MLPRegressor``, for scaled features.

    How long to train is left to the estimator: set ``max_iter``.

    Sizes
    -----
    With ``n_samples``, batches too are searched (up to half of the rows), and beyond 10
    000 rows only ``adam``, for ``lbfgs`` looks at all rows in each step.

    Notes
    -----
    Depths, widths, penalty and learning rate as in auto-sklearn [1]_, layers in the
    order of their weights. scikit-learn's guide recommends ``lbfgs`` for little data.
    Step sizes and batches exist for ``adam`` [2]_ alone.

    References
    ----------
    .. [1] M. Feurer, K. Eggensperger, S. Falkner, M. Lindauer and F. Hutter,
       "Auto-sklearn 2.0: hands-free AutoML via meta-learning", JMLR 23(261), 2022.
    .. [2] D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR
       2015.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.mlp(n_samples=150)["batch_size"]
    Ordinal([16, 32, 64]).when(solver='adam')
    """
    is_little = n_samples is None or n_samples <= 10_000
    space: Params = {
        "hidden_layer_sizes": Ordinal(_HIDDEN),
        "activation": Categorical(["relu", "tanh"]),
        "alpha": Real(1e-7, 0.1, log=True),
        "solver": Categorical(["adam", "lbfgs"] if is_little else ["adam"]),
        "learning_rate_init": Real(1e-4, 0.1, log=True).when(solver="adam"),
    }
    if n_samples is not None:
        batches = [size for size in (16, 32, 64, 128, 256) if 2 * size <= n_samples]
        space["batch_size"] = Ordinal(batches or ["auto"]).when(solver="adam")
    return space
