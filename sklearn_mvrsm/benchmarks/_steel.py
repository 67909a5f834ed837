"""XGBoost on the steel plates data: the paper's 135 conditional parameters, for real.

Bliek et al. (2021, section 4.2). The objective is minus the accuracy of an unshuffled
stratified 5-fold cross-validation; one that takes longer than 8 seconds in all, or
fails, counts as 0. Values are kept as the published definition stores them, some as
logarithms.
"""

import csv
import math
import multiprocessing
from collections.abc import Mapping
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Problem

SPACE_FILE = "xgboost-steel-plates-space.csv"
DATA_FILE = "steel-plates-faults.csv"
LIMIT = 8.0
STARTUP_LIMIT = 300.0

LIBRARIES = (
    "sklearn.compose",
    "sklearn.decomposition",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "xgboost",
)
NORMS = ("l1", "l2", "max")
SHOTGUN_SELECTORS = ("cyclic", "shuffle")
CHOICES = {
    "xg_booster": ("gblinear", "dart", "gbtree"),
    "xg_tree_method": ("auto", "exact", "approx", "hist"),
    "xg_grow_policy": ("depthwise", "lossguide"),
    "xg_normalize_type": ("tree", "forest"),
    "xg_updater": ("shotgun", "coord_descent"),
    "xg_feature_selector": ("cyclic", "shuffle", "random", "greedy", "thrifty"),
}


def read_space(path: Path) -> SearchSpace:
    """Return the space declared in a file: name, type, bounds, parent and its values.

    Parameters
    ----------
    path : Path
        A table with the columns name, type (``cat``, ``int`` or ``cont``), low,
        high, parent, parent_values (separated by blanks).
    """
    parameters: dict[str, Any] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            low, high = float(row["low"]), float(row["high"])
            parameter: Categorical | Integer | Real
            match row["type"]:
                case "cat":
                    parameter = Categorical(tuple(range(int(low), int(high) + 1)))
                case "int":
                    parameter = Integer(int(low), int(high))
                case "cont":
                    parameter = Real(low, high)
                case other:
                    raise ValueError(f"{path}: unknown type {other!r}")
            if row["parent"]:
                values = [int(value) for value in row["parent_values"].split()]
                parameter = parameter.when({row["parent"]: values})
            parameters[row["name"]] = parameter
    return SearchSpace(parameters)


