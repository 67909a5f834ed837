"""Laws of `minimize` beyond ask and tell: processes, limits, journals, messages."""

import functools
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from sklearn.exceptions import FitFailedWarning

from sklearn_mvrsm import Categorical, Integer, Real, minimize
from sklearn_mvrsm._search import loop
from sklearn_mvrsm.inspection import ParetoDisplay, TimelineDisplay

SPACE = {"x": Real(-1.0, 1.0, default=0.5), "kind": Categorical(["bowl", "plane"])}
LEVEL = 0.0


def cost(params):
    return params["x"] ** 2 + LEVEL if params["kind"] == "bowl" else 2.0 + params["x"]


def other_cost(params):
    return params["x"] ** 2


def scaled(factor, params):
    return factor * params["x"]


def counted(params):
    return float(params["k"])


STATUSES = {2: "timeout", 4: "crashed", 5: "out_of_memory", 7: "error", 8: "error"}


def faulty(params):
    match params["k"]:
        case 2:
            time.sleep(600.0)
        case 4:
            os._exit(3)
        case 5:
            raise MemoryError("no more")
        case 7:
            raise ValueError("seven")
        case 8:
            return np.inf
    return abs(params["k"] - 3.2)


@pytest.mark.long
def test_failures_in_workers_are_rows_and_change_nothing_else(plt):
    space = {"k": Integer(0, 11)}
    options = {"n_pending": 2, "random_state": 0}
    alone = minimize(
        lambda params: np.nan if params["k"] in STATUSES else faulty(params),
        space,
        12,
        **options,
    )
    options |= {"n_jobs": 2, "fit_timeout": 10.0, "error_score": -1.0}
    with pytest.warns(FitFailedWarning, match="5 of 12 evaluations failed") as caught:
        result = minimize(faulty, space, 12, **options)
    expected = [STATUSES.get(params["k"], "ok") for params in result.x_iters]
    assert result.fit_log["status"].tolist() == expected
    assert set(result.fit_log["slot"].tolist()) == {0, 1}
    assert result.x_iters == alone.x_iters
    assert (result.x, result.fun) == (alone.x, alone.fun)
    values = {2: -1.0, 4: -1.0, 5: -1.0, 7: -1.0, 8: np.inf}
    assert result.func_vals.tolist() == [
        values.get(params["k"], faulty(params) if params["k"] not in values else 0.0)
        for params in result.x_iters
    ]
    late = "1 evaluations timed out: the call was stopped after "
    for text in (late, "seven", "func(params) returned inf"):
        assert text in str(caught[0].message)
    display = TimelineDisplay.from_estimator(result)
    assert display.candidate.tolist() == list(range(12))
    display.plot().figure_.canvas.draw()


def held_up(params):
    if params["k"] == 0:
        time.sleep(600.0)
    if params["k"] == 2:
        raise ValueError("two")
    return float(params["k"])


def test_an_exception_in_a_worker_keeps_what_came_before_those_that_still_run():
    points = [{"k": k} for k in range(4)]
    with pytest.raises(ValueError, match="two") as info:
        minimize(
            held_up,
            {"k": Integer(0, 9)},
            9,
            initial_points=points,
            n_jobs=2,
            n_pending=3,
        )
    result = info.value.result
    assert result.x_iters[0] == result.x == {"k": 1}
    assert result.nfev == len(result.func_vals) == len(result.optimizer.trials)
    assert "It was raised in a worker" in info.value.__notes__[0]


@pytest.mark.parametrize("hangs_at", [1, 2])
def test_the_time_ends_it_and_kills_what_runs(hangs_at, tmp_path, monkeypatch):
    begun = tmp_path / "begun"

    def func(params):
        if params["x"] != 0.5 or hangs_at == 1:
            begun.touch()
            time.sleep(600.0)
        return 1.0

    if hangs_at == 1:
        with pytest.raises(TimeoutError, match=r"first evaluation\. .*No evaluation e"):
            minimize(func, SPACE, None, timeout=0.2)
        return

    def monotonic():  # the time is over once the second evaluation has begun
        return time.monotonic() + 1e6 * begun.exists()

    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=monotonic))
    result = minimize(func, SPACE, None, timeout=500.0)
    assert (result.nfev, result.fun, result.success) == (1, 1.0, True)
    assert result.message == "The time, timeout=500.0 seconds, was over."
    assert result.fit_log["status"].tolist() == ["ok", "killed"]


