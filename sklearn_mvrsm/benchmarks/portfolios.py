"""Learn portfolios of the ready-made spaces: few configurations that complement others.

``pool`` scores random configurations, and the estimator as it comes, on open data sets
that no tuning problem has. ``grow`` adds what `MVRSMOptimizer` finds to complement
those chosen so far. ``learn`` chooses, greedily, what lowers the mean regret over the
data sets most, and says what that is worth on sets that were left out.
"""

import argparse
import ast
import csv
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm import MVRSMOptimizer, SearchSpace, spaces
from sklearn_mvrsm.benchmarks._kinds import Kind
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._tuning import (
    DATA_SETS,
    DEVELOP,
    REPORT,
    Data,
    cross_validated,
    load,
)
from sklearn_mvrsm.spaces import settle

JUDGING_SETS = {pair.partition("-")[2] for pair in (*DEVELOP, *REPORT)}
CLASSES = tuple(name for name in DATA_SETS if name not in JUDGING_SETS)
NUMBERS = ("diabetes", "friedman1", "friedman2", "friedman3")
"""Of scikit-learn, with a number to predict; the last three are made, with noise."""
NOISY = "+noise"
"""Ends the name of a data set that has `NOISE`: else, where classes are told apart
without error, configurations that would learn errors by heart look as good as any."""
NOISE = 0.2  # share of the rows among which classes are shuffled
MOST_ROWS = 400
MOST_TREES = 300
TRIES = 5  # configurations searched for each place of a portfolio
BREADTH = 0.1  # what a configuration's own regret counts, beside what it leaves
COLUMNS = ("space", "data_set", "params", "loss")

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """A model whose space a portfolio is learned for.

    Attributes
    ----------
    space : callable
        Its ready-made space.
    path : str
        Module and class of the classifier.
    fixed : mapping of str to object
        What else it is given.
    scoring : str
        Of classes; numbers are judged by the share of the variance.
    scaled : bool
        Whether it wants features of unit variance.
    data_sets : tuple of str
        What it is learned on.
    """

    space: Callable[..., dict[str, Any]]
    path: str
    fixed: Mapping[str, Any]
    scoring: str = "log_loss"
    scaled: bool = False
    data_sets: tuple[str, ...] = CLASSES + NUMBERS


_ONE = {"n_jobs": 1, "random_state": 0}
_FOREST = {**_ONE, "n_estimators": 60}
# One tree for each class and round is slow in scikit-learn's boosting.
_FEW_CLASSES = tuple(
    name
    for name in (*CLASSES, *NUMBERS)
    if name not in {"led7digit", "movement_libras", "texture"}
)
MODELS = {
    "svc": Model(
        spaces.svc,
        "sklearn.svm.SVC",
        {"max_iter": 100_000, "random_state": 0},
        "accuracy",
        scaled=True,
        data_sets=(*CLASSES, *(name + NOISY for name in CLASSES)),
    ),
    "xgboost": Model(spaces.xgboost, "xgboost.XGBClassifier", _ONE),
    "lightgbm": Model(
        spaces.lightgbm, "lightgbm.LGBMClassifier", {**_ONE, "verbose": -1}
    ),
    "random_forest": Model(
        spaces.random_forest, "sklearn.ensemble.RandomForestClassifier", _FOREST
    ),
    "hist_gradient_boosting": Model(
        spaces.hist_gradient_boosting,
        "sklearn.ensemble.HistGradientBoostingClassifier",
        {"random_state": 0},
        data_sets=_FEW_CLASSES,
    ),
    "logistic_regression": Model(
        spaces.logistic_regression,
        "sklearn.linear_model.LogisticRegression",
        {"max_iter": 300},
        scaled=True,
        data_sets=CLASSES,
    ),
    "mlp": Model(
        spaces.mlp,
        "sklearn.neural_network.MLPClassifier",
        {"max_iter": 50, "random_state": 0},
        scaled=True,
    ),
    "extra_trees": Model(
        spaces.extra_trees, "sklearn.ensemble.ExtraTreesClassifier", _FOREST
    ),
    "k_neighbors": Model(
        spaces.k_neighbors,
        "sklearn.neighbors.KNeighborsClassifier",
        {},
        "accuracy",
        scaled=True,
    ),
    "gradient_boosting": Model(
        spaces.gradient_boosting,
        "sklearn.ensemble.GradientBoostingClassifier",
        {"random_state": 0},
        data_sets=_FEW_CLASSES,
    ),
}


