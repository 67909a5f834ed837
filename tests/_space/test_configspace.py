import itertools
import pickle
import sys

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from sklearn_mvrsm import Categorical, Integer, Ordinal, Real, SearchSpace, minimize
from sklearn_mvrsm._space.constraints import AllOf, AnyOf, Bound, Relation, Values

C = pytest.importorskip("ConfigSpace", reason="ConfigSpace is not installed")


def configspace(*items, **hyperparameters):
    cs = C.ConfigurationSpace(hyperparameters, seed=0)
    for item in items:
        cs.add(item)
    return cs


def everything():
    """Each kind of hyperparameter, condition and clause that has a counterpart."""
    cs = configspace(
        C.UniformFloatHyperparameter("lr", 1e-3, 1.0, log=True, default_value=1e-3),
        C.UniformFloatHyperparameter("drop", -1.0, 1.0, default_value=-0.25),
        C.UniformIntegerHyperparameter("depth", 1, 6, default_value=2),
        C.UniformIntegerHyperparameter("units", 1, 500, log=True, default_value=40),
        C.CategoricalHyperparameter("kind", ["a", "b", None, True], default_value="b"),
        C.OrdinalHyperparameter("size", ["s", "m", "l", "xl"], default_value="m"),
        C.Constant("seed", 7),
    )
    cs.add(
        C.AndConjunction(
            C.EqualsCondition(cs["units"], cs["size"], "m"),
            C.OrConjunction(
                C.EqualsCondition(cs["units"], cs["kind"], "b"),
                C.InCondition(cs["units"], cs["kind"], ["a", True]),
            ),
        ),
        C.GreaterThanCondition(cs["lr"], cs["depth"], 1),
        C.LessThanCondition(cs["drop"], cs["units"], 100),
        C.NotEqualsCondition(cs["seed"], cs["depth"], 3),
    )
    cs.add(
        C.ForbiddenAndConjunction(
            C.ForbiddenEqualsClause(cs["kind"], "a"),
            C.ForbiddenInClause(cs["depth"], [4, 5]),
        ),
        C.ForbiddenGreaterThanClause(cs["lr"], 0.9),
        C.ForbiddenLessThanClause(cs["size"], "m"),
        C.ForbiddenGreaterThanRelation(cs["drop"], cs["lr"]),
        C.ForbiddenOrConjunction(
            C.ForbiddenEqualsClause(cs["kind"], None),
            C.ForbiddenAndConjunction(
                C.ForbiddenLessThanEqualsClause(cs["depth"], 1),
                C.ForbiddenEqualsClause(cs["kind"], True),
            ),
        ),
    )
    return cs


def finite():
    """A space that can be listed, with every sign on numbers and ordinals."""
    cs = configspace(a=(1, 4), b=(1, 4), c=["x", "y", "z"])
    cs.add(C.OrdinalHyperparameter("o", [1, 2, 3, 4]), C.Constant("k", "same"))
    cs.add(
        C.InCondition(cs["b"], cs["c"], ["x", "y"]),
        C.LessThanCondition(cs["k"], cs["o"], 3),
        C.ForbiddenLessThanRelation(cs["a"], cs["b"]),
        C.ForbiddenEqualsRelation(cs["a"], cs["o"]),
        C.ForbiddenGreaterThanEqualsClause(cs["o"], 4),
        C.ForbiddenAndConjunction(
            C.ForbiddenEqualsClause(cs["c"], "z"),
            C.ForbiddenGreaterThanClause(cs["o"], 2),
        ),
        C.ForbiddenAndConjunction(
            C.ForbiddenLessThanEqualsClause(cs["o"], 1),
            C.ForbiddenEqualsClause(cs["c"], "y"),
        ),
    )
    return cs


