import copy
import itertools
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, Ordinal, Real, SearchSpace
from sklearn_mvrsm._space.constraints import InfeasibleSpaceError
from sklearn_mvrsm._space.values import same_value

SVC_, KNN = SVC(), KNeighborsClassifier()


def booster_space():
    return {
        "booster": Categorical(["gbtree", "dart", "gblinear"]),
        "learning_rate": Real(1e-3, 0.5, log=True).when(booster=["gbtree", "dart"]),
        "max_depth": Integer(1, 11).when(booster=["gbtree", "dart"]),
        "rate_drop": Real(0.0, 1.0).when(booster="dart"),
        "reg_lambda": Real(1.0, 4.0, log=True),
        "n_estimators": Integer(10, 200),
    }


def pipeline_space():
    return {
        "clf": [SVC_, KNN],
        "clf__kernel": Categorical(["linear", "rbf"]).when(clf=[SVC_]),
        "clf__gamma": Real(1e-3, 1.0, log=True).when({"clf__kernel": ["rbf"]}),
        "clf__n_neighbors": Integer(1, 3).when({"clf": KNN}),
    }


def parents_of_every_kind():
    return {
        "log": Integer(1, 1000, log=True),
        "plain": Integer(-3, 9).when(log=range(10, 101)),
        "two": Integer(5, 6).when(plain=[-3, 0, 1, 9]),
        "order": Ordinal(["s", "m", "l", "xl"]).when(two=6, plain={0, 9}),
        "pair": Ordinal([0.5, None]).when(order=("m", "xl")),
        "flag": Categorical([True, 1, 1.0]).when(pair=None).when(log=range(20, 60)),
        "x": Real(-1.0, 1.0).when(flag=True),
        "y": Real(0.0, 1.0).when(flag=[1]),
        "z": Real(0.0, 1.0).when(flag=np.array([1.0])),
    }


def alternatives():
    return [
        {"kernel": ["linear"], "C": [1, 10]},
        {"kernel": ["rbf"], "C": [1, 10], "gamma": Real(0.1, 1.0).when(C=10)},
        {"n": Integer(1, 4, log=True)},
        {},
    ]


def crossed():
    """Conditions over several parents at once, and a diamond."""
    return {
        "a": [0, 1, 2],
        "b": Integer(0, 3),
        "c": Integer(1, 20, log=True).when(a=[1, 2], b=[0, 3]),
        "d": Categorical(["u", "v"]).when(a=[0, 1]).when(a=[1, 2]),
        "e": Ordinal(range(5)).when(c=range(5, 11)).when(d="u"),
        "f": [1, 2],
        "g": Integer(0, 9).when(f=1).when(b=range(1, 3)),
    }


SPACES = {
    "booster": booster_space,
    "pipeline": pipeline_space,
    "parents": parents_of_every_kind,
    "alternatives": alternatives,
    "crossed": crossed,
    "steps": lambda: {
        "x": Real(0, 1, step=0.1).when(k=range(1, 8, 3)),
        "k": Integer(1, 13, step=3),
        "y": Integer(0, 4, step=2).when(x=[0.3, 0.7]),
    },
    "plain": lambda: {"a": [1, None], "b": Integer(0, 9), "c": Real(1, 2, log=True)},
    "duplicates": lambda: {"a": [2, 2, 2], "b": Integer(1, 3).when(a=2)},
    "empty": lambda: {},
}
FINITE = ["alternatives", "crossed", "steps", "duplicates", "empty"]

BUILT = {name: SearchSpace(build()) for name, build in SPACES.items()}
every_space = pytest.mark.parametrize("space", BUILT.values(), ids=list(BUILT))
# equal values declared twice are told apart by points, but not by params
every_space_without_twins = pytest.mark.parametrize(
    "space", [BUILT[name] for name in BUILT if name != "duplicates"]
)


def wild_points(space, n=400, seed=0):
    domain = space.domain
    rng = np.random.default_rng(seed)
    x = domain.sample(rng, n)
    x[::3] += rng.normal(0.0, 0.4, x[::3].shape)
    return x


def same_params(a, b):
    return list(a) == list(b) and all(same_value(a[name], b[name]) for name in a)


# Named parameters -> points, and back


@every_space
def test_decode_undoes_encode_exactly(space):
    for x in wild_points(space):
        params = space.decode(x)
        point = space.encode(params)
        assert point.shape == (space.domain.d,)
        assert same_params(space.decode(point), params)
        assert space.encode(space.decode(point)).tobytes() == point.tobytes()


@every_space_without_twins
def test_canonical_is_what_encode_gives(space):
    for x in wild_points(space):
        expected = space.encode(space.decode(x))
        assert space.canonical(x).tobytes() == expected.tobytes()


