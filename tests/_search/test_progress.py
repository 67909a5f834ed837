"""What the bar shows."""

import builtins
import math
import time

import pytest

from sklearn_mvrsm._evaluation.scores import Candidate, FoldScore
from sklearn_mvrsm._search.observers import Best, ProgressBar

pytest.importorskip("tqdm", reason="tqdm is optional")


def score(candidate: Candidate):
    return candidate.mean_test_score("score")


def make_bar(n_slots=2, n_candidates=3, timeout=None, growth=0.0):
    best = Best(score, growth=growth)
    return ProgressBar(n_candidates, timeout, 2, n_slots, best)


def done(bar, candidate, fold, score, status="ok"):
    scores = None if score is None else {"score": score}
    bar.scored(FoldScore(candidate, fold, status, scores), {})


def finished(bar, number, *scores):
    folds = [
        FoldScore(number, k, "ok", {"score": s}, fit_time=10.0 * s)
        for k, s in enumerate(scores)
    ]
    candidate = Candidate({}, tuple(folds))
    for observer in (bar._best, bar):
        observer.finished(number, candidate)


def test_the_bar_counts_fits_and_shows_the_best_score(capsys):
    with make_bar() as bar:
        bar.started(0, {})
        bar.started(1, {})
        assert bar._bar.total == 6
        assert bar._bar.postfix == "failed=0, running=2"
        done(bar, 0, 0, 0.5)
        done(bar, 0, 1, 0.7)
        finished(bar, 0, 0.5, 0.7)
        assert bar._bar.n == 2
        assert bar._bar.postfix == "best=0.6, failed=0, running=2"
        done(bar, 1, 0, None, "timeout")
        done(bar, 1, 1, None, "skipped")
        finished(bar, 1, float("nan"), float("nan"))
        assert bar._bar.postfix == "best=0.6, failed=1, running=0"
        bar.started(2, {})
        done(bar, 2, 0, 0.1)
        assert bar._bar.postfix == "best=0.6, failed=1, running=1"
    assert "5/6" in capsys.readouterr().err


def test_the_clock_of_the_bar_begins_with_the_first_fit_that_is_run():
    with make_bar() as bar:
        made = bar._bar.start_t = time.time() - 1000.0
        for k in range(2):
            bar.started(k, {})
        done(bar, 0, 0, 0.5)  # of a checkpoint
        assert (bar._bar.n, bar._bar.initial, bar._bar.start_t) == (1, 1, made)
        now = time.monotonic()
        fit = FoldScore(0, 1, "ok", {"score": 0.7}, started=now - 10.0, finished=now)
        bar.scored(fit, {})
        elapsed = bar._bar.format_dict["elapsed"]
        assert 9.9 < elapsed < 10.1 + time.monotonic() - now
        done(bar, 1, 0, None, "skipped")
        assert (bar._bar.n, bar._bar.initial) == (3, 1)


def test_without_a_number_of_candidates_the_bar_shows_the_time(capsys):
    with make_bar(n_candidates=None, timeout=60.0) as bar:
        drawn = capsys.readouterr().err
        bar._bar.mininterval = 0.0
        for _ in range(3):
            bar.waited(0.0)
        assert capsys.readouterr().err == ""
        assert "0/60 s" in drawn
        bar.started(0, {})
        done(bar, 0, 0, 0.5)
        finished(bar, 0, 0.5, 0.7)
        assert (bar._bar.n, bar._bar.total) == (0, 60.0)
        assert bar._bar.postfix == "best=0.6, fits=1, failed=0, running=1"
        bar.waited(21.4)
        bar._bar.refresh()
        assert "| 21/60 s, best=0.6, fits=1" in capsys.readouterr().err
        bar.waited(61.0)
    assert "100%" in capsys.readouterr().err


def test_a_bar_of_time_shows_what_the_refit_will_take():
    with make_bar(n_candidates=None, timeout=60.0, growth=1.5) as bar:
        finished(bar, 0, 0.5, 0.7)
        assert bar._bar.postfix == "best=0.6, fits=0, failed=0, running=0, refit=9.0 s"
        finished(bar, 1, 0.1, 0.1)
        assert bar._bar.postfix.endswith("refit=9.0 s")
        finished(bar, 2, 0.7, 0.9)
        assert bar._bar.postfix.endswith("refit=12.0 s")
    with make_bar(n_candidates=3, timeout=60.0, growth=1.5) as bar:
        finished(bar, 0, 0.5, 0.7)
        assert "refit" not in bar._bar.postfix


def test_the_best_has_a_score_is_feasible_and_the_first_of_equals():
    best = Best(score, greater_is_better=False, growth=2.0)
    assert math.isnan(best.score)
    assert best.refit_time == 0.0

    def see(number, value, seconds, **known):
        fold = FoldScore(number, 0, "ok", {"score": value}, fit_time=seconds)
        best.finished(number, Candidate({}, (fold,), **known))
        return best.score, best.refit_time

    assert see(0, 3.0, 1.0) == (3.0, 2.0)
    assert see(1, float("nan"), 9.0) == (3.0, 2.0)
    assert see(2, 2.0, 9.0, constraint=0.1) == (3.0, 2.0)
    assert see(4, 3.0, 9.0) == (3.0, 2.0)
    assert see(6, 2.5, 4.0, constraint=0.0) == (2.5, 8.0)
    assert see(5, 2.5, 3.0) == (2.5, 6.0)  # it ended later, and was asked for before
    assert see(7, 2.4, -3.0) == (2.4, 0.0)


def test_a_bar_with_a_number_of_candidates_does_not_move_with_time():
    with make_bar(timeout=60.0) as bar:
        bar.waited(21.4)
        assert (bar._bar.n, bar._bar.total) == (0, 6)


def test_running_fits_are_at_most_the_slots():
    with make_bar(n_slots=1) as bar:
        bar.started(0, {})
        assert bar._bar.postfix == "failed=0, running=1"


def test_without_tqdm_the_message_says_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def without_tqdm(name, *args, **kwargs):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_tqdm)
    with pytest.raises(ImportError, match=r"sklearn-mvrsm\[progress\]"):
        make_bar()
