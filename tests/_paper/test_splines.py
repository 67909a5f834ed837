import itertools
import math

import numpy as np
import pytest

from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._paper.splines import MAX_OFFSETS, RidgeSplines, paper_basis
from sklearn_mvrsm._surrogate.span_basis import span_basis

INTEGERS = Domain((), ((-2, 2), (0, 1), (3, 7)), ())
REALS = Domain((), (), ((-1.5, 2.0), (0.0, 1.0)))
MIXED = Domain((), ((-3, 1), (0, 2)), ((-1.0, 3.0), (0.0, 1e-3)))
SEVENS = Domain((), ((-3, 4), (0, 7), (2, 5), (-7, 70)), ((0.0, 1.0),))
CATEGORIES = Domain((3, 2), (), ())
WITH_CATEGORIES = Domain((4, 2), ((0, 3), (-5, -2)), ((-1.0, 1.0),))
SINGLE_VALUES = Domain((1,), ((2, 2), (5, 5), (0, 3)), ((1.0, 1.0), (0.0, 2.0)))
ONE_POINT = Domain((), ((4, 4),), ((0.5, 0.5),))
WIDE = Domain((), ((1, 10**6), (-(2**50), 2**50)), ((0.0, 1.0),))
MANY = Domain((), ((0, 2),) * 25, ((-1.0, 1.0),) * 20)
EMPTY = Domain()
ALL = {
    "integers": INTEGERS,
    "reals": REALS,
    "mixed": MIXED,
    "categories": CATEGORIES,
    "with categories": WITH_CATEGORIES,
    "single values": SINGLE_VALUES,
    "one point": ONE_POINT,
    "wide": WIDE,
    "many": MANY,
    "empty": EMPTY,
    "one integer": Domain((), ((-4, 4),), ()),
    "one real": Domain((), (), ((-4.0, 4.0),)),
}

every_domain = pytest.mark.parametrize("domain", ALL.values(), ids=ALL)


def paper(domain, seed=0):
    return paper_basis(domain.relaxed(), np.random.default_rng(seed))


def span(domain, seed=0, relevance=None):
    relevance = np.ones(domain.d) if relevance is None else relevance
    return span_basis(domain, np.random.default_rng(seed), relevance)[0]


def uneven(domain, seed=5):
    """Relevances that differ by up to 64."""
    return np.exp(np.random.default_rng(seed).uniform(-2.0, 2.0, domain.d))


def both(domain, seed=0):
    return [paper(domain, seed), span(domain, seed, uneven(domain, seed))]


def is_integer(basis, domain):
    """Which directions touch no real, the constant left out."""
    touched = basis.directions != 0.0
    return touched.any(axis=1) & ~touched[:, domain.real].any(axis=1)


def is_mixed(basis, domain):
    return (basis.directions != 0.0)[:, domain.real].any(axis=1)


# --- what a basis computes ------------------------------------------------------


@every_domain
def test_features_are_rectified_linear_units(domain):
    points = domain.sample(np.random.default_rng(1), 7)
    for basis in both(domain):
        features = basis.features(points)
        assert features.shape == (7, basis.size)
        for k in range(0, basis.size, 13):
            z = basis.sign[k] * (
                points @ basis.directions[basis.group[k]] - basis.offset[k]
            )
            scale = np.abs(basis.offset[k]) + 1.0
            np.testing.assert_allclose(
                features[:, k], np.maximum(z, 0.0), atol=1e-12 * scale
            )


@every_domain
def test_value_is_the_weighted_sum_of_the_features(domain):
    rng = np.random.default_rng(2)
    for basis in both(domain):
        weights = rng.normal(size=basis.size)
        for point in domain.sample(rng, 5):
            value, gradient = basis.value_and_gradient(point, weights)
            terms = basis.features(point[np.newaxis])[0] * weights
            assert value == pytest.approx(terms.sum(), abs=1e-9 * np.abs(terms).sum())
            assert gradient.shape == (domain.d,)


