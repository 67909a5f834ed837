"""Folds that are kept: the same each time, whatever they were made of."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    check_cv,
    cross_val_score,
)
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import MVRSMSearchCV
from sklearn_mvrsm._evaluation.folds import FrozenFolds, draw_folds

X, y = load_iris(return_X_y=True)


def same(left, right):
    pairs = zip(left, right, strict=True)
    return all(
        np.array_equal(a, b)
        for one, two in pairs
        for a, b in zip(one, two, strict=True)
    )


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4),
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(3, test_size=0.1, random_state=0),  # not in ascending order
        ShuffleSplit(3, test_size=1, random_state=0),  # one sample of very many
    ],
)
@pytest.mark.parametrize("n_samples", [10, 9000])
def test_kept_folds_are_those_that_were_drawn(cv, n_samples):
    drawn = list(cv.split(np.zeros(n_samples)))
    folds = FrozenFolds(drawn, n_samples)
    assert same(folds.split(), drawn)
    assert same(folds.split(), drawn)  # again and again
    assert same(pickle.loads(pickle.dumps(folds)).split(), drawn)
    assert folds.get_n_splits() == len(drawn)


def test_order_and_repetitions_are_kept():
    drawn = [(np.array([3, 1, 1]), np.array([0, 2]))]
    assert same(FrozenFolds(drawn, 4).split(), drawn)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (slice(2, None), slice(0, 2)),
        ([2, 3, 4], [0, 1]),
        (np.arange(5) > 1, np.arange(5) < 2),
        ([-3, -2, -1], [0, 1]),
    ],
)
def test_masks_slices_and_lists_become_indices(train, test):
    folds = FrozenFolds([(train, test)], 5)
    assert same(folds.split(), [(np.array([2, 3, 4]), np.array([0, 1]))])


def test_folds_that_are_indices_already_are_not_copied():
    halves = np.arange(6), np.arange(6, 10)
    cv = check_cv([halves, halves])
    for drawn in draw_folds(cv, np.ones((10, 1)), None, {}):
        assert all(one is other for one, other in zip(drawn, halves, strict=True))


def test_folds_of_a_million_samples_take_a_few_bits_each():
    n_samples = 1_000_000
    size = len(pickle.dumps(FrozenFolds(list(KFold(5).split(range(n_samples))), 10**6)))
    assert size < 2 * 5 * n_samples / 8 + 10_000


def test_data_of_another_length_are_refused():
    folds = FrozenFolds([([0], [1])], 2)
    with pytest.raises(ValueError, match=r"must have the 2 samples .* got 3"):
        list(folds.split(np.zeros((3, 1))))


def test_it_says_what_it_is():
    assert repr(FrozenFolds([([0], [1])], 2)) == "<FrozenFolds: 1 folds of 2 samples>"


class Fickle:
    """Says one number of folds and gives another."""

    def __init__(self, said, given, fold=([0], [1])):
        self.said, self.given, self.fold = said, given, fold

    def get_n_splits(self, X, y):
        return self.said

    def split(self, X, y):
        return [self.fold] * self.given


@pytest.mark.parametrize(
    ("said", "given", "message"),
    [(3, 2, "Expected 3 splits, got 2"), (0, 0, "No fits were performed")],
)
def test_splitters_that_contradict_themselves_are_refused(said, given, message):
    with pytest.raises(ValueError, match=message):
        draw_folds(Fickle(said, given), X, y, {})


@pytest.mark.parametrize("fold", [([0, 1], [2], [3]), 3])
def test_splitters_whose_folds_are_no_pairs_are_refused(fold):
    with pytest.raises(ValueError, match="each fold of 'cv' must be a pair"):
        draw_folds(Fickle(1, 1, fold), X, y, {})


HALVES = {
    "lists": lambda train, test: (train.tolist(), test.tolist()),
    "tuples": lambda train, test: (tuple(train.tolist()), tuple(test.tolist())),
    "numpy integers": lambda train, test: (list(train), tuple(test.astype("uint8"))),
    "ranges": lambda train, test: (range(30, 150), range(30)),
    "slices": lambda train, test: (slice(30, None), slice(30)),
    "generators": lambda train, test: (iter(train), (int(k) for k in test)),
    "masks": lambda train, test: (np.arange(150) >= 30, list(np.arange(150) < 30)),
    "index": lambda train, test: (pd.Index(train), pd.RangeIndex(30)),
    "series": lambda train, test: (pd.Series(train), pd.Series(test, index=test + 1)),
    "nullable": lambda train, test: (
        pd.array(train, dtype="Int64"),
        pd.array(np.arange(150) < 30, dtype="boolean"),
    ),
    "polars": lambda train, test: (pl.Series(train), pl.Series(test)),
    "from the end": lambda train, test: (train - 150, test - 150),
}


@pytest.mark.parametrize("halves", HALVES.values(), ids=HALVES)
def test_folds_may_select_samples_in_any_form(halves):
    train, test = np.arange(30, 150), np.arange(30)
    search = MVRSMSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 3]},
        cv=[halves(train, test), (test, train)],
        n_iter=2,
        random_state=0,
    ).fit(pd.DataFrame(X), pd.Series(y))
    assert same(search.cv_.split(), [(train, test), (test, train)])
    for row, params in enumerate(search.cv_results_["params"]):
        expected = cross_val_score(
            DecisionTreeClassifier(random_state=0, **params),
            X,
            y,
            cv=[(train, test), (test, train)],
        )
        for k in range(2):
            assert search.cv_results_[f"split{k}_test_score"][row] == expected[k]


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        (([0, 1], 2), "neither indices nor a mask: 2"),
        (([0.0, 1.0], [2]), "neither indices nor a mask"),
        ((["a"], [2]), "neither indices nor a mask"),
        (([[0], [1]], [2]), "neither indices nor a mask"),
        (([0, None], [2]), "neither indices nor a mask"),
        (([0, 150], [2]), "index 150 is out of bounds for axis 0 with size 150"),
        (([0, 1], [True, False]), "a mask of 2 for 150 samples"),
        (([0, 1], []), "no samples are selected"),
        ((np.zeros(150, bool), [0]), "no samples are selected"),
        (([0, 1],), "not enough values to unpack"),
        (([0, 1], [2], [3]), "too many values to unpack"),
        (3, "int' object is not iterable"),
    ],
)
def test_folds_that_select_nothing_real_are_refused_before_any_fit(fold, message):
    search = MVRSMSearchCV(
        DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=[([0, 60], [1, 61]), fold]
    )
    with pytest.raises(
        ValueError, match=f"each fold of 'cv' .* got fold 1: .*{message}"
    ):
        search.fit(X, y)


def test_a_search_gives_the_folds_it_used_although_they_were_drawn_without_a_seed():
    estimator = DecisionTreeClassifier(random_state=0)
    search = MVRSMSearchCV(
        estimator,
        {"max_depth": [1, 3]},
        cv=KFold(3, shuffle=True),
        n_iter=2,
        random_state=0,
    ).fit(X, y)
    row = search.best_index_
    used = [search.cv_results_[f"split{k}_test_score"][row] for k in range(3)]
    estimator.set_params(**search.best_params_)
    assert np.array_equal(cross_val_score(estimator, X, y, cv=search.cv_), used)
