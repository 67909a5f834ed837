"""What the engine costs: time, threads, the way back from a kill, memory.

``python -m sklearn_mvrsm.benchmarks.costs`` makes the same fits in `MVRSMSearchCV` and
in ``RandomizedSearchCV``, in turns and in two processes each, and prints the ratios of
CPU and wall time of a fit, and what our search takes longer to begin and to end; then
what it costs where both slots use all cores, with estimators that use threads, instead
of sharing the cores; then how long after the deadline of a stuck fit its slot works on
the next one; then what the processes hold in memory with a table of 200 MB, and what
that and the largest memory of the parent are against ``RandomizedSearchCV``, for tables
of several sizes and kinds. Needs psutil, and pandas for tables of that.
"""

import argparse
import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold

from sklearn_mvrsm import Categorical, MVRSMSearchCV, Real
from sklearn_mvrsm.benchmarks._memory import memory, memory_ratios, print_memory_ratios
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
    "memory_ratios",
    "threads",
]

FEW, MANY = 1, 3
"""How often each fold is fitted: a search's own start and end are in both."""


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

    def data(self) -> tuple[object, object]:
        """Return the table and its target of three classes."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n_samples, self.n_features))
        y = rng.integers(0, 3, self.n_samples) + (X[:, 0] > 0.0)
        return X, np.minimum(y, 2)


@dataclass
class Cost:
    """Seconds that the same thing took, one entry a round.

    Parameters
    ----------
    cpu, wall : list of float
    """

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def less(self, other: "Cost") -> tuple[float, float]:
        """Return the difference of the medians, of CPU and of wall time."""
        return (
            median(self.cpu) - median(other.cpu),
            median(self.wall) - median(other.wall),
        )


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


def boosters() -> list[object]:
    """Return estimators that use threads, those of which the library is there."""
    found: list[Any] = [HistGradientBoostingClassifier(max_iter=30)]
    with contextlib.suppress(ImportError):
        xgboost = require("xgboost", "xgboost")
        found.append(xgboost.XGBClassifier(n_estimators=50))
    return found


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children, ended ones included."""
    psutil = require("psutil", "psutil")
    me, total = psutil.Process(), 0.0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
            total += times.children_user + times.children_system
    return total


