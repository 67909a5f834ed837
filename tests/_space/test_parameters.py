import copy
import json
import math
import operator
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMSearchCV,
    Ordinal,
    Real,
    SearchSpace,
)
from sklearn_mvrsm._description.description import describe_value
from sklearn_mvrsm._space.layout import as_parameter
from sklearn_mvrsm._space.values import same_value

NAN = float("nan")
ODD = [None, True, False, 1, 0, 1.0, "1", "none", (5,), (5, 2), [3, 4], {"a": 1}, len]
ODD += [np.float32(0.5), np.float64(0.5), NAN, np.nan * 2, np.arange(3), SVC(), SVC]

REALS = [
    Real(0.0, 1.0),
    Real(-1e300, 1e-300),
    Real(1e-3, 0.5, log=True),
    Real(1e-300, 1e300, log=True),
    Real(0.3, 0.1 + 0.2, log=False),
    Real(1.0, 1.0 + 1e-11, log=True),
    Real(1 / 3, 1e5 / 7, log=True),
    Real(2.3e-308, 1.7e308, log=True),
]
INTEGERS = [
    Integer(1, 11),
    Integer(-5, -3),
    Integer(0, 1),
    Integer(7, 8, log=True),
    Integer(1, 10**6),
    Integer(1, 1000, log=True),
    Integer(3, 5, log=True),
    Integer(-(2**51), 2**51),
    Integer(2**44 - 7, 2**44, log=True),
]
CHOICES = [
    Categorical(ODD),
    Categorical([2, 2, 2]),
    Categorical(["only"]),
    Ordinal([16, 64, 256]),
    Ordinal(["low", "high"]),
    Ordinal((None,)),
]
STEPS = [
    Real(0, 1, step=0.1),
    Real(-0.7, 0.5, step=0.3),
    Real(0, 1, step=1 / 3),  # no decimal number: three of them end at 1
    Real(1e6, 1e6 + 1, step=0.25),
    Real(0.1, 0.3, step=0.2),
    Integer(1, 13, step=3),
    Integer(-5, 5, step=10),
    Integer(-(2**51), 2**51, step=2),
]
EVERY = REALS + INTEGERS + CHOICES + STEPS
every_parameter = pytest.mark.parametrize("parameter", EVERY, ids=repr)


def numbers_of(parameter, n=300):
    """Numbers inside, at and beyond the bounds."""
    low, high = parameter.bounds
    inside = np.random.default_rng(0).uniform(0.0, 1.0, n)
    margin = max(high - low, 1.0) / 10
    return np.concatenate(
        [low + inside * (high - low), [low, high, low - margin, high + margin]]
    )


@every_parameter
def test_what_came_out_of_to_value_survives_the_journey(parameter):
    for number in numbers_of(parameter):
        value = parameter.to_value(float(number))
        again = parameter.to_value(parameter.to_number(value))
        assert same_value(again, value)
        assert type(again) is type(value)


