import math
import tracemalloc

import numpy as np
import pytest
from kernels import set_kernel

from sklearn_mvrsm import (
    Categorical,
    Integer,
    MVRSMOptimizer,
    Ordinal,
    Real,
    SearchSpace,
)
from sklearn_mvrsm._domain import History
from sklearn_mvrsm._optimizer import model_step
from sklearn_mvrsm._optimizer.candidates import admissible
from sklearn_mvrsm._optimizer.coordinate_step import (
    FEWEST_ITERATIONS,
    ITERATIONS,
    RESOLUTION,
    CoordinateStep,
    _best,
)
from sklearn_mvrsm._optimizer.model_step import ModelStep
from sklearn_mvrsm._optimizer.mvrsm import MvrsmMethod
from sklearn_mvrsm._optimizer.observed_surrogate import retained
from sklearn_mvrsm._optimizer.step_control import (
    COORDINATE,
    FLOOR,
    MODEL,
    NARROWEST,
    WIDEST,
)
from sklearn_mvrsm._optimizer.success import Success
from sklearn_mvrsm._surrogate.surrogate import CAPACITY, Surrogate

MIXED = {
    "c": Categorical(["a", "b", "c"]),
    "flag": Categorical([True, False]),
    "k": Integer(-3, 4),
    "x": Real(-1.0, 2.0),
    "y": Real(1e-4, 1.0, log=True),
}
CONDITIONAL = {
    "kind": Categorical(["a", "b"]),
    "deep": Categorical([False, True]).when(kind="b"),
    "x": Real(0.0, 1.0).when(kind="a"),
    "k": Integer(0, 9).when(deep=True),
    "z": Real(5.0, 6.0),
}
SPACES = {
    "mixed": MIXED,
    "conditional": CONDITIONAL,
    "integers": {"k": Integer(0, 9), "j": Integer(-5, 5)},
    "reals": {"x": Real(0.0, 1.0), "y": Real(-1e-3, 1e-3)},
    "categories": {"c": list("abcdef"), "d": list("abcde"), "flag": [True, False]},
    "one integer": {"k": Integer(-40, 40)},
    "one real": {"x": Real(-1.0, 1.0)},
    "one value beside a real": {"only": ["a"], "x": Real(0.0, 1.0)},
    "wide": {"k": Integer(1, 10**6), "x": Real(0.0, 1.0)},
    "log integer": {"k": Integer(1, 1000, log=True), "c": [1, 2, 3]},
    "alternatives": [{"x": Real(0.0, 1.0)}, {"c": list("abc"), "k": Integer(0, 99)}],
}

every_space = pytest.mark.parametrize("params", SPACES.values(), ids=SPACES)


def region_of(params, constraints=()):
    return SearchSpace(params, constraints)


def share_of(region, points):
    domain = region.domain
    return (points - domain.lower) / np.where(domain.span > 0.0, domain.span, 1.0)


def objective(region, points):
    return ((share_of(region, points) - 0.3) ** 2).sum(axis=-1)


class Bench:
    """A method with the history that an optimiser would keep for it."""

    def __init__(self, params, seed=0, constraints=()):
        self.region = region_of(params, constraints)
        self.method = MvrsmMethod(self.region, seed)
        self.rng = np.random.default_rng(seed)
        self.points = np.empty((0, self.region.domain.d))
        self.values = np.empty(0)
        self.pending = []
        self.seen = set()

    def tell(self, points, values=None):
        points = np.atleast_2d(points)
        values = objective(self.region, points) if values is None else values
        values = np.atleast_1d(np.asarray(values, dtype=float))
        self.points = np.vstack([self.points, points])
        self.values = np.concatenate([self.values, values])
        for point, value in zip(points, values, strict=True):
            self.seen.add(point.tobytes())
            self.pending = [p for p in self.pending if not np.array_equal(p, point)]
            self.method.observe(point, float(value))

    def tell_random(self, n, values=None):
        sample = self.region.domain.sample(self.rng, n)
        self.tell(self.region.canonical(sample), values)

    def ask(self):
        pending = np.array(self.pending).reshape(-1, self.region.domain.d)
        history = History(self.points, self.values, pending, self.seen)
        point = self.method.propose(history, self.rng)
        self.pending.append(point)
        self.seen.add(point.tobytes())
        return point


