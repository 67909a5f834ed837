"""Earlier results: the best of a search come first, known ones are never fitted."""

import math
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimators import Constant
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real, SearchSpace

X, y = load_iris(return_X_y=True)
SPACE = {"level": Real(0.0, 1.0)}
GRID = {"level": [0.1, 0.2, 0.3, 0.4, 0.5, 0.9]}


def by_level(estimator, X, y):
    return 1.0 - (estimator.level - 0.3) ** 2


def moody(estimator, X, y):
    if estimator.level > 0.7:
        raise ValueError("too high")
    return by_level(estimator, X, y) + 0.001 * float(X[0, 0])


def make(space=SPACE, **options):
    options = {"n_iter": 6, "cv": 2, "random_state": 0, "scoring": by_level} | options
    return MVRSMSearchCV(Constant(), space, **options)


@pytest.fixture(scope="module")
def earlier():
    return make(n_iter=15).fit(X, y)


@pytest.fixture(scope="module")
def grid():
    return GridSearchCV(Constant(), GRID, cv=2, scoring=by_level).fit(X, y)


def levels(search):
    return [params["level"] for params in search.cv_results_["params"]]


def test_the_best_five_of_a_search_are_evaluated_first(earlier, grid):
    order = np.argsort(-earlier.cv_results_["mean_test_score"], kind="stable")
    found = make(initial_points=earlier).fit(X, y)
    assert levels(found)[:5] == [levels(earlier)[k] for k in order[:5]]
    assert found.best_score_ >= earlier.best_score_
    assert sorted(levels(make(initial_points=grid).fit(X, y))[:5]) == GRID["level"][:5]


def test_equal_and_failed_candidates_are_left_out():
    space = {"level": [0.2, 0.3, 0.8, 0.9]}
    search = MVRSMSearchCV(Constant(), space, n_iter=4, cv=2, scoring=moody)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    twice = GridSearchCV(Constant(), {"level": [0.2, 0.3, 0.2]}, cv=2, scoring=by_level)
    for source in (search, twice.fit(X, y)):
        found = make(initial_points=source, include_default=False, n_iter=3).fit(X, y)
        assert sorted(levels(found)[:2]) == [0.2, 0.3]
        assert levels(found)[2] not in (0.2, 0.3, 0.8, 0.9)


FORMS = {
    "search": lambda grid: grid,
    "results": lambda grid: grid.cv_results_,
    "frame": lambda grid: pd.DataFrame(grid.cv_results_),
    "pairs": lambda grid: [
        (params, score)
        for params, score in zip(
            grid.cv_results_["params"], grid.cv_results_["mean_test_score"], strict=True
        )
    ],
    "lists": lambda grid: [grid.cv_results_, ({"level": 0.6}, 0.91)],
}


@pytest.mark.parametrize("form", FORMS)
def test_known_results_are_told_and_not_fitted(grid, form):
    search = make(known_results=FORMS[form](grid), include_default=False).fit(X, y)
    n_known = len(GRID["level"]) + (form == "lists")
    assert len(search.cv_results_["params"]) == 6
    trials = search.optimizer_.trials
    assert len(trials) == 6 + n_known
    assert [trial.params["level"] for trial in trials[:6]] == GRID["level"]
    assert [trial.value for trial in trials[:6]] == pytest.approx(
        -grid.cv_results_["mean_test_score"]
    )
    assert not set(levels(search)) & set(GRID["level"])


def test_known_results_take_the_place_of_random_candidates():
    points = [{"level": float(level)} for level in np.linspace(0.0, 1.0, 20)]
    known = [(params, by_level(Constant(**params), X, y)) for params in points]
    search = make(known_results=known, include_default=False, n_iter=2).fit(X, y)
    assert levels(search) == pytest.approx([0.3, 0.3], abs=0.05)


