"""One run of a search: from its first candidate to its results."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_mvrsm._checkpoint import Checkpoint, ReplayedOptimizer, open_checkpoint
from sklearn_mvrsm._evaluation import Candidate, Evaluator, Job
from sklearn_mvrsm._execution import Interrupts, deferred_interrupts
from sklearn_mvrsm._optimizer import MVRSMOptimizer, Plan, make_optimizer
from sklearn_mvrsm._search.checks import warn_of_idle_slots
from sklearn_mvrsm._search.common_failure import CommonFailure
from sklearn_mvrsm._search.loop import SearchLoop
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._search.observers import (
    Best,
    Observer,
    Printer,
    ProgressBar,
    fit_log,
)
from sklearn_mvrsm._search.own_values import data_sizes, own_values
from sklearn_mvrsm._search.reporter import Reporter
from sklearn_mvrsm._search.settings import Settings
from sklearn_mvrsm._search.task_tree import TaskTree
from sklearn_mvrsm._space import SearchSpace, default_params

__all__ = ["SearchOutcome", "first_point", "make_portfolio", "make_space", "run_search"]


def make_space(param_space: object, estimator: BaseEstimator, X: object) -> SearchSpace:
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

    try:
        found = spaces.from_estimator(estimator, **_sizes(estimator, X))
    except ValueError as error:
        raise ValueError(
            f"'param_space' must not be {param_space!r}: {error}"
        ) from None
    return SearchSpace(found)


def make_portfolio(
    param_space: object, estimator: BaseEstimator, X: object
) -> list[dict[str, Any]]:
    """Return what a search of a ready-made space tries first; nothing of another.

    Parameters
    ----------
    param_space, estimator, X
        As for `make_space`, which found nothing wrong with them.
    """
    if not isinstance(param_space, str):
        return []
    from sklearn_mvrsm import spaces

    try:
        return spaces.portfolio(estimator, **_sizes(estimator, X))
    except ValueError:  # nothing was learned
        return []


def _sizes(estimator: BaseEstimator, X: object) -> dict[str, Any]:
    sizes = data_sizes(estimator, X)
    return {name: sizes.get(name) for name in ("n_samples", "n_features")}


def first_point(
    space: SearchSpace, estimator: BaseEstimator, X: object
) -> dict[str, object] | None:
    """Return the configuration that is the estimator as it is, or nearest to it.

    Parameters
    ----------
    space : SearchSpace
        Its declared defaults come before the values of the estimator.
    estimator : estimator
        What is searched.
    X : array-like
        The data.

    Returns
    -------
    dict or None
        None if there is no such configuration.
    """
    return default_params(space, own_values(estimator, X))


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found, also where it was ended early.

    Attributes
    ----------
    candidates : list of Candidate
        Those that were finished, in the order of asking.
    optimizer : MVRSMOptimizer
        What proposed them, with all that it was told.
    fit_log : dict of str to ndarray
        A row a fit, see `fit_log`.
    ending : str
        Why it ended, unless by an exception.
    raised : BaseException or None
        What a fit raised, where that ended it.
    """

    candidates: list[Candidate]
    optimizer: MVRSMOptimizer
    fit_log: dict[str, np.ndarray]
    ending: str
    raised: BaseException | None


def run_search(
    settings: Settings,
    job: Job,
    space: SearchSpace,
    default: Mapping[str, Any] | None,
    portfolio: Sequence[Mapping[str, Any]],
    objective: Objective,
    tree: TaskTree | None,
    keep: Callable[[SearchOutcome], None],
    plan: Plan | None = None,
) -> SearchOutcome:
    """Run a search, and keep what it found, also when it is interrupted.

    Parameters
    ----------
    settings : Settings
        The arguments of the search.
    job : FitJob or FunctionJob
        What is to be run.
    space : SearchSpace
        What is searched.
    default : mapping or None
        The configuration to evaluate after the initial points.
    portfolio : sequence of mapping
        Those to evaluate after it, in half of the budget at most.
    objective : Objective
        Values candidates.
    tree : TaskTree or None
        The tasks that callbacks of scikit-learn see, if there are any.
    keep : callable
        Called once with the outcome, whatever ends the search; Ctrl-C waits for it.
    plan : Plan, optional
        That of the settings, unless given.

    Returns
    -------
    SearchOutcome

    Raises
    ------
    ValueError
        If the first candidates all failed alike; if the checkpoint is of another
        search.
    """
    plan = settings.plan() if plan is None else plan
    decisive, path = settings.decisive, settings.checkpoint
    points, n_iter = settings.initial_points or (), settings.n_iter
    decisive = replace(decisive, initial_points=[*points, *portfolio])
    with open_checkpoint(
        path,
        decisive,
        space,
        job,
        plan,
        n_iter=n_iter,
        is_seeded=settings.random_state is not None,
    ) as checkpoint:
        plan = plan if checkpoint is None else checkpoint.plan
        new = functools.partial(
            make_optimizer,
            space,
            plan,
            settings.method,
            n_iter,
            known=settings.known_results or (),
        )
        first = new(points, default, portfolio)
        return _run_loop(
            settings,
            job,
            checkpoint,
            first if checkpoint is None else ReplayedOptimizer(first, checkpoint, new),
            objective,
            tree,
            keep,
        )


