"""What every display reads: the scores, the failures and the best of what was tried.

A *source* is a fitted search, an optimiser, or the result of ``minimize``.
"""

import math
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from sklearn_mvrsm import MVRSMOptimizer, MVRSMSearchCV, SearchSpace

__all__ = [
    "Scores",
    "Tried",
    "fit_log_of",
    "guiding_metric",
    "metrics_of",
    "optimizer_of",
    "parameters_at_edge",
    "read_each",
    "read_scores",
    "read_tried",
    "require_search",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

_PREFIX = "mean_test_"
_VALUE = "value"  # the metric of an optimiser
_ALSO = "; it also takes an MVRSMOptimizer and the result of minimize"

# Least and largest value -> the functions of sklearn.metrics that have them.
_RANGES: dict[tuple[float, float], set[str]] = {
    (0.0, 1.0): {
        "accuracy_score",
        "average_precision_score",
        "completeness_score",
        "f1_score",
        "fbeta_score",
        "fowlkes_mallows_score",
        "hamming_loss",
        "homogeneity_score",
        "jaccard_score",
        "ndcg_score",
        "normalized_mutual_info_score",
        "precision_score",
        "rand_score",
        "recall_score",
        "roc_auc_score",
        "top_k_accuracy_score",
        "v_measure_score",
    },
    (-1.0, 1.0): {
        "adjusted_mutual_info_score",
        "adjusted_rand_score",
        "balanced_accuracy_score",
        "cohen_kappa_score",
        "matthews_corrcoef",
    },
    (-math.inf, 1.0): {
        "d2_absolute_error_score",
        "d2_brier_score",
        "d2_log_loss_score",
        "d2_pinball_score",
        "d2_tweedie_score",
        "explained_variance_score",
        "r2_score",
    },
    (0.0, math.inf): {
        "brier_score_loss",
        "log_loss",
        "max_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_gamma_deviance",
        "mean_poisson_deviance",
        "mean_squared_error",
        "mean_squared_log_error",
        "median_absolute_error",
        "root_mean_squared_error",
        "root_mean_squared_log_error",
        "zero_one_loss",
    },
}


@dataclass(frozen=True)
class Scores:
    """Mean scores of the candidates of a search, on one metric.

    Parameters
    ----------
    metric : str
        Name of the metric.
    values : ndarray of shape (n,)
        nan where a fold has no score.
    failed : ndarray of bool of shape (n,)
        Whether a fold has no score because something went wrong; not if the candidate
        was given up as hopeless.
    best : int or None
        Row of the best candidate; None if all have failed, or none is feasible and the
        search has not chosen one.
    sign : int
        1 where higher is better, -1 where lower is.
    bounds : tuple of float
        Between which numbers the metric always is, as far as that is known.
    infeasible : ndarray of bool of shape (n,) or None
        Whether a candidate violates the constraint; None without one.
    """

    metric: str
    values: FloatArray
    failed: BoolArray
    best: int | None
    sign: int = 1
    bounds: tuple[float, float] = (-math.inf, math.inf)
    infeasible: BoolArray | None = None

    @property
    def best_so_far(self) -> FloatArray:
        """Best score of the candidates up to each, infeasible ones left out."""
        values = self.sign * self.values
        if self.infeasible is not None:
            values = np.where(self.infeasible, np.nan, values)
        return np.asarray(self.sign * np.fmax.accumulate(values))

    @property
    def label(self) -> str:
        """What to write on the axis of the scores."""
        named = {"score": "mean test score", _VALUE: _VALUE}
        return named.get(self.metric, f"mean {self.metric}")

    @property
    def order(self) -> IntArray:
        """Rows with a score, the best candidate first."""
        missing = np.isnan(self.values)
        last = missing if self.infeasible is None else missing | self.infeasible
        order = np.lexsort([-self.sign * self.values, last])
        order = order[: int((~missing).sum())]
        return np.array(sorted(order.tolist(), key=lambda row: row != self.best), int)


@dataclass(frozen=True)
class Tried:
    """What a source has tried.

    Parameters
    ----------
    space : SearchSpace
    configurations : sequence of dict, length n
    scores : Scores
    n_initial : int
        How many of the first ones were not proposed by the surrogate.
    """

    space: SearchSpace
    configurations: Sequence[dict[str, Any]]
    scores: Scores
    n_initial: int


def read_tried(display: Any, source: Any, metric: str | None) -> Tried:
    """Read what a search, an optimiser or a result of ``minimize`` has tried.

    Raises
    ------
    TypeError
        If it is something else; the message names the display.
    NotFittedError, ValueError
        As `read_scores`.
    """
    optimizer = optimizer_of(source)
    if optimizer is not None:
        configurations = [trial.params for trial in optimizer.trials]
        scores = read_scores(source, metric)
        return Tried(
            optimizer.space, configurations, scores, optimizer.n_initial_points
        )
    require_search(display, source, _ALSO)
    scores = read_scores(source, metric)
    configurations = source.cv_results_["params"]
    n_initial = source.optimizer_.n_initial_points
    return Tried(source.space_, configurations, scores, n_initial)


def parameters_at_edge(search: Any) -> dict[str, str]:
    """Name the parameters of the best candidate that are at an end of their range.

    A wider range may hold a better candidate, unless the end is that of what the
    parameter can be, such as 1 for a share.

    Parameters
    ----------
    search : MVRSMSearchCV, MVRSMOptimizer or OptimizeResult
        A fitted search, an optimiser that was told values, or what
        :func:`~sklearn_mvrsm.minimize` returned.

    Returns
    -------
    dict of str to str
        "low" or "high" for each parameter within a hundredth of its range from there,
        on its scale. Categories have no ends.

    Examples
    --------
    >>> from sklearn_mvrsm import Real, minimize
    >>> from sklearn_mvrsm.inspection import parameters_at_edge
    >>> space = {"x": Real(0.0, 1.0), "y": Real(-1.0, 1.0)}
    >>> result = minimize(lambda p: p["x"] + p["y"] ** 2, space, 30, random_state=0)
    >>> parameters_at_edge(result)
    {'x': 'low'}
    """
    tried = read_tried(parameters_at_edge, search, None)
    if tried.scores.best is None:
        return {}
    params = tried.configurations[tried.scores.best]
    exists = tried.space.active(tried.space.encode(params))
    return {
        each.name: end
        for each, active in zip(tried.space.parameters, exists, strict=True)
        if active and each.name is not None
        if (end := each.parameter.end(params[each.name]))
    }


def optimizer_of(source: Any) -> MVRSMOptimizer | None:
    """Return the optimiser that a source is or has been made by; None of a search."""
    if isinstance(source, OptimizeResult):
        source = source.get("optimizer")
    return source if isinstance(source, MVRSMOptimizer) else None


def fit_log_of(source: Any) -> dict[str, Any] | None:
    """Return the log of a result of ``minimize``; None of anything else."""
    return source.get("fit_log") if isinstance(source, OptimizeResult) else None


def read_each(display: Any, search: Any, metric: str | None) -> list[Scores]:
    """Read the scores of one source, or of each one in a list.

    Parameters
    ----------
    display : type
        Who asks; errors name it.
    search : BaseSearchCV, MVRSMOptimizer or OptimizeResult, or a list of them
    metric : str or None
        As for `read_scores`.

    Raises
    ------
    TypeError, NotFittedError
        As `require_search`, which also lets searches of scikit-learn pass.
    ValueError
        If the list is empty, or the metrics differ; as `read_scores`.
    """
    searches = search if isinstance(search, list | tuple) else [search]
    if not searches:
        raise ValueError(f"'search' must have at least one search, got {search!r}")
    for each in searches:
        if optimizer_of(each) is None:
            require_search(display, each, _ALSO, any_search=True)
    read = [read_scores(each, metric) for each in searches]
    if len(labels := {each.label for each in read}) > 1:
        raise ValueError(f"'search' must have one metric, got {sorted(labels)}")
    return read


def read_scores(search: Any, metric: str | None) -> Scores:
    """Read the mean test scores of a metric.

    Parameters
    ----------
    search : BaseSearchCV, MVRSMOptimizer or OptimizeResult
        A fitted search, also one of scikit-learn's. An optimiser and a result of
        ``minimize`` have the metric "value".
    metric : str or None
        None: the one that guided the search.

    Raises
    ------
    NotFittedError
        If an optimiser has not been told any value.
    ValueError
        If there is no such metric.
    """
    optimizer = optimizer_of(search)
    if optimizer is not None:
        return _read_values(optimizer, metric)
    results = search.cv_results_
    guide = guiding_metric(search)
    name = guide if metric is None else metric
    if f"{_PREFIX}{name}" not in results:
        raise ValueError(
            f"'metric' must be one of {metrics_of(results)}, got {metric!r}"
        )
    values = np.array(results[f"{_PREFIX}{name}"], dtype=np.float64)
    missing = ~np.isfinite(values)
    if "status" in results and _stands_for_failures(search.error_score):
        missing |= results["status"] != "ok"
    constraint = results.get("constraint")
    if constraint is not None and not np.isnan(constraint).all():
        missing |= np.isnan(constraint)  # a failure
    values[missing] = np.nan
    infeasible = None if constraint is None else ~(constraint <= 0.0) & ~missing
    best = _best(values, infeasible)
    if name == guide and not missing.all():  # one that violates least, if all do
        best = getattr(search, "best_index_", best)
        best = None if best is None else int(best)
    failed = missing & ~_given_up(results)
    bounds = _bounds(search, name)
    if np.nanmin(values, initial=bounds[0]) < bounds[0] or (
        np.nanmax(values, initial=bounds[1]) > bounds[1]
    ):
        bounds = (-math.inf, math.inf)  # it is another metric than its name says
    return Scores(name, values, failed, best, bounds=bounds, infeasible=infeasible)


def _best(values: FloatArray, infeasible: BoolArray | None) -> int | None:
    """Return the row of the highest value of a feasible candidate."""
    if infeasible is not None:
        values = np.where(infeasible, np.nan, values)
    return None if np.isnan(values).all() else int(np.nanargmax(values))


def _read_values(optimizer: MVRSMOptimizer, metric: str | None) -> Scores:
    if metric not in (None, _VALUE):
        raise ValueError(f"'metric' must be one of {[_VALUE]}, got {metric!r}")
    values = np.array([trial.value for trial in optimizer.trials], dtype=np.float64)
    if not len(values):
        raise NotFittedError(
            f"{type(optimizer).__name__} must be told a value before it is inspected"
        )
    failed = ~np.isfinite(values)
    values[failed] = np.nan
    constraints = [trial.constraint for trial in optimizer.trials]
    infeasible = None
    if any(each is not None for each in constraints):
        infeasible = ~(np.array(constraints, dtype=np.float64) <= 0.0) & ~failed
    best = _best(-values, infeasible)
    return Scores(_VALUE, values, failed, best, sign=-1, infeasible=infeasible)


def _bounds(search: Any, metric: str) -> tuple[float, float]:
    """Return the least and largest value of a metric, infinite if unknown."""
    scorer = getattr(search, "scorer_", None)
    scorer = scorer.get(metric) if isinstance(scorer, dict) else scorer
    made = re.match(r"make_scorer\((\w+)(, greater_is_better=False)?", repr(scorer))
    name = made[1] if made else ""
    if search.scoring is None:
        name = _default_metric(search.estimator)
    negative = made is not None and made[2] is not None
    low, high = next(
        (ends for ends, names in _RANGES.items() if name in names),
        (-math.inf, math.inf),
    )
    return (-high, -low) if negative else (low, high)


def _default_metric(estimator: Any) -> str:
    """Name the metric of ``estimator.score``, if it is scikit-learn's."""
    while getattr(estimator, "steps", None):
        estimator = estimator.steps[-1][1]
    method = getattr(type(estimator), "score", None)
    if method is ClassifierMixin.score:
        return "accuracy_score"
    return "r2_score" if method is RegressorMixin.score else ""


def guiding_metric(search: Any) -> str:
    """Name the metric that ``refit`` names, else the first."""
    metrics = metrics_of(search.cv_results_)
    refit = search.refit
    return refit if isinstance(refit, str) and refit in metrics else metrics[0]


def require_search(
    display: Any,
    source: Any,
    note: str,
    attribute: str = "cv_results_",
    *,
    any_search: bool = False,
) -> None:
    """Refuse what is no fitted search.

    Parameters
    ----------
    display : type or function
        Who asks; errors name it.
    source : object
    note : str
        How the message goes on after what was given.
    attribute : str, default="cv_results_"
        What the search must have.
    any_search : bool, default=False
        Whether one of scikit-learn's will do.

    Raises
    ------
    TypeError
        If it is no such search.
    NotFittedError
        If it has not been fitted.
    """
    given = type(source).__name__
    own = isinstance(source, MVRSMSearchCV)
    if not (own or (any_search and hasattr(source, "refit"))):
        needed = "search, also one of scikit-learn's" if any_search else "MVRSMSearchCV"
        raise TypeError(
            f"{display.__name__} needs a fitted {needed}, got {given}{note}"
        )
    if not hasattr(source, attribute):
        raise NotFittedError(
            f"{given} must be fitted before it is inspected: it has no {attribute!r}"
        )


def metrics_of(results: dict[str, Any]) -> list[str]:
    """Name the metrics in a table of results."""
    return [name[len(_PREFIX) :] for name in results if name.startswith(_PREFIX)]


def _given_up(results: dict[str, Any]) -> BoolArray:
    """Return which candidates lack folds although nothing went wrong."""
    given_up = np.zeros(len(results["params"]), dtype=np.bool_)
    for name, column in results.items():
        if name.startswith("split") and name.endswith("_status"):
            given_up |= np.asarray(column == "skipped")
    return np.asarray(given_up & (results.get("status", "ok") == "ok"))


def _stands_for_failures(error_score: object) -> bool:
    """Whether a failure looks like a score in the table."""
    return isinstance(error_score, numbers.Real) and math.isfinite(error_score)
