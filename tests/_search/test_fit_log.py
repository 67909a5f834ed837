"""The record of which fit ran where and when."""

import os
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._evaluation.scores import FoldScore
from sklearn_mvrsm._execution.worker_pool import WorkerPool
from sklearn_mvrsm._search import loop
from sklearn_mvrsm._search.observers import fit_log

X, y = load_iris(return_X_y=True)
COLUMNS = ["candidate", "fold", "status", "slot", "start", "finish"]


def logged(*folds, n_splits=2, unrecorded=()):
    return fit_log(folds, n_splits, 1.0, unrecorded)


def fold(candidate, number, status="ok"):
    return FoldScore(candidate, number, status, slot=1, started=5.0, finished=7.0)


def test_fits_come_in_the_order_of_candidates_and_folds():
    table = logged(fold(1, 0), fold(0, 0), fold(1, 1), fold(0, 1))
    assert list(table) == COLUMNS
    assert table["candidate"].tolist() == [0, 0, 1, 1]
    assert table["fold"].tolist() == [0, 1, 0, 1]


def test_an_unfinished_candidate_has_no_row_and_later_ones_move_up():
    table = logged(fold(0, 0), fold(1, 0), fold(1, 1), fold(2, 0), fold(2, 1))
    assert table["candidate"].tolist() == [-1, 0, 0, 1, 1]


def test_a_fit_that_never_ran_has_neither_place_nor_time():
    table = logged(fold(0, 0), FoldScore(0, 1, "skipped"))
    assert table["slot"].tolist() == [1, -1]
    assert np.isnan(table["start"]).tolist() == [False, True]
    assert np.isnan(table["finish"]).tolist() == [False, True]
    assert (table["start"][0], table["finish"][0]) == (4.0, 6.0)


def test_a_skipped_fit_that_ran_in_vain_has_its_place_and_time():
    skipped = FoldScore(0, 1, "skipped")
    table = logged(fold(0, 0, "timeout"), skipped, unrecorded=[fold(0, 1, "killed")])
    assert table["status"].tolist() == ["timeout", "killed"]
    assert table["slot"].tolist() == [1, 1]
    assert table["candidate"].tolist() == [0, 0]


def test_fits_of_a_candidate_that_was_not_decided_are_logged_without_a_row():
    unrecorded = [fold(1, 1), fold(1, 0, "killed")]
    table = logged(fold(0, 0), fold(0, 1), unrecorded=unrecorded)
    assert table["candidate"].tolist() == [0, 0, -1, -1]
    assert table["status"].tolist() == ["ok", "ok", "killed", "ok"]


def test_a_log_without_fits_is_an_empty_table():
    table = logged()
    assert [len(table[name]) for name in COLUMNS] == [0] * 6


def test_a_search_logs_each_fit_once_one_after_the_other_in_one_slot():
    search = MVRSMSearchCV(
        DecisionTreeClassifier(),
        {"ccp_alpha": Real(1e-4, 0.1, log=True)},
        n_iter=4,
        cv=3,
        random_state=0,
    ).fit(X, y)
    table = search.fit_log_
    assert table["candidate"].tolist() == np.repeat(range(4), 3).tolist()
    assert table["fold"].tolist() == [0, 1, 2] * 4
    assert set(table["status"]) == {"ok"}
    assert set(table["slot"]) == {0}
    assert table["start"][0] >= 0.0
    assert (table["finish"] > table["start"]).all()
    order = np.argsort(table["start"])
    assert (table["start"][order][1:] >= table["finish"][order][:-1]).all()


@pytest.mark.parametrize("limit", ["fit_timeout", "timeout"])
def test_slots_that_run_what_nobody_wants_are_not_shown_as_idle(
    limit, tmp_path, monkeypatch
):
    class Hangs(DecisionTreeClassifier):
        """Does not come to an end if it has a certain depth."""

        def fit(self, X, y, sample_weight=None, check_input=True):
            if self.max_depth == 2:
                time.sleep(1.0)
                (tmp_path / str(os.getpid())).touch()
                time.sleep(120)
            return super().fit(X, y)

    def both_hang():
        return len(os.listdir(tmp_path)) == 2

    def monotonic():
        return time.monotonic() + 1e6 * both_hang()

    def stop_once_both_hang(self):
        for run in self._runs() if both_hang() else ():
            run.deadline = min(run.deadline, time.monotonic())
        return stop_overdue(self)

    stop_overdue = WorkerPool._stop_overdue
    if limit == "timeout":
        monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=monotonic))
    else:
        monkeypatch.setattr(WorkerPool, "_stop_overdue", stop_once_both_hang)
    search = MVRSMSearchCV(
        Hangs(),
        {"max_depth": [1, 2]},
        initial_points=[{"max_depth": 1}, {"max_depth": 2}],
        include_default=False,
        n_iter=2,
        cv=2,
        n_jobs=2,
        n_pending=1,
        **{limit: 500.0},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    log = search.fit_log_
    hung = log["candidate"] != 0
    assert (log["slot"] >= 0).all()
    assert set(log["slot"][hung]) == {0, 1}
    assert (log["finish"] - log["start"])[hung].min() > 1.0
    if limit == "timeout":
        assert log["status"][hung].tolist() == ["killed"] * 2
        assert log["candidate"][hung].tolist() == [-1, -1]
    else:
        assert set(search.cv_results_["status"]) == {"ok", "timeout"}
        assert set(log["status"][hung]) <= {"timeout", "killed", "skipped"}


class Interrupted(DecisionTreeClassifier):
    """Is interrupted by Ctrl-C if it has a certain depth."""

    def fit(self, X, y, sample_weight=None, check_input=True):
        if self.max_depth == 2:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_an_interrupted_search_keeps_its_log():
    search = MVRSMSearchCV(
        Interrupted(),
        {"max_depth": [1, 2, 3]},
        initial_points=[{"max_depth": 1}, {"max_depth": 2}],
        n_iter=3,
        cv=3,
        n_pending=1,
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.fit_log_["candidate"].tolist() == [0, 0, 0]
    assert len(search.cv_results_["params"]) == 1
