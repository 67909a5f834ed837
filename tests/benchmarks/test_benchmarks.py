"""The benchmark problems, the meter, the peers, the file of results and the table."""

import csv
import gzip
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sklearn_mvrsm import Categorical, Integer, MVRSMOptimizer, Real, SearchSpace
from sklearn_mvrsm.benchmarks import (
    BudgetSpent,
    Meter,
    Problem,
    make_problem,
    problem_names,
)
from sklearn_mvrsm.benchmarks.__main__ import main
from sklearn_mvrsm.benchmarks._bbob import TARGETS, area_under_curve
from sklearn_mvrsm.benchmarks._cocabo import Bandit, Encoding, Hyperparameters, Process
from sklearn_mvrsm.benchmarks._functions import MiVaBOFunction, func3c
from sklearn_mvrsm.benchmarks._methods import get_method, method_names
from sklearn_mvrsm.benchmarks._moved import moved
from sklearn_mvrsm.benchmarks._optional import MissingLibraryError
from sklearn_mvrsm.benchmarks._peer_hyperopt import _check
from sklearn_mvrsm.benchmarks._plot import curves, draw_all
from sklearn_mvrsm.benchmarks._problem import Box
from sklearn_mvrsm.benchmarks._registry import GROUPS, expand
from sklearn_mvrsm.benchmarks._runner import Failure, Plan, run, run_task
from sklearn_mvrsm.benchmarks._standins import FlatForest, PlateModel, read_table
from sklearn_mvrsm.benchmarks._steel import SteelPlates, booster_arguments, read_space
from sklearn_mvrsm.benchmarks._steps import measure
from sklearn_mvrsm.benchmarks._store import (
    COLUMNS,
    Run,
    Task,
    append_run,
    read_all,
    read_runs,
)
from sklearn_mvrsm.benchmarks._summary import as_text, cut, paired_tests, summarise
from sklearn_mvrsm.benchmarks._synthetic import on_box
from sklearn_mvrsm.benchmarks._variables import (
    active,
    complete,
    numbers,
    variables_of,
)

WITH_OPTIMUM = [
    "func3c",
    "rosenbrock10",
    "ackley53",
    "ackley53-categories",
    "rosenbrock238",
    "rosenbrock-integer10",
    "hartmann6",
]
CONDITIONAL = SearchSpace(
    {
        "booster": Categorical(("linear", "tree", "dart")),
        "depth": Integer(1, 9).when(booster=["tree", "dart"]),
        "drop": Real(0.0, 1.0).when(booster="dart"),
        "rate": Real(1e-3, 1.0, log=True),
    }
)


def conditional_value(params):
    depth = params.get("depth", 5)
    return abs(depth - 3) + params.get("drop", 0.5) + abs(np.log10(params["rate"]) + 2)


def conditional_problem():
    return Problem("conditional", CONDITIONAL, conditional_value, budget=6, n_initial=5)


@pytest.fixture
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Problems


@pytest.mark.parametrize(
    ("name", "optimum"),
    [("func3c", -0.722140), ("rosenbrock10", 0.0), ("ackley53", 0.0)],
)
def test_known_optima(name, optimum):
    assert make_problem(name).optimum == pytest.approx(optimum, abs=1e-6)


@pytest.mark.parametrize("name", WITH_OPTIMUM)
@pytest.mark.parametrize("variant", ["original", "moved"])
@pytest.mark.parametrize("seed", [0, 1])
def test_minimiser_attains_the_optimum(name, variant, seed):
    problem = make_problem(name, variant=variant, seed=seed)
    assert problem.evaluate(problem.minimiser) == pytest.approx(
        problem.optimum, abs=1e-9
    )
    x = problem.box.to_array(problem.minimiser)
    assert np.all(problem.box.lower <= x)
    assert np.all(x <= problem.box.upper)
    problem.space.encode(problem.minimiser)


@pytest.mark.parametrize("name", WITH_OPTIMUM)
def test_nothing_in_the_box_is_below_the_optimum(name):
    for variant in ("original", "moved"):
        problem = make_problem(name, variant=variant, seed=3)
        values = [problem.evaluate(p) for p in problem.space.sample(200, 0)]
        assert min(values) >= problem.optimum


@pytest.mark.parametrize("name", WITH_OPTIMUM)
def test_moved_optimum_differs_in_every_discrete_variable(name):
    original = make_problem(name)
    moved = make_problem(name, variant="moved", seed=5)
    n = original.box.n_discrete
    before = original.box.to_array(original.minimiser)
    after = moved.box.to_array(moved.minimiser)
    assert np.all(before[:n] != after[:n])
    assert np.any(before[n:] != after[n:]) or n == original.box.d