@pytest.mark.parametrize(
    "parameter", [each for each in EVERY if each != Categorical([2, 2, 2])], ids=repr
)
def test_snap_is_to_number_of_to_value_in_one_go(parameter):
    x = numbers_of(parameter)
    snapped = parameter.snap(x)
    expected = [parameter.to_number(parameter.to_value(float(each))) for each in x]
    assert snapped.tolist() == expected
    assert parameter.snap(snapped).tolist() == expected
    assert parameter.snap(x.reshape(2, -1)).tolist() == [
        expected[: len(x) // 2],
        expected[len(x) // 2 :],
    ]


@every_parameter
def test_numbers_stay_inside_the_bounds(parameter):
    low, high = parameter.bounds
    snapped = parameter.snap(numbers_of(parameter))
    assert low <= snapped.min()
    assert snapped.max() <= high


@pytest.mark.parametrize("parameter", REALS + INTEGERS + STEPS, ids=repr)
def test_both_ends_are_reached_exactly_and_never_passed(parameter):
    low, high = parameter.bounds
    kind = float if isinstance(parameter, Real) else int
    for number, end in ((low, parameter.low), (high, parameter.high)):
        assert parameter.to_value(number) == end
        assert type(parameter.to_value(number)) is kind
    for number in numbers_of(parameter):
        value = parameter.to_value(float(number))
        assert parameter.low <= value <= parameter.high
        assert type(value) is kind


@pytest.mark.parametrize("digits", [1, 2, 3, 6, 9, 12])
def test_log_reals_keep_what_people_write(digits):
    rng = np.random.default_rng(digits)
    parameter = Real(1e-12, 1e12, log=True)
    for _ in range(500):
        value = float(f"{10 ** rng.uniform(-12, 12):.{digits}g}")
        if parameter.low <= value <= parameter.high:
            assert parameter.to_value(parameter.to_number(value)) == value


def test_log_reals_move_any_float_by_less_than_one_part_in_ten_to_the_twelve():
    rng = np.random.default_rng(0)
    parameter = Real(1e-9, 10.0, log=True)
    for _ in range(500):
        value = float(10 ** rng.uniform(-9, 1))
        again = parameter.to_value(parameter.to_number(value))
        assert abs(again / value - 1.0) < 1e-12


def test_neighbouring_numbers_of_a_log_real_have_different_values():
    parameter = Real(1e-3, 10.0, log=True)
    start = parameter.to_number(0.37)
    cells = parameter.snap(start + np.arange(200) * 2.0**-41)
    values = [parameter.to_value(float(each)) for each in cells]
    assert len(set(cells)) == len(set(values)) == 200
    assert values == sorted(values)


@pytest.mark.parametrize(
    "parameter",
    [Integer(1, 6), Integer(-2, 3), Integer(0, 1), Ordinal(["a", "b", "c", "d"])],
    ids=repr,
)
def test_cells_of_integers_and_ordinals_have_equal_length(parameter):
    edges = [parameter.edge(k) for k in range(parameter.size + 1)]
    assert set(np.diff(edges)) == {1.0}


@pytest.mark.parametrize("parameter", INTEGERS + CHOICES + STEPS, ids=repr)
def test_values_change_at_the_edges(parameter):
    for k in sorted({0, parameter.size // 2, parameter.size - 1}):
        low, high = parameter.edge(k), parameter.edge(k + 1)
        number = parameter.number_at(k)
        assert low < number < high
        if parameter.size < 10**7:
            for inside in (low + 0.1 * (high - low), high - 0.1 * (high - low)):
                assert parameter.snap(np.array([inside])).tolist() == [number]


def test_log_integers_have_the_chance_of_their_log_interval():
    parameter = Integer(1, 10, log=True)
    rng = np.random.default_rng(0)
    drawn = [parameter.to_value(x) for x in rng.uniform(*parameter.bounds, 40_000)]
    values = np.arange(1, 11)
    expected = np.log((values + 0.5) / (values - 0.5)) / math.log(10.5 / 0.5)
    share = np.bincount(drawn, minlength=11)[1:] / len(drawn)
    assert np.abs(share - expected).max() < 0.01


@pytest.mark.parametrize(
    ("parameter", "kind", "bounds", "size"),
    [
        (Real(0, 1), "real", (0.0, 1.0), math.inf),
        (Integer(2, 9), "integer", (2, 9), 8),
        (Integer(4, 5), "category", (0, 1), 2),
        (Integer(4, 5, log=True), "category", (0, 1), 2),
        (Integer(1, 9, log=True), "real", (math.log(0.5), math.log(9.5)), 9),
        (Ordinal([1, 2, 3]), "integer", (0, 2), 3),
        (Ordinal([1, 2]), "category", (0, 1), 2),
        (Categorical([1, 2, 3]), "category", (0, 2), 3),
        (Categorical([1]), "category", (0, 0), 1),
        (Real(0, 1, step=0.1), "integer", (0, 10), 11),
        (Real(0, 1, step=1), "category", (0, 1), 2),
        (Integer(5, 20, step=5), "integer", (0, 3), 4),
        (Integer(5, 9, step=4), "category", (0, 1), 2),
        (Integer(1, 9, log=True, step=1), "real", (math.log(0.5), math.log(9.5)), 9),
    ],
    ids=repr,
)
def test_each_parameter_has_its_block_and_bounds(parameter, kind, bounds, size):
    assert parameter.kind == kind
    assert parameter.bounds == bounds
    assert parameter.size == size


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (Real(0, 0.7, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        (Real(-0.3, 0.3, step=0.1), [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        (Real(1e-3, 4e-3, step=np.float64(1e-3)), [0.001, 0.002, 0.003, 0.004]),
        (Real(0, 1, step=1 / 3), [0.0, 1 / 3, 2 / 3, 1.0]),
        (Integer(1, 10, step=np.int8(3)), [1, 4, 7, 10]),
    ],
    ids=repr,
)
def test_steps_are_the_numbers_that_people_write(parameter, values):
    space = SearchSpace({"a": parameter})
    assert [space.decode(point)["a"] for point in space.grid()] == values
    for k, value in enumerate(values):  # sums of floats are told, too
        assert parameter.to_code(parameter.low + k * parameter.step) == value


@pytest.mark.parametrize(
    ("build", "high"),
    [
        (lambda: Real(0, 1, step=0.3), 0.9),
        (lambda: Real(0.1, 0.55, step=0.2), 0.5),
        (lambda: Integer(1, 9, step=3), 7),
    ],
)
def test_a_high_that_is_no_multiple_is_lowered_with_one_warning(build, high):
    with pytest.warns(UserWarning, match=f"'high' of .* is lowered to {high}") as all_:
        parameter = build().when(a=1)
    assert len(all_) == 1
    assert all_[0].filename == __file__
    assert parameter.high == parameter.value_at(parameter.size - 1) == high


def test_log_reals_are_searched_between_logarithms():
    low, high = Real(1e-3, 0.5, log=True).bounds
    assert low == pytest.approx(math.log(1e-3), abs=1e-12)
    assert high == pytest.approx(math.log(0.5), abs=1e-12)


def test_categories_are_the_very_objects_in_their_places():
    parameter = Categorical(ODD)
    for place, value in enumerate(ODD):
        assert parameter.to_value(float(place)) is value
    for value in (True, 1, 1.0, "1"):
        found = parameter.to_value(parameter.to_number(value))
        assert found == value
        assert type(found) is type(value)


def test_an_integer_of_two_values_is_reached_by_its_codes():
    for parameter in (Integer(7, 8), Integer(7, 8, log=True)):
        assert [parameter.to_number(7), parameter.to_number(8)] == [0.0, 1.0]
        assert [parameter.to_value(0.4), parameter.to_value(0.6)] == [7, 8]


def test_equal_values_are_candidates_of_their_own():
    parameter = Categorical([2, 2, 2])
    assert parameter.size == 3
    assert parameter.indices(2) == [0, 1, 2]
    assert parameter.to_number(2) == 0.0


def test_identity_decides_before_equality():
    first, second = SVC(), SVC()
    parameter = Categorical([first, second])
    assert parameter.indices(second) == [1]
    assert parameter.indices(SVC()) == [0, 1]
    assert parameter.indices(SVC(C=2.0)) == []


def test_numpy_scalars_stand_for_their_builtins_where_nothing_else_matches():
    assert Categorical([1, 2]).to_number(np.int64(2)) == 1.0
    assert Categorical([2, np.int64(2)]).to_number(np.int64(2)) == 1.0
    assert Categorical(["a", "b"]).to_number(np.str_("b")) == 1.0
    assert Categorical([1, 2]).indices(np.longdouble(2)) == []
    assert Integer(1, 5).to_number(np.int8(5)) == 5.0
    assert Real(0, 1).to_number(np.float32(0.5)) == 0.5


def test_items_of_arrays_become_builtins():
    for array, kind in ((np.logspace(-3, 3, 7), float), (np.arange(3), int)):
        assert {type(each) for each in Categorical(array).values} == {kind}
    assert type(Categorical(np.array(["a"])).values[0]) is str
    pair = (1, 2)
    ragged = np.empty(2, dtype=object)
    ragged[:] = [pair, (3,)]
    assert Ordinal(ragged).values[0] is pair


def test_bounds_become_builtins():
    for real in (Real(np.float32(0.5), 2), Real(np.int64(0), np.float64(1))):
        assert type(real.low) is float
        assert type(real.high) is float
    assert type(Integer(np.int64(1), np.uint8(4)).high) is int


def test_a_parameter_does_not_follow_the_list_it_was_made_of():
    values = [1, 2]
    parameter = Categorical(values)
    values.append(3)
    assert parameter.values == (1, 2)


@every_parameter
def test_codes_survive_json(parameter):
    for number in numbers_of(parameter, 50):
        value = parameter.to_value(float(number))
        code = json.loads(json.dumps(parameter.to_code(value)))
        again = parameter.from_code(code)
        assert same_value(again, value)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Real(0, 1), 1.5),
        (Real(0, 1), NAN),
        (Real(0, 1), True),
        (Real(0, 1), "0.5"),
        (Real(0, 1), None),
        (Integer(1, 3), 4),
        (Integer(1, 3), 2.0),
        (Integer(0, 3), True),
        (Integer(1, 9, log=True), 0),
        (Integer(1, 9, step=2), 4),
        (Real(0, 1, step=0.1), 0.15),
        (Real(0, 1, step=0.1), 1.1),
        (Real(0, 1, step=0.1), NAN),
        (Categorical([1, 2]), True),
        (Categorical([1, 2]), 1.0),
        (Categorical([[1], [2]]), (1,)),
        (Ordinal(["a", "b"]), "c"),
    ],
    ids=repr,
)
def test_values_that_are_not_offered_are_refused(parameter, value):
    for method in (parameter.to_number, parameter.to_code):
        with pytest.raises(ValueError, match="must be") as caught:
            method(value)
        assert repr(value) in str(caught.value)


def _scope():
    names = {"Real": Real, "Integer": Integer, "nan": NAN, "array": np.array}
    return names | {"Categorical": Categorical, "Ordinal": Ordinal, "SVC": SVC}


@pytest.mark.parametrize(
    "parameter",
    [
        Real(0.1, 1),
        Real(1e-3, 0.5, log=True).when(booster="dart"),
        Real(0, 1, step=0.1, default=0.3),
        Integer(1, 9, step=2),
        Integer(1, 9).when(a=[1, 2]).when({"not a name": 3, "class": None}),
        Integer(1, 9, log=True).when({"step__kind": "x"}, b=(1, 2)),
        Categorical(["a", None, 1.5, (1, 2), SVC(C=2.0)]),
        Ordinal([1, 2, 3]).when(n=range(3)),
    ],
    ids=repr,
)
def test_repr_evaluates_to_an_equal_parameter(parameter):
    again = eval(repr(parameter), _scope())
    assert again == parameter
    assert repr(again) == repr(parameter)
    assert hash(again) == hash(parameter)


def test_reprs_are_short():
    assert repr(Real(1e-3, 1, log=True).when(a__b=2)) == (
        "Real(0.001, 1.0, log=True).when(a__b=2)"
    )
    assert repr(Integer(1, 2).when({"a b": 2})) == "Integer(1, 2).when({'a b': 2})"
    assert repr(Ordinal(range(3))) == "Ordinal([0, 1, 2])"


def test_equality_tells_parameters_apart():
    different = [
        Real(0, 1),
        Real(0, 2),
        Real(0.1, 1),
        Real(0.1, 1, log=True),
        Real(0, 1, step=0.5),
        Integer(0, 1),
        Categorical([0, 1]),
        Ordinal([0, 1]),
        Categorical([False, True]),
        Categorical([0.0, 1.0]),
        Categorical([0, 1]).when(a=1),
        Categorical([0, 1]).when(a=True),
    ]
    for i, one in enumerate(different):
        for j, other in enumerate(different):
            assert (one == other) is (i == j)
    assert Real(0, 1) != "Real(0, 1)"
    assert Real(0, 1) == Real(0.0, np.float64(1.0))


@every_parameter
def test_parameters_are_immutable_and_travel(parameter):
    for again in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert again == parameter
    assert clone(parameter, safe=False) is parameter
    with pytest.raises(AttributeError):
        parameter.conditions = (("a", 1),)


@pytest.mark.parametrize(
    ("parameter", "default", "shown"),
    [
        (Real(0.1, 2, default=np.float32(0.5)), 0.5, "Real(0.1, 2.0, default=0.5)"),
        (
            Integer(1, 9, log=True, default=np.int64(9)),
            9,
            "Integer(1, 9, log=True, default=9)",
        ),
        (
            Ordinal([1, 2, 4], default=4).when(a=1),
            4,
            "Ordinal([1, 2, 4], default=4).when(a=1)",
        ),
        (Categorical([None, "a"], default=None), None, None),
        (Categorical([1, True], default=True), True, None),
        (Categorical([SVC(), SVC(C=2.0)], default=SVC(C=2.0)), None, None),
    ],
)
def test_a_default_is_one_of_the_values(parameter, default, shown):
    kept = parameter.default
    assert type(kept) in (float, int, bool, type(None), SVC)
    assert parameter.to_value(parameter.to_number(kept)) is kept or kept == default
    assert default is None or same_value(kept, default)
    assert shown is None or repr(parameter) == shown
    for again in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert again == parameter
        assert same_value(again.default, kept)


def test_without_a_default_none_is_declared():
    numbers = [Real(0.0, 1.0), Integer(1, 2)]
    for parameter in [*numbers, Categorical([None]), Ordinal([1])]:
        assert repr(parameter.default) == "<no default>"
        assert "default" not in repr(parameter)
        again = pickle.loads(pickle.dumps(parameter))
        assert again.default is parameter.default
        assert copy.deepcopy(parameter).default is parameter.default


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Real(1, 2, default=3),
            "'default' of Real must be a number from 1.0 to 2.0, got 3",
        ),
        (lambda: Real(0, 1, default=math.nan), "'default' of Real must be .* got nan"),
        (lambda: Real(0, 1, default=None), "'default' of Real must be .* got None"),
        (
            lambda: Integer(1, 9, default=2.0),
            "'default' of Integer must be an integer from 1 to 9, got 2.0",
        ),
        (
            lambda: Integer(0, 9, default=True),
            "'default' of Integer must be an integer from 0 to 9, got True",
        ),
        (
            lambda: Ordinal([1, 2], default=3),
            r"'default' of Ordinal must be one of \[1, 2\], got 3",
        ),
        (
            lambda: Categorical(["a"], default="b"),
            r"'default' of Categorical must be one of \['a'\], got 'b'",
        ),
    ],
)
def test_a_default_that_is_not_offered_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_when_returns_a_copy_and_adds_to_what_is_there():
    plain = Real(0, 1)
    child = plain.when(a=1).when({"b": 2}, c=3)
    assert plain.conditions == ()
    assert child.conditions == (("a", 1), ("b", 2), ("c", 3))
    assert plain.when(self=1, parents=2).conditions == (("self", 1), ("parents", 2))
    assert child.condition_text == "a is 1 and b is 2 and c is 3"


