import pickle

import numpy as np
import pytest

from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._paper import least_squares
from sklearn_mvrsm._paper.algorithm import RIDGE, initial_weights
from sklearn_mvrsm._paper.least_squares import RecursiveLeastSquares
from sklearn_mvrsm._paper.splines import paper_basis


def random_problem(n, size, seed=0):
    rng = np.random.default_rng(seed)
    phi = np.maximum(rng.normal(size=(n, size)), 0.0)
    return phi, rng.normal(size=n), rng.normal(size=size)


def batch(phi, y, initial, ridge):
    """Minimise |y - Phi c|^2 + ridge |c - c_0|^2 at once."""
    gram = phi.T @ phi + ridge * np.eye(len(initial))
    return initial + np.linalg.solve(gram, phi.T @ (y - phi @ initial))


def recursive(phi, y, initial, ridge):
    """The textbook recursion on P, started from P_0 = I / ridge."""
    weights, inverse = initial.copy(), np.eye(len(initial)) / ridge
    for row, target in zip(phi, y, strict=True):
        v = inverse @ row
        gain = v / (1.0 + row @ v)
        inverse -= np.outer(gain, v)
        weights += (target - row @ weights) * gain
    return weights


def fitted(phi, y, initial, ridge):
    model = RecursiveLeastSquares(initial, ridge)
    for row, target in zip(phi, y, strict=True):
        model.update(row, target)
    return model


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
@pytest.mark.parametrize("n", [1, 5, 19, 20, 21, 90])
def test_weights_equal_batch_ridge_shrunk_to_the_initial_weights(n, ridge):
    # 20 weights: dual form, the switch at n = 20, primal form
    phi, y, initial = random_problem(n, 20)
    model = fitted(phi, y, initial, ridge)
    expected = batch(phi, y, initial, ridge)
    np.testing.assert_allclose(model.weights, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [1, 15, 20, 60])
def test_weights_equal_the_textbook_recursion(n):
    phi, y, initial = random_problem(n, 20, seed=1)
    model = fitted(phi, y, initial, 1e-2)
    expected = recursive(phi, y, initial, 1e-2)
    np.testing.assert_allclose(model.weights, expected, rtol=1e-7, atol=1e-7)


def test_every_step_on_the_way_agrees_with_batch_ridge():
    phi, y, initial = random_problem(70, 12, seed=2)
    model = RecursiveLeastSquares(initial, 0.1)
    for n, (row, target) in enumerate(zip(phi, y, strict=True), start=1):
        model.update(row, target)
        expected = batch(phi[:n], y[:n], initial, 0.1)
        np.testing.assert_allclose(model.weights, expected, rtol=1e-8, atol=1e-9)


def test_without_data_the_weights_are_the_initial_ones():
    initial = np.array([1.0, -2.0])
    model = RecursiveLeastSquares(initial, 1e-8)
    assert np.array_equal(model.weights, initial)
    model.update(np.array([1.0, 0.0]), 5.0)
    assert np.array_equal(initial, [1.0, -2.0])
    np.testing.assert_allclose(model.weights, [5.0, -2.0], rtol=1e-7)


def test_an_observation_without_features_says_nothing():
    phi, y, initial = random_problem(6, 4)
    model = fitted(phi, y, initial, 1e-3)
    before = model.weights.copy()
    model.update(np.zeros(4), 1e6)
    np.testing.assert_allclose(model.weights, before, rtol=1e-12)


def test_a_repeated_observation_counts_twice():
    phi, y, initial = random_problem(8, 30, seed=3)
    twice = [*range(8), 2, 2, 5]
    targets = y[twice] + np.arange(11) / 10.0
    model = fitted(phi[twice], targets, initial, RIDGE)
    means = [targets[np.array(twice) == k].mean() for k in range(8)]
    np.testing.assert_allclose(phi @ model.weights, means, atol=1e-5)


DOMAINS = {
    "usual": Domain((), ((0, 4),) * 3, ((-2.0, 2.0),) * 2),
    "binary": Domain((), ((0, 1),) * 8, ()),
    "wide integer": Domain((), ((1, 10**6),), ()),
    "wide and narrow": Domain((), ((10, 500), (0, 9)), ((0.0, 1.0),)),
    "wide real": Domain((), (), ((0.0, 1e9),)),
}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_with_the_papers_ridge_the_fit_is_the_least_squares_fit(domain):
    # P_0 = I / 1e-8 and features up to 1e9: rounding swamps the ridge, yet the
    # squared error must be the least possible
    rng = np.random.default_rng(4)
    basis = paper_basis(domain, rng)
    points = domain.sample(rng, 2 * basis.size)
    points[1::3] = points[:-1:3][: len(points[1::3])]  # repetitions
    phi = basis.features(points)
    share = (points - domain.lower) / domain.span
    y = np.sin(5.0 * share.mean(axis=1)) + 0.01 * rng.normal(size=len(points))
    model = RecursiveLeastSquares(initial_weights(basis), RIDGE)
    for n, (row, target) in enumerate(zip(phi, y, strict=True), start=1):
        model.update(row, target)
        if n in (basis.size // 2, basis.size, len(points)):
            best = np.linalg.lstsq(phi[:n], y[:n], rcond=1e-13)[0]
            least = np.sqrt(np.mean((phi[:n] @ best - y[:n]) ** 2))
            error = np.sqrt(np.mean((phi[:n] @ model.weights - y[:n]) ** 2))
            assert error < least + 1e-3


def test_many_weights_stay_in_dual_form_and_stay_bounded(monkeypatch):
    # what more than LARGE weights do, on a small model
    monkeypatch.setattr(least_squares, "LARGE", 0)
    rng = np.random.default_rng(5)
    domain = DOMAINS["wide and narrow"]
    basis = paper_basis(domain, rng)
    points = domain.sample(rng, 150)
    points[1::2] = points[::2]
    phi = basis.features(points)
    y = np.sin(points[:, 1])
    model = fitted(phi, y, initial_weights(basis), RIDGE)
    assert basis.size > len(points)
    np.testing.assert_allclose(phi @ model.weights, y, atol=0.05)


def test_a_pickled_model_goes_on_as_if_nothing_had_happened():
    phi, y, initial = random_problem(40, 15, seed=6)
    model = RecursiveLeastSquares(initial, 1e-3)
    for k in range(40):
        model.update(phi[k], y[k])
        if k in (4, 30):
            model = pickle.loads(pickle.dumps(model))
    straight = fitted(phi, y, initial, 1e-3)
    assert np.array_equal(model.weights, straight.weights)