def mixed():
    """A space of ours with each kind of parameter and condition."""
    ridge, svr = Ridge(), SVR()
    return SearchSpace(
        {
            "model": Categorical([ridge, svr, None]),
            "alpha": Real(1e-3, 10.0, log=True).when(model=ridge),
            "kernel": Categorical(["rbf", "poly"]).when(model=svr),
            "degree": Integer(2, 6).when(kernel="poly"),
            "coef0": Real(-1.0, 1.0).when(degree=range(2, 5)),
            "tall": Real(0.0, 1.0).when(degree=range(4, 7)),
            "middle": Real(0.0, 1.0).when(degree=[3, 5]).when(model=[ridge, svr]),
            "size": Ordinal([1, 10, 100]).when(model=[ridge, svr]),
            "units": Integer(1, 1000, log=True).when(size=[1, 100]),
            "single": ["only"],
            "flag": [False, True],
            "after": Real(0.0, 1.0).when(single="only"),
            "steps": Real(-0.5, 1.0, step=0.1, default=0.3),
            "even": Integer(2, 8, step=2).when(steps=[-0.5, -0.4]),
            "late": Real(0.0, 1.0).when(even=[6, 8]),
        }
    )


def same(left, right):
    """Compare, forgiving the last digits of floats and numpy's own strings."""
    return left.keys() == right.keys() and all(
        left[name] == pytest.approx(right[name], rel=1e-9)
        if isinstance(left[name], float)
        else left[name] == right[name]
        for name in left
    )


def allowed_by(cs, params):
    try:
        C.Configuration(cs, values=params)
    except (ValueError, KeyError):  # forbidden, illegal, inactive or missing
        return False
    return True


# --- from ConfigSpace --------------------------------------------------------------


@pytest.mark.parametrize("make", [everything, finite])
def test_configurations_of_configspace_are_configurations_of_the_space(make):
    cs = make()
    space = SearchSpace.from_configspace(cs)
    for drawn in cs.sample_configuration(150):
        params = dict(drawn)
        point = space.encode(params)
        assert space.feasible(point)
        assert same(space.decode(point), params)


@pytest.mark.parametrize("make", [everything, finite])
def test_configurations_of_the_space_are_configurations_of_configspace(make):
    cs = make()
    space = SearchSpace.from_configspace(cs)
    for params in space.sample(150, random_state=0):
        assert allowed_by(cs, params), params


def test_a_listed_space_has_exactly_the_allowed_configurations():
    cs = finite()
    space = SearchSpace.from_configspace(cs)
    ours = {
        tuple(sorted(space.decode(point).items()))
        for point in space.grid()
        if space.feasible(point)
    }
    values = {"a": range(1, 5), "b": range(1, 5), "c": "xyz", "o": range(1, 5)}
    theirs = set()
    for chosen in itertools.product(*values.values()):
        params = dict(zip(values, chosen, strict=True)) | {"k": "same"}
        if params["c"] == "z":
            del params["b"]
        if params["o"] >= 3:
            del params["k"]
        if allowed_by(cs, params):
            theirs.add(tuple(sorted(params.items())))
    assert ours == theirs
    assert 20 < len(ours) < 100


def test_the_default_configuration_can_be_evaluated_first():
    space, default = SearchSpace.from_configspace(everything(), return_default=True)
    expected = {"depth": 2, "drop": -0.25, "lr": 1e-3, "kind": "b", "seed": 7}
    assert default == expected | {"size": "m", "units": 40}
    assert {type(value) for value in default.values()} == {int, float, str}
    seen = []
    minimize(
        lambda params: seen.append(params) or 0.0, space, 1, initial_points=[default]
    )
    assert seen == [default]


def test_hyperparameters_keep_bounds_scales_and_values():
    space = SearchSpace.from_configspace(everything())
    read = {each.name: each.parameter for each in space.parameters}
    assert (read["lr"].low, read["lr"].high, read["lr"].log) == (1e-3, 1.0, True)
    assert (read["units"].low, read["units"].high, read["units"].log) == (1, 500, True)
    assert (read["drop"].log, read["depth"].log) == (False, False)
    assert list(read["kind"].values) == ["a", "b", None, True]
    assert read["size"] == Ordinal(["s", "m", "l", "xl"])
    assert list(read["seed"].values) == [7]
    assert read["units"].conditions == (("size", ["m"]), ("kind", ["a", "b", True]))
    assert read["drop"].conditions == (("units", range(1, 100)),)