@pytest.mark.parametrize(
    ("parents", "error", "message"),
    [
        (["a"], TypeError, "mapping of parent names to values, got \\['a'\\]"),
        ({}, ValueError, "at least one parent"),
        (None, ValueError, "at least one parent"),
        ({1: 2}, TypeError, "parent names as str, got 1"),
    ],
)
def test_when_refuses_what_names_no_parent(parents, error, message):
    with pytest.raises(error, match=message):
        Real(0, 1).when(parents)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Real(10.0, 1.0), ValueError, "'low' must be < 'high' for Real, got "),
        (lambda: Real(1.0, 1.0), ValueError, "low=1.0, high=1.0; write a list of one"),
        (lambda: Real(NAN, 1.0), ValueError, "'low' must be finite for Real, got nan"),
        (lambda: Real(0.0, math.inf), ValueError, "'high' must be finite for Real"),
        (lambda: Real(0, 10**400), ValueError, "'high' must be finite for Real"),
        (lambda: Real(-1.7e308, 1.7e308), ValueError, "'high' - 'low' must be finite"),
        (lambda: Real(0.0, 1.0, log=True), ValueError, "'low' must be > 0 for Real"),
        (lambda: Real(-1, 1.0, log=True), ValueError, "with log=True, got low=-1.0"),
        (lambda: Real(1, 1 + 1e-15, log=True), ValueError, "one part in 10"),
        (lambda: Real(5e-324, 1, log=True), ValueError, "'low' must be >= 2.2250738"),
        (lambda: Real("0", 1), TypeError, "'low' must be a number for Real, got '0'"),
        (lambda: Real(False, 1), TypeError, "'low' must be a number for Real"),
        (lambda: Real(0, 1, log=1), TypeError, "'log' must be a bool for Real, got 1"),
        (lambda: Integer(5, 1), ValueError, "'low' must be < 'high' for Integer, got"),
        (lambda: Integer(5, 5), ValueError, "low=5, high=5; write a list of one"),
        (lambda: Integer(True, 5), TypeError, "must be an int for Integer, got True"),
        (lambda: Integer(1.0, 5), TypeError, "must be an int for Integer, got 1.0"),
        (lambda: Integer(1, NAN), ValueError, "'high' must be finite for Integer"),
        (lambda: Integer(1, math.inf), ValueError, "'high' must be finite for Integer"),
        (lambda: Integer(0, 9, log=True), ValueError, "'low' must be > 0 for Integer"),
        (lambda: Integer(0, 2**51 + 1), ValueError, "at most 2\\*\\*51 in size"),
        (lambda: Integer(1, 2**45, log=True), ValueError, "at most 2\\*\\*44 in size"),
        (lambda: Integer(1, 9, log="no"), TypeError, "'log' must be a bool"),
        (lambda: Integer(1, 9, step=0.5), TypeError, "'step' must be an int for Int"),
        (lambda: Integer(1, 9, step=None), TypeError, "for Integer, got None"),
        (lambda: Integer(1, 9, step=0), ValueError, "got step=0, low=1, high=9"),
        (lambda: Integer(1, 9, step=9), ValueError, "<= 'high' - 'low' for Integer"),
        (lambda: Integer(1, 9, step=2, log=True), ValueError, "for Integer with log="),
        (lambda: Real(0, 1, step=True), TypeError, "'step' must be a number for Real"),
        (lambda: Real(0, 1, step=NAN), ValueError, "'step' must be finite for Real"),
        (lambda: Real(0, 1, step=-0.1), ValueError, "'step' must be > 0 and <= 'hig"),
        (lambda: Real(0, 1, step=1.5), ValueError, "got step=1.5, low=0.0, high=1.0"),
        (
            lambda: Real(1, 2, step=0.1, log=True),
            ValueError,
            "must not be set for Real",
        ),
        (lambda: Real(1e9, 1e9 + 1, step=1e-7), ValueError, "at least 2\\*\\*-40 of"),
        (lambda: Real(0, 1, conditions=3), TypeError, "of Real must be pairs .* got 3"),
        (lambda: Integer(0, 1, conditions="a"), TypeError, "of Integer .* got 'a'"),
        (lambda: Categorical([1], conditions=[(1, 2)]), TypeError, r"got \[\(1, 2\)\]"),
        (lambda: Ordinal([1], conditions=(("a",),)), TypeError, "'conditions' of Ord"),
        (
            lambda: Categorical([]),
            ValueError,
            "values of Categorical must not be empty",
        ),
        (lambda: Ordinal(()), ValueError, "values of Ordinal must not be empty"),
        (lambda: Categorical("rbf"), TypeError, "got 'rbf'"),
        (lambda: Categorical(3), TypeError, "list, tuple, range or 1-d array, got 3"),
        (lambda: Categorical({1, 2}), TypeError, "got {1, 2}"),
        (lambda: Categorical(np.eye(2)), ValueError, "1-d array, got shape \\(2, 2\\)"),
    ],
)
def test_impossible_parameters_are_refused_by_name_rule_and_value(
    build, error, message
):
    with pytest.raises(error, match=message):
        build()


