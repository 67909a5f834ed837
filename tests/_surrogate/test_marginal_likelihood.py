from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from slopes import central_differences

from sklearn_mvrsm._surrogate.hyperparameters import (
    KINDS,
    Hyperparameters,
    default_lengthscales,
)
from sklearn_mvrsm._surrogate.marginal_likelihood import (
    KernelTerms,
    _negative_log_likelihood,
    maximise_posterior,
    maximise_posterior_with_lengthscales,
)
from sklearn_mvrsm._surrogate.matern_kernel import matern_52, squared_distances


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


# --- the prior ------------------------------------------------------------------


def random_terms(n, rng, gated=True, present=range(KINDS)):
    w = rng.normal(size=(n, 3))
    return KernelTerms(
        random_grams(n, rng, present),
        random_similarity(n, rng) if gated else None,
        matern_52(squared_distances(w, w))[0],
    )


def terms_of(grams, similarity=None):
    return KernelTerms(grams, similarity, np.zeros(grams.shape[1:]))


def covariance_of(theta, terms):
    """The docstring's covariance, term by term."""
    grams, similarity = terms.grams, terms.similarity
    interaction, linear, local, sharpness, matern, noise = np.exp(
        theta.to_vector()[KINDS:]
    )
    base = sum(np.exp(theta.log_splines[k]) * grams[k] for k in range(KINDS))
    if similarity is not None:
        base = (
            (1.0 + interaction * similarity) * base
            + linear * similarity
            + local * np.exp(sharpness * (similarity - 1.0))
        )
    return base + matern * terms.matern + noise * np.eye(len(base))


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_loss_of_a_prior_is_the_negative_log_likelihood(gated, seed):
    rng = np.random.default_rng(seed)
    n = 15
    terms = random_terms(n, rng, gated)
    theta = Hyperparameters.from_vector(rng.normal(0.0, 1.0, KINDS + 6))
    y = rng.normal(size=n)
    loss, _, _ = _negative_log_likelihood(theta, terms, y)
    density = multivariate_normal(cov=covariance_of(theta, terms))
    constant = 0.5 * n * np.log(2.0 * np.pi)
    assert loss + constant == pytest.approx(-density.logpdf(y), rel=1e-8)


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_prior_equals_finite_differences(gated, seed):
    rng = np.random.default_rng(seed)
    terms = random_terms(12, rng, gated, present=[0, 2, 3])
    y = rng.normal(size=12)
    log = rng.normal(0.0, 1.0, KINDS + 6)

    def loss(vector):
        theta = Hyperparameters.from_vector(vector)
        return _negative_log_likelihood(theta, terms, y)

    _, gradient, _ = loss(log)
    expected = central_differences(lambda x: loss(x)[0], log)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_properties_of_a_prior_undo_the_logarithms():
    vector = np.log(np.arange(1.0, KINDS + 7.0))
    theta = Hyperparameters.from_vector(vector)
    assert np.array_equal(theta.to_vector(), vector)
    np.testing.assert_allclose(theta.splines, [1.0, 2.0, 3.0, 4.0])
    assert theta.matern == pytest.approx(9.0)
    assert theta.noise == pytest.approx(10.0)
    factor, added = theta.overlap_terms(np.array([0.0, 1.0]))
    np.testing.assert_allclose(factor, [1.0, 6.0])
    np.testing.assert_allclose(added, [7.0 * np.exp(-8.0), 6.0 + 7.0])


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
    theta, _ = maximise_posterior(terms_of(grams), y, Hyperparameters(), 15)
    assert true_noise / 3.0 < theta.noise < true_noise * 3.0


def test_the_kind_of_spline_that_explains_the_data_gets_the_variance():
    rng = np.random.default_rng(1)
    for strengths in ((1.0, 1e-6), (1e-6, 1.0)):
        grams, y, _ = made_data(120, rng, strengths, 1e-3)
        theta, _ = maximise_posterior(terms_of(grams), y, Hyperparameters(), 15)
        first, second = theta.splines[:2]
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
        theta, _ = maximise_posterior(
            terms_of(grams, similarity), y, Hyperparameters(), 15
        )
        gates.append(np.exp(theta.log_interaction))
    assert gates[0] > 5.0 * gates[1]


def test_what_the_data_do_not_touch_stays_where_it_was():
    rng = np.random.default_rng(3)
    grams = random_grams(40, rng, present=[1])
    start = Hyperparameters.from_vector(
        Hyperparameters().to_vector() + rng.normal(0.0, 0.3, KINDS + 6)
    )
    theta, _ = maximise_posterior(terms_of(grams), rng.normal(size=40), start, 15)
    touched = np.zeros(KINDS + 6, dtype=bool)
    touched[[1, KINDS + 5]] = True
    same = theta.to_vector() == start.to_vector()
    assert np.array_equal(same, ~touched)


