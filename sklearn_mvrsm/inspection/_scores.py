"""What every display reads of a fitted search: its scores, its failures, its best."""

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from sklearn_mvrsm import MVRSMSearchCV

__all__ = ["Scores", "guiding_metric", "read_scores", "require_fitted", "require_mvrsm"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_PREFIX = "mean_test_"


@dataclass(frozen=True)
class Scores:
    """Mean scores of the candidates of a search, on one metric.

    Parameters
    ----------
    metric : str
        Name of the metric.
    values : ndarray of shape (n,)
        Higher is better; nan where a fold has no score.
    failed : ndarray of bool of shape (n,)
        Whether a fold has no score because something went wrong; not if the candidate
        was given up as hopeless.
    best : int or None
        Row of the best candidate; None if all have failed.
    """

    metric: str
    values: FloatArray
    failed: BoolArray
    best: int | None

    @property
    def label(self) -> str:
        """What to write on the axis of the scores."""
        return "mean test score" if self.metric == "score" else f"mean {self.metric}"


def read_scores(search: Any, metric: str | None) -> Scores:
    """Read the mean test scores of a metric.

    Parameters
    ----------
    search : BaseSearchCV
        A fitted search, also one of scikit-learn's.
    metric : str or None
        None: the one that guided the search.

    Raises
    ------
    NotFittedError
        If the search has no results.
    ValueError
        If it has no such metric.
    """
    require_fitted(search, "cv_results_")
    results = search.cv_results_
    guide = guiding_metric(search)
    name = guide if metric is None else metric
    if f"{_PREFIX}{name}" not in results:
        raise ValueError(f"'metric' must be one of {_metrics(results)}, got {metric!r}")
    values = np.array(results[f"{_PREFIX}{name}"], dtype=np.float64)
    missing = ~np.isfinite(values)
    if "status" in results and _stands_for_failures(search.error_score):
        missing |= results["status"] != "ok"
    values[missing] = np.nan
    best = None if missing.all() else int(np.nanargmax(values))
    if name == guide and best is not None:
        best = int(getattr(search, "best_index_", best))
    return Scores(name, values, missing & ~_given_up(results), best)


def guiding_metric(search: Any) -> str:
    """Name the metric that ``refit`` names, else the first."""
    metrics = _metrics(search.cv_results_)
    refit = search.refit
    return refit if isinstance(refit, str) and refit in metrics else metrics[0]


def require_fitted(search: Any, attribute: str) -> None:
    """Refuse a search that lacks a fitted attribute."""
    if not hasattr(search, attribute):
        raise NotFittedError(
            f"{type(search).__name__} must be fitted before it is inspected: it has no "
            f"{attribute!r}"
        )


def require_mvrsm(display: type, search: Any) -> None:
    """Refuse a search that does not keep what a display needs."""
    if not isinstance(search, MVRSMSearchCV):
        raise TypeError(
            f"{display.__name__} needs a fitted MVRSMSearchCV, got {search!r}"
        )


def _metrics(results: dict[str, Any]) -> list[str]:
    return [name[len(_PREFIX) :] for name in results if name.startswith(_PREFIX)]


def _given_up(results: dict[str, Any]) -> BoolArray:
    """Tell which candidates lack folds although nothing went wrong."""
    given_up = np.zeros(len(results["params"]), dtype=np.bool_)
    for name, column in results.items():
        if name.startswith("split") and name.endswith("_status"):
            given_up |= np.asarray(column == "skipped")
    return np.asarray(given_up & (results.get("status", "ok") == "ok"))


def _stands_for_failures(error_score: object) -> bool:
    """Whether a failure looks like a score in the table."""
    return isinstance(error_score, numbers.Real) and math.isfinite(error_score)
