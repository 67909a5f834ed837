"""Stand-ins: models fitted to published evaluations of expensive problems.

They answer in milliseconds, and say how a method fares on the landscape that the
model saw, not on the real one.
"""

import csv
import gzip
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sklearn_mvrsm.benchmarks._problem import Box, Problem
from sklearn_mvrsm.benchmarks._steel import SPACE_FILE, read_space
from sklearn_mvrsm.benchmarks._synthetic import on_box

STEEL_TABLE = "xgboost-steel-plates-random-search.csv.gz"
ESP_TABLE = "esp-random-search.csv"
ABSENT = -9.0
ESP_FAILED = 10.0


def read_table(
    path: Path, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]:
    """Return the parameter names, the points and the objective of a table.

    Parameters
    ----------
    path : Path
        A table, gzipped or not, with a column for each parameter and columns
        run, objective and seconds.
    names : sequence of str or None
        The parameters wanted, in order; None for all.

    Returns
    -------
    names : tuple of str
    X : ndarray of shape (n_rows, n_names)
        Empty cells are -9.
    y : ndarray of shape (n_rows,)
    """
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if names is None:
        names = [k for k in rows[0] if k not in {"run", "objective", "seconds"}]
    X = [[float(row[name]) if row[name] else ABSENT for name in names] for row in rows]
    return tuple(names), np.array(X), np.array([float(r["objective"]) for r in rows])


class FlatForest:
    """The predictions of a fitted scikit-learn forest for one point, in 0.3 ms.

    All trees are walked down at once, a level at a time.

    Parameters
    ----------
    forest : fitted forest regressor
        With one output.
    """

    def __init__(self, forest: BaseEstimator) -> None:
        trees = [estimator.tree_ for estimator in forest.estimators_]
        self._roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        sizes = [tree.node_count for tree in trees]
        offset = np.repeat(self._roots, sizes)
        left = np.concatenate([tree.children_left for tree in trees])
        right = np.concatenate([tree.children_right for tree in trees])
        leaf = left < 0
        itself = np.arange(len(left))
        # A leaf is its own child, so walking on is harmless.
        self._left = np.where(leaf, itself, left + offset)
        self._right = np.where(leaf, itself, right + offset)
        feature = np.concatenate([tree.feature for tree in trees])
        self._feature = np.where(leaf, 0, feature)
        self._threshold = np.concatenate([tree.threshold for tree in trees])
        self._value = np.concatenate([tree.value[:, 0, 0] for tree in trees])
        self._depth = max(tree.max_depth for tree in trees)

    def predict(self, x: NDArray[np.float64]) -> float:
        """Return the mean prediction of the trees at x of shape (n_features,)."""
        x = x.astype(np.float32)  # as the forest compares
        node = self._roots
        for _ in range(self._depth):
            goes_left = x[self._feature[node]] <= self._threshold[node]
            node = np.where(goes_left, self._left[node], self._right[node])
        return float(np.mean(self._value[node]))


@cache
def steel_forest(path: Path, names: tuple[str, ...]) -> FlatForest:
    """Return the forest fitted to the published evaluations of the steel problem."""
    from sklearn.ensemble import ExtraTreesRegressor

    _, X, y = read_table(path, names)
    model = ExtraTreesRegressor(300, min_samples_leaf=2, random_state=0)
    return FlatForest(model.fit(X, y))


def make_steel_table(directory: Path) -> Problem:
    """Return the steel problem's stand-in: 24 random points and 200 evaluations."""
    space = read_space(directory / SPACE_FILE)
    names = tuple(space.names)
    forest = steel_forest(directory / STEEL_TABLE, names)

    def function(params: Mapping[str, object]) -> float:
        return forest.predict(np.array([params.get(name, ABSENT) for name in names]))

    return Problem(name="steel-table", space=space, function=function, budget=200)


class PlateModel:
    """Kernel ridge regression for plates in the slots of a square grid.

    The kernel is k + k^2 / 2, where k compares two designs slot by slot: the
    indicators of the plates, centred, smoothed over neighbouring slots by a Gaussian,
    and scaled so that k(x, x) is 1 on average. So a plate acts by its place
    (linear part) and together with others (quadratic part).

    Parameters
    ----------
    X : ndarray of shape (n_designs, n_slots)
        Plates, 0 .. n_plates - 1; slots in the row order of the grid.
    y : ndarray of shape (n_designs,)
        Objective.
    n_plates : int, default=8
        Kinds of plates.
    width : float, default=0.45
        Of the Gaussian, in slots.
    ridge : float, default=0.1
        Weight of the penalty.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        *,
        n_plates: int = 8,
        width: float = 0.45,
        ridge: float = 0.1,
    ) -> None:
        side = round(np.sqrt(X.shape[1]))
        rows, columns = np.divmod(np.arange(X.shape[1]), side)
        squares = np.subtract.outer(rows, rows) ** 2
        squares += np.subtract.outer(columns, columns) ** 2
        self._n_plates = n_plates
        self._smoothing = np.exp(-squares / (2.0 * width**2))
        self._scale = 1.0
        self._designs = self._features(X)
        self._scale = float(np.mean(np.sum(self._designs**2, axis=1)))
        self._designs = self._features(X)
        self._mean = float(np.mean(y))
        kernel = self._kernel(self._designs) + ridge * 1.5 * np.eye(len(y))
        self._weights = np.linalg.solve(kernel, y - self._mean)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predictions, shape (n_designs,)."""
        values: NDArray[np.float64] = self._kernel(self._features(X)) @ self._weights
        return self._mean + values

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        plates = np.arange(self._n_plates)
        indicators = (X[:, :, np.newaxis] == plates) - 1.0 / self._n_plates
        smooth = np.einsum("ij,njk->nik", self._smoothing, indicators)
        features: NDArray[np.float64] = smooth.reshape(len(X), -1)
        features /= self._scale**0.5
        return features

    def _kernel(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        linear: NDArray[np.float64] = features @ self._designs.T
        return linear + linear**2 / 2.0


def esp_evaluations(
    directory: Path,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return plates and objective of the published evaluations that did not fail.

    Parameters
    ----------
    directory : Path
        Where the table is.

    Returns
    -------
    X : ndarray of shape (696, 49)
    y : ndarray of shape (696,)
    """
    _, X, y = read_table(directory / ESP_TABLE)
    succeeded = y < ESP_FAILED
    return X[succeeded], y[succeeded]


def make_esp_table(directory: Path) -> Problem:
    """Return the ESP problem's stand-in: 49 categories of 8; 24 + 76 evaluations.

    The model is fitted to the published evaluations that did not fail (696 of
    700). :mod:`sklearn_mvrsm.benchmarks.held_out` says how well it predicts.
    """
    X, y = esp_evaluations(directory)
    model = PlateModel(X, y)
    return on_box(
        "esp-table",
        Box((8,) * X.shape[1]),
        lambda x: float(model.predict(x[np.newaxis])[0]),
        76,
    )
