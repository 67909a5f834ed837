"""What is minimised: the metric that a search follows, negated, or a function."""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from sklearn_mvrsm._compat.sklearn import BaseSearchCV, check_refit, named_scorers
from sklearn_mvrsm._evaluation import Candidate, FoldScore
from sklearn_mvrsm._search.constraint import Constraint
from sklearn_mvrsm._search.observers import Observer
from sklearn_mvrsm._search.racing import Race
from sklearn_mvrsm._search.settings import Settings

__all__ = ["FunctionObjective", "Objective", "objective_of"]


class Objective(Observer):
    """Knows the metrics, and turns a candidate into the value that is minimised.

    The metrics of a callable ``scoring`` are known only once a fit has succeeded.

    Parameters
    ----------
    scorer : callable
        What scores a fit.
    refit : bool, str or callable
        As the search has it.
    check_refit : callable
        ``check_refit(metrics)`` raises ValueError unless ``refit`` suits several
        metrics, which become known during the search.
    race : Race or None
        Decides which candidates are pruned after some of their folds.
    constraint : Constraint or None
        Decides which candidates are feasible.

    Attributes
    ----------
    multimetric : bool
        Whether metrics have names.
    scorers : callable or dict of callable
        What scores a fit, by the name of the metric where it has one.
    greater_is_better : bool
        Whether scores are maximised.
    unit : str
        What is done for a score.
    constraint : Constraint or None
        As given.
    """

    greater_is_better = True
    unit = "fit"

    def __init__(
        self,
        scorer: object,
        refit: object,
        check_refit: Callable[[Collection[str]], None],
        race: Race | None = None,
        constraint: Constraint | None = None,
    ) -> None:
        named = named_scorers(scorer)
        self.scorers = scorer if named is None else named
        self._refit = refit
        self._check_refit = check_refit
        self._race = race
        self.constraint = constraint
        self._names = None if named is None else list(named)
        self.multimetric = named is not None

    @property
    def names(self) -> list[str]:
        """Names of the metrics; ``["score"]`` for one without, and while unknown."""
        return ["score"] if self._names is None else self._names

    @property
    def refit_metric(self) -> str:
        """The metric that ``refit`` names, else the first: the search follows it."""
        refit = self._refit
        named = isinstance(refit, str) and refit in self.names
        return str(refit) if named else self.names[0]

    def started(self, number: int, params: Mapping[str, object]) -> None:
        """Note the best candidate by now, which this one is compared with."""
        if self._race is not None:
            self._race.enter(number)

    def scored(self, fold: FoldScore, params: Mapping[str, object]) -> None:
        """Learn the metrics from the first fit that succeeds.

        Parameters
        ----------
        fold : FoldScore
            What became of a fit.
        params : mapping
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
                self._check_refit(names)
            if self.constraint is not None:
                self.constraint.check_names(names, multimetric=self.multimetric)
        if set(names) != set(self._names):
            raise ValueError(
                "scoring must return the same metrics for every fit, got "
                f"{sorted(names)} after {sorted(self._names)}"
            )

    def is_scored(self, fold: FoldScore) -> bool:
        """Return whether a fold has a score by which its candidate can be compared."""
        scores = fold.test_scores or {}
        named = isinstance(self._refit, str)
        return self.refit_metric in scores if named else bool(scores)

    def should_prune(self, number: int, folds: Sequence[FoldScore]) -> bool:
        """Return whether the other folds of a candidate are not worth their time.

        Parameters
        ----------
        number : int
            Number of the candidate.
        folds : sequence of FoldScore
            Its folds that are decided, in order.
        """
        race = self._race
        return race is not None and race.is_hopeless(number, folds, self.refit_metric)

    def fold_scores(self, candidate: Candidate) -> tuple[float, ...]:
        """Return the scores of a candidate on its folds, nan where there is none."""
        metric, folds = self.refit_metric, candidate.folds
        return tuple((fold.test_scores or {}).get(metric, np.nan) for fold in folds)

    def score(self, candidate: Candidate) -> float:
        """Return the mean score; nan for a failure, or while metrics are unknown."""
        if self._names is None:
            return np.nan
        return candidate.mean_test_score(self.refit_metric)

    def constraint_of(self, candidate: Candidate) -> float | None:
        """Return the number that must be <= 0; None if there is no constraint."""
        if self.constraint is None:
            return None
        return self.constraint.value(candidate, self.names)

    def minimised(self, score: float) -> float:
        """Negate a score, which is done here and nowhere else: values are minimised."""
        return -score

    def value(self, number: int, candidate: Candidate) -> float:
        """Return what is minimised, and have later candidates compared with this one.

        Parameters
        ----------
        number : int
            Number of the candidate.
        candidate : Candidate
            Its folds are all decided.

        Returns
        -------
        float
            The negated mean score; an estimate of it for a candidate that was pruned;
            nan for a failure, such as that of a constraint.
        """
        if self._race is not None:
            metric = self.refit_metric
            self._race.learn(candidate, metric)
            if candidate.is_pruned:
                return self.minimised(self._race.estimate(number, candidate, metric))
        if candidate.constraint is not None and np.isnan(candidate.constraint):
            return np.nan
        return self.minimised(self.score(candidate))


def objective_of(search: BaseSearchCV, settings: Settings, scorer: object) -> Objective:
    """Return the objective of a search, with its race and its constraint."""
    given, trained = settings.constraint, settings.return_train_score
    return Objective(
        scorer,
        settings.refit,
        functools.partial(check_refit, search),
        Race(settings.racing) if settings.racing else None,
        None if given is None else Constraint(given, return_train_score=trained),
    )


class FunctionObjective(Objective):
    """The value of a function, which is minimised."""

    greater_is_better = False
    unit = "evaluation"

    def __init__(self) -> None:
        super().__init__(None, False, lambda names: None)

    def fold_scores(self, candidate: Candidate) -> tuple[float, ...]:
        """Return nothing: there are no folds."""
        return ()

    def score(self, candidate: Candidate) -> float:
        """Return the value of the function; nan if there is none."""
        return (candidate.folds[0].test_scores or {}).get("score", np.nan)

    def minimised(self, score: float) -> float:
        """Return the value of the function, as it is."""
        return score
