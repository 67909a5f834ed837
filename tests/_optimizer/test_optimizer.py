import copy
import dataclasses
import json
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMOptimizer,
    Ordinal,
    Real,
    SearchSpace,
    SpaceExhaustedError,
    minimize,
)
from sklearn_mvrsm._optimizer import observed_surrogate
from sklearn_mvrsm._optimizer.mvrsm import MvrsmMethod
from sklearn_mvrsm._paper.algorithm import PaperMethod
from sklearn_mvrsm._space.base import UNSET
from sklearn_mvrsm._space.constraints import InfeasibleSpaceError
from sklearn_mvrsm._space.values import same_value

MIXED = {
    "kind": Categorical(["a", "b", "c"]),
    "flag": Categorical([True, False]),
    "k": Integer(-3, 12),
    "size": Ordinal([16, 32, 64, 128]),
    "trees": Integer(1, 1000, log=True),
    "x": Real(-1.0, 2.0),
    "rate": Real(1e-4, 1.0, log=True),
}
CONDITIONAL = {
    "booster": Categorical(["tree", "linear", "dart"]),
    "depth": Integer(1, 11).when(booster=["tree", "dart"]),
    "drop": Real(0.0, 1.0).when(booster="dart"),
    "twice": Categorical([False, True]).when(booster="dart"),
    "again": Integer(0, 50).when(twice=True),
    "reg": Real(1e-3, 10.0, log=True),
}
METHODS = ["mvrsm", "paper"]

both_methods = pytest.mark.parametrize("method", METHODS)


def objective(params):
    """Some function of any of the parameters above."""
    total = 0.0
    for name, value in sorted(params.items()):
        if isinstance(value, str):
            total += 0.3 * (value not in {"b", "tree"})
        else:
            total += 0.5 * abs(math.tanh(float(value) / 3.0) - 0.2) + 0.01 * len(name)
    return total


def run(optimizer, n, func=objective):
    """Ask and tell n times; return what was asked."""
    asked = []
    for _ in range(n):
        params = optimizer.ask()
        asked.append(params)
        optimizer.tell(params, func(params))
    return asked


def key(params):
    return json.dumps(params, sort_keys=True)


# --- reproducibility ------------------------------------------------------------


@both_methods
def test_the_same_seed_gives_the_same_proposals(method):
    one, same, other = (
        run(MVRSMOptimizer(MIXED, method=method, random_state=seed), 35)
        for seed in (0, 0, 1)
    )
    assert one == same
    assert one != other


def test_without_a_seed_runs_differ():
    one, other = (MVRSMOptimizer(MIXED).ask() for _ in range(2))
    assert one != other


@both_methods
def test_global_generators_are_left_alone(method):
    numpys_own = check_random_state(None)
    before = numpys_own.get_state()[1].copy()
    run(MVRSMOptimizer(MIXED, method=method, n_initial_points=5, random_state=0), 10)
    assert np.array_equal(before, numpys_own.get_state()[1])


SCRIPT = """
import json, sys
sys.path.insert(0, {tests!r})
from test_optimizer import CONDITIONAL, run
from sklearn_mvrsm import MVRSMOptimizer
for method in ("mvrsm", "paper"):
    optimizer = MVRSMOptimizer(
        CONDITIONAL, method=method, n_initial_points=8, random_state=3
    )
    print(json.dumps(run(optimizer, 20)))
"""


def test_another_process_gives_the_same_proposals():
    code = SCRIPT.format(tests=os.path.dirname(__file__))
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    for line, method in zip(result.stdout.splitlines(), METHODS, strict=True):
        optimizer = MVRSMOptimizer(
            CONDITIONAL, method=method, n_initial_points=8, random_state=3
        )
        assert json.loads(line) == run(optimizer, 20)


@both_methods
@pytest.mark.parametrize("space", [MIXED, CONDITIONAL], ids=["mixed", "conditional"])
def test_a_pickled_optimizer_resumes_as_if_nothing_had_happened(method, space):
    def start():
        return MVRSMOptimizer(space, method=method, n_initial_points=6, random_state=0)

    straight, broken = start(), start()
    pending = {id(straight): [], id(broken): []}
    queues = list(pending.values())
    for step in range(24):
        if step in (3, 9, 17):
            broken = pickle.loads(pickle.dumps(broken))
        for optimizer, queue in zip((straight, broken), queues, strict=True):
            queue.append(optimizer.ask())
            if len(queue) == 3:  # always two under way
                params = queue.pop(step % 2)
                optimizer.tell(params, objective(params))
        assert queues[0] == queues[1]
    assert straight.trials == broken.trials
    assert straight.best_params == broken.best_params


def test_a_pickle_with_a_queue_keeps_it():
    optimizer = MVRSMOptimizer({"x": Real(0.0, 1.0)}, random_state=0)
    optimizer.enqueue({"x": 0.25})
    assert pickle.loads(pickle.dumps(optimizer)).ask() == {"x": 0.25}


# --- asking and telling ---------------------------------------------------------


@both_methods
def test_asking_again_without_telling_gives_something_else(method):
    optimizer = MVRSMOptimizer(MIXED, method=method, n_initial_points=6, random_state=0)
    first = [optimizer.ask() for _ in range(10)]  # before anything is known
    assert len(set(map(key, first))) == 10
    for params in first:
        optimizer.tell(params, objective(params))
    later = [optimizer.ask() for _ in range(10)]
    assert len(set(map(key, later))) == 10
    assert not set(map(key, first)) & set(map(key, later))


@both_methods
def test_values_may_be_told_in_any_order(method):
    optimizer = MVRSMOptimizer(
        CONDITIONAL, method=method, n_initial_points=6, random_state=0
    )
    waiting = [optimizer.ask() for _ in range(5)]
    told = []
    for k in range(25):
        params = waiting.pop(k % 5)
        told.append(params)
        optimizer.tell(params, objective(params))
        waiting.append(optimizer.ask())
    assert [trial.params for trial in optimizer.trials] == told
    assert [trial.value for trial in optimizer.trials] == list(map(objective, told))
    assert optimizer.best_value == min(map(objective, told))


@both_methods
def test_points_never_asked_for_may_be_told(method):
    space = SearchSpace(MIXED)
    optimizer = MVRSMOptimizer(space, method=method, random_state=0)
    known = space.sample(30, random_state=5)
    for params in known:
        optimizer.tell(params, objective(params))
    assert optimizer.best_params == min(known, key=objective)
    asked = run(optimizer, 5)
    assert len(optimizer.trials) == 35
    if method == "mvrsm":
        assert not set(map(key, asked)) & set(map(key, known))