# --- what is proposed -----------------------------------------------------------


@every_space
def test_proposals_are_canonical_points_of_the_space(params):
    bench = Bench(params)
    bench.tell_random(10)
    for _ in range(15):
        point = bench.ask()
        assert np.array_equal(bench.region.domain.round(point), point)
        assert np.array_equal(point, bench.region.canonical(point))
        bench.tell(point)


@every_space
def test_proposals_made_while_others_are_pending_differ(params):
    bench = Bench(params)
    bench.tell_random(12)
    points = [bench.ask() for _ in range(6)]
    # a repetition is legal here, the caller draws again; it must be the exception
    assert len({point.tobytes() for point in points}) >= 4
    assert bench.method.surrogate.n == 12


def test_pending_points_are_told_later_as_if_nothing_had_happened():
    one, other = Bench(MIXED), Bench(MIXED)
    for bench in (one, other):
        bench.tell_random(20)
    pending = one.ask()
    one.ask()  # the pending point stood at its predicted value meanwhile
    same = other.ask()
    assert np.array_equal(pending, same)
    for bench in (one, other):
        bench.tell(pending, 0.5)
        bench.ask()
    new = one.region.canonical(one.region.domain.sample(np.random.default_rng(9), 10))
    active = one.region.active(new)
    for bench in (one, other):
        bench.method.surrogate.solve(bench.values)
    np.testing.assert_allclose(
        one.method.surrogate.predict(new, active),
        other.method.surrogate.predict(new, active),
        atol=1e-9,
    )


def test_inactive_coordinates_stay_at_rest():
    bench = Bench(CONDITIONAL)
    bench.tell_random(15)
    existing = set()
    for _ in range(25):
        point = bench.ask()
        active = bench.region.active(point)
        assert np.array_equal(point[~active], bench.region.domain.neutral[~active])
        existing.add(active.tobytes())
        bench.tell(point)
    assert len(existing) > 1


def test_proposals_are_allowed_and_new_where_the_best_is_forbidden():
    # the objective pulls towards x < 0
    bench = Bench(MIXED, constraints=[lambda params: params["x"] > 0.5])
    points = bench.region.canonical(bench.region.domain.sample(bench.rng, 60))
    bench.tell(points[[bench.region.feasible(point) for point in points]])
    for _ in range(20):
        known = set(bench.seen)
        point = bench.ask()
        assert bench.region.feasible(point)
        assert point.tobytes() not in known
        bench.tell(point)


def test_proposals_are_new_as_long_as_something_near_is():
    bench = Bench({"c": list("abcdef"), "d": list("abcde"), "flag": [True, False]})
    bench.tell_random(10)
    for _ in range(25):
        known = set(bench.seen)
        point = bench.ask()
        assert point.tobytes() not in known
        bench.tell(point)


def test_a_step_that_ends_nowhere_new_counts_as_tried(monkeypatch):
    bench = Bench(CONDITIONAL)
    bench.tell_random(10)
    monkeypatch.setattr(
        ModelStep, "propose", lambda self, points, values, rng: points[0]
    )
    before = bench.method.control.improved / bench.method.control.tried
    for _ in range(20):
        bench.ask()
        bench.pending.clear()
    after = bench.method.control.improved / bench.method.control.tried
    assert after[MODEL] < before[MODEL]
    assert after[COORDINATE] == before[COORDINATE]


def test_the_spline_minimum_is_a_candidate_where_all_coordinates_exist(monkeypatch):
    bench = Bench(MIXED)
    bench.tell_random(10)
    bench.ask()  # which fits the surrogate
    minimum = bench.region.canonical(bench.region.domain.sample(bench.rng))
    monkeypatch.setattr(ModelStep, "minimum", lambda *args: minimum)
    monkeypatch.setattr(
        CoordinateStep, "_maximise_reals", lambda self, points, *args: points
    )
    monkeypatch.setattr(
        CoordinateStep,
        "_score",
        lambda self, points: np.where((points == minimum).all(axis=1), 1e6, -1e6),
    )
    candidates = bench.method.coordinate_step.propose(
        bench.points, bench.values, bench.seen, bench.rng
    )
    assert np.array_equal(candidates[0], minimum)