def test_moved_variant_permutes_the_values_of_the_integers():
    box = Box((3,), ((-1, 2),), ((0.0, 1.0),))
    original = on_box("small", box, lambda x: float(x[0] + 10 * x[1] + 100 * x[2]), 5)
    shifted = moved(original, seed=1)
    grid = [np.array([h, i, 0.5]) for h in range(3) for i in range(-1, 3)]
    before = [original.evaluate_array(x) for x in grid]
    after = [shifted.evaluate_array(x) for x in grid]
    assert sorted(before) == sorted(after)
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert shifted.minimiser is None


def test_func3c_adds_what_its_categories_choose():
    x = np.array([0.3, -0.4])
    values = {h: func3c(np.array([*h, *x])) for h in np.ndindex(3, 5, 4)}
    u, v = 0.6, -0.8
    rosenbrock = (100 * (v - u**2) ** 2 + (u - 1) ** 2) / 300
    camel = ((4 - 2.1 * u**2 + u**4 / 3) * u**2 + u * v + (4 * v**2 - 4) * v**2) / 10
    beale = (
        (1.5 - u + u * v) ** 2
        + (2.25 - u + u * v**2) ** 2
        + (2.625 - u + u * v**3) ** 2
    ) / 50
    assert values[0, 0, 0] == pytest.approx(2 * rosenbrock + 5 * camel)
    assert values[1, 1, 0] == pytest.approx(7 * camel)
    assert values[2, 4, 3] == pytest.approx(5 * beale)
    assert values[0, 2, 2] == pytest.approx(rosenbrock + 3 * beale)
    assert values[1, 3, 1] == pytest.approx(camel + beale + 2 * rosenbrock)


def test_mivabo_is_linear_in_a_single_integer():
    function = MiVaBOFunction(3, 2, seed=4)
    rows = np.array([[k, 1.0, 2.0, 0.4, 2.2] for k in range(4)])
    assert np.diff([function(x) for x in rows], n=2) == pytest.approx([0, 0], abs=1e-9)


def test_mivabo_instances_are_the_published_ones():
    # Values of the published generator at the all-ones point, instances 0 to 2.
    values = [MiVaBOFunction(8, 8, seed=k)(np.ones(16)) for k in range(3)]
    assert values == pytest.approx(
        [-3.0038077983332396, 0.1253010284586864, 7.632807914314612]
    )


def test_rosenbrock_scales_are_the_papers():
    ten = make_problem("rosenbrock10")
    assert ten.evaluate(dict.fromkeys(ten.space.names, 0)) == pytest.approx(9 / 300)
    large = make_problem("rosenbrock238")
    value = large.evaluate(dict.fromkeys(large.space.names, 0))
    assert value == pytest.approx(237 / 50_000)


def test_plain_arrays_and_params_agree():
    problem = make_problem("ackley53-categories")
    for params in problem.space.sample(5, 0):
        x = problem.box.to_array(params)
        assert problem.box.to_params(x) == params
        assert problem.evaluate_array(x) == problem.evaluate(params)


def test_names_are_understood():
    assert {"steel", "esp-table", "mivabo16"} <= set(problem_names())
    assert expand(["func3c", "func3c:moved"]) == [
        ("func3c", "original"),
        ("func3c", "moved"),
    ]
    assert len(expand(["mivabo16"])) == 8
    assert len(GROUPS["bbob-mixint-d05"]) == 24 * 4
    with pytest.raises(ValueError, match="unknown problem 'nothing'"):
        make_problem("nothing")
    with pytest.raises(ValueError, match="unknown variant 'turned'"):
        expand(["func3c:turned"])
    with pytest.raises(ValueError, match="needs 'data'"):
        make_problem("steel-table")


@pytest.mark.parametrize("parent", [Integer(0, 3), Categorical([0, 1])])
def test_what_hyperopt_cannot_nest_is_refused(parent):
    nested = {"a": parent, "b": Real(0.0, 1.0).when(a=1)}
    twice = {**nested, "c": Integer(0, 1), "d": Real(0.0, 1.0).when(a=1, c=0)}
    if isinstance(parent, Integer):
        with pytest.raises(ValueError, match="'b': its parent 'a' is not a category"):
            _check(variables_of(SearchSpace(nested)))
    else:
        _check(variables_of(SearchSpace(nested)))
        with pytest.raises(ValueError, match="'d': it has two parents"):
            _check(variables_of(SearchSpace(twice)))


def test_the_real_steel_problem_says_that_it_needs_xgboost(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingLibraryError, match="pip install 'xgboost'"):
        make_problem("steel", data=tmp_path)


