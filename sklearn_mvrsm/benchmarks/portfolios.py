"""Learn portfolios of the ready-made spaces: few configurations that complement others.

``pool`` scores random configurations and the usual one on the open data sets that no
reported tuning problem has; ``learn`` chooses from them, greedily, what lowers the mean
regret over the data sets most, and says what that is worth on sets that were left out.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm import SearchSpace, spaces
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._positions import from_positions, to_positions
from sklearn_mvrsm.benchmarks._tuning import (
    DATA_SETS,
    REPORT,
    Data,
    Kind,
    cross_validated,
    load,
)

LEARNING_SETS = tuple(
    name for name in DATA_SETS if name not in {p.partition("-")[2] for p in REPORT}
)
REFERENCE = {"n_samples": 1000, "n_features": 20}
"""Size of the space from which the pool is drawn, as positions."""
MOST_TREES = 400  # in the pool, for the time that it takes
COLUMNS = ("space", "data_set", "configuration", "loss")

FloatArray = NDArray[np.float64]


def _scaled(model: object) -> object:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _library(module: str, name: str, fixed: Mapping[str, object]) -> Callable[..., Any]:
    def build(params: Mapping[str, object]) -> object:
        model = getattr(require(module, module), name)
        return model(**{**fixed, **params})

    return build


def _sklearn(module: str, name: str, *, scaled: bool, **fixed: object) -> Any:
    build = _library(f"sklearn.{module}", name, fixed)
    return (lambda params: _scaled(build(params))) if scaled else build


_QUIET = {"n_jobs": 1, "random_state": 0}
MODELS: dict[
    str, tuple[Callable[..., Any], Callable[[Mapping[str, Any]], Any], str]
] = {
    "svc": (
        spaces.svc,
        _sklearn("svm", "SVC", scaled=True, max_iter=100_000, random_state=0),
        "accuracy",
    ),
    "lightgbm": (
        spaces.lightgbm,
        _library("lightgbm", "LGBMClassifier", {**_QUIET, "verbose": -1}),
        "log_loss",
    ),
    "xgboost": (
        spaces.xgboost,
        _library("xgboost", "XGBClassifier", _QUIET),
        "log_loss",
    ),
    "random_forest": (
        spaces.random_forest,
        _sklearn("ensemble", "RandomForestClassifier", scaled=False, **_QUIET),
        "log_loss",
    ),
    "extra_trees": (
        spaces.extra_trees,
        _sklearn("ensemble", "ExtraTreesClassifier", scaled=False, **_QUIET),
        "log_loss",
    ),
    "hist_gradient_boosting": (
        spaces.hist_gradient_boosting,
        _sklearn(
            "ensemble", "HistGradientBoostingClassifier", scaled=False, random_state=0
        ),
        "log_loss",
    ),
    "logistic_regression": (
        spaces.logistic_regression,
        _sklearn("linear_model", "LogisticRegression", scaled=True, max_iter=300),
        "log_loss",
    ),
    "k_neighbors": (
        spaces.k_neighbors,
        _sklearn("neighbors", "KNeighborsClassifier", scaled=True),
        "accuracy",
    ),
    "mlp": (
        spaces.mlp,
        _sklearn("neural_network", "MLPClassifier", scaled=True, max_iter=50),
        "log_loss",
    ),
}


def draw_pool(name: str, n: int) -> list[dict[str, object]]:
    """Return ``n`` random configurations of a ready-made space, as positions."""
    space = SearchSpace(MODELS[name][0](**REFERENCE))
    return [to_positions(space, params) for params in space.sample(n, random_state=0)]


def score(name: str, positions: Mapping[str, object] | None, data: Data) -> float:
    """Return the loss of a configuration, or of the estimator as it comes for None."""
    make, build, scoring = MODELS[name]
    params: dict[str, Any] = {}
    if positions is not None:
        n, p = data.X.shape
        space = SearchSpace(make(n_samples=n, n_features=p))
        params = from_positions(space, positions)
    for trees in ("n_estimators", "max_iter"):
        if trees in params:
            params[trees] = min(params[trees], MOST_TREES)
    return cross_validated(Kind(make, build, scoring), params, data)


def pool(names: Sequence[str], n: int, path: Path) -> None:
    """Score what a file lacks: row -1 is the estimator as it comes."""
    done = {row[:3] for row in _rows(path)}
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        for name in names:
            drawn: list[Any] = [*draw_pool(name, n), None]
            for data_set in LEARNING_SETS:
                for k, positions in enumerate(drawn):
                    number = -1 if positions is None else k
                    if (name, data_set, str(number)) in done:
                        continue
                    loss = score(name, positions, load(data_set))
                    writer.writerow((name, data_set, number, repr(loss)))
                file.flush()
                print(name, data_set, flush=True)


def _rows(path: Path) -> list[tuple[str, str, str, float]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            (row["space"], row["data_set"], row["configuration"], float(row["loss"]))
            for row in csv.DictReader(file)
        ]


def regret_table(path: Path, name: str) -> tuple[list[int], FloatArray]:
    """Return the configurations of a space, and their regret on each data set.

    Returns
    -------
    configurations : list of int
    regret : ndarray of shape (n_configurations, n_data_sets)
        0 for the best of the pool, 1 for its median and all that is worse.
    """
    losses: dict[int, dict[str, float]] = defaultdict(dict)
    for space, data_set, number, loss in _rows(path):
        if space == name:
            losses[int(number)][data_set] = loss
    numbers = sorted(losses)
    sets = sorted(losses[numbers[0]])
    table = np.array([[losses[k].get(s, np.nan) for s in sets] for k in numbers])
    low, middle = np.nanmin(table, axis=0), np.nanmedian(table, axis=0)
    regret = (table - low) / np.maximum(middle - low, 1e-12)
    return numbers, np.clip(np.nan_to_num(regret, nan=1.0), 0.0, 1.0)


def choose(regret: FloatArray, size: int, *, first: int) -> list[int]:
    """Return rows chosen one by one, each lowering the mean regret most.

    Parameters
    ----------
    regret : ndarray of shape (n_configurations, n_data_sets)
    size : int
        Rows wanted, besides the first.
    first : int
        A row that is there already: the estimator as it comes.
    """
    chosen = [first]
    best = regret[first]
    for _ in range(size):
        gains = np.minimum(regret, best).mean(axis=1)
        chosen.append(int(np.argmin(gains)))
        best = np.minimum(best, regret[chosen[-1]])
    return chosen[1:]


def left_out(regret: FloatArray, size: int, *, first: int) -> FloatArray:
    """Return the mean regret on data sets that were left out, after 1, 2, ... rows."""
    found = []
    for k in range(regret.shape[1]):
        others = np.delete(regret, k, axis=1)
        rows = [first, *choose(others, size, first=first)]
        found.append(np.minimum.accumulate(regret[rows, k]))
    return np.asarray(np.mean(found, axis=0))


def learn(path: Path, size: int) -> None:
    """Print the portfolio of each space, and what it is worth."""
    for name in sorted({row[0] for row in _rows(path)}):
        numbers, regret = regret_table(path, name)
        first = numbers.index(-1)
        worth = left_out(regret, size, first=first)
        drawn = draw_pool(name, max(numbers) + 1)
        print(f"# {name}: left-out regret {np.round(worth, 3).tolist()}")
        for row in choose(regret, size, first=first):
            print(f"    {drawn[numbers[row]]},")


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("pool", "learn"))
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--spaces", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--size", type=int, help="of the pool (60), or chosen (6)")
    options = parser.parse_args(arguments)
    if options.command == "pool":
        pool(options.spaces, options.size or 60, options.file)
    else:
        learn(options.file, options.size or 6)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
