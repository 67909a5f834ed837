"""A standard Gaussian process with rounding: the package bayesian-optimization.

As in the paper: all variables are reals to the process, integers and the places of
categories rounded when the objective is called; upper confidence bound.
"""

import warnings
from collections.abc import Sequence

import numpy as np

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Meter
from sklearn_mvrsm.benchmarks._variables import (
    active,
    complete,
    numbers,
    variables_of,
)


def rounding(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by a Gaussian process over reals, rounded for the objective."""
    module = require("bayes_opt", "bayesian-optimization>=2")
    acquisition = require("bayes_opt.acquisition", "bayesian-optimization>=2")
    variables = variables_of(problem.space)
    # The package may sort its keys; these sort in the order of the variables.
    keys = [f"{k:04d}" for k in range(len(variables))]
    scale = [np.log if v.log else np.asarray for v in variables]
    unscale = [np.exp if v.log else np.asarray for v in variables]
    optimizer = module.BayesianOptimization(
        f=None,
        pbounds={
            key: (float(f(v.low)), float(f(v.high)))
            for key, v, f in zip(keys, variables, scale, strict=True)
        },
        acquisition_function=acquisition.UpperConfidenceBound(),
        random_state=seed,
        verbose=0,
        allow_duplicate_points=True,
    )
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for params in problem.initial_points(seed):
            x = numbers(variables, complete(variables, params, rng))
            point = {k: float(f(n)) for k, f, n in zip(keys, scale, x, strict=True)}
            optimizer.register(params=point, target=-problem.evaluate(params))
        for _ in range(budget):
            point = optimizer.suggest()
            full = {
                v.name: v.value(float(f(point[k])))
                for v, k, f in zip(variables, keys, unscale, strict=True)
            }
            value = problem.evaluate(active(variables, full))
            optimizer.register(params=point, target=-value)
    return problem.values