def test_bbob_values_are_distances_to_the_optimum():
    pytest.importorskip("cocoex", reason="coco-experiment is not installed")
    problem = make_problem("bbob-mixint-f008-i02-d10")
    assert problem.n_initial == 20
    assert problem.budget == 180
    assert problem.evaluate(problem.minimiser) == 0.0
    assert min(problem.evaluate(p) for p in problem.space.sample(50, 0)) > 0.0
    moved = make_problem("bbob-mixint-f008-i02-d10", variant="moved", seed=1)
    assert moved.evaluate(moved.minimiser) == pytest.approx(0.0, abs=1e-9)


def test_area_counts_targets_from_when_they_are_reached():
    assert area_under_curve(np.array([1e3, 1e3])) == 0.0
    assert area_under_curve(np.array([0.0, 5.0])) == 1.0
    half = np.array([1e3, 0.0])
    assert area_under_curve(half) == 0.5
    assert len(TARGETS) == 51
    assert (TARGETS[0], TARGETS[-1]) == (1e2, 1e-8)


# Data and models


SPACE_ROWS = """name,type,low,high,parent,parent_values
kind,cat,0.0,2.0,,
low,cat,-1.0,0.0,kind,2
deep,int,1.0,11.0,kind,1 2
rate,cont,-9.2,0.0,,
"""


def test_space_file_is_read_with_its_conditions(tmp_path):
    path = tmp_path / "space.csv"
    path.write_text(SPACE_ROWS)
    space = read_space(path)
    seen = {tuple(params) for params in space.sample(60, 0)}
    assert seen == {
        ("kind", "rate"),
        ("kind", "deep", "rate"),
        ("kind", "low", "deep", "rate"),
    }
    assert {p["low"] for p in space.sample(60, 1) if "low" in p} == {-1, 0}


def test_table_is_read_with_absent_cells(tmp_path):
    path = tmp_path / "table.csv.gz"
    text = "run,b,a,objective,seconds\n0,1,,-0.5,1.0\n0,2,3,-0.6,1.0\n"
    with gzip.open(path, "wt") as file:
        file.write(text)
    names, X, y = read_table(path, ("a", "b"))
    assert names == ("a", "b")
    assert X.tolist() == [[-9.0, 1.0], [3.0, 2.0]]
    assert y.tolist() == [-0.5, -0.6]
    assert read_table(path)[0] == ("b", "a")


def test_flat_forest_predicts_what_the_forest_does():
    from sklearn.ensemble import ExtraTreesRegressor

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    forest = ExtraTreesRegressor(20, min_samples_leaf=2, random_state=0).fit(X, y)
    flat = FlatForest(forest)
    new = rng.normal(size=(30, 4))
    assert [flat.predict(x) for x in new] == pytest.approx(forest.predict(new))


def test_plate_model_learns_where_plates_matter():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 9)).astype(float)
    y = (X[:, 0] == 1) - 2.0 * (X[:, 8] == 2) + 0.05 * rng.normal(size=300)
    model = PlateModel(X[:200], y[:200], n_plates=3)
    residual = model.predict(X[200:]) - y[200:]
    assert np.var(residual) < 0.1 * np.var(y[200:])


def test_booster_arguments_undo_the_stored_logarithms():
    arguments = booster_arguments(
        {
            "pp_kind_0": 1,
            "xg_booster": 1,
            "xg_learning_rate": float(np.log(0.3 + 1e-4)),
            "xg_alpha": float(np.log(1e-4)),
            "xg_lambda": float(np.log(2.0)),
            "xg_num_round": 7,
            "xg_sketch_eps": 0.1,
        }
    )
    assert arguments["booster"] == "dart"
    assert arguments["learning_rate"] == pytest.approx(0.3)
    assert arguments["reg_alpha"] == pytest.approx(0.0, abs=1e-12)
    assert arguments["reg_lambda"] == pytest.approx(2.0)
    assert arguments["n_estimators"] == 7
    assert "sketch_eps" not in arguments


def test_booster_arguments_leave_out_what_xgboost_refuses():
    common = {"xg_alpha": 0.0, "xg_lambda": 0.0, "xg_num_round": 1}
    exact = booster_arguments(
        common | {"xg_booster": 2, "xg_tree_method": 1, "xg_colsample_bynode": 0.5}
    )
    assert exact["tree_method"] == "exact"
    assert "colsample_bynode" not in exact
    selectors = [
        booster_arguments(
            common | {"xg_booster": 0, "xg_updater": 0, "xg_feature_selector": k}
        )["feature_selector"]
        for k in range(5)
    ]
    assert selectors == ["cyclic", "shuffle", "cyclic", "cyclic", "cyclic"]


