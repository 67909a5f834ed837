"""The bbob-mixint suite of COCO (Tusar, Brockhoff, Hansen 2019), through ``cocoex``."""

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Box, Problem
from sklearn_mvrsm.benchmarks._synthetic import on_box

SUITE = "bbob-mixint"
FUNCTIONS = range(1, 25)
DIMENSIONS = (5, 10)
INSTANCES = range(1, 5)
PER_DIMENSION = 20  # evaluations in all, of which
INITIAL_PER_DIMENSION = 2  # are random

# The COCO targets: distances to the optimum, 51 of them.
TARGETS = 10.0 ** np.linspace(2.0, -8.0, 51)
_OPTIMUM_FILE = "._bbob_problem_best_parameter.txt"


def area_under_curve(values: NDArray[np.float64]) -> float:
    """Return the share of (evaluation, target) pairs that a run has reached.

    Parameters
    ----------
    values : ndarray of shape (n_evaluations,)
        Distances to the optimum, in order; not yet the best so far.
    """
    best = np.minimum.accumulate(values)
    return float(np.mean(best[:, np.newaxis] <= TARGETS))


@cache
def suite() -> Any:
    """Return the suite; it owns its problems and must outlive them."""
    cocoex = require("cocoex", "coco-experiment")
    dimensions = ",".join(str(d) for d in DIMENSIONS)
    return cocoex.Suite(SUITE, "", f"dimensions: {dimensions}")


def optimum_of(function: Any) -> tuple[NDArray[np.float64], float]:
    """Return the minimiser and the least value of a COCO problem.

    COCO writes the minimiser to a file in the working directory.
    """
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            function._best_parameter("print")
            minimiser = np.loadtxt(_OPTIMUM_FILE)
        finally:
            os.chdir(before)
    return minimiser, float(function(minimiser))


def make_bbob(function: int, instance: int, dimension: int) -> Problem:
    """Return a problem whose values are distances to the optimum.

    2 D random points, then 18 D evaluations.

    Parameters
    ----------
    function : int
        1 to 24.
    instance : int
        1 to 15.
    dimension : int
        5 or 10; the integers, of 2, 4, 8 and 16 values, come first.
    """
    coco = suite().get_problem_by_function_dimension_instance(
        function, dimension, instance
    )
    n = coco.number_of_integer_variables
    bounds = list(zip(coco.lower_bounds, coco.upper_bounds, strict=True))
    integers = tuple((int(low), int(high)) for low, high in bounds[:n])
    reals = tuple((float(low), float(high)) for low, high in bounds[n:])
    minimiser, optimum = optimum_of(coco)
    return on_box(
        f"{SUITE}-f{function:03d}-i{instance:02d}-d{dimension:02d}",
        Box((), integers, reals),
        lambda x: float(coco(x)) - optimum,
        (PER_DIMENSION - INITIAL_PER_DIMENSION) * dimension,
        n_initial=INITIAL_PER_DIMENSION * dimension,
        optimum=0.0,
        minimiser=minimiser,
    )
