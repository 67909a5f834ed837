"""Spaces of a tree, and of forests: trees that are grown one by one, at random."""

from sklearn_mvrsm import Categorical, Integer, Real
from sklearn_mvrsm.spaces._declare import (
    Params,
    at_most,
    ready_made,
    rows_in_a_leaf,
    share_of_features,
)

__all__ = ["decision_tree", "extra_trees", "random_forest"]


def _share_of_rows(n_samples: int | None) -> Real | Categorical:
    """Return shares of the rows for each tree, at least 11 of half the rows."""
    # scikit-learn warns of fewer than ten, at any size
    low = 0.2 if n_samples is None else max(0.2, 22.0 / n_samples)
    return Real(low, 1.0) if low < 0.9 else Categorical([None])


@ready_made
def random_forest(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``RandomForestClassifier`` and ``RandomForestRegressor``.

    The number of trees is not searched: more are better, or at least not worse [2]_,
    so it is a matter of time. Set it on the estimator.

    Sizes
    -----
    With ``n_features`` a split looks at one feature at least; with ``n_samples`` a leaf
    never needs more than a quarter of the rows, and a tree sees ten at least.

    Notes
    -----
    The three parameters that matter, after [1]_: features per split, rows per leaf,
    rows per tree. The share of the features is on a logarithmic scale from one feature
    to all, which is auto-sklearn's ``n_features ** x`` with ``x`` from 0 to 1. The
    criterion of a split hardly matters [1]_.

    References
    ----------
    .. [1] P. Probst, M. N. Wright and A.-L. Boulesteix, "Hyperparameters and tuning
       strategies for random forest", WIREs Data Mining and Knowledge Discovery 9(3),
       2019.
    .. [2] P. Probst and A.-L. Boulesteix, "To tune or not to tune the number of trees
       in random forest", JMLR 18(181), 2018.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.random_forest(n_features=50)["max_features"]
    Real(0.02, 1.0, log=True)
    """
    return {
        "max_features": share_of_features(n_features),
        "min_samples_leaf": rows_in_a_leaf(20, n_samples),
        "max_samples": _share_of_rows(n_samples),
    }


@ready_made
def extra_trees(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``ExtraTreesClassifier`` and ``ExtraTreesRegressor``.

    The number of trees is not searched, as in :func:`random_forest`.

    Sizes
    -----
    With ``n_features`` a split looks at one feature at least; with ``n_samples`` a node
    of a quarter of the rows may always be split.

    Notes
    -----
    The parameters of the method [1]_: ``K`` (``max_features``) and ``n_min``
    (``min_samples_split``, which smooths a noisy target). Each tree sees all rows, or
    some share of them drawn with replacement.

    References
    ----------
    .. [1] P. Geurts, D. Ernst and L. Wehenkel, "Extremely randomized trees", Machine
       Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.extra_trees()["max_samples"]
    Real(0.2, 1.0).when(bootstrap=True)
    """
    cap = None if n_samples is None else n_samples // 4
    return {
        "max_features": share_of_features(n_features),
        "min_samples_split": at_most(2, 40, cap),
        "bootstrap": Categorical([False, True]),
        "max_samples": _share_of_rows(n_samples).when(bootstrap=True),
    }


@ready_made
def decision_tree(n_samples: int | None, n_features: int | None) -> Params:
    """Return a space for ``DecisionTreeClassifier`` and ``DecisionTreeRegressor``.

    Sizes
    -----
    With ``n_samples`` a leaf never needs more than a quarter of the rows.

    Notes
    -----
    Depth and sizes of nodes as in the study of tunability [1]_.

    References
    ----------
    .. [1] P. Probst, A.-L. Boulesteix and B. Bischl, "Tunability: importance of
       hyperparameters of machine learning algorithms", JMLR 20(53), 2019.

    Examples
    --------
    >>> from sklearn_mvrsm import spaces
    >>> spaces.decision_tree(n_samples=100)["min_samples_leaf"]
    Integer(1, 25, log=True)
    """
    cap = None if n_samples is None else n_samples // 4
    return {
        "max_depth": Integer(1, 30, log=True),
        "min_samples_leaf": rows_in_a_leaf(60, n_samples),
        "min_samples_split": at_most(2, 60, cap),
    }
