"""The precipitator's duct as a problem: 49 categories of 8 and 5 reals."""

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm.benchmarks import duct
from sklearn_mvrsm.benchmarks._problem import Box, Problem
from sklearn_mvrsm.benchmarks._synthetic import on_box


def make_esp_flow() -> Problem:
    """Return the problem: 100 evaluations, each tool with its own first points.

    `sklearn_mvrsm.benchmarks.duct` computes the flow, in 0.1 s.
    """
    shape = duct.N_SCREENS, duct.N_ROWS
    n_slots = duct.N_SCREENS * duct.N_ROWS

    def function(x: NDArray[np.float64]) -> float:
        plates, holes = np.split(x, [n_slots])
        return duct.unevenness(plates.reshape(shape), holes)

    box = Box((duct.N_KINDS,) * n_slots, (), (duct.HOLES,) * duct.N_HOLES)
    return on_box("esp-flow", box, function, 100, n_initial=0)
