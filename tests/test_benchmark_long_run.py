"""The long run measures what it says."""

import pytest

pytest.importorskip("psutil")

from sklearn_mvrsm.benchmarks import long_run


def test_stages_tell_of_all_values_and_of_what_was_proposed(monkeypatch):
    told = []
    monkeypatch.setattr(long_run, "bowl", lambda p: told.append(p) or len(told) * 1.0)
    found = list(long_run.stages(n_stages=3, n_told=30, n_steps=4))
    assert [stage.n_told for stage in found] == [30, 60, 90]
    assert len(told) == 90
    assert all(stage.best == 1.0 for stage in found)
    assert all(stage.step > 0.0 and stage.memory > 1.0 for stage in found)


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
