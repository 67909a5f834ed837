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


def make_plan(arguments: Any) -> Plan:
    """Make the plan of a search; a seed is drawn from its ``random_state``.

    Parameters
    ----------
    arguments : object
        Those of the search: ``n_iter``, ``n_initial_points``, ``random_state``.
    """
    random_state = check_random_state(arguments.random_state)
    return Plan(
        random_state=int(random_state.randint(np.iinfo(np.int32).max)),
        n_initial_points=_clipped(arguments),
        n_iter=arguments.n_iter,
    )


def make_optimizer(
    arguments: Any,
    space: SearchSpace,
    plan: Plan,
    initial_points: Sequence[Mapping[str, Any]] | None = None,
) -> MVRSMOptimizer:
    """Make the optimiser of a search, with the initial points queued.

    Parameters
    ----------
    arguments : object
        Those of the search: ``method``, ``n_iter``, ``initial_points``.
    space : SearchSpace
        What may be proposed.
    plan : Plan
        Of this search, or of the one that it goes on with.
    initial_points : sequence of mapping, optional
        Instead of those of the arguments.

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
        method=arguments.method,
        n_initial_points=plan.n_initial_points,
        random_state=plan.random_state,
        n_iter=plan.n_iter,
    )
    points = arguments.initial_points if initial_points is None else initial_points
    enqueue_first(optimizer, points or (), arguments.n_iter, stacklevel=5)
    return optimizer


def _clipped(arguments: Any) -> int | None:
    """Return ``n_initial_points``, at most ``n_iter``."""
    n_initial: int | None = arguments.n_initial_points
    n_iter: int = arguments.n_iter
    if n_initial is None or n_initial <= n_iter:
        return n_initial
    warnings.warn(
        f"'n_initial_points' must be at most 'n_iter', got {n_initial} with "
        f"n_iter={n_iter}: all candidates will be random.",
        UserWarning,
        stacklevel=5,
    )
    return n_iter
