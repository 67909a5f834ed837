"""What the engine costs: time, threads, the way back from a kill, memory.

``python -m sklearn_mvrsm.benchmarks.costs`` runs the same fits through the engine and
through ``RandomizedSearchCV``, in turns and with two warm workers each, and prints the
ratios of CPU and wall time; then what it costs where both slots use all cores, with
estimators that use threads, instead of sharing the cores; then how long after the
deadline of a stuck fit its slot works on the next one; then what the processes hold in
memory with a table of 200 MB. Needs psutil.
"""

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold

from sklearn_mvrsm._evaluation import Evaluator
from sklearn_mvrsm._fold import FitJob
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._sleeper import Sleeper

__all__ = [
    "Case",
    "Cost",
    "back_after_kill",
    "boosters",
    "cases",
    "compare",
    "memory",
    "threads",
]

MEGABYTE = 1e6


class Pid:
    """Scores a fit by the process that it ran in."""

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the number of this process."""
        return float(os.getpid())


@dataclass(frozen=True)
class Case:
    """Fits to compare on.

    Parameters
    ----------
    name : str
    estimator : estimator
    params : list of dict
        One candidate each.
    n_samples, n_features : int
        Of the table.
    """

    name: str
    estimator: Any
    params: list[dict[str, Any]]
    n_samples: int
    n_features: int = 25

    def data(self) -> tuple[Any, Any]:
        """Return the table and its target of three classes."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n_samples, self.n_features))
        y = rng.integers(0, 3, self.n_samples) + (X[:, 0] > 0.0)
        return X, np.minimum(y, 2)


