"""Laws of the order in which candidates are asked for, evaluated and told."""

import math
import random
from collections import deque

import numpy as np
import pytest

from sklearn_mvrsm import Integer, MVRSMOptimizer, Real
from sklearn_mvrsm._evaluation.scores import FoldScore
from sklearn_mvrsm._optimizer.optimizer import SpaceExhaustedError
from sklearn_mvrsm._search.loop import LONGEST_START, SearchLoop
from sklearn_mvrsm._search.observers import Best, Observer


class Optimizer:
    """Counts; notes what it had been told before each proposal."""

    def __init__(self, n_configurations=1000):
        self.n_configurations = n_configurations
        self.told = []
        self.told_before_ask = []

    def ask(self):
        k = len(self.told_before_ask)
        if k == self.n_configurations:
            raise SpaceExhaustedError
        self.told_before_ask.append([params["k"] for params, _ in self.told])
        return {"k": k}

    def tell(self, params, value):
        self.told.append((params, value))


class Evaluator:
    """Decides the folds of a candidate in order, candidates in any."""

    first_start = 0.0
    n_slots = 1

    def __init__(self, seed=None, fold=None):
        self.rng = None if seed is None else random.Random(seed)
        self.fold = fold or (lambda candidate, fold: {})
        self.waiting = {}
        self.submitted = []
        self.cancelled = []

    def submit(self, candidate, params, folds, tasks=None):
        assert params == {"k": candidate}
        self.submitted.append((candidate, tasks))
        self.waiting[candidate] = deque(folds)

    def cancel(self, candidate):
        self.cancelled.append(candidate)

    def n_due(self, candidate):
        return len(self.waiting.get(candidate, ()))

    def next_event(self, timeout=None):
        if not self.waiting:
            return None
        candidates = list(self.waiting)
        candidate = candidates[0] if self.rng is None else self.rng.choice(candidates)
        fold = self.waiting[candidate].popleft()
        if not self.waiting[candidate]:
            del self.waiting[candidate]
        options = {"status": "ok", "test_scores": {"score": float(candidate)}}
        options |= self.fold(candidate, fold)
        return FoldScore(candidate, fold, **options)


class Objective(Observer):
    """Values candidates; prunes those named once it has seen two of their folds."""

    def __init__(self, hopeless=()):
        self.hopeless = set(hopeless)

    def constraint_of(self, candidate):
        return None

    def value(self, number, candidate):
        return -candidate.mean_test_score("score")

    def should_prune(self, number, folds):
        return number in self.hopeless and len(folds) == 2


class Notebook(Observer):
    """Writes down what it sees."""

    def __init__(self):
        self.lines = []

    def started(self, candidate, params):
        self.lines.append(("started", candidate, params["k"]))

    def scored(self, fold, params):
        self.lines.append(("scored", fold.candidate, fold.fold, params["k"]))

    def finished(self, number, candidate):
        self.lines.append(("finished", number, len(candidate.folds)))


def make_loop(
    optimizer, *, n_iter=12, n_splits=3, n_pending=2, observers=(), **options
):
    return SearchLoop(
        optimizer,
        n_iter=n_iter,
        n_splits=n_splits,
        n_pending=n_pending,
        objective=options.get("objective", Objective()),
        fold_tasks=options.get("fold_tasks"),
        observers=observers,
        timeout=options.get("timeout"),
        reserved=options.get("reserved", lambda: 0.0),
    )


@pytest.mark.parametrize("n_pending", [1, 2, 3, 20])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_before_candidate_k_exactly_those_up_to_k_minus_n_pending_are_told(
    n_pending, seed
):
    optimizer = Optimizer()
    loop = make_loop(optimizer, n_pending=n_pending)
    loop.run(Evaluator(seed))
    expected = [list(range(max(k - n_pending + 1, 0))) for k in range(12)]
    assert optimizer.told_before_ask == expected
    assert [params["k"] for params, _ in optimizer.told] == list(range(12))


def test_no_more_than_n_pending_candidates_are_in_flight():
    evaluator = Evaluator(seed=3)
    most = []

    def fold(candidate, fold):
        most.append(len(evaluator.waiting))
        return {}

    evaluator.fold = fold
    make_loop(Optimizer(), n_pending=3).run(evaluator)
    assert max(most) <= 3


def test_values_are_told_with_the_very_params_that_were_asked():
    optimizer = Optimizer()
    loop = make_loop(optimizer, n_iter=3)
    loop.run(Evaluator())
    assert [value for _, value in optimizer.told] == [0.0, -1.0, -2.0]
    for candidate, (params, _) in zip(loop.finished, optimizer.told, strict=True):
        assert candidate.params is params


