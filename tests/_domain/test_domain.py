import pickle

import numpy as np
import pytest

from sklearn_mvrsm._domain import Domain

MIXED = Domain((3, 1, 2), ((-3, 4), (7, 7), (0, 2**53)), ((-1.5, 2.0), (5.0, 5.0)))
INTEGERS = Domain((), ((-3, 4), (0, 9)), ())
REALS = Domain((), (), ((-1.0, 1.0),))
CATEGORIES = Domain((4, 2), (), ())
EMPTY = Domain()
ALL = [MIXED, INTEGERS, REALS, CATEGORIES, EMPTY]

every_domain = pytest.mark.parametrize("domain", ALL)


def wild_points(domain, n=500, seed=0):
    """Points inside, outside, and on the halves between integers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 5.0, (n, domain.d)) * np.maximum(domain.span, 1.0)
    x[::2] = np.floor(x[::2]) + 0.5
    return x


def contains(domain, x):
    """Which points are inside, and whole where they have to be."""
    whole = x[..., : domain.real.start]
    inside = ((domain.lower <= x) & (x <= domain.upper)).all(axis=-1)
    return inside & (whole == np.floor(whole)).all(axis=-1)


@every_domain
def test_slices_are_the_coordinates_in_order(domain):
    every = np.arange(domain.d)
    blocks = [every[domain.categorical], every[domain.integer], every[domain.real]]
    assert np.array_equal(np.concatenate(blocks), every)
    counts = (domain.n_categorical, domain.n_integer, domain.n_real)
    assert tuple(map(len, blocks)) == counts


def test_bounds_of_a_mixed_domain():
    assert MIXED.lower.tolist() == [0, 0, 0, -3, 7, 0, -1.5, 5]
    assert MIXED.upper.tolist() == [2, 0, 1, 4, 7, 2**53, 2, 5]
    assert np.array_equal(MIXED.span, MIXED.upper - MIXED.lower)


def test_neutral_is_the_first_category_and_the_middle_of_the_rest():
    assert MIXED.neutral.tolist() == [0, 0, 0, 0, 7, 2**52, 0.25, 5]
    assert contains(MIXED, MIXED.neutral)


@every_domain
def test_derived_arrays_cannot_be_altered(domain):
    for array in (domain.lower, domain.upper, domain.span, domain.neutral):
        assert array.shape == (domain.d,)
        assert not array.flags.writeable


@every_domain
def test_clip_gives_the_nearest_value_inside(domain):
    x = wild_points(domain)
    y = domain.clip(x)
    assert np.array_equal(y, np.clip(x, domain.lower, domain.upper))
    assert np.array_equal(domain.clip(y), y)


@every_domain
def test_round_gives_a_point_and_leaves_points_alone(domain):
    x = wild_points(domain)
    before = x.copy()
    y = domain.round(x)
    assert np.array_equal(x, before)
    assert np.all(contains(domain, y))
    assert np.array_equal(domain.round(y), y)
    split = domain.real.start
    inside = domain.clip(x)
    assert np.abs(y - inside)[:, :split].max(initial=0.0) <= 0.5
    assert np.array_equal(y[:, split:], inside[:, split:])


def test_every_integer_owns_a_half_open_cell_of_the_same_length():
    x = np.arange(-3.5, 4.5, 0.25)[:, np.newaxis]
    y = Domain((), ((-3, 4),), ()).round(x)[:, 0]
    values, counts = np.unique(y, return_counts=True)
    assert values.tolist() == list(range(-3, 5))
    assert set(counts) == {4}


@pytest.mark.parametrize(
    ("x", "nearest"),
    [
        (0.5, 1.0),
        (1.5, 2.0),
        (2.5, 3.0),
        (np.nextafter(0.5, 0.0), 0.0),
        (2.0**53 - 1, 2.0**53 - 1),
        (2.0**52 + 1, 2.0**52 + 1),
    ],
)
def test_round_is_exact_up_to_the_last_bit(x, nearest):
    assert Domain((), ((0, 2**53),), ()).round(np.array([x])).tolist() == [nearest]


@every_domain
def test_one_point_and_a_stack_of_points_agree(domain):
    x = wild_points(domain, 20)
    for method in (domain.clip, domain.round):
        assert np.array_equal(method(x), [method(row) for row in x])


@every_domain
def test_samples_are_points_drawn_one_like_many(domain):
    x = domain.sample(np.random.default_rng(3), 200)
    assert x.shape == (200, domain.d)
    assert np.all(contains(domain, x))
    one = domain.sample(np.random.default_rng(5))
    assert one.shape == (domain.d,)
    assert np.array_equal(one, domain.sample(np.random.default_rng(5), 1)[0])
    assert domain.sample(np.random.default_rng(0), 0).shape == (0, domain.d)


def test_samples_take_every_category_and_integer_equally_often():
    n = 40_000
    x = Domain((3,), ((-2, 2),), ()).sample(np.random.default_rng(0), n)
    for column, size in ((x[:, 0], 3), (x[:, 1], 5)):
        values, counts = np.unique(column, return_counts=True)
        assert len(values) == size
        expected = n / size
        chi_square = ((counts - expected) ** 2 / expected).sum()
        assert chi_square < 20.0  # p < 0.0005 for 4 degrees of freedom


def test_samples_of_reals_are_uniform():
    x = np.sort(REALS.sample(np.random.default_rng(0), 20_000)[:, 0])
    expected = np.linspace(-1.0, 1.0, len(x))
    assert np.abs(x - expected).max() < 0.03


def test_samples_never_leave_a_box_one_float_wide():
    low = 0.1
    high = np.nextafter(low, 1.0)
    domain = Domain((), (), ((low, high),))
    x = domain.sample(np.random.default_rng(0), 1000)
    assert set(x[:, 0]) <= {low, high}


def test_relaxed_turns_categories_into_integers_in_place():
    relaxed = MIXED.relaxed()
    assert relaxed.n_categorical == 0
    assert relaxed.integer == slice(0, 6)
    assert relaxed.d == MIXED.d
    assert np.array_equal(relaxed.lower, MIXED.lower)
    assert np.array_equal(relaxed.upper, MIXED.upper)
    assert relaxed.relaxed() == relaxed


@every_domain
def test_domains_are_values(domain):
    assert domain.neutral is domain.neutral
    again = pickle.loads(pickle.dumps(domain))
    assert again == domain
    assert hash(again) == hash(domain)
    assert not again.neutral.flags.writeable
    with pytest.raises(AttributeError):
        domain.category_sizes = (9,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0,),), "size must be >= 1, got 0"),
        (((), ((3, 2),)), "low=3, high=2"),
        (((), ((0, 2**53 + 1),)), "low <= high <= 2\\*\\*53"),
        (((), ((-(2**53) - 1, 0),)), "low=-9007199254740993"),
        (((), (), ((1.0, 0.0),)), "low=1.0, high=0.0"),
        (((), (), ((0.0, np.inf),)), "high=inf"),
        (((), (), ((np.nan, 1.0),)), "low=nan"),
        (((), (), ((-1.7e308, 1.7e308),)), "finite width"),
    ],
)
def test_impossible_bounds_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Domain(*arguments)
