"""What an optimiser says of configurations that it was not told about."""

import math

import numpy as np
import pytest

from sklearn_mvrsm import Categorical, Integer, MVRSMOptimizer, Real, SearchSpace

SPACE = SearchSpace(
    {
        "x": Real(-1.0, 1.0),
        "k": Integer(0, 9),
        "kind": Categorical(["a", "b", "c"]),
        "y": Real(1e-3, 1.0, log=True).when(kind="b"),
    }
)


def value(params):
    return (
        3.0 * params["x"]
        + 0.2 * params["k"]
        + {"a": 0.0, "b": 1.0, "c": 2.0}[params["kind"]]
        + params.get("y", 0.0)
    )


def told(method="mvrsm", n=60, scale=1.0, shift=0.0, failing=lambda params: False):
    optimizer = MVRSMOptimizer(SPACE, method=method, random_state=0)
    for params in SPACE.sample(n, random_state=1):
        optimizer.tell(
            params, math.nan if failing(params) else scale * value(params) + shift
        )
    return optimizer


def probes(n=50):
    return SPACE.sample(n, random_state=2)


def points(configurations):
    return np.array([SPACE.encode(params) for params in configurations])


both_methods = pytest.mark.parametrize("method", ["mvrsm", "paper"])


@both_methods
def test_asking_for_predictions_changes_no_proposal(method):
    def proposals(predicting):
        optimizer = MVRSMOptimizer(
            SPACE, method=method, n_initial_points=4, random_state=0
        )
        asked = [optimizer.ask()]  # one is always under way
        for k in range(14):
            asked.append(optimizer.ask())
            optimizer.tell(asked[k], value(asked[k]))
            if predicting:
                optimizer.predict(points(probes(3)))
        return asked

    assert proposals(True) == proposals(False)


def test_predictions_are_in_units_of_the_objective():
    predicted, _ = told().predict(points(probes()))
    truth = np.array([value(params) for params in probes()])
    assert np.abs(predicted - truth).max() < 0.1 * np.ptp(truth)


@both_methods
def test_predictions_follow_the_scale_of_the_objective(method):
    plain, _ = told(method, shift=10.0).predict(points(probes()))
    other, _ = told(method, scale=100.0, shift=1000.0).predict(points(probes()))
    assert np.allclose(other, 100.0 * plain, rtol=1e-6)


def test_deviations_follow_the_scale_of_the_objective_but_not_its_level():
    _, plain = told().predict(points(probes()))
    _, other = told(scale=100.0, shift=-7.0).predict(points(probes()))
    assert np.allclose(other, 100.0 * plain, rtol=1e-6)


def test_deviations_are_smaller_where_something_was_told():
    optimizer = told(n=20)
    known = points(trial.params for trial in optimizer.trials)
    _, there = optimizer.predict(known)
    _, elsewhere = optimizer.predict(points(probes()))
    assert np.median(there) < 0.5 * np.median(elsewhere)


def test_the_published_surrogate_has_no_deviation():
    mean, std = told("paper").predict(points(probes()))
    assert np.isfinite(mean).all()
    assert np.isnan(std).all()


@both_methods
def test_coordinates_that_do_not_exist_do_not_matter(method):
    optimizer = told(method)
    inactive = np.array([SPACE.encode({"x": 0.3, "k": 2, "kind": "a"})])
    moved = np.where(SPACE.active(inactive), inactive, SPACE.domain.upper)
    assert (moved != inactive).any()
    before, after = optimizer.predict(inactive), optimizer.predict(moved)
    assert np.array_equal(before, after, equal_nan=True)


def test_a_region_that_fails_looks_as_bad_as_the_worst_that_works():
    optimizer = told(n=100, failing=lambda params: params["x"] < 0.0)
    worst = max(trial.value for trial in optimizer.trials if trial.value == trial.value)
    failing = [params for params in probes() if params["x"] < -0.3]
    predicted, _ = optimizer.predict(points(failing))
    assert abs(np.mean(predicted) - worst) < 0.2 * worst


@both_methods
def test_one_point_none_and_many_are_predicted_alike(method):
    optimizer = told(method)
    some = points(probes(5))
    many, _ = optimizer.predict(np.tile(some, (500, 1)))
    few, _ = optimizer.predict(some)
    assert np.allclose(many.reshape(500, 5), few)
    assert optimizer.predict(some[0])[0] == pytest.approx(few[:1])
    assert [len(each) for each in optimizer.predict(some[:0])] == [0, 0]


def test_a_single_value_is_predicted_everywhere():
    optimizer = told(n=1)
    predicted, _ = optimizer.predict(points(probes()))
    assert np.allclose(predicted, optimizer.best_value)


def test_very_many_trials_are_predicted_from_some_of_them(monkeypatch):
    monkeypatch.setattr("sklearn_mvrsm._optimizer.mvrsm.CAPACITY", 60)
    optimizer = told(n=150)
    predicted, _ = optimizer.predict(points(probes()))
    truth = np.array([value(params) for params in probes()])
    assert np.abs(predicted - truth).max() < 0.1 * np.ptp(truth)


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_without_a_finite_value_there_is_nothing_to_say(values):
    optimizer = MVRSMOptimizer(SPACE)
    for each in values:
        optimizer.tell(probes(1)[0], each)
    with pytest.raises(ValueError, match="No finite value"):
        optimizer.predict(points(probes()))
