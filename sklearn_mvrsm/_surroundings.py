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

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def threads_asked_for(estimator: Any) -> int:
    """Return the most threads that an estimator, or a part of it, is told to use.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    int
        The largest ``n_jobs``, 1 if none is a positive number: -1 is as many as there
        are for it.
    """
    params = estimator.get_params(deep=True)
    told = [value for name, value in params.items() if name.split("__")[-1] == "n_jobs"]
    return max([1, *(int(value) for value in told if isinstance(value, Integral))])


def thread_limits(n_slots: int, asked_for: int = 1) -> dict[str, str]:
    """Environment of a worker that keeps the slots from sharing cores, as joblib does.

    Parameters
    ----------
    n_slots : int
        Fits at a time.
    asked_for : int
        Threads that the estimator was told to use. XGBoost takes no more than OpenMP
        is allowed, whatever its own ``n_jobs``.

    Returns
    -------
    dict of str to str
        The number of threads of the common numerical libraries: what the user's own
        environment says, else the cores by the slots, or what the estimator was told.
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
