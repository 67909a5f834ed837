"""Mistakes found before anything is fitted."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
from joblib.parallel import get_active_backend
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import process_routing

from sklearn_mvrsm._compat.joblib import is_local_backend
from sklearn_mvrsm._compat.sklearn import BaseSearchCV, MultimetricScorer
from sklearn_mvrsm._execution import memory_limit_problem
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._search.settings import Settings
from sklearn_mvrsm._space import SearchSpace
from sklearn_mvrsm._warnings import warn

Point = npt.NDArray[np.float64]

_N_SAMPLES = 10
_ROUTING = "enable_metadata_routing"


def check_names(estimator: BaseEstimator, space: SearchSpace) -> None:
    """Refuse a parameter that the estimator does not have.

    ``get_params`` cannot tell: ``clf__C`` is valid where ``clf`` itself is searched. So
    configurations are set on clones, until each parameter has existed at least once.

    Parameters
    ----------
    estimator : estimator
        It is not changed.
    space : SearchSpace
        The space whose names are tried.

    Raises
    ------
    ValueError
        Naming the parameter and the estimator.
    """
    for point in _covering_points(space):
        params = space.decode(point)
        error = _refusal(estimator, params)
        if error is not None:
            raise ValueError(
                f"Parameter {_culprit(estimator, params)!r} of the space cannot be set "
                f"on {estimator!r}: {error}"
            ) from error


def check_choice(search: BaseSearchCV, objective: Objective) -> None:
    """Refuse a constraint or a rule as ``refit`` that does not suit a search.

    Parameters
    ----------
    search : MVRSMSearchCV
        Its ``space_`` and ``n_splits_`` are there.
    objective : Objective
        Knows the metrics, and the constraint.

    Raises
    ------
    ValueError
        If a constraint, or a rule of `selection`, names a metric that there is not; if
        such a rule cannot order the categories of a parameter, or has too few folds.
    TypeError
        For the class of a rule.
    """
    known = not callable(search.scoring)
    if known and objective.constraint is not None:
        multimetric = objective.multimetric
        objective.constraint.check_names(objective.names, multimetric=multimetric)
    if hasattr(search.refit, "check_search"):
        if isinstance(search.refit, type):
            raise TypeError(
                "'refit' must be a rule, such as one_standard_error(by='C'), got the "
                f"class {search.refit.__name__}"
            )
        values: dict[str, list[object]] = {name: [] for name in search.space_.names}
        all_may_occur = not search.space_.constraints and search.constraint is None
        for each in search.space_.parameters if all_may_occur else ():
            if each.name is not None and hasattr(each.parameter, "values"):
                values[each.name] += each.parameter.values
        metrics = objective.names if known else None
        search.refit.check_search(values, metrics, search.n_splits_)


def check_target(search: BaseSearchCV, y: object) -> None:
    """Refuse to fit a classifier or regressor without a target.

    Parameters
    ----------
    search : MVRSMSearchCV
        It is what its estimator is.
    y : array-like or None
        The target.

    Raises
    ------
    ValueError
        If there is none, and there must be one.
    """
    if y is None and (is_classifier(search) or is_regressor(search)):
        raise ValueError(
            f"{type(search).__name__} requires y to be passed, but the target y is "
            f"None; {search.estimator!r} is a classifier or regressor"
        )


def check_memory_limit(limit: int | None, n_jobs: int | None) -> None:
    """Refuse a memory limit where fits run on this machine and nothing enforces it.

    Parameters
    ----------
    limit : int or None
        Bytes for one fit.
    n_jobs : int or None
        As the search has it.

    Raises
    ------
    ValueError
        If there is a limit, and the platform has none.
    """
    if limit is None or (n_jobs != 1 and not is_local_backend(get_active_backend()[0])):
        return
    if problem := memory_limit_problem():
        raise ValueError(
            f"'fit_memory_limit' must be None here, got {limit}: {problem}"
        )


def check_scorer_routing(scorer: object, params: Mapping[str, object]) -> None:
    """Refuse metadata that one of several scorers has not said whether to take.

    Scorers of several metrics find that out where they score, which is too late.

    Parameters
    ----------
    scorer : callable
        What is to score the fits.
    params : mapping
        Metadata for it.

    Raises
    ------
    UnsetMetadataPassedError
        Naming the metric and the metadata.
    """
    if isinstance(scorer, MultimetricScorer) and get_config()[_ROUTING]:
        process_routing(scorer, "score", **params)


def warn_of_idle_slots(
    settings: Settings, n_splits: int, n_slots: int, unit: str = "fit"
) -> None:
    """Warn where more fits could run at a time than there ever are.

    Parameters
    ----------
    settings : Settings
        Those of the search.
    n_splits : int
        Number of folds.
    n_slots : int
        Fits that could run at a time.
    unit : str
        What runs; it is "evaluation" for a function, which has no folds.
    """
    n_busy = settings.n_pending * n_splits
    whose = f"candidates of {n_splits} folds need" if unit == "fit" else "needs"
    if n_slots > n_busy:
        warn(
            f"n_jobs={settings.n_jobs} allows {n_slots} {unit}s at a time, but "
            f"n_pending={settings.n_pending} {whose} only {n_busy}: "
            "the others stay idle. A larger 'n_pending' uses them, at the "
            "price of proposals made from fewer results."
        )


def _covering_points(space: SearchSpace) -> Iterator[Point]:
    """Yield points such that every parameter is active in one of them."""
    rng = np.random.default_rng(0)
    missing = np.ones(len(space.parameters), dtype=bool)
    for k in range(_N_SAMPLES):
        point = space.sample_point(rng)
        if k == 0 or (space.active(point) & missing).any():
            missing &= ~space.active(point)
            yield point
    for coordinate in np.flatnonzero(missing).tolist():
        if missing[coordinate]:
            point = space.canonical(
                _activated(space, space.sample_point(rng), coordinate)
            )
            missing &= ~space.active(point)
            yield point


def _activated(space: SearchSpace, point: Point, coordinate: int) -> Point:
    """Change ``point`` so that what ``coordinate`` depends on has a fitting value."""
    for condition in space.parameters[coordinate].conditions:
        parent = space.parameters[condition.parent].parameter
        point[condition.parent] = parent.number_at(condition.spans[0][0])
        point = _activated(space, point, condition.parent)
    return point


def _refusal(
    estimator: BaseEstimator, params: Mapping[str, object]
) -> Exception | None:
    try:
        clone(estimator).set_params(**clone(dict(params), safe=False))
    except Exception as error:
        return error
    return None


def _culprit(estimator: BaseEstimator, params: Mapping[str, object]) -> str:
    """Return the parameter without which the others can be set, else the first bad."""
    for name in sorted(params, key=lambda name: -name.count("__")):
        rest = {other: value for other, value in params.items() if other != name}
        if _refusal(estimator, rest) is None:
            return name
    names = list(params)
    for k in range(1, len(names)):
        if _refusal(estimator, {name: params[name] for name in names[:k]}) is not None:
            return names[k - 1]
    return names[-1]
