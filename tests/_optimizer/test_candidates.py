import numpy as np
import pytest

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace
from sklearn_mvrsm._domain import Domain, redraw
from sklearn_mvrsm._optimizer.candidates import initial_design, neighbours, reflect
from sklearn_mvrsm._paper.perturbation import perturb_as_paper


def region_of(params, constraints=()):
    return SearchSpace(params, constraints)


PLAIN = region_of(
    {
        "c": Categorical(["a", "b", "c"]),
        "flag": Categorical([True, False]),
        "k": Integer(-5, 20),
        "one": Categorical(["only"]),
        "x": Real(-1.0, 3.0),
        "y": Real(1e-5, 1.0, log=True),
    }
)
CONDITIONAL = region_of(
    {
        "kind": Categorical(["a", "b"]),
        "deep": Categorical([False, True]).when(kind="b"),
        "x": Real(0.0, 1.0).when(kind="a"),
        "k": Integer(0, 100).when(deep=True),
        "z": Real(5.0, 6.0),
    }
)
MANY = 20_000


def free(domain):
    return np.ones(domain.d, dtype=bool)


def within(count, n, share):
    """Return whether a count is within five deviations of n times a share."""
    return abs(count - n * share) < 5.0 * np.sqrt(n * share * (1.0 - share)) + 1e-9


# --- initial design -------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 7, 24])
def test_initial_design_has_one_point_in_each_slice_of_each_real(n):
    region = region_of({f"x{i}": Real(-1.0, 1.0) for i in range(5)})
    points = initial_design(region, np.random.default_rng(0), n)
    assert points.shape == (n, 5)
    slices = np.floor((points + 1.0) / 2.0 * n)
    assert np.array_equal(np.sort(slices, axis=0), np.tile(np.arange(n), (5, 1)).T)


def test_initial_design_takes_whole_values_equally_often():
    region = region_of({"c": ["a", "b", "c"], "k": Integer(-2, 5), "b": [0, 1]})
    points = initial_design(region, np.random.default_rng(0), 24)
    for column in points.T:
        _, counts = np.unique(column, return_counts=True)
        assert len(set(counts)) == 1


