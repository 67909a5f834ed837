"""What the data says about the prior: type-II likelihood, tempered by beliefs.

A few steps of L-BFGS on the marginal likelihood of the observations under a Gaussian
prior on the weights ``c`` (MacKay, Neural Computation 4(3), 1992; Rasmussen and
Williams, 2006, section 5.4) tell how strong each kind of spline, the gates, the smooth
part and the noise are (:func:`learn_prior`), and with them how far along each
coordinate the smooth part sees (:func:`learn_lengths`).

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
    LENGTH_BOUNDS,
    LINEAR,
    LOCAL,
    NOISE,
    SHARPNESS,
    SMOOTH,
    SPREAD,
    Prior,
    default_lengths,
    disbelief,
)
from sklearn_mvrsm._surrogate.matern_kernel import matern, squared_distances

__all__ = ["Parts", "learn_lengths", "learn_prior"]


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
class Parts:
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


def learn_prior(
    parts: Parts, y: FloatArray, start: Prior, steps: int
) -> tuple[Prior, float]:
    """Set the prior's strengths by maximum a posteriori type-II likelihood.

    Parameters
    ----------
    parts : Parts
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
    free = parts.free()

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        value, gradient, _ = _prior_loss(_with(start, free, values), parts, y)
        away, pull = disbelief(values, CENTRE[free], SPREAD[free])
        return value + away, gradient[free] + pull

    bounds = [BOUNDS[k] for k in free]
    found, value = _descend(loss, start.log[free], bounds, steps)
    return _with(start, free, found), value


def learn_lengths(
    parts: Parts,
    features: FloatArray,
    group: IntArray,
    y: FloatArray,
    start: tuple[Prior, FloatArray],
    steps: int,
) -> tuple[Prior, FloatArray]:
    """Set the lengths of the smooth part, and with them the prior's strengths.

    Parameters
    ----------
    parts : Parts
        The smooth part is computed anew.
    features : ndarray of shape (n, q)
        ``W``, for lengths of one.
    group : ndarray of shape (q,)
        Coordinate of each feature.
    y : ndarray of shape (n,)
        Observations with zero mean and unit variance.
    start : tuple of Prior and ndarray of shape (d,)
        Where the search starts: strengths and log lengths.
    steps : int
        Iterations of L-BFGS.

    Returns
    -------
    prior : Prior
    log_lengths : ndarray of shape (d,)
    """
    free, centre = parts.free(), default_lengths(len(start[1]))
    m = len(free)

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        scaled = features * np.exp(-values[m:])[group]
        smooth, slope = matern(squared_distances(scaled, scaled))
        prior = _with(start[0], free, values[:m])
        value, gradient, weight = _prior_loss(prior, replace(parts, smooth=smooth), y)
        away, pull = disbelief(values[:m], CENTRE[free], SPREAD[free])
        far, back = disbelief(values[m:], centre, np.ones_like(centre))
        # sum_ab V_ab (w_a - w_b)^2 with V symmetric, feature by feature
        weight = prior.smooth * weight * slope
        spread = weight.sum(axis=1) @ scaled**2
        spread -= np.einsum("ij,ij->j", scaled, weight @ scaled)
        along = np.bincount(group, weights=2.0 * spread, minlength=len(centre))
        return value + away + far, np.concatenate([gradient[free] + pull, along + back])

    bounds = [BOUNDS[k] for k in free] + [LENGTH_BOUNDS] * len(centre)
    first = np.concatenate([start[0].log[free], start[1]])
    found, _ = _descend(loss, first, bounds, steps)
    return _with(start[0], free, found[:m]), found[m:]


def _with(prior: Prior, free: IntArray, values: FloatArray) -> Prior:
    log = prior.log.copy()
    log[free] = values
    return Prior(log)


def _descend(
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


def _prior_loss(
    prior: Prior, parts: Parts, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the negative log likelihood, its gradient in the logarithms and in K."""
    grams, similarity, smooth = parts.grams, parts.similarity, parts.smooth
    gradient = np.zeros(len(prior.log))
    base = np.tensordot(prior.splines, grams, axes=1)
    factor, added = (
        (np.ones_like(base), np.zeros_like(base))
        if similarity is None
        else prior.gate(similarity)
    )
    covariance = base * factor + added + prior.smooth * smooth
    covariance[np.diag_indices_from(covariance)] += prior.noise
    decomposed = _cholesky_inverse(covariance)
    if decomposed is None:
        return _REFUSED, gradient, np.zeros_like(covariance)
    lower, inverse = decomposed
    alpha = inverse @ y
    # d(-log p)/dK = 1/2 (K^-1 - alpha alpha^T)
    slope = 0.5 * (inverse - np.outer(alpha, alpha))
    gradient[:KINDS] = prior.splines * np.tensordot(grams, slope * factor, axes=2)
    gradient[SMOOTH] = prior.smooth * np.vdot(slope, smooth)
    gradient[NOISE] = prior.noise * np.trace(slope)
    if similarity is not None:
        gate, linear, local, sharpness = np.exp(prior.log[KINDS : KINDS + 4])
        peak = local * np.exp(sharpness * (similarity - 1.0))
        gradient[GATE] = gate * np.vdot(slope, base * similarity)
        gradient[LINEAR] = linear * np.vdot(slope, similarity)
        gradient[LOCAL] = np.vdot(slope, peak)
        gradient[SHARPNESS] = sharpness * np.vdot(slope, peak * (similarity - 1.0))
    value = 0.5 * float(y @ alpha) + float(np.log(np.diag(lower)).sum())
    return value, gradient, slope