def steel_table(path):
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"m{k}" for k in range(27)), "fault"])
        for k in range(60):
            row = rng.normal(size=27)
            row[0] += 5 * (k % 2)
            writer.writerow([*row.round(3), "ab"[k % 2]])


def steel_params(n_rounds, booster=2):
    pipeline = {f"pp_kind_{k}": k % 5 for k in range(27)}
    pipeline |= {f"pp_min_max_min_{k}": -1 for k in range(27) if k % 5 == 2}
    pipeline |= {f"pp_ss_mean_{k}": 1 for k in range(27) if k % 5 == 4}
    pipeline |= {f"pp_ss_std_{k}": 1 for k in range(27) if k % 5 == 4}
    return pipeline | {
        "pp_normalizer_norm": 1,
        "pp_pca_whiten": 0,
        "pp_pca_n_components": 27,
        "xg_booster": booster,
        "xg_alpha": -9.0,
        "xg_lambda": 0.0,
        "xg_num_round": n_rounds,
    }


@pytest.mark.long
def test_steel_objective_scores_and_is_stopped(tmp_path):
    pytest.importorskip("xgboost", reason="xgboost is not installed")
    path = tmp_path / "data.csv"
    steel_table(path)
    objective = SteelPlates(path, limit=10.0)
    assert objective(steel_params(5)) < -0.9
    assert objective(steel_params(10_000_000)) == 0.0
    # The process was killed; the next fit has a new one. It fails: no such booster.
    assert objective(steel_params(5) | {"xg_booster": 9}) == 0.0
    assert objective(steel_params(5)) < -0.9


# The meter


def test_meter_tells_own_time_from_the_objectives():
    def slow(params):
        import time

        started = time.process_time()
        while time.process_time() - started < 0.05:
            pass
        return 1.0

    space = SearchSpace({"x": Real(0.0, 1.0)})
    meter = Meter(Problem("slow", space, slow, budget=2, n_initial=1), 2, 0)
    for params in meter.initial_points(0):
        meter.evaluate(params)
    meter.evaluate({"x": 0.5})
    assert meter.objective_seconds >= 0.1
    assert sum(meter.own_seconds) < 0.05


def test_meter_stops_at_the_budget_and_wants_the_initial_points():
    problem = conditional_problem()
    meter = Meter(problem, 1, 0)
    with pytest.raises(ValueError, match="evaluation 0 must be of the initial point"):
        meter.evaluate({"booster": "linear", "rate": 0.5})
    for params in [*meter.initial_points(0), {"booster": "linear", "rate": 0.5}]:
        meter.evaluate(params)
    with pytest.raises(BudgetSpent, match="all 6 evaluations"):
        meter.evaluate({"booster": "linear", "rate": 0.5})
    assert len(meter.values) == 6


def test_noise_and_initial_points_depend_on_the_seed_alone():
    problem = make_problem("rosenbrock10")
    first, second, other = (Meter(problem, 1, seed) for seed in (0, 0, 1))
    points = problem.initial_points(0)
    assert [first.evaluate(p) for p in points] == [second.evaluate(p) for p in points]
    assert problem.initial_points(0) != problem.initial_points(1)
    noise = np.array(first.values) - [problem.evaluate(p) for p in points]
    assert np.all(noise >= 0.0)
    assert 0.0 < np.max(noise) <= 1e-6 + 1e-12
    assert other.problem.n_initial == 24


# Methods


@pytest.mark.parametrize("name", method_names())
def test_methods_give_values_from_the_shared_initial_points(name):
    problem = conditional_problem()
    meter = Meter(problem, 3, 3)
    try:
        values = get_method(name)(meter, 3, 3)
    except MissingLibraryError as error:
        pytest.skip(str(error))
    expected = [problem.evaluate(p) for p in problem.initial_points(3)]
    assert list(values[:5]) == pytest.approx(expected)
    assert len(values) == 8
    assert list(values) == meter.values


def test_random_search_and_ours_see_the_same_first_values():
    runs = [
        run_task(Task("func3c", "moved", method, 7), 2, None)
        for method in ("random", "mvrsm", "paper")
    ]
    assert runs[0].values[:24].tolist() == runs[1].values[:24].tolist()
    assert runs[0].values[:24].tolist() == runs[2].values[:24].tolist()


