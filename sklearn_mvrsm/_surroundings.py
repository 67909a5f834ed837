"""What a fit finds around it: settings, warning filters, and its share of the cores."""

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import joblib
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


_BOUND_BY_OPENMP = ("xgboost",)
"""Libraries that take no more threads than OpenMP has, whatever their ``n_jobs``."""


def threads_asked_for(estimator: Any) -> int:
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


def thread_limits(n_slots: int, asked_for: int = 1) -> dict[str, str]:
    """Environment of a worker that keeps the slots from sharing cores, as joblib does.

    Parameters
    ----------
    n_slots : int
        Fits at a time.
    asked_for : int
        Threads that OpenMP must have at least, see `threads_asked_for`.

    Returns
    -------
    dict of str to str
        The number of threads of the common numerical libraries: joblib's
        ``inner_max_num_threads``, else what the user's own environment says, else the
        cores by the slots.
    """
    backend, _ = get_active_backend()
    chosen = getattr(backend, "inner_max_num_threads", None)
    share = str(max(joblib.cpu_count() // n_slots, 1))
    rule = dict.fromkeys(_THREAD_VARIABLES, share)
    rule["OMP_NUM_THREADS"] = str(max(int(share), asked_for))
    limits = {name: os.environ.get(name, number) for name, number in rule.items()}
    if chosen is not None:
        limits = dict.fromkeys(_THREAD_VARIABLES, str(chosen))
    return {**limits, "ENABLE_IPC": os.environ.get("ENABLE_IPC", "1")}


@dataclass(frozen=True)
class Surroundings:
    """What a fit in another process must find there too.

    Attributes
    ----------
    config : mapping
        The settings of scikit-learn.
    filters : sequence of tuple
        Those of the warnings.
    """

    config: Mapping[str, Any]
    filters: Sequence[tuple[Any, ...]]

    @classmethod
    def of_this_thread(cls) -> Self:
        """Look them up."""
        current = getattr(warnings, "_get_filters", lambda: warnings.filters)()
        return cls(get_config(), list(current))

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Put them in force for the block."""
        with config_context(**self.config), warnings.catch_warnings():
            warnings.resetwarnings()
            for action, message, category, module, line in self.filters:
                warnings.filterwarnings(
                    action,
                    getattr(message, "pattern", message) or "",
                    category,
                    getattr(module, "pattern", module) or "",
                    line,
                    append=True,
                )
            yield
