"""What proposes the candidates of a search, made from the arguments of the search."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_mvrsm._optimizer import MVRSMOptimizer, enqueue_first
from sklearn_mvrsm._space import SearchSpace


@dataclass(frozen=True)
class Plan:
    """What the proposals depend on, besides the space and the scores.

    Attributes
    ----------
    random_state : int
        The seed.
    n_initial_points : int or None
        As `MVRSMOptimizer` takes it.
    n_iter : int
        Number of candidates that is planned.
    """

    random_state: int
    n_initial_points: int | None
    n_iter: int


def make_plan(search: Any) -> Plan:
    """Make the plan of a search; a seed is drawn from its ``random_state``.

    Parameters
    ----------
    search : MVRSMSearchCV
        It has ``n_iter``, ``n_initial_points`` and ``random_state``.
    """
    random_state = check_random_state(search.random_state)
    return Plan(
        random_state=int(random_state.randint(np.iinfo(np.int32).max)),
        n_initial_points=_clipped(search),
        n_iter=int(search.n_iter),
    )


def make_optimizer(
    search: Any,
    space: SearchSpace,
    plan: Plan,
    initial_points: Sequence[Mapping[str, Any]] | None = None,
) -> MVRSMOptimizer:
    """Make the optimiser of a search, with the initial points queued.

    Parameters
    ----------
    search : MVRSMSearchCV
        It has ``method``, ``n_iter`` and ``initial_points``.
    space : SearchSpace
        What may be proposed.
    plan : Plan
        Of this search, or of the one that it goes on with.
    initial_points : sequence of mapping, optional
        Instead of those of the search.

    Returns
    -------
    MVRSMOptimizer
        It has been asked for nothing yet.

    Raises
    ------
    TypeError, ValueError
        For an initial point that is not in the space; the message tells which.
    """
    optimizer = MVRSMOptimizer(
        space,
        method=search.method,
        n_initial_points=plan.n_initial_points,
        random_state=plan.random_state,
        n_iter=plan.n_iter,
    )
    points = search.initial_points if initial_points is None else initial_points
    enqueue_first(optimizer, points or (), search.n_iter, stacklevel=5)
    return optimizer


def _clipped(search: Any) -> int | None:
    """Return ``n_initial_points``, at most ``n_iter``."""
    n_initial: int | None = search.n_initial_points
    if n_initial is None or n_initial <= search.n_iter:
        return n_initial
    warnings.warn(
        f"'n_initial_points' must be at most 'n_iter', got {n_initial} with "
        f"n_iter={search.n_iter}: all candidates will be random.",
        UserWarning,
        stacklevel=5,
    )
    return int(search.n_iter)