@every_space
def test_canonical_is_idempotent_to_the_last_bit(space):
    x = wild_points(space)
    before = x.copy()
    once = space.canonical(x)
    assert np.array_equal(x, before)
    assert space.canonical(once).tobytes() == once.tobytes()
    assert np.array_equal(space.domain.round(once), once)
    for row, point in zip(x, once, strict=True):
        assert same_params(space.decode(row), space.decode(point))


@every_space
def test_one_point_and_a_stack_of_points_agree(space):
    x = wild_points(space, 30)
    for method in (space.canonical, space.active):
        assert method(x).shape == x.shape
        rows = [method(row) for row in x]
        assert all(row.shape == (space.domain.d,) for row in rows)
        assert np.array_equal(method(x), np.array(rows).reshape(x.shape))
    assert space.active(x).dtype == np.bool_


@every_space_without_twins
def test_points_are_the_same_configuration_iff_their_canonical_bytes_are_equal(space):
    rng = np.random.default_rng(0)
    x = wild_points(space, 200)
    moved = x + rng.normal(0.0, 0.2, x.shape) * (rng.random(x.shape) < 0.2)
    equal = 0
    for one, other in zip(x, moved, strict=True):
        bytes_are_equal = (
            space.canonical(one).tobytes() == space.canonical(other).tobytes()
        )
        params_are_equal = same_params(space.decode(one), space.decode(other))
        assert bytes_are_equal == params_are_equal
        equal += bytes_are_equal
    assert equal > 0


def test_negative_zero_is_zero():
    space = SearchSpace({"x": Real(-1.0, 1.0), "n": Integer(-3, 3)})
    zeros = [space.canonical(np.array([0.0, s])).tobytes() for s in (0.0, -0.0)]
    zeros.append(space.canonical(np.array([-0.0, -0.0])).tobytes())
    zeros.append(space.canonical(np.array([-0.3, -0.0])).tobytes())
    zeros.append(space.encode({"x": -0.0, "n": 0}).tobytes())
    assert len(set(zeros)) == 1


def test_inactive_coordinates_rest_at_neutral_and_are_absent():
    space = SearchSpace(parents_of_every_kind())
    x = wild_points(space)
    active = space.active(x)
    canonical = space.canonical(x)
    neutral = np.broadcast_to(space.domain.neutral, x.shape)
    assert np.array_equal(canonical[~active], neutral[~active])
    for point, row in zip(canonical, active, strict=True):
        params = space.decode(point)
        names = [each.name for each in space.parameters]
        assert set(params) == set(itertools.compress(names, row))


def test_parameters_exist_exactly_where_their_conditions_say():
    space = SearchSpace(parents_of_every_kind())
    seen = set()
    for params in space.sample(8_000, 0):
        rule = {"log"}
        rule |= {"plain"} if 10 <= params["log"] <= 100 else set()
        rule |= {"two"} if params.get("plain") in (-3, 0, 1, 9) else set()
        if params.get("two") == 6 and params["plain"] in (0, 9):
            rule |= {"order"}
        rule |= {"pair"} if params.get("order") in ("m", "xl") else set()
        if "pair" in rule and params["pair"] is None and 20 <= params["log"] < 60:
            rule |= {"flag"}
            rule |= {{bool: "x", int: "y", float: "z"}[type(params["flag"])]}
        assert set(params) == rule
        seen |= set(params)
    assert seen == set(space.names)


def test_estimators_as_categories_bring_parameters_of_their_own():
    space = SearchSpace(pipeline_space())
    kinds = set()
    for params in space.sample(300, 0):
        kinds.add(tuple(params))
        if params["clf"] is SVC_:
            assert ("clf__gamma" in params) == (params["clf__kernel"] == "rbf")
            assert "clf__n_neighbors" not in params
        else:
            assert params["clf"] is KNN
            assert set(params) == {"clf", "clf__n_neighbors"}
    assert len(kinds) == 3


def test_values_have_builtin_types_and_declared_order():
    space = SearchSpace(booster_space())
    for params in space.sample(100, 0):
        assert list(params) == [name for name in space.names if name in params]
        for name in ("max_depth", "n_estimators"):
            assert type(params.get(name, 1)) is int
        for name in ("learning_rate", "rate_drop", "reg_lambda"):
            assert type(params.get(name, 1.0)) is float


