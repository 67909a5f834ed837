"""The winner on every fold: its models, and what they predict of unseen samples."""

import numbers
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, indexable

from sklearn_mvrsm._compat.sklearn import (
    BaseSearchCV,
    check_method_params,
    routed_params,
    safe_split,
)

__all__ = ["refit_folds"]


_MISSING_CLASS = {"predict_proba": 0.0, "predict_log_proba": -np.inf}


def refit_folds(
    search: BaseSearchCV,
    X: object,
    y: object = None,
    *,
    candidate: int | None = None,
    method: str | None = "predict",
    n_jobs: int | None = None,
    **params: object,
) -> Bunch:
    """Fit the winner of a search on each of its folds, and predict the held-out part.

    The search does not keep the models that it fits. They are made here again, on the
    very folds it used.

    Parameters
    ----------
    search : MVRSMSearchCV
        A fitted search.
    X : array-like of shape (n_samples, n_features)
        The data of the search.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Its target.
    candidate : int, default=None
        A row of ``cv_results_``. None: the winner, ``best_index_``.
    method : str, default="predict"
        Method of the models that predicts, as for ``cross_val_predict``, such as
        ``"predict_proba"``. None: no predictions.
    n_jobs : int, default=None
        Fits at a time, as joblib reads it. They have no time limit.
    **params : object
        What the search was fitted with, such as ``sample_weight``, routed as there;
        ``groups`` are not needed.

    Returns
    -------
    Bunch
        ``estimator`` : list, the fitted model of each fold.

        ``indices`` : dict of "train" and "test" to a list of arrays, a fold each.

        ``predictions`` : array of shape (n_samples, ...), for each sample the
        prediction of the model that did not see it; None without a method. Where folds
        test some samples more than once (repeated splits) it is the mean of their
        predictions, which labels do not have. Where folds leave out some samples it
        is a masked array.

        ``fold_predictions`` : list of the predictions for ``indices["test"]``, a fold
        each; None without a method.

    Raises
    ------
    NotFittedError
        If the search has no results, or does not keep its folds.
    ValueError
        If the data do not have as many samples as those of the search; if there is no
        winner or no such row; if labels would have to be averaged.
    AttributeError
        If the models do not have the method.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_mvrsm import Integer, MVRSMSearchCV
    >>> from sklearn_mvrsm.selection import refit_folds
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MVRSMSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": Integer(1, 9)},
    ...     n_iter=5,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> folds = refit_folds(search, X, y, method="predict_proba")
    >>> len(folds.estimator), folds.predictions.shape
    (5, (150, 3))
    """
    X, y = indexable(X, y)
    estimator = clone(search.estimator).set_params(
        **clone(_params_of(search, candidate), safe=False)
    )
    splits = list(search.cv_.split(X))
    params = check_method_params(X, params=params)
    fit_params = dict(routed_params(search, params).estimator.fit)
    models, outputs = zip(
        *joblib.Parallel(n_jobs=n_jobs)(
            joblib.delayed(_fit)(estimator, X, y, train, test, fit_params, method)
            for train, test in splits
        ),
        strict=True,
    )
    tests = [test for _, test in splits]
    folds = Bunch(
        estimator=list(models),
        indices={"train": [train for train, _ in splits], "test": tests},
        predictions=None,
        fold_predictions=None,
    )
    if method is not None:
        folds.fold_predictions = _aligned_classes(models, outputs, method)
        labels = method == "predict" and is_classifier(estimator)
        folds.predictions = _joined(
            folds.fold_predictions, tests, search.cv_.n_samples, labels=labels
        )
    return folds


def _params_of(search: object, candidate: int | None) -> dict[str, object]:
    if not hasattr(search, "cv_") or not hasattr(search, "cv_results_"):
        raise NotFittedError(f"refit_folds needs a fitted MVRSMSearchCV, got {search}")
    if candidate is None:
        if not hasattr(search, "best_index_"):
            raise ValueError(
                "The search has no winner, because 'refit' names none of its metrics; "
                "'candidate' must be a row of 'cv_results_', got None"
            )
        candidate = search.best_index_
    rows = search.cv_results_["params"]
    is_row = isinstance(candidate, numbers.Integral) and not isinstance(candidate, bool)
    if not is_row or not 0 <= candidate < len(rows):
        raise ValueError(
            f"'candidate' must be a row of 'cv_results_', 0 to {len(rows) - 1}, "
            f"got {candidate!r}"
        )
    return dict(rows[candidate])


def _fit(
    estimator: object,
    X: object,
    y: object,
    train: object,
    test: object,
    fit_params: dict[str, object],
    method: str | None,
) -> tuple[object, object]:
    """Fit a clone on one fold; return it, and what it says of the held-out part."""
    model = clone(estimator)
    X_train, y_train = safe_split(model, X, y, train)
    X_test, _ = safe_split(model, X, y, test, train)
    fit_params = check_method_params(X, params=fit_params, indices=train)
    if y_train is None:
        model.fit(X_train, **fit_params)
    else:
        model.fit(X_train, y_train, **fit_params)
    return model, None if method is None else getattr(model, method)(X_test)


def _aligned_classes(
    models: Sequence[BaseEstimator], outputs: Sequence[Any], method: str
) -> list[object]:
    """Return for every fold a column for each class, also for those it has not seen."""
    if method not in _MISSING_CLASS:
        return list(outputs)
    fill = _MISSING_CLASS[method]
    if not isinstance(outputs[0], list):
        return _with_all_classes([each.classes_ for each in models], outputs, fill)
    tables = [
        _with_all_classes([each.classes_[k] for each in models], tables, fill)
        for k, tables in enumerate(zip(*outputs, strict=True))
    ]
    return [list(each) for each in zip(*tables, strict=True)]


def _with_all_classes(
    classes: Sequence[Any], tables: Sequence[Any], fill: float
) -> list[Any]:
    """Put the columns of each table where its classes are among all."""
    known = np.unique(np.concatenate(classes))
    whole = [np.full((len(table), len(known)), fill) for table in tables]
    for each, own, table in zip(whole, classes, tables, strict=True):
        each[:, np.searchsorted(known, own)] = table
    return whole


def _joined(
    outputs: Sequence[object],
    tests: Sequence[npt.NDArray[np.intp]],
    n_samples: int,
    *,
    labels: bool,
) -> object:
    """Bring the predictions of all folds into the order of the samples."""
    if isinstance(outputs[0], list):  # several outputs, each with its probabilities
        return [
            _joined(each, tests, n_samples, labels=labels)
            for each in zip(*outputs, strict=True)
        ]
    parts = [np.asarray(each) for each in outputs]
    where = np.concatenate(tests)
    times = np.bincount(where, minlength=n_samples)
    if times.max() > 1 and labels:
        raise ValueError(
            f"Some samples are tested by {times.max()} folds, and labels have no mean: "
            "'method' must be another one, such as 'predict_proba', or None"
        )
    values = np.concatenate(parts)
    if times.max() > 1:
        joined = np.zeros((n_samples, *values.shape[1:]))
        np.add.at(joined, where, values)
        each = np.maximum(times, 1).reshape(-1, *[1] * (values.ndim - 1))
        joined /= each
    else:
        joined = np.zeros((n_samples, *values.shape[1:]), dtype=values.dtype)
        joined[where] = values
    if times.min() > 0:
        return joined
    mask = np.zeros(joined.shape, dtype=np.bool_)
    mask[times == 0] = True
    return np.ma.MaskedArray(joined, mask=mask)
