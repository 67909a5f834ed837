"""Spaces are listed, indexed, joined and cut like dicts."""

import copy
import pickle
from collections.abc import Mapping

import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMOptimizer,
    MVRSMSearchCV,
    Real,
    SearchSpace,
    spaces,
)
from sklearn_mvrsm._space.constraints import AllOf, AnyOf, Bound, Relation, Values

RIDGE, SVR_ = Ridge(), SVR()
X01 = Real(0.0, 1.0)


def kernel_space():
    return {
        "C": Real(0.1, 10.0, log=True),
        "kernel": Categorical(["linear", "rbf", "poly"]),
        "gamma": X01.when(kernel=["rbf", "poly"]),
        "degree": Integer(2, 5).when(kernel="poly"),
    }


def models():
    ridge = {"alpha": X01, "tol": [1e-3, 1e-2]}
    svr = kernel_space() | {"tol": [1e-3, 1e-2]}
    return spaces.any_of(
        {"scale": [None], "model": [(RIDGE, ridge), (SVR_, svr | {"alpha": [1]})]}
    )


def below(params):
    return params["a"] + params.get("b", 0) < 9


@pytest.mark.parametrize("make", [kernel_space, lambda: {}, lambda: {"a": [1, 2]}])
def test_a_space_is_a_mapping_of_its_parameters(make):
    space = SearchSpace(make())
    assert isinstance(space, Mapping)
    assert bool(space)
    assert list(space) == list(space.keys()) == list(space.names) == list(make())
    assert len(space) == len(make())
    again = SearchSpace(dict(space))
    assert again.fingerprint() == space.fingerprint()
    assert again.alternatives == space.alternatives == (dict(space.items()),)
    assert "C" not in SearchSpace({})
    with pytest.raises(KeyError, match="nothing"):
        space["nothing"]
    assert space.get("nothing") is None


def test_spaces_are_told_apart_and_shared_by_identity():
    space = SearchSpace(kernel_space())
    assert space == space
    assert space != SearchSpace(kernel_space())
    assert {space: 1}[space] == 1
    assert copy.copy(space) is space
    assert clone(MVRSMSearchCV(SVR_, space)).param_space is space


def test_of_alternatives_that_differ_all_parameters_are_returned():
    space = models()
    assert space["model__C"] == kernel_space()["C"]
    assert space["model__tol"] == Categorical([1e-3, 1e-2])
    assert space["model__alpha"] == (X01, Categorical([1]))
    assert [each.values for each in space["model"]] == [(RIDGE,), (SVR_,)]
    assert [dict(each) for each in space.alternatives] == list(space.alternatives)
    again = SearchSpace(space.alternatives, space.constraints)
    assert again.fingerprint() == space.fingerprint()
    one = "'model' must be one parameter, got \\(Cat.*write space \\| {...} to add"
    with pytest.raises(TypeError, match=one):
        SearchSpace(dict(space))


def test_what_is_joined_replaces_and_is_added():
    space = SearchSpace(kernel_space(), [below]) | {"C": [1, 2], "new": X01}
    assert list(space) == ["C", "kernel", "gamma", "degree", "new"]
    assert space["C"] == Categorical([1, 2])
    assert space.constraints == (below,)
    both = {"C": [3], "a": Integer(0, 9)} | space
    assert list(both)[:2] == ["C", "a"]
    assert both["C"] == Categorical([1, 2])
    joined = SearchSpace({"a": [1]}, [below]) | SearchSpace({"b": [2]}, [max])
    assert joined.constraints == (below, max)
    for other in ([{"a": [1]}], 3, None):
        with pytest.raises(TypeError, match="unsupported operand"):
            joined | other


@pytest.mark.parametrize(
    ("added", "name", "there"),
    [
        ({"scale__x": X01}, "scale__x", [True, True]),
        ({"model__C": Real(1, 2)}, "model__C", [True, True]),
        ({"p": X01.when(model=SVR_)}, "p", [False, True]),
        ({"p": X01.when(model=[RIDGE, SVR_])}, "p", [True, True]),
        ({"p": X01.when(model__kernel="rbf")}, "p", [False, True]),
        (
            {"q": X01.when(p=1), "p": Integer(0, 9).when(model=RIDGE)},
            "q",
            [True, False],
        ),
    ],
    ids=str,
)
def test_alternatives_get_what_can_exist_there(added, name, there):
    space = models() | added
    assert [name in each for each in space.alternatives] == there
    mirrored = added | models()
    assert [name in each for each in mirrored.alternatives] == there
    drawn = {name in params for params in space.sample(100, 0)}
    assert True in drawn
    assert drawn == {True} or there != [True, True]


def test_one_alternative_alone_is_changed_by_a_condition_on_its_model():
    space = models() | {"model__alpha": Integer(1, 9).when(model=RIDGE)}
    assert space["model__alpha"][0] == Integer(1, 9).when(model=RIDGE)
    assert space["model__alpha"][1] == Categorical([1])


