"""Searches of a space in half of which fits are killed."""

from types import SimpleNamespace

import pytest

from sklearn_mvrsm.benchmarks import failures


def test_a_half_of_the_space_that_times_out_is_left_soon(late_if):
    late_if(lambda params: params["x"] > 0.5)
    found = failures.search(0.25, n_iter=16, seed=0)
    killed = [params["x"] > 0.5 for params in found.cv_results_["params"]]
    statuses = found.cv_results_["status"]
    assert [status == "timeout" for status in statuses] == killed
    assert sum(killed[8:]) < sum(killed[:8])
    shares = failures.quarters(found)
    assert shares == [sum(killed[k : k + 4]) / 4.0 for k in (0, 4, 8, 12)]
    assert failures.regret(found, 0.25) >= 0.0
    assert found.best_params_["x"] <= 0.5


@pytest.mark.parametrize(("best", "allowed"), [(0.25, 0.0), (0.9, 0.16)])
def test_the_score_is_known(best, allowed):
    model = failures.Hanging(x=min(best, 0.5), y=0.7, k=3, c="b", best=best)
    assert model.score(None, None) == pytest.approx(-allowed)
    worse = failures.Hanging(x=min(best, 0.5), y=0.7, k=4, c="a", best=best)
    assert worse.score(None, None) == pytest.approx(-allowed - 0.11)


def test_the_table_has_a_line_for_each_problem(monkeypatch, capsys):
    statuses = {"status": ["timeout"] * 3 + ["ok"] * 5}
    found = SimpleNamespace(cv_results_=statuses, best_score_=-0.25)
    monkeypatch.setattr(failures, "search", lambda best, n_iter, seed: found)
    failures.main(["--seeds", "2", "--n-iter", "8"])
    *_, first, second, third = capsys.readouterr().out.splitlines()
    assert first.split() == ["0.25", "100.0%", "50.0%", "0.0%", "0.0%", "0.2500"]
    assert second.split()[-1] == "0.2500"
    assert third.split()[-1] == "0.0900"
