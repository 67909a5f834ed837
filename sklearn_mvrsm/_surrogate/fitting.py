"""Fit the Gaussian process: relevance, hyperparameters, lengthscales, output warp.

Relevance comes from an additive model (``relevance.py``); variances and lengthscales
maximise the posterior (``marginal_likelihood.py``), which also chooses the power of the
relevance.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from sklearn_mvrsm._domain import BoolArray, Domain, FloatArray, IntArray
from sklearn_mvrsm._surrogate.hyperparameters import KINDS
from sklearn_mvrsm._surrogate.kernel import Kernel, safe_cholesky
from sklearn_mvrsm._surrogate.marginal_likelihood import (
    KernelTerms,
    maximise_posterior,
    maximise_posterior_with_lengthscales,
)
from sklearn_mvrsm._surrogate.matern_kernel import (
    MaternFeatures,
    matern_52,
    squared_distances,
)
from sklearn_mvrsm._surrogate.output_warp import OutputTransform, choose_warp
from sklearn_mvrsm._surrogate.overlap_kernel import OverlapKernel
from sklearn_mvrsm._surrogate.relevance import additive_features, fit_relevance

__all__ = ["FittedModel", "fit_hyperparameters"]


LEARN_ROWS = 250  # so many observations are fitted to whatever d is,
ROWS_A_COORDINATE = 4  # more where there are many coordinates,
LEARN_WORK = 2e8  # as far as the square of their number times d stays below
POWERS = (0.0, 0.5, 1.0)  # of the relevance, the likelihood chooses
RELEVANCE_LIMIT = 8.0  # a coordinate's scale lies in 1/8 .. 8
TRUSTED_FROM = 50  # observations at which relevance counts by half
WARP_FROM = 3  # observations a coordinate: a warp is not chosen from fewer
WARP_NOISE = 0.1  # share of variance left unexplained, above which nothing is warped
FIRST_STEPS, LATER_STEPS = 15, 6  # of L-BFGS for variances, twice with lengthscales
FIRST_RELEVANCE_STEPS, LATER_RELEVANCE_STEPS = 30, 10  # of L-BFGS
LEARN_FROM = 8  # fewer observations say nothing about the hyperparameters


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A kernel, and where the next fit starts from.

    Parameters
    ----------
    kernel : Kernel
    warp : float
        Of the values, see ``output_warp.py``.
    log_variance : ndarray of shape (d,) or None
        Of each coordinate in the additive model; None before the first fit.
    """

    kernel: Kernel
    warp: float = 0.0
    log_variance: FloatArray | None = None


def fit_hyperparameters(
    model: FittedModel, points: FloatArray, active: BoolArray, values: FloatArray
) -> FittedModel:
    """Fit the model to observations, if there are enough of them.

    Parameters
    ----------
    model : FittedModel
        Where the searches for the greatest posterior start.
    points : ndarray of shape (n, d)
    active : ndarray of bool of shape (n, d)
    values : ndarray of shape (n,)
        Of the objective; their scale does not matter.
    """
    d = model.kernel.domain.d
    if len(values) < LEARN_FROM or not d:
        return model
    rows = _informative(values, _most_rows(d))
    if not np.ptp(values[rows]) > 0.0:  # equal values say nothing
        return model
    output = OutputTransform.of(values, model.warp)
    points, active, values = points[rows], active[rows], values[rows]
    y = _standardised(output.apply(values))
    kernel = model.kernel
    domain, coded = kernel.domain, points
    if not kernel.one_hot:
        domain, coded = _numbered_anew(domain, points)
    log_variance = _additive(domain, model.log_variance, coded, active, y)
    relevance = _relevance(log_variance, len(y))
    steps = FIRST_STEPS if model.log_variance is None else LATER_STEPS
    kernel = _maximise_posterior(kernel, relevance, (domain, coded), active, y, steps)
    warp = 0.0
    if len(values) >= WARP_FROM * d and kernel.hyperparameters.noise <= WARP_NOISE:
        warp = _choose_warp(kernel, points, active, values)
    return FittedModel(kernel, warp, log_variance)


def _numbered_anew(domain: Domain, points: FloatArray) -> tuple[Domain, FloatArray]:
    """Leave out the values of categories that no point has."""
    points, sizes = points.copy(), []
    for i in range(domain.n_categorical):
        found, points[:, i] = np.unique(points[:, i], return_inverse=True)
        sizes.append(len(found))
    return replace(domain, category_sizes=tuple(sizes)), points


