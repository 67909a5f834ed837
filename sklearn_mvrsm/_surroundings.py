"""What a fit finds around it: settings, warning filters, and its share of the cores."""

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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


def thread_limits(n_slots: int) -> dict[str, str]:
    """Environment of a worker that keeps the slots from sharing cores, as joblib does.

    Parameters
    ----------
    n_slots : int
        Fits at a time.

    Returns
    -------
    dict of str to str
        The number of threads of the common numerical libraries: what the user's own
        environment says, else the cores by the slots. Estimators with an ``n_jobs``
        of their own do as they are told.
    """
    backend, _ = get_active_backend()
    chosen = getattr(backend, "inner_max_num_threads", None)
    share = str(max(joblib.cpu_count() // n_slots, 1))
    limits = {name: os.environ.get(name, share) for name in _THREAD_VARIABLES}
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
