"""What racing saves, and what it costs.

The same searches with racing and without, on real tables with a decision tree behind a
choice of preprocessing. ``python -m sklearn_mvrsm.benchmarks.racing`` prints, for each
table and error level, the share of fits that were skipped and what was lost in the best
score, as mean and standard error over the seeds.
"""

import argparse
import csv
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real

N_SPLITS = 5


@dataclass(frozen=True)
class Outcome:
    """One search.

    Attributes
    ----------
    best : float
        Mean score of the best candidate.
    skipped : float
        Share of the fits that were skipped.
    """

    best: float
    skipped: float


def tables(
    steel: str | None = None, n_samples: int = 900
) -> Iterator[tuple[object, ...]]:
    """Yield name, data and target of each table, at most ``n_samples`` rows of it.

    Parameters
    ----------
    steel : str, optional
        File with the steel plates faults; its last column is the target.
    n_samples : int
        Rows are drawn with a fixed seed.
    """
    found = [
        ("digits", *load_digits(return_X_y=True)),
        ("breast cancer", *load_breast_cancer(return_X_y=True)),
    ]
    if steel is not None:
        with open(steel, newline="", encoding="utf-8") as file:
            content = np.array(list(csv.reader(file))[1:])
        found.append(("steel plates", content[:, :-1].astype(float), content[:, -1]))
    for name, X, y in found:
        rows = np.random.default_rng(0).permutation(len(X))[:n_samples]
        yield name, X[rows], y[rows]


def search(
    X: object, y: object, racing: bool | float, seed: int, n_iter: int
) -> Outcome:
    """Run one search.

    Parameters
    ----------
    X, y : array-like
        The table.
    racing : bool or float
        As `MVRSMSearchCV` takes it.
    seed : int
        Of the folds and of the proposals.
    n_iter : int
        Number of candidates.
    """
    pipe = Pipeline(
        [("pre", "passthrough"), ("tree", DecisionTreeClassifier(random_state=0))]
    )
    space = {
        "pre": [StandardScaler(), PCA(10), "passthrough"],
        "tree__criterion": ["gini", "entropy"],
        "tree__max_depth": Integer(1, 20),
        "tree__max_features": Real(0.05, 1.0),
        "tree__min_samples_leaf": Integer(1, 40, log=True),
        "tree__ccp_alpha": Real(1e-5, 0.1, log=True),
    }
    found = MVRSMSearchCV(
        pipe,
        space,
        n_iter=n_iter,
        cv=StratifiedKFold(N_SPLITS, shuffle=True, random_state=seed),
        random_state=seed,
        racing=racing,
        refit=False,
    ).fit(X, y)
    columns = [found.cv_results_[f"split{k}_status"] for k in range(N_SPLITS)]
    skipped = float(np.mean([column == "skipped" for column in columns]))
    return Outcome(float(found.best_score_), skipped)


def compare(
    X: object, y: object, levels: Sequence[float], seeds: Sequence[int], n_iter: int
) -> dict[float, tuple[list[float], list[float]]]:
    """Race at some error levels, and compare with running every fold.

    Parameters
    ----------
    X, y : array-like
        The table.
    levels : sequence of float
        Error levels.
    seeds : sequence of int
        One search without racing and one a level for each.
    n_iter : int
        Number of candidates.

    Returns
    -------
    dict of float to (list, list)
        For each level the share that was skipped and the loss in the best score, an
        entry a seed.
    """
    results: dict[float, tuple[list[float], list[float]]]
    results = {level: ([], []) for level in levels}
    for seed in seeds:
        full = search(X, y, False, seed, n_iter)
        for level, (skipped, lost) in results.items():
            raced = search(X, y, level, seed, n_iter)
            skipped.append(raced.skipped)
            lost.append(full.best - raced.best)
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison and print it."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--steel", help="file with the steel plates faults")
    program.add_argument("--levels", nargs="+", type=float, default=[0.05])
    program.add_argument("--seeds", type=int, default=10, help="how many")
    program.add_argument("--n-iter", type=int, default=50)
    options = program.parse_args(arguments)
    print(f"{'table':15}{'level':>6}{'fits saved':>16}{'loss of best score':>24}")
    for name, X, y in tables(options.steel):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = compare(
                X, y, options.levels, range(options.seeds), options.n_iter
            )
        for level, columns in results.items():
            shown = [
                f"{np.mean(c):.4f} +- {np.std(c) / max(len(c) - 1, 1) ** 0.5:.4f}"
                for c in columns
            ]
            print(f"{name:15}{level:6}{shown[0]:>20}{shown[1]:>24}", flush=True)


if __name__ == "__main__":
    main()
