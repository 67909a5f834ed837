"""The tasks of a search, as the callbacks of scikit-learn 1.9 see them.

The root task is the fit. Below it are one task "search", with one task for each fold of
each candidate, and the task of the refit. Where neither the search nor its estimator
has callbacks, as before scikit-learn 1.9, there is no tree.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self

from sklearn.base import BaseEstimator

from sklearn_mvrsm._compat.sklearn import (
    BaseSearchCV,
    has_callbacks,
    lean_caller,
    lean_context,
    root_callback_context,
)
from sklearn_mvrsm._evaluation import FoldScore
from sklearn_mvrsm._search.observers import Observer


class FoldTask:
    """The callback context of one fold, with what the callbacks returned.

    It is sent to where the fold is run, and replaces its context there. Its ``with``
    block calls the hooks of begin and end once each, even if the fold fails before its
    fit begins.

    Attributes
    ----------
    caller : BaseSearchCV or None
        The search, as the callbacks see it; None where there are no callbacks.
    stop : bool or None
        Whether a callback asks to stop at the end of the fold; None before that.
    failure : BaseException or None
        What a callback raised.
    """

    def __init__(self, context: Any, caller: BaseSearchCV | None) -> None:
        self.context = context
        self.caller = caller
        self.stop: bool | None = None
        self.failure: BaseException | None = None
        self._has_begun = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self._has_begun:
            self.call_on_fit_task_begin(estimator=self.caller)
        if self.stop is None:
            self.call_on_fit_task_end(estimator=self.caller)

    def propagate_callback_context(
        self, estimator: BaseEstimator
    ) -> AbstractContextManager[object]:
        """Pass callbacks that go deeper to the estimator of the fold."""
        block: AbstractContextManager[object]
        block = self.context.propagate_callback_context(estimator)
        return block

    def call_on_fit_task_begin(self, **kwargs: object) -> Self:
        """Call the hooks of the begin of the fold."""
        self._has_begun = True
        with self._failures_noted():
            self.context.call_on_fit_task_begin(**kwargs)
        return self

    def call_on_fit_task_end(self, **kwargs: object) -> bool:
        """Call the hooks of the end; return whether a callback asks to stop."""
        self.stop = False
        with self._failures_noted():
            self.stop = bool(self.context.call_on_fit_task_end(**kwargs))
        return self.stop

    def close(self, *, begun: bool) -> None:
        """Call the hooks that a fold which was killed or skipped could not."""
        self._has_begun = begun
        with self:
            pass

    @contextmanager
    def _failures_noted(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.failure = error
            raise

    def __getstate__(self) -> dict[str, object]:
        """Pickle neither the other tasks, nor what cannot be pickled or need not be."""
        state = {**vars(self), "context": lean_context(self.context)}
        if self.caller is not None:
            state["caller"] = lean_caller(self.caller)
        return state


def open_tasks(
    search: BaseSearchCV, X: object, y: object, sample_weight: object
) -> "TaskTree | None":
    """Begin the tasks of a fit; return None where there are no callbacks.

    Parameters
    ----------
    search, X, y, sample_weight
        As for `TaskTree`.
    """
    if any(map(has_callbacks, [search, *search.get_params().values()])):
        return TaskTree(search, X, y, sample_weight)
    return None


class TaskTree(Observer):
    """The tasks of one fit of a search.

    Parameters
    ----------
    search : BaseSearchCV
        The search; its fit has begun.
    X, y : array-like
        Its data.
    sample_weight : array-like or None
        Its weights.
    """

    def __init__(
        self, search: BaseSearchCV, X: object, y: object, sample_weight: object
    ) -> None:
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._search = search
        self._hook_kwargs = {"estimator": search, "X": X, "y": y, "metadata": metadata}
        n_subtasks = 1 + bool(search.refit)
        self._root = root_callback_context(search, max_subtasks=n_subtasks)
        self._search_context: Any = None
        self._n_splits = 0
        self._open: dict[int, dict[int, FoldTask]] = {}
        self._root.call_on_fit_task_begin(**self._hook_kwargs)

    def begin_search(self, n_candidates: int | None, n_splits: int) -> None:
        """Open the task "search".

        Parameters
        ----------
        n_candidates : int or None
            How many there will be; None if the time decides.
        n_splits : int
            Number of folds of each.
        """
        self._n_splits = n_splits
        self._search_context = self._root.subcontext(
            task_name="search",
            max_subtasks=None if n_candidates is None else n_candidates * n_splits,
            sequential_subtasks=False,
        )
        self._search_context.call_on_fit_task_begin(estimator=self._search)

    def started(self, number: int, params: Mapping[str, object]) -> None:
        """Open the tasks of the folds of a candidate."""
        first = number * self._n_splits
        # Without callbacks of its own the search need not travel to the workers.
        caller = self._search if has_callbacks(self._search) else None
        self._open[number] = {
            fold: FoldTask(
                self._search_context.subcontext(
                    task_name="candidate-split-evaluation", task_id=first + fold
                ),
                caller,
            )
            for fold in range(self._n_splits)
        }

    def fold_tasks(self, candidate: int) -> Sequence[FoldTask]:
        """Return the tasks that `started` opened."""
        return list(self._open[candidate].values())

    def scored(self, fold: FoldScore, params: Mapping[str, object]) -> None:
        """Close the task of a fold that did not run here, or not to its end."""
        task = self._open[fold.candidate].pop(fold.fold)
        has_run = fold.slot is not None
        if has_run == fold.killed:  # else it said so itself, or may still do so
            task.close(begun=has_run)

    def end_search(self) -> None:
        """Close the task "search"; folds that it did not wait for stay open."""
        self._search_context.call_on_fit_task_end(estimator=self._search)

    @contextmanager
    def refit(self, estimator: BaseEstimator) -> Iterator[None]:
        """Run the refit of ``estimator`` as a task.

        Parameters
        ----------
        estimator : estimator
            The one that is fitted inside the block.
        """
        task = self._root.subcontext(task_name="refit-with-best-params")
        with task.propagate_callback_context(estimator):
            task.call_on_fit_task_begin(**self._hook_kwargs)
            yield
        task.call_on_fit_task_end(**self._hook_kwargs)

    def end(self) -> None:
        """Close the root task."""
        self._root.call_on_fit_task_end(**self._hook_kwargs)