def test_ours_is_the_public_optimiser():
    result = run_task(Task("hartmann6", "original", "mvrsm", 2), 3, None)
    problem = make_problem("hartmann6")
    optimizer = MVRSMOptimizer(
        problem.space, n_initial_points=24, random_state=2, n_iter=27
    )
    for params in problem.initial_points(2):
        optimizer.tell(params, problem.evaluate(params))
    for _ in range(3):
        params = optimizer.ask()
        optimizer.tell(params, problem.evaluate(params))
    assert [trial.value for trial in optimizer.trials] == result.values.tolist()


def test_unknown_method_is_named():
    with pytest.raises(ValueError, match="unknown method 'magic'"):
        get_method("magic")


USERS_METHOD = """
def sweep(problem, budget, seed):
    for params in problem.initial_points(seed):
        problem.evaluate(params)
    for params in problem.space.sample(budget, random_state=seed + 1):
        problem.evaluate(params)
    return problem.values

def cheat(problem, budget, seed):
    sweep(problem, budget, seed)
    return [value - 1.0 for value in problem.values]

def endless(problem, budget, seed):
    sweep(problem, budget, seed)
    while True:
        problem.evaluate(problem.initial_points(seed)[0])
"""


def test_users_methods_are_run(working_directory):
    (working_directory / "users_method.py").write_text(USERS_METHOD)
    names = [f"users_method:{name}" for name in ("sweep", "endless", "cheat")]
    outcomes = [run_task(Task("func3c", "original", n, 0), 3, None) for n in names]
    assert len(outcomes[0].values) == len(outcomes[1].values) == 27
    assert isinstance(outcomes[2], Failure)
    assert "did not return the values it was given" in outcomes[2].reason


def test_exhausted_space_ends_a_run():
    space = SearchSpace({"a": [0, 1, 2], "b": [0, 1]})
    problem = Problem("finite", space, lambda p: p["a"], budget=50, n_initial=2)
    assert len(get_method("mvrsm")(Meter(problem, 50, 0), 50, 0)) <= 8


# What peers see


def test_variables_have_the_spaces_values_and_conditions():
    variables = variables_of(CONDITIONAL)
    names = [v.name for v in variables]
    assert sorted(names) == sorted(CONDITIONAL.names)
    assert names.index("booster") < names.index("depth")
    by_name = {v.name: v for v in variables}
    assert by_name["depth"].conditions == (("booster", ("tree", "dart")),)
    assert by_name["booster"].values == ("linear", "tree", "dart")
    assert by_name["rate"].log


def test_naive_encoding_keeps_params_and_drops_what_is_inactive():
    variables = variables_of(CONDITIONAL)
    rng = np.random.default_rng(0)
    for params in CONDITIONAL.sample(30, 0):
        full = complete(variables, params, rng)
        assert set(full) == set(CONDITIONAL.names)
        assert active(variables, full) == params
        row = numbers(variables, full)
        again = {v.name: v.value(n) for v, n in zip(variables, row, strict=True)}
        assert active(variables, again) == params


def test_cocabo_encoding_is_a_round_trip():
    encoding = Encoding(variables_of(CONDITIONAL))
    rng = np.random.default_rng(0)
    for params in CONDITIONAL.sample(20, 1):
        full = complete(encoding.variables, params, rng)
        h, x = encoding.encode(numbers(encoding.variables, full))
        assert np.all(np.abs(x) <= 1.0 + 1e-12)
        decoded = encoding.decode(h, x)
        for name, value in full.items():
            assert decoded[name] == pytest.approx(value)


def test_cocabo_process_interpolates_and_is_sure_where_it_has_seen():
    rng = np.random.default_rng(0)
    h = rng.integers(0, 3, (20, 2)).astype(float)
    x = rng.uniform(-1, 1, (20, 2))
    y = rng.normal(size=20)
    process = Process(h, x, y, Hyperparameters(0.5, 1e-6))
    bounds = np.array([process.lower_bound(h[k], x[k : k + 1])[0] for k in range(20)])
    assert bounds == pytest.approx(y, abs=0.02)
    away = process.lower_bound(np.array([9.0, 9.0]), np.array([[9.0, 9.0]]))
    assert away[0] < -1.5


def test_bandit_prefers_what_paid():
    bandit = Bandit(4, 200)
    for _ in range(40):
        bandit.reward(2, 1.0)
        bandit.reward(0, 0.0)
    chances = bandit.probabilities()
    assert np.sum(chances) == pytest.approx(1.0)
    assert np.argmax(chances) == 2
    assert np.min(chances) > 0.0


# The file of results


def small_plan(methods=("random", "paper"), seeds=(0, 1)):
    return Plan(("hartmann6", "func3c:moved"), methods, seeds, budget=2)