def test_told_points_count_among_the_initial_ones(monkeypatch):
    calls = []
    original = MvrsmMethod.propose

    def propose(self, history, rng):
        calls.append(len(history.values))
        return original(self, history, rng)

    monkeypatch.setattr(MvrsmMethod, "propose", propose)
    space = SearchSpace(MIXED)
    optimizer = MVRSMOptimizer(space, n_initial_points=10, random_state=0)
    for params in space.sample(7, random_state=5):
        optimizer.tell(params, objective(params))
    run(optimizer, 6)
    assert calls == [10, 11, 12]


def test_equal_params_settle_the_pending_point_whoever_made_them():
    optimizer = MVRSMOptimizer(CONDITIONAL, n_initial_points=4, random_state=0)
    for k in range(12):
        params = optimizer.ask()
        copy = (
            json.loads(json.dumps(params))
            if k % 2
            else pickle.loads(pickle.dumps(params))
        )
        optimizer.tell(copy, objective(copy))
        assert optimizer._pending == []


@pytest.mark.parametrize(
    ("space", "told", "expected"),
    [
        ({"x": Real(0, 0.3, step=0.1)}, 3 * 0.1, 0.3),
        ([{"x": [0.5]}, {"x": Real(0, 0.7, step=0.1)}], np.float64(6 * 0.1), 0.6),
        ({"x": Real(0.1, 1.0)}, 1, 1.0),  # a checkpoint has it as a float, too
        ({"x": Real(0.1, 1.0, log=True)}, 3 * 0.1, 3 * 0.1),
    ],
)
def test_a_real_is_the_float_that_is_offered_however_it_is_told(space, told, expected):
    optimizer = MVRSMOptimizer(space, random_state=0)
    optimizer.enqueue({"x": told})
    asked = optimizer.ask()
    optimizer.tell({"x": told}, 0.0)
    other = MVRSMOptimizer(space, random_state=0)
    other.tell({"x": told}, 0.0)
    for params in (asked, optimizer.best_params, other.best_params):
        assert params == {"x": expected}
        assert type(params["x"]) is float


def test_values_of_numpy_are_numbers_too():
    optimizer = MVRSMOptimizer({"x": Real(0.0, 1.0)}, random_state=0)
    params = optimizer.ask()
    optimizer.tell(params, np.float32(2.5))
    assert optimizer.best_value == 2.5
    assert type(optimizer.trials[0].value) is float


@both_methods
def test_mutating_what_was_asked_or_told_corrupts_nothing(method):
    def play(spoil):
        optimizer = MVRSMOptimizer(
            CONDITIONAL, method=method, n_initial_points=5, random_state=0
        )
        first = {"booster": "linear", "reg": 0.5}
        optimizer.enqueue(first)
        if spoil:
            first.clear()
        log = []
        for _ in range(14):
            params = optimizer.ask()
            log.append(key(params))
            told = dict(params)
            before = dict(told)
            optimizer.tell(told, objective(told))
            assert told == before
            if spoil:
                told.clear()
                params["booster"] = "nonsense"
                optimizer.best_params.clear()
        return log, [key(trial.params) for trial in optimizer.trials]

    log, trials = play(spoil=False)
    assert log == trials
    assert play(spoil=True) == (log, trials)


def test_a_mutated_proposal_can_still_be_told_by_its_values():
    optimizer = MVRSMOptimizer({"x": Real(0.0, 1.0)}, random_state=0)
    params = optimizer.ask()
    told = dict(params)
    params["x"] = 17.0
    with pytest.raises(ValueError, match="x"):
        optimizer.tell(params, 1.0)
    optimizer.tell(told, 1.0)
    assert [trial.params for trial in optimizer.trials] == [told]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reg": 0.1}, "booster"),
        ({"booster": "linear", "reg": 0.1, "depth": 3}, "depth"),
        ({"booster": "cubic", "reg": 0.1}, "cubic"),
        ({"booster": "linear", "reg": 0.1, "extra": 1}, "extra"),
        ({"booster": "linear", "reg": 1e9}, "reg"),
    ],
)
def test_what_is_not_a_configuration_is_refused_and_changes_nothing(params, message):
    optimizer = MVRSMOptimizer(CONDITIONAL, random_state=0)
    asked = optimizer.ask()
    for refuse in (optimizer.enqueue, lambda params: optimizer.tell(params, 1.0)):
        with pytest.raises(ValueError, match=message):
            refuse(params)
    with pytest.raises((TypeError, ValueError)):
        optimizer.tell(asked, "much")
    assert optimizer.trials == ()
    same = MVRSMOptimizer(CONDITIONAL, random_state=0)
    same.ask()
    assert same.ask() == optimizer.ask()


@both_methods
@pytest.mark.parametrize(
    "space",
    [
        MIXED,
        CONDITIONAL,
        [{"x": Real(0.0, 1.0)}, {"c": ["a", "b"], "k": Integer(0, 9)}],
    ],
    ids=["mixed", "conditional", "alternatives"],
)
def test_params_are_the_active_ones_with_values_of_their_type(method, space):
    space = SearchSpace(space)
    optimizer = MVRSMOptimizer(space, method=method, n_initial_points=6, random_state=0)
    for params in run(optimizer, 30):
        assert space.decode(space.encode(params)) == params
        for value in params.values():
            assert type(value) in {int, float, str, bool}
        for name, kind in [("k", int), ("depth", int), ("x", float), ("reg", float)]:
            if name in params:
                assert type(params[name]) is kind


def test_categories_are_the_very_objects_declared():
    objects = [object(), [1, 2], np.arange(3), None]
    optimizer = MVRSMOptimizer({"o": objects, "x": Real(0.0, 1.0)}, random_state=0)
    for _ in range(20):
        params = optimizer.ask()
        assert any(params["o"] is each for each in objects)
        optimizer.tell(params, params["x"])
    assert all(any(t.params["o"] is o for o in objects) for t in optimizer.trials)


# --- the queue ------------------------------------------------------------------


@both_methods
def test_enqueued_params_come_first_and_in_order(method):
    optimizer = MVRSMOptimizer(CONDITIONAL, method=method, random_state=0)
    wanted = [
        {"booster": "linear", "reg": 0.5},
        {"booster": "tree", "depth": 3, "reg": 0.1},
    ]
    for params in wanted:
        optimizer.enqueue(params)
    assert [optimizer.ask() for _ in range(2)] == wanted
    for params in wanted:
        optimizer.tell(params, objective(params))
    later = run(optimizer, 4)
    assert not set(map(key, later)) & set(map(key, wanted))


