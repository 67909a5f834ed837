"""Nevergrad's NGOpt, started at the best of the initial points. The naive encoding."""

import warnings
from collections.abc import Sequence
from types import ModuleType

import numpy as np

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Meter, Params
from sklearn_mvrsm.benchmarks._variables import (
    Variable,
    active,
    complete,
    variables_of,
)


def nevergrad(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by NGOpt, which chooses among many methods by the budget and the space."""
    module = require("nevergrad", "nevergrad")
    variables = variables_of(problem.space)
    rng = np.random.default_rng(seed)
    best: Params = {}
    least = np.inf
    for params in problem.initial_points(seed):
        value = problem.evaluate(params)
        if value < least:
            best, least = complete(variables, params, rng), value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = module.p.Dict(
            **{v.name: _parameter(module.p, v, best[v.name]) for v in variables}
        )
        space.random_state.seed(seed)
        optimizer = module.optimizers.NGOpt(space, budget=budget)
        for _ in range(budget):
            candidate = optimizer.ask()
            full = {
                v.name: v.value(candidate.value[v.name])
                if v.kind != "category"
                else candidate.value[v.name]
                for v in variables
            }
            optimizer.tell(candidate, problem.evaluate(active(variables, full)))
    return problem.values


def _parameter(p: ModuleType, v: Variable, start: object) -> object:
    if v.kind == "category":
        choice = p.Choice(list(v.values))
        choice.value = start
        return choice
    number = v.number(start)
    if v.log:
        scalar = p.Log(init=number, lower=v.low, upper=v.high)
    else:
        scalar = p.Scalar(init=number, lower=v.low, upper=v.high)
    return scalar.set_integer_casting() if v.kind == "integer" else scalar