def test_columns_of_the_initial_design_are_shuffled_independently():
    region = region_of({"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)})
    rng = np.random.default_rng(0)
    designs = [initial_design(region, rng, 24) for _ in range(50)]
    correlations = [np.corrcoef(points.T)[0, 1] for points in designs]
    assert abs(np.mean(correlations)) < 5.0 / np.sqrt(50 * 23)
    first = np.array([points[0] for points in designs])
    assert within((first[:, 0] < 0.5).sum(), 50, 0.5)


@pytest.mark.parametrize("region", [PLAIN, CONDITIONAL])
def test_initial_design_is_canonical(region):
    points = initial_design(region, np.random.default_rng(0), 24)
    assert np.array_equal(points, region.canonical(points))


def test_empty_designs():
    assert initial_design(PLAIN, np.random.default_rng(0), 0).shape == (0, 6)
    assert initial_design(region_of({}), np.random.default_rng(0), 3).shape == (3, 0)


# --- the paper's perturbation ---------------------------------------------------


def integer_moves(bounds, start, n=MANY, others=0, seed=0):
    """How far the first integer moves, in a domain with further integers."""
    domain = Domain((), (bounds,) + ((0, 9),) * others, ())
    rng = np.random.default_rng(seed)
    point = np.full(domain.d, 4.0)
    point[0] = start
    alone = np.zeros(domain.d)
    alone[0] = 1.0
    moved = [perturb_as_paper(domain, point, free(domain), rng)[0] for _ in range(n)]
    return np.array(moved) - start


@pytest.mark.parametrize("d", [2, 4])
def test_an_integer_stays_with_probability_one_minus_one_over_d(d):
    moves = integer_moves((-50, 50), 0, n=MANY // d, others=d - 1)
    assert within((moves == 0).sum(), len(moves), 1.0 - 1.0 / d)


def test_moves_of_an_integer_halve_in_probability_with_each_step():
    # Algorithm 2: k steps or more with probability p / 2^(k - 1)
    moves = np.abs(integer_moves((-500, 500), 0, others=1, n=20_000))
    for k in range(1, 8):
        assert within((moves >= k).sum(), len(moves), 0.5 / 2.0 ** (k - 1))


def test_an_integer_moves_either_way_equally_often():
    moves = integer_moves((-500, 500), 0, others=1, n=20_000)
    assert within((moves > 0).sum(), (moves != 0).sum(), 0.5)


def test_a_single_integer_always_moves():
    moves = integer_moves((-500, 500), 0, n=2000)
    assert np.all(moves != 0)


@pytest.mark.parametrize(("start", "inwards"), [(-5, 1), (5, -1)])
def test_from_a_bound_the_first_step_is_inwards(start, inwards):
    moves = integer_moves((-5, 5), start, n=4000, others=1)
    assert np.all(moves * inwards >= 0)
    assert (moves * inwards == 1).sum() > 0


def test_a_variable_with_one_value_stays():
    domain = Domain((), ((3, 3), (0, 1)), ((2.0, 2.0), (0.0, 1.0)))
    rng = np.random.default_rng(0)
    for _ in range(200):
        moved = perturb_as_paper(domain, domain.lower.copy(), free(domain), rng)
        assert moved[[0, 2]].tolist() == [3.0, 2.0]


def test_real_steps_are_normal_with_the_stated_deviation():
    # 0.1 range / sqrt(d), far from the bounds
    domain = Domain((), ((0, 9),), ((-4.0, 6.0), (0.0, 1e-3), (0.0, 1.0)))
    rng = np.random.default_rng(0)
    middle = domain.lower + domain.span / 2.0
    middle[0] = 4.0
    moves = np.array(
        [perturb_as_paper(domain, middle, free(domain), rng) for _ in range(4000)]
    )[:, domain.real]
    steps = (moves - middle[domain.real]) / (
        0.1 * domain.span[domain.real] / np.sqrt(4.0)
    )
    n = len(steps)
    assert np.abs(steps.mean(axis=0)).max() < 5.0 / np.sqrt(n)
    assert np.abs(steps.std(axis=0) - 1.0).max() < 5.0 / np.sqrt(2.0 * n)
    assert np.abs((np.abs(steps) < 1.0).mean(axis=0) - 0.6827).max() < 0.04
    assert np.abs(np.corrcoef(steps.T) - np.eye(3)).max() < 5.0 / np.sqrt(n)


def test_from_a_bound_a_real_steps_by_half_a_normal():
    domain = Domain((), (), ((0.0, 1.0),))
    rng = np.random.default_rng(0)
    steps = np.array(
        [perturb_as_paper(domain, np.zeros(1), free(domain), rng) for _ in range(4000)]
    )
    # mean of |N(0, 0.1)|, drawn again until it lies in the box
    assert steps.min() >= 0.0
    assert steps.mean() == pytest.approx(0.1 * np.sqrt(2.0 / np.pi), rel=0.06)


def test_the_perturbation_stays_in_the_box_and_whole():
    domain = Domain((), ((0, 1), (-3, 7), (2, 4)), ((-1.0, 1.0), (5.0, 5.1)))
    rng = np.random.default_rng(0)
    for _ in range(2000):
        point = domain.sample(rng)
        before = point.copy()
        moved = perturb_as_paper(domain, point, free(domain), rng)
        assert np.array_equal(domain.round(moved), moved)
        assert np.array_equal(point, before)


def test_what_is_not_free_stays_and_does_not_count():
    domain = Domain((), ((-500, 500),) * 3, ((0.0, 1.0),) * 2)
    rng = np.random.default_rng(0)
    some = np.array([True, False, True, False, False])
    point = np.array([0.0, 1.0, 2.0, 0.5, 0.25])
    moved = np.array([perturb_as_paper(domain, point, some, rng) for _ in range(4000)])
    assert np.array_equal(moved[:, ~some], np.tile(point[~some], (4000, 1)))
    assert within((moved[:, 0] != 0.0).sum(), 4000, 0.5)  # d = 2
    nothing = np.zeros(5, dtype=bool)
    assert np.array_equal(perturb_as_paper(domain, point, nothing, rng), point)


def test_zero_drawn_as_r_1_does_not_step_for_ever():
    class Zeros:
        def random(self):
            return 0.0

    domain = Domain((), ((0, 9),), ())
    moved = perturb_as_paper(domain, np.array([4.0]), free(domain), Zeros())
    assert np.array_equal(domain.round(moved), moved)


# --- candidates -----------------------------------------------------------------


def test_reflection_folds_into_the_bounds_and_leaves_the_inside_alone():
    low, high = np.array([-1.0, 0.0, 5.0]), np.array([1.0, 10.0, 5.0])
    values = np.random.default_rng(0).normal(0.0, 40.0, (2000, 3))
    folded = reflect(values, low, high)
    assert np.all((low <= folded) & (folded <= high))
    inside = (low < values) & (values < high)
    np.testing.assert_allclose(folded[inside], values[inside], atol=1e-9)
    for beyond, back in [(1.25, 0.75), (-1.5, -0.5), (3.5, -0.5), (1.0, 1.0)]:
        assert reflect(np.array([beyond]), low[:1], high[:1]) == pytest.approx(back)


def changed(region, n=3000, width=0.2, chance=0.5, seed=0, start=None):
    rng = np.random.default_rng(seed)
    parent = region.canonical(region.domain.sample(rng)) if start is None else start
    chances = np.full(region.domain.d, chance)
    points = neighbours(region, parent[np.newaxis], n, width, chances, rng)
    return parent, points


@pytest.mark.parametrize("region", [PLAIN, CONDITIONAL])
def test_candidates_are_canonical_points_of_the_space(region):
    for seed in range(5):
        _, points = changed(region, n=400, seed=seed)
        assert points.shape == (400, region.domain.d)
        assert np.array_equal(points, region.canonical(points))
        assert np.array_equal(region.domain.round(points), points)


def test_every_candidate_differs_where_something_can():
    region = region_of({"c": list("abc"), "k": Integer(0, 50), "x": Real(0.0, 1.0)})
    parent, points = changed(region, chance=1e-6)
    different = points != parent
    # an integer redrawn anywhere can come back to where it was
    assert different.any(axis=1).mean() > 0.98
    assert np.all(different.sum(axis=1) <= 1)


def test_coordinates_change_with_their_chances():
    region = region_of({f"x{i}": Real(0.0, 1.0) for i in range(20)})
    chances = np.linspace(0.1, 0.9, 20)
    rng = np.random.default_rng(0)
    parent = region.domain.sample(rng)
    points = neighbours(region, parent[np.newaxis], 10_000, 0.1, chances, rng)
    rates = (points != parent).mean(axis=0)
    np.testing.assert_allclose(rates, chances, atol=0.03)


def test_if_nothing_changes_by_chance_the_likeliest_changes_most_often():
    region = region_of({f"x{i}": Real(0.0, 1.0) for i in range(3)})
    chances = np.array([1e-4, 2e-4, 4e-4])
    rng = np.random.default_rng(0)
    parent = region.domain.sample(rng)
    points = neighbours(region, parent[np.newaxis], 7000, 0.1, chances, rng)
    counts = (points != parent).sum(axis=0)
    for count, share in zip(counts, chances / chances.sum(), strict=True):
        assert within(count, 7000, share) or abs(count / 7000 - share) < 0.02


def test_a_category_changes_to_each_other_value_equally_often():
    region = region_of({"c": list("abcde"), "x": Real(0.0, 1.0)})
    parent, points = changed(region, chance=0.999999)
    values, counts = np.unique(points[:, 0], return_counts=True)
    assert set(values) == set(range(5)) - {parent[0]}
    assert all(within(count, len(points), 0.25) for count in counts)


def test_an_integer_moves_at_least_one_step_or_anywhere():
    region = region_of({"k": Integer(0, 1000), "x": Real(0.0, 1.0)})
    start = np.array([500.0, 0.5])
    _, points = changed(region, width=1e-6, chance=0.999999, start=start)
    steps = np.abs(points[:, 0] - 500.0)
    assert within((steps == 1.0).sum(), len(steps), 0.5 + 0.5 * 2.0 / 1001.0)
    assert steps.max() > 400.0


def test_a_real_moves_by_the_stated_width():
    region = region_of({"x": Real(-10.0, 10.0), "y": Real(0.0, 1.0)})
    start = np.array([0.0, 0.5])
    _, points = changed(region, width=0.05, chance=0.999999, start=start)
    steps = (points - start) / (0.05 * region.domain.span)
    assert np.abs(steps.std(axis=0) - 1.0).max() < 5.0 / np.sqrt(2.0 * len(steps))


def test_candidates_come_from_all_parents():
    region = region_of({"x": Real(0.0, 1.0)})
    rng = np.random.default_rng(0)
    parents = np.array([[0.1], [0.5], [0.9]])
    points = neighbours(region, parents, 3000, 1e-4, np.ones(1), rng)[:, 0]
    for parent in parents[:, 0]:
        assert within((np.abs(points - parent) < 0.05).sum(), 3000, 1.0 / 3.0)


# --- what comes into existence --------------------------------------------------


def test_what_comes_into_existence_is_uniform():
    # coordinates: kind, deep, k, x, z; at first kind is "a" and x exists
    domain = CONDITIONAL.domain
    point = CONDITIONAL.canonical(domain.neutral.copy())
    active = CONDITIONAL.active(point)
    changed_kind = np.tile(point, (4000, 1))
    changed_kind[:, 0] = 1.0
    points = redraw(CONDITIONAL, changed_kind, active, np.random.default_rng(0))
    exists = CONDITIONAL.active(points)
    assert np.array_equal(points, CONDITIONAL.canonical(points))
    deep = points[:, 1]
    assert within((deep == 1.0).sum(), 4000, 0.5)
    # a new parent brought a new child, two levels down
    child = exists[:, domain.integer][:, 0]
    assert np.array_equal(child, deep == 1.0)
    drawn = np.sort(points[child, domain.integer.start])
    assert np.abs(drawn - np.linspace(0.0, 100.0, len(drawn))).max() < 5.0
    # what existed before is left alone
    assert np.array_equal(points[:, -1], changed_kind[:, -1])


def test_nothing_is_drawn_where_nothing_comes_into_existence():
    rng = np.random.default_rng(0)
    points = PLAIN.canonical(PLAIN.domain.sample(rng, 50))
    state = rng.bit_generator.state
    same = redraw(PLAIN, points, PLAIN.active(points), rng)
    assert np.array_equal(same, points)
    assert rng.bit_generator.state == state


def test_a_changed_parent_gives_children_values_of_their_own():
    for seed in range(10):
        parent, points = changed(CONDITIONAL, n=400, seed=seed, chance=0.4)
        before = CONDITIONAL.active(parent)
        fresh = CONDITIONAL.active(points) & ~before
        for j in np.flatnonzero(fresh.any(axis=0)):
            assert len(np.unique(points[fresh[:, j], j])) > 1
