"""The methods by name; ours, random search, and what users register.

A method is a function ``(problem, budget, seed) -> values``. It evaluates
``problem.initial_points(seed)`` first, in order, then up to ``budget`` more params
by ``problem.evaluate(params)``, and returns all the values.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from sklearn_mvrsm import MVRSMOptimizer, SpaceExhaustedError
from sklearn_mvrsm.benchmarks._problem import Meter, Params

Method = Callable[[Meter, int, int], Sequence[float]]

# Name -> module and function, imported when asked for.
_METHODS = {
    "mvrsm": ("_methods", "mvrsm"),
    "mvrsm-portfolio": ("_methods", "mvrsm_portfolio"),
    "paper": ("_methods", "paper"),
    "random": ("_methods", "random"),
    "optuna-tpe": ("_peer_optuna", "tpe"),
    "optuna-gp": ("_peer_optuna", "gp"),
    "optuna-cmaes": ("_peer_optuna", "cmaes"),
    "hyperopt-tpe": ("_peer_hyperopt", "tpe"),
    "smac": ("_peer_smac", "smac"),
    "bayesian-optimization": ("_peer_bayes_opt", "rounding"),
    "hebo": ("_peer_hebo", "hebo"),
    "nevergrad": ("_peer_nevergrad", "nevergrad"),
    "cocabo": ("_cocabo", "cocabo"),
}


def method_names() -> tuple[str, ...]:
    """Return the names of the methods that come with the package."""
    return tuple(_METHODS)


def get_method(name: str) -> Method:
    """Return a method by its name.

    Parameters
    ----------
    name : str
        One of `method_names`, or ``"module:function"`` for any callable; the module
        is looked for in the working directory too.
    """
    if name in _METHODS:
        module, function = _METHODS[name]
        found: Method = getattr(import_module(f"{__package__}.{module}"), function)
        return found
    module, separator, function = name.partition(":")
    if not separator:
        known = ", ".join(method_names())
        raise ValueError(
            f"unknown method {name!r}; there are: {known}, and 'module:function'"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    method: Method = getattr(import_module(module), function)
    return method


def mvrsm(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by the default method of `MVRSMOptimizer`."""
    return _ours(problem, budget, seed, "mvrsm")


def mvrsm_portfolio(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by the default method, from what is worth trying first."""
    first = problem.problem.first()[: budget // 2]
    return _ours(problem, budget, seed, "mvrsm", first)


def paper(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search by the published algorithm."""
    return _ours(problem, budget, seed, "paper")


def _ours(
    problem: Meter,
    budget: int,
    seed: int,
    method: str,
    first: Sequence[Params] = (),
) -> Sequence[float]:
    initial = problem.initial_points(seed)
    optimizer = MVRSMOptimizer(
        problem.space,
        method=method,
        n_initial_points=len(initial) or None,
        random_state=seed,
        n_iter=len(initial) + budget,
    )
    for params in initial:
        optimizer.tell(params, problem.evaluate(params))
    for params in first:
        optimizer.enqueue(params)
    for _ in range(budget):
        try:
            params = optimizer.ask()
        except SpaceExhaustedError:
            break
        optimizer.tell(params, problem.evaluate(params))
    return problem.values


def random(problem: Meter, budget: int, seed: int) -> Sequence[float]:
    """Search at random, uniformly."""
    for params in problem.initial_points(seed):
        problem.evaluate(params)
    for params in problem.space.sample(budget, random_state=2**31 - 1 - seed):
        problem.evaluate(params)
    return problem.values
