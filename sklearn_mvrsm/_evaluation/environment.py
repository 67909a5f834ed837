"""What a fit finds around it: settings, warning filters, and its share of the cores."""

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

from sklearn import config_context, get_config
from sklearn.base import BaseEstimator

_BOUND_BY_OPENMP = ("xgboost",)
"""Libraries that take no more threads than OpenMP has, whatever their ``n_jobs``."""


def threads_asked_for(estimator: BaseEstimator) -> int:
    """Return how many threads OpenMP must have for an estimator to do as it is told.

    Parameters
    ----------
    estimator : estimator
        It, or a part of it, may be of XGBoost.

    Returns
    -------
    int
        The largest ``n_jobs`` of those, 1 if none is a positive number: -1 is as many
        as there are for it. What others are told needs no thread of OpenMP.
    """
    parts = [estimator, *estimator.get_params(deep=True).values()]
    told = [
        part.get_params(deep=False).get("n_jobs")
        for part in parts
        if type(part).__module__.split(".")[0] in _BOUND_BY_OPENMP
        and isinstance(part, BaseEstimator)
    ]
    return max([1, *(int(n_jobs) for n_jobs in told if isinstance(n_jobs, Integral))])


FitEnvironment = tuple[Mapping[str, object], Sequence[tuple[Any, ...]]]
"""What a fit in another process must find there too: the settings of scikit-learn, and
the filters of warnings."""


def fit_environment() -> FitEnvironment:
    """Return the environment of a fit in this thread."""
    current = getattr(warnings, "_get_filters", lambda: warnings.filters)()
    return get_config(), list(current)


@contextlib.contextmanager
def restored(environment: FitEnvironment) -> Iterator[None]:
    """Put an environment in force for a block."""
    config, filters = environment
    with config_context(**config), warnings.catch_warnings():
        warnings.resetwarnings()
        for action, message, category, module, line in filters:
            warnings.filterwarnings(
                action,
                getattr(message, "pattern", message) or "",
                category,
                getattr(module, "pattern", module) or "",
                line,
                append=True,
            )
        yield