def test_without_leaves_the_rest_as_it_was():
    space = SearchSpace(kernel_space()).without("degree", "C")
    assert list(space) == ["kernel", "gamma"]
    assert space.constraints == ()
    assert "model__gamma" not in models().without("model__gamma")
    ready = (spaces.svc(prefix="clf__") | {"x": [1]}).without("clf__coef0")
    assert type(pickle.loads(pickle.dumps(ready))) is type(spaces.svc())
    assert list(({"y": X01} | ready).without("x")) == ["y", *ready][:-1]
    assert clone(MVRSMSearchCV(SVR_, ready)).param_space["x"] is not ready["x"]
    assert list(ready | {"y": X01}) == [*ready, "y"]
    assert "clf__coef0" not in ready
    assert list(ready | SearchSpace({"y": X01})) == [*ready, "y"]
    kept = SearchSpace({"a": Integer(0, 9), "b": Integer(0, 9)}, [below])
    assert kept.without("b").constraints == (below,)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda s: s.without("kernal"),
            ValueError,
            "'kernal' is not in the space; its",
        ),
        (lambda s: s.without(["C"]), TypeError, r"names as str, got \['C'\]"),
        (
            lambda s: s.without("kernel", "gamma"),
            ValueError,
            r"'kernel' must not be removed alone, .* values: \['degree'\]",
        ),
        (lambda s: s | {"C": 3}, TypeError, "'C' must be a Real, .* got 3"),
        (lambda s: s | {"p": X01.when(q=1)}, ValueError, "'p' depends on 'q' "),
        (
            lambda s: models() | {"p": X01.when(q=1)},
            ValueError,
            "'p' exists in none of the 2 alternatives: it needs q is 1",
        ),
        (
            lambda s: models() | {"p": X01.when(model__kernel=["rbf", "polly"])},
            ValueError,
            "'model__kernel' being 'polly', which .* never offers",
        ),
        (
            lambda s: SearchSpace([s, {}]),
            TypeError,
            "a SearchSpace; for a space in a list write \\*space.alternatives, got",
        ),
        (lambda s: models() | models(), ValueError, "no alternatives, got 2 and 2"),
        (lambda s: {"a": [X01, X01]} | s, TypeError, "'a' must be one parameter, got"),
    ],
)
def test_changes_that_make_no_sense_are_refused_by_name(change, error, message):
    with pytest.raises(error, match=message):
        change(SearchSpace(kernel_space()))


@pytest.mark.parametrize(
    "constraint",
    [
        below,
        Values("a", (1,)),
        Relation("b", "<", "a"),
        AnyOf((Values("b", (1,)), AllOf((Bound("a", ">", 3), Values("b", (2,)))))),
    ],
    ids=repr,
)
def test_what_a_constraint_needs_is_not_removed(constraint):
    space = SearchSpace({"a": Integer(0, 9), "b": Integer(0, 9)}, [constraint])
    with pytest.raises(ValueError, match="'a' must not be removed: the constraint"):
        space.without("a")
    pipeline = spaces.any_of({"m": [(RIDGE, space), (SVR_, {"a": [1]})]})
    with pytest.raises(ValueError, match=r"'m__a' must not be removed: .* m: "):
        pipeline.without("m__a")  # the constraint sees names without the prefix


def test_repr_shows_parameters_and_constraints_in_lines():
    assert repr(SearchSpace({})) == "SearchSpace: 0 parameters"
    space = SearchSpace(kernel_space() | {"p": list(range(99))}, [below])
    assert repr(space).splitlines() == [
        "SearchSpace: 5 parameters, 2 conditional, 1 constraint",
        "  C       Real(0.1, 10.0, log=True)",
        "  kernel  Categorical(['linear', 'rbf', 'poly'])",
        "  gamma   Real(0.0, 1.0).when(kernel=['rbf', 'poly'])",
        "  degree  Integer(2, 5).when(kernel='poly')",
        "  p       " + repr(Categorical(range(99)))[:77] + "…",
        "  constraint: below",
    ]
    assert repr(models()).splitlines()[:3] == [
        "SearchSpace: 12 parameters, 2 conditional, 2 alternatives",
        "  0: scale          Categorical([None])",
        "  0: model          Categorical([Ridge()])",
    ]
    many = SearchSpace({f"p{k}": [k] for k in range(50)})
    assert len(repr(many).splitlines()) == 42
    assert repr(many).endswith("\n  ... and 10 more")


def test_repr_of_an_optimiser_shows_what_it_knows():
    optimizer = MVRSMOptimizer({"a": Integer(0, 9)}, random_state=0)
    assert repr(optimizer).splitlines() == [
        "MVRSMOptimizer: method 'mvrsm', 0 observed",
        "  best: none yet",
        "  SearchSpace: 1 parameter",
        "    a  Integer(0, 9)",
    ]
    for a, value in ((1, 0.25), (2, float("nan")), (3, 1.0)):
        optimizer.tell({"a": a}, value)
    optimizer.ask()
    assert repr(optimizer).splitlines()[:2] == [
        "MVRSMOptimizer: method 'mvrsm', 3 observed (1 failed), 1 pending",
        "  best: 0.25 at {'a': 1}",
    ]
