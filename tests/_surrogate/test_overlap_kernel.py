import numpy as np
import pytest

from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._surrogate.overlap_kernel import MAX_INTEGERS, OverlapKernel

MIXED = Domain((3, 1, 2), ((-3, 4), (7, 7), (0, 1)), ((-1.5, 2.0),))
DOMAINS = {
    "mixed": MIXED,
    "categories": Domain((4, 2), (), ()),
    "integers": Domain((), ((-3, 4), (0, 9), (2, 3)), ((0.0, 1.0),)),
    "reals": Domain((), (), ((0.0, 1.0),)),
    "empty": Domain(),
}

every_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def drawn(domain, n=30, seed=0):
    """Points with a third of their coordinates inactive, and a relevance."""
    rng = np.random.default_rng(seed)
    active = rng.random((n, domain.d)) < 0.67
    return domain.sample(rng, n), active, np.exp(rng.normal(size=domain.d))


def stated_similarity(domain, relevance, one, one_active, other, other_active):
    """S by the formula, a pair at a time."""
    weight = relevance[: domain.n_categorical + domain.n_integer] ** 2
    total = 0.0
    for i, share in enumerate(weight / weight.sum()):
        if not (one_active[i] and other_active[i]):
            continue
        if i < domain.n_categorical:
            total += share * (one[i] == other[i])
        elif domain.span[i] > 0.0:
            total += share * (1.0 - abs(one[i] - other[i]) / domain.span[i])
    return total


@every_domain
def test_inner_products_are_the_stated_similarity(domain):
    points, active, relevance = drawn(domain)
    z = OverlapKernel(domain, relevance).features(points, active)
    for i in range(0, 30, 4):
        for j in range(30):
            expected = stated_similarity(
                domain, relevance, points[i], active[i], points[j], active[j]
            )
            assert z[i] @ z[j] == pytest.approx(expected, abs=1e-12)


@every_domain
def test_similarity_lies_between_zero_and_one(domain):
    points, active, relevance = drawn(domain, 200, seed=1)
    z = OverlapKernel(domain, relevance).features(points, active)
    similarity = z @ z.T
    assert similarity.min(initial=0.0) >= 0.0
    assert similarity.max(initial=0.0) <= 1.0 + 1e-12


def test_a_point_is_wholly_like_itself():
    domain = DOMAINS["integers"]
    points, _, relevance = drawn(domain)
    z = OverlapKernel(domain, relevance).features(
        points, np.ones_like(points, dtype=bool)
    )
    np.testing.assert_allclose((z**2).sum(axis=1), 1.0)


def test_an_integer_with_two_values_is_a_category():
    rng = np.random.default_rng(2)
    points = rng.integers(0, 2, (40, 3)).astype(float)
    active = rng.random((40, 3)) < 0.8
    relevance = np.array([1.0, 2.0, 0.3])
    similarities = []
    for domain in (
        Domain((2, 2, 2), (), ()),
        Domain((2,), ((0, 1), (0, 1)), ()),
        Domain((), ((0, 1),) * 3, ()),
    ):
        z = OverlapKernel(domain, relevance).features(points, active)
        similarities.append(z @ z.T)
    np.testing.assert_allclose(similarities[0], similarities[1], atol=1e-14)
    np.testing.assert_allclose(similarities[0], similarities[2], atol=1e-14)


def test_inactive_coordinates_count_as_unlike_and_their_values_do_not_matter():
    points, active, relevance = drawn(MIXED)
    overlap = OverlapKernel(MIXED, relevance)
    z = overlap.features(points, active)
    elsewhere = np.where(active, points, MIXED.sample(np.random.default_rng(9), 30))
    assert np.array_equal(overlap.features(elsewhere, active), z)
    nothing = overlap.features(points, np.zeros_like(active))
    assert not nothing.any()


def test_reals_do_not_gate():
    points, active, relevance = drawn(MIXED)
    overlap = OverlapKernel(MIXED, relevance)
    moved = points.copy()
    moved[:, MIXED.real] = 0.0
    assert np.array_equal(
        overlap.features(moved, active), overlap.features(points, active)
    )


def test_weights_are_squared_relevances_in_proportion():
    domain = Domain((2, 2, 2), (), ())
    relevance = np.array([1.0, 2.0, 3.0])
    points = np.zeros((4, 3))
    points[1, 0] = points[2, 1] = points[3, 2] = 1.0
    z = OverlapKernel(domain, relevance).features(points, np.ones((4, 3), dtype=bool))
    np.testing.assert_allclose(1.0 - z[1:] @ z[0], relevance**2 / 14.0)


def test_wide_integers_are_seen_through_few_thresholds():
    # in steps of span / 16 the similarity is as stated, and in between it is near
    domain = Domain((), ((-(10**6), 10**6),), ())
    points = domain.lower + np.arange(17)[:, None] / 16.0 * domain.span
    everything = np.ones((17, 1), dtype=bool)
    overlap = OverlapKernel(domain, np.ones(1))
    z = overlap.features(points, everything)
    assert z.shape[1] <= 40
    apart = np.abs(points - points.T) / domain.span
    np.testing.assert_allclose(z @ z.T, 1.0 - apart, atol=1e-12)
    anywhere = domain.sample(np.random.default_rng(0), 50)
    z = overlap.features(anywhere, np.ones((50, 1), dtype=bool))
    apart = np.abs(anywhere - anywhere.T) / domain.span
    assert np.abs(z @ z.T - (1.0 - apart)).max() <= 1.0 / 16.0 + 1e-12


def test_where_there_are_many_integers_only_categories_gate():
    n = MAX_INTEGERS + 1
    domain = Domain((3,), ((0, 4),) * n, ())
    points = domain.sample(np.random.default_rng(0), 20)
    z = OverlapKernel(domain, np.ones(domain.d)).features(
        points, np.ones((20, n + 1), bool)
    )
    np.testing.assert_allclose(z @ z.T, points[:, [0]] == points[:, 0])


@every_domain
def test_no_points_have_no_features(domain):
    overlap = OverlapKernel(domain, np.ones(domain.d))
    none = np.zeros((0, domain.d))
    some, active, _ = drawn(domain)
    width = overlap.features(some, active).shape[1]
    assert overlap.features(none, none.astype(bool)).shape == (0, width)
    assert (overlap.count == 0) == (width == 0)
