import pickle
from dataclasses import replace

import numpy as np
import pytest
from kernels import set_kernel

from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._surrogate import kernel as kernel_module
from sklearn_mvrsm._surrogate.fitting import (
    LEARN_FROM,
    RELEVANCE_LIMIT,
    _informative,
    _most_rows,
)
from sklearn_mvrsm._surrogate.hyperparameters import KINDS, Hyperparameters
from sklearn_mvrsm._surrogate.kernel import safe_cholesky
from sklearn_mvrsm._surrogate.matern_kernel import MaternFeatures, matern_52
from sklearn_mvrsm._surrogate.overlap_kernel import OverlapKernel
from sklearn_mvrsm._surrogate.surrogate import CAPACITY, Surrogate

MIXED = Domain((3, 2), ((-2, 3), (0, 1)), ((-1.0, 2.0), (0.0, 1e-3)))
DOMAINS = {
    "mixed": MIXED,
    "categories": Domain((3, 4), (), ()),
    "integers": Domain((), ((0, 4), (-2, 2)), ()),
    "reals": Domain((), (), ((0.0, 1.0), (-5.0, 5.0))),
    "single values": Domain((1,), ((2, 2),), ((1.0, 1.0), (0.0, 1.0))),
    "one point": Domain((1,), ((2, 2),), ((1.0, 1.0),)),
    "wide": Domain((2,), ((1, 10**6),), ((0.0, 1e100),)),
    "many categories": Domain((900, 2, 900), ((0, 3),), ((0.0, 1.0),)),
    "many integers": Domain((2,), ((0, 2),) * 40, ((0.0, 1.0),)),
    "empty": Domain(),
}

every_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def drawn(domain, n, seed=0, inactive=0.2):
    """Points, some coordinates of which are inactive and then at rest."""
    rng = np.random.default_rng(seed)
    points = domain.sample(rng, n)
    active = rng.random(points.shape) >= inactive
    return np.where(active, points, domain.neutral), active


def objective(domain, points):
    share = (points - domain.lower) / np.where(domain.span > 0.0, domain.span, 1.0)
    return np.sin(3.0 * share.sum(axis=1)) + (share**2).sum(axis=1)


def some_hyperparameters(seed=0):
    rng = np.random.default_rng(seed)
    log = Hyperparameters().to_vector() + rng.normal(0.0, 0.5, KINDS + 6)
    return replace(Hyperparameters.from_vector(log), log_noise=np.log(1e-2))


def fitted(domain, n=25, seed=0, hyperparameters=None):
    surrogate = Surrogate(domain, seed)
    set_kernel(
        surrogate,
        hyperparameters=some_hyperparameters(seed)
        if hyperparameters is None
        else hyperparameters,
    )
    points, active = drawn(domain, n, seed)
    surrogate.append(points, active)
    surrogate.solve(objective(domain, points))
    return surrogate, points, active


def matern_term(surrogate, points, active, other, other_active):
    """The smooth covariance, from the lengths."""
    coordinates, lengths = (
        MaternFeatures(surrogate.domain),
        surrogate.kernel.log_lengthscales,
    )
    w = coordinates.features(
        np.vstack([points, other]), np.vstack([active, other_active])
    )
    w = (w * np.exp(-lengths)[coordinates.group])[:, w.any(axis=0)]
    apart = w[: len(points), np.newaxis] - w[len(points) :]
    return (
        surrogate.kernel.hyperparameters.matern * matern_52((apart**2).sum(axis=2))[0]
    )


