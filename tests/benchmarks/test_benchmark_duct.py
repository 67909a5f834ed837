"""The flow through the duct: exact solutions, conservation, symmetry, the mesh."""

import json

import numpy as np
import pytest

from sklearn_mvrsm.benchmarks import duct, make_problem

RANDOM = np.random.default_rng(0).integers(0, 8, (7, 7))
HOLES = [0.574, 0.613, 0.636, 0.649, 0.701]
# a design that was found by changing a few slots at a time, as it is seen from the side
SEEN = ["0050030", "4736270", "0250745", "0027714", "0717363", "5656572", "6711711"]
EVEN = np.array([[int(kind) for kind in row] for row in SEEN])[::-1].T


def exact_mode(drag, k, x):
    """Return f where u = f(x) cos(k y), f(0) = 1, in a duct of the same drag all over.

    f'''' - (2 k^2 + drag) f'' + (k^4 + drag k^2) f = 0; no shear on either end, and no
    traction where the gas leaves.
    """
    roots = np.array([k, -k, np.sqrt(k**2 + drag), -np.sqrt(k**2 + drag)])

    def derivative(x, order):
        return roots**order * np.exp(roots * x)

    end = duct.LENGTH
    conditions = [
        derivative(0.0, 0),
        derivative(0.0, 2),
        derivative(end, 2),
        derivative(end, 3) - (2.0 * k**2 + drag) * derivative(end, 1),
    ]
    return np.exp(np.outer(x, roots)) @ np.linalg.solve(conditions, [1.0, 0, 0, 0])


@pytest.mark.parametrize("drag", [1e-3, 40.0])
def test_the_error_falls_fourfold_where_the_mesh_is_halved(drag):
    errors = []
    for n in (14, 28, 56):
        mesh = duct.make_mesh(n, n)
        y = np.linspace(0.0, 1.0, n + 1)
        drags = np.stack([np.full((n, n), drag)] * 2 + [np.zeros((n, n))])
        u, _ = duct.solve(mesh, drags, y + np.sin(np.pi * y) / np.pi)
        f = exact_mode(drag, np.pi, np.linspace(0.0, duct.LENGTH, n + 1))
        middles = (y[1:] + y[:-1]) / 2.0
        errors.append(np.abs(u - 1.0 - np.outer(f, np.cos(np.pi * middles))).max())
    assert errors[0] < 0.004
    orders = np.log2(errors[:-1]) - np.log2(errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.05)


def flow(plates, opening=duct.OPENING, n=56):
    mesh = duct.make_mesh(n, n)
    drag = duct.drag_of(mesh, plates, HOLES)
    return duct.solve(mesh, drag, duct.inflow_of(mesh, opening))


@pytest.mark.parametrize("plates", [np.zeros((7, 7), int), RANDOM, EVEN])
def test_no_cell_keeps_gas_and_no_wall_lets_it_through(plates):
    u, v = flow(plates)
    hx, hy = duct.LENGTH / 56, duct.HEIGHT / 56
    gain = np.diff(u, axis=0) * hy + np.diff(v, axis=1) * hx
    assert np.abs(gain).max() < 1e-12
    np.testing.assert_allclose(u.sum(axis=1) * hy, 1.0, rtol=1e-12)
    assert not v[:, [0, -1]].any()


def test_a_duct_upside_down_has_the_flow_upside_down():
    turned = np.array([0, 1, 2, 3, 4, 5, 7, 6])[RANDOM[:, ::-1]]
    low, high = duct.OPENING
    u, v = flow(RANDOM)
    other_u, other_v = flow(turned, (1.0 - high, 1.0 - low))
    np.testing.assert_allclose(other_u, u[:, ::-1], atol=1e-9)
    np.testing.assert_allclose(other_v, -v[:, ::-1], atol=1e-9)


def test_plates_even_the_flow_and_blades_turn_it():
    _, v = flow(np.zeros((7, 7), int))
    _, up = flow(np.full((7, 7), 6))
    _, down = flow(np.full((7, 7), 7))
    assert up.mean() > v.mean() > down.mean()
    empty = duct.unevenness(np.zeros((7, 7), int), [0.9] * 5, 1)
    values = [
        duct.unevenness(np.ones((7, 7), int), [h] * 5, 1) for h in (0.8, 0.6, 0.4)
    ]
    assert np.all(np.diff([empty, *values]) < 0.0)


@pytest.mark.parametrize("plates", [np.zeros((7, 7), int), RANDOM, EVEN])
def test_the_value_is_close_to_that_on_a_mesh_twice_as_fine(plates):
    value = duct.unevenness(plates, HOLES)
    finer = duct.unevenness(plates, HOLES, 2 * duct.REFINEMENT)
    assert value == pytest.approx(finer, rel=0.015)


def test_the_problem_is_the_program(tmp_path, capsys):
    problem = make_problem("esp-flow")
    params = problem.space.sample(1, random_state=0)[0]
    x = problem.box.to_array(params)
    assert len(x) == 49 + 5
    case = tmp_path / "case.json"
    case.write_text(json.dumps({"plates": x[:49].tolist(), "holes": x[49:].tolist()}))
    assert duct.main([str(case)]) == 0
    assert float(capsys.readouterr().out) == problem.evaluate(params)
    assert duct.unevenness(EVEN, HOLES) < 0.065 < problem.evaluate(params)