@pytest.mark.parametrize(
    ("space", "judged"),
    [
        (MIXED, True),
        (CONDITIONAL, False),
        ({f"x{k}": Real(0.0, 1.0) for k in range(41)}, False),
    ],
)
def test_every_step_is_judged_where_few_coordinates_always_exist(space, judged):
    bench = Bench(space)
    bench.tell_random(12)
    tried = bench.method.control.tried.copy()
    for _ in range(12):
        bench.tell(bench.ask())
    assert (bench.method.control.tried[MODEL] == tried[MODEL]) == judged


def test_where_everything_is_known_a_point_is_proposed_all_the_same():
    bench = Bench({"c": [1, 2], "k": Integer(0, 2)})
    every = np.array([[c, k] for c in (0.0, 1.0) for k in (0.0, 1.0, 2.0)])
    bench.tell(every)
    for _ in range(6):
        point = bench.ask()
        assert np.array_equal(bench.region.domain.round(point), point)


def test_the_unit_and_zero_of_the_objective_do_not_matter():
    runs = []
    for factor, shift in [(1.0, 0.0), (2.0**30, 0.0), (0.25, 17.0)]:
        bench = Bench(MIXED)
        # values for which products and sums are exact
        bench.tell_random(
            15, factor * np.random.default_rng(1).integers(0, 500, 15) / 64 + shift
        )
        for _ in range(12):
            point = bench.ask()
            value = np.round(64.0 * objective(bench.region, point)) / 64.0
            bench.tell(point, factor * value + shift)
        runs.append(bench.points)
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_values_of_any_finite_size_are_no_trouble(scale):
    bench = Bench(MIXED)
    bench.tell_random(20, scale * np.random.default_rng(2).normal(size=20))
    for _ in range(5):
        point = bench.ask()
        bench.tell(point, scale * objective(bench.region, point))
    point = bench.ask()
    assert np.array_equal(bench.region.domain.round(point), point)


def test_failures_monsters_and_repetitions_are_no_trouble():
    bench = Bench(MIXED)
    largest = np.finfo(np.float64).max
    odd = [math.nan, math.inf, -math.inf, largest, -largest, 1e-300, 0.0, -0.0]
    bench.tell_random(24, odd * 3)
    bench.tell(bench.points[:8], np.arange(8.0))
    bench.tell(bench.points[:8], np.arange(8.0)[::-1])
    for _ in range(10):
        point = bench.ask()
        bench.tell(point, bench.rng.choice([math.nan, 1.0, largest]))
    point = bench.ask()
    assert np.array_equal(bench.region.domain.round(point), point)


def test_ties_for_the_best_are_all_incumbents(monkeypatch):
    bench = Bench(MIXED)
    bench.tell_random(20, np.repeat([1.0, 0.0], [16, 4]))
    starts = set()

    def note(self, point, iterations):
        starts.add(point.tobytes())
        return point, 0.0

    monkeypatch.setattr(ModelStep, "_descend", note)
    monkeypatch.setattr(model_step, "SWEEPS", 0)
    for _ in range(80):
        bench.method.model_step.propose(bench.points, bench.values, bench.rng)
    assert starts == {row.tobytes() for row in bench.points[16:]}


@pytest.mark.parametrize("n_values", [6, 5000])
def test_a_sweep_finds_the_better_category(n_values):
    space = {"c": Categorical(range(n_values)), "x": Real(0.0, 1.0)}
    bench = Bench(space)
    bench.tell_random(60)
    best = bench.points[4, 0]
    bench.values = (bench.points[:, 0] != best) + (bench.points[:, 1] - 0.6) ** 2
    bench.method = MvrsmMethod(bench.region, 0)
    bench.ask()
    bench.method.surrogate.solve(bench.values)
    start = bench.region.canonical(np.array([n_values - 1.0 - best, 0.1]))
    swept, value = bench.method.model_step._sweep(start, bench.rng)
    assert swept[0] == best
    _, without = bench.method.model_step._descend(start, 20)
    assert value < without


