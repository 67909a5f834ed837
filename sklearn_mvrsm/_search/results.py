"""Evaluated candidates turned into the table that a fitted search shows.

Everything here is a pure function of candidates and their folds: nothing knows how
a fit was run, or which optimiser proposed it. The columns, their order and their
types are those of ``GridSearchCV``; added are ``status``, ``split{k}_status`` and
``split{k}_error``.

Notation: n candidates (rows), K folds; a status is one of ``ok``, ``error``,
``timeout``, ``out_of_memory``, ``crashed`` and, for a fold only, ``skipped``.
"""

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from sklearn_mvrsm._compat.sklearn import select_best_index
from sklearn_mvrsm._domain import BoolArray, FloatArray
from sklearn_mvrsm._evaluation import ENDING_STATUSES, Candidate
from sklearn_mvrsm._space import copied


def format_results(
    candidates: Sequence[Candidate],
    metrics: Sequence[str],
    *,
    error_score: float,
    return_train_score: bool,
    constrained: bool = False,
) -> dict[str, Any]:
    """Build ``cv_results_``.

    A fold that failed counts with ``error_score``; one that was skipped is nan. The
    mean of a candidate that was ended (timeout, out of memory, crash) is
    ``error_score`` as a whole, since its other folds never ran. See `rank_scores` for
    the ranks.

    Parameters
    ----------
    candidates : sequence of Candidate
        At least one, all with the same number of folds.
    metrics : sequence of str
        Names of the metrics; ``["score"]`` where there is one without a name.
    error_score : float
        Stands for a score that could not be computed.
    return_train_score : bool
        Whether to add the columns of the training scores.
    constrained : bool
        Whether to add the column "constraint", by which infeasible candidates rank
        behind feasible ones.

    Returns
    -------
    dict of str to array or list
        One entry a column, each of length n; ``params`` is a list of dicts.
    """
    results: dict[str, Any] = {}
    for name in ("fit_time", "score_time"):
        times = _table(candidates, name)
        results[f"mean_{name}"], results[f"std_{name}"] = _time_moments(
            times, ~_skipped(candidates)
        )
    results.update(param_columns([c.params for c in candidates]))
    results["params"] = [dict(c.params) for c in candidates]
    constraint = None
    if constrained:  # None, of a candidate that was pruned, becomes nan
        constraint = np.array([c.constraint for c in candidates], dtype=np.float64)
        results["constraint"] = constraint
    for metric in metrics:
        failed = _store_scores(results, candidates, "test", metric, error_score)
        means = results[f"mean_test_{metric}"]
        results[f"rank_test_{metric}"] = rank_scores(means, failed, constraint)
        if return_train_score:
            _store_scores(results, candidates, "train", metric, error_score)
    results["status"] = _objects([c.status for c in candidates])
    for k in range(len(candidates[0].folds)):
        results[f"split{k}_status"] = _objects([c.folds[k].status for c in candidates])
        results[f"split{k}_error"] = _objects([c.folds[k].error for c in candidates])
    return results


def param_columns(params: Sequence[Mapping[str, object]]) -> dict[str, Any]:
    """Return a masked column a parameter, masked where a candidate does not have it.

    The type is the one that numpy infers for numbers and booleans; everything else
    (None, strings, tuples, estimators, ...) is kept as objects.

    Parameters
    ----------
    params : sequence of mapping
        The configurations, one a row.

    Returns
    -------
    dict of str to masked array of shape (n,)
        The keys are ``param_<name>``, in the order in which the names appear.
    """
    rows: dict[str, dict[int, Any]] = {}
    for row, candidate in enumerate(params):
        for name, value in candidate.items():
            rows.setdefault(name, {})[row] = value
    columns = {}
    for name, values in rows.items():
        column = np.empty(len(params), dtype=_column_dtype(list(values.values())))
        mask = np.ones(len(params), dtype=bool)
        for row, value in values.items():
            column[row] = value
            mask[row] = False
        columns[f"param_{name}"] = np.ma.MaskedArray(column, mask=mask)
    return columns


def rank_scores(
    means: FloatArray, failed: BoolArray, constraint: FloatArray | None = None
) -> npt.NDArray[np.int32]:
    """Return ranks from 1 for the highest mean; ties share the lowest rank.

    Candidates for which some fold has no score rank behind all the others, whatever
    number stands for the missing scores; means that are nan share the last rank. Where
    every mean is nan all ranks are 1. With a constraint, those that violate it are
    between the two, the smallest violation first, and the highest mean of equal ones.

    Parameters
    ----------
    means : array of shape (n,)
        Mean scores.
    failed : bool array of shape (n,)
        Whether some fold of the candidate lacks its score.
    constraint : array of shape (n,) or None
        What must be <= 0; nan where it is not known.

    Returns
    -------
    int32 array of shape (n,)
        The ranks.
    """
    missing = np.isnan(means)
    levels = np.unique(-means[~missing])
    order = np.searchsorted(levels, -means)  # nan: behind the last level
    order = np.where(missing, len(levels), order) + len(levels) * failed
    order[missing] = 2 * len(levels)
    if constraint is not None:
        violation = np.where(missing | failed, np.inf, np.maximum(constraint, 0.0))
        violation[np.isnan(violation)] = np.inf
        keys = np.column_stack([violation, order])
        order = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    ranks: npt.NDArray[np.int32] = rankdata(order, method="min").astype(np.int32)
    return ranks


