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
from scipy.linalg.lapack import dpotrs, dtrtri, dtrtrs

from sklearn_mvrsm._domain import BoolArray, FloatArray, IntArray
from sklearn_mvrsm._paper import minimise

__all__ = ["additive_features", "fit_relevance"]


KNOTS = 8  # kinks of each sign of a number's features
SHRINKAGE = 1.0 / 8.0  # precision of the log variances around their mean
FIRST_NOISE = 0.3  # where the search for the variance of the noise starts
BOUNDS, NOISE_BOUNDS = (-12.0, 4.0), (-8.0, 2.0)  # of the logarithms
NEGLIGIBLE = 1e-14  # variance of a combination of features, against their total
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
    blocks = []
    for i, size in enumerate(sizes):
        hot = (unit[:, [i]] == np.arange(size)) * active[:, [i]]
        blocks.append(_scaled(hot[np.newaxis])[0])
    numbers = unit[:, len(sizes) :].T[:, :, np.newaxis]
    knots = np.arange(KNOTS) / KNOTS
    both = np.maximum(np.concatenate([numbers - knots, 1.0 - numbers - knots], 2), 0.0)
    block = _scaled(both * active[:, len(sizes) :].T[:, :, np.newaxis])
    # half of these and more are combinations of the others: the principal components
    # with a variance have the same products of rows
    variance, components = np.linalg.eigh(block.transpose(0, 2, 1) @ block)
    kept = variance > NEGLIGIBLE * n
    kept[:, -1] = True  # so that no coordinate is without a feature
    rotated = (block @ components).transpose(1, 0, 2)
    counts = [each.shape[1] for each in blocks] + kept.sum(axis=1).tolist()
    group = np.repeat(np.arange(d), counts)
    return np.hstack([*blocks, rotated[:, kept]]), group


def _scaled(blocks: FloatArray) -> FloatArray:
    """Return blocks of shape ``(m, n, k)``, centred, each of unit total variance."""
    blocks = blocks - blocks.mean(axis=1, keepdims=True)
    spread = np.sqrt((blocks**2).sum(axis=(1, 2), keepdims=True) / blocks.shape[1])
    constant = spread <= THINNEST
    return np.asarray(blocks * ~constant / np.where(constant, 1.0, spread))


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
    low, high = np.array([BOUNDS] * len(start) + [NOISE_BOUNDS]).T
    found, _ = minimise(loss, np.append(start, np.log(FIRST_NOISE)), (low, high), steps)
    return found[:-1]


def _negative_log_posterior(
    features: FloatArray, group: IntArray, y: FloatArray
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    n, features = len(y), np.asfortranarray(features)  # LAPACK's order: not copied
    starts = np.searchsorted(group, np.arange(group[-1] + 1))

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        log, noise = values[:-1], np.exp(values[-1])
        scaled = features * np.exp(0.5 * log)[group]
        # K = sum_j v_j F_j F_j^T + noise I
        covariance = scaled @ scaled.T
        covariance.ravel()[:: n + 1] += noise
        upper = np.linalg.cholesky(covariance).T
        alpha, _ = dpotrs(upper, y)
        fit = (alpha @ scaled) ** 2
        whitened, _ = dtrtrs(upper, scaled, trans=1, overwrite_b=1)
        trace = np.einsum("ij,ij->j", whitened, whitened)  # diagonal of F^T K^-1 F
        inverse, _ = dtrtri(upper)
        # d(-log p)/dlog v_j = 1/2 v_j (tr F_j^T K^-1 F_j - |F_j^T K^-1 y|^2)
        gradient = np.empty_like(values)
        gradient[:-1] = 0.5 * np.add.reduceat(trace - fit, starts)
        gradient[-1] = 0.5 * noise * (np.vdot(inverse, inverse) - alpha @ alpha)
        away = log - log.mean()
        gradient[:-1] += SHRINKAGE * away
        value = 0.5 * y @ alpha + np.log(np.diag(upper)).sum()
        return float(value + 0.5 * SHRINKAGE * away @ away), gradient

    return loss
