"""A surrogate that follows the trials, at a bounded cost."""

import math

import numpy as np

from sklearn_mvrsm._domain import FloatArray, IntArray, Region, impute_failures
from sklearn_mvrsm._surrogate import CAPACITY, FORGET, Surrogate

__all__ = ["ObservedSurrogate", "retained"]


GROWTH = 1.15  # the model is fitted again when there are so many times more values


class ObservedSurrogate:
    """A surrogate and the trials that it holds, no more than ``CAPACITY``.

    Parameters
    ----------
    region : Region
    seed : int
        Of the surrogate's random directions.

    Attributes
    ----------
    surrogate : Surrogate
    rows : ndarray of shape (k,)
        Trials that it holds, ascending.
    """

    def __init__(self, region: Region, seed: int) -> None:
        self.region = region
        self.surrogate = Surrogate(region.domain, seed)
        self.rows: IntArray = np.zeros(0, np.intp)
        self._known = 0  # trials that it was given
        self._fitted_at = 0  # trials that it held when it was fitted

    def observe(
        self,
        points: FloatArray,
        values: FloatArray,
        rows: IntArray,
        merit: FloatArray | None = None,
        limit: float = -math.inf,
    ) -> tuple[FloatArray, FloatArray]:
        """Append what is new, fit again after growth, and solve.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            Every trial.
        values : ndarray of shape (n,)
            Finite in the rows.
        rows : ndarray of shape (m,)
            The trials that it may hold, ascending, of which none has left.
        merit : ndarray of shape (n,) or None
            What is low for trials that are worth keeping; None: the values.
        limit : float
            Values above it remain above it, however far they are from the others.

        Returns
        -------
        points, values : ndarray of shape (k, d) and ndarray of shape (k,)
            Of the trials that it holds.
        """
        new, self._known = rows[self._known :], len(rows)
        self.rows = np.concatenate([self.rows, new])
        crowded = len(self.rows) > CAPACITY
        if crowded:
            merit = values if merit is None else merit
            self.rows = retained(self.rows, impute_failures(merit[self.rows]))
        held, its = points[self.rows], impute_failures(values[self.rows], limit)
        if crowded or len(self.rows) >= GROWTH * self._fitted_at:
            self._fitted_at = len(self.rows)
            self.surrogate.fit_hyperparameters(held, self.region.active(held), its)
        elif len(new):
            fresh = points[new]
            self.surrogate.append(fresh, self.region.active(fresh))
        self.surrogate.solve(its)
        return held, its


def retained(rows: IntArray, values: FloatArray) -> IntArray:
    """Choose the trials to keep, ascending: good or late, and always the best.

    Those with the greatest sum of ranks in value and age are dropped.
    """
    rank = np.argsort(np.argsort(values, kind="stable"))
    age = np.arange(len(rows))[::-1]
    keep = np.argsort(rank + age, kind="stable")[: int(CAPACITY * (1.0 - FORGET))]
    return np.sort(rows[np.union1d(keep, [np.argmin(values)])])
