"""Laws of which metrics a search has, and which one it follows."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_mvrsm import MVRSMSearchCV
from sklearn_mvrsm._compat.sklearn import check_refit
from sklearn_mvrsm._evaluation.scores import Candidate, FoldScore
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._search.racing import Race

TWO = ["accuracy", "f1"]


def objective(scoring=None, refit=True, race=None):
    search = MVRSMSearchCV(
        LogisticRegression(), {"C": [1.0]}, scoring=scoring, refit=refit
    )
    scorer, _ = search._get_scorers()
    return Objective(scorer, refit, partial(check_refit, search), race)


def any_scorer(estimator, X, y):
    return 0.0


def fold(scores, *, status="ok", multimetric=True, number=0):
    return FoldScore(0, number, status, scores, multimetric=multimetric)


def test_one_metric_is_called_score():
    one = objective("accuracy")
    one.scored(fold({"score": 0.5}, multimetric=False), {})
    assert (one.names, one.refit_metric, one.multimetric) == (["score"], "score", False)


@pytest.mark.parametrize("refit", [True, False, "anything"])
def test_one_metric_guides_whatever_refit_is(refit):
    assert objective("accuracy", refit).refit_metric == "score"


def test_refit_names_the_guide():
    assert objective(TWO, "f1").refit_metric == "f1"


@pytest.mark.parametrize("refit", [False, lambda results: 0], ids=["False", "callable"])
def test_without_a_name_the_first_metric_guides(refit):
    several = objective(TWO, refit)
    assert (several.names, several.refit_metric) == (TWO, "accuracy")
    assert several.multimetric


def test_metrics_of_a_callable_are_learnt_from_the_first_success():
    callable_ = objective(any_scorer, "b")
    callable_.scored(fold(None, status="error"), {})
    callable_.scored(fold({}, status="error"), {})
    assert callable_.names == ["score"]
    assert np.isnan(callable_.score(Candidate({}, (fold(None, status="error"),))))
    callable_.scored(fold({"a": 1.0, "b": 2.0}), {})
    assert (callable_.names, callable_.refit_metric) == (["a", "b"], "b")
    assert callable_.multimetric
    assert callable_.score(Candidate({}, (fold({"a": 1.0, "b": 2.0}),))) == 2.0


def test_a_dict_with_one_metric_is_several_metrics():
    callable_ = objective(any_scorer, "score")
    callable_.scored(fold({"score": 1.0}), {})
    assert callable_.multimetric


def test_a_number_of_a_callable_is_one_metric():
    callable_ = objective(any_scorer)
    callable_.scored(fold({"score": 1.0}, multimetric=False), {})
    assert not callable_.multimetric


def test_an_impossible_refit_is_refused_at_the_first_success():
    callable_ = objective(any_scorer, True)
    callable_.scored(fold(None, status="timeout"), {})
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        callable_.scored(fold({"a": 1.0, "b": 2.0}), {})


def test_metrics_must_not_change():
    callable_ = objective(any_scorer, "a")
    callable_.scored(fold({"a": 1.0, "b": 2.0}), {})
    callable_.scored(fold({"b": 1.0, "a": 2.0}), {})
    with pytest.raises(ValueError, match=r"same metrics .* \['a'\] after \['a', 'b'\]"):
        callable_.scored(fold({"a": 1.0}), {})


def test_a_metric_that_failed_is_no_change():
    several = objective(TWO, "f1")
    several.scored(fold({"accuracy": 1.0}, status="error"), {})
    assert several.names == TWO


def test_the_value_is_the_negated_mean_of_the_refit_metric():
    several = objective(TWO, "f1")
    folds = (fold({"accuracy": 0.0, "f1": 1.0}), fold({"accuracy": 0.0, "f1": 0.5}))
    assert several.score(Candidate({}, folds)) == 0.75
    assert several.value(0, Candidate({}, folds)) == -0.75
    half = (folds[0], fold({"accuracy": 0.0}, status="error"))
    assert np.isnan(several.value(1, Candidate({}, half)))


def test_a_candidate_asks_nothing_of_the_objective():
    one = objective()
    one.started(0, {"C": 1.0})
    assert one.names == ["score"]


def test_without_a_race_nothing_is_pruned():
    assert not objective().should_prune(9, [fold({"score": -1e9}, multimetric=False)])


def test_a_candidate_that_is_pruned_has_an_estimated_value():
    racing = objective("accuracy", race=Race(0.05))
    for k in range(6):
        racing.started(k, {})
        scores = [0.9 - 0.01 * k, 0.8, 0.7 + 0.003 * k * (-1) ** k]
        folds = tuple(fold({"score": score}, multimetric=False) for score in scores)
        racing.scored(folds[0], {})
        assert racing.value(k, Candidate({}, folds)) == pytest.approx(-np.mean(scores))
    racing.started(6, {})
    bad = fold({"score": 0.4}, multimetric=False)
    assert racing.should_prune(6, [bad])
    skipped = fold(None, status="skipped", multimetric=False)
    value = racing.value(6, Candidate({}, (bad, skipped, skipped)))
    assert value == pytest.approx(-(0.8 - 0.5))


def test_a_failure_is_no_candidate_that_was_pruned():
    racing = objective("accuracy", race=Race(0.05))
    racing.started(0, {})
    assert np.isnan(racing.value(0, Candidate({}, (fold(None, status="error"),))))
