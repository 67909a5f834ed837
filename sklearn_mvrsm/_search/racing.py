"""When to give up a candidate after some of its folds.

Notation
--------
K        number of folds; j of them are known of the candidate, m = K - j are not
d_i      score of the incumbent minus that of the candidate on fold i
dbar, v  mean and variance of the known d_i
v_0      mean variance of d over the candidates before, n_0 = 4 its weight
s^2      (n_0 v_0 + (j - 1) v) / (n_0 + j - 1)

The incumbent is the best feasible candidate when this one was asked for. Both are
scored on the same folds, so that their differences are paired. Taking the d_i as draws
from one normal distribution, the difference of the final means is positive unless

    T <= -dbar sqrt(j K / m) / s,    T from Student's t with n_0 + j - 1 degrees,

which is the predictive distribution of the m unknown ones. A candidate is given up
where the chance of that is below the error level divided by K - 1, as it is asked that
often. As v alone means little for two or three folds, it is shrunk towards v_0, the way
variances are moderated in the analysis of gene expression.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

from sklearn_mvrsm._domain import FloatArray
from sklearn_mvrsm._evaluation import Candidate, ScoredFold

_PRIOR_WEIGHT = 4.0
_MIN_VARIANCES = 3
"""Candidates whose differences must have been seen before any is given up."""


class Race:
    """Compares a candidate with the best one before it, fold by fold.

    What it decides depends on the order in which candidates are asked for and learnt,
    never on which fold ends first.

    Parameters
    ----------
    error_level : float
        Chance, in (0, 1), that a candidate is given up that would have become the best.
    """

    def __init__(self, error_level: float) -> None:
        self._error_level = error_level
        self._best: FloatArray | None = None
        self._variances: list[float] = []
        self._rivals: dict[int, tuple[FloatArray, float]] = {}

    def enter(self, number: int) -> None:
        """Record the best candidate by now, which this one is compared with.

        Parameters
        ----------
        number : int
            Number of the candidate.
        """
        if self._best is not None and len(self._variances) >= _MIN_VARIANCES:
            self._rivals[number] = (self._best, float(np.mean(self._variances)))

    def learn(self, candidate: Candidate, metric: str) -> None:
        """Record a candidate; it counts if all its folds have a score.

        Parameters
        ----------
        candidate : Candidate
            Its folds are all decided.
        metric : str
            The metric that guides the search.
        """
        scores = _scores(candidate.folds, metric)
        if not np.isfinite(scores).all():
            return
        if self._best is not None and len(scores) > 1:
            self._variances.append(float(np.var(self._best - scores, ddof=1)))
        better = self._best is None or scores.mean() > self._best.mean()
        if better and candidate.is_feasible:
            self._best = scores

    def is_hopeless(
        self, number: int, folds: Sequence[ScoredFold], metric: str
    ) -> bool:
        """Return whether a candidate can be given up.

        Parameters
        ----------
        number : int
            Number of the candidate.
        folds : sequence of ScoredFold
            Its folds that are decided, in order.
        metric : str
            The metric that guides the search.
        """
        if number not in self._rivals:
            return False
        best, prior = self._rivals[number]
        j, n_folds = len(folds), len(best)
        scores = _scores(folds, metric)
        if not 0 < j < n_folds or not np.isfinite(scores).all():
            return False
        differences = best[:j] - scores
        degrees = _PRIOR_WEIGHT + j - 1
        spread = _PRIOR_WEIGHT * prior + ((differences - differences.mean()) ** 2).sum()
        if spread == 0.0:
            return bool(differences.mean() > 0.0)
        scale = math.sqrt(spread / degrees) * math.sqrt((n_folds - j) / (j * n_folds))
        chance = stdtr(degrees, -differences.mean() / scale)
        return bool(chance < self._error_level / (n_folds - 1))

    def estimate(self, number: int, candidate: Candidate, metric: str) -> float:
        """Return the mean score of a candidate if it had not been given up.

        Parameters
        ----------
        number : int
            Number of the candidate, which was found hopeless.
        candidate : Candidate
            With its skipped folds.
        metric : str
            The metric that guides the search.

        Returns
        -------
        float
            On the unknown folds it is taken to differ from the incumbent as it did on
            the known ones, on average.
        """
        best, _ = self._rivals[number]
        scores = _scores(candidate.folds, metric)
        known = np.isfinite(scores)
        return float(best.mean() - (best - scores)[known].mean())


def _scores(folds: Sequence[ScoredFold], metric: str) -> FloatArray:
    return np.array([(fold.test_scores or {}).get(metric, np.nan) for fold in folds])