# --- exceptions -----------------------------------------------------------------


def test_exceptions_can_be_failures(tmp_path):
    def func(params):
        if params["k"] in STATUSES:
            raise ValueError("odd")
        return counted(params)

    run = functools.partial(minimize, func, {"k": Integer(0, 9)}, 10, random_state=0)
    with pytest.raises(ValueError, match="odd"):
        run()
    kept = {"checkpoint": tmp_path / "journal"}
    with pytest.warns(FitFailedWarning, match="ValueError: odd"):
        result = run(error_score=np.nan, **kept)
    with pytest.raises(RuntimeError, match=r"(?s)a call raised:.*ValueError: odd"):
        run(**kept)
    failed = [params["k"] in STATUSES for params in result.x_iters]
    assert np.isnan(result.func_vals).tolist() == failed
    assert (result.nfev, result.x, result.fun) == (10, {"k": 0}, 0.0)


@pytest.mark.parametrize(
    ("error_score", "n_made", "message"),
    [
        (np.nan, 8, "(?s)ends after 8 of 12 evaluations, .*8 of 8 evaluations fail"),
        (7.0, 12, "No finite value was found.\n12 of 12 evaluations failed"),
    ],
)
def test_a_function_that_always_fails_alike_ends_it(error_score, n_made, message):
    with pytest.raises(ValueError, match=message) as info:
        minimize(
            lambda params: 1 / 0, {"x": Real(0.0, 1.0)}, 12, error_score=error_score
        )
    result = info.value.result
    assert (result.nfev, result.x, result.success) == (n_made, None, False)
    np.testing.assert_equal(result.func_vals, [error_score] * n_made)


# --- checkpoints ----------------------------------------------------------------

MODULE = """
import os
from sklearn_mvrsm import Integer, Real, minimize

made = []
space = {"x": Real(-1.0, 1.0), "k": Integer(0, 9)}

def cost(params):
    return float("nan") if params["k"] == 4 else params["x"] ** 2 + abs(params["k"] - 6)

def end(result):
    made.append(result.restored)
    if len(made) == 9 and os.environ.get("KILL"):
        os._exit(9)

def run(path):
    return minimize(cost, space, 25, random_state=0, checkpoint=path, callback=end)
"""


def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch):
    (tmp_path / "module_of_a_run.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module, path = __import__("module_of_a_run"), str(tmp_path / "journal")
    code = f"import module_of_a_run; module_of_a_run.run({path!r})"
    env = os.environ | {"KILL": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code], env=env, check=False)
    assert ended.returncode == 9
    result = module.run(path)
    assert module.made == [True] * 9 + [False] * 16
    drawn, known = ParetoDisplay.from_estimator(result).values, result.func_vals
    seconds = np.where(np.isfinite(known), result.fit_times, np.nan)
    np.testing.assert_array_equal(drawn, np.stack([known, seconds], axis=1))
    assert (result.fit_times > 0.0).all()
    expected = module.run(None)
    assert result.x_iters == expected.x_iters
    np.testing.assert_equal(result.func_vals, expected.func_vals)
    assert (result.x, result.fun) == (expected.x, expected.fun)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"func": other_cost}, "function, code"),
        ({"level": 1.0}, "function, globals"),
        ({"func": functools.partial(scaled, 2.0)}, "function, type"),
        ({"space": {**SPACE, "x": Real(-2.0, 1.0)}}, "space, 'x', low"),
        ({"random_state": 1}, "random_state: it gives the seed 1, not 0"),
        ({"n_pending": 2}, "arguments, n_pending"),
        ({"initial_points": [{"x": 0.0, "kind": "bowl"}]}, "arguments, initial_points"),
        ({"random_state": None, "n_iter": 6, "error_score": np.nan}, None),
        ({"random_state": np.random.default_rng(5)}, "random_state: it gives"),
    ],
    ids=str,
)
def test_a_journal_of_another_run_is_refused_by_name(
    change, named, tmp_path, monkeypatch
):
    run = {"func": cost, "space": SPACE, "n_iter": 4, "random_state": 0}
    run["checkpoint"] = tmp_path / "journal"
    first = minimize(**run)
    monkeypatch.setitem(globals(), "LEVEL", change.pop("level", LEVEL))
    if named is None:
        assert minimize(**run | change).x_iters[:4] == first.x_iters
        return
    with pytest.raises(ValueError, match=f"(?s)These differ:.*- {named}"):
        minimize(**run | change)