# What is the same value


def test_same_value_tells_odd_values_apart():
    for i, one in enumerate(ODD):
        for j, other in enumerate(ODD):
            both_nan = {i, j} == {ODD.index(NAN), 16}
            assert same_value(one, other) is (i == j or both_nan)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ([1, [2]], [1, [2]], True),
        ([1], [True], False),
        ((1, NAN), (1, float("nan")), True),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"b": 1}, False),
        (np.array([1.0, NAN]), np.array([1.0, NAN]), True),
        (np.array([1.0]), np.array([1]), False),
        (np.array([1, 2]), np.array([[1, 2]]), False),
        (SVC(C=1.0), SVC(C=1.0), True),
        (SVC(C=1.0), SVC(C=1), False),
        (SVC(), LogisticRegression(), False),
        (make_pipeline(SVC()), make_pipeline(SVC()), True),
        (make_pipeline(SVC()), make_pipeline(SVC(C=3)), False),
        (frozenset({1}), frozenset({1}), True),
    ],
    ids=repr,
)
def test_same_value_compares_type_and_contents(a, b, same):
    assert same_value(a, b) is same
    assert same_value(b, a) is same


class Touchy:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("do not compare me")


def test_values_that_cannot_be_compared_are_told_apart_by_identity():
    one, other = Touchy(), Touchy()
    parameter = Categorical([one, other])
    assert parameter.to_number(other) == 1.0
    assert parameter.indices(Touchy()) == []


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (None, ["NoneType", "None"]),
        (True, ["bool", "True"]),
        (0.1, ["float", "0.1"]),
        (len, ["builtins.builtin_function_or_method", "builtins.len"]),
        (SVC, ["abc.ABCMeta", "sklearn.svm._classes.SVC"]),
        ((1, "a"), ["builtins.tuple", ["int", "1"], ["str", "'a'"]]),
        (np.int8(3), ["int", "3"]),
    ],
    ids=repr,
)
def test_values_are_described_by_plain_data(value, described):
    assert describe_value(value) == described


