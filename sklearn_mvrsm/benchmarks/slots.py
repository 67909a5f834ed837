"""How busy slots are kept, and what a larger ``n_pending`` costs in quality.

``python -m sklearn_mvrsm.benchmarks.slots`` prints three tables: the share of the time
of two slots that real searches spend in fits of 20 ms and of 1 s; the same for eight
slots with fits of very unequal length, in simulated time; and the best values found by
the optimiser with different ``n_pending``.
"""

import argparse
import heapq
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, cast

import numpy as np

from sklearn_mvrsm import MVRSMOptimizer, MVRSMSearchCV, Real, SearchSpace
from sklearn_mvrsm._evaluation import Evaluator, FoldScore
from sklearn_mvrsm._judge import Judge
from sklearn_mvrsm._loop import SearchLoop
from sklearn_mvrsm._results import Candidate
from sklearn_mvrsm.benchmarks._registry import make_problem
from sklearn_mvrsm.benchmarks._sleeper import Sleeper

__all__ = ["Simulated", "best_found", "measured_share", "simulated_share"]

PENDING = (1, 2, 4, 8)
PROBLEMS = ("rosenbrock10:moved", "func3c:moved", "mivabo16-0")
SPREAD = 1.0  # of the logarithm of a simulated fit's seconds


def measured_share(seconds: float, *, n_iter: int, n_jobs: int = 2) -> float:
    """Return the share of slot time that a real search spends in fits.

    Parameters
    ----------
    seconds : float
        That each fit takes.
    n_iter : int
        Candidates, of five folds each.
    n_jobs : int
        Slots.
    """
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    found = MVRSMSearchCV(
        Sleeper(seconds),
        {"level": Real(0.0, 1.0)},
        n_iter=n_iter,
        n_jobs=n_jobs,
        refit=False,
        random_state=0,
    ).fit(X, y)
    log = found.fit_log_
    whole = log["finish"].max() - log["start"].min()
    return float((log["finish"] - log["start"]).sum() / (n_jobs * whole))


class Simulated:
    """An evaluator whose fits take simulated seconds.

    Parameters
    ----------
    n_slots : int
        Fits at a time.
    seconds : iterator of float
        Of each fit, in the order of candidates and folds.

    Attributes
    ----------
    now : float
        Simulated seconds that have gone by.
    busy : float
        Simulated seconds of all fits that have ended.
    """

    def __init__(self, n_slots: int, seconds: Iterator[float]) -> None:
        self.now = self.busy = 0.0
        self._seconds = seconds
        self._idle = n_slots
        self._waiting: list[tuple[int, int]] = []
        self._running: list[tuple[float, int, int, float]] = []

    def submit(
        self,
        candidate: int,
        params: Mapping[str, Any],
        folds: Sequence[int],
        tasks: Sequence[Any] | None = None,
    ) -> None:
        """Queue the folds of a candidate."""
        self._waiting += [(candidate, fold) for fold in folds]

    def next_event(self, timeout: float | None = None) -> FoldScore | None:
        """Let time go by until the next fit ends."""
        while self._waiting and self._idle:
            candidate, fold = self._waiting.pop(0)
            seconds = next(self._seconds)
            heapq.heappush(
                self._running, (self.now + seconds, candidate, fold, seconds)
            )
            self._idle -= 1
        if not self._running:
            return None
        self.now, candidate, fold, seconds = heapq.heappop(self._running)
        self._idle += 1
        self.busy += seconds
        return FoldScore(candidate, fold, "ok", {"score": 0.0})

    def cancel(self, candidate: int) -> None:
        """Do nothing: no candidate is given up here."""


class _Contented:
    """Stands in for a judge, and for an optimiser, whom nothing matters."""

    def started(self, candidate: int, params: Mapping[str, Any]) -> None: ...

    def scored(self, fold: FoldScore, params: Mapping[str, Any]) -> None: ...

    def gives_up(self, candidate: int, folds: Sequence[FoldScore]) -> bool:
        return False

    def value(self, number: int, candidate: Candidate) -> float:
        return 0.0

    def ask(self) -> dict[str, Any]:
        return {}

    def tell(self, params: Mapping[str, Any], value: float) -> None: ...


def simulated_share(
    n_pending: int, *, n_slots: int = 8, n_splits: int = 5, n_iter: int = 400
) -> float:
    """Return the share of slot time spent in fits whose lengths differ much.

    The lengths are log-normal: one in six takes more than e times the median, one in
    forty more than e^2 times. The optimiser takes no time.

    Parameters
    ----------
    n_pending : int
        As `MVRSMSearchCV` takes it.
    n_slots, n_splits, n_iter : int
        Of the search.
    """
    rng = np.random.default_rng(0)
    lengths = iter(rng.lognormal(0.0, SPREAD, n_iter * n_splits))
    evaluator = Simulated(n_slots, lengths)
    nobody = _Contented()
    SearchLoop(
        nobody,
        n_iter=n_iter,
        n_splits=n_splits,
        n_pending=n_pending,
        judge=cast(Judge, nobody),
        fold_tasks=lambda k: None,
    ).run(cast(Evaluator, evaluator))
    return evaluator.busy / (n_slots * evaluator.now)


def best_found(
    problem: str, n_pending: int, seed: int, budget: int | None = None
) -> float:
    """Return the best value that the optimiser finds, told as a search tells it.

    Parameters
    ----------
    problem : str
        A name of `make_problem`, perhaps with ``:moved``.
    n_pending : int
        Before candidate k is asked for, candidates 0 to k - n_pending are told.
    seed : int
    budget : int, optional
        Evaluations after 24 initial ones; the problem's own by default.
    """
    name, _, variant = problem.partition(":")
    made = make_problem(name, variant=variant or "original", seed=seed)
    optimizer = MVRSMOptimizer(
        SearchSpace(made.space), n_initial_points=24, random_state=seed
    )
    open_: list[tuple[dict[str, Any], float]] = []
    best = np.inf
    for _ in range(24 + (made.budget if budget is None else budget)):
        while len(open_) >= n_pending:
            optimizer.tell(*open_.pop(0))
        params = optimizer.ask()
        open_.append((params, made.evaluate(params)))
        best = min(best, open_[-1][1])
    return float(best)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--seeds", type=int, default=5, help="how many")
    program.add_argument("--budget", type=int, help="evaluations of a problem")
    program.add_argument("--problems", nargs="+", default=PROBLEMS)
    options = program.parse_args(arguments)
    print("Two slots, fits of one length: share of slot time in fits")
    for seconds, n_iter in ((0.02, 40), (1.0, 8)):
        share = measured_share(seconds, n_iter=n_iter)
        print(f"{seconds:>10} s{share:10.1%}", flush=True)
    print("Eight slots, fits of very unequal length, simulated")
    for n_pending in PENDING:
        print(f"n_pending {n_pending}{simulated_share(n_pending):10.1%}", flush=True)
    print(f"Best value, mean of {options.seeds} seeds")
    print(f"{'problem':22}" + "".join(f"{f'n_pending {n}':>14}" for n in PENDING))
    for problem in options.problems:
        means = [
            fmean(
                best_found(problem, n, seed, options.budget)
                for seed in range(options.seeds)
            )
            for n in PENDING
        ]
        print(f"{problem:22}" + "".join(f"{mean:14.4g}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
