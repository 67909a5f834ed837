"""The configuration that a search begins with."""

import math

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, Ordinal, Real, SearchSpace
from sklearn_mvrsm._space.default import default_params

MODELS = [LogisticRegression(C=3.0), SVC(), SVC(C=3.0)]


def wanting(**values):
    return lambda name, parameter, chosen: [values[name]] if name in values else []


@pytest.mark.parametrize(
    ("parameter", "wanted", "nearest"),
    [
        (Real(0.0, 1.0), 1 / 3, 1 / 3),
        (Real(1e-3, 1.0, log=True), 1 / 3, 1 / 3),  # not a number of the grid
        (Real(1e-3, 1.0, log=True), 0, 1e-3),
        (Real(1.0, 2.0), math.inf, 2.0),
        (Real(1.0, 3.0), math.nan, None),
        (Real(1.0, 3.0), "scale", None),
        (Real(1.0, 3.0), True, None),
        (Integer(1, 10), 100, 10),
        (Integer(1, 10), 2.6, 3),
        (Integer(1, 10, log=True), -1, 1),
        (Integer(1, 1000, log=True), 2.6, 3),
        (Integer(4, 5), 9, 5),
        (Integer(1, 13, step=3), 8, 7),
        (Integer(1, 13, step=3), math.inf, 13),
        (Real(0.0, 1.0, step=0.1), 1 / 3, 0.3),
        (Real(0.0, 1.0, step=0.1), -1, 0.0),
        (Integer(4, 5), -math.inf, 4),
        (Ordinal([16, 64, 256]), 100, 64),
        (Categorical([100, 30, 10]), 12.0, 10),
        (Categorical([1.0, 10.0]), 10, 10.0),
        (Categorical([3, None, 10, 5]), math.inf, 10),
        (Categorical(["a", "b"]), "b", "b"),
        (Categorical(["a", "b"]), "c", None),
        (Ordinal([(16,), (64,), (64, 64)]), (100,), (64,)),
        (Ordinal([(16,), (64,), (64, 64)]), (60, 30), (64, 64)),
        (Categorical([SVC(), "passthrough"]), None, "passthrough"),
        (Categorical([1, True]), True, True),
        (Categorical(MODELS), SVC(C=3.0), MODELS[2]),
        (Categorical(MODELS), SVC(C=9.0), MODELS[1]),
        (Categorical(MODELS), Integer, None),
        (Real(0.0, 1.0, default=0.2), 0.9, 0.2),
    ],
)
def test_the_nearest_value_is_taken(parameter, wanted, nearest):
    params = default_params(SearchSpace({"a": parameter}), wanting(a=wanted))
    assert params == (None if nearest is None else {"a": nearest})
    if nearest is not None:
        assert type(params["a"]) is type(nearest)
        assert not hasattr(nearest, "fit") or params["a"] is nearest


def test_of_what_is_unknown_the_middle_or_the_first_is_taken():
    space = SearchSpace(
        {
            "a": Real(1e-4, 1.0, log=True),
            "b": Integer(1, 9),
            "c": Ordinal(["x", "y", "z"]),
            "d": [3, 4],
            "e": [True],
        }
    )
    assert default_params(space) is None
    known = {"a": pytest.approx(0.01), "b": 5, "c": "y", "d": 4, "e": True}
    assert default_params(space, wanting(d=4)) == known


def test_only_what_exists_is_set():
    space = SearchSpace(
        {
            "gamma": Real(0.1, 1.0).when(kernel="rbf"),
            "kernel": ["linear", "rbf"],
            "degree": Integer(1, 3).when(kernel="linear"),
        }
    )
    wanted = wanting(kernel="rbf", gamma=0.2, degree=3)
    assert default_params(space, wanted) == {"gamma": 0.2, "kernel": "rbf"}
    assert default_params(space, wanting(degree=3)) == {"kernel": "linear", "degree": 3}


@pytest.mark.parametrize(
    ("wanted", "params"),
    [
        ({"kernel": "rbf", "C": 5.0}, {"kernel": "rbf", "C": 5.0}),
        ({"kernel": "poly", "C": 0.5}, {"kernel": "poly", "C": 1.0}),
        ({"kernel": "sigmoid", "C": 0.5}, {"kernel": "linear", "C": 0.5}),
    ],
)
def test_the_alternative_that_comes_nearest_is_taken(wanted, params):
    space = SearchSpace(
        [
            {"kernel": ["linear"], "C": Real(0.1, 1.0)},
            {"kernel": ["rbf", "poly"], "C": Real(1.0, 10.0)},
        ]
    )
    assert default_params(space, wanting(**wanted)) == params


def test_what_a_constraint_forbids_is_no_default():
    space = SearchSpace({"a": [1, 2]}, constraints=[lambda params: params["a"] == 1])
    assert default_params(space, wanting(a=1)) == {"a": 1}
    assert default_params(space, wanting(a=2)) is None
