"""One run of a search: from its first candidate to its results."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from sklearn_mvrsm._callbacks import TaskTree
from sklearn_mvrsm._checkpoint import Checkpoint, ReplayedOptimizer
from sklearn_mvrsm._checks import warn_of_idle_slots
from sklearn_mvrsm._common_failure import CommonFailure
from sklearn_mvrsm._conclusion import keep_results, report
from sklearn_mvrsm._evaluation import Evaluator
from sklearn_mvrsm._fit_log import FitLog
from sklearn_mvrsm._fold import FitJob
from sklearn_mvrsm._interrupt import Interrupts, heeded_interrupts
from sklearn_mvrsm._judge import Judge
from sklearn_mvrsm._loop import Observer, SearchLoop
from sklearn_mvrsm._progress import ProgressBar
from sklearn_mvrsm._verbose import Printer


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