def test_a_constraint_forbids_what_is_enqueued():
    space = SearchSpace({"k": Integer(0, 9)}, [lambda params: params["k"] < 5])
    optimizer = MVRSMOptimizer(space, random_state=0)
    with pytest.raises(ValueError, match=r"constraint.*'k': 7"):
        optimizer.enqueue({"k": 7})
    optimizer.enqueue({"k": 4})
    assert optimizer.ask() == {"k": 4}


# --- failures and plateaus ------------------------------------------------------


@both_methods
@pytest.mark.parametrize("failure", [math.nan, math.inf, -math.inf])
def test_a_failure_is_never_the_best(method, failure):
    optimizer = MVRSMOptimizer(MIXED, method=method, n_initial_points=5, random_state=0)
    run(optimizer, 25, lambda p: failure if p["flag"] else objective(p))
    best = optimizer.best_params
    assert best["flag"] is False
    assert optimizer.best_value == objective(best)
    values = [trial.value for trial in optimizer.trials]
    assert sum(map(math.isfinite, values)) < 25


@both_methods
def test_where_everything_fails_the_search_goes_on_at_random(method):
    optimizer = MVRSMOptimizer(MIXED, method=method, n_initial_points=4, random_state=0)
    asked = run(optimizer, 15, lambda params: math.nan)
    assert len(set(map(key, asked))) == 15
    assert optimizer.best_value == math.inf
    with pytest.raises(ValueError, match="No finite value"):
        _ = optimizer.best_params


@both_methods
def test_while_all_values_are_equal_points_are_random(method, monkeypatch):
    def refuse(self, history, rng):
        raise AssertionError("a flat surrogate was asked")

    with monkeypatch.context() as patch:
        for cls in (MvrsmMethod, PaperMethod):
            patch.setattr(cls, "propose", refuse)
        optimizer = MVRSMOptimizer(
            {"x": Real(0.0, 1.0)}, method=method, n_initial_points=3, random_state=0
        )
        asked = run(optimizer, 30, lambda params: 4.5)
        optimizer.tell(optimizer.ask(), math.nan)
        x = np.sort([params["x"] for params in asked])
        assert np.abs(x - np.linspace(0.0, 1.0, 30)).max() < 0.35
    optimizer.tell(optimizer.ask(), 4.0)
    optimizer.ask()  # now there is something to learn


@both_methods
def test_failing_regions_are_left(method):
    optimizer = MVRSMOptimizer(
        {"x": Real(0.0, 1.0), "k": Integer(0, 9), "c": list("abc")},
        method=method,
        n_initial_points=10,
        random_state=0,
    )

    def func(params):
        if params["x"] > 0.5:
            return math.nan
        return (params["x"] - 0.3) ** 2 + 0.02 * (params["k"] - 4) ** 2

    run(optimizer, 60, func)
    failed = [not math.isfinite(trial.value) for trial in optimizer.trials]
    assert np.mean(failed[-20:]) <= np.mean(failed[:10])
    assert np.mean(failed[-20:]) < 0.35


@both_methods
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_values_of_any_finite_size_are_no_trouble(method, scale):
    optimizer = MVRSMOptimizer(MIXED, method=method, n_initial_points=8, random_state=0)
    run(optimizer, 25, lambda params: scale * (objective(params) - 1.0))
    assert math.isfinite(optimizer.best_value)


@both_methods
def test_values_of_very_different_size_are_no_trouble(method):
    optimizer = MVRSMOptimizer(MIXED, method=method, n_initial_points=8, random_state=0)
    largest = sys.float_info.max
    sizes = [1e300, -largest, largest, 1e-300, 0.0, -1.0, math.nan, 1e10, -math.inf]
    state = iter(sizes * 4)
    run(optimizer, 36, lambda params: next(state))
    assert optimizer.best_value == -largest


@both_methods
def test_contradictory_repetitions_are_no_trouble(method):
    optimizer = MVRSMOptimizer(MIXED, method=method, n_initial_points=8, random_state=0)
    for params in run(optimizer, 12):
        for value in (3.0, -2.0, 3.0):
            optimizer.tell(params, value)
    asked = run(optimizer, 6)
    assert len(asked) == 6
    assert optimizer.best_value == -2.0


# --- finite spaces --------------------------------------------------------------

FINITE = {
    "one of everything": {"c": ["a"], "o": Ordinal([1.5])},
    "empty": {},
    "duplicates": {"c": [2, 2, 2]},
    "duplicates beside an integer": {"c": [2, 2, 2], "k": Integer(0, 3)},
    "integers": {"k": Integer(0, 4), "j": Integer(-2, 2)},
    "categories": {"c": list("abc"), "d": list("ab"), "e": [3, 0]},
    "log integer": {"k": Integer(1, 20, log=True)},
    "conditions": {
        "c": list("abc"),
        "k": Integer(0, 5).when(c="a"),
        "d": [True, False],
        "e": list("xyz").copy(),
        "f": Ordinal([1, 2, 3]).when(d=True, c=["a", "b"]),
    },
    "alternatives": [{"c": list("ab")}, {"k": Integer(0, 3), "c": list("xy")}, {}],
}

finite_spaces = pytest.mark.parametrize("params", FINITE.values(), ids=FINITE)


def ask_until_exhausted(optimizer, tell=True, limit=1000):
    asked = []
    for _ in range(limit):
        try:
            params = optimizer.ask()
        except SpaceExhaustedError:
            return asked
        asked.append(params)
        if tell:
            optimizer.tell(params, objective(params) + 0.01 * len(asked))
    raise AssertionError(f"not exhausted after {limit}")


@finite_spaces
@pytest.mark.parametrize("tell", [True, False], ids=["told", "pending"])
def test_a_finite_space_is_exhausted_after_each_configuration_once(params, tell):
    space = SearchSpace(params)
    optimizer = MVRSMOptimizer(space, n_initial_points=4, random_state=0)
    asked = ask_until_exhausted(optimizer, tell)
    assert len(asked) == space.cardinality
    everything = [key(space.decode(point)) for point in space.grid()]
    assert sorted(map(key, asked)) == sorted(everything)
    with pytest.raises(SpaceExhaustedError, match=f"All {len(asked)} configurations"):
        optimizer.ask()