def read_data(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the measurements (1941, 27) and the faults as numbers 0..6."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    measurements = np.array([row[:-1] for row in rows], dtype=float)
    _, faults = np.unique([row[-1] for row in rows], return_inverse=True)
    return measurements, faults


def preprocessing(params: Mapping[str, Any]) -> object:
    """Return the column transformer: each of the 27 features has its own scaler.

    The features passed through, those that share a PCA, and those that share a
    normaliser form one group each.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

    groups: dict[int, list[int]] = {kind: [] for kind in range(5)}
    steps: list[tuple[str, Any, list[int]]] = []
    for k in range(27):
        kind = params[f"pp_kind_{k}"]
        groups[kind].append(k)
        if kind == 2:
            lower = float(params[f"pp_min_max_min_{k}"])
            steps.append((f"{k}", MinMaxScaler(feature_range=(lower, 1.0)), [k]))
        elif kind == 4:
            centre = params[f"pp_ss_mean_{k}"] == 1
            scale = params[f"pp_ss_std_{k}"] == 1
            scaler = StandardScaler(with_mean=centre, with_std=scale)
            steps.append((f"{k}", scaler, [k]))
    if groups[1]:
        n_components = min(params["pp_pca_n_components"], len(groups[1]))
        pca = PCA(n_components, whiten=params["pp_pca_whiten"] == 1)
        steps.append(("pca", pca, groups[1]))
    if groups[3]:
        normalizer = Normalizer(norm=NORMS[params["pp_normalizer_norm"]])
        steps.append(("normalizer", normalizer, groups[3]))
    if groups[0]:
        steps.append(("as_is", "passthrough", groups[0]))
    return ColumnTransformer(steps)


def booster_arguments(params: Mapping[str, Any]) -> dict[str, object]:
    """Return the arguments of ``XGBClassifier`` for the active parameters.

    Current XGBoost differs from the version of the published runs (1.2), so what it
    refuses is left out: the sketch's precision; sampling columns by node in the
    exact method; orders of features in the shotgun updater but cyclic and shuffled.
    Boosting starts from equal classes, as it did then: from their frequencies, few
    or small steps would end at the majority class.
    """
    arguments: dict[str, Any] = {}
    for name, value in params.items():
        prefix, _, key = name.partition("_")
        if prefix != "xg" or key == "sketch_eps":
            continue
        arguments[key] = CHOICES[name][value] if name in CHOICES else value
    arguments["n_estimators"] = arguments.pop("num_round")
    arguments["reg_alpha"] = max(0.0, math.exp(arguments.pop("alpha")) - 1e-4)
    arguments["reg_lambda"] = math.exp(arguments.pop("lambda"))
    arguments["base_score"] = 0.5
    if arguments.get("tree_method") == "exact":
        arguments.pop("colsample_bynode", None)
    if (
        arguments.get("updater") == "shotgun"
        and arguments["feature_selector"] not in SHOTGUN_SELECTORS
    ):
        arguments["feature_selector"] = SHOTGUN_SELECTORS[0]
    if "learning_rate" in arguments:
        rate = math.exp(arguments["learning_rate"]) - 1e-4
        arguments["learning_rate"] = max(0.0, rate)
    return arguments


def accuracy(
    params: Mapping[str, object], X: NDArray[np.float64], y: NDArray[np.int64]
) -> float:
    """Return the mean accuracy of the pipeline over five unshuffled stratified folds.

    Parameters
    ----------
    params : mapping
        A point of the space; inactive parameters absent.
    X : ndarray of shape (n_samples, 27)
    y : ndarray of shape (n_samples,)
    """
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from xgboost import XGBClassifier

    booster = XGBClassifier(
        **booster_arguments(params), n_jobs=1, random_state=0, verbosity=0
    )
    model = make_pipeline(preprocessing(params), booster)
    scores = []
    for train, test in StratifiedKFold().split(X, y):
        model.fit(X[train], y[train])
        scores.append(np.mean(model.predict(X[test]) == y[test]))
    return float(np.mean(scores))


def serve(connection: Connection, data: Path) -> None:
    """Answer params with minus their accuracy, until the connection closes."""
    import warnings

    warnings.simplefilter("ignore")
    X, y = read_data(data)
    for module in LIBRARIES:
        import_module(module)  # before the clock of a fit starts
    connection.send(None)
    while True:
        try:
            params = connection.recv()
        except EOFError:
            return
        try:
            value = -accuracy(params, X, y)
        except Exception:
            value = 0.0  # as published: a configuration that cannot be fitted
        connection.send(value)


class SteelPlates:
    """The objective, in a process of its own that is killed when it is late.

    The process ends when the object is collected, or this process ends.

    Parameters
    ----------
    data : Path
        The table of measurements and faults.
    limit : float, default=8.0
        Seconds for the whole cross-validation.
    """

    def __init__(self, data: Path, limit: float = LIMIT) -> None:
        self._data = data
        self._limit = limit
        self._child: tuple[Any, Connection] | None = None

    def __call__(self, params: Mapping[str, object]) -> float:
        """Return minus the accuracy, or 0 when it fails or is late."""
        process, connection = self._running()
        try:
            connection.send(dict(params))
            if connection.poll(self._limit):
                return float(connection.recv())
        except (EOFError, OSError):
            pass  # the fit took its process down: a failure like any other
        self._child = None
        process.kill()
        process.join()
        connection.close()
        return 0.0

    def _running(self) -> tuple[Any, Connection]:
        if self._child is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(
                target=serve, args=(theirs, self._data), daemon=True
            )
            process.start()
            theirs.close()
            try:
                if not ours.poll(STARTUP_LIMIT):
                    raise TimeoutError(f"it was not ready after {STARTUP_LIMIT} s")
                ours.recv()
            except (EOFError, TimeoutError) as error:
                process.kill()
                raise RuntimeError(
                    f"the process that fits XGBoost did not start: {error!r}"
                ) from error
            self._child = process, ours
        return self._child


def make_steel(directory: Path) -> Problem:
    """Return the real problem: 24 random points and 200 evaluations."""
    require("xgboost", "xgboost")  # here: where it is fitted, nobody reads an error
    return Problem(
        name="steel",
        space=read_space(directory / SPACE_FILE),
        function=SteelPlates(directory / DATA_FILE),
        budget=200,
    )
