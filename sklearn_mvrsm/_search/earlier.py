"""Earlier results: of another search, or of any evaluation of the same objective."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from sklearn_mvrsm._compat.sklearn import BaseSearchCV
from sklearn_mvrsm._search.constraint import Constraint
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._search.settings import Settings
from sklearn_mvrsm._space import SearchSpace

__all__ = ["read_earlier_results"]


_MOST_POINTS = 5
"""Candidates of another search that are evaluated first."""

Params = Mapping[str, Any]
# where it is from, a configuration, its score, and its constraint where it is known
Result = tuple[str, Params, float, float | None]


def read_earlier_results(
    settings: Settings, space: SearchSpace, objective: Objective
) -> Settings:
    """Read ``initial_points`` and ``known_results``, and check them against the space.

    Parameters
    ----------
    settings : Settings
        As the user gave them.
    space : SearchSpace
        What is searched.
    objective : Objective
        Knows the metric that the search follows.

    Returns
    -------
    Settings
        Its ``initial_points`` are configurations; its ``known_results`` are tuples of a
        configuration and a value, which is the negated score, nan for a failure; then
        its constraint, where that is known.

    Raises
    ------
    TypeError, ValueError
        If one of them is of another kind, or not in the space; the message names it.
    """
    metrics = [objective.refit_metric]
    if isinstance(settings.refit, str):  # a callable scoring has no names yet
        metrics.append(settings.refit)
    points: Any = settings.initial_points
    if isinstance(points, BaseSearchCV):
        points = _best_points(points, metrics, space, objective)
    known: list[tuple[Any, ...]] = []
    for place, params, score, number in _results(
        "known_results", settings.known_results, metrics, objective.constraint
    ):
        _check(place, params, space)
        numbers = () if number is None else (number,)
        failed = not math.isfinite(score) or number != number  # nan
        value = math.nan if failed else objective.minimised(score)
        known.append((params, value, *numbers))
    return replace(settings, initial_points=points, known_results=known)


def _best_points(
    search: BaseSearchCV,
    metrics: Sequence[str],
    space: SearchSpace,
    objective: Objective,
) -> list[Params]:
    """Return the best few distinct candidates of a search, the best first."""

    def merit(result: Result) -> tuple[float, float]:
        """Return what is small for a good candidate."""
        _, _, score, number = result
        violation = math.inf if number is not None and math.isnan(number) else number
        return max(violation or 0.0, 0.0), objective.minimised(score)

    found = _results("initial_points", search, metrics, objective.constraint)
    scored = [each for each in found if math.isfinite(each[2])]
    points: dict[bytes, Params] = {}
    for place, params, *_ in sorted(scored, key=merit):
        if len(points) < _MOST_POINTS:
            points.setdefault(_check(place, params, space), params)
    return list(points.values())


def _check(place: str, params: Params, space: SearchSpace) -> bytes:
    """Return the code of a configuration; raise an error that names its place."""
    try:
        point = space.encode(params)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{place}: {error}") from error
    if not space.feasible(point):
        raise ValueError(f"{place}: a constraint forbids {dict(params)!r}")
    return point.tobytes()


def _results(
    place: str, given: object, metrics: Sequence[str], constraint: Constraint | None
) -> Iterator[Result]:
    """Yield the results in whatever a user gave."""
    if given is None:
        return
    if isinstance(given, BaseSearchCV):
        if not hasattr(given, "cv_results_"):
            raise ValueError(f"'{place}' must be a fitted search, got {given!r}")
        given = given.cv_results_
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        yield from _rows(place, given, metrics, constraint)
    elif not isinstance(given, list | tuple):
        raise _wrong(place, given)
    else:
        for k, each in enumerate(given):
            inner = f"{place}[{k}]"
            if not isinstance(each, list | tuple):
                if each is None:
                    raise _wrong(inner, each)
                yield from _results(inner, each, metrics, constraint)
            elif len(each) == 2 and isinstance(each[0], Mapping) and _is_score(each[1]):
                yield inner, each[0], float(each[1]), None
            else:
                raise _wrong(inner, each)


def _is_score(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _wrong(place: str, given: object) -> TypeError:
    return TypeError(
        f"'{place}' must be a fitted search, a pair (params, score), a 'cv_results_' "
        f"or a list of these, got {given!r}"
    )


def _rows(
    place: str, results: Any, metrics: Sequence[str], constraint: Constraint | None
) -> Iterator[Result]:
    """Yield the rows of a ``cv_results_``, but for candidates that were given up."""
    names = list(results)
    metric = next((each for each in metrics if f"mean_test_{each}" in names), None)
    if metric is None or "params" not in names:
        wanted = f"'params' and 'mean_test_{metrics[0]}', the metric of this search"
        scores = [name for name in names if str(name).startswith("mean_test_")]
        raise ValueError(f"'{place}' must have {wanted}, got {scores or names}")
    if constraint is not None and (column := constraint.missing_column(names)):
        raise ValueError(f"'{place}' must have {column!r}, for the 'constraint'")
    params, scores = list(results["params"]), list(results[f"mean_test_{metric}"])
    statuses = list(results["status"]) if "status" in names else ["ok"] * len(params)
    skipped = np.zeros(len(params), dtype=np.bool_)
    for name in names:
        if str(name).startswith("split") and str(name).endswith("_status"):
            skipped |= np.asarray(results[name]) == "skipped"
    for k, (each, score, status) in enumerate(
        zip(params, scores, statuses, strict=True)
    ):
        row = f"{place}, row {k}"
        if not (isinstance(each, Mapping) and _is_score(score)):
            raise TypeError(
                f"'{row}' must have a dict and a number, got {each!r} and {score!r}"
            )
        if status != "ok":
            yield row, each, math.nan, None
        elif not skipped[k]:
            number = None
            if constraint is not None and math.isfinite(score):
                try:
                    number = constraint.of_row(results, k)
                except Exception as error:
                    error.add_note(f"'constraint' raised this for {row}.")
                    raise
            yield row, each, float(score), number