def distance_to_kinks(basis, point):
    """How far each coordinate can move alone before it meets a kink."""
    z = np.abs((basis.directions @ point)[basis.group] - basis.offset)
    steep = np.abs(basis.directions).max(axis=1)[basis.group]
    off = (steep > 0.0) & (z > 1e-9 * steep)
    return (z[off] / steep[off]).min()


def differences(basis, point, weights):
    """Central differences with steps that meet no kink on their way."""
    h = 0.4 * distance_to_kinks(basis, point)
    slopes = []
    for i in range(len(point)):
        ends = np.tile(point, (2, 1))
        ends[0, i] += h
        ends[1, i] -= h
        up, down = basis.features(ends) @ weights
        slopes.append((up - down) / (2.0 * h))
    return np.array(slopes)


@pytest.mark.parametrize("domain", [INTEGERS, MIXED, REALS, WITH_CATEGORIES])
def test_gradient_equals_differences_off_the_kinks(domain):
    rng = np.random.default_rng(3)
    checked = 0
    for basis in both(domain):
        weights = rng.normal(size=basis.size)
        for _ in range(20):
            point = domain.lower + rng.random(domain.d) * domain.span
            if distance_to_kinks(basis, point) < 1e-6:
                continue
            _, gradient = basis.value_and_gradient(point, weights)
            expected = differences(basis, point, weights)
            scale = 1.0 + np.abs(expected).max()
            np.testing.assert_allclose(gradient, expected, atol=1e-5 * scale)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("domain", [INTEGERS, MIXED, SEVENS])
@pytest.mark.parametrize("which", [0, 1], ids=["paper", "span"])
def test_slope_on_a_kink_is_one_half_of_the_rise(domain, which):
    # whole points lie on kinks, where a central difference is the mean of both slopes
    rng = np.random.default_rng(4)
    on_kinks = 0
    for seed in range(20):
        basis = both(domain, seed)[which]
        weights = rng.normal(size=basis.size)
        point = domain.sample(rng)
        _, gradient = basis.value_and_gradient(point, weights)
        expected = differences(basis, point, weights)
        scale = 1.0 + np.abs(expected).max()
        np.testing.assert_allclose(gradient, expected, atol=1e-5 * scale)
        on_kinks += ((basis.directions @ point)[basis.group] == basis.offset).sum()
    assert on_kinks > 40


def test_slope_of_one_unit_at_zero_is_one_half():
    basis = RidgeSplines(np.ones((1, 1)), np.zeros(1, int), np.ones(1), np.zeros(1))
    slopes = [
        basis.value_and_gradient(np.array([x]), np.ones(1))[1][0]
        for x in (-1.0, 0.0, 1.0)
    ]
    assert slopes == [0.0, 0.5, 1.0]


# --- the integer functions ------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [
        ((0, 4),),
        ((0, 1), (0, 1)),
        ((-2, 2), (0, 1), (3, 7)),
        ((-9, -3), (2, 2), (0, 5), (1, 30)),
        ((0, 1),) * 10,
    ],
)
def test_paper_basis_has_the_stated_number_of_functions(bounds):
    basis = paper(Domain((), bounds, ()))
    sizes = np.array([high - low for low, high in bounds])
    touched = (basis.directions != 0.0).sum(axis=1)[basis.group]
    counts = np.bincount(touched, minlength=3)
    # D_d = 1 + 4 |X_d| - |X_d[1]| - |X_d[d_d]|, where the paper counts the kinks of
    # pairs once and the functions have both signs
    stated = 1 + 4 * sizes.sum() - sizes[0] - sizes[-1]
    assert counts[0] == 1
    assert counts[1] == 2 * sizes.sum()
    assert counts[0] + counts[1] + counts[2] / 2 == stated
    assert counts.sum() == basis.size


@pytest.mark.parametrize(("integers", "reals"), [(1, 3), (3, 1), (4, 4)])
def test_each_real_has_as_many_functions_as_an_integer(integers, reals):
    domain = Domain((), ((0, 4),) * integers, ((-2.0, 2.0),) * reals)
    basis = paper(domain)
    mixed = is_mixed(basis, domain)
    kinks = np.bincount(basis.group, minlength=len(mixed))
    in_integers = kinks[is_integer(basis, domain)].sum()
    assert mixed.sum() == reals
    assert set(kinks[mixed]) == {math.ceil(in_integers / integers)}


