"""Variance-based sensitivity of a function on a box: Sobol' indices.

Notation
--------
``g`` groups of coordinates, independent of each other and uniform on the box;
``A, B (N, d)``   two independent samples
``A_B^i``         ``A`` with the coordinates of group i taken from ``B``
``V``             variance of ``f``
``S_i``           first order: ``V[E[f | group i]] / V``, what i explains by itself
``T_i``           total: ``E[V[f | all but group i]] / V``, what i explains by itself
                  and together with others

Estimators: ``S_i`` by Saltelli et al., Computer Physics Communications 181 (2010),
259-270, table 2 (b); ``T_i`` by Jansen, Computer Physics Communications 117 (1999),
35-43 (table 2 (f) there). The samples are a Sobol' sequence, shifted at random.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

__all__ = ["SobolIndices", "sobol_indices", "uniform_points"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SobolIndices:
    """Shares of the variance of a function.

    Parameters
    ----------
    first_order, total : ndarray of shape (g,)
        ``S_i`` and ``T_i``; estimates, which may be a little below 0 or above 1.
    total_error : ndarray of shape (g,)
        Standard error of ``total``, from the finite sample.
    variance : float
        ``V``; 0 for a constant function, whose indices are all 0.
    """

    first_order: FloatArray
    total: FloatArray
    total_error: FloatArray
    variance: float


def uniform_points(
    low: FloatArray, high: FloatArray, n_discrete: int, unit: FloatArray
) -> FloatArray:
    """Map the unit cube to a box such that uniform stays uniform.

    Parameters
    ----------
    low, high : ndarray of shape (d,)
        Ends, both included.
    n_discrete : int
        How many coordinates, the first ones, have integer values only.
    unit : ndarray of shape (n, d)
        Numbers from 0 to 1.
    """
    points = low + unit * (high - low)
    ends = high[:n_discrete]
    steps = np.floor(unit[:, :n_discrete] * (ends - low[:n_discrete] + 1.0))
    points[:, :n_discrete] = np.minimum(low[:n_discrete] + steps, ends)
    return points


def sobol_indices(
    function: Callable[[FloatArray], FloatArray],
    to_box: Callable[[FloatArray], FloatArray],
    d: int,
    groups: Sequence[Sequence[int]],
    n_samples: int,
    rng: np.random.Generator,
    exchange: Callable[[int, FloatArray, FloatArray], FloatArray] | None = None,
) -> SobolIndices:
    """Estimate the indices of groups of coordinates.

    Parameters
    ----------
    function : callable
        From points of shape (n, d) to values of shape (n,).
    to_box : callable
        From the unit cube to points, such as `uniform_points`.
    d : int
        Number of coordinates, at least 1.
    groups : sequence of sequence of int
        Disjoint groups of coordinates.
    n_samples : int
        N, a power of two. The function is evaluated ``N (g + 2)`` times.
    rng : numpy.random.Generator
        Of the random shift.
    exchange : callable, optional
        Returns ``A_B^i`` for i, ``A`` and ``B``, where it is more than exchanging the
        coordinates of the group.
    """
    sequence = qmc.Sobol(2 * d, scramble=False).random(n_samples)
    unit = (sequence + rng.random(2 * d)) % 1.0
    a, b = to_box(unit[:, :d]), to_box(unit[:, d:])

    def exchanged(i: int) -> FloatArray:
        if exchange is not None:
            return exchange(i, a, b)
        mixed = a.copy()
        mixed[:, list(groups[i])] = b[:, list(groups[i])]
        return mixed

    mixed = [exchanged(i) for i in range(len(groups))]
    values = function(np.concatenate([a, b, *mixed])).reshape(-1, n_samples)
    values = values - values[:2].mean()  # less variance: the indices do not change
    f_a, f_b, f_mixed = values[0], values[1], values[2:]
    variance = float(values[:2].var())
    if variance <= 1e-12 * float(np.abs(values).max()) ** 2:
        zero = np.zeros(len(groups))
        return SobolIndices(zero, zero, zero, 0.0)
    first = (f_b * (f_mixed - f_a)).mean(axis=1)
    squares = 0.5 * (f_mixed - f_a) ** 2
    error = squares.std(axis=1) / np.sqrt(n_samples)
    return SobolIndices(
        first / variance, squares.mean(axis=1) / variance, error / variance, variance
    )