def test_descriptions_of_estimators_contain_their_parameters():
    assert describe_value(SVC(C=2)) == describe_value(SVC(C=2))
    assert describe_value(SVC(C=2)) != describe_value(SVC(C=3))
    assert describe_value({"a": SVC()}) != describe_value({"b": SVC()})
    for value in ODD:
        assert "0x" not in json.dumps(describe_value(value))


# Shorthand


@pytest.mark.parametrize(
    ("written", "parameter"),
    [
        ([250, 500], Categorical([250, 500])),
        ((1, 2, 3), Categorical([1, 2, 3])),
        (range(2, 5), Categorical([2, 3, 4])),
        (np.array([0.1, 1.0]), Categorical([0.1, 1.0])),
        ([0.1, 1.0, "log-uniform"], Categorical([0.1, 1.0, "log-uniform"])),
        (Ordinal([1, 2, 3]), Ordinal([1, 2, 3])),
        (stats.uniform(), Real(0, 1)),
        (stats.uniform(2, 3), Real(2, 5)),
        (stats.uniform(loc=2, scale=3), Real(2, 5)),
        (stats.uniform(2, scale=np.float64(3)), Real(2, 5)),
        (stats.loguniform(1e-3, 10), Real(1e-3, 10, log=True)),
        (stats.loguniform(a=1e-3, b=10, scale=2), Real(2e-3, 20, log=True)),
        (stats.reciprocal(0.5, b=2), Real(0.5, 2, log=True)),
        (stats.randint(1, 10), Integer(1, 9)),
        (stats.randint(low=1, high=10, loc=-5), Integer(-4, 4)),
        (stats.randint(1, 10, 2), Integer(3, 11)),
        (stats.randint(1.0, np.int64(10)), Integer(1, 9)),
    ],
    ids=str,
)
def test_shorthand_means_what_it_says(written, parameter):
    assert as_parameter("p", written) == parameter