def test_without_integers_each_real_has_a_hundred_functions():
    basis = paper(REALS)
    kinks = np.bincount(basis.group)[is_mixed(basis, REALS)]
    assert kinks.tolist() == [100, 100]


def test_directions_of_the_paper_are_uniform_in_the_stated_cube():
    domain = Domain((), ((0, 1),) * 3, ((0.0, 1.0),) * 7)
    vectors = np.concatenate(
        [
            basis.directions[is_mixed(basis, domain)]
            for basis in (paper(domain, seed) for seed in range(30))
        ]
    )
    assert vectors.shape == (210, 10)
    scaled = np.sort(vectors.ravel() * domain.d)
    assert np.abs(scaled - np.linspace(-1.0, 1.0, len(scaled))).max() < 0.08
    assert np.abs(scaled).max() <= 1.0


@every_domain
def test_integer_kinks_lie_on_whole_numbers_and_include_both_ends(domain):
    relaxed = domain.relaxed()
    for basis, box in ((paper(domain), relaxed), (span(domain), domain)):
        for j in np.flatnonzero(is_integer(basis, box)):
            vector = basis.directions[j]
            unit = np.sign(vector)
            scale = np.abs(vector).max()
            assert np.all(np.abs(vector)[vector != 0.0] == scale)
            offsets = basis.offset[basis.group == j] / scale
            whole = np.round(offsets)
            np.testing.assert_allclose(offsets, whole, rtol=1e-12, atol=1e-9)
            ends = np.sort([unit * box.lower, unit * box.upper], axis=0).sum(axis=1)
            assert [whole.min(), whole.max()] == ends.tolist()
            assert 2 <= len(np.unique(whole)) <= MAX_OFFSETS


def test_narrow_ranges_have_a_kink_on_every_whole_number():
    for basis in (paper(INTEGERS), span(INTEGERS)):
        for j in np.flatnonzero(is_integer(basis, INTEGERS)):
            offsets = basis.offset[basis.group == j]
            scaled = np.unique(np.round(offsets / np.abs(basis.directions[j]).max()))
            assert np.array_equal(scaled, np.arange(scaled.min(), scaled.max() + 1.0))


def test_wide_ranges_cost_no_more_than_narrow_ones():
    for basis in both(WIDE):
        assert basis.size < 2000
        kinks = [
            len(np.unique(basis.offset[basis.group == j]))
            for j in np.flatnonzero(is_integer(basis, WIDE))
        ]
        assert len(kinks) == 3
        assert set(kinks) == {MAX_OFFSETS}


@every_domain
def test_no_function_is_zero_on_the_whole_box(domain):
    relaxed = domain.relaxed()
    for basis, box in ((paper(domain), relaxed), (span(domain), domain)):
        ends = np.sort(
            [basis.directions * box.lower, basis.directions * box.upper], axis=0
        )
        low, high = ends.sum(axis=2)
        if domain is ONE_POINT:  # nothing but the constant varies
            continue
        largest = np.maximum(
            basis.sign * (low[basis.group] - basis.offset),
            basis.sign * (high[basis.group] - basis.offset),
        )
        varies = (high - low)[basis.group] > 1e-12
        assert np.all(largest[varies] > 0.0)


@every_domain
def test_every_kink_crosses_the_box(domain):
    # theorem of appendix A, for the integer functions too
    relaxed = domain.relaxed()
    for basis, box in ((paper(domain), relaxed), (span(domain), domain)):
        ends = np.sort(
            [basis.directions * box.lower, basis.directions * box.upper], axis=0
        )
        low, high = ends.sum(axis=2)
        slack = 1e-12 * (1.0 + np.abs(low) + np.abs(high))
        moving = basis.directions.any(axis=1)[basis.group]
        assert np.all(basis.offset >= (low - slack)[basis.group], where=moving)
        assert np.all(basis.offset <= (high + slack)[basis.group], where=moving)
        assert (~moving).sum() <= 1