def collect(lines):
    return lambda line: lines.append(line)


def test_file_has_one_tidy_row_an_evaluation(tmp_path):
    path = tmp_path / "results.csv"
    assert run(small_plan(), path, report=collect([])) == []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 2 * 2 * 2 * 26
    for block in range(0, len(rows), 26):
        values = [float(row["value"]) for row in rows[block : block + 26]]
        best = [float(row["best"]) for row in rows[block : block + 26]]
        assert best == np.minimum.accumulate(values).tolist()
        assert [int(r["index"]) for r in rows[block : block + 26]] == list(range(26))


def test_run_resumes_and_adds_what_lacks(tmp_path):
    path, lines = tmp_path / "results.csv", []
    run(small_plan(seeds=(0,)), path, report=collect([]))
    before = path.read_text()
    run(small_plan(), path, report=collect(lines))
    assert lines[0] == "4 runs done, 4 to do"
    assert path.read_text().startswith(before)
    after = path.read_text()
    run(small_plan(), path, report=collect([]))
    assert path.read_text() == after


@pytest.mark.parametrize("moment", ["write", "flush", "replace"])
def test_a_machine_that_stops_while_writing_leaves_whole_runs(tmp_path, moment):
    path = tmp_path / "results.csv"
    run(small_plan(seeds=(0,)), path, report=collect([]))
    before = path.read_text()
    stopping = """
import os, sys
from pathlib import Path
import sklearn_mvrsm.benchmarks._store as store

def stop(*arguments, **options):
    os._exit(7)

moment, path = sys.argv[1], Path(sys.argv[2])
run = store.read_runs(path)[-1]
run = store.Run(run.task._replace(seed=9), run.values, run.own_seconds, run.budget)
match moment:
    case "write":
        whole = store.csv.writer
        rows = []
        class Writer:
            def __init__(self, file, **options):
                self.file, self.inner = file, whole(file, **options)
            def writerow(self, row):
                self.inner.writerow(row)
                rows.append(row)
                if len(rows) == 20:
                    self.file.flush()
                    os._exit(7)
        store.csv.writer = Writer
    case "flush":
        os.fsync = stop
    case "replace":
        Path.replace = stop
store.append_run(path, run)
"""
    command = [sys.executable, "-c", stopping, moment, str(path)]
    assert subprocess.run(command, check=False).returncode == 7
    assert path.read_text() == before
    run(small_plan(), path, report=collect([]))
    assert len(read_runs(path)) == 8


@pytest.mark.parametrize("other", [2, 9])
def test_results_of_another_budget_are_refused_and_stay(tmp_path, other):
    path = tmp_path / "results.csv"
    plan = Plan(("hartmann6",), ("random",), (0, 1), budget=5)
    run(plan, path, report=collect([]))
    before = path.read_text()
    with pytest.raises(ValueError, match=f"a budget of 5, {other} is asked for: use"):
        run(replace(plan, budget=other), path, report=collect([]))
    assert path.read_text() == before


def test_a_method_that_ends_early_is_not_run_again(tmp_path, working_directory):
    (working_directory / "early_method.py").write_text(
        "def f(problem, budget, seed):\n"
        "    for params in problem.initial_points(seed):\n"
        "        problem.evaluate(params)\n"
        "    return problem.values\n"
    )
    path, lines = tmp_path / "results.csv", []
    plan = Plan(("func3c",), ("early_method:f",), (0, 1), budget=3)
    run(plan, path, report=collect([]))
    before = path.read_text()
    run(plan, path, report=collect(lines))
    assert lines == ["2 runs done, 0 to do"]
    assert path.read_text() == before


def test_two_processes_give_the_same_values(tmp_path):
    alone, both = tmp_path / "one.csv", tmp_path / "two.csv"
    run(small_plan(), alone, report=collect([]))
    run(small_plan(), both, n_jobs=2, report=collect([]))
    first = {r.task: r.values.tolist() for r in read_runs(alone)}
    assert {r.task: r.values.tolist() for r in read_runs(both)} == first


def test_failing_and_missing_methods_are_reported(tmp_path, working_directory):
    (working_directory / "broken_method.py").write_text("def f(p, b, s): 1 / 0\n")
    lines = []
    plan = Plan(("func3c",), ("broken_method:f", "random"), (0,), budget=1)
    failures = run(plan, tmp_path / "results.csv", report=collect(lines))
    assert [f.task.method for f in failures] == ["broken_method:f"]
    assert "ZeroDivisionError" in failures[0].reason
    assert any("NO RESULT" in line for line in lines)
    assert len(read_runs(tmp_path / "results.csv")) == 1