def test_learning_the_prior_lowers_the_loss_step_by_step():
    rng = np.random.default_rng(4)
    grams = random_grams(50, rng)
    similarity = random_similarity(50, rng)
    y = standardised(grams[0] @ rng.normal(size=50))
    losses = [
        maximise_posterior(terms_of(grams, similarity), y, Hyperparameters(), steps)[1]
        for steps in (1, 3, 15)
    ]
    assert losses[0] > losses[1] > losses[2]
    terms = terms_of(grams, similarity)
    found, _ = maximise_posterior(terms, y, Hyperparameters(), 15)
    again, loss = maximise_posterior(terms, y, found, 1)
    assert loss <= losses[2] + 1e-9
    assert np.all(np.isfinite(again.to_vector()))


def test_repeated_and_contradictory_observations_are_no_trouble():
    rng = np.random.default_rng(5)
    features = np.repeat(rng.normal(size=(10, 4)), 5, axis=0) * 1e4
    grams = np.zeros((KINDS, 50, 50))
    grams[0] = features @ features.T
    for y in (np.repeat(rng.normal(size=10), 5), rng.normal(size=50)):
        for begin in (Hyperparameters(log_noise=np.log(1e-8)), Hyperparameters()):
            theta, loss = maximise_posterior(
                terms_of(grams), standardised(y), begin, 15
            )
            assert np.all(np.isfinite(theta.to_vector()))
            assert np.isfinite(loss)


def test_without_splines_and_gates_all_is_noise():
    y = standardised(np.random.default_rng(6).normal(size=60))
    theta, _ = maximise_posterior(
        terms_of(np.zeros((KINDS, 60, 60))), y, Hyperparameters(), 30
    )
    assert 0.3 < theta.noise < 3.0


# --- the lengths ----------------------------------------------------------------


def matern_terms(features):
    n = len(features)
    return KernelTerms(np.zeros((KINDS, n, n)), None, np.eye(n))


def wave(features):
    """Turns three times along the first coordinate, hardly along the second."""
    return standardised(np.sin(18.0 * features[:, 0]) + 0.3 * features[:, 1])


def test_the_length_tells_how_fast_values_change_along_a_coordinate():
    features = np.random.default_rng(7).random((80, 3))
    y, group = wave(features), np.arange(3)
    start = Hyperparameters(), default_lengthscales(3)
    theta, lengthscales = maximise_posterior_with_lengthscales(
        matern_terms(features), features, group, y, start, 60
    )
    assert np.exp(lengthscales[0]) < 0.6
    assert lengthscales[1] > lengthscales[0] + 1.0
    assert lengthscales[2] > lengthscales[0] + 1.0
    assert theta.noise < 0.05


def test_lengths_are_those_of_the_greatest_posterior():
    rng = np.random.default_rng(8)
    features = rng.random((40, 4))
    group = np.array([0, 0, 1, 2])
    y = wave(features)
    terms = random_terms(40, rng, present=[0, 3])
    start = Hyperparameters(), default_lengthscales(3)
    theta, lengthscales = maximise_posterior_with_lengthscales(
        terms, features, group, y, start, 300
    )

    def loss(lengthscales):
        scaled = features * np.exp(-lengthscales)[group]
        matern, _ = matern_52(squared_distances(scaled, scaled))
        value, _, _ = _negative_log_likelihood(theta, replace(terms, matern=matern), y)
        return value + 0.5 * np.sum((lengthscales - default_lengthscales(3)) ** 2)

    assert np.abs(central_differences(loss, lengthscales)).max() < 0.02
    assert loss(lengthscales) < loss(default_lengthscales(3)) - 1.0


def test_what_says_nothing_about_lengths_leaves_what_was_believed():
    features = np.zeros((30, 2))
    y = standardised(np.random.default_rng(9).normal(size=30))
    start = Hyperparameters(), default_lengthscales(2)
    _, lengthscales = maximise_posterior_with_lengthscales(
        matern_terms(features), features, np.arange(2), y, start, 30
    )
    np.testing.assert_allclose(lengthscales, default_lengthscales(2), atol=1e-6)


def test_believed_lengths_grow_as_distances_do():
    np.testing.assert_allclose(
        default_lengthscales(9), default_lengthscales(1)[0] + np.log(3.0)
    )
    assert default_lengthscales(0).shape == (0,)