@pytest.mark.parametrize("n_integer", [2, 45], ids=["few", "many"])
@pytest.mark.parametrize("make", [paper, span], ids=["paper", "span"])
def test_functions_of_one_integer_can_take_any_values(make, n_integer):
    domain = Domain((), ((-1, 4),) * n_integer, ())
    basis = make(domain)
    points = np.tile(domain.lower, (6, 1))
    points[:, 0] = np.arange(-1.0, 5.0)
    features = np.column_stack([basis.features(points), np.ones(6)])
    assert np.linalg.matrix_rank(features) == 6


# --- Theorem 1 ------------------------------------------------------------------


def hyperplanes(basis):
    """Unit normals and offsets of all kinks, each once."""
    length = np.linalg.norm(basis.directions, axis=1)
    moving = length[basis.group] > 0.0
    group, offset = basis.group[moving], basis.offset[moving]
    planes = np.column_stack(
        [basis.directions[group] / length[group, None], offset / length[group]]
    )
    return np.unique(planes, axis=0)


def thinned(basis, rng, most):
    """A random part of a basis, small enough to look at every vertex."""
    keep = np.sort(rng.permutation(basis.size)[:most])
    used, group = np.unique(basis.group[keep], return_inverse=True)
    return RidgeSplines(
        basis.directions[used], group, basis.sign[keep], basis.offset[keep]
    )


def vertices(basis, domain):
    """Points strictly inside the box where d independent kinks meet."""
    d = domain.d
    planes = hyperplanes(basis)
    subsets = np.array(list(itertools.combinations(range(len(planes)), d)))
    normals, offsets = planes[subsets, :d], planes[subsets, d]
    # in the span of too few vectors, a determinant is zero but for rounding
    independent = np.abs(np.linalg.det(normals)) > 1e-7
    points = np.linalg.solve(normals[independent], offsets[independent, :, None])
    points = points[:, :, 0]
    margin = 1e-6 * domain.span
    inside = (points > domain.lower + margin) & (points < domain.upper - margin)
    return np.unique(points[inside.all(axis=1)].round(9), axis=0)


def slopes_around(basis, point, rays):
    """One-sided slope of every function at a point along each ray."""
    length = np.maximum(np.linalg.norm(basis.directions, axis=1), 1e-300)[basis.group]
    z = basis.sign * ((basis.directions @ point)[basis.group] - basis.offset) / length
    along = basis.sign * (rays @ basis.directions.T)[:, basis.group]
    on = np.abs(z) < 1e-6
    return np.where(on, np.maximum(along, 0.0), along * (z > 0.0))


def edges_around(basis, point):
    """Unit vectors along which d - 1 of the kinks through a point meet."""
    planes = hyperplanes(basis)
    normals = planes[np.abs(planes[:, :-1] @ point - planes[:, -1]) < 1e-6, :-1]
    normals = np.unique(normals.round(9), axis=0)
    rays = []
    for subset in itertools.combinations(range(len(normals)), len(point) - 1):
        _, values, vectors = np.linalg.svd(normals[list(subset)])
        if values.min() > 1e-7:
            rays += [vectors[-1], -vectors[-1]]
    return np.array(rays)


def strict_minima(basis, weights, point):
    """For which columns of weights g rises in every direction from a vertex."""
    some = np.random.default_rng(0).normal(size=(50, len(point)))
    minimal = (slopes_around(basis, point, some) @ weights).min(axis=0) > 0.0
    if minimal.any():
        # g is linear on the cones that the kinks cut out, so least on their edges
        slopes = slopes_around(basis, point, edges_around(basis, point)) @ weights
        minimal &= slopes.min(axis=0) > 1e-9
    return minimal


SMALL = {
    "1 integer, 1 real": Domain((), ((0, 3),), ((-1.0, 1.0),)),
    "2 integers": Domain((), ((0, 3), (-2, 2)), ()),
    "2 integers, 1 real": Domain((), ((0, 2), (-1, 1)), ((-1.0, 1.0),)),
    "1 integer, 2 reals": Domain((), ((0, 3),), ((0.0, 1.0), (-1.0, 5.0))),
    "3 integers": Domain((), ((0, 2), (0, 3), (-1, 1)), ()),
    "category, integer, real": Domain((3,), ((0, 3),), ((-1.0, 1.0),)),
}

