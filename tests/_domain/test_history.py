import numpy as np
import pytest

from sklearn_mvrsm._domain import History, impute_failures


def test_failures_take_the_worst_finite_value():
    values = np.array([1.0, np.nan, -3.0, np.inf, 2.5, -np.inf])
    assert impute_failures(values).tolist() == [1.0, 2.5, -3.0, 2.5, 2.5, 2.5]
    assert np.isnan(values[1])


def test_values_that_work_are_left_alone():
    values = np.array([3.0, -1e-300, 1e200, 0.0])
    assert np.array_equal(impute_failures(values), values)


@pytest.mark.parametrize("diverged", [1e3, 1e30, np.finfo(np.float64).max])
def test_a_value_far_above_all_others_is_lowered(diverged):
    # the second worst of ten is 8 above the best
    values = np.array([*range(9), diverged, np.nan]) + 1.0
    shown = [*range(1, 10), 81.0, 81.0]
    assert impute_failures(values).tolist() == shown


def test_the_worst_tenth_may_be_as_bad_as_they_are():
    ordinary = np.arange(100.0)
    assert np.array_equal(impute_failures(ordinary), ordinary)
    outliers = np.where(ordinary >= 91, 1e9 + ordinary, ordinary)
    assert impute_failures(outliers).max() == 900.0
    bad = np.where(ordinary >= 91, 2600.0 + ordinary, ordinary)  # below 30 * 90
    assert np.array_equal(impute_failures(bad), bad)
    common = np.where(ordinary >= 90, 1e9 + ordinary, ordinary)
    assert np.array_equal(impute_failures(common), common)


@pytest.mark.parametrize(("far", "shown"), [(20.0, 20.0), (1e9, 100.0)])
def test_what_is_above_a_limit_is_shown_above_it(far, shown):
    values = np.array([*np.linspace(-100.0, -99.0, 20), far])
    assert impute_failures(values).max() < 0.0
    assert impute_failures(values, limit=0.0).max() == shown


@pytest.mark.parametrize("n", [2, 7, 50])
def test_few_values_and_one_among_equal_ones_are_left_alone(n):
    values = np.zeros(n)
    values[1] = 1e9
    assert np.array_equal(impute_failures(values), values)


@pytest.mark.parametrize("values", [[], [np.nan], [np.inf, -np.inf]])
def test_without_a_finite_value_all_count_as_zero(values):
    assert impute_failures(np.array(values)).tolist() == [0.0] * len(values)


def test_differences_are_finite_whatever_the_values():
    largest = np.finfo(np.float64).max
    values = impute_failures(np.array([largest, -largest, np.nan, 0.0]))
    assert np.isfinite(values[0] - values[1])
    assert np.argsort(values, kind="stable").tolist() == [1, 3, 0, 2]


def test_a_history_cannot_be_altered():
    history = History(np.zeros((0, 2)), np.zeros(0), np.zeros((0, 2)), set())
    with pytest.raises(AttributeError):
        history.values = np.ones(1)