def count_non_finite(results: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Count the candidates whose mean score is not finite.

    Parameters
    ----------
    results : mapping
        The table of `format_results`.

    Returns
    -------
    dict of str to dict of str to int
        By set ("test", "train") and metric, without those where all means are finite;
        candidates that were pruned are not counted.
    """
    pruned = np.zeros(len(results["params"]), dtype=np.bool_)
    for name, column in results.items():
        if name.startswith("split") and name.endswith("_status"):
            pruned |= column == "skipped"
    pruned &= results["status"] == "ok"
    found: dict[str, dict[str, int]] = {}
    for name, column in results.items():
        for part in ("test", "train"):
            if name.startswith(f"mean_{part}_"):
                count = int((~np.isfinite(column) & ~pruned).sum())
                if count:
                    metric = name.removeprefix(f"mean_{part}_")
                    found.setdefault(part, {})[metric] = count
    return found


def any_score(candidates: Sequence[Candidate]) -> bool:
    """Return whether at least one fit gave a score."""
    return any(fold.test_scores for c in candidates for fold in c.folds)


def _store_scores(
    results: dict[str, object],
    candidates: Sequence[Candidate],
    part: str,
    metric: str,
    error_score: float,
) -> BoolArray:
    """Add the columns of one metric; return which candidates lack a score."""
    scores = _score_table(candidates, f"{part}_scores", metric)
    absent = np.isnan(scores) & ~_has_score(candidates, f"{part}_scores", metric)
    scores[absent] = error_score
    scores[_skipped(candidates)] = np.nan
    with np.errstate(invalid="ignore"):  # infinite scores have no deviation
        means, stds = scores.mean(axis=1), scores.std(axis=1)
    ended = np.array([c.status in ENDING_STATUSES for c in candidates])
    means[ended], stds[ended] = error_score, 0.0 * error_score
    for k in range(scores.shape[1]):
        results[f"split{k}_{part}_{metric}"] = scores[:, k]
    results[f"mean_{part}_{metric}"] = means
    results[f"std_{part}_{metric}"] = stds
    return np.asarray(absent.any(axis=1))


def _score_table(
    candidates: Sequence[Candidate], attribute: str, metric: str
) -> FloatArray:
    """Return scores of shape (n, K), nan where there is none."""
    return np.array(
        [
            [(getattr(f, attribute) or {}).get(metric, np.nan) for f in c.folds]
            for c in candidates
        ],
        dtype=np.float64,
    )


def _has_score(
    candidates: Sequence[Candidate], attribute: str, metric: str
) -> BoolArray:
    """Return whether there is a score (nan included), of shape (n, K)."""
    return np.array(
        [[metric in (getattr(f, attribute) or {}) for f in c.folds] for c in candidates]
    )


def _table(candidates: Sequence[Candidate], attribute: str) -> FloatArray:
    return np.array(
        [[getattr(fold, attribute) for fold in c.folds] for c in candidates],
        dtype=np.float64,
    )


def _skipped(candidates: Sequence[Candidate]) -> BoolArray:
    return np.array([[f.status == "skipped" for f in c.folds] for c in candidates])


def _time_moments(times: FloatArray, ran: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation over the folds that ran."""
    means = np.full(len(times), np.nan)
    stds = np.full(len(times), np.nan)
    for row in np.flatnonzero(ran.any(axis=1)):
        means[row] = times[row, ran[row]].mean()
        stds[row] = times[row, ran[row]].std()
    return means, stds


def _column_dtype(values: Sequence[object]) -> np.dtype[Any]:
    if not all(isinstance(value, numbers.Number | np.generic) for value in values):
        return np.dtype(object)
    dtype = np.array(values).dtype
    return np.dtype(object) if dtype.kind == "U" else dtype


def _objects(values: Sequence[object]) -> npt.NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def best_candidate(
    refit: bool | str | Callable[..., int],
    metric: str,
    results: Mapping[str, Any],
) -> dict[str, object]:
    """Return ``best_index_``, ``best_params_``, ``best_score_`` of a search.

    Parameters
    ----------
    refit : bool, str or callable
        A callable chooses, among the feasible candidates if there are any; then there
        is no ``best_score_``.
    metric : str
        The metric that the search follows.
    results : mapping
        The table of `format_results`.
    """
    shown, rows = results, list(range(len(results["params"])))
    if callable(refit):
        if "constraint" in results:
            rows = np.flatnonzero(results["constraint"] <= 0.0).tolist() or rows
        shown = {  # copies, which it may alter
            name: [copied(column[row], objects=False) for row in rows]
            if name == "params"
            else column[rows]
            for name, column in results.items()
        }
    index = select_best_index(refit, metric, shown)
    if len(shown["params"]) < len(results["params"]):
        index = rows[index]
    best = {"best_index_": index, "best_params_": results["params"][index]}
    if not callable(refit):
        best["best_score_"] = results[f"mean_test_{metric}"][index]
    return best