small_models = pytest.mark.parametrize("domain", SMALL.values(), ids=SMALL)


@small_models
@pytest.mark.parametrize("which", [0, 1], ids=["paper", "span"])
def test_wherever_d_kinks_meet_the_integers_are_whole(domain, which):
    if domain.n_categorical:  # held fixed: the model is one of the numbers
        domain = Domain((), domain.integer_bounds, domain.real_bounds)
    rng = np.random.default_rng(6)
    met = 0
    for seed in range(3):
        basis = thinned(both(domain, seed)[which], rng, 60 if domain.d == 3 else 150)
        points = vertices(basis, domain)
        integers = points[:, domain.integer]
        np.testing.assert_allclose(integers, np.round(integers), atol=1e-5)
        met += len(points)
    assert met > 0


@small_models
@pytest.mark.parametrize("which", [0, 1], ids=["paper", "span"])
def test_strict_local_minima_have_whole_integers(domain, which):
    # Theorem 1, by looking at every point where d kinks meet
    fixed = Domain((), domain.integer_bounds, domain.real_bounds)
    rng = np.random.default_rng(7)
    found = []
    for seed in range(15):
        basis = thinned(both(domain, seed)[which], rng, 30 if fixed.d == 3 else 60)
        if domain.n_categorical:  # a section: the categories stay where they are
            chosen = domain.sample(rng)[domain.categorical]
            shift = basis.directions[:, domain.categorical] @ chosen
            basis = RidgeSplines(
                basis.directions[:, domain.n_categorical :],
                basis.group,
                basis.sign,
                basis.offset - shift[basis.group],
            )
        mixed = (basis.directions != 0.0)[:, fixed.real].any(axis=1)[basis.group]
        # integer functions come with both signs, mixed ones of the paper with one
        bowls = rng.exponential(size=(basis.size, 40)) - 0.3
        waves = rng.normal(size=(basis.size, 40))
        weights = np.where(mixed[:, np.newaxis], waves, bowls)
        found += [
            point[fixed.integer]
            for point in vertices(basis, fixed)
            if strict_minima(basis, weights, point).any()
        ]
    assert len(found) > 3
    np.testing.assert_allclose(found, np.round(found), atol=1e-5)


def test_the_theorem_fails_with_more_mixed_directions_than_reals():
    domain = SMALL["1 integer, 1 real"]
    one, other = paper(domain, 0), paper(domain, 1)
    basis = RidgeSplines(
        np.vstack([one.directions, other.directions]),
        np.concatenate([one.group, other.group + len(one.directions)]),
        np.concatenate([one.sign, other.sign]),
        np.concatenate([one.offset, other.offset]),
    )
    points = vertices(basis, domain)
    away = np.abs(points[:, 0] - np.round(points[:, 0]))
    assert away.max() > 0.01


@every_domain
def test_mixed_directions_span_no_more_dimensions_than_there_are_reals(domain):
    for relevance in (np.ones(domain.d), uneven(domain)):
        basis = span(domain, 0, relevance)
        mixed = basis.directions[is_mixed(basis, domain)]
        if len(mixed):
            unit = mixed / np.abs(mixed).max(axis=0, initial=1e-300)
            assert np.linalg.matrix_rank(unit, tol=1e-8) <= domain.n_real
        assert not basis.directions[:, domain.categorical].any()


# --- a part of a basis ----------------------------------------------------------


@every_domain
def test_only_splines_since_the_first_along_the_reals_change_with_them(domain):
    rng = np.random.default_rng(6)
    for basis in both(domain):
        first = basis.first_along(domain.real)
        assert first == basis.size or is_mixed(basis, domain)[basis.group[first]]
        points = domain.sample(rng, 20)
        moved = points.copy()
        moved[:, domain.real] = domain.sample(rng, 20)[:, domain.real]
        held = slice(None, first)
        before, after = basis.features(points), basis.features(moved)
        np.testing.assert_array_equal(before[:, held], after[:, held])


