"""The conditional problems: what exists, what it is worth, and where it is best."""

import numpy as np
import pytest

from sklearn_mvrsm import Categorical, Integer, Real
from sklearn_mvrsm.benchmarks import make_problem
from sklearn_mvrsm.benchmarks._conditional import CONDITIONAL, design_vector
from sklearn_mvrsm.benchmarks._registry import expand

SOURCES = {
    "goldstein": ("hierarchical", "HierarchicalGoldstein"),
    "rosenbrock": ("hierarchical", "HierarchicalRosenbrock"),
    "network": ("hierarchical", "NeuralNetwork"),
    "guidance": ("gnc", "SOMDGNCNoAct"),
}
CORNER = dict.fromkeys(["x1", "x2", "z1", "z2", "z3", "z4", "w1", "w2"], 0)
HALVES = dict.fromkeys(["x1", "x2", "x3", "x4"], 0.5)
NETWORK = {"rate": -5.0, "momentum": -5.0, "batch": 8, "activation": 0, "width1": 0}


def made(name):
    """Return a problem; all but Jenatton's tree need the library."""
    if name.removeprefix("conditional-") in SOURCES:
        pytest.importorskip("sb_arch_opt.problems.gnc", reason="no sb-arch-opt")
    return make_problem(name)


def test_the_group_is_the_tree_and_four_of_the_library():
    expected = [f"conditional-{name}" for name in ("jenatton", *SOURCES)]
    assert [name for name, _ in expand(["conditional"])] == expected


@pytest.mark.parametrize(
    ("name", "params", "value"),
    [
        ("jenatton", {"x1": 0, "x2": 0, "x4": 0.5, "r8": 0.25}, 0.6),
        ("jenatton", {"x1": 0, "x2": 1, "x5": 0.5, "r8": 0.25}, 0.7),
        ("jenatton", {"x1": 1, "x3": 0, "x6": 0.5, "r9": 0.25}, 0.8),
        ("jenatton", {"x1": 1, "x3": 1, "x7": 0.5, "r9": 0.25}, 0.9),
        ("goldstein", CORNER, 51.1511652),
        ("goldstein", CORNER | {"x1": 50.0, "x2": 50.0}, np.nan),
        ("rosenbrock", HALVES | {"z1": 1, "z2": 0, "w": "00"}, 101.2),
        ("rosenbrock", HALVES | {"x1": -1.0, "x2": 0.0, "x3": -1.0, "x4": 0.0}
         | {"z1": 1, "z2": 0, "w": "00"}, np.nan),
        ("network", NETWORK | {"layers": 1}, -143.0),
        ("network", NETWORK | {"layers": 2, "width2": 1}, -142.7),
        ("network", NETWORK | {"layers": 3, "width2": 1, "width3": 2}, -143.5),
        # one of each at its smallest, connected though not asked for
        ("guidance", {"sensors": 1, "computers": 1, "sensor0": 0.0, "computer0": 0.0}
         | {"wire00": 0}, np.log10(1.0 - (1.0 - 1.5e-4) * (1.0 - 1e-4)) + 0.7),
    ],
)  # fmt: skip
def test_known_values(name, params, value):
    problem = made(f"conditional-{name}")
    problem.space.encode(params)  # all that exists, and nothing else
    assert problem.evaluate(params) == pytest.approx(value, nan_ok=True)


def neighbours(space, minimiser):
    """Yield configurations that differ in one parameter, and what hangs on it."""
    filled = {name: value for p in space.sample(50, 0) for name, value in p.items()}
    for d in space.parameters:
        match d.parameter:
            case _ if d.name not in minimiser:
                continue
            case Real(low=low, high=high):
                steps = np.array([-1e-3, 1e-3]) * (high - low)
                values = np.clip(minimiser[d.name] + steps, low, high).tolist()
            case Integer(low=low, high=high):
                values = range(low, high + 1)
            case Categorical(values=values):
                pass
        for value in values:
            full = filled | minimiser | {d.name: value}
            yield {name: full[name] for name in active_names(space, full)}


def active_names(space, full):
    """Return the names whose conditions hold, parents looked at first."""
    exists = {}
    conditions = {d.name: d.parameter.conditions for d in space.parameters}

    def holds(name):
        if name not in exists:
            exists[name] = all(
                holds(parent)
                and full[parent] in (ok if isinstance(ok, list | tuple) else [ok])
                for parent, ok in conditions[name]
            )
        return exists[name]

    return [name for name in conditions if holds(name)]


@pytest.mark.parametrize("name", CONDITIONAL)
def test_the_minimiser_is_in_the_space_and_nothing_is_better(name):
    problem = made(name)
    space, minimiser = problem.space, problem.minimiser
    space.encode(minimiser)
    assert problem.evaluate(minimiser) == pytest.approx(problem.optimum, rel=1e-9)
    others = [*space.sample(1000, 0), *neighbours(space, minimiser)]
    values = np.array([problem.evaluate(params) for params in others])
    assert np.nanmin(values) >= problem.optimum - 1e-9 * abs(problem.optimum)


@pytest.mark.parametrize("name", SOURCES)
def test_what_exists_is_what_is_active_in_the_library(name):
    problem = made(f"conditional-{name}")
    module, cls = SOURCES[name]
    library = getattr(pytest.importorskip(f"sb_arch_opt.problems.{module}"), cls)()
    names = problem.space.names
    every = {
        name: values
        for params in problem.space.sample(200, 0)
        for name, values in params.items()
    }
    assert len(design_vector(names, every)) == library.n_var
    for params in problem.space.sample(300, 1):
        vector = np.array([design_vector(names, params)])
        is_active = library.correct_x(vector)[1][0]
        width = {name: len(design_vector([name], every)) for name in names}
        exists = [name in params for name in names for _ in range(width[name])]
        assert is_active.tolist() == exists
