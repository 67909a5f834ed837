"""What the scores of a search mean: which metrics there are, and which one guides."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_mvrsm._evaluation import Candidate, FoldScore
from sklearn_mvrsm._search.racing import Race
from sklearn_mvrsm._sklearn_compat import check_refit, named_scorers


class Judge:
    """Knows the metrics, and turns a candidate into the value that is minimised.

    The metrics of a callable ``scoring`` are known only once a fit has succeeded.

    Parameters
    ----------
    search : MVRSMSearchCV
        It has ``refit``, and the check of it for several metrics.
    scorer : callable
        What scores a fit.
    race : Race or None
        Decides which candidates are given up after some of their folds.

    Attributes
    ----------
    multimetric : bool
        Whether metrics have names.
    """

    def __init__(self, search: Any, scorer: Any, race: Race | None = None) -> None:
        named = named_scorers(scorer)
        self._search = search
        self._race = race
        self._given_up: set[int] = set()
        self._names = None if named is None else list(named)
        self.multimetric = named is not None

    @property
    def names(self) -> list[str]:
        """Names of the metrics; ``["score"]`` for one without, and while unknown."""
        return ["score"] if self._names is None else self._names

    @property
    def guide(self) -> str:
        """The metric that ``refit`` names, else the first."""
        refit = self._search.refit
        return (
            refit if isinstance(refit, str) and refit in self.names else self.names[0]
        )

    def started(self, candidate: int, params: dict[str, Any]) -> None:
        """Let a candidate, which has just been asked for, run against the best."""
        if self._race is not None:
            self._race.enter(candidate)

    def scored(self, fold: FoldScore, params: dict[str, Any]) -> None:
        """Learn the metrics from the first fit that succeeds.

        Parameters
        ----------
        fold : FoldScore
            What became of a fit.
        params : dict
            Of its candidate.

        Raises
        ------
        ValueError
            If ``refit`` does not suit the metrics, or a fit has other metrics than
            the ones before.
        """
        if fold.status != "ok" or fold.test_scores is None:
            return
        names = list(fold.test_scores)
        if not names:
            raise ValueError("scoring must return at least one metric, got {}")
        if self._names is None:
            self._names, self.multimetric = names, fold.multimetric
            if self.multimetric:
                check_refit(self._search, names)
        if set(names) != set(self._names):
            raise ValueError(
                "scoring must return the same metrics for every fit, got "
                f"{sorted(names)} after {sorted(self._names)}"
            )

    def is_scored(self, fold: FoldScore) -> bool:
        """Whether a fold has a score by which its candidate can be compared."""
        scores = fold.test_scores or {}
        guided = isinstance(self._search.refit, str)
        return self.guide in scores if guided else bool(scores)

    def gives_up(self, number: int, folds: Sequence[FoldScore]) -> bool:
        """Whether the other folds of a candidate are not worth their time.

        Parameters
        ----------
        number : int
            Number of the candidate.
        folds : sequence of FoldScore
            Its folds that are decided, in order.
        """
        if self._race is None or not self._race.is_hopeless(number, folds, self.guide):
            return False
        self._given_up.add(number)
        return True

    def score(self, candidate: Candidate) -> float:
        """Mean score of the guide; nan for a failure, or while metrics are unknown."""
        return np.nan if self._names is None else candidate.mean_test_score(self.guide)

    def value(self, number: int, candidate: Candidate) -> float:
        """Give what is minimised, and take note of it.

        Parameters
        ----------
        number : int
            Number of the candidate.
        candidate : Candidate
            Its folds are all decided.

        Returns
        -------
        float
            The negated mean score; an estimate of it for a candidate that was given
            up; nan for a failure.
        """
        if self._race is None:
            return -self.score(candidate)
        self._race.learn(candidate, self.guide)
        if number in self._given_up:
            return -self._race.estimate(number, candidate, self.guide)
        return -self.score(candidate)
