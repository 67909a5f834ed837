import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sklearn_mvrsm._evidence import (
    KINDS,
    Prior,
    _prior_loss,
    _relevance_loss,
    additive_features,
    learn_prior,
    learn_relevance,
)


def standardised(y):
    return (y - y.mean()) / y.std()


def random_grams(n, rng, present=range(KINDS)):
    grams = np.zeros((KINDS, n, n))
    for k in present:
        features = rng.normal(size=(n, 5 + k))
        features[:, 0] = 1.0
        grams[k] = features @ features.T / (5 + k)
    return grams


def random_similarity(n, rng, values=3):
    codes = rng.integers(0, values, (n, 4))
    return (codes[:, None] == codes).mean(axis=2)


def central_differences(function, x, h=1e-5):
    slopes = np.empty_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = h
        slopes[i] = (function(x + step) - function(x - step)) / (2.0 * h)
    return slopes


# --- the prior ------------------------------------------------------------------


def covariance_of(prior, grams, similarity):
    """The docstring's covariance, term by term."""
    splines = prior.log[:KINDS]
    gate, linear, local, sharpness, noise = np.exp(prior.log[KINDS:])
    base = sum(np.exp(splines[k]) * grams[k] for k in range(KINDS))
    if similarity is not None:
        base = (
            (1.0 + gate * similarity) * base
            + linear * similarity
            + local * np.exp(sharpness * (similarity - 1.0))
        )
    return base + noise * np.eye(len(base))


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_loss_of_a_prior_is_the_negative_log_likelihood(gated, seed):
    rng = np.random.default_rng(seed)
    n = 15
    grams = random_grams(n, rng)
    similarity = random_similarity(n, rng) if gated else None
    prior = Prior(rng.normal(0.0, 1.0, KINDS + 5))
    y = rng.normal(size=n)
    loss, _ = _prior_loss(prior, grams, similarity, y)
    density = multivariate_normal(cov=covariance_of(prior, grams, similarity))
    constant = 0.5 * n * np.log(2.0 * np.pi)
    assert loss + constant == pytest.approx(-density.logpdf(y), rel=1e-8)


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_prior_equals_finite_differences(gated, seed):
    rng = np.random.default_rng(seed)
    grams = random_grams(12, rng, present=[0, 2, 3])
    similarity = random_similarity(12, rng) if gated else None
    y = rng.normal(size=12)
    log = rng.normal(0.0, 1.0, KINDS + 5)
    _, gradient = _prior_loss(Prior(log), grams, similarity, y)
    expected = central_differences(
        lambda x: _prior_loss(Prior(x), grams, similarity, y)[0], log
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_properties_of_a_prior_undo_the_logarithms():
    prior = Prior(np.log(np.arange(1.0, KINDS + 6.0)))
    np.testing.assert_allclose(prior.splines, [1.0, 2.0, 3.0, 4.0])
    assert prior.noise == pytest.approx(9.0)
    factor, added = prior.gate(np.array([0.0, 1.0]))
    np.testing.assert_allclose(factor, [1.0, 6.0])
    np.testing.assert_allclose(added, [7.0 * np.exp(-8.0), 6.0 + 7.0])


def test_the_default_prior_cannot_be_altered_by_a_user():
    Prior.default().log[:] = 99.0
    assert np.all(Prior.default().log < 9.0)


def made_data(n, rng, strengths, noise):
    """Draw y from a prior over two kinds of splines."""
    grams = random_grams(n, rng, present=[0, 1])
    covariance = strengths[0] * grams[0] + strengths[1] * grams[1]
    covariance += noise * np.eye(n)
    y = np.linalg.cholesky(covariance) @ rng.normal(size=n)
    return grams, standardised(y), noise / y.var()


@pytest.mark.parametrize("noise", [1e-4, 1e-2, 0.3])
def test_the_noise_is_recovered(noise):
    rng = np.random.default_rng(0)
    grams, y, true_noise = made_data(150, rng, (1.0, 1.0), noise)
    prior, _ = learn_prior(grams, None, y, Prior.default(), 15)
    assert true_noise / 3.0 < prior.noise < true_noise * 3.0


def test_the_kind_of_spline_that_explains_the_data_gets_the_variance():
    rng = np.random.default_rng(1)
    for strengths in ((1.0, 1e-6), (1e-6, 1.0)):
        grams, y, _ = made_data(120, rng, strengths, 1e-3)
        prior, _ = learn_prior(grams, None, y, Prior.default(), 15)
        first, second = prior.splines[:2]
        assert (first > 20.0 * second) == (strengths[0] > strengths[1])
        assert (second > 20.0 * first) == (strengths[1] > strengths[0])


def test_gates_are_strong_where_categories_change_the_shape():
    rng = np.random.default_rng(2)
    n = 120
    gates = []
    for depends in (True, False):
        features = rng.normal(size=(n, 6))
        codes = rng.integers(0, 3, n)
        shapes = rng.normal(size=(3, 6))
        weights = shapes[codes] if depends else shapes[[0] * n]
        y = standardised((features * weights).sum(axis=1))
        grams = np.zeros((KINDS, n, n))
        grams[0] = features @ features.T / 6.0
        similarity = (codes[:, None] == codes).astype(float)
        prior, _ = learn_prior(grams, similarity, y, Prior.default(), 15)
        gates.append(np.exp(prior.log[KINDS]))
    assert gates[0] > 5.0 * gates[1]


def test_what_the_data_do_not_touch_stays_where_it_was():
    rng = np.random.default_rng(3)
    grams = random_grams(40, rng, present=[1])
    start = Prior(Prior.default().log + rng.normal(0.0, 0.3, KINDS + 5))
    prior, _ = learn_prior(grams, None, rng.normal(size=40), start, 15)
    touched = np.zeros(KINDS + 5, dtype=bool)
    touched[[1, KINDS + 4]] = True
    assert np.array_equal(prior.log[~touched], start.log[~touched])
    assert np.all(prior.log[touched] != start.log[touched])


def test_learning_the_prior_lowers_the_loss_step_by_step():
    rng = np.random.default_rng(4)
    grams = random_grams(50, rng)
    similarity = random_similarity(50, rng)
    y = standardised(grams[0] @ rng.normal(size=50))
    losses = [
        learn_prior(grams, similarity, y, Prior.default(), steps)[1]
        for steps in (1, 3, 15)
    ]
    assert losses[0] > losses[1] > losses[2]
    again, loss = learn_prior(
        grams,
        similarity,
        y,
        learn_prior(grams, similarity, y, Prior.default(), 15)[0],
        1,
    )
    assert loss <= losses[2] + 1e-9
    assert np.all(np.isfinite(again.log))


def test_repeated_and_contradictory_observations_are_no_trouble():
    rng = np.random.default_rng(5)
    features = np.repeat(rng.normal(size=(10, 4)), 5, axis=0) * 1e4
    grams = np.zeros((KINDS, 50, 50))
    grams[0] = features @ features.T
    for y in (np.repeat(rng.normal(size=10), 5), rng.normal(size=50)):
        start = Prior(Prior.default().log)
        start.log[-1] = np.log(1e-8)
        for begin in (start, Prior.default()):
            prior, loss = learn_prior(grams, None, standardised(y), begin, 15)
            assert np.all(np.isfinite(prior.log))
            assert np.isfinite(loss)


def test_without_splines_and_gates_all_is_noise():
    y = standardised(np.random.default_rng(6).normal(size=60))
    prior, _ = learn_prior(np.zeros((KINDS, 60, 60)), None, y, Prior.default(), 30)
    assert 0.3 < prior.noise < 3.0


# --- the relevance --------------------------------------------------------------


def unit_points(n, sizes, numbers, rng):
    codes = [rng.integers(0, size, n).astype(float) for size in sizes]
    return np.column_stack([*codes, rng.random((n, numbers))])


def all_active(unit):
    return np.ones(unit.shape, dtype=bool)


def test_features_of_each_coordinate_are_centred_with_unit_total_variance():
    rng = np.random.default_rng(0)
    unit = unit_points(50, (3, 1, 2), 4, rng)
    unit[:, 5] = 0.25  # a coordinate that never varied
    active = rng.random(unit.shape) < 0.8
    features, group = additive_features(unit, active, (3, 1, 2))
    assert np.array_equal(np.unique(group), np.arange(7))
    assert np.all(np.diff(group) >= 0)
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    total = np.bincount(group, weights=(features**2).mean(axis=0))
    for i in range(7):
        varies = len(np.unique(np.where(active[:, i], unit[:, i], -1.0))) > 1
        assert total[i] == pytest.approx(1.0 if varies else 0.0, abs=1e-9)


def test_features_of_a_category_tell_its_values_apart():
    rng = np.random.default_rng(1)
    unit = unit_points(60, (4,), 0, rng)
    features, _ = additive_features(unit, all_active(unit), (4,))
    same = unit == unit.T
    distance = ((features[:, None] - features) ** 2).sum(axis=2)
    assert distance[same].max() < 1e-12
    assert distance[~same].min() > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_relevance_equals_finite_differences(seed):
    rng = np.random.default_rng(seed)
    unit = unit_points(25, (3, 2), 3, rng)
    features, group = additive_features(unit, all_active(unit), (3, 2))
    loss = _relevance_loss(features, group, rng.normal(size=25))
    values = rng.normal(-1.0, 1.0, 6)
    _, gradient = loss(values)
    expected = central_differences(lambda x: loss(x)[0], values)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_loss_of_the_relevance_is_a_likelihood_with_shrinkage():
    rng = np.random.default_rng(7)
    unit = unit_points(20, (3,), 2, rng)
    features, group = additive_features(unit, all_active(unit), (3,))
    y = rng.normal(size=20)
    loss = _relevance_loss(features, group, y)
    flat, bent = np.array([-1.0, -1.0, -1.0, 0.2]), np.array([-2.0, 0.5, -1.0, 0.2])

    def likelihood(values):
        scaled = features * np.exp(0.5 * values[group])
        covariance = scaled @ scaled.T + np.exp(values[-1]) * np.eye(20)
        return -multivariate_normal(cov=covariance).logpdf(y)

    constant = 10.0 * np.log(2.0 * np.pi)
    assert loss(flat)[0] + constant == pytest.approx(likelihood(flat), rel=1e-8)
    # variances that differ cost something of their own
    assert loss(bent)[0] + constant > likelihood(bent) + 1e-3


OBJECTIVES = {
    "a category": (lambda u: 2.0 * (u[:, 0] == 1.0), {0}),
    "two numbers": (
        lambda u: (u[:, 4] - 0.3) ** 2 * 8.0 + np.abs(u[:, 6] - 0.5),
        {4, 6},
    ),
    "one of each": (lambda u: 1.0 * (u[:, 1] == 0.0) + 3.0 * u[:, 8], {1, 8}),
}


@pytest.mark.parametrize(("objective", "relevant"), OBJECTIVES.values(), ids=OBJECTIVES)
def test_what_matters_is_recovered(objective, relevant):
    rng = np.random.default_rng(8)
    unit = unit_points(120, (3, 2, 4), 7, rng)
    y = standardised(objective(unit) + 0.05 * rng.normal(size=120))
    features, group = additive_features(unit, all_active(unit), (3, 2, 4))
    start = np.full(10, np.log(0.05))
    log = learn_relevance(features, group, y, start, 30)
    matters = np.array(sorted(relevant))
    others = np.setdiff1d(np.arange(10), matters)
    assert log[matters].min() > log[others].max() + 1.0


def test_where_nothing_matters_relevances_stay_alike():
    rng = np.random.default_rng(9)
    unit = unit_points(80, (3,), 4, rng)
    features, group = additive_features(unit, all_active(unit), (3,))
    y = standardised(rng.normal(size=80))
    log = learn_relevance(features, group, y, np.full(5, np.log(0.1)), 30)
    assert np.ptp(log) < 4.0


def test_relevance_follows_its_coordinate():
    rng = np.random.default_rng(10)
    unit = unit_points(60, (), 4, rng)
    y = standardised(unit[:, 0] + 0.3 * unit[:, 1] ** 2)
    order = np.array([2, 0, 3, 1])
    logs = []
    for columns in (unit, unit[:, order]):
        features, group = additive_features(columns, all_active(columns), ())
        logs.append(learn_relevance(features, group, y, np.full(4, -2.0), 30))
    np.testing.assert_allclose(logs[1], logs[0][order], atol=0.05)
