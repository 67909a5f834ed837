"""Optuna's samplers: define-by-run for TPE, the naive encoding for GP and CMA-ES.

Optuna's relative samplers model the parameters that every trial has. In a conditional
space those are few, so the samplers that know no other way see all parameters.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Meter, Params
from sklearn_mvrsm.benchmarks._variables import (
    Variable,
    active,
    complete,
    variables_of,
)


def tpe(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by the tree-structured Parzen estimator."""
    optuna = require("optuna", "optuna")
    startup = _startup(problem, seed)
    sampler = optuna.samplers.TPESampler(seed=seed, **startup)
    return _search(problem, budget, seed, sampler, conditional=True)


def gp(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by the Gaussian process sampler."""
    optuna = require("optuna", "optuna")
    require("torch", "torch").set_num_threads(1)
    startup = _startup(problem, seed)
    sampler = optuna.samplers.GPSampler(seed=seed, **startup)
    return _search(problem, budget, seed, sampler, conditional=False)


def cmaes(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by CMA-ES; categories, which it does not know, at random."""
    optuna = require("optuna", "optuna")
    require("cmaes", "cmaes")
    startup = _startup(problem, seed)
    sampler = optuna.samplers.CmaEsSampler(
        seed=seed, warn_independent_sampling=False, **startup
    )
    return _search(problem, budget, seed, sampler, conditional=False)


def _startup(problem: Meter, seed: int) -> dict[str, int]:
    """Return how many trials come first, unless the sampler brings its own."""
    initial = problem.initial_points(seed)
    return {"n_startup_trials": len(initial)} if initial else {}


def _search(
    problem: Meter, budget: int, seed: int, sampler: object, *, conditional: bool
) -> Sequence[float]:
    optuna = require("optuna", "optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    variables = variables_of(problem.space)
    initial = problem.initial_points(seed)
    study = optuna.create_study(sampler=sampler)
    rng = np.random.default_rng(seed)
    for params in initial:
        fixed = params if conditional else complete(variables, params, rng)
        study.enqueue_trial(fixed)

    def objective(trial: object) -> float:
        if conditional:
            return problem.evaluate(suggest_active(trial, variables))
        full = {v.name: _suggest(trial, v) for v in variables}
        return problem.evaluate(active(variables, full))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its experimental features say so
        study.optimize(objective, n_trials=len(initial) + budget)
    return problem.values


def suggest_active(trial: object, variables: tuple[Variable, ...]) -> Params:
    """Return the params of a trial, parents before their children."""
    params: Params = {}
    for v in variables:
        if all(name in params and params[name] in ok for name, ok in v.conditions):
            params[v.name] = _suggest(trial, v)
    return params


def _suggest(trial: Any, variable: Variable) -> object:
    name, low, high = variable.name, variable.low, variable.high
    if variable.kind == "category":
        return trial.suggest_categorical(name, variable.values)
    if variable.kind == "real":
        return trial.suggest_float(name, low, high, log=variable.log)
    if variable.values:
        return variable.value(trial.suggest_int(name, int(low), int(high)))
    return trial.suggest_int(name, int(low), int(high), log=variable.log)
