"""What the data says about the prior: type-II maximum likelihood.

Two questions, each answered by a few steps of L-BFGS on the marginal likelihood of the
observations under a Gaussian prior on the weights ``c`` (MacKay, Neural Computation
4(3), 1992; Rasmussen and Williams, 2006, section 5.4):

* how much each coordinate matters (:func:`learn_relevance`, on an additive model), and
* how strong each kind of spline, the gates and the noise are (:func:`learn_prior`).

Notation
--------
``K (n, n)``        prior covariance of the observations
``lambda``          variance of the noise, the ridge
``log p(y)``        ``-1/2 y^T K^-1 y - 1/2 log det K`` up to a constant
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

__all__ = [
    "KINDS",
    "Prior",
    "additive_features",
    "learn_prior",
    "learn_relevance",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

KINDS = 4  # of splines: see span_basis


@dataclass(frozen=True)
class Prior:
    """Logarithms of the prior's strengths.

    The covariance of two points with spline covariances ``B_k`` and similarity ``S`` is
    ``(1 + gate S) sum_k splines_k B_k + linear S + local exp(sharpness (S - 1))``.

    Parameters
    ----------
    log : ndarray of shape (KINDS + 5,)
        Logarithms of splines (KINDS of them), gate, linear, local, sharpness, noise.
    """

    log: FloatArray

    @classmethod
    def default(cls) -> "Prior":
        """Return what is believed before there are data."""
        return cls(_CENTRE.copy())

    @property
    def splines(self) -> FloatArray:
        """Variance of each kind of spline, shape ``(KINDS,)``."""
        return np.exp(self.log[:KINDS])

    @property
    def noise(self) -> float:
        """Variance of the noise: the ridge ``lambda``."""
        return float(np.exp(self.log[_NOISE]))

    def gate(self, similarity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the factor of the splines' covariance and what is added to it."""
        gate, linear, local, sharpness = np.exp(self.log[KINDS : KINDS + 4])
        peak = np.exp(sharpness * (similarity - 1.0))
        return 1.0 + gate * similarity, linear * similarity + local * peak


_GATE, _LINEAR, _LOCAL, _SHARPNESS, _NOISE = range(KINDS, KINDS + 5)
_CENTRE = np.log([1.0] * KINDS + [1.0, 0.3, 0.3, 3.0, 1e-3])
_SPREAD = np.array([1.5] * KINDS + [1.0, 1.5, 1.5, 0.7, 2.0])
_BOUNDS = [(-12.0, 12.0)] * (KINDS + 4) + [(np.log(1e-8), 1.0)]
_REFUSED = 1e10  # returned where the covariance is numerically singular


