"""The best estimator of a search: fitted on all data, at the end or later."""

import contextlib
import time
from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import indexable

from sklearn_mvrsm._compat.sklearn import (
    BaseSearchCV,
    check_method_params,
    routed_params,
)
from sklearn_mvrsm._execution import copies_ended
from sklearn_mvrsm._search.checks import check_target
from sklearn_mvrsm._search.task_tree import TaskTree

__all__ = ["BestEstimatorMixin", "fit_best"]


class BestEstimatorMixin:
    """What a search does with its best estimator.

    It comes before scikit-learn's classes among the bases, which have ``predict`` and
    the other methods of the estimator.
    """

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is what ``refit`` promises: an estimator, or results.

        Raises
        ------
        NotFittedError
            If the search ended before its refit; it says what can be done then.
        """
        search: Any = self
        if not search.refit:
            return hasattr(search, "cv_results_")
        if hasattr(search, "cv_results_") and not hasattr(search, "best_estimator_"):
            n = len(search.cv_results_["params"])
            raise NotFittedError(
                f"{type(search).__name__} ended after {n} candidates, before the best "
                f"estimator was fitted on all data. {_what_to_do(search)}"
            )
        return hasattr(search, "best_estimator_")

    def refit_best(self, X: object, y: object = None, **params: object) -> Self:
        """Fit the best estimator on all data, where the search did not come to that.

        After an interrupt, or an error in the refit, ``best_params_`` is known, but
        there is no ``best_estimator_``. The search does not keep the data, so they are
        to be given again; other data do as well. As in ``fit``, there is no limit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target; None for unsupervised learning.
        **params : dict of str to object
            As in ``fit``. Only the ``fit`` of the estimator uses them.

        Returns
        -------
        MVRSMSearchCV
            The search, with ``best_estimator_`` and ``refit_time_``.

        Raises
        ------
        NotFittedError
            If there are no ``best_params_``.
        """
        if not hasattr(self, "best_params_"):
            raise NotFittedError(
                f"{type(self).__name__}.refit_best needs 'best_params_', which a "
                "candidate with a score gives: call 'fit' first."
            )
        X, y = indexable(X, y)
        check_target(self, y)
        routed = routed_params(self, check_method_params(X, params=params))
        fit_best(self, X, y, routed.estimator.fit)
        return self

    def score(self, X: object, y: object = None, **params: object) -> float:
        """Score the best estimator on the given data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target.
        **params : dict
            Passed to the scorer, if metadata routing is enabled.

        Returns
        -------
        float
            The metric that ``refit`` names, or the only one.

        Raises
        ------
        ValueError
            If there are several metrics and ``refit`` names none of them.
        """
        search: Any = self
        if callable(search.refit) and getattr(search, "multimetric_", False):
            raise ValueError(
                f"{type(self).__name__}.score needs one metric, but 'scoring' has "
                "several and 'refit' is a callable, which names none of them; use "
                "'scorer_' on 'best_estimator_'"
            )
        behind: Any = super()  # scikit-learn's class, which has no types
        return float(behind.score(X, y, **params))


def fit_best(
    search: BaseSearchCV,
    X: object,
    y: object,
    fit_params: Mapping[str, object],
    tree: TaskTree | None = None,
) -> None:
    """Fit the best estimator of a search on all data, in this process.

    Parameters
    ----------
    search : BaseSearchCV
        It has ``best_params_``, and gets ``best_estimator_`` and ``refit_time_``.
    X, y : array-like
        The data.
    fit_params : mapping
        For the ``fit`` of the estimator.
    tree : TaskTree or None
        The tasks that callbacks see, of which this becomes one.
    """
    params = clone(search.best_params_, safe=False)
    estimator = clone(search.estimator).set_params(**params)
    task = contextlib.nullcontext() if tree is None else tree.refit(estimator)
    with task, copies_ended():
        start = time.monotonic()
        if y is None:
            estimator.fit(X, **fit_params)
        else:
            estimator.fit(X, y, **fit_params)
        search.refit_time_ = time.monotonic() - start
    search.best_estimator_ = estimator
    if hasattr(estimator, "feature_names_in_"):
        search.feature_names_in_ = estimator.feature_names_in_


def _what_to_do(search: object) -> str:
    if hasattr(search, "best_params_"):
        return "Call 'refit_best' with the data to fit it; 'best_params_' is known."
    return "There is no 'best_params_' yet: call 'fit' again."
