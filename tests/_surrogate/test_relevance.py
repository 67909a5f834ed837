import numpy as np
import pytest
from scipy.stats import multivariate_normal
from slopes import central_differences

from sklearn_mvrsm._surrogate.relevance import (
    _negative_log_posterior,
    additive_features,
    fit_relevance,
)


def standardised(y):
    return (y - y.mean()) / y.std()


def unit_points(n, sizes, numbers, rng):
    codes = [rng.integers(0, size, n).astype(float) for size in sizes]
    return np.column_stack([*codes, rng.random((n, numbers))])


def all_active(unit):
    return np.ones(unit.shape, dtype=bool)


def test_features_of_each_coordinate_are_centred_with_unit_total_variance():
    rng = np.random.default_rng(0)
    unit = unit_points(50, (3, 1, 2), 4, rng)
    unit[:, 5] = 0.25  # a coordinate that never varied
    active = rng.random(unit.shape) < 0.8
    features, group = additive_features(unit, active, (3, 1, 2))
    assert np.array_equal(np.unique(group), np.arange(7))
    assert np.all(np.diff(group) >= 0)
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    total = np.bincount(group, weights=(features**2).mean(axis=0))
    for i in range(7):
        varies = len(np.unique(np.where(active[:, i], unit[:, i], -1.0))) > 1
        assert total[i] == pytest.approx(1.0 if varies else 0.0, abs=1e-9)


def test_features_of_a_category_tell_its_values_apart():
    rng = np.random.default_rng(1)
    unit = unit_points(60, (4,), 0, rng)
    features, _ = additive_features(unit, all_active(unit), (4,))
    same = unit == unit.T
    distance = ((features[:, None] - features) ** 2).sum(axis=2)
    assert distance[same].max() < 1e-12
    assert distance[~same].min() > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_relevance_equals_finite_differences(seed):
    rng = np.random.default_rng(seed)
    unit = unit_points(25, (3, 2), 3, rng)
    features, group = additive_features(unit, all_active(unit), (3, 2))
    loss = _negative_log_posterior(features, group, rng.normal(size=25))
    values = rng.normal(-1.0, 1.0, 6)
    _, gradient = loss(values)
    expected = central_differences(lambda x: loss(x)[0], values)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_loss_of_the_relevance_is_a_likelihood_with_shrinkage():
    rng = np.random.default_rng(7)
    unit = unit_points(20, (3,), 2, rng)
    features, group = additive_features(unit, all_active(unit), (3,))
    y = rng.normal(size=20)
    loss = _negative_log_posterior(features, group, y)
    flat, bent = np.array([-1.0, -1.0, -1.0, 0.2]), np.array([-2.0, 0.5, -1.0, 0.2])

    def likelihood(values):
        scaled = features * np.exp(0.5 * values[group])
        covariance = scaled @ scaled.T + np.exp(values[-1]) * np.eye(20)
        return -multivariate_normal(cov=covariance).logpdf(y)

    constant = 10.0 * np.log(2.0 * np.pi)
    assert loss(flat)[0] + constant == pytest.approx(likelihood(flat), rel=1e-8)
    # variances that differ cost something of their own
    assert loss(bent)[0] + constant > likelihood(bent) + 1e-3


OBJECTIVES = {
    "a category": (lambda u: 2.0 * (u[:, 0] == 1.0), {0}),
    "two numbers": (
        lambda u: (u[:, 4] - 0.3) ** 2 * 8.0 + np.abs(u[:, 6] - 0.5),
        {4, 6},
    ),
    "one of each": (lambda u: 1.0 * (u[:, 1] == 0.0) + 3.0 * u[:, 8], {1, 8}),
}


@pytest.mark.parametrize(("objective", "relevant"), OBJECTIVES.values(), ids=OBJECTIVES)
def test_what_matters_is_recovered(objective, relevant):
    rng = np.random.default_rng(8)
    unit = unit_points(120, (3, 2, 4), 7, rng)
    y = standardised(objective(unit) + 0.05 * rng.normal(size=120))
    features, group = additive_features(unit, all_active(unit), (3, 2, 4))
    start = np.full(10, np.log(0.05))
    log = fit_relevance(features, group, y, start, 30)
    matters = np.array(sorted(relevant))
    others = np.setdiff1d(np.arange(10), matters)
    assert log[matters].min() > log[others].max() + 1.0


def test_where_nothing_matters_relevances_stay_alike():
    rng = np.random.default_rng(9)
    unit = unit_points(80, (3,), 4, rng)
    features, group = additive_features(unit, all_active(unit), (3,))
    y = standardised(rng.normal(size=80))
    log = fit_relevance(features, group, y, np.full(5, np.log(0.1)), 30)
    assert np.ptp(log) < 4.0


def test_relevance_follows_its_coordinate():
    rng = np.random.default_rng(10)
    unit = unit_points(60, (), 4, rng)
    y = standardised(unit[:, 0] + 0.3 * unit[:, 1] ** 2)
    order = np.array([2, 0, 3, 1])
    logs = []
    for columns in (unit, unit[:, order]):
        features, group = additive_features(columns, all_active(columns), ())
        logs.append(fit_relevance(features, group, y, np.full(4, -2.0), 30))
    np.testing.assert_allclose(logs[1], logs[0][order], atol=0.05)