def own_features(covariance):
    """Features whose products are a covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def explicit_features(surrogate, points, active):
    """Splines, gated splines, gates, and the features of the local and smooth terms."""
    kernel, hyperparameters = surrogate.kernel, surrogate.kernel.hyperparameters
    interaction, linear, local, sharpness = np.exp(
        hyperparameters.to_vector()[KINDS : KINDS + 4]
    )
    phi = kernel.splines.features(points) * kernel.spline_scale
    smooth = own_features(matern_term(surrogate, points, active, points, active))
    if not kernel.overlap.count:
        return np.hstack([phi, smooth])
    z = OverlapKernel(kernel.domain, kernel.relevance).features(points, active)
    z = z[:, z.any(axis=0)]
    gated = (phi[:, :, np.newaxis] * z[:, np.newaxis, :]).reshape(len(points), -1)
    own = own_features(local * np.exp(sharpness * (z @ z.T - 1.0)))
    return np.hstack(
        [phi, np.sqrt(interaction) * gated, np.sqrt(linear) * z, own, smooth]
    )


def gram(surrogate, points, active):
    features = explicit_features(surrogate, points, active)
    return features @ features.T


# --- least squares --------------------------------------------------------------


@every_domain
def test_prediction_is_ridge_regression_on_splines_times_indicators(domain):
    surrogate, points, active = fitted(domain)
    new, new_active = drawn(domain, 15, seed=1)
    together = explicit_features(
        surrogate, np.vstack([points, new]), np.vstack([active, new_active])
    )
    # weights that minimise |y - mu - F c|^2 + lambda |c|^2, mu free: ridge regression
    # on centred features
    y = surrogate.output.apply(objective(domain, points))
    told = together[: len(points)]
    centre = told.mean(axis=0)
    left, sizes, right = np.linalg.svd(told - centre, full_matrices=False)
    shrunk = sizes / (sizes**2 + surrogate.kernel.hyperparameters.noise)
    weights = right.T @ (shrunk * (left.T @ (y - y.mean())))
    level = y.mean() - centre @ weights
    predicted = surrogate.predict(new, new_active)
    expected = level + together[len(points) :] @ weights
    np.testing.assert_allclose(predicted, expected, atol=1e-6)
    assert surrogate.mean == pytest.approx(level, abs=1e-6)


@every_domain
def test_deviation_is_the_posterior_deviation(domain):
    surrogate, points, active = fitted(domain)
    new, new_active = drawn(domain, 15, seed=1)
    covariance = gram(
        surrogate, np.vstack([points, new]), np.vstack([active, new_active])
    )
    n = len(points)
    noisy = covariance[:n, :n] + surrogate.kernel.hyperparameters.noise * np.eye(n)
    cross = covariance[:n, n:]
    variance = np.diag(covariance)[n:] - np.einsum(
        "ij,ij->j", cross, np.linalg.solve(noisy, cross)
    )
    y = surrogate.output.apply(objective(domain, points)) - surrogate.mean
    amplitude = max(y @ np.linalg.solve(noisy, y) / n, 1e-12)
    value, deviation = surrogate.predict_with_deviation(new, new_active)
    np.testing.assert_allclose(value, surrogate.predict(new, new_active), atol=1e-9)
    np.testing.assert_allclose(
        deviation**2, amplitude * np.maximum(variance, 0.0), atol=1e-7
    )


@every_domain
def test_one_by_one_is_the_same_as_all_at_once(domain):
    surrogate, points, active = fitted(domain, 40)
    grown = Surrogate(domain, 0)
    set_kernel(grown, hyperparameters=surrogate.kernel.hyperparameters)
    for k in range(0, 40, 3):
        grown.append(points[k : k + 3], active[k : k + 3])
    grown.solve(objective(domain, points))
    new, new_active = drawn(domain, 20, seed=1)
    for one, other in zip(
        surrogate.predict_with_deviation(new, new_active),
        grown.predict_with_deviation(new, new_active),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)


@every_domain
def test_truncate_undoes_append(domain):
    surrogate, points, active = fitted(domain, 20)
    new, new_active = drawn(domain, 20, seed=1)
    before = surrogate.predict_with_deviation(new, new_active)
    surrogate.append(new[:15], new_active[:15])
    surrogate.solve(objective(domain, np.vstack([points, new[:15]])))
    surrogate.truncate(20)
    surrogate.solve(objective(domain, points))
    after = surrogate.predict_with_deviation(new, new_active)
    assert np.array_equal(before, after)
    # and what is appended then does not meet remains of what was forgotten
    surrogate.append(new[15:], new_active[15:])
    together = np.vstack([points, new[15:]])
    surrogate.solve(objective(domain, together))
    fresh = Surrogate(domain, 0)
    set_kernel(fresh, hyperparameters=surrogate.kernel.hyperparameters)
    fresh.append(together, np.vstack([active, new_active[15:]]))
    fresh.solve(objective(domain, together))
    np.testing.assert_allclose(
        surrogate.predict(new, new_active), fresh.predict(new, new_active), atol=1e-8
    )


@every_domain
def test_spline_at_is_the_surrogate_at_fixed_overlap_less_its_matern_term(domain):
    surrogate, told, told_active = fitted(domain)
    rng = np.random.default_rng(2)
    for base, active in zip(*drawn(domain, 5, seed=3), strict=True):
        weights, constant = surrogate.spline_at(base, active)
        points = np.tile(base, (10, 1))
        points[:, domain.real] = domain.sample(rng, 10)[:, domain.real]
        actives = np.tile(active, (10, 1))
        smooth = matern_term(surrogate, points, actives, told, told_active)
        predicted = surrogate.predict(points, actives) - smooth @ surrogate.alpha
        for point, value in zip(points, predicted, strict=True):
            here, _ = surrogate.splines.value_and_gradient(point, weights)
            assert here + constant == pytest.approx(value, abs=1e-8)


def test_the_surrogate_interpolates_where_there_is_little_noise():
    hyperparameters = replace(some_hyperparameters(), log_noise=np.log(1e-8))
    for domain in (MIXED, DOMAINS["reals"]):
        surrogate = Surrogate(domain, 0)
        set_kernel(surrogate, hyperparameters=hyperparameters)
        points, active = drawn(domain, 12, inactive=0.0)
        surrogate.append(points, active)
        surrogate.solve(objective(domain, points))
        told = surrogate.output.apply(objective(domain, points))
        value, deviation = surrogate.predict_with_deviation(points, active)
        np.testing.assert_allclose(value, told, atol=1e-4)
        assert deviation.max() < 1e-3


@every_domain
def test_deviation_shrinks_where_something_was_observed(domain):
    surrogate, points, _ = fitted(domain, 12)
    amplitude = surrogate.amplitude
    new, new_active = drawn(domain, 10, seed=1)
    _, before = surrogate.predict_with_deviation(new, new_active)
    surrogate.append(new, new_active)
    surrogate.solve(objective(domain, np.vstack([points, new])))
    surrogate.amplitude = amplitude
    _, after = surrogate.predict_with_deviation(new, new_active)
    assert np.all(after <= before + 1e-9)
    limit = np.sqrt(surrogate.kernel.hyperparameters.noise * amplitude)
    assert np.all(after <= limit + 1e-9)


@every_domain
def test_fantasies_change_no_prediction_and_lower_the_deviations(domain):
    surrogate, points, _ = fitted(domain, 15)
    new, new_active = drawn(domain, 12, seed=1)
    value, deviation = surrogate.predict_with_deviation(new, new_active)
    surrogate.fantasize(new[:4], new_active[:4])
    same, smaller = surrogate.predict_with_deviation(new, new_active)
    np.testing.assert_allclose(same, value, atol=1e-7)
    assert np.all(smaller <= deviation + 1e-9)
    surrogate.truncate(15)
    surrogate.solve(objective(domain, points))
    again = surrogate.predict_with_deviation(new, new_active)
    assert np.array_equal(again, (value, deviation))


def test_a_fantasy_lowers_the_variance_as_its_value_would():
    # Conditioning a Gaussian: v(x) - c(x, p)^2 / (v(p) + noise), whatever the value.
    surrogate, points, active = fitted(MIXED, 15)
    x, x_active = drawn(MIXED, 12, seed=1)
    p, p_active = drawn(MIXED, 1, seed=2)
    kernel, amplitude = surrogate.kernel, surrogate.amplitude
    told = kernel.features(points, active)
    of_x, of_p = kernel.features(x, x_active), kernel.features(p, p_active)
    known = kernel.covariance(told, told) + kernel.hyperparameters.noise * np.eye(15)
    left = np.linalg.solve(known, kernel.covariance(told, of_p))
    shared = kernel.covariance(of_x, of_p) - kernel.covariance(of_x, told) @ left
    own = kernel.variance(of_p) - kernel.covariance(of_p, told) @ left
    before = surrogate.predict_with_deviation(x, x_active)[1]
    surrogate.fantasize(p, p_active)
    after = surrogate.predict_with_deviation(x, x_active)[1]
    fall = amplitude * (shared**2 / (own + kernel.hyperparameters.noise))[:, 0]
    np.testing.assert_allclose(after**2, before**2 - fall, rtol=1e-6, atol=1e-9)


def test_observations_told_twice_count_as_their_mean():
    surrogate = Surrogate(MIXED, 0)
    set_kernel(surrogate, hyperparameters=some_hyperparameters())
    points, active = drawn(MIXED, 10, inactive=0.0)
    surrogate.append(np.repeat(points, 2, axis=0), np.repeat(active, 2, axis=0))
    values = np.repeat(objective(MIXED, points), 2)
    values[::2] += 0.1
    values[1::2] -= 0.1
    surrogate.solve(values)
    scale = surrogate.output.scale
    # what noise is left is shared between two
    mean = surrogate.output.apply(objective(MIXED, points))
    noisy = gram(
        surrogate, points, active
    ) + surrogate.kernel.hyperparameters.noise / 2.0 * np.eye(10)
    inverse = np.linalg.inv(noisy)
    level = (inverse @ mean).sum() / inverse.sum()
    expected = level + gram(surrogate, points, active) @ inverse @ (mean - level)
    np.testing.assert_allclose(
        surrogate.predict(points, active), expected, atol=1e-7 / scale
    )


@pytest.mark.parametrize(
    ("factor", "shift"), [(4.0, 0.0), (0.25, 3.0), (2.0**70, -(2.0**70))]
)
def test_predictions_do_not_depend_on_unit_and_zero_of_the_values(factor, shift):
    # on values for which all these products and sums are exact
    values = np.random.default_rng(0).integers(-100, 100, 25) / 64.0
    new, new_active = drawn(MIXED, 10, seed=1)
    results = []
    for told in (values, factor * values + shift):
        surrogate, points, active = fitted(MIXED)
        surrogate.fit_hyperparameters(points, active, told)
        surrogate.solve(told)
        value, deviation = surrogate.predict_with_deviation(new, new_active)
        results.append((value, deviation, surrogate.output.invert(value, deviation)[0]))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        factor * results[0][2] + shift, results[1][2], rtol=1e-7, atol=1e-7 * factor
    )


# --- learning -------------------------------------------------------------------


def learnt(domain, n=60, seed=0, values=None, inactive=0.0):
    surrogate = Surrogate(domain, seed)
    points, active = drawn(domain, n, seed, inactive)
    values = objective(domain, points) if values is None else values(points)
    surrogate.fit_hyperparameters(points, active, values)
    surrogate.solve(values)
    return surrogate


@every_domain
def test_learning_works_in_every_domain(domain):
    surrogate = learnt(domain, 40, inactive=0.2)
    new, new_active = drawn(domain, 10, seed=1)
    value, deviation = surrogate.predict_with_deviation(new, new_active)
    assert np.all(np.isfinite(value))
    assert np.all(deviation > 0.0)
    assert np.all(surrogate.kernel.relevance <= RELEVANCE_LIMIT)
    assert np.all(surrogate.kernel.relevance >= 1.0 / RELEVANCE_LIMIT)
    assert surrogate.n == 40


def test_categories_compared_by_code_are_those_with_a_column_a_value(monkeypatch):
    domain = DOMAINS["many categories"]
    new, new_active = drawn(domain, 10, seed=1)
    found = []
    for most in (0, 10**6):
        monkeypatch.setattr(kernel_module, "MOST_LISTED", most)
        surrogate = learnt(domain, 40, inactive=0.2)
        assert surrogate.kernel.one_hot == (most > 0)
        found.append(surrogate.predict_with_deviation(new, new_active))
    # the same sums in another order, and what L-BFGS makes of the difference
    np.testing.assert_allclose(*found, rtol=1e-3)


def test_what_is_learnt_predicts_what_was_not_seen():
    domain = Domain((3,), ((0, 4),), ((-1.0, 1.0), (0.0, 10.0)))

    def values(points):
        c, k, x, y = points.T
        return (c == 1.0) * (1.0 + x) + 0.3 * (k - 1.0) ** 2 + (y / 10.0 - 0.4) ** 2

    surrogate = learnt(domain, 80, values=values)
    new = domain.sample(np.random.default_rng(5), 200)
    median, _ = surrogate.output.invert(
        surrogate.predict(new, np.ones(new.shape, dtype=bool)), np.zeros(200)
    )
    unexplained = np.var(median - values(new)) / np.var(values(new))
    assert unexplained < 0.15


def test_deviations_tell_how_far_predictions_are_off():
    domain = Domain((), (), ((0.0, 1.0),) * 4)
    surrogate = learnt(domain, 40)
    new = domain.sample(np.random.default_rng(5), 300)
    value, deviation = surrogate.predict_with_deviation(new, np.ones(new.shape, bool))
    error = surrogate.output.apply(
        np.maximum(objective(domain, new), surrogate.output.low)
    )
    z = (error - value) / deviation
    assert 0.2 < np.sqrt(np.mean(z**2)) < 4.0


def test_the_coordinate_that_matters_becomes_relevant():
    domain = Domain((3, 2), ((0, 5),) * 2, ((0.0, 1.0),) * 4)
    for j in (0, 3, 6):
        surrogate = learnt(
            domain,
            100,
            values=lambda points, j=j: np.cos(points[:, j] * 3.0 / domain.span[j]),
        )
        assert surrogate.kernel.relevance.argmax() == j


def test_learning_does_not_depend_on_the_order_of_the_observations():
    points, active = drawn(MIXED, 50)
    values = np.round(objective(MIXED, points), 1)  # with ties
    order = np.random.default_rng(1).permutation(50)
    new, new_active = drawn(MIXED, 10, seed=2)
    predictions = []
    for rows in (np.arange(50), order):
        surrogate = Surrogate(MIXED, 0)
        surrogate.fit_hyperparameters(points[rows], active[rows], values[rows])
        surrogate.solve(values[rows])
        predictions.append(surrogate.predict(new, new_active))
    np.testing.assert_allclose(*predictions, atol=0.02)


def test_few_or_equal_observations_leave_the_prior_as_it_was():
    for n, values in [
        (LEARN_FROM - 1, objective(MIXED, drawn(MIXED, 40)[0])),
        (40, np.full(40, 3.0)),
        # equal are the best and the latest, from which would be learnt
        (400, np.where(np.arange(400) < 20, 4.0, 3.0)),
    ]:
        points, active = drawn(MIXED, max(n, 40))
        surrogate = Surrogate(MIXED, 0)
        surrogate.fit_hyperparameters(points[:n], active[:n], values[:n])
        assert surrogate.kernel.hyperparameters == Hyperparameters()
        assert np.all(surrogate.kernel.relevance == 1.0)
        assert surrogate.n == n


def test_learning_forgets_what_was_appended_before():
    surrogate, points, active = fitted(MIXED, 20)
    surrogate.fit_hyperparameters(points[5:], active[5:], objective(MIXED, points)[5:])
    assert surrogate.n == 15
    surrogate.solve(objective(MIXED, points)[5:])
    assert np.all(np.isfinite(surrogate.predict(points, active)))


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_values_of_any_finite_size_can_be_learnt(scale):
    surrogate = learnt(
        MIXED, 40, values=lambda points: scale * objective(MIXED, points)
    )
    points, active = drawn(MIXED, 40, 0, 0.0)
    told = surrogate.output.apply(scale * objective(MIXED, points))
    predicted = surrogate.predict(points, active)
    assert np.corrcoef(told, predicted)[0, 1] > 0.9


def test_one_monstrous_value_does_not_stop_the_learning():
    def values(points):
        y = objective(MIXED, points)
        y[3] = 8e307
        return y

    surrogate = learnt(MIXED, 40, values=values)
    points, active = drawn(MIXED, 40, 0, 0.0)
    assert np.all(np.isfinite(surrogate.predict(points, active)))


def test_a_surrogate_is_a_function_of_its_seed_and_data():
    new, new_active = drawn(MIXED, 10, seed=1)
    one, same, other = (learnt(MIXED, 30, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.predict(new, new_active), same.predict(new, new_active))
    assert not np.allclose(one.predict(new, new_active), other.predict(new, new_active))


def test_a_pickled_surrogate_goes_on_as_if_nothing_had_happened():
    surrogate, points, active = fitted(MIXED, 20)
    copy = pickle.loads(pickle.dumps(surrogate))
    for each in (surrogate, copy):
        each.append(points[:3], active[:3])
        each.solve(objective(MIXED, np.vstack([points, points[:3]])))
    assert np.array_equal(
        surrogate.predict(points, active), copy.predict(points, active)
    )


# --- numerical parts ------------------------------------------------------------


def test_what_the_prior_is_learnt_from_is_bounded_and_holds_the_best():
    rng = np.random.default_rng(0)
    y = rng.normal(size=CAPACITY)
    rows = _informative(y, 250)
    assert len(rows) == 250
    assert np.all(np.diff(rows) > 0)
    best = np.argsort(y)[:20]
    latest = np.arange(CAPACITY - 20, CAPACITY)
    assert set(best) | set(latest) <= set(rows)
    assert np.array_equal(_informative(y[:250], 250), np.arange(250))


def test_more_is_learnt_from_where_there_are_more_coordinates_at_a_bounded_cost():
    rows = {d: _most_rows(d) for d in (1, 10, 60, 100, 238, 1000, 100_000)}
    assert rows[1] == rows[10] == rows[60] == rows[100_000] == 250
    assert rows[100] == 400
    assert 900 < rows[238] <= CAPACITY
    assert 250 < rows[1000] < rows[238]
    for d in (238, 1000):
        assert rows[d] ** 2 * d <= 2e8


def test_a_factor_is_found_where_rounding_has_spoilt_definiteness():
    rng = np.random.default_rng(0)
    thin = rng.normal(size=(20, 3)) * 1e4
    matrix = thin @ thin.T - 1e-7 * np.eye(20)
    lower = safe_cholesky(matrix, 1e-8)
    assert np.all(np.diag(lower) > 0.0)
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-6, atol=1e-2)
    good = thin @ thin.T + np.eye(20)
    np.testing.assert_allclose(safe_cholesky(good, 1e-8), np.linalg.cholesky(good))


def test_what_is_not_finite_is_refused_instead_of_mended_for_ever():
    with pytest.raises(np.linalg.LinAlgError):
        safe_cholesky(np.diag([1.0, -np.inf]), 1e-8)