def test_a_failure_is_told_as_nan():
    def fold(candidate, fold):
        if candidate == 1 and fold == 2:
            return {"status": "error", "test_scores": None, "error": "no"}
        return {}

    optimizer = Optimizer()
    make_loop(optimizer, n_iter=3).run(Evaluator(fold=fold))
    assert [np.isnan(value) for _, value in optimizer.told] == [False, True, False]


def test_an_exhausted_space_ends_the_search_with_all_it_has():
    optimizer = Optimizer(n_configurations=5)
    loop = make_loop(optimizer)
    with pytest.warns(UserWarning, match="only 5 configurations: .* n_iter=12"):
        loop.run(Evaluator(seed=0))
    assert [c.params["k"] for c in loop.finished] == [0, 1, 2, 3, 4]
    assert len(optimizer.told) == 5


def test_a_single_configuration_is_spelled_right():
    with pytest.warns(UserWarning, match="only 1 configuration: "):
        make_loop(Optimizer(n_configurations=1)).run(Evaluator())


def test_a_space_of_just_n_iter_configurations_is_no_reason_to_warn():
    loop = make_loop(Optimizer(n_configurations=12))
    loop.run(Evaluator())
    assert len(loop.finished) == 12


def test_after_a_stop_flag_what_is_in_flight_is_finished():
    def fold(candidate, fold):
        return {"stop": candidate == 4 and fold == 0}

    optimizer = Optimizer()
    loop = make_loop(optimizer, n_pending=3)
    loop.run(Evaluator(fold=fold))
    assert len(loop.finished) == 7
    assert len(optimizer.told) == 7


def test_only_candidates_with_all_folds_are_finished():
    class Interrupted(Evaluator):
        def next_event(self, timeout=None):
            # candidate 1 comes in whole, of candidate 0 one fold
            order = [(1, 0), (0, 0), (1, 1), (1, 2)]
            if len(seen) == len(order):
                raise KeyboardInterrupt
            candidate, fold = order[len(seen)]
            seen.append(fold)
            return FoldScore(candidate, fold, "ok", {"score": 1.0})

    seen = []
    optimizer = Optimizer()
    loop = make_loop(optimizer)
    with pytest.raises(KeyboardInterrupt):
        loop.run(Interrupted())
    assert [c.params["k"] for c in loop.finished] == [1]
    assert optimizer.told == []


def test_observers_see_everything_in_order():
    first, second = Notebook(), Notebook()
    loop = make_loop(
        Optimizer(), n_iter=2, n_splits=2, n_pending=1, observers=(first, second)
    )
    loop.run(Evaluator())
    assert first.lines == second.lines
    assert first.lines == [
        ("started", 0, 0),
        ("scored", 0, 0, 0),
        ("scored", 0, 1, 0),
        ("finished", 0, 2),
        ("started", 1, 1),
        ("scored", 1, 0, 1),
        ("scored", 1, 1, 1),
        ("finished", 1, 2),
    ]


def test_callback_contexts_go_along_with_their_folds():
    evaluator = Evaluator()
    loop = make_loop(
        Optimizer(), n_iter=3, fold_tasks=lambda candidate: [candidate] * 3
    )
    loop.run(evaluator)
    assert evaluator.submitted == [(k, [k] * 3) for k in range(3)]


def test_folds_of_a_candidate_that_is_pruned_are_skipped_even_if_they_ran():
    evaluator = Evaluator()
    loop = make_loop(
        Optimizer(),
        n_iter=3,
        n_splits=4,
        objective=Objective(hopeless={1}),
        n_pending=1,
    )
    loop.run(evaluator)
    assert evaluator.cancelled == [1]
    statuses = [[fold.status for fold in c.folds] for c in loop.finished]
    assert statuses == [["ok"] * 4, ["ok", "ok", "skipped", "skipped"], ["ok"] * 4]
    assert loop.finished[1].folds[3].test_scores is None


def test_the_last_fold_is_not_pruned():
    evaluator = Evaluator()
    make_loop(Optimizer(), n_splits=2, objective=Objective(hopeless=range(12))).run(
        evaluator
    )
    assert evaluator.cancelled == []


