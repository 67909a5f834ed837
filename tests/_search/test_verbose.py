"""The printed lines are those of GridSearchCV."""

import re

import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import MVRSMSearchCV
from sklearn_mvrsm._evaluation.scores import FoldScore
from sklearn_mvrsm._search.observers import Printer

X, y = make_classification(60, random_state=0)


def lines(search, capsys):
    search.fit(X, y)
    text = capsys.readouterr().out
    return re.sub(r"total time= +[0-9.]+(s|min)", "total time=T", text).splitlines()


@pytest.mark.parametrize("verbose", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("return_train_score", [True, False])
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1"]])
def test_lines_are_those_of_grid_search(verbose, return_train_score, scoring, capsys):
    options = {
        "cv": 2,
        "scoring": scoring,
        "refit": False,
        "return_train_score": return_train_score,
        "verbose": verbose,
    }
    tree = DecisionTreeClassifier(random_state=0)
    theirs = lines(GridSearchCV(tree, {"max_depth": [2]}, **options), capsys)
    ours = lines(MVRSMSearchCV(tree, {"max_depth": [2]}, n_iter=1, **options), capsys)
    if verbose < 10:
        assert ours == theirs
    else:  # all folds of a candidate start together
        assert sorted(ours) == sorted(theirs)


@pytest.mark.parametrize(("verbose", "shown"), [(2, True), (3, True), (1, False)])
def test_a_fold_without_a_score_says_why(verbose, shown, capsys):
    printer = Printer(verbose, 4, None, 5)
    printer.scored(FoldScore(1, 2, "timeout", fit_time=90.0), {"b": 1, "a": None})
    line = capsys.readouterr().out
    assert bool(line) == shown
    if shown:
        assert line.startswith("[CV 3/5] END" if verbose > 2 else "[CV] END")
        assert line.endswith("a=None, b=1; timeout; total time= 1.5min\n")


def test_without_a_number_of_candidates_the_lines_have_none(capsys):
    printer = Printer(10, None, 90.0, 2)
    printer.begin()
    printer.started(4, {"a": 1})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Fitting 2 folds a candidate for 90 s"
    assert lines[1].startswith("[CV 1/2; 5] START a=1")


def test_the_number_of_fits_is_that_of_a_small_space(capsys):
    tree = DecisionTreeClassifier(random_state=0)
    search = MVRSMSearchCV(tree, {"max_depth": [1, 2, 3]}, cv=2, verbose=1)
    with pytest.warns(UserWarning, match="only 3 configurations"):
        search.fit(X, y)
    line = "Fitting 2 folds for each of 3 candidates, totalling 6 fits\n"
    assert capsys.readouterr().out == line
