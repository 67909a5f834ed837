"""What proposes the candidates of a search, made from the arguments of the search."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_mvrsm._default import default_params
from sklearn_mvrsm._optimizer import MVRSMOptimizer, enqueue_first
from sklearn_mvrsm._own_values import data_sizes, own_values
from sklearn_mvrsm._space import SearchSpace
from sklearn_mvrsm._values import plain


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


def make_space(param_space: Any, estimator: Any, X: Any) -> SearchSpace:
    """Return the space of a search; "auto" is the ready-made one of the estimator.

    Parameters
    ----------
    param_space : dict, list of dict, SearchSpace or "auto"
        As the search was given it.
    estimator : estimator
        What is searched.
    X : array-like
        The data, which decide about the ranges of a ready-made space.

    Raises
    ------
    TypeError, ValueError
        If something in it makes no sense, or there is no ready-made space.
    """
    if not isinstance(param_space, str):
        return SearchSpace.from_any(param_space)
    from sklearn_mvrsm import spaces  # built on the search, which it is an option of

    sizes = data_sizes(estimator, X)
    try:
        found = spaces.from_estimator(
            estimator,
            n_samples=sizes.get("n_samples"),
            n_features=sizes.get("n_features"),
        )
    except ValueError as error:
        raise ValueError(
            f"'param_space' must not be {param_space!r}: {error}"
        ) from None
    return SearchSpace(found)


def plain_arguments(search: Any) -> SimpleNamespace:
    """Return the arguments of a search as they are used.

    Numbers are Python's, seconds are floats, bytes are ints, ``racing`` is a level.

    Parameters
    ----------
    search : MVRSMSearchCV
        Its arguments are checked; they stay as they are.
    """
    arguments = SimpleNamespace(**{k: plain(v) for k, v in vars(search).items()})
    for name in ("fit_timeout", "timeout"):
        limit = getattr(arguments, name)
        setattr(arguments, name, None if limit is None else float(limit))
    limit = arguments.fit_memory_limit
    arguments.fit_memory_limit = None if limit in (None, np.inf) else int(limit)
    if arguments.racing is True:
        arguments.racing = 0.05
    return arguments


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


def first_point(
    arguments: Any, space: SearchSpace, estimator: Any, X: Any
) -> dict[str, Any] | None:
    """Return the configuration that is the estimator as it is, or nearest to it.

    Parameters
    ----------
    arguments : object
        Those of the search: ``include_default``.
    space : SearchSpace
        Its declared defaults come before the values of the estimator.
    estimator : estimator
        What is searched.
    X : array-like
        The data.

    Returns
    -------
    dict or None
        None if there is no such configuration, or none is asked for.
    """
    if not arguments.include_default:
        return None
    return default_params(space, own_values(estimator, X))


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
