"""Hyperopt's TPE, with conditional parameters as nested choices."""

import logging
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import BudgetSpent, Meter, Params
from sklearn_mvrsm.benchmarks._variables import Variable, variables_of


def tpe(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by the tree-structured Parzen estimator."""
    hyperopt = require("hyperopt", "hyperopt")
    logging.getLogger("hyperopt").setLevel(logging.CRITICAL)
    variables = variables_of(problem.space)
    by_name = {v.name: v for v in variables}
    initial = problem.initial_points(seed)
    startup = {"n_startup_jobs": len(initial)} if initial else {}
    given = _trials([_labels(p, by_name) for p in initial], by_name)

    def objective(tree: Mapping[str, object]) -> float:
        return problem.evaluate(_flatten(tree, by_name))

    # It may ask for more than max_evals where there are points to evaluate first.
    with suppress(BudgetSpent), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hyperopt.fmin(
            objective,
            _space(hyperopt, variables),
            algo=partial(hyperopt.tpe.suggest, **startup),
            max_evals=len(initial) + budget,
            trials=given if initial else None,
            rstate=np.random.default_rng(seed),
            show_progressbar=False,
            verbose=False,
        )
    return problem.values


def _labels(params: Params, by_name: Mapping[str, Variable]) -> dict[str, float]:
    """Return params under hyperopt's labels; a choice's value is its place."""
    found: dict[str, float] = {}
    for name, value in params.items():
        variable = by_name[name]
        number = variable.number(value)
        found[name] = number if variable.kind == "real" else int(number)
    return found


def _trials(points: list[dict[str, float]], by_name: Mapping[str, Variable]) -> object:
    """Return trials yet to be run at points; an inactive label has no value there."""
    trials = require("hyperopt.fmin", "hyperopt").generate_trials_to_calculate(points)
    trials.refresh()
    for trial in trials.trials:
        for name in by_name:
            trial["misc"]["idxs"].setdefault(name, [])
            trial["misc"]["vals"].setdefault(name, [])
    return trials


def _space(hyperopt: ModuleType, variables: tuple[Variable, ...]) -> dict[str, object]:
    """Return the search space: each variable a node, its children in its choices.

    A node whose parent has several accepted values is shared among the branches,
    and hyperopt then takes it to exist in any of them.
    """
    _check(variables)
    nodes: dict[str, Any] = {}
    for v in reversed(variables):
        children = {
            place: {
                child.name: nodes[child.name]
                for child in variables
                if child.conditions and _is_child(child, v, v.value(place))
            }
            for place in (range(v.size) if v.kind == "category" else ())
        }
        nodes[v.name] = _node(hyperopt.hp, v, children)
    return {v.name: nodes[v.name] for v in variables if not v.conditions}


def _is_child(child: Variable, parent: Variable, value: object) -> bool:
    name, accepted = child.conditions[0]
    return name == parent.name and value in accepted


def _check(variables: tuple[Variable, ...]) -> None:
    """Refuse what cannot be nested in the choices of a category."""
    categories = {v.name for v in variables if v.kind == "category"}
    for v in variables:
        if len(v.conditions) > 1:
            raise ValueError(f"hyperopt cannot nest {v.name!r}: it has two parents")
        for parent, _ in v.conditions:
            if parent not in categories:
                raise ValueError(
                    f"hyperopt cannot nest {v.name!r}: its parent {parent!r} is not a "
                    "category"
                )


def _node(
    hp: ModuleType, v: Variable, children: Mapping[int, dict[str, Any]]
) -> object:
    if v.kind == "category":
        branches = [{"place": place, "below": children[place]} for place in children]
        return hp.choice(v.name, branches)
    if v.kind == "integer" and v.log:
        return hp.qloguniform(v.name, math.log(v.low), math.log(v.high), 1)
    if v.kind == "integer":
        return hp.uniformint(v.name, v.low, v.high)
    if v.log:
        return hp.loguniform(v.name, math.log(v.low), math.log(v.high))
    return hp.uniform(v.name, v.low, v.high)


def _flatten(tree: Mapping[str, Any], by_name: Mapping[str, Variable]) -> Params:
    params: Params = {}
    for name, value in tree.items():
        number = value["place"] if isinstance(value, Mapping) else value
        params[name] = by_name[name].value(number)
        if isinstance(value, Mapping):
            params.update(_flatten(value["below"], by_name))
    return params
