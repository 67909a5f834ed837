"""A function minimised in one call, as :func:`scipy.optimize.minimize` does it."""

import contextlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.exceptions import FitFailedWarning

from sklearn_mvrsm._compat.sklearn import check_as_parameters_of
from sklearn_mvrsm._evaluation import Evaluator, FunctionJob
from sklearn_mvrsm._optimizer import MVRSMOptimizer, Plan, enqueue_first
from sklearn_mvrsm._search.checks import check_memory_limit
from sklearn_mvrsm._search.failures import describe_failures, no_candidate_in_time
from sklearn_mvrsm._search.objective import FunctionObjective
from sklearn_mvrsm._search.run import SearchOutcome, run_search
from sklearn_mvrsm._search.search import MVRSMSearchCV
from sklearn_mvrsm._search.settings import Settings
from sklearn_mvrsm._space import (
    SearchSpace,
    default_params,
    evaluated,
    generator_of,
    int_of,
    is_integer,
)
from sklearn_mvrsm._warnings import warn
from sklearn_mvrsm.callbacks import Callback, as_callbacks

__all__ = ["minimize"]


Params = dict[str, Any]

# Arguments that are checked as those of a search are.
_AS_IN_A_SEARCH = (
    "error_score",
    "verbose",
    "n_jobs",
    "n_pending",
    "fit_timeout",
    "fit_memory_limit",
    "timeout",
    "checkpoint",
    "progress",
)