@pytest.mark.parametrize(
    ("written", "interval"),
    [
        ((1e-3, 1e3), "Real(0.001, 1000, log=True)"),
        ((0.1, 1.0), "Real(0.1, 1)"),
        ((1, 8), "Integer(1, 8)"),
        ((1, 10**7), "Integer(1, 10000000, log=True)"),
        ((-5, 0.5), "Real(-5, 0.5)"),
        ((0, 1000), "Integer(0, 1000)"),
        ((np.float32(0.5), np.int8(2)), "Real(0.5, 2)"),
        ((1 / 3, 1e6 / 3), "Real(0.3333333333333333, 333333.3333333333, log=True)"),
        ((1e-6, 1e6, "log-uniform"), "Real(1e-06, 1e+06, log=True)"),
        ((1.0, 2.0, "log-uniform"), "Real(1, 2, log=True)"),
        ((0, 10, int), "Integer(0, 10)"),
        ((0, 1), "Real(0, 1)"),
        ((10, 1), "Integer(1, 10)"),
        ((3.0, 1.0), "Real(1, 3)"),
        ((None, 1), "Real(low, high), with two finite ends,"),
        ((0.5, None), "Real(low, high), with two finite ends,"),
        ((0.0, math.inf), "Real(low, high), with two finite ends,"),
        ((0, 10**400), "Real(low, high), with two finite ends,"),
    ],
    ids=str,
)
def test_a_tuple_that_looks_like_an_interval_makes_one_warning(written, interval):
    with pytest.warns(UserWarning, match="Parameter 'C' is a choice among") as caught:
        space = SearchSpace({"C": written, "gamma": Real(0.0, 1.0)})
    (warning,) = caught
    assert f"Write {interval} if an interval is meant" in str(warning.message)
    assert warning.filename == __file__
    assert space.parameters[0].parameter == Categorical(written)


