"""Maximum a posteriori hyperparameters: type-II likelihood times normal priors.

A few steps of L-BFGS on the marginal likelihood of the observations under a Gaussian
prior on the weights ``c`` (MacKay, Neural Computation 4(3), 1992; Rasmussen and
Williams, 2006, section 5.4) tell how strong each kind of spline, the gates, the smooth
part and the noise are (:func:`maximise_posterior`), and with them how far along each
coordinate the smooth part sees (:func:`maximise_posterior_with_lengthscales`).

Notation
--------
``K (n, n)``        prior covariance of the observations
``lambda``          variance of the noise, the ridge
``l (d,)``          lengths of the smooth part, see ``matern_kernel.py``
``log p(y)``        ``-1/2 y^T K^-1 y - 1/2 log det K`` up to a constant
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from sklearn_mvrsm._domain import FloatArray, IntArray
from sklearn_mvrsm._surrogate.hyperparameters import (
    BOUNDS,
    CENTRE,
    GATE,
    KINDS,
    LENGTHSCALE_BOUNDS,
    LINEAR,
    LOCAL,
    NOISE,
    SHARPNESS,
    SMOOTH,
    SPREAD,
    Hyperparameters,
    default_lengthscales,
    negative_log_prior,
)
from sklearn_mvrsm._surrogate.matern_kernel import matern, squared_distances

__all__ = ["KernelTerms", "maximise_posterior", "maximise_posterior_with_lengthscales"]


_REFUSED = 1e10  # returned where the covariance is numerically singular


def _cholesky_inverse(covariance: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    try:
        factor: FloatArray = np.linalg.cholesky(covariance).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    identity = np.eye(len(covariance))
    inverse: FloatArray = cho_solve((factor, True), identity, check_finite=False)
    return factor, inverse


@dataclass(frozen=True)
class KernelTerms:
    """What the prior's strengths weigh: the parts of a covariance at strength one.

    Parameters
    ----------
    grams : ndarray of shape (KINDS, n, n)
        Covariance of each kind of spline; all zero where there are no splines of that
        kind.
    similarity : ndarray of shape (n, n) or None
        ``S``; None where nothing gates.
    smooth : ndarray of shape (n, n)
        ``M``, the smooth covariance; all zero where there is none.
    """

    grams: FloatArray
    similarity: FloatArray | None
    smooth: FloatArray

    def free(self) -> IntArray:
        """Return which strengths the data can say anything about."""
        present = [k for k in range(KINDS) if self.grams[k].any()]
        if self.similarity is not None:
            present += [GATE, LINEAR, LOCAL, SHARPNESS]
        if self.smooth.any():
            present.append(SMOOTH)
        return np.array([*present, NOISE])


def maximise_posterior(
    terms: KernelTerms, y: FloatArray, start: Hyperparameters, steps: int
) -> tuple[Hyperparameters, float]:
    """Set the prior's strengths by maximum a posteriori type-II likelihood.

    Parameters
    ----------
    parts : KernelTerms
    y : ndarray of shape (n,)
        Observations with zero mean and unit variance.
    start : Hyperparameters
        Where the search starts.
    steps : int
        Iterations of L-BFGS.

    Returns
    -------
    prior : Hyperparameters
    loss : float
        Negative log posterior, comparable between calls on the same ``y``.
    """
    free = terms.free()

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        value, gradient, _ = _negative_log_likelihood(
            _updated(start, free, values), terms, y
        )
        away, pull = negative_log_prior(values, CENTRE[free], SPREAD[free])
        return value + away, gradient[free] + pull

    bounds = [BOUNDS[k] for k in free]
    found, value = _minimise(loss, start.log[free], bounds, steps)
    return _updated(start, free, found), value


def maximise_posterior_with_lengthscales(
    terms: KernelTerms,
    features: FloatArray,
    group: IntArray,
    y: FloatArray,
    start: tuple[Hyperparameters, FloatArray],
    steps: int,
) -> tuple[Hyperparameters, FloatArray]:
    """Set the lengths of the smooth part, and with them the prior's strengths.

    Parameters
    ----------
    parts : KernelTerms
        The smooth part is computed anew.
    features : ndarray of shape (n, q)
        ``W``, for lengths of one.
    group : ndarray of shape (q,)
        Coordinate of each feature.
    y : ndarray of shape (n,)
        Observations with zero mean and unit variance.
    start : tuple of Hyperparameters and ndarray of shape (d,)
        Where the search starts: strengths and log lengths.
    steps : int
        Iterations of L-BFGS.

    Returns
    -------
    prior : Hyperparameters
    log_lengthscales : ndarray of shape (d,)
    """
    free, centre = terms.free(), default_lengthscales(len(start[1]))
    m = len(free)

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        scaled = features * np.exp(-values[m:])[group]
        smooth, slope = matern(squared_distances(scaled, scaled))
        theta = _updated(start[0], free, values[:m])
        value, gradient, weight = _negative_log_likelihood(
            theta, replace(terms, smooth=smooth), y
        )
        away, pull = negative_log_prior(values[:m], CENTRE[free], SPREAD[free])
        far, back = negative_log_prior(values[m:], centre, np.ones_like(centre))
        # sum_ab V_ab (w_a - w_b)^2 with V symmetric, feature by feature
        weight = theta.smooth * weight * slope
        spread = weight.sum(axis=1) @ scaled**2
        spread -= np.einsum("ij,ij->j", scaled, weight @ scaled)
        along = np.bincount(group, weights=2.0 * spread, minlength=len(centre))
        return value + away + far, np.concatenate([gradient[free] + pull, along + back])

    bounds = [BOUNDS[k] for k in free] + [LENGTHSCALE_BOUNDS] * len(centre)
    first = np.concatenate([start[0].log[free], start[1]])
    found, _ = _minimise(loss, first, bounds, steps)
    return _updated(start[0], free, found[:m]), found[m:]


def _updated(
    theta: Hyperparameters, free: IntArray, values: FloatArray
) -> Hyperparameters:
    log = theta.log.copy()
    log[free] = values
    return Hyperparameters(log)


def _minimise(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: Sequence[tuple[float, float]],
    steps: int,
) -> tuple[FloatArray, float]:
    result = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps},
    )
    return np.asarray(result.x), float(result.fun)


def _negative_log_likelihood(
    theta: Hyperparameters, terms: KernelTerms, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the negative log likelihood, its gradient in the logarithms and in K."""
    grams, similarity, smooth = terms.grams, terms.similarity, terms.smooth
    gradient = np.zeros(len(theta.log))
    base = np.tensordot(theta.splines, grams, axes=1)
    factor, added = (
        (np.ones_like(base), np.zeros_like(base))
        if similarity is None
        else theta.gate(similarity)
    )
    covariance = base * factor + added + theta.smooth * smooth
    covariance[np.diag_indices_from(covariance)] += theta.noise
    decomposed = _cholesky_inverse(covariance)
    if decomposed is None:
        return _REFUSED, gradient, np.zeros_like(covariance)
    lower, inverse = decomposed
    alpha = inverse @ y
    # d(-log p)/dK = 1/2 (K^-1 - alpha alpha^T)
    slope = 0.5 * (inverse - np.outer(alpha, alpha))
    gradient[:KINDS] = theta.splines * np.tensordot(grams, slope * factor, axes=2)
    gradient[SMOOTH] = theta.smooth * np.vdot(slope, smooth)
    gradient[NOISE] = theta.noise * np.trace(slope)
    if similarity is not None:
        gate, linear, local, sharpness = np.exp(theta.log[KINDS : KINDS + 4])
        peak = local * np.exp(sharpness * (similarity - 1.0))
        gradient[GATE] = gate * np.vdot(slope, base * similarity)
        gradient[LINEAR] = linear * np.vdot(slope, similarity)
        gradient[LOCAL] = np.vdot(slope, peak)
        gradient[SHARPNESS] = sharpness * np.vdot(slope, peak * (similarity - 1.0))
    value = 0.5 * float(y @ alpha) + float(np.log(np.diag(lower)).sum())
    return value, gradient, slope