def test_foreign_file_and_double_runs_are_refused(tmp_path):
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has columns"):
        read_runs(foreign)
    path = tmp_path / "results.csv"
    result = make_run("func3c", "random", 0, [1.0, 2.0])
    append_run(path, result)
    with pytest.raises(ValueError, match="second run"):
        read_all([path, path])
    append_run(path, result)
    with pytest.raises(ValueError, match="a second run"):
        read_runs(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.rsplit(",", 1)[0], "line 27: the row is not whole"),
        (lambda text: text[:-1] + ",0.1\n", "line 27: the row is not whole"),
        (lambda text: text.replace(",2.0,", ",2.0x,"), "line 27: could not convert"),
        (lambda text: text.replace(",2.0,1.0", ",0.5,1.0"), "line 27: 'best' must be"),
        (lambda text: text.replace(",1.0,1.0", ",1.0,1.5"), "line 26: 'best' must be"),
        (lambda text: text.replace("0,2,25,", "0,3,25,"), "line 27: 'budget' must be"),
        (lambda text: text.replace("0,2,25,", "0,2,26,"), "line 27: a second run"),
        (lambda text: text.replace("0,2,25,", "0,2,?,"), "line 27: invalid literal"),
    ],
)
def test_a_damaged_row_is_refused_by_its_line(tmp_path, change, message):
    path = tmp_path / "results.csv"
    append_run(path, make_run("func3c", "random", 0, [1.0, 2.0]))
    damaged = change(path.read_text())
    assert damaged != path.read_text()
    path.write_text(damaged)
    with pytest.raises(ValueError, match=f"{path.name}, {message}"):
        read_runs(path)


# Table and figures


def make_run(problem, method, seed, after, variant="original"):
    values = np.array([*np.linspace(30.0, 20.0, 24), *after])
    own = np.full(len(values), 0.002)
    return Run(Task(problem, variant, method, seed), values, own, len(after))


def made_runs():
    runs = []
    for seed in range(8):
        runs.append(make_run("func3c", "mvrsm", seed, [9.0, 1.0 + 0.1 * seed]))
        runs.append(make_run("func3c", "random", seed, [9.0, 3.0 + 0.2 * seed]))
    return runs


def test_table_of_a_small_made_file(tmp_path):
    path = tmp_path / "results.csv"
    for result in made_runs():
        append_run(path, result)
    rows = summarise(read_all([path]), reference="mvrsm")
    assert [row.method for row in rows] == ["mvrsm", "random"]
    best, other = rows
    assert best.mean == pytest.approx(1.35)
    assert other.mean == pytest.approx(3.7)
    assert best.n_runs == other.n_pairs == 8
    assert other.wins == 0
    assert other.wilcoxon == pytest.approx(2 / 2**8)
    assert other.t_test < 1e-6
    assert np.isnan(best.wilcoxon)
    assert best.own_late == pytest.approx(0.002)
    text = as_text(rows, reference="mvrsm")
    assert "| func3c | random | 8 | 3.7 |" in text
    assert "| 0/8 | 0.0078 |" in text


def test_runs_are_judged_as_they_were_after_fewer_evaluations(tmp_path, capsys):
    path = tmp_path / "results.csv"
    for result in (*made_runs(), make_run("hartmann6", "mvrsm", 0, [5.0])):
        append_run(path, result)
    assert main(["table", str(path), "--at", "1"]) == 0
    text = capsys.readouterr().out
    assert "| func3c | mvrsm | 8 | 9 | 0 | 9 |" in text  # 9.0 came first in each run
    assert "| hartmann6 | mvrsm | 1 | 5 |" in text
    assert main(["table", str(path), "--at", "2"]) == 0
    shown = capsys.readouterr()
    assert "| func3c | mvrsm | 8 | 1.35 |" in shown.out
    assert "hartmann6" not in shown.out
    left_out = "left out, as shorter: hartmann6 original by mvrsm, 1 of its runs\n"
    assert shown.err == left_out


def test_evaluations_are_counted_from_the_initial_points_of_each_problem():
    name = "bbob-mixint-f001-i01-d05"  # two random points a dimension
    area = Run(Task(name, "original", "a", 0), np.arange(100.0), np.arange(100.0), 90)
    other = make_run("func3c", "a", 0, np.arange(100.0))
    kept, shorter = cut([area, other], 90)
    assert [len(each.values) for each in kept] == [100, 114]
    assert [len(each.own_seconds) for each in kept] == [100, 114]
    assert shorter == []
    kept, shorter = cut([area, other], 91)
    assert [each.task for each in kept] == [other.task]
    assert shorter == [area.task]
    with pytest.raises(ValueError, match="'n' must be at least 1, got 0"):
        cut([area], 0)


