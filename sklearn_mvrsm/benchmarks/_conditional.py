"""Small problems whose parameters exist or not, with known optima.

``conditional-jenatton`` is a binary tree (Jenatton et al., ICML 2017). The package
``sb-arch-opt`` evaluates the others: functions of Goldstein and of Rosenbrock with a
varying number of parameters (Pelamatti et al., 2021), the shape of a network (Audet
et al., 2023), and a guidance system whose sensors and computers are counted, sized and
connected (``SOMDGNCNoAct``, after Apaza and Selva, 2021). A configuration that breaks
a constraint has no value: nan.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._problem import Params, Problem

_NODES = 3  # sensors, and computers, that the guidance system has at most


def _jenatton() -> dict[str, object]:
    bit, real = Categorical((0, 1)), Real(0.0, 1.0)
    return {
        "x1": bit,
        "x2": bit.when(x1=0),
        "x3": bit.when(x1=1),
        "x4": real.when(x2=0),
        "x5": real.when(x2=1),
        "x6": real.when(x3=0),
        "x7": real.when(x3=1),
        "r8": real.when(x1=0),
        "r9": real.when(x1=1),
    }


def _goldstein() -> dict[str, object]:
    x, z = Real(0.0, 100.0), Integer(0, 2)
    return {
        "x1": x,
        "x2": x,
        "x3": x.when(w1=[1, 3]),
        "x4": x.when(w1=[2, 3]),
        "x5": x.when(w2=1),
        "z1": z.when(w1=[0, 2]),
        "z2": z.when(w1=[0, 1]),
        "z3": z,
        "z4": z,
        "w1": Categorical((0, 1, 2, 3)),
        "w2": Categorical((0, 1)),
    }


def _rosenbrock() -> dict[str, object]:
    """Return parameters whose w is the published w1 and w2: pairs of them decide."""
    pairs = {
        "x3": ["00", "01", "10"],
        "x5": ["01", "11"],
        "x7": ["01", "10", "11"],
    }
    parameters: dict[str, Any] = {"x1": Real(-1.0, 0.5), "x2": Real(0.0, 1.5)}
    for name, wanted in pairs.items():
        parameters[name] = Real(-1.0, 0.5).when(w=wanted)
        parameters[f"x{int(name[1]) + 1}"] = Real(0.0, 1.5).when(w=wanted)
    parameters |= {"z1": Integer(0, 1), "z2": Integer(0, 1)}
    parameters["z3"] = Integer(0, 2).when(w=["01", "11"])
    parameters["w"] = Categorical(("00", "01", "10", "11"))
    return parameters


def _network() -> dict[str, object]:
    return {
        "layers": Integer(1, 3),
        "rate": Real(-5.0, -2.0),
        "momentum": Real(-5.0, -1.0),
        "batch": Integer(3, 8),
        "activation": Categorical((0, 1, 2)),
        "width1": Integer(0, 5),
        "width2": Integer(0, 5).when(layers=[2, 3]),
        "width3": Integer(0, 5).when(layers=3),
    }


def _guidance() -> dict[str, object]:
    """Return the size of each node and a wire for each pair of them.

    The package makes a node no smaller than the one before it, and adds a wire to one
    that has none.
    """
    kinds = "sensor", "computer"
    more = [list(range(k + 1, _NODES + 1)) for k in range(_NODES)]
    parameters: dict[str, Any] = {f"{kind}s": Integer(1, _NODES) for kind in kinds}
    for kind in kinds:
        for k in range(_NODES):
            parameters[f"{kind}{k}"] = Real(0.0, 1.0).when({f"{kind}s": more[k]})
    for i in range(_NODES):
        for j in range(_NODES):
            both = {"sensors": more[i], "computers": more[j]}
            parameters[f"wire{i}{j}"] = Categorical((0, 1)).when(both)
    return parameters


def _tree(params: Mapping[str, Any]) -> float:
    """Return Jenatton's function: a square, the leaf's offset and its half's share."""
    half = int(params["x1"])
    leaf = 2 * half + int(params[f"x{2 + half}"])
    square = float(params[f"x{4 + leaf}"]) ** 2
    return square + 0.1 * (leaf + 1) + float(params[f"r{8 + half}"])


