"""How busy slots are kept, and what a larger ``n_pending`` costs in quality.

``python -m sklearn_mvrsm.benchmarks.slots`` prints three tables: the share of the time
of two slots that searches spend in fits of 20 ms and of 1 s; the same for eight slots
with fits of very unequal length; and the best values found by the optimiser with
different ``n_pending``. The fits sleep, so that eight do not need eight cores.
"""

import argparse
import warnings
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from sklearn_mvrsm import MVRSMOptimizer, MVRSMSearchCV, Real, SearchSpace
from sklearn_mvrsm.benchmarks._registry import make_problem
from sklearn_mvrsm.benchmarks._sleeper import Sleeper

__all__ = ["best_found", "share_in_fits"]

PENDING = (1, 2, 4, 8)
PROBLEMS = ("rosenbrock10:moved", "func3c:moved", "mivabo16-0")
SPREAD = 1.0
"""Of unequal fits: one in six takes more than e times the median."""


def share_in_fits(
    seconds: float, *, n_iter: int, n_jobs: int = 2, **options: Any
) -> float:
    """Return the share of slot time that a search spends in fits.

    Parameters
    ----------
    seconds : float
        That a fit takes; the median, if there is a spread.
    n_iter : int
        Candidates, of five folds each.
    n_jobs : int
        Slots.
    **options
        ``spread`` of the seconds' logarithm, and ``n_pending``.

    Returns
    -------
    float
        Of the time between the begin of the first fit and the end of the last.
    """
    X, y = np.arange(20.0)[:, np.newaxis], np.arange(20) % 2
    search = MVRSMSearchCV(
        Sleeper(seconds, spread=options.pop("spread", 0.0)),
        {"level": Real(0.0, 1.0)},
        n_iter=n_iter,
        n_initial_points=n_iter,  # what the optimiser thinks is not measured here
        n_jobs=n_jobs,
        refit=False,
        random_state=0,
        **options,
    )
    with warnings.catch_warnings():  # slots that stay idle are what is measured
        warnings.filterwarnings("ignore", ".* the others stay idle", UserWarning)
        log = search.fit(X, y).fit_log_
    whole = log["finish"].max() - log["start"].min()
    return float((log["finish"] - log["start"]).sum() / (n_jobs * whole))


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
    program.add_argument("--unequal", type=int, default=60, help="unequal candidates")
    program.add_argument("--problems", nargs="+", default=PROBLEMS)
    options = program.parse_args(arguments)
    print("Two slots, fits of one length: share of slot time in fits")
    for seconds, n_iter in ((0.02, 40), (1.0, 8)):
        share = share_in_fits(seconds, n_iter=n_iter)
        print(f"{seconds:>10} s{share:10.1%}", flush=True)
    print("Eight slots, fits of very unequal length: share of slot time in fits")
    unequal = {"n_jobs": 8, "n_iter": options.unequal, "spread": SPREAD}
    for n_pending in PENDING:
        share = share_in_fits(0.25, n_pending=n_pending, **unequal)
        print(f"n_pending {n_pending}{share:10.1%}", flush=True)
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
