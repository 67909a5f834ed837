"""How soon a search stays away from where fits are killed.

``python -m sklearn_mvrsm.benchmarks.failures`` searches a space in half of which every
fit runs into its time limit, with the best candidates far from that half, near it, or
within it. It prints the share of candidates that were killed, in each quarter of the
search, and how far from the best that is allowed the search has come.
"""

import argparse
import warnings
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import ArrayLike

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
from sklearn_mvrsm.benchmarks._sleeper import Sleeper

__all__ = ["Hanging", "quarters", "regret", "search"]

BEST = (0.25, 0.48, 0.9)
"""Where the best ``x`` would be: far from what hangs, near that, and inside."""


class Hanging(Sleeper):
    """Never comes to its end where ``x > 0.5``; its score is known.

    Parameters
    ----------
    x, y : float
    k : int
    c : str
    best : float
        The ``x`` with the best score.
    """

    def __init__(
        self,
        x: float = 0.0,
        y: float = 0.0,
        k: int = 0,
        c: str = "a",
        best: float = BEST[0],
    ) -> None:
        self.x = x
        self.y = y
        self.k = k
        self.c = c
        self.best = best

    def fit(self, X: ArrayLike, y: ArrayLike) -> "Hanging":
        """Hang, or do nothing."""
        Sleeper(1e6 if self.x > 0.5 else 0.0).fit(X, y)
        self.classes_ = np.unique(y)
        return self

    def score(self, X: object, y: object) -> float:
        """Return zero for the best there is, else less."""
        away = (self.x - self.best) ** 2 + (self.y - 0.7) ** 2
        return -float(away + 0.01 * (self.k - 3) ** 2 + 0.1 * (self.c != "b"))


def search(
    best: float, *, n_iter: int, seed: int, fit_timeout: float = 0.5
) -> MVRSMSearchCV:
    """Search the space, two candidates at a time.

    Parameters
    ----------
    best : float
        The ``x`` with the best score.
    n_iter, seed : int
    fit_timeout : float
        Seconds.

    Returns
    -------
    MVRSMSearchCV
        Fitted.
    """
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    space = {
        "x": Real(0.0, 1.0),
        "y": Real(0.0, 1.0),
        "k": Integer(0, 9),
        "c": ["a", "b", "c"],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of what hangs
        return MVRSMSearchCV(
            Hanging(best=best),
            space,
            n_iter=n_iter,
            n_initial_points=n_iter // 4,
            cv=2,
            n_jobs=2,
            fit_timeout=fit_timeout,
            refit=False,
            random_state=seed,
        ).fit(X, y)


def quarters(found: MVRSMSearchCV) -> list[float]:
    """Return the share of candidates that were killed, in each quarter of a search."""
    killed = np.asarray(found.cv_results_["status"]) == "timeout"
    return [float(part.mean()) for part in np.array_split(killed, 4)]


def regret(found: MVRSMSearchCV, best: float) -> float:
    """Return how much better the best score is that the limit allows."""
    return -(max(best - 0.5, 0.0) ** 2) - float(found.best_score_)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, and print the table."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--seeds", type=int, default=5, help="how many")
    program.add_argument("--n-iter", type=int, default=60)
    options = program.parse_args(arguments)
    print("Share of candidates that were killed, in each quarter of a search of")
    print(f"{options.n_iter} candidates, and regret; means of {options.seeds} seeds")
    print(
        f"{'best x':>8}{'first':>9}{'second':>9}{'third':>9}{'last':>9}{'regret':>10}"
    )
    for best in BEST:
        runs = [
            search(best, n_iter=options.n_iter, seed=seed)
            for seed in range(options.seeds)
        ]
        shares = np.mean([quarters(run) for run in runs], axis=0)
        away = fmean(regret(run, best) for run in runs)
        line = "".join(f"{share:9.1%}" for share in shares)
        print(f"{best:>8}{line}{away:10.4f}", flush=True)


if __name__ == "__main__":
    main()