def test_points_beyond_the_box_decode_to_the_ends():
    space = SearchSpace(
        {
            "r": Real(0.1, 0.3),
            "l": Real(1e-3, 0.7, log=True),
            "n": Integer(3, 9),
            "m": Integer(1, 10, log=True),
            "o": Ordinal(["a", "b", "c"]),
        }
    )
    far = np.full(space.domain.d, 1e9)
    top = {"r": 0.3, "l": 0.7, "n": 9, "m": 10, "o": "c"}
    bottom = {"r": 0.1, "l": 1e-3, "n": 3, "m": 1, "o": "a"}
    assert space.decode(far) == space.decode(space.domain.upper) == top
    assert space.decode(-far) == space.decode(space.domain.lower) == bottom
    assert np.array_equal(space.encode(bottom)[2:4], space.domain.lower[2:4])
    assert space.decode(np.full(space.domain.d, np.inf)) == top


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"booster": "gblinear", "reg_lambda": 1.0},
            "'n_estimators' must have a value",
        ),
        (
            {"booster": "dart", "reg_lambda": 1.0, "n_estimators": 10},
            "must have a value, got only \\['booster', 'n_estimators', 'reg_lambda'\\]",
        ),
        (
            {
                "booster": "gblinear",
                "rate_drop": 0.5,
                "reg_lambda": 1.0,
                "n_estimators": 10,
            },
            "'rate_drop' \\(=0.5\\) must be absent here: it exists only where "
            "booster is 'dart' holds",
        ),
        ({"boosted": "dart"}, "'boosted' \\(='dart'\\) is not in the space"),
        ({"booster": "tree"}, "'booster' must be one of .*got 'tree'"),
        ({"n_estimators": 201}, "'n_estimators' must be an integer from 10 to 200"),
        ({"n_estimators": 20.0}, "got 20.0"),
        ({"reg_lambda": 0.99}, "'reg_lambda' must be a number from 1.0 to 4.0"),
        ({"rate_drop": math.nan}, "'rate_drop' must be a number .*got nan"),
    ],
)
def test_encode_refuses_what_is_no_configuration(params, message):
    with pytest.raises(ValueError, match=message):
        SearchSpace(booster_space()).encode(params)


def test_encode_takes_a_mapping():
    with pytest.raises(TypeError, match="params must be a mapping, got 3"):
        SearchSpace({}).encode(3)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (np.zeros(4), "d=6, got \\(4,\\)"),
        (np.zeros((2, 6)), "'point' must have shape \\(d,\\), got \\(2, 6\\)"),
        (np.full(6, np.nan), "must not have NaN"),
    ],
)
def test_decode_refuses_what_is_no_point(point, message):
    with pytest.raises(ValueError, match=message):
        SearchSpace(booster_space()).decode(point)


def test_points_of_another_space_are_refused():
    space = SearchSpace(booster_space())
    for method in (space.canonical, space.active, space.decode):
        with pytest.raises(ValueError, match="d=6"):
            method(np.zeros(5))
    for method in (space.canonical, space.active):
        with pytest.raises(ValueError, match="got \\(1, 1, 6\\)"):
            method(np.zeros((1, 1, 6)))


def test_encode_takes_numpy_scalars_but_decode_gives_builtins():
    space = SearchSpace({"n": Integer(1, 9), "x": Real(0, 1), "c": [1, 2]})
    params = {"n": np.int64(3), "x": np.float64(0.5), "c": np.int32(2)}
    decoded = space.decode(space.encode(params))
    assert decoded == {"n": 3, "x": 0.5, "c": 2}
    assert [type(value) for value in decoded.values()] == [int, float, int]


# Declaring


def test_names_and_coordinates():
    space = SearchSpace(booster_space())
    assert space.names == tuple(booster_space())
    assert [each.name for each in space.parameters] == [
        "booster", "max_depth", "n_estimators",
        "learning_rate", "rate_drop", "reg_lambda",
    ]  # fmt: skip
    assert space.domain.category_sizes == (3,)
    assert space.domain.integer_bounds == ((1, 11), (10, 200))
    assert space.parameters[1].conditions == space.parameters[3].conditions
    assert space.parameters[4].conditions[0].spans == ((1, 1),)


def test_shorthand_of_every_kind():
    space = SearchSpace(
        {
            "list": [250, 500],
            "range": range(3),
            "array": np.array([0.1, 0.2, 0.3]),
            "uniform": stats.uniform(1, 2),
            "loguniform": stats.loguniform(1e-3, 1.0),
            "randint": stats.randint(1, 10),
        }
    )
    assert space.domain.category_sizes == (2, 3, 3)
    assert space.domain.integer_bounds == ((1, 9),)
    for params in space.sample(200, 0):
        assert params["list"] in (250, 500)
        assert 1.0 <= params["uniform"] <= 3.0
        assert 1e-3 <= params["loguniform"] <= 1.0


def test_from_any_keeps_spaces_and_builds_the_rest():
    space = SearchSpace({"a": [1, 2]})
    assert SearchSpace.from_any(space) is space
    assert SearchSpace.from_any({"a": [1, 2]}).names == ("a",)
    assert SearchSpace.from_any([{"a": [1]}, {"b": [1]}]).names == ("a", "b")


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (3, TypeError, "must be a dict, a list of dicts or a SearchSpace, got 3"),
        ("abc", TypeError, "got 'abc'"),
        ([{"a": [1]}, 3], TypeError, "must be a dict, a list of dicts"),
        ([], ValueError, "alternatives must not be empty, got \\[\\]"),
        ({1: [1]}, TypeError, "name must be a non-empty str, got 1"),
        ({"": [1]}, TypeError, "name must be a non-empty str, got ''"),
        ({"C": 3}, TypeError, "Parameter 'C' must be .*got 3; write a list of one"),
        ({"C": "rbf"}, TypeError, "Parameter 'C' must be .*got 'rbf'"),
        ({"C": []}, ValueError, "Parameter 'C': .*must not be empty"),
        ({"C": stats.norm()}, ValueError, "Parameter 'C': .*got 'norm'"),
    ],
)
def test_spaces_that_make_no_sense_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        SearchSpace(params)


