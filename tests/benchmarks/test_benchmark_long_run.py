"""The long run measures what it says."""

import pytest

pytest.importorskip("psutil")

from sklearn_mvrsm import MVRSMOptimizer
from sklearn_mvrsm.benchmarks import long_run


def test_stages_tell_of_all_values_and_of_what_was_proposed(monkeypatch):
    proposed, told = [], []

    class Noting(MVRSMOptimizer):
        def ask(self):
            proposed.append(super().ask())
            return proposed[-1]

        def tell(self, params, value):
            told.append((params, value))
            super().tell(params, value)

    monkeypatch.setattr(long_run, "MVRSMOptimizer", Noting)
    found = list(long_run.stages(n_stages=3, n_told=30, n_steps=4))
    assert [stage.n_told for stage in found] == [30, 60, 90]
    assert len(told) == 90
    last = [params for k in (30, 60, 90) for params, _ in told[k - 4 : k]]
    assert last == proposed
    assert all(value == long_run.bowl(params) for params, value in told)
    for k, stage in enumerate(found, start=1):
        assert stage.best == min(value for _, value in told[: 30 * k])
        assert stage.step > 0.0
        assert stage.memory > 1.0


def test_the_least_value_of_the_bowl_is_at_its_bottom():
    numbers = {**{f"i{k}": 3 for k in range(3)}, **{f"x{k}": 3.0 for k in range(5)}}
    best = {"c0": "b", "c1": "c", **numbers}
    assert long_run.bowl(best) == 0.0
    assert long_run.bowl({**best, "c0": "a"}) == 5.0
    assert long_run.bowl({**best, "x4": 1.0}) == 4.0


def test_a_line_a_stage_is_printed(capsys):
    long_run.main(["--stages", "2", "--told", "26", "--steps", "2"])
    head, *lines = capsys.readouterr().out.splitlines()
    assert "ms a step" in head
    assert [int(line.split()[0]) for line in lines] == [26, 52]
