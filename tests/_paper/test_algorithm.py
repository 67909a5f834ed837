import math

import numpy as np
import pytest

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace
from sklearn_mvrsm._domain import History
from sklearn_mvrsm._paper import algorithm
from sklearn_mvrsm._paper.algorithm import ITERATIONS, PaperMethod, initial_weights
from sklearn_mvrsm._paper.splines import minimise_spline

MIXED = {
    "c": Categorical(["a", "b", "c"]),
    "k": Integer(-3, 4),
    "j": Integer(0, 2),
    "x": Real(-1.0, 2.0),
    "y": Real(0.0, 1.0),
}
CONDITIONAL = {
    "kind": Categorical(["a", "b"]),
    "x": Real(0.0, 1.0).when(kind="a"),
    "k": Integer(0, 9).when(kind="b"),
    "z": Real(5.0, 6.0),
}
SPACES = {
    "mixed": MIXED,
    "conditional": CONDITIONAL,
    "integers": {"k": Integer(0, 9), "j": Integer(-5, 5)},
    "reals": {"x": Real(0.0, 1.0), "y": Real(-1e-3, 1e-3)},
    "categories": {"c": list("abc"), "flag": [True, False]},
    "one value": {"only": ["a"]},
    "one integer": {"k": Integer(-4, 4)},
    "one real": {"x": Real(-1.0, 1.0)},
    "wide": {"k": Integer(1, 10**6), "x": Real(0.0, 1.0)},
    "log": {"k": Integer(1, 1000, log=True), "x": Real(1e-4, 1.0, log=True)},
}

every_space = pytest.mark.parametrize("params", SPACES.values(), ids=SPACES)


def region_of(params, constraints=()):
    return SearchSpace(params, constraints)


def method_of(params, seed=0, n_iter=None, constraints=()):
    return PaperMethod(region_of(params, constraints), seed, n_iter)


def objective(points):
    """A bowl in unit coordinates of nothing in particular."""
    return 1.0 + np.sin(3.0 * points.sum(axis=-1)) + 0.1 * points[..., -1]


def told(method, n, seed=0, values=None):
    """Show a method n random points and return their history."""
    region = method.region
    rng = np.random.default_rng(seed)
    points = region.canonical(region.domain.sample(rng, n))
    values = objective(points) if values is None else np.asarray(values, float)
    for point, value in zip(points, values, strict=True):
        method.observe(point, float(value))
    return history_of(points, values)


def history_of(points, values):
    pending = np.empty((0, points.shape[1]))
    return History(points, values, pending, {row.tobytes() for row in points})


# --- the surrogate --------------------------------------------------------------


def test_integer_functions_start_with_weight_one_and_all_others_with_zero():
    method = method_of(MIXED)
    splines, weights = method.splines, initial_weights(method.splines)
    touched = (splines.directions != 0.0)[splines.group]
    mixed = touched[:, method.relaxed.real].any(axis=1)
    constant = ~touched.any(axis=1)
    assert np.all(weights[mixed] == 0.0)
    assert np.all(weights[constant] == 0.0)
    assert constant.sum() == 1
    # the last integer function too, which an early release of the reference missed
    assert np.all(weights[~mixed & ~constant] == 1.0)
    assert np.array_equal(method.model.weights, weights)


def test_categories_are_integers():
    method = method_of(MIXED)
    assert method.relaxed.n_categorical == 0
    touched = (method.splines.directions != 0.0).any(axis=0)
    assert touched.all()


def test_weights_are_ridge_regression_on_the_scaled_objective(monkeypatch):
    monkeypatch.setattr(algorithm, "RIDGE", 1e-2)
    method = method_of(MIXED)
    history = told(method, 30, values=np.random.default_rng(1).normal(size=30) - 4.0)
    first = history.values[0]
    y = (history.values - first) / abs(first)
    phi = method.splines.features(history.points)
    start = initial_weights(method.splines)
    gram = phi.T @ phi + 1e-2 * np.eye(len(start))
    expected = start + np.linalg.solve(gram, phi.T @ (y - phi @ start))
    np.testing.assert_allclose(method.model.weights, expected, atol=1e-7)


@pytest.mark.parametrize("first", [0.0, -1e-9, 1e-300])
def test_a_first_value_near_zero_shifts_but_does_not_scale(first):
    values = np.array([first, 3.0, -2.0, 0.5])
    method = method_of(MIXED)
    history = told(method, 4, values=values)
    predicted = method.splines.features(history.points) @ method.model.weights
    np.testing.assert_allclose(predicted, values - first, atol=1e-5)


def test_the_unit_of_the_objective_does_not_matter():
    weights = []
    for factor in (1.0, 2.0**40, 2.0**-10):
        method = method_of(MIXED)
        told(method, 20, values=factor * (np.random.default_rng(2).random(20) + 0.5))
        weights.append(method.model.weights)
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])


@every_space
def test_predictions_reproduce_what_was_told(params):
    method = method_of(params)
    n = max(min(12, method.splines.size - 1), 1)
    history = told(method, n)
    mean, deviation = method.predict(history, history.points)
    np.testing.assert_allclose(mean, history.values, atol=1e-3)
    assert np.all(np.isnan(deviation))


# --- failures -------------------------------------------------------------------