R = Real(0.0, 1.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"x": R.when(k=1)}, "'x' depends on 'k' \\(=1\\), which is not in the space"),
        ({"k": [1, 2], "x": R.when(k=3)}, "depends on 'k' being 3, which Categorical"),
        ({"k": [1, 2], "x": R.when(k=True)}, "being True, which .* never offers"),
        ({"k": [1, 2], "x": R.when(k=[1, 1.0])}, "being 1.0, which"),
        ({"k": ["a"], "x": R.when(k="ab")}, "being 'ab', which"),
        ({"k": [1], "x": R.when(k=[])}, "'x' must name a value of 'k', got \\[\\]"),
        ({"k": [1], "x": R.when(k=range(0))}, "must name a value of 'k', got range"),
        ({"k": Integer(1, 9), "x": R.when(k=range(5, 11))}, "being 10, which Integer"),
        ({"k": Integer(1, 9), "x": R.when(k=0)}, "being 0, which Integer\\(1, 9\\)"),
        ({"k": Integer(1, 9), "x": R.when(k=2.0)}, "being 2.0, which Integer"),
        ({"k": R, "x": R.when(k=0.5)}, "'x' must not depend on 'k' .*cannot be listed"),
        ({"x": R.when(x=1)}, "cycle, got x -> x"),
        (
            {"a": Categorical([1]).when(b=1), "b": Categorical([1]).when(a=1)},
            "cycle, got a -> b -> a",
        ),
        (
            {
                "z": R.when(a=1),
                "a": Categorical([1]).when(b=1),
                "b": Categorical([1]).when(c=1),
                "c": Categorical([1]).when(a=1),
            },
            "cycle, got a -> b -> c -> a",
        ),
    ],
)
def test_conditions_that_make_no_sense_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        SearchSpace(params)


def test_parents_are_looked_up_in_the_same_dict():
    with pytest.raises(ValueError, match=r"'x' depends on 'k' .*not in the space"):
        SearchSpace([{"k": [1]}, {"x": R.when(k=1)}])


def holds(parent, wanted):
    """Values of a parent for which a child exists."""
    space = SearchSpace({"p": parent, "x": R.when(p=wanted)})
    column = [each.name for each in space.parameters].index("p")
    parameter = space.parameters[column].parameter
    points = np.repeat(space.domain.neutral[np.newaxis], parameter.size, axis=0)
    points[:, column] = [parameter.number_at(k) for k in range(parameter.size)]
    return [p["p"] for p in map(space.decode, points) if "x" in p]


@pytest.mark.parametrize(
    ("parent", "wanted", "values"),
    [
        ([1, 2, 3], 2, [2]),
        ([1, 2, 3], [1, 3], [1, 3]),
        ([1, 2, 3], {3, 1}, [1, 3]),
        ([1, 2, 3], frozenset([3]), [3]),
        ([1, 2, 3], (2, 3), [2, 3]),
        ([1, 2, 3], range(1, 3), [1, 2]),
        ([1, 5, 2, 3], range(1, 4), [1, 2, 3]),
        ([1, 2, 3], np.array([2, 3]), [2, 3]),
        ([1, 2, 3], np.array(2), [2]),
        ([1, 2, 3], np.int64(2), [2]),
        ([(1, 2), 1, 2], (1, 2), [(1, 2)]),
        ([(1, 2), 1, 2], [1, 2], [1, 2]),
        ([[1, 2], 1, 2], [1, 2], [[1, 2]]),
        ([[1, 2], 1, 2], [[1, 2]], [[1, 2]]),
        ([None, "none", True, 1, 1.0], None, [None]),
        ([None, "none", True, 1, 1.0], [True, 1.0], [True, 1.0]),
        ([math.nan, 1], float("nan"), [math.nan]),
        ([2, 2, 3], 2, [2, 2]),
        (Integer(1, 6), 3, [3]),
        (Integer(1, 6), range(2, 5), [2, 3, 4]),
        (Integer(1, 6), range(5, 1, -2), [3, 5]),
        (Integer(1, 6), [1, 2, 6], [1, 2, 6]),
        (Integer(1, 6), np.arange(5, 7), [5, 6]),
        (Integer(3, 4), 4, [4]),
        (Integer(3, 4, log=True), 3, [3]),
        (Integer(1, 50, log=True), [1, 49, 50], [1, 49, 50]),
        (Integer(1, 50, log=True), range(7, 12), [7, 8, 9, 10, 11]),
        (Integer(1, 13, step=3), range(4, 11, 3), [4, 7, 10]),
        (Real(0, 1, step=0.25), [0.25, 1], [0.25, 1.0]),
        (Real(0, 1, step=0.1), 0.1 * 3, [0.3]),
        (Ordinal(["s", "m", "l"]), ["s", "l"], ["s", "l"]),
        (Ordinal(["s", "m"]), "m", ["m"]),
    ],
    ids=str,
)
def test_conditions_name_a_value_or_a_collection_of_values(parent, wanted, values):
    found = holds(parent, wanted)
    assert len(found) == len(values)
    assert all(map(same_value, found, values))