def draw_pool(name: str, n: int) -> list[dict[str, Any]]:
    """Return the estimator as it comes, as no params, and ``n`` random configurations.

    Numbers have two digits; there are never more than `MOST_TREES` trees.
    """
    drawn = _space(name).sample(n, random_state=0)
    return [{}, *(_rounded(name, params) for params in drawn)]


def _space(name: str) -> SearchSpace:
    return SearchSpace(MODELS[name].space(), constraints=[_can_be_stopped])


def _can_be_stopped(params: Mapping[str, object]) -> bool:
    """Return whether early stopping knows it: not so ``dart``, which is slow too."""
    return "dart" not in params.values()


def _rounded(name: str, params: Mapping[str, object]) -> dict[str, object]:
    most = dict.fromkeys(("n_estimators", "max_iter"), MOST_TREES)
    rounded = {
        each: min(float(f"{value:.2g}"), most.get(each, math.inf))
        if isinstance(value, int | float) and not isinstance(value, bool)
        else value
        for each, value in params.items()
    }
    own = MODELS[name].space()
    return settle(own, own, rounded) or {}


def score(name: str, params: Mapping[str, object], data_set: str) -> float:
    """Return the loss of a configuration, or of the estimator as it comes."""
    model, data = MODELS[name], small(data_set)
    n, p = data.X.shape
    sized = model.space(n_samples=n, n_features=p)
    if params:
        params = settle(sized, model.space(), params) or {}
    scoring = "r2" if data_set in NUMBERS else model.scoring
    return cross_validated(
        Kind(lambda *_: sized, lambda own: _build(model, own, data_set), scoring),
        params,
        data,
    )


def _build(model: Model, params: Mapping[str, object], data_set: str) -> object:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    module, _, name = model.path.rpartition(".")
    if data_set in NUMBERS:
        name = name.replace("Classifier", "Regressor")
    library = require(module, module.partition(".")[0])
    built = getattr(library, name)(**{**model.fixed, **params})
    if model.scaled:
        built = make_pipeline(StandardScaler(), built)
    if model.scaled and data_set in NUMBERS:
        return TransformedTargetRegressor(built, transformer=StandardScaler())
    return built


@cache
def small(data_set: str) -> Data:
    """Return at most `MOST_ROWS` rows of a data set to learn on."""
    from sklearn import datasets

    if data_set == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
    elif data_set in NUMBERS:
        noise = {"friedman1": 1.0, "friedman2": 100.0, "friedman3": 0.1}[data_set]
        make = getattr(datasets, f"make_{data_set}")
        X, y = make(MOST_ROWS, noise=noise, random_state=0)
    else:
        data = load(data_set.removesuffix(NOISY))
        X, y = data.X, data.y
    X, y = X[:MOST_ROWS], y[:MOST_ROWS]
    if data_set.endswith(NOISY):
        rng, y = np.random.default_rng(0), y.copy()
        shuffled = rng.random(len(y)) < NOISE
        y[shuffled] = rng.permutation(y[shuffled])
    return Data(X, y, X[:0], y[:0])


def pool(names: Sequence[str], n: int, path: Path) -> None:
    """Score what a file lacks."""
    for name in names:
        drawn = draw_pool(name, n)
        for data_set in MODELS[name].data_sets:
            _score_all(name, drawn, [data_set], path)
            print(name, data_set, flush=True)


def grow(names: Sequence[str], size: int, path: Path) -> None:
    """Search for each place of a portfolio in turn, `TRIES` configurations each."""
    for name in names:
        for place in range(size):
            optimizer = MVRSMOptimizer(
                _space(name),
                n_initial_points=0,
                random_state=place,
                include_default=False,
            )
            told = 1  # the estimator as it comes may be in no space
            for _ in range(TRIES):
                drawn, regret, _ = regret_table(path, name)
                best = regret[choose(regret, place)].min(axis=0)
                for params, own in zip(drawn[told:], regret[told:], strict=True):
                    optimizer.tell(params, float(np.minimum(own, best).mean()))
                told = len(drawn)
                asked = _rounded(name, optimizer.ask())
                _score_all(name, [asked], MODELS[name].data_sets, path)
            print(name, place, np.minimum(regret, best).mean(axis=1).min(), flush=True)


