"""Two metrics of every candidate, or a score and a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm.inspection._drawing import BLUE, GREY, Display, mark_infeasible
from sklearn_mvrsm.inspection._scores import (
    fit_log_of,
    guiding_metric,
    metrics_of,
    read_scores,
    require_search,
)

__all__ = ["ParetoDisplay"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_TIMES = {"fit_time": "mean fit time (s)", "score_time": "mean score time (s)"}


@dataclass(eq=False, repr=False)
class ParetoDisplay(Display):
    """Two metrics of every candidate, and the candidates that none beats in both.

    Of those on the front, none can be better in one metric without being worse in the
    other. Make it with :meth:`from_estimator`.

    Parameters
    ----------
    values : ndarray of shape (n_candidates, 2)
        Both metrics; nan where a candidate has no score.
    front : ndarray of int of shape (n_front,)
        Rows of the candidates on the front, along the first metric.
    labels : tuple of two str
        What the metrics are.
    signs : tuple of two int
        1 where higher is better, -1 where lower is.
    infeasible : ndarray of bool of shape (n_candidates,), default=None
        Whether a candidate violates the ``constraint``; None without one.

    Attributes
    ----------
    ax_ : matplotlib axes
        What has been drawn on.
    figure_ : matplotlib figure
        Its figure.
    points_, front_ : matplotlib line
        Candidates that violate no constraint, and the front.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV
    >>> from sklearn_mvrsm.inspection import ParetoDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": Integer(1, 9)},
    ...     n_iter=5,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> display = ParetoDisplay.from_estimator(search)
    >>> display.labels
    ('mean test score', 'mean fit time (s)')
    >>> display.plot()  # doctest: +SKIP
    """

    values: FloatArray
    front: IntArray
    labels: tuple[str, str]
    signs: tuple[int, int]
    infeasible: npt.NDArray[np.bool_] | None = None
    points_: Any = field(init=False)
    front_: Any = field(init=False)

    @classmethod
    def from_estimator(cls, search: Any, metrics: Sequence[str] | None = None) -> Self:
        """Compute what is to be drawn.

        Parameters
        ----------
        search : MVRSMSearchCV or OptimizeResult
            A fitted search, also one of scikit-learn's, or what
            :func:`~sklearn_mvrsm.minimize` returned.
        metrics : sequence of two str, default=None
            Names of metrics of the search, "fit_time" or "score_time". None: the metric
            that guided the search and the next one, or "fit_time" if it has one metric.
            A result of ``minimize`` has "value" and "fit_time".

        Returns
        -------
        ParetoDisplay
            Nothing has been drawn yet.

        Raises
        ------
        TypeError
            If it is no search: an optimiser has one value for each candidate.
        ValueError
            If there are not two names, or the search has no such metric.
        """
        if fit_log_of(search) is None:
            lacks = ", which has neither several metrics nor times"
            require_search(cls, search, lacks, any_search=True)
        metrics = _usual(search) if metrics is None else metrics
        if isinstance(metrics, str) or len(metrics) != 2:
            raise ValueError(f"'metrics' must be two names, got {metrics!r}")
        for name in metrics:
            if name not in (known := _names(search)):
                raise ValueError(f"'metrics' must be two of {known}, got {name!r}")
        columns = [_column(search, name) for name in metrics]
        values = np.stack([values for values, _, _ in columns], axis=1)
        values[np.isnan(values).any(axis=1)] = np.nan
        allowed, infeasible = values.copy(), None
        results = getattr(search, "cv_results_", {})  # minimize has no constraint
        if "constraint" in results:
            infeasible = ~(results["constraint"] <= 0.0)
            allowed[infeasible] = np.nan
        signs = columns[0][2], columns[1][2]
        return cls(
            values=values,
            front=_front(allowed * signs),
            labels=(columns[0][1], columns[1][1]),
            signs=signs,
            infeasible=infeasible,
        )

    def _draw(self) -> None:
        hollow = mark_infeasible(self.ax_, self.infeasible, *self.values.T)
        (self.points_,) = self.ax_.plot(
            *self.values[~hollow].T, "o", color=GREY, markersize=4.0, label="candidates"
        )
        (self.front_,) = self.ax_.plot(
            *self.values[self.front].T,
            "o-",
            color=BLUE,
            markersize=6.0,
            drawstyle="steps-post" if self.signs[0] < 0 else "steps-pre",
            label="none is better in both",
        )
        better = ["higher" if sign > 0 else "lower" for sign in self.signs]
        named = [
            f"{label}, {which} is better"
            for label, which in zip(self.labels, better, strict=True)
        ]
        self.ax_.set(xlabel=named[0], ylabel=named[1])
        self.ax_.legend(loc="best")


def _usual(search: Any) -> tuple[str, str]:
    """Return the metrics that are drawn if none are named."""
    if fit_log_of(search) is not None:
        return "value", "fit_time"
    guide = guiding_metric(search)
    others = [each for each in metrics_of(search.cv_results_) if each != guide]
    return guide, (others or ["fit_time"])[0]


def _names(search: Any) -> list[str]:
    """Name the metrics and the times that can be drawn."""
    if fit_log_of(search) is not None:
        return ["value", "fit_time"]
    return [*metrics_of(search.cv_results_), *_TIMES]


def _column(search: Any, name: str) -> tuple[FloatArray, str, int]:
    """Return a metric or a time of each candidate, its label and its sign."""
    of_function = fit_log_of(search) is not None
    if of_function and name == "fit_time":
        return search.fit_times, "time of the evaluation (s)", -1
    if of_function or name not in _TIMES:
        scores = read_scores(search, name)
        must_be_low = name == getattr(search, "constraint", None)
        return scores.values, scores.label, -1 if must_be_low else scores.sign
    seconds = np.array(search.cv_results_[f"mean_{name}"], dtype=np.float64)
    return seconds, _TIMES[name], -1


def _front(values: FloatArray) -> IntArray:
    """Return the rows that no other row beats, for values of which higher is better."""
    rows = np.flatnonzero(~np.isnan(values[:, 0]))
    order = rows[np.lexsort((-values[rows, 1], -values[rows, 0]))]
    best_before = np.maximum.accumulate([-np.inf, *values[order, 1]])[:-1]
    return np.asarray(order[values[order, 1] > best_before][::-1])