def _run_loop(
    settings: Settings,
    job: Job,
    checkpoint: Checkpoint | None,
    optimizer: MVRSMOptimizer | ReplayedOptimizer,
    objective: Objective,
    tree: TaskTree | None,
    keep: Callable[[SearchOutcome], None],
) -> SearchOutcome:
    """Run the loop with all that observes it."""
    begin, n_splits = time.monotonic(), job.n_splits
    n_candidates = _n_candidates(settings, optimizer.space)
    evaluator = _evaluator(settings, job, checkpoint)
    n_slots, unit = evaluator.n_slots, objective.unit
    warn_of_idle_slots(settings, n_splits, n_slots, unit)
    observers: list[Observer] = [] if tree is None else [tree]
    reporter = Reporter(settings.callback, objective) if settings.callback else None
    with contextlib.ExitStack() as stack:
        sizes = (n_candidates, settings.timeout, n_splits)
        best = _best(settings, job, objective)
        observers += [best, *_shown(settings, best, sizes, n_slots, unit, stack)]
        known = checkpoint is not None and checkpoint.has_score
        watched = (optimizer.space, settings, objective, n_slots)
        observers.append(CommonFailure(*watched, has_succeeded=known))
        loop = SearchLoop(
            optimizer,
            n_iter=settings.n_iter,
            n_splits=n_splits,
            n_pending=settings.n_pending,
            objective=objective,
            fold_tasks=None if tree is None else tree.fold_tasks,
            observers=observers,
            n_known=len(settings.known_results or ()),
            report=None if reporter is None else reporter.report,
            warn_exhausted=unit == "fit",
            timeout=settings.timeout,
            reserved=functools.partial(_reserved, settings, best),
        )
        if tree is not None:
            tree.begin_search(n_candidates, n_splits)

        def outcome() -> SearchOutcome:
            log = fit_log([*loop.folds], n_splits, begin, evaluator.unrecorded)
            current = optimizer
            if isinstance(current, ReplayedOptimizer):
                current = current.current
            how = (log, loop.ending, evaluator.raised)
            return SearchOutcome(loop.finished, current, *how)

        _run(loop, evaluator, lambda: keep(outcome()))
        return outcome()


def _n_candidates(settings: Settings, space: SearchSpace) -> int | None:
    if settings.n_iter is None:
        return None
    return int(min(settings.n_iter, space.cardinality))


def _best(settings: Settings, job: Job, objective: Objective) -> Best:
    growth = job.growth if settings.refit else 0.0
    return Best(objective.score, objective.greater_is_better, growth)


def _reserved(settings: Settings, best: Best) -> float:
    return best.refit_time if settings.timeout_includes_refit else 0.0


def _shown(
    settings: Settings,
    best: Best,
    sizes: tuple[int | None, float | None, int],
    n_slots: int,
    unit: str,
    stack: contextlib.ExitStack,
) -> Iterator[Observer]:
    """Yield what shows the user how the search goes on."""
    if settings.verbose > 0:
        printer = Printer(settings.verbose, *sizes, unit=unit)
        printer.begin()
        yield printer
    if settings.progress:
        bar = ProgressBar(*sizes, n_slots, best, unit)
        yield stack.enter_context(bar)


def _run(loop: SearchLoop, evaluator: Evaluator, keep: Callable[[], None]) -> None:
    """Run the loop; whatever ends it, end its processes and keep what was found."""
    with deferred_interrupts() as interrupts:
        try:
            with _open(evaluator, interrupts):
                loop.run(evaluator, interrupts.check)
            interrupts.check()
            with interrupts.shielded():
                keep()
        except BaseException:
            # A callable refit may fail on a part of the results.
            with interrupts.shielded(), contextlib.suppress(Exception):
                keep()
            raise


@contextlib.contextmanager
def _open(evaluator: Evaluator, interrupts: Interrupts) -> Iterator[None]:
    """Open the evaluator; closing it is not interrupted by Ctrl-C."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(evaluator)
        try:
            yield
        finally:
            with interrupts.shielded():
                stack.close()


def _evaluator(
    settings: Settings, job: Job, checkpoint: Checkpoint | None
) -> Evaluator:
    return Evaluator(
        job,
        n_jobs=settings.n_jobs,
        timeout=settings.fit_timeout,
        memory_limit=settings.fit_memory_limit,
        killable=settings.timeout is not None,
        store=checkpoint,
    )