def _score_all(
    name: str,
    several: Sequence[Mapping[str, object]],
    data_sets: Sequence[str],
    path: Path,
) -> None:
    done = {row[:3] for row in _rows(path)}
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        for data_set in data_sets:
            for params in several:
                if (name, data_set, repr(params)) not in done:
                    loss = score(name, params, data_set)
                    writer.writerow((name, data_set, repr(params), repr(loss)))


def _rows(path: Path) -> list[tuple[str, str, str, float]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            (row["space"], row["data_set"], row["params"], float(row["loss"]))
            for row in csv.DictReader(file)
        ]


def regret_table(
    path: Path, name: str
) -> tuple[list[dict[str, Any]], FloatArray, list[str]]:
    """Return the configurations of a space, and their regret on each data set.

    Returns
    -------
    configurations : list of dict
        In the order of the file; the first is empty: the estimator as it comes.
    regret : ndarray of shape (n_configurations, n_data_sets)
        0 for the best of the pool, 1 for its median and all that is worse.
    data_sets : list of str
        In the order of the columns.
    """
    losses = {row[1:3]: row[3] for row in _rows(path) if row[0] == name}
    sets = sorted({data_set for data_set, _ in losses})
    drawn = list(dict.fromkeys(params for _, params in losses))
    table = np.array([[losses.get((s, k), np.nan) for s in sets] for k in drawn])
    low, middle = np.nanmin(table, axis=0), np.nanmedian(table, axis=0)
    regret = (table - low) / np.maximum(middle - low, 1e-12)
    regret = np.clip(np.nan_to_num(regret, nan=1.0), 0.0, 1.0)
    return [ast.literal_eval(each) for each in drawn], regret, sets


def choose(regret: FloatArray, size: int) -> list[int]:
    """Return rows chosen one by one, each lowering the mean regret most.

    Its own mean regret counts too, so that none is good on an odd data set alone.

    Parameters
    ----------
    regret : ndarray of shape (n_configurations, n_data_sets)
        The first row is there already: the estimator as it comes.
    size : int
        Rows wanted besides.

    Returns
    -------
    list of int
        With the first row, in the order in which they were chosen.
    """
    chosen = [0]
    for _ in range(size):
        best = regret[chosen].min(axis=0)
        left = np.minimum(regret, best).mean(axis=1)
        left += BREADTH * regret.mean(axis=1)
        left[chosen] = np.inf
        chosen.append(int(np.argmin(left)))
    return chosen


def left_out(regret: FloatArray, data_sets: Sequence[str], size: int) -> FloatArray:
    """Return the mean regret on data sets that were left out, after 1, 2, ... rows.

    A data set is left out with and without noise at once, and judged without.
    """
    found = []
    for k, data_set in enumerate(data_sets):
        if not data_set.endswith(NOISY):
            others = [other.removesuffix(NOISY) != data_set for other in data_sets]
            rows = choose(regret[:, others], size)
            found.append(np.minimum.accumulate(regret[rows, k]))
    return np.asarray(np.mean(found, axis=0))


def learn(path: Path, size: int) -> None:
    """Print the portfolio of each space, and what it is worth."""
    for name in dict.fromkeys(row[0] for row in _rows(path)):
        drawn, regret, data_sets = regret_table(path, name)
        worth = left_out(regret, data_sets, size)
        print(f"# {name}: left-out regret {np.round(worth, 3).tolist()}")
        for row in choose(regret, size)[1:]:
            print(f"    {drawn[row]},")


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("pool", "grow", "learn"))
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--spaces", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--size", type=int, help="of the pool (40), or chosen (7)")
    options = parser.parse_args(arguments)
    if options.command == "pool":
        pool(options.spaces, options.size or 40, options.file)
    elif options.command == "grow":
        grow(options.spaces, options.size or 6, options.file)
    else:
        learn(options.file, options.size or 7)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
