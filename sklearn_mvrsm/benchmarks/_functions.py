"""The synthetic functions of the paper, on plain arrays.

Every function takes an array of shape (d,): categories, integers, reals. Written
from the formulas in the works cited at each; numpy only.

References
----------
D. H. Ackley, A Connectionist Machine for Genetic Hillclimbing, Kluwer, 1987.

E. M. L. Beale, On an Iterative Method for Finding a Local Minimum of a Function of
More than One Variable, technical report 25, Princeton University, 1958.

L. C. W. Dixon and G. P. Szegoe, The global optimization problem: an introduction, in
Towards Global Optimisation 2, North-Holland, 1978.

H. H. Rosenbrock, An automatic method for finding the greatest or least value of a
function, The Computer Journal 3, 1960.
"""

import numpy as np
from numpy.typing import NDArray


def rosenbrock(x: NDArray[np.float64]) -> float:
    """Return the function of Rosenbrock (1960), 0 at (1, ..., 1).

    Parameters
    ----------
    x : ndarray of shape (d,)
    """
    head, tail = x[:-1], x[1:]
    return float(np.sum(100.0 * (tail - head**2) ** 2 + (1.0 - head) ** 2))


def ackley(x: NDArray[np.float64]) -> float:
    """Return the function of Ackley (1987; a = 20, b = 0.2, c = 2 pi), 0 at 0.

    Parameters
    ----------
    x : ndarray of shape (d,)
    """
    radius = np.sqrt(np.mean(x**2))
    ripple = np.mean(np.cos(2.0 * np.pi * x))
    return float(20.0 - 20.0 * np.exp(-0.2 * radius) + np.e - np.exp(ripple))


def six_hump_camel(x: float, y: float) -> float:
    """Return the six-hump camel function of Dixon and Szegoe (1978).

    It is -1.0316 at +-(0.0898, -0.7127).
    """
    return (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2


def beale(x: float, y: float) -> float:
    """Return the function of Beale (1958), 0 at (3, 0.5)."""
    targets = (1.5, 2.25, 2.625)
    return sum((t - x * (1 - y**k)) ** 2 for k, t in enumerate(targets, start=1))


def func3c(x: NDArray[np.float64]) -> float:
    """Return Func3C of Ru et al. (2020, section 5.1).

    Three categories (3, 5 and 4 values) choose which of the scaled two-variable
    functions are added, at the point (2 x_1, 2 x_2).

    Parameters
    ----------
    x : ndarray of shape (5,)
        Codes h_1, h_2, h_3, then x_1, x_2 in [-1, 1].
    """
    h1, h2, h3 = (int(h) for h in x[:3])
    u, v = 2.0 * x[3:]
    parts = (
        rosenbrock(np.array([u, v])) / 300.0,
        six_hump_camel(u, v) / 10.0,
        beale(u / 2.0 * 2.0, v) / 50.0,
    )
    last = (5.0 * parts[1], 2.0 * parts[0], 2.0 * parts[2], 3.0 * parts[2])
    return float(parts[h1] + parts[min(h2, 2)] + last[h3])


class MiVaBOFunction:
    """A random function of Daxberger et al. (2020, appendix C.1, Gaussian weights).

    f(x) = w_0 + w_d . phi_d + w_c . phi_c + phi_d^T W phi_c, where phi_d are the
    integers and their pairwise products and phi_c random Fourier features
    of the reals, sqrt(2 / m) cos(U x_c + b). All weights are standard normal.

    Parameters
    ----------
    n_integer, n_real : int
        Number of variables of each kind.
    seed : int
        Instance: it seeds U, b and the weights, in this order.
    n_features : int, default=16
        m, the number of Fourier features.
    """

    def __init__(
        self, n_integer: int, n_real: int, seed: int, n_features: int = 16
    ) -> None:
        # The published instances were drawn by the legacy generator.
        rng = np.random.RandomState(seed)
        self._first, self._second = np.triu_indices(n_integer, k=1)
        n_discrete = n_integer + self._first.size
        self._n_integer = n_integer
        self._frequencies = rng.normal(size=(n_features, n_real))
        self._phases = 2.0 * np.pi * rng.rand(n_features)
        weights = rng.normal(size=1 + n_discrete + n_features * (1 + n_discrete))
        self._constant = weights[0]
        self._discrete, self._real, mixed = np.split(
            weights[1:], [n_discrete, n_discrete + n_features]
        )
        self._mixed = mixed.reshape(n_discrete, n_features)

    def __call__(self, x: NDArray[np.float64]) -> float:
        """Return the value at an array of shape (n_integer + n_real,)."""
        integers, reals = x[: self._n_integer], x[self._n_integer :]
        discrete = np.concatenate(
            [integers, integers[self._first] * integers[self._second]]
        )
        waves = np.cos(self._frequencies @ reals + self._phases)
        waves *= np.sqrt(2.0 / waves.size)
        inner = self._discrete + self._mixed @ waves
        return float(self._constant + discrete @ inner + self._real @ waves)


_HARTMANN_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_RATES = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_CENTRES = np.array(
    [
        [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ]
)


def hartmann6(x: NDArray[np.float64]) -> float:
    """Return the six-variable function of Hartmann, -3.32237 at its minimum.

    As in Dixon and Szegoe (1978).
    """
    distances = np.sum(_HARTMANN_RATES * (x - _HARTMANN_CENTRES) ** 2, axis=1)
    return float(-_HARTMANN_HEIGHTS @ np.exp(-distances))