@pytest.mark.parametrize(
    "written",
    [
        [1e-3, 1e3],
        [0.1, 1.0],
        [1, 8],
        Categorical((1e-3, 1e3)),
        Ordinal((1, 8)),
        (1.0, 1.0),
        (False, True),
        ("a", "b"),
        (None, "a"),
        (None, None),
        (1, 2, 4),
        (0.1,),
        [(1, 8)],
    ],
    ids=str,
)
def test_other_choices_make_no_warning(written):
    assert isinstance(as_parameter("C", written), Categorical | Ordinal)


def test_a_search_warns_of_an_interval_once_and_before_any_fit():
    search = MVRSMSearchCV(SVC(), {"C": (1e-3, 1e3)}, n_iter=2, cv=2, random_state=0)
    with pytest.warns(UserWarning, match="Parameter 'C' is a choice among") as caught:
        search.fit(np.arange(8.0).reshape(8, 1), [0, 1] * 4)
    (warning,) = caught
    assert warning.filename == __file__
    with pytest.raises(UserWarning, match="Parameter 'C' is a choice among"):
        search.fit(np.arange(8.0).reshape(8, 1), [0, 1] * 4)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize(
    ("distribution", "low", "high"),
    [
        (stats.uniform(-2, 5), -2, 3),
        (stats.loguniform(1e-2, 1e2), 1e-2, 1e2),
        (stats.randint(3, 8), 3, 7),
    ],
    ids=str,
)
def test_distributions_keep_their_support(distribution, low, high):
    parameter = as_parameter("p", distribution)
    assert distribution.support() == pytest.approx((low, high))
    assert (parameter.low, parameter.high) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("written", "error", "message"),
    [
        (3, TypeError, "got 3; write a list of one"),
        ("rbf", TypeError, "got 'rbf'; write a list of one for a single value"),
        (None, TypeError, "got None; write a list of one"),
        (SVC(), TypeError, "got SVC\\(\\); write a list of one"),
        ({1, 2}, TypeError, "must be a Real, Integer, Ordinal, Categorical, list"),
        ({"a": 1}, TypeError, "got {'a': 1}"),
        (iter([1]), TypeError, "list_iterator"),
        (Real, TypeError, "got <class"),
        ([], ValueError, "must not be empty, got \\[\\]"),
        (np.eye(2), ValueError, "1-d array, got shape"),
        (np.array(3), ValueError, "1-d array, got shape \\(\\)"),
        (stats.norm(0, 1), ValueError, "uniform, loguniform and randint, got 'norm'"),
        (stats.uniform([0, 1], 1), ValueError, "'uniform' must have plain numbers"),
        (stats.uniform(0, 0), ValueError, "'low' must be < 'high' for Real"),
        (stats.loguniform(1, 2, loc=3), ValueError, "'loguniform' must have loc=0"),
        (stats.randint(0, 1), ValueError, "low=0, high=0; write a list of one"),
        (stats.randint(0.5, 3), ValueError, "'randint' must have whole bounds"),
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused_naming_parameter_and_value(
    written, error, message
):
    with pytest.raises(error, match=message) as caught:
        as_parameter("clf__gamma", written)
    assert str(caught.value).startswith("Parameter 'clf__gamma'")


def test_operator_functions_are_fine_as_categories():
    parameter = as_parameter("f", [operator.add, np.log, lambda x: x])
    assert parameter.to_value(1.0) is np.log
    assert json.dumps(parameter.describe())