# --- what is shown --------------------------------------------------------------


def test_each_evaluation_has_a_line(capsys):
    points = [{"k": 4}, {"k": 8}, {"k": 7}]
    options = {"initial_points": points, "include_default": False}
    with pytest.warns(FitFailedWarning):
        minimize(
            lambda params: faulty({"k": 7}) if params["k"] == 7 else params["k"] / 9,
            {"k": Integer(4, 8)},
            3,
            error_score=np.nan,
            verbose=2,
            **options,
        )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Evaluating the function 3 times"
    assert lines[1].startswith("[1/3] END ....")
    assert lines[1].endswith("k=4; value=0.4444; total time=   0.0s")
    assert lines[3].endswith("k=7; error; total time=   0.0s")
    minimize(counted, {"k": Integer(4, 8)}, 3, verbose=10, **options)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("[1/3] START k=4....")


def test_the_bar_shows_the_lowest_value(capsys):
    pytest.importorskip("tqdm", reason="tqdm is optional")
    options = {"initial_points": [{"k": 3}, {"k": 8}], "progress": True}
    minimize(counted, {"k": Integer(3, 8)}, 2, **options)
    last = capsys.readouterr().err
    assert "2/2" in last
    assert "evaluation" in last
    assert "best=3" in last.split("\r")[-1]


# --- arguments ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"timeout": 0}, "'timeout' parameter of minimize must be .* Got 0"),
        ({"fit_timeout": "x"}, "'fit_timeout' parameter of minimize .* Got 'x'"),
        ({"fit_memory_limit": -1}, "'fit_memory_limit' parameter of minimize"),
        ({"n_jobs": "a"}, "'n_jobs' parameter of minimize .* Got 'a'"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter of minimize .* Got 1.5"),
        ({"n_jobs": True}, "'n_jobs' parameter of minimize .* Got True"),
        ({"n_pending": 0}, "'n_pending' parameter of minimize .* Got 0"),
        ({"error_score": "no"}, "'error_score' parameter of minimize .* Got 'no'"),
        ({"verbose": -1}, "'verbose' parameter of minimize .* Got -1"),
        ({"progress": 1}, "'progress' parameter of minimize .* Got 1"),
        ({"n_iter": None}, "'timeout' must be a number .* where 'n_iter' is None"),
        ({"method": "best"}, "'method' must be one of"),
        ({"n_initial_points": -1}, "'n_initial_points' must be an int >= 0"),
        ({"random_state": -1}, "'random_state' must be an int >= 0"),
        ({"initial_points": [{"x": 9.0}]}, r"initial_points\[0\]: "),
        ({"callback": 3}, "'callback' must be a callable"),
    ],
    ids=str,
)
def test_arguments_that_make_no_sense_begin_nothing(argument, message, tmp_path):
    made, path = [], tmp_path / "journal"
    arguments = {"n_iter": 3, "checkpoint": path} | argument
    with pytest.raises((TypeError, ValueError), match=message):
        minimize(lambda params: made.append(params) or 0.0, SPACE, **arguments)
    assert not made
    assert not path.exists()


def test_more_processes_than_evaluations_at_a_time_are_told():
    with pytest.warns(UserWarning, match="7 evaluations at .* n_pending=2 needs only"):
        minimize(counted, {"k": Integer(0, 1)}, 2, n_jobs=7, n_pending=2)


def test_a_result_is_that_of_scipy():
    result = minimize(cost, SPACE, 3, random_state=0)
    assert isinstance(result, OptimizeResult)
    assert result.fit_log["slot"].tolist() == [0, 0, 0]