def test_constraints_can_be_read_pickled_and_told_apart():
    space = SearchSpace.from_configspace(everything())
    texts = {repr(each) for each in space.constraints}
    assert texts == {
        "forbid(kind == 'a' and depth in [4, 5])",
        "forbid(lr > 0.9)",
        "forbid(size == 's')",
        "forbid(drop > lr)",
        "forbid(kind == None or (depth <= 1 and kind == True))",
    }
    again = pickle.loads(pickle.dumps(space))
    assert again.constraints == space.constraints
    assert again.fingerprint() == space.fingerprint()
    described = space.fingerprint()["constraints"]
    assert len({text for _, text in described}) == len(texts)


@pytest.mark.parametrize(
    "clause",
    [
        Values("x", (1, 2)),
        Bound("x", ">=", 0),
        Relation("x", "==", "y"),
        Relation("y", "==", "x"),
        AllOf((Values("y", (1,)), Values("x", (1,)))),
        AnyOf((Values("y", (9,)), Values("x", (1,)))),
    ],
)
def test_what_does_not_exist_is_never_forbidden(clause):
    assert clause({"y": 1})
    assert not clause({"x": 1, "y": 1})


def test_a_refused_space_names_its_clauses():
    cs = configspace(C.UniformFloatHyperparameter("x", 0.0, 1.0, default_value=0.0))
    cs.add(C.ForbiddenGreaterThanClause(cs["x"], 1e-9))
    with pytest.raises(ValueError, match=r"forbid\(x > 1e-09\)"):
        SearchSpace.from_configspace(cs).sample(1, random_state=0)


def normal_prior():
    return configspace(
        C.NormalFloatHyperparameter("x", mu=0.0, sigma=1.0, lower=-3.0, upper=3.0)
    )


def beta_prior():
    return configspace(
        C.BetaIntegerHyperparameter("x", alpha=2, beta=3, lower=1, upper=9)
    )


def weighted():
    return configspace(C.CategoricalHyperparameter("x", ["a", "b"], weights=[1, 3]))


def conditional_on_a_float():
    cs = configspace(x=(0.0, 1.0), y=(0.0, 1.0))
    cs.add(C.GreaterThanCondition(cs["x"], cs["y"], 0.5))
    return cs


def either_of_two_parents():
    cs = configspace(x=(0.0, 1.0), a=["u", "v"], b=["u", "v"])
    cs.add(
        C.OrConjunction(
            C.EqualsCondition(cs["x"], cs["a"], "u"),
            C.EqualsCondition(cs["x"], cs["b"], "v"),
        )
    )
    return cs


def never_there():
    cs = configspace(x=(0.0, 1.0), a=["u", "v"])
    cs.add(
        C.AndConjunction(
            C.EqualsCondition(cs["x"], cs["a"], "u"),
            C.EqualsCondition(cs["x"], cs["a"], "v"),
        )
    )
    return cs


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (normal_prior, "'x' has no counterpart .*Normal"),
        (beta_prior, "'x' has no counterpart .*Beta"),
        (weighted, "'x' has weights that are not equal"),
        (conditional_on_a_float, r"'x' depends on 'y', .*x \| y > 0.5"),
        (either_of_two_parents, "'x' depends on one of several parents"),
        (never_there, "'x' never exists"),
    ],
)
def test_what_cannot_be_translated_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        SearchSpace.from_configspace(make())


class Stricter(C.ForbiddenLessThanClause):
    pass


def test_a_clause_of_an_unknown_kind_is_shown():
    cs = configspace(x=(0.0, 1.0))
    cs.add(Stricter(cs["x"], 0.1))
    with pytest.raises(ValueError, match=r"clause has no counterpart .* x < 0\.1"):
        SearchSpace.from_configspace(cs)


def test_equal_weights_are_no_weights():
    cs = configspace(C.CategoricalHyperparameter("x", ["a", "b"], weights=[2, 2]))
    assert SearchSpace.from_configspace(cs).cardinality == 2


def test_an_or_is_understood_where_one_parent_makes_the_difference():
    cs = configspace(x=(0.0, 1.0), a=["u", "v", "w"], b=["u", "v"])
    cs.add(
        C.OrConjunction(
            *(
                C.AndConjunction(
                    C.EqualsCondition(cs["x"], cs["a"], value),
                    C.EqualsCondition(cs["x"], cs["b"], "u"),
                )
                for value in ("u", "w")
            )
        )
    )
    space = SearchSpace.from_configspace(cs)
    for params in space.sample(100, random_state=0):
        exists = params["a"] in ("u", "w") and params["b"] == "u"
        assert ("x" in params) == exists


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="'cs' must be a ConfigurationSpace, got"):
        SearchSpace.from_configspace({"x": (0, 1)})