@pytest.mark.parametrize("name", ["func3c", "esp-flow", "conditional-jenatton"])
def test_the_summary_knows_how_many_points_were_given(name):
    values = np.arange(100.0)[::-1]
    initial = make_problem(name).n_initial
    run = Run(Task(name, "original", "a", 0), values, values, 100 - initial)
    (kept,), _ = cut([run], 50)
    assert len(kept.values) == initial + 50
    ((curve,),) = curves([kept]).values()
    assert curve.best.tolist() == values[max(0, initial - 1) : initial + 50].tolist()
    assert len(curve.own_seconds) == len(curve.best) - 1


@pytest.mark.parametrize("group", ["tables", "tuning-report", "conditional"])
def test_groups_whose_methods_bring_their_points_are_counted_from_none(group):
    tasks = [Task(name, "original", "a", 0) for name in GROUPS[group]]
    runs = [Run(task, np.arange(9.0), np.arange(9.0), 9) for task in tasks]
    kept, shorter = cut(runs, 9)
    assert len(kept) == len(runs)
    assert not shorter


@pytest.mark.parametrize("option", ["--budget", "--jobs"])
def test_counts_below_one_are_refused_on_the_command_line(option, capsys):
    command = ["run", "--problems", "func3c", "--methods", "random", "--seeds", "0"]
    with pytest.raises(SystemExit):
        main([*command, option, "0"])
    assert f"{option}: must be at least 1, got 0" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["table", "none.csv", "--at", "-3"])
    assert "--at: must be at least 1, got -3" in capsys.readouterr().err


def test_area_is_what_counts_for_bbob_and_higher_is_better():
    name = "bbob-mixint-f001-i01-d05"
    good = Run(Task(name, "original", "good", 0), np.full(100, 1e-9), np.zeros(100), 90)
    bad = Run(Task(name, "original", "bad", 0), np.full(100, 1e3), np.zeros(100), 90)
    rows = summarise([bad, good], reference="bad")
    assert [(row.method, row.mean) for row in rows] == [("good", 1.0), ("bad", 0.0)]
    assert rows[0].problem == "bbob-mixint-d05"
    assert rows[0].wins == 1


def test_paired_tests_need_differences():
    same = np.ones(5)
    assert np.isnan(paired_tests(same, same)).all()
    assert np.isnan(paired_tests(np.ones(1), np.zeros(1))).all()
    wilcoxon, t_test = paired_tests(np.arange(9.0) + 1.0, np.zeros(9))
    assert wilcoxon == pytest.approx(2 / 2**9)
    assert 0.0 < t_test < 0.01


def test_curves_start_at_the_best_initial_point():
    found = curves(made_runs())
    assert list(found) == [("func3c", "original")]
    ours, other = found["func3c", "original"]
    assert (ours.method, other.method) == ("mvrsm", "random")
    assert ours.best.tolist() == pytest.approx([20.0, 9.0, 1.35])
    assert ours.deviation[:2].tolist() == [0.0, 0.0]
    assert ours.own_seconds.tolist() == pytest.approx([0.002, 0.002])


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    runs = [*made_runs(), make_run("ackley53", "random", 0, [1.0], variant="moved")]
    paths = draw_all(runs, tmp_path / "figures", "png")
    assert [path.name for path in paths] == ["func3c.png", "ackley53-moved.png"]
    assert all(path.stat().st_size > 10_000 for path in paths)
    (small,) = draw_all(made_runs(), tmp_path, "png", values_only=True)
    assert 1_000 < small.stat().st_size < paths[0].stat().st_size


def test_steps_are_measured_where_asked():
    found = list(measure(["mvrsm"], [10], [26, 29], repeats=3))
    assert [(step.d, step.n) for step in found] == [(10, 26), (10, 29)]
    assert all(0.0 < step.median <= step.largest for step in found)


def test_command_line_runs_and_tables(working_directory):
    def command(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "sklearn_mvrsm.benchmarks", *arguments],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    options = ("--problems", "func3c", "--seeds", "0-1", "--budget", "2")
    done = command("run", *options, "--methods", "random", "paper", "--out", "r.csv")
    assert done.returncode == 0, done.stderr
    assert "4 to do" in done.stdout
    table = command("table", "r.csv", "--reference", "paper")
    assert table.returncode == 0, table.stderr
    assert "| func3c | random | 2 |" in table.stdout
    listed = command("list")
    assert "rosenbrock238" in listed.stdout
    assert "optuna-tpe" in listed.stdout
