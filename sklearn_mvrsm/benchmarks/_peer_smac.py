"""SMAC3 in deterministic mode, with conditional parameters.

Its result depends on the hash seed of the process; the runner fixes PYTHONHASHSEED.
"""

import tempfile
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Meter, Params
from sklearn_mvrsm.benchmarks._variables import Variable, variables_of


def smac(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by SMAC's facade for hyperparameter optimisation."""
    module = require("smac", "smac")
    variables = variables_of(problem.space)
    space = configuration_space(variables, seed)
    initial = problem.initial_points(seed)
    given: dict[str, Any] = {}
    if initial:  # else those of its own
        points = [_configuration(space, params) for params in initial]
        given = {"n_configs": 0, "additional_configs": points}
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = module.Scenario(
            space,
            deterministic=True,
            n_trials=len(initial) + budget,
            seed=seed,
            output_directory=directory,
        )
        facade = module.HyperparameterOptimizationFacade
        optimizer = facade(
            scenario,
            lambda config, seed: 0.0,  # never called: values are told
            initial_design=facade.get_initial_design(scenario, **given),
            intensifier=facade.get_intensifier(scenario, max_config_calls=1),
            logging_level=False,
            overwrite=True,
        )
        for _ in range(len(initial) + budget):
            asked = optimizer.ask()
            value = problem.evaluate(smac_params(asked.config, variables))
            told = module.runhistory.TrialValue(cost=value)
            optimizer.tell(asked, told)
    return problem.values


def configuration_space(variables: tuple[Variable, ...], seed: int) -> object:
    """Return the variables as a ConfigSpace, conditions included."""
    module = require("ConfigSpace", "ConfigSpace")
    space = module.ConfigurationSpace(seed=seed)
    for v in variables:
        space.add(_hyperparameter(module, v))
    for v in variables:
        clauses = [
            module.InCondition(space[v.name], space[parent], list(accepted))
            for parent, accepted in v.conditions
        ]
        if len(clauses) > 1:
            space.add(module.AndConjunction(*clauses))
        elif clauses:
            space.add(clauses[0])
    return space


def _hyperparameter(module: ModuleType, v: Variable) -> object:
    if v.kind == "category":
        return module.CategoricalHyperparameter(v.name, v.values)
    if v.kind == "real":
        return module.UniformFloatHyperparameter(v.name, v.low, v.high, log=v.log)
    if v.values:
        return module.OrdinalHyperparameter(v.name, v.values)
    return module.UniformIntegerHyperparameter(
        v.name, int(v.low), int(v.high), log=v.log
    )


def _configuration(space: object, params: Params) -> object:
    module = require("ConfigSpace", "ConfigSpace")
    return module.Configuration(space, values=params)


def smac_params(configuration: Any, variables: tuple[Variable, ...]) -> Params:
    """Return a configuration as params of builtin values."""
    given = dict(configuration)
    params: Params = {}
    for v in variables:
        if v.name in given:
            value = given[v.name]
            params[v.name] = v.value(v.number(value))
    return params
