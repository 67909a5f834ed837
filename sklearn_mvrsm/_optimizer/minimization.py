"""A function minimised in one call, as :func:`scipy.optimize.minimize` does it."""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from sklearn_mvrsm._optimizer.optimizer import MVRSMOptimizer, SpaceExhaustedError
from sklearn_mvrsm._optimizer.plan import enqueue_first
from sklearn_mvrsm._space import copied, float_of, int_of
from sklearn_mvrsm.callbacks import Callback, CandidateResult, as_callbacks

__all__ = ["minimize"]


Params = dict[str, Any]


def minimize(
    func: Callable[[Params], float],
    space: Any,
    n_iter: int,
    *,
    method: str = "mvrsm",
    n_initial_points: int | None = None,
    initial_points: Sequence[Mapping[str, Any]] = (),
    random_state: int | None = None,
    include_default: bool = True,
    callback: Callback | Sequence[Callback] | None = None,
) -> OptimizeResult:
    """Minimise a black-box function of named, mixed and conditional parameters.

    Parameters
    ----------
    func : callable
        ``func(params) -> float``; ``params`` holds the active parameters, copied, so
        that it may alter them. A result that is not finite is a failure.
    space : SearchSpace, dict or list of dict
        What may be proposed.
    n_iter : int
        Number of evaluations, at least 1.
    method, n_initial_points, random_state, include_default
        As for :class:`MVRSMOptimizer`.
    initial_points : sequence of mapping, default=()
        Configurations to evaluate first, before the declared defaults; with a
        warning, no more than ``n_iter``.
    callback : callable or list of callable, default=None
        Called with a `~callbacks.CandidateResult` after each evaluation, which has
        ``x`` and ``fun`` of that evaluation too; a true return value stops.

    Returns
    -------
    OptimizeResult
        ``x`` (best params), ``fun`` (its value), ``nfev``, ``x_iters`` (params of
        each evaluation), ``func_vals`` (values, shape ``(nfev,)``), ``success``,
        ``message`` and ``optimizer``, the :class:`MVRSMOptimizer` that proposed them.

    Raises
    ------
    TypeError, ValueError
        If an argument makes no sense, or no evaluation gave a finite value.
    BaseException
        What ``func`` or ``callback`` raises, ``KeyboardInterrupt`` included, goes on.
        Its attribute ``result`` has what was evaluated before: as what is returned,
        with ``success`` false, and ``x`` None and ``fun`` nan if no value is finite.

    Examples
    --------
    >>> from sklearn_mvrsm import Categorical, Real, minimize
    >>> space = {"x": Real(-1.0, 1.0), "kind": Categorical(["bowl", "plane"])}
    >>> def func(params):
    ...     x = params["x"]
    ...     return x**2 if params["kind"] == "bowl" else 2.0 + x
    >>> result = minimize(func, space, 40, random_state=0)
    >>> result.x["kind"], bool(result.fun < 0.01)
    ('bowl', True)
    """
    n_iter = int_of("n_iter", n_iter, 1)
    if not callable(func):
        raise TypeError(f"'func' must be a callable, got {func!r}")
    callbacks = as_callbacks(callback)
    optimizer = MVRSMOptimizer(
        space,
        method=method,
        n_initial_points=n_initial_points,
        random_state=random_state,
        n_iter=n_iter,
        include_default=include_default,
    )
    enqueue_first(optimizer, initial_points, n_iter)
    try:
        message = _evaluate(optimizer, func, n_iter, callbacks)
        x, fun = optimizer.best_params, optimizer.best_value
        return _result(optimizer, message, x=x, fun=fun, success=True)
    except BaseException as error:
        _keep_result(error, optimizer)
        raise


minimize.__module__ = "sklearn_mvrsm"  # pickles name the public path


def _evaluate(
    optimizer: MVRSMOptimizer,
    func: Callable[[Params], float],
    n_iter: int,
    callbacks: Sequence[Callback],
) -> str:
    """Ask, evaluate and tell; return why it ended."""
    best: tuple[int | None, float] = (None, math.nan)
    for k in range(n_iter):
        try:
            params = optimizer.ask()
        except SpaceExhaustedError as error:
            return str(error)
        value = float_of("func(params)", func(copied(params)))
        optimizer.tell(params, value)
        if math.isfinite(value) and not value >= best[1]:
            best = (k, value)
        status = "ok" if math.isfinite(value) else "error"
        result = CandidateResult(
            k, copied(params), value, *best, greater_is_better=False, status=status
        )
        if any([callback(result) for callback in callbacks]):  # all are called
            return "The callback asked to stop."
    return "All evaluations were made."


def _result(optimizer: MVRSMOptimizer, message: str, **best: Any) -> OptimizeResult:
    trials = optimizer.trials
    return OptimizeResult(
        **best,
        nfev=len(trials),
        x_iters=[trial.params for trial in trials],
        func_vals=np.array([trial.value for trial in trials]),
        message=message,
        optimizer=optimizer,
    )


def _keep_result(error: BaseException, optimizer: MVRSMOptimizer) -> None:
    """Put what was evaluated where who catches the exception finds it."""
    n = len(optimizer.trials)
    if n == 0:
        return
    known = math.isfinite(optimizer.best_value)
    result = _result(
        optimizer,
        f"{type(error).__name__} after {n} evaluations.",
        x=optimizer.best_params if known else None,
        fun=optimizer.best_value if known else math.nan,
        success=False,
    )
    with contextlib.suppress(Exception):  # a class of exceptions may refuse it
        vars(error)["result"] = result
        error.add_note(f"The {n} evaluations made are in 'result' of this exception.")
