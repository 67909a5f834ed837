"""What the engine costs, and how busy its slots are."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_mvrsm import MVRSMOptimizer
from sklearn_mvrsm.benchmarks import _memory, costs, make_problem, slots
from sklearn_mvrsm.benchmarks._sleeper import Sleeper


def test_fits_of_unequal_length_are_drawn_by_level_and_table(monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    tables = [np.full((2, 1), k) for k in range(40)]
    for level in (0.1, 0.2, 0.1):
        for X in tables:
            Sleeper(2.0, level, spread=1.0).fit(X, [0, 1])
    first, second, again = np.array(slept).reshape(3, -1)
    assert np.array_equal(first, again)
    assert not np.isclose(first, second).any()
    logs = np.log(np.concatenate([first, second]) / 2.0)
    assert abs(np.median(logs)) < 0.4
    assert 0.7 < logs.std() < 1.3
    Sleeper(2.0).fit(tables[0], [0, 1])
    assert slept[-1] == 2.0


def test_the_share_in_fits_is_that_of_the_time_of_all_slots(monkeypatch):
    options = {"n_iter": 2, "n_jobs": 1, "spread": 1.0, "n_pending": 1}
    assert 0.0 < slots.share_in_fits(0.01, **options) <= 1.0
    log = {"start": np.array([1.0, 1.0, 3.0]), "finish": np.array([3.0, 2.0, 5.0])}
    done = SimpleNamespace(fit=lambda X, y: SimpleNamespace(fit_log_=log))
    monkeypatch.setattr(slots, "MVRSMSearchCV", lambda *args, **options: done)
    assert slots.share_in_fits(0.3, n_iter=1, n_jobs=2) == 5.0 / 8.0


def test_with_one_pending_the_optimiser_is_told_at_once():
    problem = make_problem("rosenbrock10")
    optimizer = MVRSMOptimizer(problem.space, n_initial_points=24, random_state=3)
    values = []
    for _ in range(30):
        params = optimizer.ask()
        values.append(problem.evaluate(params))
        optimizer.tell(params, values[-1])
    assert slots.best_found("rosenbrock10", 1, seed=3, budget=6) == min(values)


def test_the_tables_of_slots_have_a_line_for_each_measurement(monkeypatch, capsys):
    monkeypatch.setattr(
        slots, "share_in_fits", lambda seconds, n_pending=5, **rest: n_pending / 10.0
    )
    slots.main(["--seeds", "1", "--budget", "0", "--problems", "rosenbrock10:moved"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["0.02", "s", "50.0%"]
    assert lines[4].split() == ["n_pending", "1", "10.0%"]
    # without a budget all is initial points, whoever is told what
    assert len(set(lines[-1].split()[1:])) == 1


def test_both_searches_make_the_same_fits():
    params = [{"C": 1.0}, {"C": 0.1}]
    case = costs.Case("tiny", LogisticRegression(), params, 60, 2)
    ours = costs.ours(case, 2).fit(*case.data()).cv_results_
    theirs = costs.theirs(case, 2).fit(*case.data()).cv_results_
    assert [p["C"] for p in ours["params"]] == [1.0, 0.1]
    for k in range(10):
        mine = dict(zip((1.0, 0.1), ours[f"split{k}_test_score"], strict=True))
        other = {
            p["C"]: score
            for p, score in zip(
                theirs["params"], theirs[f"split{k}_test_score"], strict=True
            )
        }
        assert mine == other
    assert "split10_test_score" not in ours.keys() | theirs.keys()


def test_searches_of_few_and_of_many_fits_are_timed_in_turns():
    pytest.importorskip("psutil")
    case = costs.Case("tiny", LogisticRegression(), [{"C": 1.0}], 60, 2)
    found = costs.compare(case, rounds=1)
    assert found.keys() == {(who, n) for who in ("ours", "theirs") for n in (1, 3)}
    for cost in found.values():
        assert len(cost.cpu) == len(cost.wall) == 1
        assert min(cost.wall) > 0.0
        assert min(cost.cpu) >= 0.0


def test_what_both_searches_do_once_is_no_part_of_a_fit():
    # of ours, 3 s begin and end it and a round of fits takes 2 s; of theirs 1 and 4
    case = costs.Case("made up", None, [{"C": 1.0}, {"C": 2.0}], 60)
    made_up = {
        ("ours", 1): costs.Cost([5.0], [0.5]),
        ("ours", 3): costs.Cost([9.0], [0.9]),
        ("theirs", 1): costs.Cost([5.0], [5.0]),
        ("theirs", 3): costs.Cost([13.0], [7.0]),
    }
    words = costs._line(case, made_up).removeprefix("made up").split()
    cpu, wall, fit, once_cpu, once_wall = (float(word) for word in words)
    assert (cpu, wall) == (0.5, 0.2)
    assert fit == 200.0  # 4 s for 20 fits
    assert once_cpu == 2.0
    assert once_wall == -3.7


def test_the_cases_have_short_and_long_fits_of_both_kinds():
    names = [case.name for case in costs.cases(10)]
    assert len(names) == len(set(names)) == 5
    X, y = costs.cases(10)[0].data()
    assert X.shape == (4000, 25)
    assert set(y) == {0, 1, 2}
    assert costs.Case("", None, [], 1_000_000).data()[0].nbytes == 200_000_000


def test_a_slot_is_back_after_the_deadline_of_a_stuck_fit():
    (delay,) = costs.back_after_kill(1, pause=0.1)
    assert 0.0 < delay < 60.0


def test_workers_map_the_table_and_do_not_hold_it():
    pytest.importorskip("psutil")
    held = costs.memory(n_samples=400_000)  # 80 MB
    assert 1 <= len(held["workers, resident"]) <= 2
    for resident, own in zip(
        held["workers, resident"], held["workers, their own"], strict=True
    ):
        assert own < resident - 70.0


@pytest.mark.skipif(
    sys.platform != "linux", reason="the largest memory is read from /proc"
)
@pytest.mark.long
def test_no_process_holds_more_than_those_of_randomized_search():
    pytest.importorskip("psutil")
    pytest.importorskip("pandas")
    # the least that a copy of the table would add: 80 MB to less than 300 MB
    parent, worker = costs.memory_ratios(n_samples=400_000, kind="pandas", cut=True)
    assert 0.5 < parent < 1.1
    assert 0.5 < worker < 1.1


def test_the_cost_of_threads_is_measured_and_the_environment_left(monkeypatch):
    class Search:
        def __init__(self, times):
            self.times = times

        def fit(self, X, y):
            return self.times, os.environ.get("OMP_NUM_THREADS")

    def timed(run, cost):
        times, n_threads = run()
        fits = times * (1.0 if n_threads is None else 4.0)
        cost.cpu.append(7.0 + fits)
        cost.wall.append(7.0 + 2.0 * times)
        seen.append(n_threads)

    seen = []
    monkeypatch.setattr(costs, "ours", lambda case, times: Search(times))
    monkeypatch.setattr(costs, "timed", timed)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert costs.threads(None, rounds=2, n_samples=60) == (4.0, 1.0)
    assert seen == [None, str(os.cpu_count())] * 4
    assert os.environ["OMP_NUM_THREADS"] == "1"
    names = [type(each).__name__ for each in costs.boosters()]
    assert names[0] == "HistGradientBoostingClassifier"


def test_the_costs_are_printed_with_a_line_for_each_case(monkeypatch, capsys):
    tiny = costs.Case("tiny", LogisticRegression(), [{"C": 1.0}], 60, 2)
    numbers = {
        ("ours", 1): costs.Cost([1.0], [2.0]),
        ("ours", 3): costs.Cost([2.0], [5.0]),
        ("theirs", 1): costs.Cost([1.0], [2.0]),
        ("theirs", 3): costs.Cost([3.0], [4.0]),
    }
    monkeypatch.setattr(costs, "cases", lambda n: [tiny])
    monkeypatch.setattr(costs, "compare", lambda case, n: numbers)
    monkeypatch.setattr(costs, "boosters", lambda: [LogisticRegression()])
    monkeypatch.setattr(costs, "threads", lambda booster, n: (1.25, 0.75))
    monkeypatch.setattr(costs, "back_after_kill", lambda n: [0.1])
    monkeypatch.setattr(costs, "memory", lambda n: {"parent": [200.0]})
    monkeypatch.setattr(_memory, "memory_ratios", lambda n, *_: (n / 1e6, 0.5))
    costs.main([])
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split()[:4] == ["tiny", "0.500", "1.500", "100.0"]
    assert lines[5].split() == ["LogisticRegression", "1.250", "0.750"]
    assert "100 ms" in lines[6]
    assert lines[-10].split() == ["parent", "200"]
    assert lines[-8].split() == ["200", "MB,", "numpy", "1.000", "0.500"]
    assert lines[-1].split()[-2:] == ["2.500", "0.500"]
    costs.main(["--memory", "--megabytes", "200"])
    assert capsys.readouterr().out.splitlines() == lines[-9:-4]
