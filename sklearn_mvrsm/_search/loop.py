"""The ask, evaluate, tell loop of a search.

Rule of order: just before candidate k is asked for (from 0 on), exactly the candidates
0 to k - n_pending have been told, in that order. What is proposed therefore depends on
``n_pending``, never on how many fits run at a time or on how long they take.
"""

import bisect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sklearn_mvrsm._evaluation import Candidate, Evaluator, FoldScore
from sklearn_mvrsm._execution import suspended_seconds
from sklearn_mvrsm._optimizer import SpaceExhaustedError
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._search.observers import Observer
from sklearn_mvrsm._warnings import warn

_MAX_WAIT = 1.0
"""Seconds between checks while nothing happens."""

_FIRST_WAIT = 0.1
"""The same until the first fit starts."""

LONGEST_START = 300.0
"""Seconds that may pass before the first fit starts, on top of the time limit."""


class Proposer(Protocol):
    """Proposes candidates, as `MVRSMOptimizer` does."""

    def ask(self) -> dict[str, object]:
        """Propose a candidate."""

    def tell(
        self,
        params: Mapping[str, object],
        value: float,
        constraint: float | None = None,
    ) -> None:
        """Receive the value of one, and what must be <= 0 if there is that."""


@dataclass
class _Row:
    """A candidate on its way."""

    params: Mapping[str, Any]
    folds: list[FoldScore] = field(default_factory=list)
    pruned: bool = False
    candidate: Candidate | None = None  # once all folds are decided


