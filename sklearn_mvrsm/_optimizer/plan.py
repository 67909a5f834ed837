"""The plan of a search: what its optimiser is made from, seed and first candidates."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn_mvrsm._optimizer.optimizer import MVRSMOptimizer
from sklearn_mvrsm._space import SearchSpace

__all__ = ["Plan", "enqueue_first", "make_optimizer"]


def enqueue_first(
    optimizer: MVRSMOptimizer,
    points: Sequence[Mapping[str, Any]],
    n_iter: int,
    *,
    stacklevel: int = 3,
) -> None:
    """Have configurations proposed first; say which is wrong, or that they are many.

    Parameters
    ----------
    optimizer : MVRSMOptimizer
    points : sequence of mapping
    n_iter : int
        How many can be evaluated.
    stacklevel : int
        Of the warning, counted from here.

    Raises
    ------
    TypeError, ValueError
        For a configuration that is not in the space; the message tells which.
    """
    if len(points) > n_iter:
        warnings.warn(
            f"'initial_points' has {len(points)} configurations, but n_iter={n_iter}: "
            "the last are left out.",
            UserWarning,
            stacklevel=stacklevel,
        )
    for k, params in enumerate(points):
        try:
            optimizer.enqueue(params)
        except (TypeError, ValueError) as error:
            raise type(error)(f"initial_points[{k}]: {error}") from error


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


def make_optimizer(
    arguments: Any,
    space: SearchSpace,
    plan: Plan,
    initial_points: Sequence[Mapping[str, Any]] | None = None,
    default: Mapping[str, Any] | None = None,
) -> MVRSMOptimizer:
    """Make the optimiser of a search, with the initial points and the default queued.

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
    default : mapping, optional
        It follows them, unless it is one of them.

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
        include_default=False,
    )
    points = arguments.initial_points if initial_points is None else initial_points
    enqueue_first(optimizer, points or (), arguments.n_iter, stacklevel=5)
    if default is not None:
        queued = {space.encode(each).tobytes() for each in points or ()}
        if space.encode(default).tobytes() not in queued:
            optimizer.enqueue(default)
    return optimizer
