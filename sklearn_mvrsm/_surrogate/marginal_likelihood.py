"""Maximum a posteriori hyperparameters: marginal likelihood times normal priors.

A few steps of L-BFGS on the marginal likelihood of the observations under a Gaussian
prior on the weights ``c`` (MacKay, Neural Computation 4(3), 1992; Rasmussen and
Williams, 2006, section 5.4) set the variances of the kernel's terms and of the noise
(:func:`maximise_posterior`), and with them the lengthscale of each coordinate
(:func:`maximise_posterior_with_lengthscales`).

Notation
--------
``K (n, n)``        prior covariance of the observations, see ``hyperparameters.py``
``lambda``          variance of the noise, the ridge
``l (d,)``          lengthscales of the Matern term, see ``matern_kernel.py``
``log p(y)``        ``-1/2 y^T K^-1 y - 1/2 log det K`` up to a constant
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from sklearn_mvrsm._domain import BoolArray, FloatArray, IntArray
from sklearn_mvrsm._paper import minimise
from sklearn_mvrsm._surrogate.hyperparameters import (
    BOUNDS,
    KINDS,
    LENGTHSCALE_BOUNDS,
    SPREAD,
    Hyperparameters,
    default_lengthscales,
    negative_log_prior,
)
from sklearn_mvrsm._surrogate.matern_kernel import matern_52, squared_distances

__all__ = ["KernelTerms", "maximise_posterior", "maximise_posterior_with_lengthscales"]


_CENTRE, _DEVIATION = Hyperparameters().to_vector(), SPREAD.to_vector()
_REFUSED = 1e10  # returned where the covariance is numerically singular


@dataclass(frozen=True)
class KernelTerms:
    """The terms of the kernel at the observations, each with a variance of one.

    Parameters
    ----------
    grams : ndarray of shape (KINDS, n, n)
        ``B_k``, the covariance of each kind of spline; all zero where there are no
        splines of that kind.
    similarity : ndarray of shape (n, n) or None
        ``S``; None without categories and integers.
    matern : ndarray of shape (n, n)
        ``M``; all zero where no coordinate varies.
    """

    grams: FloatArray
    similarity: FloatArray | None
    matern: FloatArray


def maximise_posterior(
    terms: KernelTerms, y: FloatArray, start: Hyperparameters, steps: int
) -> tuple[Hyperparameters, float]:
    """Set the variances of the kernel's terms and of the noise.

    Parameters
    ----------
    terms : KernelTerms
    y : ndarray of shape (n,)
        Observations with zero mean and unit variance.
    start : Hyperparameters
        Where the search starts.
    steps : int
        Iterations of L-BFGS.

    Returns
    -------
    hyperparameters : Hyperparameters
    loss : float
        Negative log posterior, comparable between calls on the same ``y``.
    """
    free = _identifiable(terms)

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        theta = _updated(start, free, values)
        value, gradient, _ = _negative_log_likelihood(theta, terms, y)
        away, pull = _negative_log_prior(values, free)
        return value + away, gradient[free] + pull

    low, high = BOUNDS[free].T
    found, value = minimise(loss, start.to_vector()[free], (low, high), steps)
    return _updated(start, free, found), value


def maximise_posterior_with_lengthscales(
    terms: KernelTerms,
    features: FloatArray,
    group: IntArray,
    y: FloatArray,
    start: tuple[Hyperparameters, FloatArray],
    steps: int,
) -> tuple[Hyperparameters, FloatArray]:
    """Set the lengthscales of the Matern term together with all variances.

    Parameters
    ----------
    terms : KernelTerms
        The Matern term is computed anew.
    features : ndarray of shape (n, q)
        ``W``, for lengthscales of one.
    group : ndarray of shape (q,)
        Coordinate of each feature.
    y : ndarray of shape (n,)
        Observations with zero mean and unit variance.
    start : tuple of Hyperparameters and ndarray of shape (d,)
        Where the search starts: hyperparameters and log lengthscales.
    steps : int
        Iterations of L-BFGS.

    Returns
    -------
    hyperparameters : Hyperparameters
    log_lengthscales : ndarray of shape (d,)
    """
    free, centre = _identifiable(terms), default_lengthscales(len(start[1]))
    m = int(free.sum())

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        scaled = features * np.exp(-values[m:])[group]
        matern, slope = matern_52(squared_distances(scaled, scaled))
        theta = _updated(start[0], free, values[:m])
        value, gradient, weight = _negative_log_likelihood(
            theta, replace(terms, matern=matern), y
        )
        away, pull = _negative_log_prior(values[:m], free)
        far, back = negative_log_prior(values[m:], centre, np.ones_like(centre))
        # dM_ab / dlog l_j = slope_ab sum of (w_a - w_b)^2 over the features of j;
        # sum_ab V_ab (w_a - w_b)^2 = 2 sum_a (V 1)_a w_a^2 - 2 w^T V w, V symmetric
        weight = theta.matern * weight * slope
        spread = weight.sum(axis=1) @ scaled**2
        spread -= np.einsum("ij,ij->j", scaled, weight @ scaled)
        along = np.bincount(group, weights=2.0 * spread, minlength=len(centre))
        return value + away + far, np.concatenate([gradient[free] + pull, along + back])

    low, high = np.vstack([BOUNDS[free], [LENGTHSCALE_BOUNDS] * len(centre)]).T
    first = np.concatenate([start[0].to_vector()[free], start[1]])
    found, _ = minimise(loss, first, (low, high), steps)
    return _updated(start[0], free, found[:m]), found[m:]


def _identifiable(terms: KernelTerms) -> BoolArray:
    """Return which hyperparameters the data can say anything about."""
    kinds = [terms.grams[k].any() for k in range(KINDS)]
    overlap = [terms.similarity is not None] * 4
    return np.array([*kinds, *overlap, terms.matern.any(), True])


def _updated(
    theta: Hyperparameters, free: BoolArray, values: FloatArray
) -> Hyperparameters:
    vector = theta.to_vector()
    vector[free] = values
    return Hyperparameters.from_vector(vector)


def _negative_log_prior(
    values: FloatArray, free: BoolArray
) -> tuple[float, FloatArray]:
    return negative_log_prior(values, _CENTRE[free], _DEVIATION[free])


def _negative_log_likelihood(
    theta: Hyperparameters, terms: KernelTerms, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the negative log likelihood, its gradient in the logarithms and in K."""
    covariance, gradient = theta.covariance_and_gradient(
        terms.grams, terms.similarity, terms.matern
    )
    # K is symmetric, so its transpose is K in the order that LAPACK factors in place
    upper, refused = dpotrf(covariance.T, lower=0, overwrite_a=1)
    if refused:
        return _REFUSED, np.zeros(len(BOUNDS)), np.zeros_like(covariance)
    alpha, _ = dpotrs(upper, y, lower=0)
    # 1/2 log det K is the sum of the logarithms of the factor's diagonal
    value = 0.5 * float(y @ alpha) + float(np.log(np.diag(upper)).sum())
    half, _ = dpotri(upper, lower=0, overwrite_c=1)  # of the inverse, 0 below
    # d(-log p)/dK = 1/2 (K^-1 - alpha alpha^T)  (Rasmussen and Williams, eq. 5.9)
    slope = half + half.T
    slope.ravel()[:: len(y) + 1] *= 0.5
    slope -= np.outer(alpha, alpha)
    slope *= 0.5
    return value, gradient(slope), slope