@every_domain
def test_the_splines_since_one_are_those_of_the_whole(domain):
    points = domain.sample(np.random.default_rng(7), 20)
    for basis in both(domain):
        for first in (*basis.starts, basis.size):
            part = basis.since(first)
            assert part.size == basis.size - first
            features = basis.features(points)[:, first:]
            np.testing.assert_allclose(part.features(points), features, atol=1e-12)
            weights = np.arange(basis.size) - 3.0
            weights[:first] = 0.0
            value, gradient = part.value_and_gradient(points[0], weights[first:])
            expected = basis.value_and_gradient(points[0], weights)
            assert value == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(gradient, expected[1], atol=1e-12)


# --- the span set ---------------------------------------------------------------


def test_kinds_tell_integers_pairs_axes_and_combinations_apart():
    basis, kind = span_basis(MIXED, np.random.default_rng(0), np.ones(MIXED.d))
    touched = (basis.directions != 0.0)[basis.group]
    integers = touched[:, MIXED.integer].sum(axis=1)
    reals = touched[:, MIXED.real].sum(axis=1)
    assert np.array_equal(np.unique(kind), [0, 1, 2, 3])
    assert np.all(integers[kind == 0] == 1)
    assert np.all(integers[kind == 1] == 2)
    assert np.all(reals[kind <= 1] == 0)
    assert np.all(reals[kind == 2] == 1)
    assert np.all(reals[kind == 3] == 2)
    assert np.all(np.diff(kind) >= 0)


def test_features_do_not_depend_on_the_units_of_the_variables():
    one = Domain((), ((0, 4), (0, 2)), ((0.0, 1.0), (-1.0, 1.0)))
    other = Domain((), ((-14, -10), (7, 9)), ((0.0, 1e4), (2.0, 2.5)))
    share = one.sample(np.random.default_rng(1), 50)
    share = (share - one.lower) / one.span
    features = [
        span(domain).features(domain.lower + share * domain.span)
        for domain in (one, other)
    ]
    np.testing.assert_allclose(*features, atol=1e-9)


def test_a_relevant_coordinate_moves_the_features_more():
    rng = np.random.default_rng(0)
    low = MIXED.sample(rng, 200)
    for i in range(MIXED.d):
        moves = []
        for scale in (0.25, 1.0, 4.0):
            relevance = np.ones(MIXED.d)
            relevance[i] = scale
            high = low.copy()
            high[:, i] = MIXED.sample(np.random.default_rng(2), 200)[:, i]
            basis = span(MIXED, 0, relevance)
            change = basis.features(high) - basis.features(low)
            moves.append(np.abs(change).sum())
        assert moves[0] < moves[1] < moves[2]


def test_relevance_changes_no_draw():
    relevance = uneven(MIXED)
    states = []
    bases = []
    for scale in (np.ones(MIXED.d), relevance):
        rng = np.random.default_rng(3)
        bases.append(span_basis(MIXED, rng, scale)[0])
        states.append(rng.bit_generator.state)
    assert states[0] == states[1]
    plain, scaled = bases
    mixed = is_mixed(plain, MIXED)
    np.testing.assert_allclose(
        plain.directions[mixed] * relevance, scaled.directions[mixed]
    )


@every_domain
def test_a_basis_is_a_function_of_its_seed(domain):
    for make in (paper, span):
        one, same, other = make(domain, 0), make(domain, 0), make(domain, 1)
        assert np.array_equal(one.directions, same.directions)
        assert np.array_equal(one.offset, same.offset)
        assert np.all(np.diff(one.group) >= 0)
        assert np.all(np.isfinite(one.offset))
        assert np.all(np.isfinite(one.directions))
        assert set(one.sign) <= {-1.0, 1.0}
        if domain.n_real and domain is not ONE_POINT:
            assert not np.array_equal(one.offset, other.offset)


def test_very_thin_and_very_wide_boxes_have_finite_functions():
    domain = Domain((), ((0, 3),), ((0.0, 5e-324), (1.0, 1.0 + 2e-16), (0.0, 1e100)))
    for basis in both(domain):
        features = basis.features(domain.sample(np.random.default_rng(0), 20))
        assert np.all(np.isfinite(features))