def test_pending_configurations_of_an_exhausted_space_can_still_be_told():
    optimizer = MVRSMOptimizer({"c": [2, 2, 2]}, random_state=0)
    asked = ask_until_exhausted(optimizer, tell=False)
    for params, value in zip(asked, (3.0, 1.0, 2.0), strict=True):
        optimizer.tell(params, value)
    assert [trial.value for trial in optimizer.trials] == [3.0, 1.0, 2.0]
    assert optimizer._pending == []
    assert len(optimizer._seen) == 3
    with pytest.raises(SpaceExhaustedError):
        optimizer.ask()


def test_constraints_shrink_a_finite_space():
    space = SearchSpace(
        {"k": Integer(0, 9), "j": Integer(0, 9)},
        [lambda params: params["k"] + params["j"] <= 3],
    )
    optimizer = MVRSMOptimizer(space, n_initial_points=4, random_state=0)
    asked = ask_until_exhausted(optimizer)
    assert len(asked) == len(set(map(key, asked))) == 10
    assert all(params["k"] + params["j"] <= 3 for params in asked)


def test_reals_that_seldom_exist_keep_a_space_from_being_exhausted():
    # One in a hundred settings has the real: 200 draws may well miss it.
    space = SearchSpace(
        {
            "a": Categorical(range(10)),
            "b": Categorical(range(10)),
            "c": Real(0.0, 1.0).when(a=0, b=0),
        }
    )
    optimizer = MVRSMOptimizer(space, n_initial_points=4, random_state=0)
    asked = [optimizer.ask() for _ in range(130)]
    assert len(set(map(key, asked))) == 130
    assert len([params for params in asked if "c" in params]) == 30 + 1


def test_where_constraints_leave_little_the_error_says_so():
    space = SearchSpace(
        {"a": Categorical([0, 1]), "c": Real(0.0, 1.0).when(a=1)},
        [lambda params: params["a"] == 0],
    )
    optimizer = MVRSMOptimizer(space, random_state=0)
    assert ask_until_exhausted(optimizer) == [{"a": 0}]
    with pytest.raises(SpaceExhaustedError, match="beside the 1 that have been"):
        optimizer.ask()


def test_one_value_that_diverged_hides_nothing():
    space = {"x": Real(0.0, 1.0), "k": Integer(0, 9)}
    optimizer = MVRSMOptimizer(space, random_state=0)
    optimizer.tell({"x": 1.0, "k": 0}, 1e12)
    run(optimizer, 40, lambda p: (p["x"] - 0.3) ** 2 + 0.1 * (p["k"] - 4) ** 2)
    assert optimizer.best_value < 1e-4


def test_told_configurations_are_not_proposed():
    space = SearchSpace(FINITE["integers"])
    optimizer = MVRSMOptimizer(space, random_state=0)
    told = space.sample(12, random_state=1)
    for params in told:
        optimizer.tell(params, objective(params))
    asked = ask_until_exhausted(optimizer)
    assert len(asked) == 25 - len(set(map(key, told)))
    assert not set(map(key, asked)) & set(map(key, told))


def test_an_exhausted_space_is_refused_however_often_its_points_are_told():
    optimizer = MVRSMOptimizer({}, random_state=0)
    optimizer.tell({}, 0.0)
    for value in range(30):
        optimizer.tell({}, float(value))
        with pytest.raises(SpaceExhaustedError):
            optimizer.ask()
    mean, deviation = optimizer.predict(np.zeros((2, 0)))
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(deviation))


def test_the_published_method_may_repeat_and_is_never_exhausted():
    for func in (objective, lambda params: 1.0):
        optimizer = MVRSMOptimizer(
            {"c": ["a", "b"], "k": Integer(0, 1)}, method="paper", random_state=0
        )
        asked = run(optimizer, 40, func)
        assert len(set(map(key, asked))) == 4


# --- spaces of all kinds --------------------------------------------------------


@pytest.mark.parametrize("space", [MIXED, CONDITIONAL], ids=["mixed", "conditional"])
def test_the_default_method_never_repeats_a_configuration(space):
    optimizer = MVRSMOptimizer(space, n_initial_points=6, random_state=0)
    waiting, asked = [], []
    for k in range(60):
        params = optimizer.ask()
        asked.append(key(params))
        waiting.append(params)
        if len(waiting) > 3:
            done = waiting.pop((7 * k) % 3)
            optimizer.tell(done, round(objective(done), 1))
    assert len(set(asked)) == len(asked)


@both_methods
def test_constraints_are_always_respected(method):
    def small(params):
        return params["x"] + 0.1 * params["k"] < 0.3

    def odd(params):
        return params["kind"] != "b" or params["flag"]

    space = SearchSpace(MIXED, [small, odd])
    optimizer = MVRSMOptimizer(space, method=method, n_initial_points=8, random_state=0)
    for params in run(optimizer, 35):
        assert small(params)
        assert odd(params)


@both_methods
def test_a_space_without_anything_feasible_says_so(method):
    space = SearchSpace({"x": Real(0.0, 1.0)}, [lambda params: False])
    optimizer = MVRSMOptimizer(space, method=method, random_state=0)
    with pytest.raises(InfeasibleSpaceError, match="constraint"):
        optimizer.ask()


def dimensions(d):
    """d parameters of all kinds."""
    kinds = [
        lambda: Real(-2.0, 2.0),
        lambda: Integer(-3, 3),
        lambda: Categorical(["a", "b", "c"]),
        lambda: Integer(0, 1),
        lambda: Real(1e-3, 1e3, log=True),
    ]
    return {f"p{i}": kinds[i % 5]() for i in range(d)}


@both_methods
@pytest.mark.parametrize("d", [1, 2, 5, 30, 120])
def test_any_number_of_dimensions_runs(method, d):
    space = SearchSpace(dimensions(d))
    optimizer = MVRSMOptimizer(space, method=method, n_initial_points=8, random_state=0)
    asked = run(optimizer, 14)
    assert len(asked) == 14
    assert all(len(params) == d for params in asked)


@both_methods
@pytest.mark.parametrize("kind", range(3), ids=["reals", "integers", "categories"])
def test_five_hundred_dimensions_of_one_kind_run(method, kind):
    make = [
        lambda: Real(0.0, 1.0),
        lambda: Integer(0, 4),
        lambda: Categorical(["a", "b", "c"]),
    ][kind]
    optimizer = MVRSMOptimizer(
        {f"p{i}": make() for i in range(500)},
        method=method,
        n_initial_points=4,
        random_state=0,
    )
    assert len(run(optimizer, 6)) == 6


