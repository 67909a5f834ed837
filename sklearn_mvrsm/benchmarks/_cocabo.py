"""CoCaBO, written from its paper: Ru et al., ICML 2020, arXiv 1906.08878.

A multi-armed bandit (EXP3) for each category picks its value; given those, a Gaussian
process over categories and reals picks the reals by its lower confidence bound.
Integers are categories to it, as in the experiments of the MVRSM paper, and the
encoding of conditional parameters is naive.

Notation: h (n, c) categories, x (n, r) reals scaled to [-1, 1], y (n,) standardised;
lambda the mixture weight of eq. (2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from sklearn_mvrsm.benchmarks._problem import Meter
from sklearn_mvrsm.benchmarks._variables import (
    Variable,
    active,
    complete,
    numbers,
    variables_of,
)

Array = NDArray[np.float64]

MIXTURE = 0.5  # lambda of eq. (2), the paper's choice in the MVRSM experiments
CONFIDENCE = 2.0  # standard deviations of the lower confidence bound
REFIT = 10  # steps between fits of the hyperparameters
STARTS = 5
LENGTH_SCALES = (1e-2, 3.0)
NOISES = (1e-6, 1.0)
CANDIDATES = 5000
REFINED = 3


class Bandit:
    """EXP3 over the values of one category.

    Parameters
    ----------
    size : int
        Number of values.
    horizon : int
        Steps that the run will take.
    """

    def __init__(self, size: int, horizon: int) -> None:
        bound = 2.0 * horizon / 3.0
        gamma = math.sqrt(size * math.log(size) / ((math.e - 1.0) * bound))
        self._gamma = min(1.0, gamma)
        self._log_weights = np.zeros(size)

    def probabilities(self) -> Array:
        """Return the chance of each value, shape (size,)."""
        weights = np.exp(self._log_weights - np.max(self._log_weights))
        size = len(weights)
        share = weights / np.sum(weights)
        chances: Array = (1.0 - self._gamma) * share + self._gamma / size
        return chances

    def reward(self, value: int, reward: float) -> None:
        """Learn that a value earned a reward in [0, 1]."""
        estimate = reward / self.probabilities()[value]
        self._log_weights[value] += self._gamma * estimate / len(self._log_weights)


def overlap_kernel(h: Array, other: Array) -> Array:
    """Return the share of equal categories, shape (n, m); eq. (1)."""
    if h.shape[1] == 0:
        return np.ones((len(h), len(other)))
    shares: Array = np.mean(h[:, np.newaxis] == other[np.newaxis], axis=2)
    return shares


def matern_kernel(x: Array, other: Array, length_scale: float) -> Array:
    """Return the Matern kernel of smoothness 5/2, shape (n, m)."""
    squares = np.sum(x**2, axis=1)[:, np.newaxis] + np.sum(other**2, axis=1)
    squares = np.maximum(squares - 2.0 * x @ other.T, 0.0)
    r = np.sqrt(5.0 * squares) / length_scale
    kernel: Array = (1.0 + r + r**2 / 3.0) * np.exp(-r)
    return kernel


def mixed_kernel(overlap: Array, matern: Array) -> Array:
    """Return (1 - lambda) (k_h + k_x) + lambda k_h k_x; eq. (2)."""
    return (1.0 - MIXTURE) * (overlap + matern) + MIXTURE * overlap * matern


@dataclass(frozen=True)
class Hyperparameters:
    """Length scale of the reals and variance of the noise."""

    length_scale: float
    noise: float


class Process:
    """A Gaussian process conditioned on what was observed.

    Parameters
    ----------
    h : ndarray of shape (n, c)
    x : ndarray of shape (n, r)
    y : ndarray of shape (n,)
        Standardised.
    hyperparameters : Hyperparameters
    """

    def __init__(
        self, h: Array, x: Array, y: Array, hyperparameters: Hyperparameters
    ) -> None:
        self._h, self._x = h, x
        self._length_scale = hyperparameters.length_scale
        matern = matern_kernel(x, x, self._length_scale)
        kernel = mixed_kernel(overlap_kernel(h, h), matern)
        kernel[np.diag_indices_from(kernel)] += hyperparameters.noise
        self._factor = cho_factor(kernel, lower=True)
        self._alpha = cho_solve(self._factor, y)
        logarithm = np.sum(np.log(np.diag(self._factor[0])))
        self.cost = float(y @ self._alpha / 2.0 + logarithm)

    def lower_bound(self, h: Array, x: Array) -> Array:
        """Return mean - 2 standard deviations at (h, x), for h of shape (c,)."""
        overlap = overlap_kernel(h[np.newaxis], self._h)
        matern = matern_kernel(x, self._x, self._length_scale)
        kernel = mixed_kernel(overlap, matern)
        own = 2.0 * (1.0 - MIXTURE) + MIXTURE
        variance = own - np.sum(kernel * cho_solve(self._factor, kernel.T).T, axis=1)
        deviation = np.sqrt(np.maximum(variance, 1e-12))
        bound: Array = kernel @ self._alpha - CONFIDENCE * deviation
        return bound


def fit(h: Array, x: Array, y: Array, rng: np.random.Generator) -> Hyperparameters:
    """Return the hyperparameters of the largest marginal likelihood found."""
    bounds = np.log([LENGTH_SCALES, NOISES])

    def cost(logarithms: Array) -> float:
        try:
            return Process(h, x, y, Hyperparameters(*np.exp(logarithms))).cost
        except np.linalg.LinAlgError:
            return 1e10

    starts = rng.uniform(bounds[:, 0], bounds[:, 1], (STARTS, 2))
    found = [
        minimize(cost, start, method="L-BFGS-B", bounds=bounds) for start in starts
    ]
    best = min(found, key=lambda result: float(result.fun))
    return Hyperparameters(*(float(v) for v in np.exp(best.x)))


def next_reals(
    process: Process, h: Array, n_reals: int, rng: np.random.Generator
) -> Array:
    """Return the reals in [-1, 1] of the least lower bound, given the categories."""
    if n_reals == 0:
        return np.zeros(0)
    candidates = rng.uniform(-1.0, 1.0, (CANDIDATES, n_reals))
    bound = process.lower_bound(h, candidates)
    found: list[tuple[float, Array]] = []
    for k in np.argsort(bound)[:REFINED]:
        result = minimize(
            lambda x: float(process.lower_bound(h, x[np.newaxis])[0]),
            candidates[k],
            method="L-BFGS-B",
            bounds=[(-1.0, 1.0)] * n_reals,
        )
        found.append((float(result.fun), result.x))
    return min(found, key=lambda pair: pair[0])[1]


@dataclass(frozen=True)
class Encoding:
    """Variables as categories h and reals x in [-1, 1].

    Parameters
    ----------
    variables : tuple of Variable
    """

    variables: tuple[Variable, ...]

    @property
    def categories(self) -> list[int]:
        """Places of the categories and integers among the variables."""
        return [k for k, v in enumerate(self.variables) if v.kind != "real"]

    @property
    def reals(self) -> list[int]:
        """Places of the reals among the variables."""
        return [k for k, v in enumerate(self.variables) if v.kind == "real"]

    def bounds(self) -> Array:
        """Return the bounds of the reals, shape (r, 2), logarithms where declared."""
        pairs = [
            np.log([v.low, v.high]) if v.log else [v.low, v.high]
            for v in self.variables
            if v.kind == "real"
        ]
        return np.array(pairs, dtype=float).reshape(-1, 2)

    def encode(self, numbers: Array) -> tuple[Array, Array]:
        """Return h and x of the numbers of all variables."""
        low, high = self.bounds().T
        logs = [self.variables[k].log for k in self.reals]
        x = numbers[self.reals]
        x = np.where(logs, np.log(np.where(logs, x, 1.0)), x)
        return numbers[self.categories], 2.0 * (x - low) / (high - low) - 1.0

    def decode(self, h: Array, x: Array) -> dict[str, object]:
        """Return the values of all variables."""
        low, high = self.bounds().T
        logs = [self.variables[k].log for k in self.reals]
        x = low + (x + 1.0) / 2.0 * (high - low)
        x = np.where(logs, np.exp(np.where(logs, x, 0.0)), x)
        numbers = np.zeros(len(self.variables))
        numbers[self.categories], numbers[self.reals] = h, x
        pairs = zip(self.variables, numbers, strict=True)
        return {v.name: v.value(number) for v, number in pairs}


def cocabo(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by CoCaBO, one point at a time.

    The reward of a value is the best objective seen with it, scaled to [0, 1] by
    the range of all objectives seen.
    """
    rng = np.random.default_rng(seed)
    variables = variables_of(problem.space)
    encoding = Encoding(variables)
    lows = [variables[k].low for k in encoding.categories]
    bandits = [Bandit(variables[k].size, budget) for k in encoding.categories]
    h_rows, x_rows, values = [], [], []
    for params in problem.initial_points(seed):
        full = complete(variables, params, rng)
        h, x = encoding.encode(numbers(variables, full))
        h_rows.append(h)
        x_rows.append(x)
        values.append(problem.evaluate(params))
    hyperparameters = Hyperparameters(1.0, 1e-3)
    for step in range(budget):
        h = np.array([rng.choice(len(p), p=p) for p in _chances(bandits)]) + lows
        seen_h, seen_x, seen = np.array(h_rows), np.array(x_rows), np.array(values)
        spread = float(np.std(seen))
        y = (seen - np.mean(seen)) / (spread if spread > 0.0 else 1.0)
        if step % REFIT == 0:
            hyperparameters = fit(seen_h, seen_x, y, rng)
        process = Process(seen_h, seen_x, y, hyperparameters)
        x = next_reals(process, h, len(encoding.reals), rng)
        value = problem.evaluate(active(variables, encoding.decode(h, x)))
        h_rows.append(h)
        x_rows.append(x)
        values.append(value)
        _reward(bandits, np.array(h_rows), np.array(values), lows)
    return problem.values


def _chances(bandits: list[Bandit]) -> list[Array]:
    return [bandit.probabilities() for bandit in bandits]


def _reward(bandits: list[Bandit], h: Array, values: Array, lows: list[float]) -> None:
    """Update every bandit by how good its last value has been so far."""
    worst, best = np.max(values), np.min(values)
    span = worst - best if worst > best else 1.0
    for k, bandit in enumerate(bandits):
        like_last = h[:, k] == h[-1, k]
        reward = (worst - np.min(values[like_last])) / span
        bandit.reward(int(h[-1, k] - lows[k]), float(reward))