@dataclass(frozen=True)
class _Case:
    """A problem: its parameters, where its function is, and its optimum.

    Parameters
    ----------
    parameters : callable
        Returns the parameters, in the order of the package's design vector.
    source : tuple of (str, str) or None
        Module and class in the package; None for `_tree`.
    optimum : float
    minimiser : dict
    """

    parameters: Callable[[], dict[str, Any]]
    source: tuple[str, str] | None
    optimum: float
    minimiser: Params


_CASES = {
    "jenatton": _Case(_jenatton, None, 0.1, {"x1": 0, "x2": 0, "x4": 0.0, "r8": 0.0}),
    "goldstein": _Case(
        _goldstein,
        ("hierarchical", "HierarchicalGoldstein"),
        16.3609207852,
        {"x1": 100.0, "x2": 0.0, "x3": 100.0, "x4": 98.71807, "x5": 50.0}
        | {"z3": 0, "z4": 0, "w1": 3, "w2": 1},
    ),
    "rosenbrock": _Case(
        _rosenbrock,
        ("hierarchical", "HierarchicalRosenbrock"),
        -69.9250424448,
        {"x1": 0.5, "x2": 59.0 / 117.8, "x3": 0.5, "x4": 0.5, "x5": 0.5, "x6": 0.5}
        | {"x7": 0.5, "x8": 0.5, "z1": 0, "z2": 1, "z3": 2, "w": "01"},
    ),
    "network": _Case(
        _network,
        ("hierarchical", "NeuralNetwork"),
        -155.5,
        {"layers": 3, "rate": -5.0, "momentum": -5.0, "batch": 8, "activation": 0}
        | {"width1": 0, "width2": 0, "width3": 5},
    ),
    "guidance": _Case(
        _guidance,
        ("gnc", "SOMDGNCNoAct"),
        -8.9589916440,
        {"sensors": 3, "computers": 3}
        | {f"sensor{k}": 0.0 for k in range(_NODES)}
        | {f"computer{k}": 0.0072346 for k in range(_NODES)}
        | {f"wire{i}{j}": int(i != j) for i in range(_NODES) for j in range(_NODES)},
    ),
}
CONDITIONAL = tuple(f"conditional-{name}" for name in _CASES)


def make_conditional(name: str, budget: int = 100) -> Problem:
    """Return a conditional problem, whose methods bring their own first points.

    Parameters
    ----------
    name : str
        One of `CONDITIONAL`.
    budget : int, default=100
        Evaluations in all.

    Raises
    ------
    MissingLibraryError
        If ``sb-arch-opt`` is not installed; Jenatton's tree does not need it.
    """
    case = _CASES[name.removeprefix("conditional-")]
    return Problem(
        name,
        SearchSpace(case.parameters()),
        _tree if case.source is None else _of_library(*case.source, case.parameters()),
        budget,
        n_initial=0,
        optimum=case.optimum,
        minimiser=dict(case.minimiser),
    )


def _of_library(
    module: str, name: str, parameters: Mapping[str, object]
) -> Callable[[Mapping[str, object]], float]:
    """Return the function of a class of the package."""
    library = require(f"sb_arch_opt.problems.{module}", "sb-arch-opt")
    problem = getattr(library, name)()

    def function(params: Mapping[str, Any]) -> float:
        found = problem.evaluate(
            np.array([design_vector(parameters, params)]), return_as_dictionary=True
        )
        is_feasible = np.all(found.get("G", np.zeros(1)) <= 0.0)
        return float(found["F"][0, 0]) if is_feasible else np.nan

    return function


def design_vector(parameters: Iterable[str], params: Mapping[str, Any]) -> list[float]:
    """Return the numbers of a configuration; 0 for what does not exist.

    Parameters
    ----------
    parameters : iterable of str
        All names, in order.
    params : mapping
        A category that is a word of digits is as many numbers.
    """
    vector: list[float] = []
    for name in parameters:
        value = params.get(name, 0)
        vector += map(float, value if isinstance(value, str) else [value])
    return vector
