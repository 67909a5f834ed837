"""HEBO: a Gaussian process with input and output warping. The naive encoding."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Meter
from sklearn_mvrsm.benchmarks._variables import (
    Variable,
    active,
    complete,
    numbers,
    variables_of,
)


def hebo(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by HEBO, with its defaults."""
    optimizers = require("hebo.optimizers.hebo", "HEBO")
    spaces = require("hebo.design_space.design_space", "HEBO")
    pandas = require("pandas", "pandas")
    require("torch", "torch").manual_seed(seed)
    check_random_state(None).seed(seed)  # NumPy's own, from which HEBO draws
    variables = variables_of(problem.space)
    initial = problem.initial_points(seed)
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = optimizers.HEBO(
            spaces.DesignSpace().parse([_declaration(v) for v in variables]),
            rand_sample=len(initial),
            scramble_seed=seed,
        )
        for params in initial:
            row = numbers(variables, complete(variables, params, rng))
            frame = pandas.DataFrame([_row(variables, row)])
            optimizer.observe(frame, np.array([[problem.evaluate(params)]]))
        for _ in range(budget):
            frame = optimizer.suggest(n_suggestions=1)
            full = {v.name: v.value(frame[v.name].iloc[0]) for v in variables}
            value = problem.evaluate(active(variables, full))
            optimizer.observe(frame, np.array([[value]]))
    return problem.values


def _declaration(v: Variable) -> dict[str, object]:
    if v.kind == "category":
        return {"name": v.name, "type": "cat", "categories": list(range(v.size))}
    if v.kind == "integer":
        kind = "pow_int" if v.log else "int"
        return {"name": v.name, "type": kind, "lb": int(v.low), "ub": int(v.high)}
    kind = "pow" if v.log else "num"
    return {"name": v.name, "type": kind, "lb": v.low, "ub": v.high}


def _row(variables: tuple[Variable, ...], row: Any) -> dict[str, float]:
    return {
        v.name: float(n) if v.kind == "real" else int(n)
        for v, n in zip(variables, row, strict=True)
    }