def test_a_condition_on_a_wide_integer_lists_nothing():
    space = SearchSpace(
        {"n": Integer(1, 10**12), "x": R.when(n=range(5 * 10**11, 10**12 + 1))}
    )
    (condition,) = space.parameters[1].conditions
    assert condition.spans == ((5 * 10**11 - 1, 10**12 - 1),)
    assert "x" not in space.decode([5 * 10**11 - 1, 0.5])
    assert "x" in space.decode([5 * 10**11, 0.5])


def test_children_may_be_declared_before_their_parents():
    forward = SearchSpace(crossed())
    backward = SearchSpace(dict(reversed(crossed().items())))
    assert backward.cardinality == forward.cardinality
    for params in forward.sample(200, 0):
        assert backward.decode(backward.encode(params)) == params


@pytest.mark.parametrize(
    ("params", "name", "parent"),
    [
        ({"a": [1, 2], "x": R.when(a=1).when(a=2)}, "x", "a"),
        (
            {"a": [1, 2], "b": Categorical([3]).when(a=1), "x": R.when(b=3, a=2)},
            "x",
            "a",
        ),
        (
            {
                "x": R.when(c=3),
                "c": Categorical([3]).when(a=range(5, 8), b=3),
                "b": Categorical([3]).when(a=[1, 4, 8]),
                "a": Integer(1, 9),
            },
            "c",
            "a",
        ),
    ],
)
def test_what_can_never_exist_is_refused(params, name, parent):
    message = f"'{name}' can never exist: it needs .*, and no value of '{parent}' sat"
    with pytest.raises(ValueError, match=message):
        SearchSpace(params)
    with pytest.raises(ValueError, match=message):
        SearchSpace([{"a": [1]}, params])