class Clock:
    """Lets a second pass with every event."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(
            "sklearn_mvrsm._search.loop.time.monotonic", lambda: self.now
        )


class SlowEvaluator(Evaluator):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def next_event(self, timeout=None):
        if timeout < 1.0:
            return None  # the next fold takes longer
        self.clock.now += 1.0
        return super().next_event()


def test_at_the_deadline_finished_candidates_are_kept_and_told(monkeypatch):
    optimizer = Optimizer()
    loop = make_loop(optimizer, timeout=8.5)
    loop.run(SlowEvaluator(Clock(monkeypatch)))
    assert [c.params["k"] for c in loop.finished] == [0, 1]
    assert [params["k"] for params, _ in optimizer.told] == [0, 1]


class Slots:
    """Runs fits in slots, in the order of submission; each takes its seconds."""

    first_start = 0.0

    def __init__(self, clock, n_slots, seconds=lambda candidate, fold: 1.0):
        self.clock = clock
        self.n_slots = n_slots
        self.seconds = seconds
        self.submitted = []  # params
        self.due = []  # the folds of each candidate that are not decided
        self.queue = deque()
        self.running = {}  # when each began and will end
        self.arrived = {}

    def submit(self, candidate, params, folds, tasks=None):
        self.submitted.append(params)
        self.due.append(list(folds))
        self.queue += [(candidate, fold) for fold in folds]
        self.begin()

    def begin(self):
        while self.queue and len(self.running) < self.n_slots:
            fit = self.queue.popleft()
            now = self.clock.now
            self.running[fit] = now, now + self.seconds(*fit)

    def n_due(self, candidate):
        folds = self.due[candidate]
        return sum((candidate, fold) not in self.arrived for fold in folds)

    def next_event(self, timeout):
        until = self.clock.now + timeout
        while not (first := self.decided()):
            fit = min(self.running, key=lambda fit: self.running[fit][1])
            if self.running[fit][1] > until:
                self.clock.now = until
                return None
            self.arrived[fit] = self.running.pop(fit)
            self.clock.now = self.arrived[fit][1]
            self.begin()
        self.due[first[0]].pop(0)
        began, ended = self.arrived.pop(first)
        score = {"score": float(self.submitted[first[0]]["k"])}
        return FoldScore(*first, "ok", score, started=began, finished=ended)

    def decided(self):
        firsts = [(k, folds[0]) for k, folds in enumerate(self.due) if folds]
        return next((fit for fit in firsts if fit in self.arrived), None)


@pytest.mark.parametrize("n_splits", [1, 3, 5])
@pytest.mark.parametrize("n_slots", [1, 2, 3])
@pytest.mark.parametrize("timeout", [3.5, 8.5, 20.5])
@pytest.mark.parametrize("n_iter", [None, 1000])
def test_what_can_end_in_time_does_and_nothing_else_is_begun(
    monkeypatch, n_splits, n_slots, timeout, n_iter
):
    clock = Clock(monkeypatch)
    evaluator = Slots(clock, n_slots)
    optimizer = Optimizer()
    loop = make_loop(optimizer, n_iter=n_iter, n_splits=n_splits, timeout=timeout)
    loop.run(evaluator)
    n_busy = min(n_slots, 2 * n_splits)  # of two candidates in flight
    assert len(loop.finished) == n_busy * int(timeout) // n_splits
    assert len(optimizer.told) == len(loop.finished)
    assert clock.now <= int(timeout)
    assert all(began == clock.now for began, _ in evaluator.running.values())


@pytest.mark.parametrize("n_slots", [1, 2, 3])
def test_time_that_is_reserved_is_left(monkeypatch, n_slots):
    finished = Best(lambda candidate: 1.0, growth=1.0)
    clock = Clock(monkeypatch)
    loop = make_loop(
        Optimizer(),
        n_iter=None,
        timeout=20.5,
        observers=[finished],
        reserved=lambda: 0.0 if math.isnan(finished.score) else 6.0,
    )
    loop.run(Slots(clock, n_slots))
    assert len(loop.finished) == min(n_slots, 6) * 14 // 3
    assert clock.now <= 14.0


def test_more_pending_candidates_keep_more_slots_busy(monkeypatch):
    lengths = np.random.default_rng(0).lognormal(size=(12, 3))

    def end(n_pending):
        clock = Clock(monkeypatch)
        slots = Slots(clock, 3, lambda *fit: lengths[fit])
        make_loop(Optimizer(), n_pending=n_pending).run(slots)
        return clock.now

    assert lengths.sum() / 3.0 <= end(8) < end(2) < end(1)


def test_a_time_that_cannot_hold_a_candidate_is_seen_with_the_first_fit(monkeypatch):
    clock = Clock(monkeypatch)
    loop = make_loop(Optimizer(), n_iter=None, n_splits=5, timeout=3.5)
    loop.run(Slots(clock, 1))
    assert loop.finished == []
    assert clock.now == 1.0


def test_one_slow_fit_does_not_end_a_search(monkeypatch):
    clock = Clock(monkeypatch)
    slots = Slots(
        clock, 1, lambda candidate, fold: 1.0 + 9.0 * (candidate == fold == 1)
    )
    loop = make_loop(Optimizer(), n_iter=None, timeout=18.5)
    loop.run(slots)
    assert len(loop.finished) == 3


def test_the_time_decides_how_many_candidates_there_are_and_not_which(monkeypatch):
    space = {"x": Real(-1.0, 1.0), "k": Integer(0, 9)}

    def candidates(seed, n_slots, **budget):
        lengths = np.random.default_rng(seed).uniform(0.5, 1.5, (1000, 3))
        slots = Slots(Clock(monkeypatch), n_slots, lambda *fit: lengths[fit])
        loop = make_loop(MVRSMOptimizer(space, random_state=0), **budget)
        loop.run(slots)
        return slots.submitted, [candidate.params for candidate in loop.finished]

    asked, finished = candidates(0, 1, n_iter=30)
    assert finished == asked
    for seed, n_slots, timeout in [(1, 1, 9.0), (2, 2, 20.0), (3, 3, 25.0)]:
        some, ended = candidates(seed, n_slots, n_iter=None, timeout=timeout)
        assert 3 <= len(some) < 30
        assert some == asked[: len(some)]
        assert [each for each in some if each in ended] == ended


def test_a_space_that_is_used_up_before_the_time_says_so(monkeypatch):
    Clock(monkeypatch)
    with pytest.warns(UserWarning, match=r"ends after 5 instead of timeout=8\.5 sec"):
        make_loop(Optimizer(5), n_iter=None, timeout=8.5).run(Evaluator())


def test_after_the_deadline_nothing_is_asked_for(monkeypatch):
    clock = Clock(monkeypatch)
    clock.now = 9.0
    optimizer = Optimizer()
    loop = make_loop(optimizer, timeout=8.5)
    loop.run(SlowEvaluator(clock))
    assert loop.finished == []
    assert optimizer.told_before_ask == []


class Starting(SlowEvaluator):
    """Needs some seconds before the first fit starts."""

    first_start = None

    def __init__(self, clock, seconds):
        super().__init__(clock)
        self.seconds = seconds

    def next_event(self, timeout=None):
        if self.clock.now >= self.seconds:
            self.first_start = self.seconds
            return super().next_event(timeout)
        assert timeout <= 0.1
        self.clock.now += 1.0
        return None


def test_the_time_counts_from_the_start_of_the_first_fit(monkeypatch):
    loop = make_loop(Optimizer(), timeout=8.5)
    loop.run(Starting(Clock(monkeypatch), 100.0))
    assert [c.params["k"] for c in loop.finished] == [0, 1]


def test_a_start_that_takes_for_ever_ends_too(monkeypatch):
    clock = Clock(monkeypatch)
    loop = make_loop(Optimizer(), timeout=8.5)
    loop.run(Starting(clock, 1e9))
    assert loop.finished == []
    assert clock.now == pytest.approx(LONGEST_START + 8.5, abs=2.0)


def test_what_a_checkpoint_has_takes_no_time(monkeypatch):
    clock = Clock(monkeypatch)

    class Remembers(SlowEvaluator):
        first_start = None

        def next_event(self, timeout=None):
            self.clock.now += 100.0
            return Evaluator.next_event(self)

    loop = make_loop(Optimizer(), timeout=8.5)
    loop.run(Remembers(clock))
    assert len(loop.finished) == 12


def test_while_nothing_happens_the_loop_keeps_checking():
    class Slow(Evaluator):
        """Has nothing to say the first five times, then everything at once."""

        n_calls = 0

        def next_event(self, timeout=None):
            assert timeout <= 1.0
            self.n_calls += 1
            return None if self.n_calls <= 5 else super().next_event(timeout)

    checks = []
    loop = make_loop(Optimizer(), n_iter=3)
    loop.run(Slow(), lambda: checks.append(None))
    assert len(checks) == 5 + 9 + 1  # before each fold too, and at the end
    assert len(loop.finished) == 3


def test_what_a_check_raises_ends_the_search():
    class Mute(Evaluator):
        def next_event(self, timeout=None):
            return None

    def check():
        raise KeyboardInterrupt

    loop = make_loop(Optimizer(), n_iter=3)
    with pytest.raises(KeyboardInterrupt):
        loop.run(Mute(), check)
    assert loop.finished == []
