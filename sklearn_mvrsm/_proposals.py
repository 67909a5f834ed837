"""What proposes the candidates of a search, made from the arguments of the search."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_mvrsm._optimizer import MVRSMOptimizer
from sklearn_mvrsm._space import SearchSpace


def make_optimizer(search: Any, space: SearchSpace) -> MVRSMOptimizer:
    """Make the optimiser of a search, with the initial points queued.

    Parameters
    ----------
    search : MVRSMSearchCV
        It has ``method``, ``n_iter``, ``n_initial_points``, ``initial_points`` and
        ``random_state``, of which one number is drawn.
    space : SearchSpace
        What may be proposed.

    Returns
    -------
    MVRSMOptimizer
        It has been asked for nothing yet.

    Raises
    ------
    TypeError, ValueError
        For an initial point that is not in the space; the message tells which.
    """
    random_state = check_random_state(search.random_state)
    optimizer = MVRSMOptimizer(
        space,
        method=search.method,
        n_initial_points=_clipped(search),
        random_state=int(random_state.randint(np.iinfo(np.int32).max)),
        n_iter=search.n_iter,
    )
    points = search.initial_points or ()
    if len(points) > search.n_iter:
        warnings.warn(
            f"'initial_points' has {len(points)} configurations, but "
            f"n_iter={search.n_iter}: the last are left out.",
            UserWarning,
            stacklevel=4,
        )
    for k, params in enumerate(points):
        try:
            optimizer.enqueue(params)
        except (TypeError, ValueError) as error:
            raise type(error)(f"initial_points[{k}]: {error}") from error
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
