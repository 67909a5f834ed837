import numpy as np
import pytest
from slopes import central_differences

from sklearn_mvrsm import Integer, Real, SearchSpace
from sklearn_mvrsm._optimizer.success import LIKELY, Success

SPACE = SearchSpace(
    {"c": list("abc"), "k": Integer(0, 9), "x": Real(0.0, 1.0), "y": Real(-2.0, 2.0)}
)


def drawn(n, seed):
    points = SPACE.domain.sample(np.random.default_rng(seed), n)
    return points, SPACE.active(points)


def observed(failing=lambda points: points[:, 2] > 0.6, n=60):
    success = Success(SPACE, 0)
    points, _ = drawn(n, 1)
    success.observe(points, failing(points))
    return success


def test_nothing_is_added_while_nothing_has_failed():
    success = Success(SPACE, 0)
    points, active = drawn(5, 2)
    assert np.array_equal(success.log_factor(points, active), np.zeros(5))
    assert success.is_likely(points[0], active[0])
    assert success.real_slice(points[0], active[0]) is None


def test_success_is_likely_where_nothing_fails_alone():
    success = observed()
    points, active = drawn(200, 3)
    likely = [success.is_likely(*each) for each in zip(points, active, strict=True)]
    right = np.array(likely) == (points[:, 2] <= 0.6)
    assert right[np.abs(points[:, 2] - 0.6) > 0.1].mean() > 0.95
    factor = success.log_factor(points, active)
    assert factor.max() <= 0.0
    assert factor[points[:, 2] < 0.3].min() > -0.2
    assert factor[points[:, 2] > 0.8].max() < LIKELY


def test_risks_cost_more_where_many_of_the_latest_have_failed():
    points, active = drawn(50, 4)
    factors = []
    for late in (False, True):
        failing = np.zeros(80, dtype=bool)
        known, _ = drawn(80, 1)
        order = np.argsort(known[:, 2])
        known = known[order if late else order[::-1]]
        failing = known[:, 2] > 0.6
        success = Success(SPACE, 0)
        success.observe(known, failing)
        factors.append(success.log_factor(points, active)[points[:, 2] > 0.7].max())
    assert factors[1] < 10.0 * factors[0] < 0.0


@pytest.mark.parametrize("seed", range(4))
def test_a_slice_is_the_factor_and_its_gradient_equals_finite_differences(seed):
    success = observed()
    points, active = drawn(1, seed)
    along = success.real_slice(points[0], active[0])
    value, gradient = along.at(points[0])
    factor = success.log_factor(points, active)[0]
    assert value == pytest.approx(factor, rel=1e-6)

    def loss(reals):
        moved = points[0].copy()
        moved[2:] = reals
        return along.at(moved)[0]

    slopes = central_differences(loss, points[0][2:], 1e-6)
    np.testing.assert_allclose(gradient[2:], slopes, rtol=1e-3, atol=1e-3)
