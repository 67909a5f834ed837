"""A search as a study of optuna, for its plots and its dashboard."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState
from sklearn.exceptions import NotFittedError

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMSearchCV,
    Ordinal,
    Real,
    SearchSpace,
)

__all__ = ["to_study"]


_LONGEST = 80  # characters of a category that is an object
_PLAIN = (bool, int, float, str, type(None))  # what optuna has as categories


def to_study(
    search: MVRSMSearchCV,
    *,
    storage: str | optuna.storages.BaseStorage | None = None,
    study_name: str | None = None,
) -> optuna.Study:
    """Return a study with a trial for each candidate of a search.

    Parameters
    ----------
    search : MVRSMSearchCV
        Fitted, or interrupted after its first candidate.
    storage : str or optuna.storages.BaseStorage, default=None
        As for ``optuna.create_study``; None: in memory.
    study_name : str, default=None
        As for ``optuna.create_study``.

    Returns
    -------
    optuna.Study
        To be maximised; its values are the mean test scores of the metric that the
        search follows. Trial k is row k of ``cv_results_``, with the parameters that
        exist there. Scores of the folds are intermediate values, step k is fold k.
        Failed candidates have the state FAIL, those that ``racing`` gave up PRUNED.
        The value of a ``constraint`` is that of optuna's trials, so that its best trial
        is feasible, too. Categories that are objects are named by their text.
        ``status``, fit times, means of other metrics and texts of errors are user
        attributes.

    Raises
    ------
    TypeError
        If it is no such search.
    NotFittedError
        If the search has no results.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from sklearn_mvrsm import MVRSMSearchCV, Real
    >>> from sklearn_mvrsm.optuna import to_study
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MVRSMSearchCV(SVC(), {"C": Real(0.1, 10.0)}, n_iter=5, random_state=0)
    >>> study = to_study(search.fit(X, y))
    >>> len(study.trials), bool(study.best_value == search.best_score_)
    (5, True)
    """
    if not isinstance(search, MVRSMSearchCV):
        raise TypeError(
            f"to_study needs a fitted MVRSMSearchCV, got {type(search).__name__}"
        )
    if not hasattr(search, "cv_results_"):
        raise NotFittedError(f"to_study needs a search that is fitted, got {search!r}")
    study = optuna.create_study(
        storage=storage, study_name=study_name, direction="maximize"
    )
    study.add_trials(_trials(search))
    return study


def _trials(search: MVRSMSearchCV) -> list[FrozenTrial]:
    results, space = search.cv_results_, search.space_
    metrics = [name[10:] for name in results if name.startswith("mean_test_")]
    metric = search.refit if search.refit in metrics else metrics[0]
    labels = _labels(space)
    shown = [_shown(space, params, labels) for params in results["params"]]
    distributions = _distributions(space, labels, shown)
    times = _times(search)
    trials = []
    for row, params in enumerate(shown):
        folds = [
            results[f"split{k}_test_{metric}"][row] for k in range(search.n_splits_)
        ]
        state = _state(search, row)
        trials.append(
            FrozenTrial(
                number=row,
                trial_id=row,
                state=state,
                value=None,
                values=[float(results[f"mean_test_{metric}"][row])]
                if state == TrialState.COMPLETE
                else None,
                datetime_start=times[row][0],
                datetime_complete=times[row][1],
                params=params,
                distributions={name: distributions[name] for name in params},
                user_attrs=_attributes(search, metrics, row),
                system_attrs=_constraint(search, row),
                intermediate_values={
                    k: float(score)
                    for k, score in enumerate(folds)
                    if math.isfinite(score) and state != TrialState.FAIL
                },
            )
        )
    return trials


def _state(search: MVRSMSearchCV, row: int) -> TrialState:
    results = search.cv_results_
    folds = [results[f"split{k}_status"][row] for k in range(search.n_splits_)]
    if results["status"][row] == "ok" and "skipped" in folds:
        return TrialState.PRUNED
    needed = [name for name in results if name.startswith("mean_test_")]
    needed += ["constraint"] if "constraint" in results else []
    finite = all(math.isfinite(results[name][row]) for name in needed)
    finite = finite and results["status"][row] == "ok"
    return TrialState.COMPLETE if finite else TrialState.FAIL


def _constraint(search: MVRSMSearchCV, row: int) -> dict[str, Any]:
    """Return the constraint of a candidate where optuna's samplers put theirs."""
    value = search.cv_results_.get("constraint", {row: math.nan})[row]
    return {} if math.isnan(value) else {"constraints": [float(value)]}


