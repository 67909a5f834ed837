import numpy as np
import pytest

from sklearn_mvrsm._history import History, penalised


def test_failures_take_the_worst_finite_value():
    values = np.array([1.0, np.nan, -3.0, np.inf, 2.5, -np.inf])
    assert penalised(values).tolist() == [1.0, 2.5, -3.0, 2.5, 2.5, 2.5]
    assert np.isnan(values[1])


def test_values_that_work_are_left_alone():
    values = np.array([3.0, -1e-300, 1e200, 0.0])
    assert np.array_equal(penalised(values), values)


@pytest.mark.parametrize("values", [[], [np.nan], [np.inf, -np.inf]])
def test_without_a_finite_value_all_count_as_zero(values):
    assert penalised(np.array(values)).tolist() == [0.0] * len(values)


def test_differences_are_finite_whatever_the_values():
    largest = np.finfo(np.float64).max
    values = penalised(np.array([largest, -largest, np.nan, 0.0]))
    assert np.isfinite(values[0] - values[1])
    assert np.argsort(values, kind="stable").tolist() == [1, 3, 0, 2]


def test_a_history_cannot_be_altered():
    history = History(np.zeros((0, 2)), np.zeros(0), np.zeros((0, 2)), set())
    with pytest.raises(AttributeError):
        history.values = np.ones(1)