def test_a_failure_counts_as_the_worst_value_so_far():
    with_failures, told_worst = method_of(MIXED), method_of(MIXED)
    told(with_failures, 5, values=[1.0, 4.0, math.nan, 2.0, math.inf])
    told(told_worst, 5, values=[1.0, 4.0, 4.0, 2.0, 4.0])
    assert np.array_equal(with_failures.model.weights, told_worst.model.weights)


def test_failures_before_the_first_success_are_kept_aside():
    method = method_of(MIXED)
    points = method.region.canonical(
        method.region.domain.sample(np.random.default_rng(0), 4)
    )
    for point in points[:2]:
        method.observe(point, math.nan)
    assert np.array_equal(method.model.weights, initial_weights(method.splines))
    method.observe(points[2], 7.0)
    method.observe(points[3], 8.0)
    mean, _ = method.predict(history_of(points, np.zeros(4)), points)
    np.testing.assert_allclose(mean, [7.0, 7.0, 7.0, 8.0], atol=1e-4)


def test_infinitely_good_is_a_failure_too():
    method = method_of(MIXED)
    told(method, 3, values=[1.0, -math.inf, 2.0])
    history = told(method, 1, seed=5, values=[0.5])
    proposal = method.propose(history, np.random.default_rng(0))
    assert np.all(np.isfinite(method.model.weights))
    assert np.array_equal(method.region.domain.round(proposal), proposal)


# --- proposals ------------------------------------------------------------------


@every_space
def test_proposals_are_canonical_points_of_the_space(params):
    method = method_of(params)
    history = told(method, 15)
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = method.propose(history, rng)
        assert np.array_equal(method.region.domain.round(point), point)
        assert np.array_equal(point, method.region.canonical(point))


def minimum_of(method, history):
    """The surrogate's minimum near the best point, by the parts it is made of."""
    best = history.points[np.argmin(history.values)]
    point, _ = minimise_spline(
        method.splines,
        method.model.weights,
        best,
        method.relaxed,
        method.region.active(best),
        ITERATIONS,
    )
    return method.relaxed.round(point)


@pytest.mark.parametrize("seed", range(4))
def test_the_last_proposal_is_the_minimum_of_the_surrogate_itself(seed):
    method = method_of(MIXED, seed, n_iter=16)
    history = told(method, 15, seed)
    point = method.propose(history, np.random.default_rng(0))
    assert np.array_equal(point, minimum_of(method, history))


@pytest.mark.statistical
def test_proposals_before_the_last_are_spread_around_the_minimum():
    method = method_of(MIXED, n_iter=17)
    history = told(method, 15)
    minimum = minimum_of(method, history)
    rng = np.random.default_rng(0)
    points = np.array([method.propose(history, rng) for _ in range(250)])
    moves = points - minimum
    # d = 5: each integer stays with probability 4/5, unless a bound turns it back
    stays = (moves[:, :3] == 0.0).mean(axis=0)
    assert np.all(np.abs(stays - 0.8) < 0.13)
    assert np.all((moves[:, 3:] != 0.0).mean(axis=0) > 0.99)
    widths = 0.1 * method.relaxed.span[3:] / np.sqrt(5.0)
    assert np.all(np.abs(moves[:, 3:]).max(axis=0) < 5.0 * widths)


def test_pending_points_count_as_evaluations():
    method = method_of(MIXED, n_iter=16)
    history = told(method, 14)
    pending = method.region.domain.neutral[np.newaxis]
    waiting = History(history.points, history.values, pending, history.seen)
    point = method.propose(waiting, np.random.default_rng(0))
    assert np.array_equal(point, minimum_of(method, history))


def test_constraints_are_respected_where_a_perturbation_can():
    method = method_of(MIXED, constraints=[lambda params: params["k"] < params["x"]])
    rng = np.random.default_rng(0)
    region = method.region
    points = region.canonical(region.domain.sample(rng, 60))
    points = points[[region.feasible(point) for point in points]]
    for point in points:
        method.observe(point, float(objective(point)))
    history = history_of(points, objective(points))
    for n_iter in (None, len(points) + 1):
        method.n_iter = n_iter
        proposals = [method.propose(history, rng) for _ in range(30)]
        assert sum(map(region.feasible, proposals)) >= 29


def test_inactive_coordinates_rest_at_their_neutral_value():
    method = method_of(CONDITIONAL)
    history = told(method, 20)
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(60):
        point = method.propose(history, rng)
        active = method.region.active(point)
        assert np.array_equal(point[~active], method.region.domain.neutral[~active])
        kinds.add(point[0])
    assert kinds == {0.0, 1.0}


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e300])
def test_extreme_values_are_no_trouble(scale):
    method = method_of(MIXED)
    rng = np.random.default_rng(3)
    history = told(method, 25, values=scale * rng.normal(size=25))
    point = method.propose(history, rng)
    assert np.all(np.isfinite(method.model.weights))
    assert np.array_equal(method.region.domain.round(point), point)


def test_values_of_very_different_size_are_no_trouble():
    method = method_of(MIXED)
    largest = np.finfo(np.float64).max
    values = [1e-3, largest, -largest, 1e-200, -5.0, 1e100] * 4
    history = told(method, 24, values=values)
    point = method.propose(history, np.random.default_rng(0))
    assert np.all(np.isfinite(method.model.weights))
    assert np.array_equal(method.region.domain.round(point), point)


def test_the_basis_is_a_function_of_the_seed_alone():
    one, same, other = (method_of(MIXED, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.splines.offset, same.splines.offset)
    assert not np.array_equal(one.splines.offset, other.splines.offset)