def _attributes(
    search: MVRSMSearchCV, metrics: Sequence[str], row: int
) -> dict[str, object]:
    results = search.cv_results_
    names = ["mean_fit_time", "mean_score_time", *(f"mean_test_{m}" for m in metrics)]
    numbers = {name: float(results[name][row]) for name in names}
    errors = [results[f"split{k}_error"][row] for k in range(search.n_splits_)]
    text = next(filter(None, errors), None)
    return {
        "status": str(results["status"][row]),
        **{name: number for name, number in numbers.items() if math.isfinite(number)},
        **({} if text is None else {"error": str(text)}),
    }


def _times(search: MVRSMSearchCV) -> list[tuple[datetime, datetime]]:
    """Return when each candidate began and ended, as if the last ended now."""
    log = search.fit_log_
    last = np.nanmax(log["finish"], initial=0.0)
    begin = datetime.now() - timedelta(seconds=float(last))
    times = []
    for row in range(len(search.cv_results_["params"])):
        mine = (log["candidate"] == row) & (log["slot"] >= 0)
        ends = (0.0, 0.0)  # of a checkpoint
        if mine.any():
            ends = (log["start"][mine].min(), log["finish"][mine].max())
        start, finish = (begin + timedelta(seconds=float(end)) for end in ends)
        times.append((start, finish))
    return times


# --- parameters ----------------------------------------------------------------------


def _labels(space: SearchSpace) -> dict[int, list[object]]:
    """Return what stands for the values of each category, by its coordinate."""
    labels: dict[int, list[Any]] = {}
    for j, each in enumerate(space.parameters):
        if not isinstance(each.parameter, Categorical | Ordinal) or each.name is None:
            continue
        values = list(each.parameter.values)
        if not all(isinstance(value, _PLAIN) for value in values) or len(
            {value for value in values if value == value}
        ) < len(values):
            values = [_text(value) for value in values]
        repeated = {value for value in values if values.count(value) > 1}
        labels[j] = [
            f"{value} [{k}]" if value in repeated else value
            for k, value in enumerate(values)
        ]
    return labels


def _text(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _distributions(
    space: SearchSpace, labels: dict[int, list[Any]], shown: list[dict[str, Any]]
) -> dict[str, BaseDistribution]:
    """Return a distribution for each name, wide enough for all alternatives."""
    found: dict[str, BaseDistribution] = {}
    for name in space.names:
        places = [j for j, each in enumerate(space.parameters) if each.name == name]
        declared = [space.parameters[j].parameter for j in places]
        ranges = [each for each in declared if isinstance(each, Real | Integer)]
        if len(ranges) == len(declared):
            low, high = min(p.low for p in ranges), max(p.high for p in ranges)
            log = all(each.log for each in ranges)
            step = _common_step(ranges)
            found[name] = (
                IntDistribution(int(low), int(high), log=log, step=int(step or 1))
                if all(isinstance(each, Integer) for each in ranges)
                else FloatDistribution(low, high, log=log, step=step)
            )
            continue
        choices = [label for j in places for label in labels.get(j, [])]
        choices += [params[name] for params in shown if name in params]
        found[name] = CategoricalDistribution(list(dict.fromkeys(choices)))
    return found


def _common_step(ranges: Sequence[Real | Integer]) -> float | None:
    """Return the step of ranges, None if they have none or not the same values."""
    first = ranges[0]
    alike = all(
        (each.low, each.high, each.step) == (first.low, first.high, first.step)
        for each in ranges
    )
    if not alike or not first.has_steps:
        return None
    n_steps = (Fraction(repr(first.high)) - Fraction(repr(first.low))) / Fraction(
        repr(first.step)
    )
    # optuna's last step is at most ``high`` in decimal numbers
    return first.step if n_steps == first.size - 1 else None


def _shown(
    space: SearchSpace, params: dict[str, object], labels: dict[int, list[object]]
) -> dict[str, object]:
    """Return the parameters of a candidate as optuna has them."""
    point = space.encode(params)
    shown = dict(params)
    for j in np.flatnonzero(space.active(point)).tolist():
        name = space.parameters[j].name
        if name is not None and j in labels:
            shown[name] = labels[j][int(point[j])]
    return shown
