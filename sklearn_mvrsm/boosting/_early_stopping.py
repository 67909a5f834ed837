"""A booster that is stopped by samples held out of those it is given.

As the last step of a pipeline it is given samples that the earlier steps have
transformed, so what is held out has been transformed, too. In a search every fold holds
out samples of its own.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import (
    check_array,
    check_random_state,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_mvrsm._compat.sklearn import (
    available_if,
    check_method_params,
    num_samples,
    requested_metadata,
    safe_split,
)
from sklearn_mvrsm._domain import IntArray
from sklearn_mvrsm.boosting._holdout import of_each_class, of_whole_groups

__all__ = ["EarlyStopping"]


# Arguments with a value for each sample, and their names for samples held out.
_OF_SAMPLES = {
    "sample_weight": ("sample_weight_eval_set", "eval_sample_weight"),
    "base_margin": ("base_margin_eval_set",),
    "init_score": ("eval_init_score",),
    "baseline": (),
}

# Arguments of a booster's fit that are set here.
_WATCHING = {"eval_set", "eval_X", "eval_y", "early_stopping_rounds"}.union(
    *_OF_SAMPLES.values()
)

# Other names of early_stopping_rounds. CatBoost refuses two, LightGBM prefers these.
_PATIENCE = ("od_wait", "early_stopping_round", "early_stopping", "n_iter_no_change")

# How many rounds count, and what to add: XGBoost counts from 0; CatBoost; LightGBM.
_ROUNDS = {"best_iteration": 1, "tree_count_": 0, "n_iter_": 0}


def _has(method: str) -> Callable[[BaseEstimator], bool]:
    """Return a check whether the booster has a method."""

    def check(model: BaseEstimator) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return check


class EarlyStopping(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # base is Any: scikit-learn has no py.typed; once it has, strict mypy reports this line as unused
    """Stop boosting when a held-out share of the samples gains no more.

    For the scikit-learn classes of XGBoost, LightGBM and CatBoost. Their ``fit`` is
    given the samples that were held out; their own ``early_stopping_rounds`` is set.
    Everything else, also the metric that is watched, is the booster's. What it has once
    it is fitted (``feature_importances_``, ``coef_``, ``get_booster``) can be reached
    here, too, so that ``RFE`` and ``SelectFromModel`` can use it.

    Parameters
    ----------
    estimator : estimator
        The booster. Its ``n_estimators`` is now the largest number of rounds.
    n_iter_no_change : int, default=10
        Rounds without an improvement after which boosting stops.
    validation_fraction : float, default=0.1
        The share of the samples that is held out, between 0 and 1. A classifier has
        the same share of each class held out, as nearly as can be. With ``groups``,
        whole groups are.
    shuffle : bool, default=True
        False: the last samples are held out, for samples in the order of time, or the
        groups that end last.
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
        estimator: BaseEstimator,
        *,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.1,
        shuffle: bool = True,
        random_state: object = None,
    ) -> None:
        self.estimator = estimator
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.random_state = random_state

    # under metadata routing, groups come without being asked for, as to splitters
    __metadata_request__fit: ClassVar = {"groups": True}

    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        groups: object = None,
        **fit_params: object,
    ) -> Self:
        """Fit the booster on what is not held out, watched by what is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. Those that are held out keep theirs.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples, of which none is held out in part. Not for the booster.
        **fit_params : dict
            More for the booster's ``fit``, as ``cat_features`` or ``eval_metric``.
            Values for each sample (``base_margin``, ``init_score``, ``baseline``) are
            split as the samples are.

        Returns
        -------
        EarlyStopping
            Itself.

        Raises
        ------
        ValueError
            If an argument or the target is no good; if there are too few samples or
            groups to hold out any.
        TypeError
            If the booster's ``fit`` takes no samples to watch, or is given others.
        """
        known = inspect.signature(self.estimator.fit).parameters
        self._check(known, y, fit_params)
        X, y = (np.asarray(each) if isinstance(each, list) else each for each in (X, y))
        X, y, groups = indexable(X, y, groups)
        booster = clone(self.estimator)
        own = booster.get_params()
        patience = [name for name in _PATIENCE if own.get(name) is not None]
        booster.set_params(
            **{(*patience, "early_stopping_rounds")[0]: self.n_iter_no_change}
        )
        train, held = self._split(y, groups)
        X_train, y_train = safe_split(booster, X, y, train)
        X_held, y_held = safe_split(booster, X, y, held, train)
        if sample_weight is not None:
            fit_params = {**fit_params, "sample_weight": sample_weight}
        of_held = check_method_params(X, fit_params, held)
        arguments = _watching(known, booster, X_held, y_held, of_held)
        arguments |= check_method_params(X, fit_params, train)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The argument 'eval_set' is deprecated")
            self.estimator_ = booster.fit(X_train, y_train, **arguments)
        return self

    def _check(
        self,
        known: Mapping[str, inspect.Parameter],
        y: object,
        fit_params: dict[str, object],
    ) -> None:
        """Refuse what cannot be fitted."""
        rounds, share = self.n_iter_no_change, self.validation_fraction
        if not isinstance(rounds, Integral) or rounds < 1 or rounds is True:
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
        for name in sorted(_WATCHING & set(fit_params)):
            raise TypeError(
                f"{name!r} must not be given to the fit of EarlyStopping, which sets "
                f"it itself, got {fit_params[name]!r}"
            )
        if y is None:
            raise ValueError(
                "EarlyStopping requires y to be passed, but the target y is None"
            )
        if is_classifier(self.estimator):
            check_classification_targets(y)

    def _split(self, y: Any, groups: Any) -> tuple[IntArray, IntArray]:
        """Choose the samples to fit on, and those to hold out."""
        n_samples = num_samples(y)
        rng = check_random_state(self.random_state)
        n_held = max(1, round(self.validation_fraction * n_samples))
        by_class = self.shuffle and is_classifier(self.estimator)
        held = np.zeros(n_samples, dtype=np.bool_)
        if groups is not None and n_samples > 0:
            groups = _checked_groups(groups)
            labels = np.asarray(y) if by_class and np.ndim(y) == 1 else held
            held = of_whole_groups(
                labels, groups, rng if self.shuffle else None, n_held
            )
        elif n_samples > 0:
            order = rng.permutation(n_samples) if self.shuffle else np.arange(n_samples)
            if by_class:
                order = of_each_class(np.asarray(y), order, n_held)
            held[order[-n_held:]] = True
        if held.all() or not held.any():
            kind = "samples" if groups is None else "groups (two with each class)"
            raise ValueError(
                f"EarlyStopping holds out a share of {self.validation_fraction} of the "
                f"samples, and needs more {kind} than it got: n_samples={n_samples}"
            )
        return np.flatnonzero(~held), np.flatnonzero(held)

    @available_if(_has("predict"))
    def predict(self, X: object, **params: object) -> Any:
        """Predict with the rounds up to the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        **params : dict
            More for the booster.

        Returns
        -------
        ndarray
            As of the booster.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X, **params)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: object, **params: object) -> Any:
        """Predict probabilities of classes with the rounds up to the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        **params : dict
            More for the booster.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            As of the booster.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X, **params)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: object, **params: object) -> Any:
        """Predict logarithms of probabilities, as `predict_proba` does."""
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X, **params)

    @available_if(_has("decision_function"))
    def decision_function(self, X: object, **params: object) -> Any:
        """Predict raw scores with the rounds up to the best one."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X, **params)

    @available_if(_has("score"))
    def score(self, X: object, y: object, sample_weight: object = None) -> float:
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

    def __getattr__(self, name: str) -> Any:
        """Return what the fitted booster has under a public name."""
        if name.startswith("_") or name in ("estimator", "estimator_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        booster = vars(self).get("estimator_")
        if booster is None:
            if name in ("n_iter_", "classes_") or hasattr(type(self.estimator), name):
                raise NotFittedError(f"{self} has no {name!r} before it is fitted")
        elif name == "n_iter_":
            return _rounds(booster)
        elif name.endswith("_") or hasattr(type(booster), name):  # no parameters
            return getattr(booster, name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def get_metadata_routing(self) -> object:
        """Request what the booster does, where nothing else is requested of this.

        Returns
        -------
        MetadataRequest
            As of any estimator that is given metadata.
        """
        requests = super().get_metadata_routing()
        for method, of_booster in requested_metadata(self.estimator).items():
            own = getattr(requests, method)
            for param, alias in of_booster.items():
                if own.requests.get(param) is None:
                    own.add_request(param=param, alias=alias)
        return requests

    def __sklearn_tags__(self) -> object:
        """Return the tags of the booster."""
        tags = super().__sklearn_tags__()
        of_booster = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags"):
            setattr(tags, name, getattr(of_booster, name))
        tags.target_tags = of_booster.target_tags
        tags.input_tags = of_booster.input_tags
        tags.non_deterministic = of_booster.non_deterministic
        return tags


def _checked_groups(groups: object) -> npt.NDArray[Any]:
    """Return groups as an array of shape (n_samples,), or say what is wrong."""
    array = check_array(groups, ensure_2d=False, dtype=None, input_name="groups")
    array = column_or_1d(array, warn=False)
    if array.dtype == object and any(each is None for each in array):
        raise ValueError("'groups' must name a group for each sample, got None")
    return np.asarray(array)


def _rounds(booster: object) -> int:
    """Return the number of rounds up to the best one."""
    for name, add in _ROUNDS.items():
        if hasattr(booster, name):
            return int(getattr(booster, name)) + add
    raise AttributeError(f"{booster} does not say where it was stopped")


def _watching(
    known: Mapping[str, inspect.Parameter],
    booster: object,
    X: object,
    y: object,
    of_held: Mapping[str, object],
) -> dict[str, object]:
    """Return the arguments of a booster's fit that give it samples to watch."""
    # LightGBM 4.7 prefers eval_X and eval_y, but takes labels there for numbers
    arguments: dict[str, Any] = {"eval_X": X, "eval_y": y}
    if "eval_set" in known:
        arguments = {"eval_set": [(X, y)]}
    if "verbose" in known and known["verbose"].default is True:
        arguments["verbose"] = False  # XGBoost prints a line for each round
    given = {name for name in _OF_SAMPLES if of_held.get(name) is not None}
    for name in given:
        others = [other for other in _OF_SAMPLES[name] if other in known]
        arguments |= {other: [of_held[name]] for other in others}
    if given and "baseline" in known:  # CatBoost
        arguments["eval_set"] = _pool(booster, X, y, of_held)
    return arguments


def _pool(
    booster: BaseEstimator, X: object, y: object, of_held: Mapping[str, object]
) -> object:
    """Return samples with weights in the form that CatBoost has for them."""
    from catboost import Pool

    own = booster.get_params() | of_held
    names = ("baseline", "cat_features", "text_features", "embedding_features")
    return Pool(
        X,
        y,
        weight=of_held.get("sample_weight"),
        **{name: own[name] for name in names if own.get(name) is not None},
    )