def _cholesky_inverse(covariance: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    try:
        factor: FloatArray = np.linalg.cholesky(covariance).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    identity = np.eye(len(covariance))
    inverse: FloatArray = cho_solve((factor, True), identity, check_finite=False)
    return factor, inverse


def learn_prior(
    grams: FloatArray,
    similarity: FloatArray | None,
    y: FloatArray,
    start: Prior,
    steps: int,
) -> tuple[Prior, float]:
    """Set the prior's strengths by maximum a posteriori type-II likelihood.

    Parameters
    ----------
    grams : ndarray of shape (KINDS, n, n)
        Covariance of each kind of spline at variance one; all zero where there are no
        splines of that kind.
    similarity : ndarray of shape (n, n) or None
        ``S``; None where nothing gates.
    y : ndarray of shape (n,)
        Observations with zero mean and unit variance.
    start : Prior
        Where the search starts.
    steps : int
        Iterations of L-BFGS.

    Returns
    -------
    prior : Prior
    loss : float
        Negative log posterior, comparable between calls on the same ``y``.
    """
    present = [k for k in range(KINDS) if grams[k].any()]
    gates = [] if similarity is None else [_GATE, _LINEAR, _LOCAL, _SHARPNESS]
    free = np.array([*present, *gates, _NOISE])

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        log = start.log.copy()
        log[free] = values
        value, gradient = _prior_loss(Prior(log), grams, similarity, y)
        z = (values - _CENTRE[free]) / _SPREAD[free]
        return value + 0.5 * float(z @ z), gradient[free] + z / _SPREAD[free]

    result = minimize(
        loss,
        start.log[free],
        jac=True,
        method="L-BFGS-B",
        bounds=[_BOUNDS[k] for k in free],
        options={"maxiter": steps},
    )
    log = start.log.copy()
    log[free] = result.x
    return Prior(log), float(result.fun)


def _prior_loss(
    prior: Prior, grams: FloatArray, similarity: FloatArray | None, y: FloatArray
) -> tuple[float, FloatArray]:
    """Return the negative log likelihood and its gradient in the logarithms."""
    gradient = np.zeros(len(prior.log))
    base = np.tensordot(prior.splines, grams, axes=1)
    factor, added = (
        (np.ones_like(base), np.zeros_like(base))
        if similarity is None
        else prior.gate(similarity)
    )
    covariance = base * factor + added
    covariance[np.diag_indices_from(covariance)] += prior.noise
    decomposed = _cholesky_inverse(covariance)
    if decomposed is None:
        return _REFUSED, gradient
    lower, inverse = decomposed
    alpha = inverse @ y
    # d(-log p)/dK = 1/2 (K^-1 - alpha alpha^T)
    slope = 0.5 * (inverse - np.outer(alpha, alpha))
    gradient[:KINDS] = prior.splines * np.tensordot(grams, slope * factor, axes=2)
    gradient[_NOISE] = prior.noise * np.trace(slope)
    if similarity is not None:
        gate, linear, local, sharpness = np.exp(prior.log[KINDS : KINDS + 4])
        peak = local * np.exp(sharpness * (similarity - 1.0))
        gradient[_GATE] = gate * np.vdot(slope, base * similarity)
        gradient[_LINEAR] = linear * np.vdot(slope, similarity)
        gradient[_LOCAL] = np.vdot(slope, peak)
        gradient[_SHARPNESS] = sharpness * np.vdot(slope, peak * (similarity - 1.0))
    value = 0.5 * float(y @ alpha) + float(np.log(np.diag(lower)).sum())
    return value, gradient


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
    knots = np.arange(8) / 8.0
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
        blocks.append(block / spread if spread > 1e-9 else block * 0.0)
    group = np.repeat(np.arange(d), [block.shape[1] for block in blocks])
    return np.hstack(blocks), group


def learn_relevance(
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
    loss = _relevance_loss(features, group, y)
    result = minimize(
        loss,
        np.append(start, np.log(0.3)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-12.0, 4.0)] * len(start) + [(-8.0, 2.0)],
        options={"maxiter": steps},
    )
    return np.asarray(result.x[:-1])


def _relevance_loss(
    features: FloatArray, group: IntArray, y: FloatArray
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    n = len(y)
    starts = np.searchsorted(group, np.arange(group[-1] + 1))
    shrinkage = 1.0 / 8.0  # precision of the log variances around their mean

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        log, noise = values[:-1], np.exp(values[-1])
        scaled = features * np.exp(0.5 * log)[group]
        covariance = scaled @ scaled.T
        covariance[np.diag_indices(n)] += noise
        lower = np.linalg.cholesky(covariance)
        alpha = cho_solve((lower, True), y, check_finite=False)
        whitened = solve_triangular(
            lower, np.hstack([scaled, np.eye(n)]), lower=True, check_finite=False
        )
        trace = (whitened**2).sum(axis=0)  # diagonals of F^T K^-1 F and of K^-1
        fit = (scaled.T @ alpha) ** 2
        gradient = np.empty_like(values)
        gradient[:-1] = 0.5 * np.add.reduceat(trace[:-n] - fit, starts)
        gradient[-1] = 0.5 * noise * (trace[-n:].sum() - alpha @ alpha)
        away = log - log.mean()
        gradient[:-1] += shrinkage * away
        value = 0.5 * y @ alpha + np.log(np.diag(lower)).sum()
        return float(value + 0.5 * shrinkage * away @ away), gradient

    return loss
