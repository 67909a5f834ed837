import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._optimizer.acquisition import (
    _log_h,
    log_expected_improvement,
    maximise_expected_improvement,
)
from sklearn_mvrsm._paper.splines import RidgeSplines, minimise_spline, paper_basis
from sklearn_mvrsm._surrogate.posterior import Posterior
from sklearn_mvrsm._surrogate.span_basis import span_basis

MIXED = Domain((3, 2), ((-3, 3), (0, 5), (2, 2)), ((-1.0, 2.0), (0.0, 1e-2)))
CATEGORIES = Domain((3, 2), (), ())


def improvement_at(z):
    return float(log_expected_improvement(np.array([-z]), np.ones(1), 0.0)[0])


def by_integration(z):
    """log of the integral of max(z - t, 0) phi(t), with exp(-z^2 / 2) set apart."""
    if z > 0.0:
        value, _ = quad(lambda t: (z - t) * norm.pdf(t), -12.0, min(z, 12.0))
        return np.log(value)
    # t = z - s / b, and phi(t) = phi(z) exp(z s / b - s^2 / (2 b^2))
    b = max(-z, 1.0)
    value, _ = quad(
        lambda s: s / b**2 * np.exp(z * s / b - 0.5 * (s / b) ** 2), 0.0, np.inf
    )
    return np.log(value) + norm.logpdf(z)


@pytest.mark.parametrize(
    "z", [-40.0, -25.0, -10.0, -5.0, -1.001, -1.0, -0.999, -0.1, 0.0, 0.5, 3.0, 40.0]
)
def test_log_expected_improvement_equals_numeric_integration(z):
    assert improvement_at(z) == pytest.approx(by_integration(z), rel=1e-7, abs=1e-7)


def test_log_expected_improvement_rises_with_z_without_jumps():
    z = np.concatenate([np.linspace(-60.0, 60.0, 100_001), [-1e5, -1e4, 1e4, 1e6]])
    z.sort()
    logs = log_expected_improvement(-z, np.ones_like(z), 0.0)
    assert np.all(np.isfinite(logs))
    assert np.all(np.diff(logs) > 0.0)
    middle = np.abs(z) <= 60.0
    # the slope of log h is Phi / h, below 1 - z for all z
    steepest = np.diff(logs[middle]) / np.diff(z[middle])
    assert np.all(steepest <= 2.0 + np.abs(z[middle][1:]))


def test_improvement_is_in_the_units_of_the_values():
    rng = np.random.default_rng(0)
    value, deviation = rng.normal(size=50), rng.uniform(0.01, 2.0, 50)
    logs = log_expected_improvement(value, deviation, -0.5)
    scaled = log_expected_improvement(7.0 * value + 3.0, 7.0 * deviation, -0.5)
    moved = log_expected_improvement(7.0 * value + 3.0, 7.0 * deviation, 7.0 * -0.5 + 3)
    np.testing.assert_allclose(moved, logs + np.log(7.0), rtol=1e-9)
    assert not np.allclose(scaled, logs)


def test_more_uncertainty_promises_more():
    deviation = np.logspace(-6.0, 3.0, 50)
    for value in (-1.0, 0.0, 1.0):
        logs = log_expected_improvement(np.full(50, value), deviation, 0.0)
        # below the best there is nothing to see of a very small deviation
        assert np.all(np.diff(logs) >= (-1e-12 if value < 0.0 else 1e-12))
        assert logs[-1] > logs[0] + 1.0


def splines_of(domain, seed):
    rng = np.random.default_rng(seed)
    if seed % 2:
        return paper_basis(domain.relaxed(), rng)
    return span_basis(domain, rng, np.ones(domain.d))[0]


@pytest.mark.parametrize("seed", range(8))
def test_minimum_lies_in_the_box_and_is_not_above_the_start(seed):
    rng = np.random.default_rng(seed)
    splines = splines_of(MIXED, seed)
    for _ in range(10):
        weights = rng.normal(size=splines.size)
        start = MIXED.sample(rng)
        before = start.copy()
        free = rng.random(MIXED.d) < 0.7
        point, value = minimise_spline(splines, weights, start, MIXED, free, 20)
        assert np.array_equal(start, before)
        assert np.all((MIXED.lower <= point) & (point <= MIXED.upper))
        assert np.array_equal(point[~free], start[~free])
        at_start, _ = splines.value_and_gradient(start, weights)
        at_end, _ = splines.value_and_gradient(point, weights)
        scale = 1.0 + abs(at_start)
        assert value <= at_start + 1e-9 * scale
        assert value == pytest.approx(at_end, abs=1e-6 * scale)


def test_nothing_free_leaves_the_start():
    splines = splines_of(MIXED, 0)
    weights = np.ones(splines.size)
    start = MIXED.sample(np.random.default_rng(0))
    none = np.zeros(MIXED.d, dtype=bool)
    point, value = minimise_spline(splines, weights, start, MIXED, none, 20)
    assert np.array_equal(point, start)
    assert point is not start
    assert value == splines.value_and_gradient(start, weights)[0]


