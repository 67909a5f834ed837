"""Laws of giving up candidates after some of their folds."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import t as student

from sklearn_mvrsm._evaluation.scores import Candidate
from sklearn_mvrsm._search.racing import Race
from sklearn_mvrsm.benchmarks import racing


@dataclass(frozen=True)
class Fold:
    test_scores: dict | None
    status: str = "ok"


def folds(*scores):
    return tuple(Fold(None if s is None else {"score": s}) for s in scores)


def race_after(*candidates, error_level=0.05):
    race = Race(error_level)
    for k, scores in enumerate(candidates):
        race.enter(k)
        race.learn(Candidate({}, folds(*scores)), "score")
    race.enter(99)
    return race


RNG = np.random.default_rng(0)
EARLIER = [0.8 + 0.02 * RNG.normal(size=5) for _ in range(8)]


def test_nothing_is_given_up_before_differences_are_known():
    for n in range(4):
        race = race_after(*EARLIER[:n])
        assert not race.is_hopeless(99, folds(-100.0), "score")
    assert race_after(*EARLIER[:4]).is_hopeless(99, folds(-100.0), "score")


def test_a_candidate_that_did_not_enter_is_never_given_up():
    assert not race_after(*EARLIER).is_hopeless(7_000, folds(-100.0), "score")


@pytest.mark.parametrize("n_known", [1, 2, 3, 4])
def test_the_chance_is_that_of_the_predictive_distribution(n_known):
    """Compare the rule with draws of the unknown folds."""
    best = max(EARLIER, key=np.mean)
    variances, leader = [], EARLIER[0]
    for scores in EARLIER[1:]:
        variances.append(np.var(leader - scores, ddof=1))
        leader = max(leader, scores, key=np.mean)
    draws = np.random.default_rng(1)
    for gap in (0.01, 0.02, 0.04):
        d = gap + np.array([0.003, -0.004, 0.002, -0.001])[:n_known]
        spread = 4 * np.mean(variances) + ((d - d.mean()) ** 2).sum()
        degrees = 4 + n_known - 1
        s = np.sqrt(spread / degrees)
        # the mean of the unknown differences, given those that are known
        n_left = 5 - n_known
        width = s * np.sqrt(1 / n_known + 1 / n_left)
        left = d.mean() + width * student.rvs(degrees, size=200_000, random_state=draws)
        chance = np.mean(n_known * d.mean() + n_left * left <= 0.0)
        for level in (chance * 4 * 1.2, chance * 4 * 0.8):
            if not 1e-3 < chance < 0.2:
                continue
            race = race_after(*EARLIER, error_level=level)
            hopeless = race.is_hopeless(99, folds(*(best[:n_known] - d)), "score")
            assert hopeless == (level > chance * 4)


def test_the_incumbent_is_the_best_one_when_the_candidate_entered():
    race = race_after(*EARLIER)
    best = max(EARLIER, key=np.mean)
    race.learn(Candidate({}, folds(*(best + 1.0))), "score")
    assert not race.is_hopeless(99, folds(best[0]), "score")
    race.enter(100)
    assert race.is_hopeless(100, folds(best[0]), "score")


def test_a_better_candidate_is_never_given_up():
    best = max(EARLIER, key=np.mean)
    race = race_after(*EARLIER, error_level=0.999)
    for j in range(1, 5):
        assert not race.is_hopeless(99, folds(*(best + 1e-3)[:j]), "score")


def test_an_equal_candidate_is_not_given_up_where_nothing_ever_differs():
    race = race_after(*[np.full(5, 0.5)] * 6)
    assert not race.is_hopeless(99, folds(0.5), "score")
    assert race.is_hopeless(99, folds(0.4), "score")


def test_a_candidate_with_a_failure_is_left_to_run():
    race = race_after(*EARLIER)
    assert not race.is_hopeless(99, folds(-100.0, None), "score")
    assert not race.is_hopeless(99, folds(-100.0, np.nan), "score")


def test_neither_before_the_first_fold_nor_after_the_last_is_anything_given_up():
    race = race_after(*EARLIER)
    assert not race.is_hopeless(99, (), "score")
    assert not race.is_hopeless(99, folds(*[-100.0] * 5), "score")


def test_failures_and_incomplete_candidates_teach_nothing():
    race = race_after(*EARLIER)
    before = race.is_hopeless(99, folds(0.7), "score")
    race.learn(Candidate({}, folds(1.0, None, 1.0, 1.0, 1.0)), "score")
    race.enter(100)
    assert race.is_hopeless(100, folds(0.7), "score") == before
    assert race.estimate(100, Candidate({}, folds(0.7, *[None] * 4)), "score") < 0.8


def test_the_estimate_keeps_the_mean_difference_of_the_known_folds():
    best = max(EARLIER, key=np.mean)
    race = race_after(*EARLIER)
    known = best[:2] - np.array([0.2, 0.3])
    candidate = Candidate({}, folds(*known, None, None, None))
    assert race.estimate(99, candidate, "score") == pytest.approx(best.mean() - 0.25)


def test_the_error_level_is_kept():
    """Of candidates as good as the best, few are given up, whatever their folds."""
    rng = np.random.default_rng(2)
    n_given_up, n_trials = 0, 600
    for _ in range(n_trials):
        effects = 0.05 * rng.normal(size=5)  # of the folds, shared by all
        candidates = [effects + 0.02 * rng.normal(size=5) for _ in range(8)]
        race = race_after(*candidates)
        best = max(c.mean() for c in candidates)
        # the best there is, by a hair, in an order of folds that is nobody's choice
        new = effects + 0.02 * rng.normal(size=5)
        new += best + 1e-6 - new.mean()
        n_given_up += any(
            race.is_hopeless(99, folds(*new[:j]), "score") for j in range(1, 5)
        )
    assert n_given_up / n_trials < 0.05


def test_the_benchmark_of_racing_compares_what_it_says(capsys):
    racing.main(["--seeds", "1", "--n-iter", "12", "--levels", "0.3"])
    header, digits, cancer = capsys.readouterr().out.splitlines()
    assert "fits saved" in header
    assert digits.startswith("digits")
    assert cancer.startswith("breast cancer")
    assert float(digits.split()[2]) > 0.0