@both_methods
@pytest.mark.parametrize(
    "space",
    [
        {"k": Integer(1, 10**6)},
        {"k": Integer(1, 10**6), "j": Integer(-(10**6), 10**6), "x": Real(0.0, 1.0)},
        {"k": Integer(1, 2**50)},
        {"k": Integer(1, 10**6, log=True), "c": ["a", "b"]},
        {"x": Real(0.0, 1e9), "y": Real(0.0, 1e-9)},
        {"x": Real(0.0, 5e-324), "k": Integer(0, 99)},
        {"x": Real(1.0, math.nextafter(1.0, 2.0)), "k": Integer(0, 99)},
        {"only": ["a"], "o": Ordinal([7]), "x": Real(0.0, 1.0)},
    ],
    ids=["wide", "wider", "widest", "log", "units", "thin", "two floats", "one value"],
)
def test_ranges_of_any_width_run(method, space):
    optimizer = MVRSMOptimizer(space, method=method, n_initial_points=6, random_state=0)
    asked = run(optimizer, 30)
    assert len(asked) == 30
    if "only" in space:
        assert {(params["only"], params["o"]) for params in asked} == {("a", 7)}


@both_methods
def test_what_does_not_exist_is_absent(method):
    optimizer = MVRSMOptimizer(
        CONDITIONAL, method=method, n_initial_points=8, random_state=0
    )
    boosters = set()
    for params in run(optimizer, 40):
        boosters.add(params["booster"])
        assert ("depth" in params) == (params["booster"] != "linear")
        assert ("drop" in params) == (params["booster"] == "dart")
        assert ("again" in params) == (params.get("twice") is True)
    assert boosters == {"tree", "linear", "dart"}


# --- arguments ------------------------------------------------------------------


def test_the_number_of_initial_points_follows_the_dimension():
    few, many = {"x": Real(0.0, 1.0)}, dimensions(60)
    assert MVRSMOptimizer(few).n_initial_points < MVRSMOptimizer(many).n_initial_points
    assert MVRSMOptimizer(many).n_initial_points == 24
    assert MVRSMOptimizer(few, method="paper").n_initial_points == 24
    assert MVRSMOptimizer(few, n_initial_points=0).n_initial_points == 0


@both_methods
def test_no_initial_points_is_legal(method):
    optimizer = MVRSMOptimizer(MIXED, method=method, n_initial_points=0, random_state=0)
    assert len(set(map(key, run(optimizer, 5)))) == 5