def test_a_sweep_without_other_values_changes_nothing():
    bench = Bench({"only": ["a"], "x": Real(0.0, 1.0)})
    bench.tell_random(10)
    bench.ask()
    bench.method.surrogate.solve(bench.values)
    point = bench.points[0]
    swept, value = bench.method.model_step._sweep(point, bench.rng)
    assert np.array_equal(swept, point)
    assert value == math.inf


HALF = list(range(0, 20_000, 2))
MANY = {
    "one": {"c": list(range(10_000))},
    "mixed": {"c": list(range(100_000)), "x": Real(0.0, 1.0), "b": [True, False]},
    "several": {f"c{k}": list(range(10_000)) for k in range(10)},
    "ordinal": {"k": Ordinal(list(range(100_000))), "x": Real(0.0, 1.0)},
    "conditions": {"c": list(range(20_000)), "x": Real(0.0, 1.0).when(c=HALF)},
    "two conditions": {
        "c": list(range(20_000)),
        "x": Real(0.0, 1.0).when(c=HALF).when(c=HALF[::2]),
    },
}


@pytest.mark.parametrize("method", ["mvrsm", "paper"])
@pytest.mark.parametrize("space", MANY.values(), ids=MANY)
def test_memory_does_not_grow_with_the_square_of_the_listed_values(space, method):
    space = SearchSpace(space)
    optimizer = MVRSMOptimizer(space, method=method, random_state=0)
    tracemalloc.start()
    try:
        for _ in range(40):
            params = optimizer.ask()
            optimizer.tell(params, sum(map(float, params.values())))
        optimizer.predict(space.domain.sample(np.random.default_rng(0), 2000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60e6
    assert len(optimizer.trials) == 40


# --- which steps ----------------------------------------------------------------


def with_fake_steps(monkeypatch):
    """A bench whose steps propose a new random point and note their kind."""
    bench = Bench(CONDITIONAL)
    bench.tell_random(10)
    kinds = []

    def step(kind):
        def propose(self, *args):
            kinds.append(kind)
            return self.region.canonical(self.region.domain.sample(args[-1]))

        return propose

    monkeypatch.setattr(ModelStep, "propose", step(MODEL))
    monkeypatch.setattr(CoordinateStep, "propose", step(COORDINATE))
    monkeypatch.setattr(Surrogate, "fit_hyperparameters", lambda *args: None)
    monkeypatch.setattr(Surrogate, "append", lambda *args: None)
    monkeypatch.setattr(Surrogate, "solve", lambda *args: None)
    monkeypatch.setattr(Success, "observe", lambda *args: None)
    return bench, kinds


@pytest.mark.parametrize("good", [MODEL, COORDINATE])
def test_the_kind_of_step_that_improves_is_taken_more_often(monkeypatch, good):
    bench, kinds = with_fake_steps(monkeypatch)
    best = 0.0
    for _ in range(400):
        point = bench.ask()
        best -= kinds[-1] == good
        bench.tell(point, best if kinds[-1] == good else 1.0)
    share = np.mean(np.array(kinds[100:]) == good)
    assert share > 0.75
    # and the other one keeps a chance
    assert share < 1.0 - FLOOR / 2.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_failure_is_no_improvement(monkeypatch, value):
    bench, _ = with_fake_steps(monkeypatch)
    improved = bench.method.control.improved.copy()
    for _ in range(10):
        bench.tell(bench.ask(), value)
    assert np.all(bench.method.control.improved <= improved)
    point = bench.ask()
    bench.tell(point, bench.values[:10].min() - 1.0)
    assert bench.method.control.best == bench.values[:10].min() - 1.0


def test_points_that_were_not_proposed_say_nothing_about_steps():
    bench = Bench(MIXED)
    tried = bench.method.control.tried.copy()
    bench.tell_random(30)
    assert np.array_equal(bench.method.control.tried, tried)


def test_steps_widen_with_successes_and_narrow_with_failures(monkeypatch):
    bench, kinds = with_fake_steps(monkeypatch)
    widths = [bench.method.control.width]
    value = 0.0
    for _ in range(150):
        point = bench.ask()
        value -= 1.0
        bench.tell(point, value if kinds[-1] == COORDINATE else 1e3)
        widths.append(bench.method.control.width)
    assert widths[-1] > widths[0]
    assert max(widths) <= WIDEST
    for _ in range(600):
        bench.tell(bench.ask(), 1e3)
        widths.append(bench.method.control.width)
    assert min(widths) < widths[0] / 4.0
    assert min(widths) >= NARROWEST
    # once too narrow it starts again
    after = widths[int(np.argmin(widths)) :]
    assert max(after) >= widths[0]


def chance(bench):
    return bench.method.control.chance(bench.method.surrogate.kernel.relevance)


def test_fewer_coordinates_change_as_time_goes_on():
    bench = Bench({f"x{i}": Real(0.0, 1.0) for i in range(10)})
    chances = []
    for steps in (0, 20, 10_000):
        bench.method.control.n = steps
        chances.append(chance(bench))
        assert np.all((chances[-1] > 0.0) & (chances[-1] <= 1.0))
    assert np.all(chances[0] > chances[1])
    assert np.all(chances[1] > chances[2])
    np.testing.assert_allclose(chances[2], 0.1)


def test_relevant_coordinates_change_more_often():
    bench = Bench({f"x{i}": Real(0.0, 1.0) for i in range(10)})
    bench.method.control.n = 10_000
    set_kernel(bench.method.surrogate, relevance=np.linspace(0.2, 5.0, 10))
    assert np.all(np.diff(chance(bench)) > 0.0)


def test_only_proposals_under_way_are_remembered():
    bench = Bench(MIXED)
    bench.tell_random(12)
    for _ in range(6):
        bench.ask()
        bench.pending.pop()  # not taken: never told
    assert len(bench.method.control._kind) == 1
    kept = bench.ask()
    bench.ask()
    assert kept.tobytes() in bench.method.control._kind
    bench.tell(kept)
    assert kept.tobytes() not in bench.method.control._kind


# --- bounded cost ---------------------------------------------------------------


def test_what_is_stored_is_bounded_and_the_best_is_never_forgotten():
    bench = Bench({"c": list("abc"), "k": Integer(0, 99), "x": Real(0.0, 1.0)})
    bench.tell_random(50)
    best = bench.points[7].copy()
    bench.values[7] = -5.0
    for n in (1450, 60, 1500):
        bench.tell_random(n)
        bench.pending.clear()
        bench.ask()
        rows = np.array(bench.method.observed.rows)
        assert len(rows) <= CAPACITY
        assert bench.method.surrogate.n == len(rows)
        assert np.all(np.diff(rows) > 0)
        assert 7 in rows
        assert rows[-1] == len(bench.points) - 1
    assert np.array_equal(bench.points[7], best)


@pytest.mark.parametrize("n", [CAPACITY + 1, 3 * CAPACITY])
def test_the_old_and_bad_are_forgotten_first(n):
    rng = np.random.default_rng(0)
    rows, values = np.arange(n) * 2, rng.normal(size=n)
    kept = retained(rows, values)
    assert 0.8 * CAPACITY < len(kept) <= CAPACITY
    assert np.all(np.diff(kept) > 0)
    index = kept // 2
    assert np.argmin(values) in index
    forgotten = np.setdiff1d(np.arange(n), index)
    assert values[index].mean() < values[forgotten].mean()
    assert index.mean() > forgotten.mean()
    # whoever is both better and later than one that is kept is kept
    for i in index[::50]:
        if i != np.argmin(values):
            later = np.arange(n) > i
            assert set(np.flatnonzero(later & (values < values[i]))) <= set(index)


def test_the_best_are_the_lowest_and_among_equal_ones_each_has_its_turn():
    rng = np.random.default_rng(0)
    values = np.array([3.0, 1.0, 2.0, 2.0, 0.0, 2.0, 9.0])
    counts = np.zeros(len(values))
    for _ in range(300):
        best = _best(values, 4, rng)
        assert best[:2].tolist() == [4, 1]
        assert len(set(best)) == 4
        counts[best] += 1
    assert counts[[0, 6]].sum() == 0
    np.testing.assert_allclose(counts[[2, 3, 5]], 200, atol=40)
    flat = [_best(np.zeros(50), 5, rng).tolist() for _ in range(20)]
    assert len(set(map(tuple, flat))) == 20  # a plateau has no incumbents


@pytest.mark.parametrize("count", [1, 2, 5, 7, 9])
def test_nothing_is_drawn_where_the_best_are_clear(count):
    values = np.array([3.0, 1.0, 2.0, 2.0, 0.0, 2.0, 9.0])
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    best = _best(values, count, rng)
    assert values[best].tolist() == np.sort(values)[:count].tolist()
    assert rng.bit_generator.state == before


def test_what_is_novel_is_new_and_there_once():
    points = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [3.0, 3.0], [0.0, 1.0]])
    region = region_of({"x": Real(0.0, 9.0), "y": Real(0.0, 9.0)})
    novel = admissible(region, points, {points[3].tobytes()})
    assert sorted(novel.tolist()) == [[0.0, 0.0], [0.0, 1.0], [1.0, 2.0]]
    assert admissible(region, points, {row.tobytes() for row in points}).shape == (0, 2)
    assert admissible(region, points[:0], set()).shape == (0, 2)


