from dataclasses import replace

import numpy as np
import pytest
from kernels import set_kernel
from slopes import central_differences

from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._surrogate.hyperparameters import KINDS, Hyperparameters
from sklearn_mvrsm._surrogate.surrogate import Surrogate

DOMAINS = {
    "mixed": Domain((3, 2), ((-2, 3), (0, 1)), ((-1.0, 2.0), (0.0, 1e-3))),
    "reals": Domain((), (), ((0.0, 1.0), (-5.0, 5.0))),
    "many categories": Domain((900, 2, 900), ((0, 3),), ((0.0, 1.0), (0.0, 2.0))),
    "one value": Domain((2,), (), ((1.0, 1.0), (0.0, 1.0))),
}
every_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def fitted(domain, n=25, seed=0, splines=0.0):
    """A surrogate, and a point with its activity, where slices begin."""
    rng = np.random.default_rng(seed)
    surrogate = Surrogate(domain, seed)
    log = Hyperparameters().to_vector() + rng.normal(0.0, 0.5, KINDS + 6)
    log[:KINDS] += splines
    log[-1] = np.log(1e-2)
    set_kernel(surrogate, hyperparameters=Hyperparameters.from_vector(log))
    points = domain.sample(rng, n + 1)
    active = rng.random(points.shape) >= 0.2
    active[-1, -1] = True
    points = np.where(active, points, domain.neutral)
    surrogate.append(points[:-1], active[:-1])
    surrogate.solve(np.sin(3.0 * points[:-1, -1] / domain.upper[-1]) + active[:-1, 0])
    return surrogate, points[-1], active[-1]


@every_domain
@pytest.mark.parametrize("seed", range(3))
def test_a_slice_is_the_surrogate_along_the_reals(domain, seed):
    surrogate, point, active = fitted(domain, seed=seed)
    posterior = surrogate.real_slice(point, active)
    for share in (0.0, 0.3, 1.0):
        moved = point.copy()
        moved[-1] = domain.lower[-1] + share * domain.span[-1]
        here = posterior.at(moved)
        value, deviation = surrogate.predict_with_deviation(
            moved[np.newaxis], active[np.newaxis]
        )
        assert here.value == pytest.approx(value[0], rel=1e-8, abs=1e-10)
        assert here.deviation == pytest.approx(deviation[0], rel=1e-6)


@every_domain
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_equals_finite_differences(domain, seed):
    surrogate, point, active = fitted(domain, seed=seed)
    posterior = surrogate.real_slice(point, active)
    reals = np.flatnonzero(domain.span * active > 0.0)
    reals = reals[reals >= domain.d - domain.n_real]

    def mixture(share):
        moved = point.copy()
        moved[reals] = domain.lower[reals] + share * domain.span[reals]
        here = posterior.at(moved)
        return 2.0 * here.value - 3.0 * here.deviation

    share = (point - domain.lower)[reals] / domain.span[reals]
    gradient = posterior.at(point).gradient(2.0, -3.0)
    np.testing.assert_allclose(
        gradient[reals] * domain.span[reals],
        central_differences(mixture, share, 1e-6),
        rtol=1e-4,
        atol=1e-5,
    )


def test_what_is_inactive_has_no_slope_in_the_matern_term():
    surrogate, point, _ = fitted(DOMAINS["reals"], splines=-80.0)
    gradients = [
        surrogate.real_slice(point, active).at(point).gradient(1.0, 1.0)
        for active in (np.array([True, True]), np.array([False, True]))
    ]
    assert abs(gradients[0][0]) > 1e-4
    assert abs(gradients[1][0]) < 1e-12


def test_where_there_is_no_doubt_the_deviation_has_no_slope():
    surrogate, point, active = fitted(DOMAINS["reals"])
    silent = replace(surrogate.kernel.hyperparameters, log_noise=np.log(1e-30))
    set_kernel(surrogate, hyperparameters=silent)
    told, every = point[np.newaxis], active[np.newaxis]
    for _ in range(2):
        surrogate.append(told, every)
    surrogate.solve(np.arange(surrogate.n, dtype=float))
    here = surrogate.real_slice(point, active).at(point)
    assert here.deviation == pytest.approx(1e-6 * np.sqrt(surrogate.amplitude))
    np.testing.assert_array_equal(here.gradient(0.0, 1.0), 0.0)