@pytest.mark.parametrize(
    ("parent", "values"),
    [
        (list(range(200)), range(0, 200, 3)),
        (
            list("abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            "adgjmpsvyBEHKNQTWZacegikmoqsuwy",
        ),
        (Integer(0, 3000), range(0, 3000, 7)),
        (Integer(1, 500, log=True), [*range(2, 500, 7), 500]),
        ([None, True, 1, 1.0, "1", *range(2, 60)], [True, 1.0, *range(3, 60, 2)]),
    ],
)
def test_conditions_with_many_values_hold_exactly_there(parent, values):
    values = list(values)
    space = SearchSpace({"p": parent, "x": Real(0.0, 1.0).when(p=values)})
    rng = np.random.default_rng(0)
    points = space.canonical(space.domain.sample(rng, 2000))
    known = [space.decode(point)["p"] for point in points]
    wanted = {(type(value), value) for value in values}
    expected = [(type(value), value) in wanted for value in known]
    assert 0 < sum(expected) < len(expected)
    assert space.active(points)[:, space.domain.d - 1].tolist() == expected


def test_conditions_that_meet_in_one_value_hold_there():
    space = SearchSpace(
        {
            "a": Integer(1, 9),
            "b": Categorical([3]).when(a=[1, 4, 8]),
            "x": Categorical([3]).when(a=range(2, 8), b=3),
        }
    )
    assert {p["a"] for p in space.sample(200, 0) if "x" in p} == {4}
    assert space.cardinality == 9


# Alternatives


def test_alternatives_have_dimensions_of_their_own_behind_a_hidden_category():
    space = SearchSpace(alternatives())
    assert space.parameters[0].name is None
    assert space.domain.category_sizes[0] == 4
    assert [each.name for each in space.parameters].count("C") == 2
    assert space.names == ("kernel", "C", "gamma", "n")
    kinds = {tuple(params) for params in space.sample(300, 0)}
    assert kinds == {("kernel", "C"), ("kernel", "C", "gamma"), ("n",), ()}


def test_encode_picks_the_first_alternative_that_accepts():
    space = SearchSpace([{"a": [1, 2]}, {"a": [2, 3]}, {"a": [1], "b": [1]}, {}])
    picked = [
        int(space.encode(params)[0])
        for params in ({"a": 1}, {"a": 2}, {"a": 3}, {"a": 1, "b": 1}, {})
    ]
    assert picked == [0, 0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"none of the 4 alternatives\. 0: .*; 1: .*"):
        space.encode({"a": 4})


def test_one_dict_in_a_list_is_that_dict():
    space = SearchSpace([{"a": [1, 2]}])
    assert space.domain.d == 1
    assert space.to_codes({"a": 2}) == {"a": 1}


def test_an_empty_space_is_one_configuration():
    space = SearchSpace({})
    assert space.domain.d == 0
    assert space.names == ()
    assert space.cardinality == 1
    assert [space.decode(point) for point in space.grid()] == [{}]
    assert space.sample(3, 0) == [{}, {}, {}]
    assert space.decode(space.encode({})) == {}
    assert space.canonical(np.zeros((3, 0))).shape == (3, 0)
    assert space.from_codes(space.to_codes({})) == {}


# Sampling and constraints


def test_samples_are_reproducible_and_independent_of_the_way_of_seeding():
    space = SearchSpace(booster_space())
    assert space.sample(5, 3) == space.sample(5, np.random.default_rng(3))
    assert space.sample(5, 3) != space.sample(5, 4)
    legacy = [space.sample(5, np.random.RandomState(3)) for _ in range(2)]
    assert legacy[0] == legacy[1]
    assert len(space.sample(2)) == 2
    assert space.sample(0, 0) == []
    with pytest.raises(ValueError, match="'n' must be an int >= 0, got -1"):
        space.sample(-1)
    with pytest.raises(TypeError, match=r"'n' must be an int >= 0, got 1\.5"):
        space.sample(1.5)
    with pytest.raises(TypeError, match=r"'random_state' must be .*, got 'x'"):
        space.sample(1, "x")


def test_each_value_is_sampled_equally_often():
    n = 10_000
    space = SearchSpace(
        {
            "i": Integer(-2, 2),
            "o": Ordinal(list("abcde")),
            "c": list("vwxyz"),
        }
    )
    drawn = space.sample(n, 0)
    for name in space.names:
        counts = [0] * 5
        column = [each.name for each in space.parameters].index(name)
        parameter = space.parameters[column].parameter
        for params in drawn:
            counts[parameter.indices(params[name])[0]] += 1
        chi_square = sum((c - n / 5) ** 2 / (n / 5) for c in counts)
        assert chi_square < 20.0  # p < 0.0005


def below_diagonal(params):
    return params["a"] + params["b"] <= 1.0


def test_constraints_hold_for_every_sample():
    box = {"a": Real(0, 1), "b": Real(0, 1)}
    space = SearchSpace(box, constraints=[below_diagonal])
    assert all(map(below_diagonal, space.sample(300, 0)))
    rng = np.random.default_rng(0)
    for _ in range(50):
        point = space.sample_point(rng)
        assert space.feasible(point)
        assert space.canonical(point).tobytes() == point.tobytes()
    assert not space.feasible([0.9, 0.9])
    assert SearchSpace(box).feasible([0.9, 0.9])
    assert np.isfinite(space.encode({"a": 0.9, "b": 0.9})).all()


def test_constraints_see_active_parameters_and_cannot_alter_them():
    seen = []

    def watch(params):
        seen.append(set(params))
        params.clear()
        return True

    space = SearchSpace(pipeline_space(), [watch])
    assert all("clf" in params for params in space.sample(50, 0))
    assert {frozenset(names) for names in seen} == {
        frozenset(params) for params in SearchSpace(pipeline_space()).sample(200, 0)
    }


def test_constraints_of_a_space_are_added_to():
    inner = SearchSpace({"a": Integer(1, 9)}, [lambda params: params["a"] > 3])
    outer = SearchSpace(inner, [lambda params: params["a"] < 6])
    assert {params["a"] for params in outer.sample(200, 0)} == {4, 5}
    assert len(inner.constraints) == 1
    assert SearchSpace(inner).constraints == inner.constraints


def never(params):
    return False


def test_an_infeasible_space_says_who_refused_and_how_often():
    space = SearchSpace({"a": Integer(1, 10**6)}, [lambda p: p["a"] > 5, never])
    with pytest.raises(InfeasibleSpaceError, match="None of 10000 random points") as e:
        space.sample(1, 0)
    assert "never (10000 times)" in str(e.value) or "never (9999 times)" in str(e.value)
    assert isinstance(e.value, ValueError)


def test_what_a_constraint_raises_goes_on_with_its_name():
    def broken(params):
        return params["missing"] > 1

    with pytest.raises(KeyError, match="missing") as caught:
        SearchSpace({"a": [1]}, [broken]).sample(1, 0)
    (note,) = caught.value.__notes__
    assert "broken" in note
    assert "{'a': 1}" in note


@pytest.mark.parametrize("answer", [None, 1, "yes", np.array([True])])
def test_a_constraint_returns_a_bool(answer):
    space = SearchSpace({"a": [1]}, [lambda params: answer])
    with pytest.raises(TypeError, match="A constraint must return a bool, got"):
        space.sample(1, 0)
    assert SearchSpace({"a": [1]}, [lambda params: np.True_]).sample(1, 0)


@pytest.mark.parametrize("constraints", [never, [3], "ab", None, {never}])
def test_constraints_are_a_list_of_callables(constraints):
    with pytest.raises(TypeError, match="must be a list of callables, got"):
        SearchSpace({"a": [1]}, constraints)


# The space as a whole


@pytest.mark.parametrize("name", FINITE)
def test_grid_holds_every_configuration_once(name):
    declared = SPACES[name]()
    if name == "alternatives":
        declared[1]["gamma"] = Integer(1, 7, log=True).when(C=10)
    space = SearchSpace(declared)
    points = list(space.grid())
    keys = {point.tobytes() for point in points}
    assert len(keys) == len(points) == space.cardinality
    for point in points:
        assert space.canonical(point).tobytes() == point.tobytes()
    drawn = space.canonical(space.domain.sample(np.random.default_rng(0), 20_000))
    assert {row.tobytes() for row in drawn} <= keys


def test_grid_turns_the_last_parameter_fastest():
    space = SearchSpace({"a": [1, 2], "b": Integer(1, 3).when(a=2), "c": ["u", "v"]})
    assert [tuple(space.decode(point).values()) for point in space.grid()] == [
        (1, "u"), (1, "v"),
        (2, 1, "u"), (2, 1, "v"), (2, 2, "u"), (2, 2, "v"), (2, 3, "u"), (2, 3, "v"),
    ]  # fmt: skip


def test_grid_is_lazy():
    space = SearchSpace({f"p{k}": Integer(1, 10**6, log=True) for k in range(300)})
    first = [space.decode(point) for point in itertools.islice(space.grid(), 3)]
    assert [params["p299"] for params in first] == [1, 2, 3]
    assert {params["p0"] for params in first} == {1}


def test_a_space_with_reals_has_no_grid():
    space = SearchSpace(booster_space())
    assert space.cardinality == math.inf
    with pytest.raises(ValueError, match="no grid, got \\['learning_rate', 'rate_drop"):
        space.grid()


def offered_by(parameter):
    numbers = map(parameter.number_at, range(parameter.size))
    return [parameter.to_value(number) for number in numbers]


def random_finite_space(rng):
    params = {}
    for k in range(rng.integers(2, 7)):
        size = int(rng.integers(2, 5))
        kinds = [
            Categorical(range(size)),
            Ordinal(range(size)),
            Integer(0, size),
            Integer(1, size + 1, log=True),
        ]
        parameter = kinds[rng.integers(4)]
        for parent in list(params):
            if rng.random() < 0.35:
                offered = offered_by(params[parent])
                wanted = [value for value in offered if rng.random() < 0.6]
                if wanted:
                    parameter = parameter.when({parent: wanted})
        params[f"p{k}"] = parameter
    return params


def never_there(params):
    """Names, parents first, that no assignment of values lets exist."""
    ever = set()
    for values in itertools.product(*map(offered_by, params.values())):
        given, there = dict(zip(params, values, strict=True)), set()
        for name, parameter in params.items():
            if all(p in there and given[p] in v for p, v in parameter.conditions):
                there.add(name)
        ever |= there
    return [name for name in params if name not in ever]


def test_exactly_what_no_assignment_lets_exist_is_refused():
    refused = 0
    for seed in range(140):
        params = random_finite_space(np.random.default_rng(seed))
        never = never_there(params)
        if never:
            refused += 1
            with pytest.raises(ValueError, match=f"'{never[0]}' can never exist"):
                SearchSpace(params)
        else:
            SearchSpace(params)
    assert 5 <= refused <= 70  # both are seen


@pytest.mark.parametrize("seed", range(40))
def test_cardinality_is_the_number_of_configurations(seed):
    params = random_finite_space(np.random.default_rng(seed))
    for name in never_there(params):
        params[name] = replace(params[name], conditions=())
    space = SearchSpace(params)
    everything = itertools.product(
        *(
            [each.parameter.number_at(k) for k in range(each.parameter.size)]
            for each in space.parameters
        )
    )
    keys = {row.tobytes() for row in space.canonical(np.array(list(everything)))}
    assert space.cardinality == len(keys)
    assert {point.tobytes() for point in space.grid()} == keys


@pytest.mark.parametrize(
    ("size", "expected"),
    [(9_999, 10_000), (10_000, 20_000), (10**9, 2 * 10**9)],  # exact is size + 1
)
def test_cardinality_is_exact_up_to_10_000_and_then_an_upper_bound(size, expected):
    space = {"a": [0, 1], "b": Integer(1, size).when(a=1)}
    assert SearchSpace(space).cardinality == expected
    assert SearchSpace({**space, "x": R}).cardinality == math.inf


def test_cardinality_of_many_crossing_conditions_is_an_upper_bound():
    rng = np.random.default_rng(0)
    params = {f"a{k}": list(range(3)) for k in range(40)}
    for k in range(120):
        chosen = rng.choice(40, 3, replace=False)
        params[f"b{k}"] = Integer(1, 3).when({f"a{j}": [0, 2] for j in chosen})
    assert SearchSpace(params).cardinality == 3**160


def test_a_long_chain_of_conditions_is_no_trouble():
    params = {"p0": [0, 1]}
    for k in range(1, 600):
        params[f"p{k}"] = Categorical([0, 1]).when({f"p{k - 1}": 1})
    space = SearchSpace(params)
    assert space.cardinality == 601
    assert len(list(space.grid())) == 601
    assert len(space.decode(np.ones(600))) == 600
    assert len(space.decode(np.zeros(600))) == 1


def test_two_hundred_wide_parameters_cost_nothing_special():
    space = SearchSpace({f"n{k}": Integer(1, 10**6) for k in range(200)})
    assert space.cardinality == 10**1200
    params = space.sample(1, 0)[0]
    assert space.decode(space.encode(params)) == params


# Codes, fingerprint, travelling


@every_space
def test_codes_are_plain_json_and_come_back_exactly(space):
    for x in wild_points(space, 100):
        params = space.decode(x)
        codes = space.to_codes(params)
        assert all(type(code) in (int, float) for code in codes.values())
        again = space.from_codes(json.loads(json.dumps(codes)))
        assert same_params(again, params)
        for name, value in params.items():
            if isinstance(value, SVC | KNeighborsClassifier):
                assert again[name] is value


def test_codes_keep_numbers_and_tell_the_alternative():
    space = SearchSpace([{"a": [1]}, {"k": ["u", "v"], "n": Integer(4, 5), "x": R}])
    params = {"k": "v", "n": 5, "x": 0.1 + 0.2}
    assert space.to_codes(params) == {"k": 1, "n": 5, "x": 0.1 + 0.2, "": 1}


def test_codes_keep_floats_that_the_grid_of_logarithms_would_round():
    space = SearchSpace({"x": Real(1e-3, 1.0, log=True)})
    params = {"x": 0.1234567890123456}
    assert space.from_codes(space.to_codes(params)) == params


def test_codes_of_what_is_no_configuration_are_refused():
    space = SearchSpace(booster_space())
    with pytest.raises(ValueError, match="'booster' must be one of"):
        space.to_codes({"booster": "tree"})


@pytest.mark.parametrize("build", SPACES.values(), ids=list(SPACES))
def test_fingerprints_are_plain_and_equal_for_equal_spaces(build):
    one, other = (json.dumps(SearchSpace(build()).fingerprint()) for _ in range(2))
    assert one == other


def test_fingerprints_tell_spaces_apart():
    spaces = [
        {"a": [1, 2]},
        {"a": [1, 2.0]},
        {"a": [1, 2, 3]},
        {"b": [1, 2]},
        {"a": Ordinal([1, 2])},
        {"a": Integer(1, 2)},
        {"a": Integer(1, 3)},
        {"a": Integer(1, 3, log=True)},
        {"a": Integer(1, 3, step=2)},
        {"a": Real(1, 3)},
        {"a": Real(1, 3, step=0.5)},
        {"a": Real(1, 3, step=1)},
        {"a": [SVC(), KNN]},
        {"a": [SVC(C=2), KNN]},
        {"a": [1, 2], "x": R.when(a=1)},
        {"a": [1, 2], "x": R.when(a=2)},
        {"a": [1, 2], "x": R},
        [{"a": [1, 2]}, {}],
        SearchSpace({"a": [1, 2]}, [never]),
        SearchSpace({"a": [1, 2]}, [below_diagonal]),
    ]
    prints = {json.dumps(SearchSpace(each).fingerprint()) for each in spaces}
    assert len(prints) == len(spaces)


@every_space
def test_spaces_travel(space):
    for again in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert again.domain == space.domain
        assert again.fingerprint() == space.fingerprint()
        x = wild_points(space, 20)
        assert np.array_equal(again.canonical(x), space.canonical(x))
        for row in x:
            assert same_params(again.decode(row), space.decode(row))
    assert clone(space, safe=False) is space


def test_conditions_on_estimators_survive_a_clone_of_the_dict():
    cloned = clone(pipeline_space(), safe=False)
    assert cloned["clf"][0] is not SVC_
    space = SearchSpace(cloned)
    assert space.fingerprint() == SearchSpace(pipeline_space()).fingerprint()


def test_twins_are_told_apart_by_identity_in_clones_too():
    first, second = SVC(), SVC()
    declared = {"clf": Categorical([first, second]), "x": R.when(clf=second)}
    for params in (declared, clone(declared, safe=False), copy.deepcopy(declared)):
        space = SearchSpace(params)
        column = [each.name for each in space.parameters].index("x")
        assert space.parameters[column].conditions[0].spans == ((1, 1),)
