"""What the scores of a search mean: which metrics there are, and which one guides."""

from typing import Any

import numpy as np

from sklearn_mvrsm._evaluation import FoldScore
from sklearn_mvrsm._results import Candidate
from sklearn_mvrsm._sklearn_compat import named_scorers


class Judge:
    """Knows the metrics, and turns a candidate into the value that is minimised.

    The metrics of a callable ``scoring`` are known only once a fit has succeeded.

    Parameters
    ----------
    search : MVRSMSearchCV
        It has ``refit``, and the check of it for several metrics.
    scorer : callable
        What scores a fit.

    Attributes
    ----------
    multimetric : bool
        Whether metrics have names.
    """

    def __init__(self, search: Any, scorer: Any) -> None:
        named = named_scorers(scorer)
        self._search = search
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
        """Look at a candidate: there is nothing to judge yet."""

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
                self._search._check_refit_for_multimetric(names)
        if set(names) != set(self._names):
            raise ValueError(
                "scoring must return the same metrics for every fit, got "
                f"{sorted(names)} after {sorted(self._names)}"
            )

    def value(self, candidate: Candidate) -> float:
        """Give what is minimised: the negated mean score, nan for a failure."""
        if self._names is None:
            return np.nan
        return -candidate.mean_test_score(self.guide)
