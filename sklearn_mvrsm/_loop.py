"""The ask, evaluate, tell loop of a search.

Rule of order: just before candidate k is asked for (from 0 on), exactly the candidates
0 to k - n_pending have been told, in that order. What is proposed therefore depends on
``n_pending``, never on how many fits run at a time or on how long they take.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sklearn_mvrsm._evaluation import Evaluator, FoldScore
from sklearn_mvrsm._optimizer import SpaceExhaustedError
from sklearn_mvrsm._results import Candidate


class Proposer(Protocol):
    """Someone who proposes candidates, as `MVRSMOptimizer` does."""

    def ask(self) -> dict[str, Any]:
        """Propose a candidate."""

    def tell(self, params: Mapping[str, Any], value: float) -> None:
        """Learn the value of one."""


class Observer(Protocol):
    """Someone who looks on."""

    def started(self, candidate: int, params: dict[str, Any]) -> None:
        """Look at a candidate whose folds begin to wait for a slot."""

    def scored(self, fold: FoldScore, params: dict[str, Any]) -> None:
        """Look at a fold whose record has been decided."""


class SearchLoop:
    """Asks for candidates, has their folds evaluated, and tells their values.

    Parameters
    ----------
    optimizer : Proposer
        Proposes candidates.
    n_iter : int
        How many candidates to ask for.
    n_splits : int
        Number of folds of each.
    n_pending : int
        How many candidates may be in flight.
    value : callable
        Gives the value of a candidate: lower is better, nan is a failure.
    fold_tasks : callable
        Gives the callback contexts of the folds of a candidate, or None.
    observers : sequence of Observer
        Called in this order.
    """

    def __init__(
        self,
        optimizer: Proposer,
        *,
        n_iter: int,
        n_splits: int,
        n_pending: int,
        value: Callable[[Candidate], float],
        fold_tasks: Callable[[int], Sequence[Any] | None],
        observers: Sequence[Observer],
    ) -> None:
        self._optimizer = optimizer
        self._n_iter = n_iter
        self._n_splits = n_splits
        self._n_pending = n_pending
        self._value = value
        self._fold_tasks = fold_tasks
        self._observers = observers
        self._params: list[dict[str, Any]] = []
        self._folds: list[list[FoldScore]] = []
        self._n_told = 0
        self._stopped = False

    @property
    def finished(self) -> list[Candidate]:
        """The candidates whose folds are all decided, in the order of asking."""
        return [
            Candidate(self._params[k], tuple(folds))
            for k, folds in enumerate(self._folds)
            if len(folds) == self._n_splits
        ]

    def run(self, evaluator: Evaluator) -> None:
        """Search until the budget or the space is used up, or a callback says stop.

        Parameters
        ----------
        evaluator : Evaluator
            Runs the folds; the caller closes it.
        """
        self._propose(evaluator)
        while (fold := evaluator.next_event()) is not None:
            params = self._params[fold.candidate]
            self._folds[fold.candidate].append(fold)
            for observer in self._observers:
                observer.scored(fold, params)
            self._stopped |= fold.stop
            self._propose(evaluator)
        self._tell(len(self._params))

    def _propose(self, evaluator: Evaluator) -> None:
        """Ask for as many candidates as the rule of order allows now."""
        while not self._stopped and (k := len(self._params)) < self._n_iter:
            n_needed = max(k - self._n_pending + 1, 0)
            if any(len(folds) < self._n_splits for folds in self._folds[:n_needed]):
                return
            self._tell(n_needed)
            try:
                params = self._optimizer.ask()
            except SpaceExhaustedError:
                self._stopped = True
                self._warn_exhausted()
                return
            self._params.append(params)
            self._folds.append([])
            for observer in self._observers:
                observer.started(k, params)
            evaluator.submit(k, params, range(self._n_splits), self._fold_tasks(k))

    def _tell(self, n: int) -> None:
        """Tell the values of the first n candidates, as far as that is still due."""
        for k in range(self._n_told, n):
            candidate = Candidate(self._params[k], tuple(self._folds[k]))
            self._optimizer.tell(self._params[k], self._value(candidate))
            self._n_told += 1

    def _warn_exhausted(self) -> None:
        n = len(self._params)
        warnings.warn(
            f"The space has only {n} configuration{'' if n == 1 else 's'}: the search "
            f"ends after {n} instead of n_iter={self._n_iter} candidates.",
            UserWarning,
            stacklevel=7,
        )
