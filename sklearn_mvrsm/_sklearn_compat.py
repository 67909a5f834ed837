"""Every name of scikit-learn and joblib that is not public, and nothing else.

Each such name is a debt: it may move in any release. Importing them in one place means
that a move breaks one module, whose test names what moved.
"""

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.metrics._scorer import _MultimetricScorer as MultimetricScorer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_method_params as check_method_params

__all__ = [
    "BaseSearchCV",
    "Interval",
    "MultimetricScorer",
    "StrOptions",
    "check_method_params",
    "fit_context",
    "root_callback_context",
    "scorer_names",
]


def scorer_names(scorer: Any) -> list[str] | None:
    """Names of the metrics of ``scorer``; None where it has one without a name.

    Parameters
    ----------
    scorer : callable
        What ``BaseSearchCV._get_scorers`` returned.

    Returns
    -------
    list of str or None
        None too for a callable of the user's, which may turn out to have names.
    """
    if isinstance(scorer, MultimetricScorer):
        return list(scorer._scorers)
    return None


def root_callback_context(search: Any, max_subtasks: int) -> Any:
    """Open the callback context of ``search.fit``.

    Parameters
    ----------
    search : BaseSearchCV
        The search whose ``fit`` has begun.
    max_subtasks : int
        How many subtasks the fit has.

    Returns
    -------
    CallbackContext or None
        None before scikit-learn 1.9, which has no callbacks.
    """
    if not hasattr(search, "_init_callback_context"):
        return None
    return search._init_callback_context(max_subtasks=max_subtasks)
