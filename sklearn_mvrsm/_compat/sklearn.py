"""Every name of scikit-learn that is not public, and nothing else.

Each such name is a debt: it may move in any release. Importing them in one place means
that a move breaks one module, whose test names what moved.
"""

import copy
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar, cast

from sklearn.base import _fit_context
from sklearn.metrics._scorer import _MultimetricScorer as MultimetricScorer
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._split import _CVIterableWrapper
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils import Bunch, metaestimators
from sklearn.utils._metadata_requests import SIMPLE_METHODS
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "BaseSearchCV",
    "Interval",
    "MultimetricScorer",
    "StrOptions",
    "available_if",
    "check_as_parameters_of",
    "check_method_params",
    "check_refit",
    "fit_and_score",
    "fit_context",
    "get_scorers",
    "has_callbacks",
    "is_passthrough",
    "lean_caller",
    "lean_context",
    "listed_folds",
    "named_scorers",
    "num_samples",
    "requested_metadata",
    "root_callback_context",
    "routed_params",
    "safe_split",
    "search_constraints",
    "select_best_index",
]


Scorer = Callable[..., object]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def check_as_parameters_of(
    estimator: type[BaseSearchCV], values: Mapping[str, object], caller: str
) -> None:
    """Check values by the rules that an estimator has for parameters of these names.

    Raises
    ------
    ValueError
        Naming the parameter, the rule and the value.
    """
    rules = estimator._parameter_constraints
    rules = {name: rules[name] for name in values}
    validate_parameter_constraints(rules, values, caller_name=caller)


def fit_context(
    *, prefer_skip_nested_validation: bool
) -> Callable[[Decorated], Decorated]:
    """Return scikit-learn's decorator of ``fit``, with its types."""
    decorator = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return cast(Callable[[Decorated], Decorated], decorator)


def available_if(check: Callable[[object], bool]) -> Callable[[Decorated], Decorated]:
    """Return scikit-learn's decorator of methods that are there on a condition."""
    decorator = metaestimators.available_if(check)
    return cast(Callable[[Decorated], Decorated], decorator)


def named_scorers(scorer: object) -> dict[str, Any] | None:
    """Return the scorers by the name of their metric.

    Parameters
    ----------
    scorer : callable
        What `get_scorers` returned.

    Returns
    -------
    dict of str to callable, or None
        None for one without a name, and for a callable of the user's, which may turn
        out to give several scores.
    """
    if isinstance(scorer, MultimetricScorer):
        return dict(scorer._scorers)
    return None


def is_passthrough(scorer: object) -> bool:
    """Return whether a scorer calls the ``score`` of whatever estimator it scores."""
    return isinstance(scorer, _PassthroughScorer)


def listed_folds(cv: object) -> list[Any] | None:
    """Return the folds that ``check_cv`` was given as an iterable; None if it was not.

    To read them by ``split`` fails, without a word about ``cv``, where one is no pair.
    """
    return list(cv.cv) if isinstance(cv, _CVIterableWrapper) else None


def search_constraints() -> dict[str, list[Any]]:
    """Return what the arguments that all searches share may be."""
    return dict(BaseSearchCV._parameter_constraints)


def get_scorers(search: BaseSearchCV) -> Scorer:
    """Return what scores a fit, as ``scoring`` and the estimator have it."""
    scorers: Scorer
    scorers, _ = search._get_scorers()
    return scorers


def routed_params(search: BaseSearchCV, params: Mapping[str, object]) -> Bunch:
    """Choose what goes to the estimator, the splitter and the scorer.

    Parameters
    ----------
    search : BaseSearchCV
        Its routing decides, or the rule without routing.
    params : mapping
        What ``search.fit`` was called with, beside X and y.

    Returns
    -------
    Bunch
        ``estimator.fit``, ``splitter.split``, ``scorer.score``: a dict each.
    """
    return search._get_routed_params_for_fit(dict(params))


def check_refit(search: BaseSearchCV, metrics: Collection[str]) -> None:
    """Raise ValueError unless ``refit`` says which of several metrics counts."""
    search._check_refit_for_multimetric(metrics)


def select_best_index(refit: object, metric: str, results: Mapping[str, object]) -> int:
    """Return the row of the winner, by ``refit`` and by the ranks of a metric."""
    return cast(int, BaseSearchCV._select_best_index(refit, metric, results))


def requested_metadata(estimator: object) -> dict[str, dict[str, Any]]:
    """Return what ``set_fit_request`` and its like have requested of an estimator.

    Parameters
    ----------
    estimator : estimator
        Without requests of its own where nothing was set.

    Returns
    -------
    dict of str to dict
        For each method, the names of its metadata: True, False or an alias.
    """
    requests = getattr(estimator, "_metadata_request", None)
    if requests is None:
        return {}
    return {
        method: {
            name: alias
            for name, alias in getattr(requests, method).requests.items()
            if alias is not None
        }
        for method in SIMPLE_METHODS
    }


def root_callback_context(search: BaseSearchCV, max_subtasks: int) -> Any:
    """Open the callback context of ``search.fit``.

    Parameters
    ----------
    search : BaseSearchCV
        The search whose ``fit`` has begun.
    max_subtasks : int
        How many subtasks the fit has.

    Returns
    -------
    CallbackContext
    """
    return search._init_callback_context(max_subtasks=max_subtasks)


def has_callbacks(search: object) -> bool:
    """Return whether ``search.set_callbacks`` has been given any."""
    return bool(getattr(search, "_skl_callbacks", ()))


def lean_context(context: Any) -> Any:
    """Copy a callback context with the tasks above it, without their other tasks.

    Parameters
    ----------
    context : CallbackContext
        A leaf of the tree of tasks.

    Returns
    -------
    CallbackContext
        To be pickled: its size does not grow with the number of tasks.
    """
    lean = copy.copy(context)
    lean._children_map = {}
    if context.parent is not None:
        lean.parent = lean_context(context.parent)
        lean.parent._children_map = {context.task_id: lean}
    return lean


def lean_caller(search: BaseSearchCV) -> BaseSearchCV:
    """Copy a search without what only its own process can use.

    Parameters
    ----------
    search : BaseSearchCV
        Its fit has begun.

    Returns
    -------
    BaseSearchCV
        To be pickled; a generator as ``cv`` is left behind.
    """
    lean = copy.copy(search)
    for name in ("_callback_fit_ctx", "_skl_callbacks_to_teardown"):
        vars(lean).pop(name, None)
    if isinstance(lean.cv, Iterator):
        lean.cv = None
    for name in {"callback", "known_results"} & vars(lean).keys():
        setattr(lean, name, None)
    return lean


def fit_and_score(
    estimator: object, X: object, y: object, **kwargs: object
) -> dict[str, Any]:
    """Fit and score one candidate on one fold, as ``GridSearchCV`` does.

    Parameters
    ----------
    estimator, X, y, **kwargs
        Those of scikit-learn's function. Arguments that the installed release does
        not know (``caller`` and ``callback_ctx`` before 1.9) are left out.

    Returns
    -------
    dict
        ``test_scores``, ``fit_time``, ``score_time`` and so on.
    """
    known = inspect.signature(_fit_and_score).parameters
    kwargs = {name: value for name, value in kwargs.items() if name in known}
    result: dict[str, Any] = _fit_and_score(estimator, X, y, **kwargs)
    return result