def timed(run: Callable[[], object], cost: Cost) -> None:
    """Run something, and note what it took."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    run()
    cost.wall.append(time.perf_counter() - wall)
    cost.cpu.append(cpu_seconds() - cpu)


def ours(case: Case, times: int) -> MVRSMSearchCV:
    """Return a search that makes the fits of a case, each fold so many times."""
    options = {
        name: Categorical([each[name] for each in case.params])
        for name in case.params[0]
    }
    return MVRSMSearchCV(
        case.estimator,
        options,
        n_iter=len(case.params),
        initial_points=case.params,
        n_initial_points=len(case.params),
        cv=_folds(case, times),
        n_jobs=2,
        refit=False,
        random_state=0,
    )


def theirs(case: Case, times: int) -> RandomizedSearchCV:
    """Return the peer that makes the same fits."""
    return RandomizedSearchCV(
        case.estimator,
        [{name: [value] for name, value in each.items()} for each in case.params],
        n_iter=len(case.params),
        cv=_folds(case, times),
        n_jobs=2,
        refit=False,
        random_state=0,
    )


def _folds(case: Case, times: int) -> list[object]:
    return list(StratifiedKFold(5).split(*case.data())) * times


def compare(case: Case, rounds: int) -> dict[tuple[str, int], Cost]:
    """Make the fits of a case in both searches, in turns.

    Parameters
    ----------
    case : Case
    rounds : int
        Of each, after one of the peer's, whose processes then stay.

    Returns
    -------
    dict of (str, int) to Cost
        For "ours" and "theirs", with each fold `FEW` and `MANY` times.
    """
    X, y = case.data()
    runs = {
        (who, times): partial(search(case, times).fit, X, y)
        for times in (FEW, MANY)
        for who, search in (("ours", ours), ("theirs", theirs))
    }
    costs = {key: Cost() for key in runs}
    runs["theirs", FEW]()  # its workers stay
    for _ in range(rounds):
        for key, run in runs.items():
            timed(run, costs[key])
    return costs


def back_after_kill(repeats: int, pause: float = 15.0) -> list[float]:
    """Return seconds from the deadline of a stuck fit to its slot's next fit.

    Parameters
    ----------
    repeats : int
    pause : float
        Seconds of other work before each, in which the next spare starts.
    """
    limit = pause + 5.0
    # one fit that leaves the spare its time, one that is stuck, one that waits
    points = [
        {"seconds": seconds, "level": k / repeats}
        for k in range(repeats)
        for seconds in (pause, 1000.0, 0.0)
    ]
    search = MVRSMSearchCV(
        Sleeper(),
        {"seconds": Real(0.0, 1000.0), "level": Real(0.0, 1.0)},
        n_iter=len(points),
        initial_points=points,
        n_initial_points=len(points),
        n_pending=3,
        cv=[next(StratifiedKFold(2).split(*_nothing()))],
        n_jobs=1,
        fit_timeout=limit,
        refit=False,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the stuck fits
        log = search.fit(*_nothing()).fit_log_
    begins = log["start"][np.argsort(log["candidate"])]
    return [float(gap) - limit for gap in (begins[2::3] - begins[1::3])]


def _nothing() -> tuple[object, object]:
    """Return a table that there is nothing to learn from."""
    return np.zeros((20, 1)), np.arange(20) % 2


def threads(
    estimator: object, rounds: int, n_samples: int = 4000
) -> tuple[float, float]:
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
    case = Case("", estimator, [{"random_state": 0}, {"random_state": 1}], n_samples)
    X, y = case.data()
    costs = {(n, k): Cost() for k in (FEW, MANY) for n in (None, os.cpu_count())}
    for _ in range(rounds):
        for (count, times), cost in costs.items():
            with _variable("OMP_NUM_THREADS", count):
                timed(partial(ours(case, times).fit, X, y), cost)
    ruled, crowded = (
        costs[n, MANY].less(costs[n, FEW]) for n in (None, os.cpu_count())
    )
    return crowded[0] / ruled[0], crowded[1] / ruled[1]


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


def _line(case: Case, costs: dict[tuple[str, int], Cost]) -> str:
    """Return the line of a table that tells of a comparison."""
    mine, other = (costs[who, MANY].less(costs[who, FEW]) for who in ("ours", "theirs"))
    fit = 1e3 * mine[0] / (5 * (MANY - FEW) * len(case.params))
    longer = costs["ours", FEW].less(costs["theirs", FEW])
    # without the fits of one round, in which we may be slower or faster
    share = FEW / (MANY - FEW)
    once = [longer[k] - share * (mine[k] - other[k]) for k in (0, 1)]
    ratios = f"{mine[0] / other[0]:8.3f}{mine[1] / other[1]:8.3f}"
    return f"{case.name:34}{ratios}{fit:10.1f}{once[0]:11.2f}{once[1]:7.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--candidates", type=int, default=50)
    program.add_argument("--rounds", type=int, default=5)
    program.add_argument("--samples", type=int, default=1_000_000, help="of memory")
    program.add_argument("--megabytes", type=int, nargs="*", default=[200, 500])
    program.add_argument("--memory", action="store_true", help="its ratios alone")
    options = program.parse_args(arguments)
    if options.memory:
        print_memory_ratios(options.megabytes)
        return
    print("A fit in our search, against one in RandomizedSearchCV; and what our search")
    print("takes longer to begin and to end, in seconds")
    print(
        f"{'fits':34}{'CPU':>8}{'wall':>8}{'ms a fit':>10}{'once, CPU':>11}{'wall':>7}"
    )
    for case in cases(options.candidates):
        print(_line(case, compare(case, options.rounds)), flush=True)
    print("Every slot with all cores, against the rule")
    for booster in boosters():
        cpu, wall = threads(booster, options.rounds)
        print(f"{type(booster).__name__:36}{cpu:8.3f}{wall:8.3f}", flush=True)
    delays = back_after_kill(3)
    print(f"Deadline to the slot's next fit: {1e3 * median(delays):.0f} ms")
    print("Memory, MB, with a table of", options.samples, "x 25")
    for label, sizes in memory(options.samples).items():
        print(f"{label:36}" + "".join(f"{size:8.0f}" for size in sizes))
    print_memory_ratios(options.megabytes)


if __name__ == "__main__":
    main()
