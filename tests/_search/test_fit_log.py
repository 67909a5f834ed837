"""The record of which fit ran where and when."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._evaluation.scores import FoldScore
from sklearn_mvrsm._search.observers import fit_log

X, y = load_iris(return_X_y=True)
COLUMNS = ["candidate", "fold", "status", "slot", "start", "finish"]


def logged(*folds, n_splits=2):
    return fit_log(folds, n_splits, begin=1.0)


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
