"""Rules that choose the winner from a table of results: values for ``refit``.

A rule is a function of ``cv_results_`` alone. Rows that failed (their ``status`` is not
"ok", or their mean score is not finite) are never chosen.
"""

import math
import numbers
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_mvrsm._domain import BoolArray, FloatArray

__all__ = ["constrained", "one_standard_error"]


Order = str | Sequence[object]

_PREFIX = "param_"
_FEWEST_FOLDS = 2
_COLUMN = re.compile(r"status|(mean|std|rank|split\d+)_.+")  # but for parameters


@dataclass(frozen=True)
class one_standard_error:  # used like a function, as operator.itemgetter is
    """Choose the simplest candidate within one standard error of the best.

    The standard error is that of the best candidate's mean over its folds. Candidates
    whose mean is at least the best mean minus it are as good as can be told; of these
    the simplest is taken [1]_.

    Parameters
    ----------
    by : str or list of (str or (str, order))
        What makes a candidate simple: the name of a parameter or of a column of
        ``cv_results_``, or several, of which later ones decide between equals. Small
        numbers are simple. A pair says otherwise: order ``"max"`` makes large numbers
        simple, a list of values names them from the simplest on. A parameter that does
        not exist in a candidate is simplest; None, which mostly means "no limit", is
        the least simple number.
    metric : str, default="score"
        Name of the metric, where there are several.

    Notes
    -----
    Between equally simple candidates the higher mean decides, then the earlier row.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and
       Regression Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV
    >>> from sklearn_mvrsm.selection import one_standard_error
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": Integer(1, 9)},
    ...     refit=one_standard_error(by="max_depth"),
    ...     n_iter=9,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_
    {'max_depth': 3}
    """

    by: str | Sequence[str | tuple[str, Order]]
    metric: str = "score"

    def __post_init__(self) -> None:
        """Check what can be checked without results."""
        if not self.by:
            raise ValueError(f"'by' must name a parameter or column, got {self.by!r}")
        match self.by:
            case (str(), given) if isinstance(self.by, tuple) and not _is_key(given):
                raise ValueError(
                    "a pair of a name and an order must be in a list, "
                    f"by=[{self.by!r}], got by={self.by!r}"
                )
        for _, order in self._keys():
            if isinstance(order, str) and order not in ("min", "max"):
                raise ValueError(
                    f"the order in 'by' must be 'min', 'max' or a list of values, "
                    f"got {order!r}"
                )

    def __call__(self, cv_results: Mapping[str, object]) -> int:
        """Return the row of the candidate to refit.

        Parameters
        ----------
        cv_results : mapping
            As ``cv_results_`` of a search.

        Raises
        ------
        ValueError
            If a name is neither a column nor a parameter; if values cannot be ordered;
            if there are fewer than two folds; if all candidates failed.
        """
        means, usable = _means(cv_results, self.metric)
        best = int(np.argmax(np.where(usable, means, -np.inf)))
        threshold = means[best] - _standard_error(cv_results, self.metric, best)
        good = np.flatnonzero(usable & (means >= threshold))
        keys = [_ranks(cv_results, name, order) for name, order in self._keys()]
        # lexsort: the last key comes first, and it is stable
        order = np.lexsort([-means[good], *(key[good] for key in reversed(keys))])
        return int(good[order[0]])

    def check_search(
        self,
        parameters: Mapping[str, Sequence[object]],
        metrics: Collection[str] | None,
        n_splits: int,
    ) -> None:
        """Raise ValueError for what cannot choose among the results of a search.

        Parameters
        ----------
        parameters : mapping of str to sequence
            Names, and what each may be if it is categorical and nothing forbids it,
            else (). Numbers are not looked at.
        metrics : collection of str or None
            Names; None if they are not known before the first fit.
        n_splits : int
            Number of folds.
        """
        for name, order in self._keys():
            if (table := _possible(name, parameters)) is not None:
                _ranks(table, name, order)
        _check_metric(self.metric, metrics)
        if n_splits < _FEWEST_FOLDS:
            raise _too_few(n_splits)

    def _keys(self) -> list[tuple[str, Order]]:
        listed = [self.by] if isinstance(self.by, str) else self.by
        return [
            (each, "min") if isinstance(each, str) else (each[0], each[1])
            for each in listed
        ]


