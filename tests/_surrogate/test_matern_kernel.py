import numpy as np
import pytest
from scipy.special import gamma, kv

from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._surrogate.matern_kernel import (
    MaternFeatures,
    matern_52,
    squared_distances,
)

MIXED = Domain((3, 2), ((-2, 3), (4, 4)), ((-1.0, 2.0), (0.0, 1e-3)))


def drawn(n=20, seed=0):
    rng = np.random.default_rng(seed)
    points = MIXED.sample(rng, n)
    active = rng.random(points.shape) < 0.7
    return np.where(active, points, MIXED.neutral), active


def test_the_covariance_is_matern_of_order_five_halves():
    r = np.linspace(0.01, 6.0, 50)
    x = np.sqrt(5.0) * r
    expected = 2.0**-1.5 / gamma(2.5) * x**2.5 * kv(2.5, x)
    np.testing.assert_allclose(matern_52(r**2)[0], expected, rtol=1e-10)
    assert matern_52(np.zeros(1))[0] == 1.0


def test_slope_is_minus_twice_the_derivative_in_the_squared_distance():
    squared, h = np.linspace(0.05, 20.0, 40), 1e-5
    difference = matern_52(squared + h)[0] - matern_52(squared - h)[0]
    np.testing.assert_allclose(matern_52(squared)[1], -difference / h, rtol=1e-6)


def test_distances_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    expected = ((a[:, np.newaxis] - b) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(a, b), expected, atol=1e-12)
    assert squared_distances(a, a).min() >= 0.0


def test_features_put_the_ends_of_every_coordinate_one_apart():
    matern_features = MaternFeatures(MIXED)
    ends = np.array([MIXED.lower, MIXED.upper])
    w = matern_features.features(ends, np.ones(ends.shape, dtype=bool))
    apart = np.bincount(matern_features.group, (w[0] - w[1]) ** 2)
    np.testing.assert_allclose(apart, [1.0, 1.0, 1.0, 0.0, 1.0, 1.0])


def test_distance_does_not_depend_on_which_categories_differ():
    points = np.tile(MIXED.lower, (3, 1))
    points[:, 0] = [0.0, 1.0, 2.0]
    w = MaternFeatures(MIXED).features(points, np.ones(points.shape, dtype=bool))
    np.testing.assert_allclose(squared_distances(w, w), 1.0 - np.eye(3), atol=1e-12)


def test_what_is_inactive_counts_where_the_other_is_active_only():
    points, active = drawn()
    matern_features = MaternFeatures(MIXED)
    w = matern_features.features(points, active)
    for i in range(MIXED.d):
        part = w[:, matern_features.group == i]
        distance = squared_distances(part, part)
        off, on = ~active[:, i], active[:, i]
        assert distance[np.ix_(off, off)].max() == 0.0
        assert distance[np.ix_(on, off)].min() >= 0.25 - 1e-12


def test_a_range_too_narrow_to_divide_by_is_a_single_value():
    thin = Domain((), (), ((0.0, 1e-310), (0.0, 1e-290)))
    w = MaternFeatures(thin).features(
        np.array([thin.lower, thin.upper]), np.ones((2, 2), dtype=bool)
    )
    np.testing.assert_allclose(w[1] - w[0], [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("domain", [Domain(), Domain((2,)), Domain((), ((0, 1),))])
def test_features_of_small_domains_have_their_shape(domain):
    matern_features = MaternFeatures(domain)
    points = domain.sample(np.random.default_rng(0), 4)
    w = matern_features.features(points, np.ones(points.shape, dtype=bool))
    assert w.shape == (4, len(matern_features.group))
    assert w.shape[1] == sum(domain.category_sizes) + domain.n_integer