@pytest.mark.parametrize("method", ["mvrsm", "paper"])
def test_failures_are_told_and_candidates_that_were_given_up_are_not(method):
    space = {"level": Integer(0, 60)}
    scaled = partial(_scaled, moody)
    search = make(space, n_iter=40, racing=True, cv=4, scoring=scaled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    statuses = search.cv_results_["status"]
    skipped = search.cv_results_["split3_status"] == "skipped"
    assert "error" in statuses
    assert (skipped & (statuses == "ok")).any()
    found = make(space, n_iter=1, known_results=search, method=method)
    told = found.fit(X, y).optimizer_.trials[:-1]
    assert len(told) == (~skipped).sum()
    assert sum(math.isnan(trial.value) for trial in told) == (statuses == "error").sum()


def _scaled(scorer, estimator, X, y):
    return scorer(clone(estimator).set_params(level=estimator.level / 60), X, y)


def test_of_several_metrics_it_is_the_one_that_is_followed():
    both = {"a": by_level, "b": lambda *args: -by_level(*args)}
    source = make(scoring=both, refit="b").fit(X, y)
    found = make(scoring=both, refit="b", known_results=source, n_iter=1).fit(X, y)
    told = [trial.value for trial in found.optimizer_.trials[:6]]
    assert told == pytest.approx(-source.cv_results_["mean_test_b"])

    def one_callable(estimator, X, y):
        return {name: scorer(estimator, X, y) for name, scorer in both.items()}

    found = make(scoring=one_callable, refit="b", known_results=source, n_iter=1)
    told = [trial.value for trial in found.fit(X, y).optimizer_.trials[:6]]
    assert told == pytest.approx(-source.cv_results_["mean_test_b"])


FIXED = SearchSpace(SPACE, constraints=[lambda params: params["level"] < 0.8])


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        (
            {"known_results": [({"level": 2.0}, 0.5)]},
            ValueError,
            r"known_results\[0\]: Parameter 'level' .*2\.0",
        ),
        (
            {"known_results": [({"level": 0.5}, 0.5), ({}, 0.5)]},
            ValueError,
            r"known_results\[1\]: Parameter 'level' must have a value",
        ),
        (
            {"known_results": [({"level": 0.5}, "good")]},
            TypeError,
            r"'known_results\[0\]' must be a fitted search, a pair .* got \(.*'good'\)",
        ),
        ({"known_results": 3}, TypeError, "'known_results' must be a fitted search"),
        ({"known_results": [None]}, TypeError, r"'known_results\[0\]' must be"),
        ({"known_results": "text"}, TypeError, "'known_results' must be"),
        ({"known_results": make()}, ValueError, "'known_results' must be a fitted se"),
        ({"initial_points": make()}, ValueError, "'initial_points' must be a fitted"),
        (
            {"known_results": {"params": [], "mean_test_b": []}},
            ValueError,
            r"'known_results' must have 'params' and 'mean_test_score'.*\['mean_test_b",
        ),
        (
            {"known_results": {"params": ["{}"], "mean_test_score": [0.5]}},
            TypeError,
            "'known_results, row 0' must have a dict and a number",
        ),
        (
            {
                "known_results": {"params": [{"level": 0.5}], "mean_test_score": [0.5]},
                "constraint": lambda row: row["mean_train_score"],
            },
            KeyError,
            "'constraint' raised this for known_results, row 0",
        ),
        (
            {"known_results": [({"level": 0.9}, 0.5)], "space": FIXED},
            ValueError,
            r"known_results\[0\]: a constraint forbids \{'level': 0.9\}",
        ),
    ],
)
def test_what_does_not_suit_is_named_before_any_fit(options, error, match, tmp_path):
    search = make(**options)
    search.estimator.folder = str(tmp_path)
    with pytest.raises(error, match=match):
        search.fit(X, y)
    assert not list(tmp_path.iterdir())


def test_a_search_of_another_space_is_refused_by_candidate(earlier):
    search = make({"level": Real(0.0, 1e-9)}, initial_points=earlier)
    with pytest.raises(ValueError, match=r"initial_points, row \d+: Parameter 'level'"):
        search.fit(X, y)
    other = MVRSMSearchCV(SVC(), {"C": Real(0.1, 1.0)}, known_results=earlier)
    with pytest.raises(ValueError, match="known_results, row 0: Parameter 'level'"):
        other.fit(X, y)


@pytest.mark.parametrize("name", ["known_results", "initial_points"])
def test_a_checkpoint_is_of_these_results_and_resumes_with_them(
    earlier, grid, name, tmp_path
):
    whole = make(**{name: grid}, n_iter=9).fit(X, y)
    path = tmp_path / "search.jsonl"
    make(**{name: grid}, n_iter=6, checkpoint=path).fit(X, y)
    resumed = make(**{name: grid}, n_iter=9, checkpoint=path).fit(X, y)
    assert levels(resumed) == levels(whole)
    for other in (earlier, None):
        with pytest.raises(ValueError, match=f"arguments, {name}"):
            make(**{name: other}, n_iter=9, checkpoint=path).fit(X, y)


def test_clones_keep_the_fitted_search_as_it_is(earlier):
    search = clone(make(initial_points=earlier, known_results=[earlier]))
    assert search.initial_points is search.known_results[0] is earlier


def test_a_space_that_is_all_known_has_nothing_left(grid):
    points = [{"level": level} for level in GRID["level"]]
    search = make(GRID, known_results=grid, initial_points=points[:1], n_iter=3)
    search.set_params(include_default=False)
    with pytest.warns(UserWarning, match="has only 7 config.* after 1 instead of n_it"):
        search.fit(X, y)
    assert levels(search) == [0.1]
