"""A booster that is stopped by samples held out of those it is given.

As the last step of a pipeline it is given samples that the earlier steps have
transformed, so what is held out has been transformed, too. In a search every fold holds
out samples of its own.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_mvrsm._sklearn_compat import (
    available_if,
    check_method_params,
    num_samples,
    safe_split,
)

__all__ = ["EarlyStopping"]

IndexArray = npt.NDArray[np.intp]

# What libraries call the weights of the samples that are held out.
_WEIGHTS = ("sample_weight_eval_set", "eval_sample_weight")

# How many rounds count, and what to add: XGBoost counts from 0; CatBoost; LightGBM.
_ROUNDS = {"best_iteration": 1, "tree_count_": 0, "n_iter_": 0}


def _has(method: str) -> Callable[[Any], bool]:
    """Whether the booster has a method."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return check


class EarlyStopping(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # base is Any: scikit-learn has no py.typed; once it has, strict mypy reports this line as unused
    """Hold out a share of the samples, and stop boosting when it gains no more.

    For the scikit-learn classes of XGBoost, LightGBM and CatBoost. Their ``fit`` is
    given the samples that were held out; their own ``early_stopping_rounds`` is set.
    Everything else, also the metric that is watched, is the booster's.

    Parameters
    ----------
    estimator : estimator
        The booster. Its ``n_estimators`` is now the largest number of rounds.
    n_iter_no_change : int, default=10
        Rounds without an improvement after which boosting stops.
    validation_fraction : float, default=0.1
        The share of the samples that is held out, between 0 and 1. A classifier has
        the same share of each class held out, as nearly as can be.
    shuffle : bool, default=True
        False: the last samples are held out, for samples in the order of time.
    random_state : int, RandomState instance or None, default=None
        Which samples are held out. An int: the same ones whenever it is fitted on the
        same samples, so that a search can be repeated.

    Attributes
    ----------
    estimator_ : estimator
        The fitted booster.
    n_iter_ : int
        Rounds up to the best one. Predictions use these.
    classes_ : ndarray of shape (n_classes,)
        Of a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where the data have any.

    See Also
    --------
    sklearn.ensemble.HistGradientBoostingClassifier : Holds out samples by itself, with
        ``early_stopping=True``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from xgboost import XGBClassifier
    >>> from sklearn_mvrsm.boosting import EarlyStopping
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> booster = XGBClassifier(n_estimators=1000)
    >>> model = make_pipeline(StandardScaler(), EarlyStopping(booster, random_state=0))
    >>> model = model.fit(X, y)
    >>> bool(model[-1].n_iter_ < 200)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.1,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the booster on what is not held out, watched by what is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. Those that are held out keep theirs, where the
            booster has weights for them (CatBoost has none).

        Returns
        -------
        EarlyStopping
            Itself.

        Raises
        ------
        ValueError
            If an argument or the target is no good; if there are too few samples to
            hold out any.
        TypeError
            If the booster's ``fit`` takes no samples to watch.
        """
        known = inspect.signature(self.estimator.fit).parameters
        self._check(known, y)
        X, y = (np.asarray(each) if isinstance(each, list) else each for each in (X, y))
        X, y = indexable(X, y)
        booster = clone(self.estimator).set_params(
            early_stopping_rounds=self.n_iter_no_change
        )
        train, held = self._split(y)
        X_train, y_train = safe_split(booster, X, y, train)
        X_held, y_held = safe_split(booster, X, y, held, train)
        arguments = _watching(known, X_held, y_held)
        if sample_weight is not None:
            weights = check_method_params(X, {"w": sample_weight}, train)["w"]
            arguments["sample_weight"] = weights
            weights = check_method_params(X, {"w": sample_weight}, held)["w"]
            arguments |= {name: [weights] for name in _WEIGHTS if name in known}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The argument 'eval_set' is deprecated")
            self.estimator_ = booster.fit(X_train, y_train, **arguments)
        return self

    def _check(self, known: Mapping[str, inspect.Parameter], y: Any) -> None:
        """Refuse what cannot be fitted."""
        rounds, share = self.n_iter_no_change, self.validation_fraction
        if not isinstance(rounds, Integral) or rounds < 1:
            raise ValueError(f"'n_iter_no_change' must be an int >= 1, got {rounds!r}")
        if not isinstance(share, Real) or not 0.0 < share < 1.0:
            raise ValueError(
                f"'validation_fraction' must be a float between 0 and 1, got {share!r}"
            )
        if not {"eval_set", "eval_X"} & set(known):
            raise TypeError(
                f"{type(self.estimator).__name__}.fit takes no samples to watch, which "
                "EarlyStopping needs; scikit-learn's boosters hold out samples by "
                "themselves, with early_stopping=True or n_iter_no_change"
            )
        if y is None:
            raise ValueError(
                "EarlyStopping requires y to be passed, but the target y is None"
            )
        if is_classifier(self.estimator):
            check_classification_targets(y)

    def _split(self, y: Any) -> tuple[IndexArray, IndexArray]:
        """Choose the samples to fit on, and those to hold out."""
        n_samples = num_samples(y)
        order = np.arange(n_samples)
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(n_samples)
        n_held = max(1, round(self.validation_fraction * n_samples))
        held = np.zeros(n_samples, dtype=np.bool_)
        if n_samples > 0:
            if self.shuffle and is_classifier(self.estimator):
                order = _of_each_class(np.asarray(y), order, n_held)
            held[order[-n_held:]] = True
        if held.all() or not held.any():
            raise ValueError(
                f"EarlyStopping holds out a share of {self.validation_fraction} of the "
                f"samples, and needs more of them than it got: n_samples={n_samples}"
            )
        return np.flatnonzero(~held), np.flatnonzero(held)

    @available_if(_has("predict"))
    def predict(self, X: Any) -> Any:
        """Predict with the rounds up to the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ndarray
            As of the booster.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities of classes with the rounds up to the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            As of the booster.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_has("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the predictions, as the booster does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            Accuracy of a classifier, R² of a regressor.
        """
        check_is_fitted(self)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(X, y, **weights))

    @property
    def n_iter_(self) -> int:
        """Rounds up to the best one."""
        for name, add in _ROUNDS.items():
            if hasattr(self.estimator_, name):
                return int(getattr(self.estimator_, name)) + add
        raise AttributeError(f"{self.estimator_} does not say where it was stopped")

    @property
    def classes_(self) -> Any:
        """Classes of a classifier."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of features, where the data have any."""
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the booster."""
        tags = super().__sklearn_tags__()
        of_booster = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags"):
            setattr(tags, name, getattr(of_booster, name))
        tags.target_tags = of_booster.target_tags
        tags.input_tags = of_booster.input_tags
        tags.non_deterministic = of_booster.non_deterministic
        return tags


def _watching(known: Mapping[str, inspect.Parameter], X: Any, y: Any) -> dict[str, Any]:
    """Return the arguments of a booster's fit that give it samples to watch."""
    # LightGBM 4.7 prefers eval_X and eval_y, but takes labels there for numbers
    arguments: dict[str, Any] = {"eval_X": X, "eval_y": y}
    if "eval_set" in known:
        arguments = {"eval_set": [(X, y)]}
    if "verbose" in known and known["verbose"].default is True:
        arguments["verbose"] = False  # XGBoost prints a line for each round
    return arguments


def _of_each_class(y: Any, order: IndexArray, n_held: int) -> IndexArray:
    """Choose samples of every class in proportion, but never all of a class.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Labels.
    order : ndarray of shape (n_samples,)
        A permutation, which decides within a class.
    n_held : int
        How many to choose; one less for each class that would be used up.
    """
    y = y.astype(str) if y.ndim > 1 else y  # old numpy compares no rows of objects
    _, kinds = np.unique(y, axis=0 if y.ndim > 1 else None, return_inverse=True)
    kinds = kinds.reshape(-1)
    by_class = order[np.argsort(kinds[order], kind="stable")]
    steps = np.arange(len(y) + 1) * n_held // len(y)  # grows at n_held places, evenly
    chosen = by_class[np.diff(steps) > 0]
    left = np.bincount(kinds) - np.bincount(kinds[chosen], minlength=kinds.max() + 1)
    present, first = np.unique(kinds[chosen], return_index=True)
    return np.delete(chosen, first[left[present] == 0])
