"""Laws of which metrics a search has, and which one it follows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_mvrsm import MVRSMSearchCV
from sklearn_mvrsm._evaluation import FoldScore
from sklearn_mvrsm._judge import Judge
from sklearn_mvrsm._results import Candidate

TWO = ["accuracy", "f1"]


def judge(scoring=None, refit=True):
    search = MVRSMSearchCV(
        LogisticRegression(), {"C": [1.0]}, scoring=scoring, refit=refit
    )
    scorer, _ = search._get_scorers()
    return Judge(search, scorer)


def any_scorer(estimator, X, y):
    return 0.0


def fold(scores, *, status="ok", multimetric=True, number=0):
    return FoldScore(0, number, status, scores, multimetric=multimetric)


def test_one_metric_is_called_score():
    one = judge("accuracy")
    one.scored(fold({"score": 0.5}, multimetric=False), {})
    assert (one.names, one.guide, one.multimetric) == (["score"], "score", False)


@pytest.mark.parametrize("refit", [True, False, "anything"])
def test_one_metric_guides_whatever_refit_is(refit):
    assert judge("accuracy", refit).guide == "score"


def test_refit_names_the_guide():
    assert judge(TWO, "f1").guide == "f1"


@pytest.mark.parametrize("refit", [False, lambda results: 0], ids=["False", "callable"])
def test_without_a_name_the_first_metric_guides(refit):
    several = judge(TWO, refit)
    assert (several.names, several.guide) == (TWO, "accuracy")
    assert several.multimetric


def test_metrics_of_a_callable_are_learnt_from_the_first_success():
    callable_ = judge(any_scorer, "b")
    callable_.scored(fold(None, status="error"), {})
    callable_.scored(fold({}, status="error"), {})
    assert callable_.names == ["score"]
    assert np.isnan(callable_.value(Candidate({}, (fold(None, status="error"),))))
    callable_.scored(fold({"a": 1.0, "b": 2.0}), {})
    assert (callable_.names, callable_.guide) == (["a", "b"], "b")
    assert callable_.multimetric
    assert callable_.value(Candidate({}, (fold({"a": 1.0, "b": 2.0}),))) == -2.0


def test_a_dict_with_one_metric_is_several_metrics():
    callable_ = judge(any_scorer, "score")
    callable_.scored(fold({"score": 1.0}), {})
    assert callable_.multimetric


def test_a_number_of_a_callable_is_one_metric():
    callable_ = judge(any_scorer)
    callable_.scored(fold({"score": 1.0}, multimetric=False), {})
    assert not callable_.multimetric


def test_an_impossible_refit_is_refused_at_the_first_success():
    callable_ = judge(any_scorer, True)
    callable_.scored(fold(None, status="timeout"), {})
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        callable_.scored(fold({"a": 1.0, "b": 2.0}), {})


def test_metrics_must_not_change():
    callable_ = judge(any_scorer, "a")
    callable_.scored(fold({"a": 1.0, "b": 2.0}), {})
    callable_.scored(fold({"b": 1.0, "a": 2.0}), {})
    with pytest.raises(ValueError, match=r"same metrics .* \['a'\] after \['a', 'b'\]"):
        callable_.scored(fold({"a": 1.0}), {})


def test_a_metric_that_failed_is_no_change():
    several = judge(TWO, "f1")
    several.scored(fold({"accuracy": 1.0}, status="error"), {})
    assert several.names == TWO


def test_the_value_is_the_negated_mean_of_the_guide():
    several = judge(TWO, "f1")
    folds = (fold({"accuracy": 0.0, "f1": 1.0}), fold({"accuracy": 0.0, "f1": 0.5}))
    assert several.value(Candidate({}, folds)) == -0.75
    half = (folds[0], fold({"accuracy": 0.0}, status="error"))
    assert np.isnan(several.value(Candidate({}, half)))


def test_a_candidate_asks_nothing_of_the_judge():
    one = judge()
    one.started(0, {"C": 1.0})
    assert one.names == ["score"]