# --- to ConfigSpace ----------------------------------------------------------------


def test_a_space_and_its_translation_have_the_same_configurations():
    space = mixed()
    cs = space.to_configspace()
    for params in space.sample(200, random_state=0):
        assert allowed_by(cs, params), params
    cs.seed(0)
    drawn = [dict(each) for each in cs.sample_configuration(200)]
    # ConfigSpace draws some that it refuses itself: children of a missing parent
    drawn = [params for params in drawn if allowed_by(cs, params)]
    assert len(drawn) > 150
    for params in drawn:
        assert same(space.decode(space.encode(params)), params)


def test_parameters_survive_the_journey_there_and_back():
    space = mixed()
    again = SearchSpace.from_configspace(space.to_configspace())
    ours = {each.name: each.parameter for each in space.parameters}
    theirs = {each.name: each.parameter for each in again.parameters}
    assert set(ours) == set(theirs)
    for name in ours:
        assert ours[name].describe() == theirs[name].describe()
    rng = np.random.default_rng(0)
    for _ in range(100):
        params = space.decode(space.sample_point(rng))
        assert again.decode(again.encode(params)) == params


@pytest.mark.parametrize("make", [everything, finite])
def test_a_configspace_survives_the_journey_there_and_back(make):
    space = SearchSpace.from_configspace(make())
    again = SearchSpace.from_configspace(space.to_configspace())
    assert set(again.constraints) == set(space.constraints)
    for params in space.sample(50, random_state=0):
        assert again.decode(again.encode(params)) == params
        assert again.feasible(again.encode(params))


def test_default_is_what_is_asked_for():
    space = mixed()
    default = space.sample(1, random_state=3)[0]
    cs = space.to_configspace(default=default)
    assert same(dict(cs.get_default_configuration()), default)
    with pytest.raises(ValueError, match="'alpha' must have a value"):
        space.to_configspace(default={"model": space.parameters[0].parameter.values[0]})


def test_defaults_are_declared_and_written_back():
    cs = everything()
    space = SearchSpace.from_configspace(cs)
    declared = {each.name: each.parameter.default for each in space.parameters}
    declared["seed"] = 7  # a constant, which needs no default
    assert declared == {name: each.default_value for name, each in cs.items()}
    back = space.to_configspace()
    assert declared == {name: each.default_value for name, each in back.items()}
    seen = []
    minimize(lambda params: seen.append(params) or 0.0, space, 1)
    assert seen == [dict(cs.get_default_configuration())]
    part = SearchSpace({"x": Real(0.0, 1.0, default=0.1), "k": [1, 2]})
    assert dict(part.to_configspace().get_default_configuration())["x"] == 0.1
    unequal = configspace(a=[1, 2], b=[2, 1])
    unequal.add(C.ForbiddenEqualsRelation(unequal["a"], unequal["b"]))
    forbidden = SearchSpace(
        {"a": Categorical([1, 2], default=2), "b": Categorical([2, 1], default=2)},
        constraints=SearchSpace.from_configspace(unequal).constraints,
    )
    default = dict(forbidden.to_configspace().get_default_configuration())
    assert forbidden.feasible(forbidden.encode(default))


def forbids_nothing(params):
    return True


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (SearchSpace({"x": [True, 1]}), "'x' .* is refused by ConfigSpace"),
        (SearchSpace([{"x": [1, 2]}, {"y": [1]}]), "alternatives has no counterpart"),
        (
            SearchSpace({"x": [1, 2]}, constraints=[forbids_nothing]),
            "constraint forbids_nothing is a function",
        ),
    ],
)
def test_what_configspace_cannot_have_is_named(space, message):
    with pytest.raises(ValueError, match=message):
        space.to_configspace()


def test_configspace_is_not_needed_until_it_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "ConfigSpace", None)
    space = SearchSpace({"x": [1, 2]})
    for use in (space.to_configspace, lambda: SearchSpace.from_configspace(None)):
        with pytest.raises(ImportError, match=r"'pip install sklearn-mvrsm\[conf"):
            use()