def test_without_splines_there_is_nothing_to_minimise():
    splines = splines_of(CATEGORIES, 0)
    assert splines.size == 0
    start = np.array([2.0, 1.0])
    everything = np.ones(2, dtype=bool)
    point, value = minimise_spline(
        splines, np.zeros(0), start, CATEGORIES, everything, 20
    )
    assert point.tolist() == [2.0, 1.0]
    assert value == 0.0


def test_a_convex_spline_is_minimised():
    # |x - 2| + |y + 1| + |x + y|, minimal in one point
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    splines = RidgeSplines(
        directions,
        np.repeat([0, 1, 2], 2),
        np.tile([1.0, -1.0], 3),
        np.repeat([2.0, -1.0, 0.0], 2),
    )
    domain = Domain((), ((-5, 5), (-5, 5)), ())
    rng = np.random.default_rng(1)
    both = np.ones(2, dtype=bool)
    values = [
        minimise_spline(splines, np.ones(6), domain.sample(rng), domain, both, 50)[1]
        for _ in range(20)
    ]
    # L-BFGS may stop early on a ridge; it never goes below, and often gets there
    assert min(values) == pytest.approx(1.0, abs=1e-6)
    assert np.median(values) < 2.0


def test_more_iterations_do_not_make_it_worse():
    splines = splines_of(MIXED, 2)
    rng = np.random.default_rng(3)
    free = np.ones(MIXED.d, dtype=bool)
    for _ in range(10):
        weights = rng.normal(size=splines.size)
        start = MIXED.sample(rng)
        values = [
            minimise_spline(splines, weights, start, MIXED, free, steps)[1]
            for steps in (1, 5, 50)
        ]
        assert values[2] <= values[0] + 1e-9


# --- maximising expected improvement ----------------------------------------------


Z = [*np.linspace(-80.0, 8.0, 89), -50.0, -1.01, -1.0, -1e3, -1e8]


@pytest.mark.parametrize("z", Z[:-2])
def test_the_slope_of_the_improvement_equals_differences(z):
    z, h = z + 0.003, 1e-6
    difference = _log_h(z + h)[0] - _log_h(z - h)[0]
    assert _log_h(z)[1] == pytest.approx(difference / (2.0 * h), rel=1e-3)


def test_both_ways_to_the_improvement_agree_where_they_meet():
    near, far = _log_h(np.nextafter(-1.0, 0.0)), _log_h(-1.0)
    np.testing.assert_allclose(near, far, rtol=1e-11)


def test_the_improvement_at_one_point_is_that_of_many():
    z = np.array(Z)
    many = log_expected_improvement(-z, np.ones(len(z)), 0.0)
    np.testing.assert_allclose([_log_h(each)[0] for each in Z], many, rtol=1e-14)


class Bowl:
    """Value and deviation are known functions of the last two coordinates."""

    best = np.array([0.5, 1.25])

    def at(self, point):
        away = point[-2:] - self.best

        def gradient(by_value, by_deviation):
            gradient = np.zeros(len(point))
            gradient[-2:] = by_value * 2.0 * away
            gradient[-1] += 0.1 * by_deviation
            return gradient

        deviation = 0.5 + 0.1 * point[-1]
        return Posterior(float(away @ away), float(deviation), gradient)


def score_at(point):
    here = Bowl().at(point)
    value, deviation = np.array([here.value]), np.array([here.deviation])
    return log_expected_improvement(value, deviation, 0.0)[0]


def test_the_top_of_the_improvement_is_found_and_its_height_is_told():
    start = np.array([2.0, 0.0, 0.0, 5.0, 2.0, 0.0, 0.0])
    box = np.full(7, -3.0), np.full(7, 3.0)
    free = np.arange(7) >= 5
    top, score = maximise_expected_improvement((Bowl(), None), start, box, free, 50)
    np.testing.assert_array_equal(top[:5], start[:5])
    assert score == pytest.approx(score_at(top), rel=1e-9)
    assert top[-2] == pytest.approx(0.5, abs=1e-3)
    assert top[-1] > 1.25  # doubt grows upwards
    for step in np.array([[0.0, 0.01], [0.0, -0.01], [0.01, 0.0], [-0.01, 0.0]]):
        assert score_at(top + np.append(np.zeros(5), step)) < score


def test_maximisation_ends_at_the_walls_of_its_box_and_moves_what_is_free():
    start = np.zeros(3)
    box = np.full(3, -0.1), np.full(3, 0.2)
    free = np.array([False, False, True])
    top, score = maximise_expected_improvement((Bowl(), None), start, box, free, 20)
    np.testing.assert_allclose(top, [0.0, 0.0, 0.2])
    assert score > score_at(start)
