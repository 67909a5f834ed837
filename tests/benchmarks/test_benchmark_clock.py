"""Searches by compute: what is counted, and how curves are compared."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from sklearn_mvrsm.benchmarks import _clock_peers, clock, make_problem
from sklearn_mvrsm.benchmarks._kinds import KINDS
from sklearn_mvrsm.benchmarks._metered import BudgetSpent, FitMeter, Model, metered


def test_a_candidate_is_validated_by_all_folds_on_all_rows():
    meter = FitMeter(limit=10.0, rows=100)
    for rows, loss in ((50, 0.0), (100, 0.3), (100, 0.4), (99, 0.5), (100, 9.0)):
        meter.add({"C": 1.0}, rows, 1.5, loss)
    assert meter.best == [(6.0, pytest.approx(0.4), {"C": 1.0})]
    assert meter.ends == [6.0]
    assert not meter.is_spent
    for _ in range(3):
        meter.add({"C": 2.0}, 100, 1.0, 0.6)
    assert len(meter.best) == 1
    assert meter.ends == [6.0, 10.5]
    assert meter.is_spent


def test_the_block_ends_with_the_compute():
    with metered(FitMeter(1.0, 1)):
        raise BudgetSpent
    with pytest.raises(ValueError, match="told"), metered(FitMeter(1.0, 1)):
        raise ValueError("told")


def test_a_model_is_an_estimator_of_its_kind():
    model = Model(KINDS["svm"], C=1.0, gamma=None).set_params(kernel="linear")
    assert model.given == {"C": 1.0, "kernel": "linear"}
    assert model.get_params()["kind"] is KINDS["svm"]


def curve(variant, seed, *points, used=15.0):
    return clock.Curve("svm-magic", variant, seed, 1000, 10.0, list(points), used)


def test_variants_are_compared_with_the_plain_search_of_other_seeds():
    curves = [
        curve("plain", 0, (2.0, 0.4, 0.6), (8.0, 0.2, 0.5)),
        curve("plain", 1, (4.0, 0.4, 0.5), (12.0, 0.1, 0.5)),
        curve("quick", 0, (1.0, 0.4, 0.5), (2.5, 0.2, 0.25)),
        curve("quick", 1, (5.0, 0.2, 0.25), used=5.0),
        curve("none", 0),
    ]
    plain, quick, none = clock.compare(curves)
    # 0.4 of seed 1 is reached by seed 0 after 2 of 10, 0.2 of seed 0 by seed 1 after 12
    assert np.exp(plain.ratio[0]) == pytest.approx(np.sqrt(0.2 * 1.2))
    assert quick.ratio[0] == pytest.approx(np.log([0.1, 0.5]).mean())
    assert quick.gain[0] == pytest.approx(quick.ratio[0] - plain.ratio[0])
    assert plain.gain[0] == 0.0
    # its 0.2 is reached by seed 1 after 12 of its 10, and by seed 0 after 8 of its 5
    assert quick.overtaken[0] == pytest.approx(np.log([1.2, 1.6]).mean())
    # seed 1 is before its 0.2 found 0.4; what has nothing is reached by the first
    assert plain.overtaken[0] == pytest.approx(np.log([1.2, 0.2]).mean())
    assert none.overtaken[0] == pytest.approx(np.log(0.4))
    assert (plain.reached, quick.reached) == (1.0, 1.0)
    # after 10: 0.2 against 0.4, and 0.2 against 0.2
    assert quick.validated[-1][0] == pytest.approx(np.mean([-0.5, 0.0]))
    assert quick.outer[-1][0] == pytest.approx(-0.5)
    _, quick, none = clock.compare(curves, "quick")
    # quick has its own 0.2 after 5 and 2.5 of 10, and 0.2 of the other seed as well
    assert quick.ratio[0] == pytest.approx(np.log([0.25, 0.5]).mean())
    assert quick.overtaken[0] == pytest.approx(np.log(0.5))
    assert none.overtaken[0] == pytest.approx(np.log(0.5))
    plain, quick, _ = clock.compare(curves)
    written = clock.as_text([plain, quick])
    ratios = "0.22 (nan to nan) | 0.46 (nan to nan) | 100% | 1.39 (nan to nan)"
    assert f"| quick | {ratios} |" in written


@pytest.mark.parametrize(
    ("variant", "library"),
    [
        ("plain", "sklearn"),
        ("portfolio", "sklearn"),
        ("random", "sklearn"),
        ("halving", "sklearn"),
        ("tpe-hyperband", "optuna"),
        ("cfo", "flaml"),
        ("smac", "smac"),
    ],
)
def test_every_search_scores_the_same_folds(keel, variant, library, monkeypatch):
    pytest.importorskip(library, reason="it is the search")
    monkeypatch.setattr(clock, "N_ITER", 4)
    monkeypatch.setattr(clock, "MOST", 6)
    monkeypatch.setattr(_clock_peers, "MORE", 4 if variant == "smac" else 1)
    found = clock.search("svm-wine", variant, 0, 100, np.inf)
    seconds, losses, outer = np.array(found.points).T
    assert (np.diff(seconds) > 0.0).all()
    assert (np.diff(losses) < 0.0).all()
    assert ((outer >= 0.0) & (outer <= 1.0)).all()
    assert (found.planned < np.inf) == (variant == "plain")


def test_what_was_learned_is_tried_first(keel, monkeypatch):
    given = {}
    monkeypatch.setattr(clock, "ours", lambda *task, **options: given.update(options))
    clock.search("svm-bupa", "portfolio", 0, 100, planned=1.0)
    first = make_problem("tuning-svm-bupa").first()
    assert len(first) > 4
    assert given["initial_points"] == first


@pytest.mark.parametrize("variant", clock.TABLE_VARIANTS)
def test_a_table_is_searched_by_its_training_times(variant, monkeypatch):
    original, values = make_problem("func3c"), []

    def function(params):
        values.append(original.evaluate(params))
        return values[-1]

    problem = replace(original, function=function, optimum=-1.0, typical=0.0)
    monkeypatch.setattr(clock, "make_table", lambda name: problem)
    monkeypatch.setattr(clock, "training_seconds", lambda name: lambda params: 2.0)
    monkeypatch.setattr(clock, "N_ITER", 8)
    found = clock.search("table-hpobench-car", variant, 0, planned=16.0)
    assert found.planned == 16.0
    assert all(seconds % 2.0 == 0.0 for seconds, *_ in found.points)
    assert found.points[-1][0] <= 24.0
    assert found.points[-1][1] == pytest.approx(2.0 + min(values))


def test_what_the_file_has_is_not_searched_again(keel, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(clock, "N_ITER", 2)
    monkeypatch.setattr(clock, "MOST", 3)
    arguments = ["--out", str(tmp_path / "c"), "--pairs", "svm-wine", "--rows", "60"]
    monkeypatch.setitem(sys.modules, "flaml.tune", None)  # as if not installed
    # wine is among what portfolios were learned on
    clock.main([*arguments, "--variants", "cfo", "portfolio", "random"])
    assert "pip install 'flaml'" in capsys.readouterr().err
    known = clock.read(tmp_path / "c")
    assert [(c.variant, c.seed) for c in known] == [
        ("plain", 0),
        ("random", 0),
        ("plain", 1),
        ("random", 1),
    ]
    assert known[1].planned == known[0].planned
    wrong = (["--seeds", "1"], "2: "), (["--pairs", "svn-wine"], "'svn-wine': kinds")
    for given, message in wrong:
        with pytest.raises(SystemExit):
            clock.main([*arguments, *given])
        assert message in capsys.readouterr().err
    clock.main([*arguments, "--variants", "random"])
    assert clock.read(tmp_path / "c") == known
    assert "| random |" in capsys.readouterr().out
