"""Sobol' indices against functions whose indices are known."""

import numpy as np
import pytest

from sklearn_mvrsm.inspection._sobol import sobol_indices, uniform_points


def indices(function, low, high, n_discrete=0, groups=None, n_samples=2048, seed=0):
    low, high = np.array(low, float), np.array(high, float)
    d = len(low)
    return sobol_indices(
        function,
        lambda unit: uniform_points(low, high, n_discrete, unit),
        d,
        [[j] for j in range(d)] if groups is None else groups,
        n_samples,
        np.random.default_rng(seed),
    )


def ishigami(x):
    return (
        np.sin(x[:, 0])
        + 7 * np.sin(x[:, 1]) ** 2
        + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    )


def test_ishigami_has_its_known_indices():
    found = indices(ishigami, [-np.pi] * 3, [np.pi] * 3)
    assert found.first_order == pytest.approx([0.3139, 0.4424, 0.0], abs=0.02)
    assert found.total == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.02)
    assert found.variance == pytest.approx(13.845, rel=0.02)


def test_a_sum_has_total_indices_equal_to_first_order_ones():
    found = indices(lambda x: 3 * x[:, 0] + x[:, 1], [0] * 3, [1] * 3)
    assert found.first_order == pytest.approx([0.9, 0.1, 0.0], abs=0.01)
    assert found.total == pytest.approx([0.9, 0.1, 0.0], abs=0.01)
    assert found.total[2] == 0.0


def test_a_product_of_centred_factors_is_all_interaction():
    found = indices(lambda x: x[:, 0] * x[:, 1], [-1, -1], [1, 1])
    assert found.first_order == pytest.approx([0.0, 0.0], abs=0.05)
    assert found.total == pytest.approx([1.0, 1.0], abs=0.05)


def test_a_conditional_parameter_counts_only_where_it_exists():
    # f = 2 y where the category is 1, else 0: V = 5/12
    found = indices(lambda x: 2 * x[:, 1] * x[:, 0], [0, 0], [1, 1], n_discrete=1)
    assert found.first_order == pytest.approx([0.6, 0.2], abs=0.02)
    assert found.total == pytest.approx([0.8, 0.4], abs=0.02)


def test_a_group_explains_what_its_members_explain_together():
    found = indices(
        lambda x: x[:, 0] * x[:, 1] + x[:, 2], [-1] * 3, [1] * 3, groups=[[0, 1], [2]]
    )
    share = (1 / 9) / (1 / 9 + 1 / 3)
    assert found.first_order == pytest.approx([share, 1 - share], abs=0.02)
    assert found.total == pytest.approx([share, 1 - share], abs=0.02)


@pytest.mark.parametrize("level", [0.0, 1.0, -1e9])
def test_a_constant_has_no_important_parameter(level):
    found = indices(lambda x: np.full(len(x), level), [0, 0], [1, 1])
    assert found.variance == 0.0
    assert found.first_order.tolist() == found.total.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_scale_and_level_of_the_function_do_not_matter(scale):
    box = ([-np.pi] * 3, [np.pi] * 3)
    plain = indices(ishigami, *box)
    other = indices(lambda x: scale * (ishigami(x) + 1e3), *box)
    assert other.total == pytest.approx(plain.total, rel=1e-4)
    assert other.first_order == pytest.approx(plain.first_order, abs=1e-4)


def test_the_stated_error_is_about_the_spread_over_samples():
    box = ([-np.pi] * 3, [np.pi] * 3)
    found = [indices(ishigami, *box, n_samples=128, seed=k) for k in range(30)]
    spread = np.std([each.total for each in found], axis=0)
    stated = np.mean([each.total_error for each in found], axis=0)
    assert (spread < 1.5 * stated).all()  # a Sobol' sequence does better than chance


def test_uniform_points_reach_every_value_of_a_discrete_coordinate_equally():
    unit = (np.arange(600)[:, np.newaxis] + 0.5) / 600 * np.ones(3)
    points = uniform_points(
        np.array([0.0, -1.0, 0.5]), np.array([2.0, 4.0, 1.5]), 2, unit
    )
    assert np.unique(points[:, 0], return_counts=True)[1].tolist() == [200] * 3
    values, counts = np.unique(points[:, 1], return_counts=True)
    assert values.tolist() == [-1, 0, 1, 2, 3, 4]
    assert set(counts) == {100}
    assert points[:, 2] == pytest.approx(0.5 + unit[:, 0])


def test_the_ends_of_the_unit_cube_stay_inside_the_box():
    points = uniform_points(
        np.array([0.0, 0.0]), np.array([3.0, 5.0]), 1, np.array([[0.0, 0], [1, 1]])
    )
    assert points.tolist() == [[0.0, 0.0], [3.0, 5.0]]
