"""What the engine costs, and how busy its slots are."""

import os

import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_mvrsm import MVRSMOptimizer
from sklearn_mvrsm.benchmarks import costs, make_problem, slots


def test_simulated_slots_are_all_busy_where_nothing_has_to_wait():
    evaluator = slots.Simulated(3, iter([2.0, 1.0, 1.0, 1.0, 1.0]))
    for candidate in range(5):
        evaluator.submit(candidate, {}, [0])
    ends = []
    while (fold := evaluator.next_event()) is not None:
        ends.append((evaluator.now, fold.candidate))
    assert ends == [(1.0, 1), (1.0, 2), (2.0, 0), (2.0, 3), (2.0, 4)]
    assert evaluator.busy == 6.0


def test_more_pending_candidates_keep_more_simulated_slots_busy():
    shares = [slots.simulated_share(n, n_iter=100) for n in (1, 2, 4, 8, 100)]
    assert shares == sorted(shares)
    assert shares[0] < 0.4  # five folds cannot fill eight slots
    assert shares[-1] > 0.95


def test_a_simulated_search_of_one_slot_never_waits():
    assert slots.simulated_share(1, n_slots=1, n_iter=20) == pytest.approx(1.0)


def test_a_real_search_has_a_share_of_slot_time_in_fits():
    share = slots.measured_share(0.2, n_iter=4)
    assert 0.3 < share <= 1.0  # less on a busy machine than what the docs tell


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
    monkeypatch.setattr(slots, "measured_share", lambda seconds, n_iter: 0.5)
    monkeypatch.setattr(slots, "simulated_share", lambda n: n / 10.0)
    slots.main(["--seeds", "1", "--budget", "0", "--problems", "rosenbrock10:moved"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["0.02", "s", "50.0%"]
    assert lines[4].split() == ["n_pending", "1", "10.0%"]
    # without a budget all is initial points, whoever is told what
    assert len(set(lines[-1].split()[1:])) == 1


def test_the_same_fits_are_timed_for_both():
    pytest.importorskip("psutil")
    params = [{"C": 1.0}, {"C": 0.1}]
    case = costs.Case("tiny", LogisticRegression(), params, 60, 2)
    for cost in costs.compare(case, rounds=2):
        assert len(cost.cpu) == len(cost.wall) == 2
        assert min(cost.wall) > 0.0


def test_the_cases_have_short_and_long_fits_of_both_kinds():
    names = [case.name for case in costs.cases(10)]
    assert len(names) == len(set(names)) == 5
    X, y = costs.cases(10)[0].data()
    assert X.shape == (4000, 25)
    assert set(y) == {0, 1, 2}
    assert costs.Case("", None, [], 1_000_000).data()[0].nbytes == 200_000_000


def test_a_slot_is_back_after_the_deadline_of_a_stuck_fit():
    (delay,) = costs.back_after_kill(1, pause=0.1)
    assert delay > 0.0


def test_workers_map_the_table_and_do_not_hold_it():
    pytest.importorskip("psutil")
    held = costs.memory(n_samples=400_000)  # 80 MB
    assert 1 <= len(held["workers, resident"]) <= 2
    for resident, own in zip(
        held["workers, resident"], held["workers, their own"], strict=True
    ):
        assert own < resident - 70.0


def test_the_cost_of_threads_is_measured_and_the_environment_left(monkeypatch):
    pytest.importorskip("psutil")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for ratio in costs.threads(LogisticRegression(), rounds=1, n_samples=60):
        assert ratio > 0.0
    assert os.environ["OMP_NUM_THREADS"] == "1"
    names = [type(each).__name__ for each in costs.boosters()]
    assert names[0] == "HistGradientBoostingClassifier"


def test_the_costs_are_printed_with_a_line_for_each_case(monkeypatch, capsys):
    tiny = costs.Case("tiny", LogisticRegression(), [{"C": 1.0}], 60, 2)
    monkeypatch.setattr(costs, "cases", lambda n: [tiny])
    monkeypatch.setattr(
        costs,
        "compare",
        lambda case, n: (costs.Cost([1.0], [3.0]), costs.Cost([2.0], [2.0])),
    )
    monkeypatch.setattr(costs, "boosters", lambda: [LogisticRegression()])
    monkeypatch.setattr(costs, "threads", lambda booster, n: (1.25, 0.75))
    monkeypatch.setattr(costs, "back_after_kill", lambda n: [0.1])
    monkeypatch.setattr(costs, "memory", lambda n: {"parent": [200.0]})
    costs.main([])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["tiny", "0.500", "1.500", "200.0"]
    assert lines[4].split() == ["LogisticRegression", "1.250", "0.750"]
    assert "100 ms" in lines[5]
    assert lines[-1].split() == ["parent", "200"]