@dataclass
class Cost:
    """Seconds of rounds of the same fits.

    Parameters
    ----------
    cpu, wall : list of float
        One entry a round.
    """

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def cases(n_candidates: int) -> list[Case]:
    """Return the comparisons: short and longer fits, small and large tables.

    Parameters
    ----------
    n_candidates : int
        Of the short fits; there are fewer of the longer ones.
    """
    strengths = np.geomspace(1e-3, 1e3, n_candidates)
    short = [{"C": float(C)} for C in strengths]
    few = max(n_candidates // 5, 2)
    logistic = LogisticRegression(max_iter=1000)
    found = [
        Case("LogisticRegression, about 20 ms", logistic, short, 4000),
        Case("LogisticRegression, about 200 ms", logistic, short[:few], 100_000),
        Case(
            "LogisticRegression, 200 MB",
            LogisticRegression(max_iter=20, tol=1.0),
            short[:2],
            1_000_000,
        ),
    ]
    try:
        booster = require("xgboost", "xgboost").XGBClassifier(n_jobs=1)
    except ImportError:
        return found
    rates = np.geomspace(0.01, 0.5, n_candidates)
    for label, trees, count in (("20", 2, n_candidates), ("200", 15, few)):
        params = [
            {"learning_rate": float(rate), "n_estimators": trees}
            for rate in rates[:count]
        ]
        found.append(Case(f"XGBClassifier, about {label} ms", booster, params, 1000))
    return found


def boosters() -> list[Any]:
    """Return estimators that use threads, those of which the library is there."""
    found: list[Any] = [HistGradientBoostingClassifier(max_iter=30)]
    with contextlib.suppress(ImportError):
        xgboost = require("xgboost", "xgboost")
        found.append(xgboost.XGBClassifier(n_estimators=50))
    return found


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its living children."""
    psutil = require("psutil", "psutil")
    me, total = psutil.Process(), 0.0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def timed(run: Callable[[], None], cost: Cost) -> None:
    """Run something, and note what it took."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    run()
    cost.wall.append(time.perf_counter() - wall)
    cost.cpu.append(cpu_seconds() - cpu)


def compare(case: Case, rounds: int) -> tuple[Cost, Cost]:
    """Run the fits of a case through both, in turns.

    Parameters
    ----------
    case : Case
    rounds : int
        Of each, after one to warm up.

    Returns
    -------
    ours, theirs : Cost
    """
    X, y = case.data()
    splits = list(StratifiedKFold(5).split(X, y))
    job = FitJob(case.estimator, X, y, splits, get_scorer("accuracy"))
    grid = [{key: [value] for key, value in each.items()} for each in case.params]
    peer = RandomizedSearchCV(
        case.estimator,
        grid,
        n_iter=len(grid),
        cv=splits,
        n_jobs=2,
        refit=False,
        random_state=0,
    )
    costs = Cost(), Cost()
    with Evaluator(job, n_jobs=2) as evaluator:
        run_all(evaluator, case.params)
        peer.fit(X, y)
        for _ in range(rounds):
            timed(lambda: run_all(evaluator, case.params), costs[0])
            timed(lambda: peer.fit(X, y), costs[1])
    return costs


def back_after_kill(repeats: int, pause: float = 15.0) -> list[float]:
    """Return seconds from the deadline of a stuck fit to its slot's next fit.

    Parameters
    ----------
    repeats : int
    pause : float
        Seconds of other work before each, in which the next spare starts.
    """
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    splits = [next(StratifiedKFold(2).split(X, y))]
    job = FitJob(Sleeper(0.0), X, y, splits, get_scorer("accuracy"))
    limit, delays = pause + 5.0, []
    with Evaluator(job, n_jobs=1, timeout=limit) as evaluator:
        for k in range(repeats):
            # one fit that leaves the spare its time, one that is stuck, one that waits
            for number, seconds in enumerate((pause, 1000.0, 0.0)):
                evaluator.submit(3 * k + number, {"seconds": seconds}, [0])
            events = [evaluator.next_event(limit + 60.0) for _ in range(3)]
            begins = [event.started for event in events if event is not None]
            stuck, after = (each for each in begins[1:] if each is not None)
            delays.append(after - stuck - limit)
    return delays


def threads(estimator: Any, rounds: int, n_samples: int = 4000) -> tuple[float, float]:
    """Return what it costs that every slot uses all cores, against joblib's rule.

    Parameters
    ----------
    estimator : estimator
        Its fits use threads of OpenMP.
    rounds : int
        Of each, in turns.
    n_samples : int
        Rows of the table.

    Returns
    -------
    cpu, wall : float
        Ratios of medians: with as many threads a slot as there are cores, set by the
        user's variable, to what two slots do by themselves.
    """
    X, y = Case("", None, [], n_samples).data()
    splits = list(StratifiedKFold(5).split(X, y))
    job = FitJob(estimator, X, y, splits, get_scorer("accuracy"))
    ruled, crowded = Cost(), Cost()
    for _ in range(rounds):
        for count, cost in ((None, ruled), (os.cpu_count(), crowded)):
            with _variable("OMP_NUM_THREADS", count), Evaluator(job, n_jobs=2) as slots:
                run_all(slots, [{}] * 2)
                timed(partial(run_all, slots, [{}] * 2), cost)
    return (
        median(crowded.cpu) / median(ruled.cpu),
        median(crowded.wall) / median(ruled.wall),
    )


@contextlib.contextmanager
def _variable(name: str, value: int | None) -> Iterator[None]:
    """Set a variable of the environment, or take it away."""
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = str(value)
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def run_all(evaluator: Evaluator, params: Sequence[dict[str, Any]]) -> None:
    """Evaluate candidates on five folds."""
    for k, each in enumerate(params):
        evaluator.submit(k, each, range(5))
    while evaluator.next_event() is not None:
        pass


def memory(n_samples: int = 1_000_000) -> dict[str, list[float]]:
    """Return megabytes held while fits read a table of 25 columns.

    Parameters
    ----------
    n_samples : int
        Rows; a million are 200 MB.

    Returns
    -------
    dict of str to list of float
        The resident set of the parent and of each worker, and what is a worker's alone.
    """
    psutil = require("psutil", "psutil")
    X, y = Case("", None, [], n_samples).data()
    # every worker reads the whole table, and holds no part of it after the fit
    splits = [(np.arange(n_samples), np.arange(2))] * 8
    job = FitJob(Sleeper(0.5), X, y, splits, Pid())
    with Evaluator(job, n_jobs=2) as evaluator:
        evaluator.submit(0, {}, range(len(splits)))
        pids = set()
        while (fold := evaluator.next_event()) is not None:
            pids.add(int((fold.test_scores or {})["score"]))
        found = [psutil.Process(pid).memory_full_info() for pid in sorted(pids)]
        return {
            "parent, resident": [psutil.Process().memory_info().rss / MEGABYTE],
            "workers, resident": [each.rss / MEGABYTE for each in found],
            "workers, their own": [each.uss / MEGABYTE for each in found],
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--candidates", type=int, default=50)
    program.add_argument("--rounds", type=int, default=5)
    program.add_argument("--samples", type=int, default=1_000_000, help="of memory")
    options = program.parse_args(arguments)
    print("Engine against RandomizedSearchCV: ratio of the medians of the rounds")
    print(f"{'fits':36}{'CPU':>8}{'wall':>8}{'ms a fit':>10}")
    for case in cases(options.candidates):
        ours, theirs = compare(case, options.rounds)
        fit = 1e3 * median(ours.cpu) / (5 * len(case.params))
        cpu, wall = (
            median(mine) / median(other)
            for mine, other in ((ours.cpu, theirs.cpu), (ours.wall, theirs.wall))
        )
        print(f"{case.name:36}{cpu:8.3f}{wall:8.3f}{fit:10.1f}", flush=True)
    print("Every slot with all cores, against the rule")
    for booster in boosters():
        cpu, wall = threads(booster, options.rounds)
        print(f"{type(booster).__name__:36}{cpu:8.3f}{wall:8.3f}", flush=True)
    delays = back_after_kill(3)
    print(f"Deadline to the slot's next fit: {1e3 * median(delays):.0f} ms")
    print("Memory, MB, with a table of", options.samples, "x 25")
    for label, sizes in memory(options.samples).items():
        print(f"{label:36}" + "".join(f"{size:8.0f}" for size in sizes))


if __name__ == "__main__":
    main()
