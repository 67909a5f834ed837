"""The plan of a search: what its optimiser is made from, seed and first candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_mvrsm._optimizer.optimizer import MVRSMOptimizer
from sklearn_mvrsm._space import SearchSpace
from sklearn_mvrsm._warnings import warn

__all__ = ["Plan", "enqueue_first", "make_optimizer"]


def enqueue_first(
    optimizer: MVRSMOptimizer,
    points: Sequence[Mapping[str, object]],
    n_iter: int | None,
) -> None:
    """Enqueue configurations; warn where they are more than ``n_iter``.

    Raises
    ------
    TypeError, ValueError
        For a configuration that is not in the space; the message names it.
    """
    if not isinstance(points, list | tuple):
        raise TypeError(
            "'initial_points' must be a list of configurations, such as 'x_iters' of a "
            f"result of minimize, got a value of type {type(points).__name__}"
        )
    if n_iter is not None and len(points) > n_iter:
        warn(
            f"'initial_points' has {len(points)} configurations, but n_iter={n_iter}: "
            "the last are left out."
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
    n_iter : int or None
        Number of candidates that is planned; None if the time decides.
    """

    random_state: int
    n_initial_points: int | None
    n_iter: int | None


def make_optimizer(
    space: SearchSpace,
    plan: Plan,
    method: str,
    n_iter: int | None,
    points: Sequence[Mapping[str, object]] = (),
    default: Mapping[str, object] | None = None,
    portfolio: Sequence[Mapping[str, object]] = (),
    known: Sequence[tuple[Any, ...]] = (),
) -> MVRSMOptimizer:
    """Make the optimiser of a search, with its first candidates queued.

    Parameters
    ----------
    space : SearchSpace
        What may be proposed.
    plan : Plan
        Of this search, or of the one that it goes on with.
    method : {"mvrsm", "paper"}
        As `MVRSMOptimizer` takes it.
    n_iter : int or None
        Number of candidates of this search; None if the time decides.
    points : sequence of mapping
        The initial points.
    default : mapping, optional
        It follows them, unless it is one of them.
    portfolio : sequence of mapping
        They follow, as far as half of the planned candidates have been queued.
    known : sequence of (mapping, float) or (mapping, float, float)
        Configurations with their values, and their constraints where these are known,
        to be told first.

    Returns
    -------
    MVRSMOptimizer
        It has been asked for nothing yet.

    Raises
    ------
    TypeError, ValueError
        For an initial point that is not in the space; the message names it.
    """
    optimizer = MVRSMOptimizer(
        space,
        method=method,
        n_initial_points=plan.n_initial_points,
        random_state=plan.random_state,
        n_iter=None if plan.n_iter is None else plan.n_iter + len(known),
        include_default=False,
    )
    for told in known:
        optimizer.tell(*told)
    enqueue_first(optimizer, points, n_iter)
    queued = {space.encode(each).tobytes() for each in points}
    if default is not None:
        portfolio = [default, *portfolio]
    room = np.inf if plan.n_iter is None else max(plan.n_iter // 2, len(points) + 1)
    for params in portfolio:
        code = space.encode(params).tobytes()
        if code not in queued and len(queued) < room:
            optimizer.enqueue(params)
            queued.add(code)
    return optimizer