class SearchLoop:
    """Asks for candidates, has their folds evaluated, and tells their values.

    Parameters
    ----------
    optimizer : Proposer
        Proposes candidates.
    n_iter : int or None
        How many candidates to ask for; None: as many as the time holds.
    n_splits : int
        Number of folds of each.
    n_pending : int
        How many candidates may be in flight.
    objective : Objective
        Values candidates, and decides which are pruned.
    fold_tasks : callable or None
        Returns the callback contexts of the folds of a candidate.
    observers : sequence of Observer
        Called in this order; the objective comes before them.
    n_known : int
        How many configurations the optimiser knew before.
    report : callable or None
        ``report(number, candidate)`` is called once for each finished candidate, in
        the order of asking, and just after its value was told. What returns True ends
        the search as a stop flag does.
    warn_exhausted : bool
        Whether to warn where the space is smaller than ``n_iter``.
    timeout : float or None
        How many seconds after the start of the first fit to end, with what has
        finished by then. No fit is begun that cannot end in time, at the pace of the
        quicker ones before. So the time decides how many candidates there are, and
        about nothing else.
    reserved : callable
        Returns how many seconds of ``timeout`` to leave for what comes after.
    """

    def __init__(
        self,
        optimizer: Proposer,
        *,
        n_iter: int | None,
        n_splits: int,
        n_pending: int,
        objective: Objective,
        fold_tasks: Callable[[int], Sequence[Any]] | None = None,
        observers: Sequence[Observer] = (),
        n_known: int = 0,
        report: Callable[[int, Candidate], bool] | None = None,
        warn_exhausted: bool = True,
        timeout: float | None = None,
        reserved: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._optimizer = optimizer
        self._n_iter = math.inf if n_iter is None else n_iter
        self._n_splits = n_splits
        self._n_pending = n_pending
        self._objective = objective
        self._fold_tasks = fold_tasks
        self._observers = (objective, *observers)
        self._n_known = n_known
        self._report = report
        self._warns_exhausted = warn_exhausted
        self._timeout = timeout
        self._reserved = reserved
        self._last_news = 0.0  # before the first fit starts, less the suspension
        self._n_due = 0  # folds that have been submitted and not received
        self._rows: list[_Row] = []
        self._n_told = 0
        self._stopped = False
        self._durations: list[float] = []  # of fits that were run, sorted
        self._is_late = False
        self._exhausted = ""  # what the optimiser says once the space is

    @property
    def finished(self) -> list[Candidate]:
        """The candidates whose folds are all decided, in the order of asking."""
        return [row.candidate for row in self._rows if row.candidate is not None]

    @property
    def folds(self) -> Iterator[FoldScore]:
        """All folds that are decided."""
        return (fold for row in self._rows for fold in row.folds)

    @property
    def ending(self) -> str:
        """Why it has ended, in a sentence."""
        if self._exhausted:
            return self._exhausted
        if self._stopped:
            return "The callback asked to stop."
        if len(self.finished) == self._n_iter:
            return "All evaluations were made."
        return f"The time, timeout={self._timeout} seconds, was over."

    def run(
        self, evaluator: Evaluator, check: Callable[[], None] = lambda: None
    ) -> None:
        """Search until the budget, the space or the time is used up, or a stop flag.

        Parameters
        ----------
        evaluator : Evaluator
            Runs the folds; the caller closes it, which ends what is still running.
        check : callable
            Called before each wait, of a second at most, and at the end; what it
            raises ends the search.
        """
        self._last_news = time.monotonic() - suspended_seconds()
        self._propose(evaluator)
        while (fold := self._next(evaluator, check)) is not None:
            self._receive(fold, evaluator)
            self._propose(evaluator)
        check()
        self._tell(len(self._rows))

    def _next(
        self, evaluator: Evaluator, check: Callable[[], None]
    ) -> FoldScore | None:
        """Wait for a fold; None where nothing is under way, or the time is over."""
        while self._n_due:
            check()
            now, start = time.monotonic(), evaluator.first_start
            for observer in self._observers:
                observer.waited(0.0 if start is None else now - start)
            left = max(self._end(evaluator) - now, 0.0)
            has_started = self._timeout is None or start is not None
            wait = min(left, _MAX_WAIT if has_started else _FIRST_WAIT)
            fold = evaluator.next_event(wait)
            if fold is not None or left <= wait:
                self._last_news = time.monotonic() - suspended_seconds()
                return fold
        return None

    def _end(self, evaluator: Evaluator) -> float:
        """Return when the time is over.

        Starting the workers, waiting for a cluster and reading a checkpoint are not
        part of the time, but must end too. Nor is time for which this process stood
        still.
        """
        if self._timeout is None:
            return math.inf
        if self._is_late:
            return -math.inf
        if evaluator.first_start is None:
            return self._last_news + suspended_seconds() + self._timeout + LONGEST_START
        return evaluator.first_start + self._timeout - self._reserved()

    def _receive(self, fold: FoldScore, evaluator: Evaluator) -> None:
        """Record a fold, show it, and prune its candidate if it is hopeless."""
        k = fold.candidate
        row = self._rows[k]
        if row.pruned:  # this one was decided before that was known
            fold = replace(
                fold, status="skipped", test_scores=None, train_scores=None, error=""
            )
        row.folds.append(fold)
        self._n_due -= 1
        if (duration := _duration(fold)) is not None:
            bisect.insort(self._durations, duration)
        for observer in self._observers:
            observer.scored(fold, row.params)
        self._stopped |= fold.stop
        if len(row.folds) == self._n_splits:
            candidate = Candidate(row.params, tuple(row.folds))
            constraint = self._objective.constraint_of(candidate)
            row.candidate = replace(candidate, constraint=constraint)
            for observer in self._observers:
                observer.finished(k, row.candidate)
        elif not row.pruned and self._objective.should_prune(k, row.folds):
            row.pruned = True
            evaluator.cancel(k)
        self._is_late = self._is_late or not self._can_finish_one(evaluator)

    def _can_finish_one(self, evaluator: Evaluator) -> bool:
        """Return whether the candidate whose fits come first can end in time.

        If it cannot, no other one can.
        """
        for k in range(self._n_told, len(self._rows)):
            if self._rows[k].candidate is None:
                return self._has_time_for(evaluator.n_due(k), evaluator)
        return True

    def _has_time_for(self, n_fits: int, evaluator: Evaluator) -> bool:
        """Return whether so many fits, those that run included, can end in time.

        A slot has at least ``n_fits // n_slots`` of them to begin and end from now on,
        if another fit has just ended. The pace is the lower quartile of all fits: a fit
        that is begun in vain costs nothing that was not granted.
        """
        if self._timeout is None or not self._durations:
            return True
        pace = self._durations[len(self._durations) // 4]
        rounds = n_fits // evaluator.n_slots
        return time.monotonic() + rounds * pace <= self._end(evaluator)

    def _propose(self, evaluator: Evaluator) -> None:
        """Ask for as many candidates as the rule of order allows now."""
        while not self._is_over(evaluator) and (k := len(self._rows)) < self._n_iter:
            n_needed = max(k - self._n_pending + 1, 0)
            if any(
                row.candidate is None for row in self._rows[self._n_told : n_needed]
            ):
                return
            n_open = sum(
                evaluator.n_due(j)
                for j in range(n_needed, k)
                if self._rows[j].candidate is None
            )
            n_fits = max(n_open + self._n_splits, evaluator.n_slots)
            if not self._has_time_for(n_fits, evaluator):
                return
            self._tell(n_needed)
            if self._stopped:  # by what has just been reported
                break
            try:
                params = self._optimizer.ask()
            except SpaceExhaustedError as error:
                self._stopped, self._exhausted = True, str(error)
                if self._warns_exhausted:
                    self._warn_exhausted()
                return
            self._rows.append(_Row(params))
            self._n_due += self._n_splits
            for observer in self._observers:
                observer.started(k, params)
            tasks = None if self._fold_tasks is None else self._fold_tasks(k)
            evaluator.submit(k, params, range(self._n_splits), tasks)
        n = self._n_told
        while n < len(self._rows) and self._rows[n].candidate is not None:
            n += 1
        self._tell(n)  # no proposal waits for them

    def _is_over(self, evaluator: Evaluator) -> bool:
        if self._timeout is not None and self._reserved() >= self._timeout:
            return True  # as a checkpoint may tell before the first fit starts
        return self._stopped or time.monotonic() >= self._end(evaluator)

    def _tell(self, n: int) -> None:
        """Pass on the first n candidates, as far as that is still due."""
        for k in range(self._n_told, n):
            self._n_told = k + 1
            candidate = self._rows[k].candidate
            if candidate is not None:
                value = self._objective.value(k, candidate)
                number = candidate.constraint
                told = (value,) if number is None else (value, number)
                self._optimizer.tell(candidate.params, *told)
                if self._report is not None:
                    self._stopped |= self._report(k, candidate)

    def _warn_exhausted(self) -> None:
        n = len(self._rows) + self._n_known
        budget = f"n_iter={self._n_iter} candidates"
        if self._n_iter == math.inf:
            budget = f"timeout={self._timeout} seconds"
        warn(
            f"The space has only {n} configuration{'' if n == 1 else 's'}: the search "
            f"ends after {len(self._rows)} instead of {budget}."
        )


def _duration(fold: FoldScore) -> float | None:
    """Return how many seconds a fit took; None unless it was run here and succeeded."""
    if fold.status != "ok" or fold.started is None or fold.finished is None:
        return None
    return fold.finished - fold.started
