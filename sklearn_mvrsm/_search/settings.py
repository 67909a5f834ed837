"""The arguments of a search or of `minimize`, as they are used."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_mvrsm._checkpoint import Decisive
from sklearn_mvrsm._compat.sklearn import BaseSearchCV
from sklearn_mvrsm._optimizer import Plan
from sklearn_mvrsm._space import plain
from sklearn_mvrsm._warnings import warn
from sklearn_mvrsm.callbacks import Callback, as_callbacks

__all__ = ["Settings"]


_DECISIVE = (
    "method",
    "n_pending",
    "n_initial_points",
    "include_default",
    "return_train_score",
    "fit_timeout",
    "fit_memory_limit",
    "racing",
)

# What must be a number, though to Python a bool is one.
_NUMBERS = (
    "n_iter",
    "n_initial_points",
    "n_pending",
    "fit_timeout",
    "timeout",
    "fit_memory_limit",
    "n_jobs",
    "error_score",
)


@dataclass(frozen=True)
class Settings:
    """The arguments of a search: numbers are Python's, seconds floats, bytes ints.

    Attributes
    ----------
    racing : bool or float
        False, or an error level.
    all others
        As `MVRSMSearchCV` describes them. Those that `minimize` has not come last.
    """

    n_iter: int | None
    n_initial_points: int | None
    initial_points: Sequence[Mapping[str, Any]] | None
    include_default: bool
    error_score: float | str
    verbose: int
    random_state: object
    n_jobs: int | None
    n_pending: int
    fit_timeout: float | None
    fit_memory_limit: int | None
    timeout: float | None
    checkpoint: str | os.PathLike[str] | None
    method: str
    progress: bool
    callback: Sequence[Callback]
    timeout_includes_refit: bool = False
    refit: bool | str | Callable[..., int] = False
    return_train_score: bool = False
    racing: bool | float = False
    known_results: Any = None
    constraint: str | Callable[[Mapping[str, Any]], float] | None = None

    @classmethod
    def of(cls, search: BaseSearchCV) -> Self:
        """Read the arguments of a search, each of which has been checked."""
        values = {each.name: getattr(search, each.name) for each in fields(cls)}
        return cls.read(values, type(search).__name__)

    @classmethod
    def read(cls, arguments: Mapping[str, Any], caller: str) -> Self:
        """Read arguments, each of which has been checked.

        Raises
        ------
        TypeError, ValueError
            If a callback is none, or neither a number of candidates nor a time ends
            the search.
        """
        values = {name: plain(value) for name, value in arguments.items()}
        for name in _NUMBERS:
            if isinstance(values[name], bool):
                raise ValueError(
                    f"The {name!r} parameter of {caller} must be a "
                    f"number and no bool. Got {values[name]} instead."
                )
        for name in ("fit_timeout", "timeout"):
            values[name] = None if values[name] is None else float(values[name])
        if values["n_iter"] is values["timeout"] is None:
            raise ValueError(
                "'timeout' must be a number of seconds where 'n_iter' is None, got "
                "None: nothing would end the search"
            )
        limit = values["fit_memory_limit"]
        values["fit_memory_limit"] = None if limit in (None, np.inf) else int(limit)
        if values.get("racing") is True:
            values["racing"] = 0.05
        values["callback"] = as_callbacks(values["callback"])
        return cls(**values)

    @property
    def raises(self) -> bool:
        """Whether a fit that fails ends the search."""
        return isinstance(self.error_score, str)

    @property
    def score_of_failures(self) -> float:
        """What stands for the score of a fit that failed."""
        return np.nan if isinstance(self.error_score, str) else float(self.error_score)

    @property
    def decisive(self) -> Decisive:
        """What decides about the results; a checkpoint keeps it.

        Free to change are ``n_iter``, ``n_jobs``, a ``random_state`` that becomes None,
        ``error_score`` (failures are kept as such), and all that only shows, ends or
        follows the search.
        """
        options = {name: getattr(self, name) for name in _DECISIVE}
        points, known = self.initial_points or (), self.known_results or ()
        return Decisive(options, self.refit, points, known, self.constraint)

    def plan(self) -> Plan:
        """Return the plan of a new search; its seed is drawn from ``random_state``."""
        random_state = check_random_state(self.random_state)
        n_initial, n_iter = self.n_initial_points, self.n_iter
        if n_initial is not None and n_iter is not None and n_initial > n_iter:
            warn(
                f"'n_initial_points' must be at most 'n_iter', got {n_initial} with "
                f"n_iter={n_iter}: all candidates will be random."
            )
            n_initial = n_iter
        return Plan(
            random_state=int(random_state.randint(np.iinfo(np.int32).max)),
            n_initial_points=n_initial,
            n_iter=n_iter,
        )