@dataclass(frozen=True)
class constrained:  # used like a function, as operator.itemgetter is
    """Choose the best candidate of those that keep a bound.

    Parameters
    ----------
    column : str
        Name of a column of ``cv_results_``, such as ``"mean_score_time"``, or of a
        parameter. A parameter that does not exist in a candidate keeps every bound.
    at_most, at_least : float, default=None
        The bounds; one of them or both.
    metric : str, default="score"
        Name of the metric, where there are several.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_mvrsm.selection import constrained
    >>> rule = constrained("mean_score_time", at_most=0.1)
    >>> rule(
    ...     {
    ...         "mean_score_time": np.array([0.3, 0.1, 0.02]),
    ...         "mean_test_score": np.array([0.9, 0.8, 0.7]),
    ...     }
    ... )
    1
    """

    column: str
    at_most: float | None = None
    at_least: float | None = None
    metric: str = "score"

    def __post_init__(self) -> None:
        """Check the bounds."""
        bounds = (self.at_most, self.at_least)
        if all(bound is None for bound in bounds):
            raise ValueError("'at_most' or 'at_least' must be given, got None for both")
        if any(bound is not None and math.isnan(bound) for bound in bounds):
            raise ValueError(
                f"'at_most' and 'at_least' must be numbers, got {self.at_most} and "
                f"{self.at_least}"
            )

    def __call__(self, cv_results: Mapping[str, object]) -> int:
        """Return the row of the candidate to refit.

        Parameters
        ----------
        cv_results : mapping
            As ``cv_results_`` of a search.

        Raises
        ------
        ValueError
            If there is no such column, or it has something else than numbers; if no
            candidate keeps the bound, or all failed.
        """
        means, usable = _means(cv_results, self.metric)
        values, absent = _numbers(cv_results, self.column)
        kept = absent.copy()
        high = math.inf if self.at_most is None else self.at_most
        low = -math.inf if self.at_least is None else self.at_least
        kept |= (low <= values) & (values <= high)  # nan keeps nothing
        if not (usable & kept).any():
            raise ValueError(self._refusal(values[usable & ~np.isnan(values)]))
        return int(np.argmax(np.where(usable & kept, means, -np.inf)))

    def check_search(
        self,
        parameters: Mapping[str, Sequence[object]],
        metrics: Collection[str] | None,
        n_splits: int,
    ) -> None:
        """Raise ValueError for what cannot choose among the results of a search.

        Parameters
        ----------
        parameters, metrics, n_splits
            As for `one_standard_error.check_search`.
        """
        if (table := _possible(self.column, parameters)) is not None:
            _numbers(table, self.column)
        _check_metric(self.metric, metrics)

    def _refusal(self, values: FloatArray) -> str:
        bounds = []
        if self.at_least is not None:
            bounds.append(f"at least {self.at_least}")
        if self.at_most is not None:
            bounds.append(f"at most {self.at_most}")
        seen = "has none"
        if len(values):
            seen = f"goes from {values.min():g} to {values.max():g}"
        return (
            f"No candidate has {self.column!r} {' and '.join(bounds)}: among the "
            f"candidates that did not fail it {seen}"
        )


def _possible(
    name: str, parameters: Mapping[str, Sequence[object]]
) -> dict[str, np.ma.MaskedArray[Any, Any]] | None:
    """Return a table of what a parameter may be; None for another column."""
    if _COLUMN.fullmatch(name):
        return None
    values = parameters.get(name.removeprefix(_PREFIX))
    if values is not None:
        column = np.ma.empty(len(values), dtype=object)
        column[:] = [*values]
        return {name: column}
    raise ValueError(
        f"{name!r} is neither a parameter nor a column; the parameters are "
        f"{list(parameters)}"
    )