def test_initial_points_of_the_default_method_are_spread():
    optimizer = MVRSMOptimizer(
        {"x": Real(0.0, 1.0), "c": list("abcd")}, n_initial_points=8, random_state=0
    )
    asked = run(optimizer, 8)
    assert sorted(int(8 * params["x"]) for params in asked) == list(range(8))
    assert sorted(params["c"] for params in asked) == sorted("abcd" * 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "best"}, "'method' must be one of .*'best'"),
        ({"n_initial_points": -1}, "'n_initial_points' must be an int >= 0, got -1"),
        ({"n_initial_points": 2.5}, "'n_initial_points' must be an int >= 0, got 2.5"),
        ({"random_state": -1}, "'random_state' must be an int >= 0, .*, got -1"),
        ({"random_state": "x"}, "'random_state' must be an int >= 0, .*, got 'x'"),
        ({"include_default": "no"}, "'include_default' must be a bool, got 'no'"),
        ({"n_iter": 0}, "'n_iter' must be an int >= 1, got 0"),
        ({"n_iter": 2.5}, "'n_iter' must be an int >= 1, got 2.5"),
        ({"n_iter": True}, "'n_iter' must be an int >= 1, got True"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MVRSMOptimizer(MIXED, **arguments)
    with pytest.raises((TypeError, ValueError), match=message):
        minimize(objective, MIXED, **{"n_iter": 3, **arguments})


@pytest.mark.parametrize(
    "arguments",
    [{"func": 3}, {"callback": "x"}, {"initial_points": 3}, {"initial_points": {}}],
    ids=str,
)
def test_minimize_names_an_argument_of_the_wrong_kind(arguments):
    (name,) = arguments
    with pytest.raises(TypeError, match=f"'{name}' must be a .*, got "):
        minimize(**{"func": objective, "space": MIXED, "n_iter": 3, **arguments})


def test_the_space_is_kept():
    space = SearchSpace(MIXED)
    assert MVRSMOptimizer(space).space is space
    assert MVRSMOptimizer(MIXED).space.names == space.names


def test_the_best_of_several_is_the_first():
    optimizer = MVRSMOptimizer({"x": Real(0.0, 1.0)}, random_state=0)
    asked = run(optimizer, 5, lambda params: 1.0)
    assert optimizer.best_params == asked[0]


# --- minimize -------------------------------------------------------------------


@both_methods
def test_minimize_returns_what_it_saw(method):
    calls = []

    def func(params):
        calls.append(dict(params))
        return objective(params)

    result = minimize(func, CONDITIONAL, 20, method=method, random_state=0)
    assert result.nfev == len(calls) == 20
    assert result.x_iters == calls
    assert result.func_vals.tolist() == list(map(objective, calls))
    assert result.fun == min(result.func_vals)
    assert result.x == calls[int(np.argmin(result.func_vals))]
    assert result.success
    assert result.message == "All evaluations were made."


def test_minimize_is_ask_and_tell():
    optimizer = MVRSMOptimizer(MIXED, random_state=4)
    assert run(optimizer, 25) == minimize(objective, MIXED, 25, random_state=4).x_iters


# --- users who alter what they get ----------------------------------------------


def spoilable():
    return {
        "n": Integer(0, 9),
        "x": Real(0.0, 1.0),
        "layers": Categorical([[8], [8, 8], [16, [4]]]),
        "options": [{"a": 1}, {"a": 2}],
        "weights": Ordinal([np.zeros(2), np.ones(2), np.arange(2.0)]),
        "model": [LogisticRegression(), LogisticRegression(C=2.0), None],
    }


def value_of(params):
    model = params["model"]
    return (
        (params["n"] - 4) ** 2
        + params["x"]
        + len(params["layers"])
        + params["options"]["a"]
        + params["weights"].sum()
        + (0.0 if model is None else model.C)
    )


def spoil(params):
    params["n"] *= 2
    params["layers"].append(1)
    params["options"]["a"] = 7
    params["weights"][:] = 7.0
    if params["model"] is not None:
        params["model"].set_params(C=7.0)
    params["new"] = params.pop("x")


def value_and_spoil(params):
    value = value_of(params)
    spoil(params)
    return value


def assert_unspoilt(found, expected, space):
    assert len(found) == len(expected)
    assert all(map(same_value, found, expected))
    assert same_value(space, spoilable())


@both_methods
def test_a_function_may_alter_what_it_gets(method):
    space, start = spoilable(), [{**SearchSpace(spoilable()).sample(1, 0)[0], "n": 3}]
    arguments = {"method": method, "random_state": 0, "initial_points": start}
    expected = minimize(value_of, spoilable(), 40, **arguments)
    kept = copy.deepcopy(start)
    found = minimize(value_and_spoil, space, 40, **arguments)
    assert_unspoilt(found.x_iters, expected.x_iters, space)
    assert same_value(start, kept)
    assert list(map(value_of, found.x_iters)) == found.func_vals.tolist()
    assert value_of(found.x) == found.fun == expected.fun

    def callback(intermediate_result):
        spoil(intermediate_result.x)

    space = spoilable()
    found = minimize(value_of, space, 40, **arguments, callback=callback)
    assert_unspoilt(found.x_iters, expected.x_iters, space)


def test_a_constraint_may_alter_what_it_gets():
    def wise(params):
        return params["n"] != 5

    def spoiling(params):
        n = params["n"]
        spoil({**params, "model": None})
        params.clear()
        return n != 5

    space = spoilable()
    expected = minimize(value_of, SearchSpace(spoilable(), [wise]), 30, random_state=0)
    found = minimize(value_of, SearchSpace(space, [spoiling]), 30, random_state=0)
    assert_unspoilt(found.x_iters, expected.x_iters, space)


def test_what_is_asked_for_may_be_altered():
    optimizer = MVRSMOptimizer(spoilable(), random_state=0)
    other = MVRSMOptimizer(spoilable(), random_state=0)
    expected = []
    for k in range(40):
        params, clean = optimizer.ask(), other.ask()
        expected.append(copy.deepcopy(clean))
        assert same_value(params, clean)
        value, told = value_of(params), dict(params)
        if k % 2:
            spoil(params)
        optimizer.tell(told, value)
        other.tell(clean, value)
        spoil(optimizer.best_params)
        if k % 10 == 0:
            optimizer = pickle.loads(pickle.dumps(optimizer))
            for trial in optimizer.trials:
                spoil(trial.params)
    found = [trial.params for trial in optimizer.trials]
    assert all(map(same_value, found, expected))


# --- functions that raise ---------------------------------------------------------


class FrozenError(Exception):
    """An exception whose attributes cannot be set."""

    def __setattr__(self, name, value):
        raise AttributeError(name)


@pytest.mark.parametrize("where", ["func", "callback"])
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_was_evaluated_before_an_exception_is_its_result(where, kind):
    calls = []

    def func(params):
        calls.append(params)
        if where == "func" and len(calls) == 8:
            raise kind("enough")
        return objective(params)

    def callback(intermediate_result):
        if where == "callback" and len(calls) == 7:
            raise kind("enough")

    with pytest.raises(kind, match="enough") as info:
        minimize(func, MIXED, 20, callback=callback, random_state=0)
    result = info.value.result
    expected = minimize(objective, MIXED, 7, random_state=0)
    assert not result.success
    assert result.message == f"{kind.__name__} after 7 evaluations."
    assert result.nfev == 7
    assert result.x_iters == expected.x_iters
    assert result.func_vals.tolist() == expected.func_vals.tolist()
    assert (result.x, result.fun) == (expected.x, expected.fun)
    assert "7 evaluations made are in 'result'" in info.value.__notes__[0]


def test_results_that_are_no_numbers_lose_nothing_either():
    answers = iter([math.nan, 2.0, None])
    with pytest.raises(
        TypeError, match=r"'func\(params\)' must be a number.*None"
    ) as info:
        minimize(lambda params: next(answers), MIXED, 20, random_state=0)
    assert info.value.result.fun == 2.0
    with pytest.raises(ValueError, match="No finite value") as info:
        minimize(lambda params: math.nan, MIXED, 3, random_state=0)
    result = info.value.result
    assert (result.x, result.nfev, len(result.x_iters)) == (None, 3, 3)
    assert math.isnan(result.fun)


@pytest.mark.parametrize("n_values", [0, 3])
def test_an_exception_goes_on_with_its_result_even_if_it_takes_no_note(n_values):
    answers = iter([1.0] * n_values)

    def func(params):
        for answer in answers:
            return answer
        raise FrozenError("enough")

    with pytest.raises(FrozenError, match="enough") as info:
        minimize(func, MIXED, 20, random_state=0)
    result = info.value.result
    assert (result.nfev, result.success) == (n_values, False)
    assert len(result.x_iters) == len(result.func_vals) == n_values
    assert (result.x is None) == (n_values == 0)


def test_minimize_evaluates_given_points_first():
    start = [{"booster": "linear", "reg": 0.5}, {"booster": "linear", "reg": 2.0}]
    result = minimize(objective, CONDITIONAL, 6, initial_points=start, random_state=0)
    assert result.x_iters[:2] == start
    assert result.nfev == 6


DECLARED = {
    "kind": Categorical(["a", "b", "c"], default="b"),
    "x": Real(1e-4, 1.0, log=True, default=0.3).when(kind=["a", "b"]),
    "k": Integer(1, 9),
    "y": Real(0.0, 1.0, default=0.1).when(kind="c"),
}


@pytest.mark.parametrize("method", ["mvrsm", "paper"])
def test_the_declared_defaults_come_first_and_once(method):
    first = {"kind": "b", "x": 0.3, "k": 5}
    plain = {
        name: dataclasses.replace(each, default=UNSET)
        for name, each in DECLARED.items()
    }
    runs = [
        minimize(
            lambda params: params["k"] / 9,
            space,
            8,
            random_state=0,
            method=method,
            **options,
        ).x_iters
        for space, options in [
            (DECLARED, {}),
            (DECLARED, {"include_default": False}),
            (plain, {}),
            (DECLARED, {"initial_points": [{"kind": "c", "k": 2, "y": 0.5}]}),
            (DECLARED, {"initial_points": [dict(reversed(first.items()))]}),
        ]
    ]
    assert runs[0][0] == first
    assert runs[0][1:] == runs[1][1:]  # the random points that follow are the same
    assert runs[1] == runs[2]
    assert first not in runs[1]
    assert runs[3][:2] == [{"kind": "c", "k": 2, "y": 0.5}, first]
    assert runs[4] == runs[0]
    optimizer = MVRSMOptimizer(DECLARED, random_state=0, method=method)
    optimizer.tell(first, 1.0)
    assert optimizer.ask() == runs[0][1]


def test_a_default_that_is_forbidden_is_skipped():
    space = SearchSpace(DECLARED, constraints=[lambda params: params["kind"] != "b"])
    assert MVRSMOptimizer(space, random_state=0).ask()["kind"] != "b"


def test_minimize_says_what_is_wrong_with_given_points():
    start = SearchSpace(MIXED).sample(3, random_state=1)
    with pytest.warns(UserWarning, match="'initial_points' has 3 .* n_iter=2"):
        result = minimize(objective, MIXED, 2, initial_points=start)
    assert result.x_iters == start[:2]
    with pytest.raises(ValueError, match=r"initial_points\[1\]: "):
        minimize(objective, MIXED, 5, initial_points=[start[0], {"nobody": 1}])
    with pytest.raises(TypeError, match=r"'x_iters' of .* of type Optimi"):
        minimize(objective, MIXED, 5, initial_points=result)


def test_a_callback_stops_minimize():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        assert objective(intermediate_result.x) == intermediate_result.fun
        return len(seen) == 7

    result = minimize(objective, MIXED, 50, callback=callback, random_state=0)
    assert result.nfev == 7
    assert result.func_vals.tolist() == seen
    assert "callback" in result.message


def test_a_callback_that_returns_nothing_stops_nothing():
    result = minimize(objective, MIXED, 5, callback=lambda _: None, random_state=0)
    assert result.nfev == 5


def test_minimize_ends_where_the_space_does():
    result = minimize(objective, FINITE["integers"], 100, random_state=0)
    assert result.nfev == 25
    assert "25 configurations" in result.message
    assert result.fun == min(
        objective({"k": k, "j": j}) for k in range(5) for j in range(-2, 3)
    )


@both_methods
def test_minimize_says_so_where_everything_failed(method):
    with pytest.raises(ValueError, match="finite"):
        minimize(lambda params: math.nan, MIXED, 8, method=method, random_state=0)


def test_the_last_step_of_the_published_method_does_not_explore():
    # from the same state, twelve last steps in the reals are one and the same
    def last(seed):
        optimizer = MVRSMOptimizer(
            {"x": Real(-1.0, 1.0), "k": Integer(0, 5)},
            method="paper",
            n_initial_points=0,
            random_state=0,
            n_iter=11,
        )
        for params in SearchSpace(optimizer.space).sample(10, random_state=1):
            optimizer.tell(params, objective(params))
        optimizer._rng = np.random.default_rng(seed)
        return optimizer.ask()

    assert len({key(last(seed)) for seed in range(12)}) == 1


def test_an_error_of_the_function_goes_through():
    def func(params):
        raise ZeroDivisionError("as it came")

    with pytest.raises(ZeroDivisionError, match="as it came"):
        minimize(func, MIXED, 5)


# --- quality, with wide margins -------------------------------------------------


def quadratic(params):
    return (
        4.0 * (params["x"] - 0.3) ** 2
        + (params["y"] + 0.5) ** 2
        + 0.1 * (params["k"] - 6) ** 2
        + 0.05 * (params["j"] + 2) ** 2
        + (params["c"] != "b")
        + 0.5 * params["flag"]
    )


QUADRATIC = {
    "x": Real(0.0, 1.0),
    "y": Real(-1.0, 1.0),
    "k": Integer(0, 9),
    "j": Integer(-5, 5),
    "c": Categorical(["a", "b", "c"]),
    "flag": Categorical([True, False]),
}


def in_categories(params):
    """Return a bowl of each category's own; two categories shift each other's."""
    depth = {"a": 0.0, "b": 1.0, "c": -0.6, "d": 0.5, "e": -0.2}[params["first"]]
    shift = {"p": -1.0, "q": 0.0, "r": 0.9, "s": 1.6}[params["second"]]
    bowl = (params["x"] - shift) ** 2 + (params["y"] + 0.7 * shift) ** 2
    return depth + 0.4 * bowl + 0.5 * (params["second"] != "r")


IN_CATEGORIES = {
    "first": Categorical(list("abcde")),
    "second": Categorical(list("pqrs")),
    "x": Real(-2.0, 2.0),
    "y": Real(-2.0, 2.0),
}


def mean_regret(method, func, space, n, optimum, seeds=range(3)):
    if method == "random":
        samples = (SearchSpace(space).sample(n, random_state=seed) for seed in seeds)
        best = [min(map(func, sample)) for sample in samples]
    else:
        best = [
            minimize(func, space, n, method=method, random_state=seed).fun
            for seed in seeds
        ]
    return np.mean(best) - optimum


@pytest.mark.statistical
def test_a_mixed_quadratic_is_minimised_far_better_than_at_random():
    random, ours, paper = (
        mean_regret(method, quadratic, QUADRATIC, 45, 0.0)
        for method in ("random", "mvrsm", "paper")
    )
    assert ours < 0.1 * random
    assert paper < random


@pytest.mark.statistical
def test_categories_are_found_far_better_than_at_random():
    optimum = -0.6
    random, ours = (
        mean_regret(method, in_categories, IN_CATEGORIES, 45, optimum)
        for method in ("random", "mvrsm")
    )
    assert ours < 0.2 * random


@pytest.mark.statistical
def test_an_optimum_on_the_edge_of_what_is_allowed_is_found():
    def allowed(params):
        return params["x"] <= 0.1 and params["k"] <= 3

    space = SearchSpace(QUADRATIC, [allowed])
    optimum = 4.0 * 0.04 + 0.1 * 9.0
    random, ours = (
        mean_regret(method, quadratic, space, 40, optimum, range(2))
        for method in ("random", "mvrsm")
    )
    assert ours < 0.2 * random


@pytest.mark.parametrize("method", ["mvrsm", "paper"])
def test_the_best_is_feasible(method):
    optimizer = MVRSMOptimizer({"k": Integer(0, 9)}, method=method, random_state=0)
    for k, value, constraint in [
        (0, 3.0, -1.0),
        (1, 1.0, 1e-9),
        (2, 2.0, 0.0),
        (3, 0.0, math.nan),
        (4, -1.0, None),
        (5, math.nan, -1.0),
    ]:
        optimizer.tell({"k": k}, value, constraint)
    assert (optimizer.best_params, optimizer.best_value) == ({"k": 2}, 2.0)
    constraints = [trial.constraint for trial in optimizer.trials]
    np.testing.assert_array_equal(constraints[:3] + constraints[5:], [-1, 1e-9, 0, -1])
    assert math.isnan(constraints[3])
    assert constraints[4] is None
    assert optimizer.ask()["k"] in range(10)


def test_while_nothing_is_feasible_there_is_no_best():
    optimizer = MVRSMOptimizer({"k": Integer(0, 9)})
    optimizer.tell({"k": 0}, 1.0)
    assert optimizer.best_params == {"k": 0}  # nothing is known of constraints yet
    optimizer.tell({"k": 1}, 0.5, constraint=1.0)
    assert optimizer.best_value == math.inf
    with pytest.raises(ValueError, match="No configuration told satisfies"):
        _ = optimizer.best_params
    assert optimizer.predict([[0.0]])[0].shape == (1,)


@pytest.mark.parametrize("constraint", ["a", True, [1.0]])
def test_a_constraint_must_be_a_number(constraint):
    optimizer = MVRSMOptimizer({"k": Integer(0, 9)})
    with pytest.raises((TypeError, ValueError), match="'constraint' must"):
        optimizer.tell({"k": 0}, 1.0, constraint)
    assert optimizer.trials == ()


def test_the_best_feasible_trial_is_not_forgotten(monkeypatch):
    monkeypatch.setattr(observed_surrogate, "CAPACITY", 20)
    optimizer = MVRSMOptimizer({"x": Real(0.0, 1.0)}, random_state=0)
    optimizer.tell({"x": 0.5}, 0.5, -1.0)
    for x in np.random.default_rng(0).random(60):
        optimizer.tell({"x": x}, x / 4.0, 1.0)
        optimizer.ask()
    method = optimizer._method
    assert len(method.observed.rows) <= 20
    assert method.observed.rows[0] == 0
    value = method.surrogate.output.apply(np.array([0.5]))[0]
    assert method.surrogate.target == pytest.approx(value)


def constrained(k, c, x, y):
    """Return a value and a constraint, which is active where the value is least."""
    value = (x - 0.6) ** 2 + (y - 0.6) ** 2 + 0.02 * (k - 6) ** 2 + 0.2 * (c != "b")
    return value, x + y + 0.1 * k - 1.2 - 0.2 * (c == "c")


SPACE_OF_CONSTRAINED = {
    "k": Integer(0, 9),
    "c": list("abc"),
    "x": Real(-1.0, 1.0),
    "y": Real(-1.0, 1.0),
}


@pytest.mark.statistical
def test_the_best_beyond_a_constraint_is_found_next_to_it():
    # c = b, k = 5, x = y = 0.35: as near to the unconstrained best as is allowed
    optimizer = MVRSMOptimizer(SPACE_OF_CONSTRAINED, random_state=1)
    for _ in range(50):
        params = optimizer.ask()
        optimizer.tell(params, *constrained(**params))
    least = min(
        2 * (max((1.2 - 0.1 * k) / 2, -1) - 0.6) ** 2 + 0.02 * (k - 6) ** 2
        for k in range(10)
    )
    assert least <= optimizer.best_value < least + 0.01


def test_a_violation_far_from_all_others_is_avoided():
    optimizer = MVRSMOptimizer({"x": Real(0.0, 1.0)}, random_state=0)
    for x in np.random.default_rng(0).uniform(0.0, 0.9, 100):
        optimizer.tell({"x": x}, -x, constraint=x - 100.0)
    proposals = []
    for _ in range(4):
        proposals.append(optimizer.ask()["x"])
        number = 20.0 if proposals[-1] > 0.95 else -100.0
        optimizer.tell({"x": proposals[-1]}, -proposals[-1], proposals[-1] + number)
    assert proposals[-1] < 0.99


@pytest.mark.statistical
def test_few_candidates_violate_a_constraint():
    """The best lies beyond a limit that the constraint meets without a slope."""
    optimizer = MVRSMOptimizer({"x": Real(0, 1), "y": Real(0, 1)}, random_state=0)
    for _ in range(30):
        params = optimizer.ask()
        value = (params["x"] - 0.9) ** 2 + (params["y"] - 0.3) ** 2
        optimizer.tell(params, value, 10.0 * (params["x"] - 0.6) ** 3)
    violated = [trial.constraint > 0.0 for trial in optimizer.trials]
    assert sum(violated) <= 10
    assert optimizer.best_value < 0.1


@pytest.mark.statistical
@pytest.mark.parametrize(("slope", "bound"), [(1.0, -1.5), (0.0, 0.0)])
def test_feasible_candidates_are_found_where_they_are_rare(slope, bound):
    # a share of 0.0005 is allowed; with the slope 1 the best value there is -1.6
    optimizer = MVRSMOptimizer(
        {f"x{i}": Real(-1.0, 1.0) for i in range(4)}, random_state=0
    )
    for _ in range(50):
        params = optimizer.ask()
        x = np.array([*params.values()])
        optimizer.tell(params, -slope * x.sum(), ((x - 0.3) ** 2).sum() - 0.04)
    assert optimizer.best_value <= bound


@pytest.mark.statistical
@pytest.mark.parametrize("best", [0.25, 0.48, 0.9], ids=["far", "near", "inside"])
def test_a_region_that_fails_is_avoided_and_the_best_beside_it_found(best):
    # half of the box fails; the optimum is far from there, near, or inside
    space = {"x": Real(0, 1), "y": Real(0, 1), "k": Integer(0, 9), "c": list("abc")}
    failed, left = [], []
    for seed in range(2):
        optimizer = MVRSMOptimizer(space, n_initial_points=10, random_state=seed)
        for _ in range(48):
            params = optimizer.ask()
            failed.append(params["x"] > 0.5)
            value = (params["x"] - best) ** 2 + (params["y"] - 0.7) ** 2
            value += 0.01 * (params["k"] - 3) ** 2 + 0.1 * (params["c"] != "b")
            optimizer.tell(params, np.nan if failed[-1] else value)
        left.append(optimizer.best_value - max(best - 0.5, 0.0) ** 2)
    if best < 0.5:  # else it is on the edge itself, and a run may end short of it
        assert max(left) < 0.01
    quarters = np.reshape(failed, (2, 4, 12)).mean(axis=(0, 2))
    assert quarters[0] > 0.2
    assert quarters[-1] < 0.6 * quarters[0]
