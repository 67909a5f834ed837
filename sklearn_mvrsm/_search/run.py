"""One run of a search: from its first candidate to its results."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_mvrsm._checkpoint import Checkpoint, ReplayedOptimizer
from sklearn_mvrsm._evaluation import Evaluator, FitJob
from sklearn_mvrsm._execution import Interrupts, heeded_interrupts
from sklearn_mvrsm._optimizer import Plan
from sklearn_mvrsm._search.callbacks import TaskTree
from sklearn_mvrsm._search.checks import warn_of_idle_slots
from sklearn_mvrsm._search.common_failure import CommonFailure
from sklearn_mvrsm._search.failures import report
from sklearn_mvrsm._search.loop import Observer, SearchLoop
from sklearn_mvrsm._search.objective import Judge
from sklearn_mvrsm._search.observers import FitLog, Printer, ProgressBar
from sklearn_mvrsm._search.own_values import data_sizes, own_values
from sklearn_mvrsm._search.results import keep_results
from sklearn_mvrsm._space import SearchSpace, default_params, plain


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


def run_search(
    search: Any,
    arguments: Any,
    job: FitJob,
    judge: Judge,
    tree: TaskTree,
    checkpoint: Checkpoint | None,
) -> None:
    """Run the loop, and keep what it found, also when it is interrupted.

    Parameters
    ----------
    search : MVRSMSearchCV
        Its ``space_``, ``optimizer_`` and ``n_splits_`` are set. The results are set
        on it.
    arguments : object
        Those of the search, checked; numbers are Python's.
    job : FitJob
        What is to be fitted.
    judge : Judge
        Gives candidates their value.
    tree : TaskTree
        The tasks that callbacks see.
    checkpoint : Checkpoint or None
        What it remembers is not fitted.

    Raises
    ------
    TimeoutError
        If no candidate was finished in time.
    ValueError
        If not a single fit succeeded, or the first candidates all failed alike.
    """
    n_candidates = min(arguments.n_iter, search.space_.cardinality)
    log = FitLog(search.n_splits_)
    printer = Printer(arguments.verbose, n_candidates, search.n_splits_)
    observers: list[Observer] = [tree, printer, log]
    evaluator = _evaluator(arguments, job, checkpoint)
    warn_of_idle_slots(arguments, search.n_splits_, evaluator.n_slots)
    with contextlib.ExitStack() as stack:
        if arguments.progress:
            sizes = (n_candidates, search.n_splits_, evaluator.n_slots)
            observers.append(stack.enter_context(ProgressBar(*sizes, judge)))
        known = checkpoint is not None and checkpoint.has_score
        observers.append(
            CommonFailure(
                search, arguments, judge, evaluator.n_slots, has_succeeded=known
            )
        )
        loop = SearchLoop(
            ReplayedOptimizer(search, arguments, checkpoint)
            if checkpoint
            else search.optimizer_,
            n_iter=arguments.n_iter,
            n_splits=search.n_splits_,
            n_pending=arguments.n_pending,
            judge=judge,
            fold_tasks=tree.fold_tasks,
            observers=observers,
            timeout=arguments.timeout,
        )
        printer.begin()
        tree.begin_search(n_candidates, search.n_splits_)

        def keep() -> None:
            search.fit_log_ = log.to_dict()
            keep_results(search, loop.finished, judge, job.scorer)

        _run(loop, evaluator, keep)
    report(search, loop.finished)
    tree.end_search()


def _run(loop: SearchLoop, evaluator: Evaluator, keep: Callable[[], None]) -> None:
    """Run the loop; whatever ends it, end its processes and keep what was found."""
    with heeded_interrupts() as interrupts:
        try:
            with _open(evaluator, interrupts):
                loop.run(evaluator, interrupts.check)
            interrupts.check()
            with interrupts.held():
                keep()
        except BaseException:
            # A callable refit may not bear part of the results.
            with interrupts.held(), contextlib.suppress(Exception):
                keep()
            raise


@contextlib.contextmanager
def _open(evaluator: Evaluator, interrupts: Interrupts) -> Iterator[None]:
    """Open an evaluator, and close it whoever presses a key meanwhile."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(evaluator)
        try:
            yield
        finally:
            with interrupts.held():
                stack.close()


def _evaluator(arguments: Any, job: FitJob, checkpoint: Checkpoint | None) -> Evaluator:
    return Evaluator(
        job,
        n_jobs=arguments.n_jobs,
        timeout=arguments.fit_timeout,
        memory_limit=arguments.fit_memory_limit,
        killable=arguments.timeout is not None,
        memory=checkpoint,
    )
