"""When all that was tried has failed in the same way."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from sklearn_mvrsm._evaluation import Candidate, FoldScore
from sklearn_mvrsm._search.failures import describe_failures, message_of
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._search.observers import Observer
from sklearn_mvrsm._search.settings import Settings
from sklearn_mvrsm._space import Categorical, Ordinal, Parameter, SearchSpace, is_real

__all__ = ["CommonFailure"]


_FEWEST = 3
_FEWEST_NUMBERS = 8
_SLOTS_FACTOR = 2
_CLOCK_TIME = re.compile(r"\b\d\d:\d\d:\d\d\b")  # XGBoost puts it into messages


class CommonFailure(Observer):
    """Ends a search whose first candidates have all failed with the same exception.

    They are twice as many as there are slots, three at least. Fold by fold, their fits
    must have raised the same, or have crashed alike; numbers in the messages count.
    Nor may a choice explain it: a family that was not tried might succeed. So each
    alternative and each estimator on offer must have failed, and of other categories
    more than one value. Nor may a number: where all candidates have one, there must be
    eight of them. The initial ones are spread over the ranges of the numbers.

    Parameters
    ----------
    space : SearchSpace
        What is searched.
    settings : Settings
        Those of the search. A number as ``error_score`` has it go on whatever fails.
    objective : Objective
        Knows which scores count.
    n_slots : int
        Fits at a time.
    has_succeeded : bool
        Whether a score is known from an earlier session.
    """

    def __init__(
        self,
        space: SearchSpace,
        settings: Settings,
        objective: Objective,
        n_slots: int,
        *,
        has_succeeded: bool,
    ) -> None:
        goes_on = not np.isnan(settings.score_of_failures)
        self._space = space
        self._settings = settings
        self._objective = objective
        self._n_first = max(_SLOTS_FACTOR * n_slots, _FEWEST)
        self._is_ruled_out = goes_on or has_succeeded
        self._failed: dict[int, Candidate] = {}
        self._n_alike = 0  # of the first candidates

    def scored(self, fold: FoldScore, params: Mapping[str, object]) -> None:
        """Check whether a fold has a score, or might have had one with more time."""
        is_late = fold.status in ("timeout", "out_of_memory")
        self._is_ruled_out |= is_late or self._objective.is_scored(fold)

    def finished(self, number: int, candidate: Candidate) -> None:
        """Compare a candidate with the first.

        Parameters
        ----------
        number : int
            Its number.
        candidate : Candidate
            Its folds are all decided.

        Raises
        ------
        ValueError
            If all candidates so far failed alike, and are enough.
        """
        if self._is_ruled_out:
            return
        self._failed[number] = candidate
        n_before = self._n_alike
        while self._n_alike in self._failed:
            if _reasons(self._failed[self._n_alike]) != _reasons(self._failed[0]):
                self._is_ruled_out = True
                return
            self._n_alike += 1
        is_news = self._n_alike > n_before
        if not is_news or self._n_alike < self._n_first or self._is_explained():
            return
        if self._n_alike < self._space.cardinality:  # else there is no other one
            raise ValueError(self._text())

    @property
    def _alike(self) -> list[Candidate]:
        return [self._failed[k] for k in range(self._n_alike)]

    def _is_explained(self) -> bool:
        """Return whether values that were not tried might succeed."""
        space = self._space
        points = np.array([space.encode(each.params) for each in self._alike])
        active = space.active(points)
        numeric = [
            each.name is not None and _is_numeric(each.parameter)
            for each in space.parameters
        ]
        if active[:, numeric].any(axis=1).all() and len(points) < _FEWEST_NUMBERS:
            return True
        coordinates: dict[str | None, list[int]] = {}
        for j, each in enumerate(space.parameters):
            coordinates.setdefault(each.name, []).append(j)
        for name, own in coordinates.items():
            if not active[:, own].any(axis=1).all():
                continue
            offered, tried = set(), set()
            for j in own:  # several alternatives may have it
                values = _categories(space.parameters[j].parameter)
                offered |= {_key(value) for value in values}
                codes = points[active[:, j], j].astype(int) if values else ()
                tried |= {_key(values[code]) for code in codes}
            families = name is None or any(is_fit for is_fit, _ in offered)
            if len(tried) < (len(offered) if families else min(len(offered), 2)):
                return True
        return False

    def _text(self) -> str:
        unit, run, tried = self._objective.unit, "search", "candidates"
        if unit != "fit":
            run, tried = "run", f"{unit}s"
        hint = (
            f"If others may succeed, set 'error_score' to a number: then the {run} "
            "goes on."
        )
        if self._settings.checkpoint is not None:
            hint += (
                " The checkpoint keeps these failures: once their cause is mended, "
                "begin a new one."
            )
        n_iter = self._settings.n_iter
        share = self._n_alike if n_iter is None else f"{self._n_alike} of {n_iter}"
        return (
            f"\nThe {run} ends after {share} {tried}, as they all failed in the same "
            f"way. {hint}\n"
            f"{describe_failures(self._alike, np.nan, unit)}"
        )


def _categories(parameter: Parameter) -> Sequence[object]:
    return [*parameter.values] if isinstance(parameter, Categorical | Ordinal) else []


def _is_numeric(parameter: Parameter) -> bool:
    """Return whether it is a number, or one of a list of several."""
    if not isinstance(parameter, Categorical | Ordinal):
        return True
    return parameter.size > 2 and any(is_real(value) for value in parameter.values)


def _key(value: object) -> tuple[bool, object]:
    """Return whether a category is an estimator, and what tells it from others."""
    is_estimator = hasattr(value, "fit")
    try:
        hash(value)
    except TypeError:
        return is_estimator, repr(value)
    return is_estimator, (type(value), value)


def _reasons(candidate: Candidate) -> list[tuple[str, str]]:
    """Return why each fold failed, without what differs from one run to the next."""
    return [
        (fold.status, _CLOCK_TIME.sub("", message_of(fold.error)))
        for fold in candidate.folds
    ]