# --- ascents ----------------------------------------------------------------------


def test_an_ascent_moves_reals_within_the_width_of_a_step_and_nothing_else(monkeypatch):
    params = {"c": list("abc"), "k": Integer(0, 9), "x": Real(0, 1), "y": Real(0, 8)}
    bench = Bench(params)
    bench.tell_random(40)
    bench.ask()
    region, step = bench.region, bench.method.coordinate_step
    start = region.canonical(region.domain.sample(np.random.default_rng(5)))
    score = step._score(start[np.newaxis])
    top = step._maximise_reals(start[np.newaxis], score, set())
    split = region.domain.d - region.domain.n_real
    np.testing.assert_array_equal(top[:split], start[:split])
    share = ((top - region.domain.lower) / region.domain.span)[split:] * RESOLUTION
    np.testing.assert_allclose(share, np.round(share), atol=1e-4)
    moved = np.abs(top - start)[split:] / region.domain.span[split:]
    assert 0.0 < moved.max() <= step.control.width + 1e-6
    assert step._score(top[np.newaxis])[0] > score[0]


def test_an_ascent_that_ends_on_a_known_point_leaves_the_candidate():
    bench = Bench({"x": Real(0.0, 1.0)})
    bench.tell_random(20)
    bench.ask()
    region, step = bench.region, bench.method.coordinate_step
    start = region.domain.sample(np.random.default_rng(6))
    score = step._score(start[np.newaxis])
    top = step._maximise_reals(start[np.newaxis], score, set())
    assert not np.array_equal(top, start)
    again = step._maximise_reals(start[np.newaxis], score, {top.tobytes()})
    np.testing.assert_array_equal(again, start)


def test_the_best_candidate_wins_where_there_are_no_reals():
    bench = Bench({"c": list("abc"), "k": Integer(0, 9)})
    bench.tell_random(20)
    bench.ask()
    points = bench.region.domain.sample(np.random.default_rng(7), 5)
    scores = np.array([0.0, 2.0, 1.0, -1.0, 1.5])
    np.testing.assert_array_equal(
        bench.method.coordinate_step._maximise_reals(points, scores, set()), points[1]
    )


def test_ascents_are_shorter_where_an_iteration_costs_more():
    lengths = []
    for d, n in ((1, 20), (1, CAPACITY), (240, CAPACITY), (240, 10**6)):
        bench = Bench({f"x{i}": Real(0.0, 1.0) for i in range(d)})
        bench.tell_random(20)
        bench.ask()
        bench.method.surrogate.n = n
        lengths.append(bench.method.coordinate_step._iterations())
    assert lengths[0] == lengths[1] == ITERATIONS
    assert ITERATIONS > lengths[2] > lengths[3] == FEWEST_ITERATIONS
