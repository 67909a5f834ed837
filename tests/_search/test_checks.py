"""Wrong names are found before anything is fitted."""

import sys
from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace
from sklearn_mvrsm._search import checks
from sklearn_mvrsm._search.checks import check_memory_limit, check_names

SVC_, KNN = SVC(), KNeighborsClassifier()


class Open(BaseEstimator):
    """Takes names that its ``get_params`` does not list, and notes them."""

    seen: ClassVar[list] = []  # shared by clones

    def set_params(self, **params):
        Open.seen.append(params)
        return self


def check(estimator, space, constraints=()):
    check_names(estimator, SearchSpace(space, constraints))


@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        (SVC(), {"C": Real(1.0, 2.0), "kernel": ["linear"]}),
        (SVC(), {}),
        (SVC(), [{"C": [1.0]}, {}]),
        (BaggingClassifier(SVC()), {"estimator__C": Real(1.0, 2.0)}),
        (Pipeline([("clf", None)]), {"clf": [SVC_], "clf__C": Real(1.0, 2.0)}),
        (
            Pipeline([("clf", None)]),
            {
                "clf": Categorical([SVC_, KNN]),
                "clf__C": Real(1.0, 2.0).when(clf=SVC_),
                "clf__n_neighbors": Integer(1, 9).when(clf=KNN),
            },
        ),
    ],
)
def test_valid_names_pass(estimator, space):
    check(estimator, space)


@pytest.mark.parametrize(
    ("space", "name"),
    [
        ({"C": [1.0], "gama": Real(1e-3, 1.0), "degree": Integer(1, 5)}, "gama"),
        ({"gama": Real(1e-3, 1.0)}, "gama"),
        ([{"C": [1.0]}, {"gama": [1.0]}], "gama"),
        ({"C__x": [1.0]}, "C__x"),
        ({"a": [1], "C": [1.0], "b": [2]}, "a"),
    ],
)
def test_a_name_that_the_estimator_lacks_is_named(space, name):
    with pytest.raises(ValueError, match=rf"Parameter '{name}' of the space .* SVC\("):
        check(SVC(), space)


def test_a_name_that_only_some_values_of_its_parent_have_needs_a_condition():
    space = {"clf": Categorical([SVC_, KNN]), "clf__C": Real(1.0, 2.0)}
    with pytest.raises(ValueError, match=r"'clf__C' .* KNeighborsClassifier"):
        check(Pipeline([("clf", SVC())]), space)


def rare_space(name):
    """A parameter that exists for one configuration in a million."""
    space = {"a0": Integer(0, 99)}
    space["a1"] = Integer(0, 99).when(a0=7)
    space["a2"] = Integer(0, 99).when(a1=range(50, 51), a0=7)
    space[name] = Real(0.0, 1.0).when(a2=3)
    return space


def test_every_parameter_is_tried_however_rare():
    Open.seen.clear()
    check(Open(), rare_space("rare"))
    tried = [params for params in Open.seen if "rare" in params]
    assert tried
    assert all((p["a0"], p["a1"], p["a2"]) == (7, 50, 3) for p in tried)


def test_a_rare_name_that_is_wrong_is_found():
    class Picky(Open):
        def set_params(self, **params):
            if "wrong" in params:
                raise TypeError("unknown: wrong")
            return self

    with pytest.raises(ValueError, match=r"'wrong' of the space .* unknown: wrong"):
        check(Picky(), rare_space("wrong"))


def test_constraints_are_respected_where_they_can_be():
    Open.seen.clear()
    check(Open(), {"a": Real(0.0, 1.0), "b": Real(0.0, 1.0)}, [rising])
    assert all(params["a"] <= params["b"] for params in Open.seen)


def rising(params):
    return params["a"] <= params["b"]


def test_the_estimator_and_the_declared_values_stay_as_they_are():
    inner = LogisticRegression()
    pipe = Pipeline([("clf", SVC(C=7.0))])
    check(pipe, {"clf": [inner], "clf__C": Real(1.0, 2.0)})
    assert pipe.named_steps["clf"].C == 7.0
    assert inner.C == LogisticRegression().C


def test_a_memory_limit_is_refused_where_fits_run_on_this_machine_only(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ValueError, match="'fit_memory_limit' must be None here"):
        check_memory_limit(10**9, None)
    monkeypatch.setattr(checks, "is_local_backend", lambda backend: False)
    check_memory_limit(10**9, None)
    with pytest.raises(ValueError, match="only Linux"):
        check_memory_limit(10**9, 1)
    check_memory_limit(None, 1)
