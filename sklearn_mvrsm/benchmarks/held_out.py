"""How well the ESP problem's stand-in predicts evaluations that it was not fitted to.

``python -m sklearn_mvrsm.benchmarks.held_out --data DIR`` prints the share of the
variance that is explained, and Spearman's rank correlation.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

from sklearn_mvrsm.benchmarks._standins import PlateModel, esp_evaluations

__all__ = ["held_out", "main"]


def held_out(
    X: NDArray[np.float64], y: NDArray[np.float64], n_splits: int, seed: int
) -> NDArray[np.float64]:
    """Predict each row by a model fitted to the other folds.

    Parameters
    ----------
    X : ndarray of shape (n_designs, n_slots)
        Plates.
    y : ndarray of shape (n_designs,)
        Objective.
    n_splits : int
        Number of folds.
    seed : int
        Of the shuffle before the rows are dealt out.

    Returns
    -------
    ndarray of shape (n_designs,)
    """
    predicted = np.empty(len(y))
    for rest, fold in KFold(n_splits, shuffle=True, random_state=seed).split(X):
        predicted[fold] = PlateModel(X[rest], y[rest]).predict(X[fold])
    return predicted


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--data", type=Path, required=True, help="where the table is")
    program.add_argument("--splits", type=int, default=7, help="folds")
    program.add_argument("--seeds", type=int, default=5, help="shuffles")
    options = program.parse_args(arguments)
    X, y = esp_evaluations(options.data)
    print(f"{'shuffle':>7}{'explained':>11}{'rank correlation':>18}")
    for seed in range(options.seeds):
        predicted = held_out(X, y, options.splits, seed)
        rank = spearmanr(y, predicted).statistic
        print(f"{seed:7d}{r2_score(y, predicted):11.3f}{rank:18.3f}")


if __name__ == "__main__":
    main()