def _additive(
    domain: Domain,
    start: FloatArray | None,
    points: FloatArray,
    active: BoolArray,
    y: FloatArray,
) -> FloatArray:
    """Return the log variance of each coordinate in the additive model."""
    d, unit = domain.d, points.copy()
    numbers = slice(domain.n_categorical, d)
    span = np.where(domain.span > 0.0, domain.span, 1.0)
    unit[:, numbers] = ((points - domain.lower) / span)[:, numbers]
    features, group = additive_features(unit, active, domain.category_sizes)
    steps = LATER_RELEVANCE_STEPS
    if start is None:
        # half of the variance of y, shared out among the coordinates
        start, steps = np.full(d, np.log(0.5 / max(d, 1))), FIRST_RELEVANCE_STEPS
    return fit_relevance(features, group, y, start, steps)


def _relevance(log_variance: FloatArray, n: int) -> FloatArray:
    """Return scales of the coordinates; from few points, shrunk towards equal."""
    # root of the variance over the geometric mean, its logarithm shrunk by n / (n + 50)
    away = log_variance - log_variance.mean()
    scale = np.exp(0.5 * away * n / (n + TRUSTED_FROM))
    return np.asarray(np.clip(scale, 1.0 / RELEVANCE_LIMIT, RELEVANCE_LIMIT))


def _maximise_posterior(
    kernel: Kernel,
    relevance: FloatArray,
    observed: tuple[Domain, FloatArray],
    active: BoolArray,
    y: FloatArray,
    steps: int,
) -> Kernel:
    """Choose a power of the relevance and variances, then lengthscales too."""
    domain, points = observed
    coordinates = MaternFeatures(domain)
    features = coordinates.features(points, active)
    scaled = features * np.exp(-kernel.log_lengthscales)[coordinates.group]
    # the same for every power: it does not depend on the relevance
    matern, _ = matern_52(squared_distances(scaled, scaled))
    start, best = kernel.hyperparameters, np.inf
    chosen = KernelTerms(np.zeros((KINDS, 0, 0)), None, matern)
    for power in POWERS:
        candidate = replace(kernel, relevance=relevance**power)
        z = OverlapKernel(domain, candidate.relevance).features(points, active)
        similarity = z @ z.T if candidate.overlap.count else None
        terms = KernelTerms(candidate.grams(points), similarity, matern)
        theta, loss = maximise_posterior(terms, y, start, steps)
        if loss < best:
            best, chosen = loss, terms
            kernel = replace(candidate, hyperparameters=theta)
    theta, log_lengthscales = maximise_posterior_with_lengthscales(
        chosen,
        features,
        coordinates.group,
        y,
        (kernel.hyperparameters, kernel.log_lengthscales),
        2 * steps,
    )
    return replace(kernel, hyperparameters=theta, log_lengthscales=log_lengthscales)


def _choose_warp(
    kernel: Kernel, points: FloatArray, active: BoolArray, values: FloatArray
) -> float:
    """Choose the warp of the values."""
    rows = kernel.features(points, active)
    covariance = kernel.covariance(rows, rows)
    covariance[np.diag_indices(len(values))] += kernel.hyperparameters.noise
    lower = safe_cholesky(covariance, kernel.hyperparameters.noise)
    return choose_warp(values, lower)


def _standardised(y: FloatArray) -> FloatArray:
    y = (y - y.min()) / (float(np.ptp(y)) or 1.0)  # squares neither overflow nor vanish
    return np.asarray((y - y.mean()) / (float(y.std()) or 1.0))


def _most_rows(d: int) -> int:
    """Return how many observations to fit d lengthscales to, at a bounded cost."""
    affordable = int(math.sqrt(LEARN_WORK / d))
    return max(LEARN_ROWS, min(ROWS_A_COORDINATE * d, affordable))


def _informative(y: FloatArray, limit: int) -> IntArray:
    """Choose what to fit to: the best half and the latest, in order of arrival."""
    if len(y) <= limit:
        return np.arange(len(y))
    best = np.argsort(y, kind="stable")[: limit // 2]
    rest = np.setdiff1d(np.arange(len(y)), best)
    return np.sort(np.concatenate([best, rest[-(limit - len(best)) :]]))
