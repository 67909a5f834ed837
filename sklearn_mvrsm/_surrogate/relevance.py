"""How much each coordinate matters: the prior variances of an additive model.

Each coordinate has a group of features of its own with one prior variance, set by a few
steps of L-BFGS on the marginal likelihood of the observations (MacKay, Neural
Computation 4(3), 1992).

Notation
--------
``F (n, q)``    features, each of one coordinate
``v (d,)``      prior variance of the weights of each coordinate's features
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

from sklearn_mvrsm._domain import BoolArray, FloatArray, IntArray

__all__ = ["additive_features", "fit_relevance"]


KNOTS = 8  # kinks of each sign of a number's features
SHRINKAGE = 1.0 / 8.0  # precision of the log variances around their mean
FIRST_NOISE = 0.3  # where the search for the variance of the noise starts
BOUNDS, NOISE_BOUNDS = (-12.0, 4.0), (-8.0, 2.0)  # of the logarithms
THINNEST = 1e-9  # deviation of features, below which they are constant


def additive_features(
    unit: FloatArray, active: BoolArray, sizes: tuple[int, ...]
) -> tuple[FloatArray, IntArray]:
    """Return features of one coordinate each, centred and of unit total variance.

    Parameters
    ----------
    unit : ndarray of shape (n, d)
        Category codes first (as they are), then the other coordinates scaled to 0..1.
    active : ndarray of bool of shape (n, d)
    sizes : tuple of int
        Number of values of each category.

    Returns
    -------
    features : ndarray of shape (n, q)
    group : ndarray of shape (q,)
        Coordinate of each feature, ascending.
    """
    n, d = unit.shape
    knots = np.arange(KNOTS) / KNOTS
    blocks = []
    for i in range(d):
        column = unit[:, [i]]
        if i < len(sizes):
            block = (column == np.arange(sizes[i])) * active[:, [i]]
        else:
            rising = np.maximum(column - knots, 0.0)
            falling = np.maximum(1.0 - column - knots, 0.0)
            block = np.hstack([rising, falling]) * active[:, [i]]
        block = block - block.mean(axis=0)
        spread = np.sqrt((block**2).sum() / n)
        blocks.append(block / spread if spread > THINNEST else block * 0.0)
    group = np.repeat(np.arange(d), [block.shape[1] for block in blocks])
    return np.hstack(blocks), group


def fit_relevance(
    features: FloatArray, group: IntArray, y: FloatArray, start: FloatArray, steps: int
) -> FloatArray:
    """Set one prior variance for each group of features.

    Parameters
    ----------
    features : ndarray of shape (n, q)
    group : ndarray of shape (q,)
        Group of each feature, ascending from 0 without gaps.
    y : ndarray of shape (n,)
        Observations with zero mean and unit variance.
    start : ndarray of shape (n_groups,)
        Logarithms of the variances to start from.
    steps : int
        Iterations of L-BFGS.

    Returns
    -------
    ndarray of shape (n_groups,)
        Logarithms of the variances, shrunk towards their common mean.
    """
    loss = _negative_log_posterior(features, group, y)
    result = minimize(
        loss,
        np.append(start, np.log(FIRST_NOISE)),
        jac=True,
        method="L-BFGS-B",
        bounds=[BOUNDS] * len(start) + [NOISE_BOUNDS],
        options={"maxiter": steps},
    )
    return np.asarray(result.x[:-1])


def _negative_log_posterior(
    features: FloatArray, group: IntArray, y: FloatArray
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    n = len(y)
    starts = np.searchsorted(group, np.arange(group[-1] + 1))

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        log, noise = values[:-1], np.exp(values[-1])
        scaled = features * np.exp(0.5 * log)[group]
        # K = sum_j v_j F_j F_j^T + noise I
        covariance = scaled @ scaled.T
        covariance[np.diag_indices(n)] += noise
        lower = np.linalg.cholesky(covariance)
        alpha = cho_solve((lower, True), y, check_finite=False)
        whitened = solve_triangular(
            lower, np.hstack([scaled, np.eye(n)]), lower=True, check_finite=False
        )
        trace = (whitened**2).sum(axis=0)  # diagonals of F^T K^-1 F and of K^-1
        fit = (scaled.T @ alpha) ** 2
        # d(-log p)/dlog v_j = 1/2 v_j (tr F_j^T K^-1 F_j - |F_j^T K^-1 y|^2)
        gradient = np.empty_like(values)
        gradient[:-1] = 0.5 * np.add.reduceat(trace[:-n] - fit, starts)
        gradient[-1] = 0.5 * noise * (trace[-n:].sum() - alpha @ alpha)
        away = log - log.mean()
        gradient[:-1] += SHRINKAGE * away
        value = 0.5 * y @ alpha + np.log(np.diag(lower)).sum()
        return float(value + 0.5 * SHRINKAGE * away @ away), gradient

    return loss