def minimize(
    func: Callable[[Params], float],
    space: Any,
    n_iter: int | None,
    *,
    method: str = "mvrsm",
    n_initial_points: int | None = None,
    initial_points: Sequence[Mapping[str, Any]] = (),
    random_state: int | None = None,
    include_default: bool = True,
    error_score: str | float = "raise",
    verbose: int = 0,
    n_jobs: int | None = None,
    n_pending: int | None = None,
    fit_timeout: float | None = None,
    fit_memory_limit: float | None = None,
    timeout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
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
    n_iter : int or None
        Number of evaluations, at least 1. None: as many as fit in ``timeout``, which
        is needed then.
    method, n_initial_points, random_state, include_default
        As for :class:`MVRSMOptimizer`.
    initial_points : sequence of mapping, default=()
        Configurations to evaluate first, before the declared defaults; with a
        warning, no more than ``n_iter``.
    error_score : "raise" or float, default="raise"
        What becomes of an exception of ``func``. "raise": it ends the run, see below.
        A number: the evaluation is a failure, and has this value in ``func_vals``; it
        is never the best, whatever the number is. Unless it is a number other than
        nan, the run ends with an error once its first evaluations have all failed
        alike. An evaluation that is stopped, crashes or runs out of memory is a failure
        in any case, with nan where this is "raise".
    verbose : int, default=0
        From 1 on, prints the number of evaluations; from 2 on a line for each at its
        end, from 10 on at its start too.
    n_jobs : int, default=None
        Number of evaluations at a time. With one, and no limit, they run in this
        process; else in processes of their own, to which ``func`` is sent by
        cloudpickle: each has a copy. Under a joblib backend of dask or ray they run
        there.
    n_pending : int, default=None
        Number of configurations in flight. Proposal k, from 1 on, is made from exactly
        the results of the first ``k - n_pending``. None: as many as ``n_jobs``. Set it
        to have the same configurations for any ``n_jobs``.
    fit_timeout : float, default=None
        Seconds for one evaluation. Then it is killed, whatever it does.
    fit_memory_limit : int, default=None
        Bytes that one evaluation may ask for, where the platform can enforce it
        (Linux).
    timeout : float, default=None
        Seconds for all, from the start of the first evaluation. Then those that run are
        killed, and the result has those that have ended.
    checkpoint : str or path-like, default=None
        File in which every evaluation is kept. If it exists, the run goes on where it
        ended, as if it had never been interrupted; it is refused if it is of another
        function (told by its code and what it refers to), space or seed, or of other
        arguments that decide about proposals or evaluations (``n_pending`` is one). A
        larger ``n_iter`` extends it.
    progress : bool, default=False
        Whether to show a bar with the best value and the time left. It needs tqdm.
    callback : callable or list of callable, default=None
        Called with a `~callbacks.CandidateResult` after each evaluation, in their
        order whatever ``n_jobs``, which has ``x`` and ``fun`` of that evaluation too;
        a true return value stops.

    Returns
    -------
    OptimizeResult
        ``x`` (best params), ``fun`` (its value), ``nfev``, ``x_iters`` (params of
        each evaluation), ``func_vals`` (values, shape ``(nfev,)``), ``fit_times``
        (seconds, same shape), ``success``, ``message``, ``optimizer``, the
        :class:`MVRSMOptimizer` that proposed them, and ``fit_log``, as in
        :class:`MVRSMSearchCV`, with the status and times of each.

    Raises
    ------
    TypeError, ValueError
        If an argument makes no sense, no evaluation gave a finite value, or the
        checkpoint is of another run.
    TimeoutError
        If no evaluation ended within ``timeout``.
    OSError, RuntimeError
        If the checkpoint cannot be written, or another run is using it.
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
    arguments = dict(locals())
    func, space = arguments.pop("func"), SearchSpace.from_any(arguments.pop("space"))
    job = FunctionJob(func, evaluated, error_score == "raise")
    settings = _settings(func, space, job, arguments)
    kept: list[SearchOutcome] = []
    try:
        default = default_params(space) if include_default else None
        objective, plan = FunctionObjective(), _plan(settings)
        keep = kept.append
        run_search(settings, job, space, default, (), objective, None, keep, plan)
        return _checked(_result(settings, kept[-1]), settings, kept[-1])
    except BaseException as error:
        ended_by, raised = error, kept[-1].raised if kept else None
        # contextlib sets an attribute of each exception that leaves its blocks. If the
        # class of what ``func`` raised refuses that, the refusal takes its place.
        if isinstance(error, Exception) and error.__context__ is raised is not None:
            ended_by = raised
        if kept:
            _keep_result(ended_by, _result(settings, kept[-1]))
        if ended_by is not error:
            raise ended_by from None
        raise


minimize.__module__ = "sklearn_mvrsm"  # pickles name the public path


def _settings(
    func: object, space: SearchSpace, job: FunctionJob, arguments: dict[str, Any]
) -> Settings:
    """Check the arguments, and return them."""
    if not callable(func):
        raise TypeError(f"'func' must be a callable, got {func!r}")
    if arguments["n_iter"] is not None:
        arguments["n_iter"] = int_of("n_iter", arguments["n_iter"], 1)
    as_callbacks(arguments["callback"])
    generator_of(arguments["random_state"])
    names = ("method", "n_initial_points", "include_default")
    optimizer = MVRSMOptimizer(space, **{name: arguments[name] for name in names})
    enqueue_first(optimizer, arguments["initial_points"], None)
    given = {name: arguments[name] for name in _AS_IN_A_SEARCH}
    if arguments["n_pending"] is None:
        del given["n_pending"]
    check_as_parameters_of(MVRSMSearchCV, given, "minimize")
    if arguments["n_pending"] is None:
        arguments["n_pending"] = Evaluator(job, n_jobs=arguments["n_jobs"]).n_slots
    settings = Settings.read(arguments, "minimize")
    check_memory_limit(settings.fit_memory_limit, settings.n_jobs)
    return settings


def _plan(settings: Settings) -> Plan:
    """Return the plan of a new run; a journal has an int as its seed."""
    seed: Any = settings.random_state
    if seed is None or (settings.checkpoint is not None and not is_integer(seed)):
        seed = int(generator_of(seed).integers(2**31))
    return Plan(seed, settings.n_initial_points, settings.n_iter)


def _result(settings: Settings, outcome: SearchOutcome) -> OptimizeResult:
    """Return the result; after an exception, some have not been told yet."""
    objective, optimizer = FunctionObjective(), outcome.optimizer
    for candidate in outcome.candidates[len(optimizer.trials) :]:
        optimizer.tell(candidate.params, objective.score(candidate))
    values = [
        settings.score_of_failures
        if candidate.folds[0].test_scores is None
        else objective.score(candidate)
        for candidate in outcome.candidates
    ]
    known = math.isfinite(optimizer.best_value)
    return OptimizeResult(
        x=optimizer.best_params if known else None,
        fun=optimizer.best_value if known else math.nan,
        success=known,
        nfev=len(values),
        x_iters=[trial.params for trial in optimizer.trials],
        func_vals=np.array(values),
        fit_times=np.array([each.folds[0].fit_time for each in outcome.candidates]),
        message=outcome.ending,
        optimizer=optimizer,
        fit_log=outcome.fit_log,
    )


def _checked(
    result: OptimizeResult, settings: Settings, outcome: SearchOutcome
) -> OptimizeResult:
    """Return the result of a run that was not interrupted; warn of its failures."""
    candidates = outcome.candidates
    if not candidates:
        raise no_candidate_in_time(settings.timeout, None, outcome.fit_log)
    failures = describe_failures(candidates, math.nan, FunctionObjective.unit)
    if not result.success:
        raise ValueError(f"No finite value was found.{failures}")
    if any(candidate.folds[0].test_scores is None for candidate in candidates):
        warn(failures, FitFailedWarning)
    return result


def _keep_result(error: BaseException, result: OptimizeResult) -> None:
    """Put what was evaluated where who catches the exception finds it."""
    n = result.nfev
    result.success = False
    result.message = f"{type(error).__name__} after {n} evaluations."
    with contextlib.suppress(Exception):  # a class of exceptions may refuse it
        vars(error)["result"] = result
        if n > 0:
            error.add_note(
                f"The {n} evaluations made are in 'result' of this exception."
            )