def _check_metric(metric: str, metrics: Collection[str] | None) -> None:
    if metrics is not None and metric not in metrics:
        raise ValueError(f"'metric' must be one of {list(metrics)}, got {metric!r}")


def _means(
    cv_results: Mapping[str, object], metric: str
) -> tuple[FloatArray, BoolArray]:
    """Return the mean scores, and which rows did not fail."""
    column = f"mean_test_{metric}"
    if column not in cv_results:
        prefix = "mean_test_"
        known = [name[len(prefix) :] for name in cv_results if name.startswith(prefix)]
        _check_metric(metric, known)
    means = np.asarray(cv_results[column], dtype=np.float64)
    usable: BoolArray = np.isfinite(means)
    if "status" in cv_results:
        usable &= np.asarray(cv_results["status"]) == "ok"
    if not usable.any():
        raise ValueError(f"No candidate can be chosen: all {len(means)} failed")
    return means, usable


def _standard_error(cv_results: Mapping[str, Any], metric: str, row: int) -> float:
    """Return the standard error of a row's mean over its folds."""
    scores: list[float] = []
    while (column := f"split{len(scores)}_test_{metric}") in cv_results:
        scores.append(float(cv_results[column][row]))
    if len(scores) < _FEWEST_FOLDS:
        raise _too_few(len(scores))
    return float(np.std(scores, ddof=1) / math.sqrt(len(scores)))


def _is_key(each: object) -> bool:
    """Return whether it is a name, or a pair of a name and an order."""
    match each:
        case str():
            return each not in ("min", "max")
        case (str(), order):
            return not isinstance(order, str) or order in ("min", "max")
    return False


def _too_few(n_splits: int) -> ValueError:
    return ValueError(f"one_standard_error needs at least two folds, got {n_splits}")


def _column(cv_results: Mapping[str, object], name: str) -> np.ma.MaskedArray[Any, Any]:
    """Return a column by its name, or a parameter by its own."""
    for key in (name, _PREFIX + name):
        if key in cv_results:
            return np.ma.asarray(cv_results[key])
    known = [key.removeprefix(_PREFIX) for key in cv_results if key != "params"]
    raise ValueError(f"{name!r} is neither a parameter nor a column; known: {known}")


def _numbers(
    cv_results: Mapping[str, object], name: str
) -> tuple[FloatArray, BoolArray]:
    """Return a column's numbers, and where it has none."""
    column = _column(cv_results, name)
    absent = np.ma.getmaskarray(column)
    values = np.full(len(column), np.nan)
    for row in np.flatnonzero(~absent).tolist():
        value = column.data[row]
        if value is not None and not isinstance(value, numbers.Real | np.bool_):
            raise ValueError(
                f"{name!r} must hold numbers to be compared, got {value!r}; a pair of "
                "the name and a list of values gives their order"
            )
        values[row] = math.inf if value is None else float(value)
    return values, absent


def _ranks(cv_results: Mapping[str, object], name: str, order: Order) -> FloatArray:
    """Return numbers by which rows are ordered, the simplest first."""
    if isinstance(order, str):
        values, absent = _numbers(cv_results, name)
        return np.where(absent, -np.inf, values if order == "min" else -values)
    column = _column(cv_results, name)
    absent = np.ma.getmaskarray(column)
    ranks = np.full(len(column), -np.inf)
    listed = list(order)
    for row in np.flatnonzero(~absent).tolist():
        value = column.data[row]
        places = [k for k, each in enumerate(listed) if each is value or each == value]
        if not places:
            raise ValueError(f"the order of {name!r} lacks {value!r}: {listed!r}")
        ranks[row] = places[0]
    return ranks
