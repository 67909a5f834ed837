"""Laws of a constraint that is known only after the fit."""

import contextlib
import io
import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from estimators import Constant
from sklearn.base import clone
from sklearn.datasets import load_iris

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._search.results import rank_scores
from sklearn_mvrsm.callbacks import JSONLogger, StopAtScore
from sklearn_mvrsm.inspection import (
    CandidatesDisplay,
    ConvergenceDisplay,
    DistributionDisplay,
    ParallelCoordinatesDisplay,
    ParetoDisplay,
    SurrogateDisplay,
    parameters_at_edge,
)
from sklearn_mvrsm.selection import one_standard_error

X, y = load_iris(return_X_y=True)
SPACE = {"level": Real(0.0, 1.0), "seconds": Real(0.0, 1e-6)}
LIMIT = 0.4


def score(estimator, X, y):
    return estimator.level + 0.001 * float(X[0, 0])


def excess(estimator, X, y):
    return estimator.level - LIMIT


def picky(estimator, X, y):
    if estimator.level > 0.6:
        raise ValueError("too high to be measured")
    return math.nan if estimator.level > 0.5 else excess(estimator, X, y)


SCORING = {"score": score, "excess": excess}


def by_row(row):
    return row["mean_test_excess"]


def make(**options):
    named = {"scoring": SCORING, "refit": "score", "constraint": "excess"}
    options = {"n_iter": 12, "cv": 3, "random_state": 0} | named | options
    return MVRSMSearchCV(Constant(), SPACE, **options)


def fitted(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(**options).fit(X, y)


def levels(search):
    return np.array([params["level"] for params in search.cv_results_["params"]])


@pytest.fixture(scope="module")
def search():
    return fitted()


def test_the_best_is_the_best_of_those_that_satisfy_it(search):
    results = search.cv_results_
    feasible = levels(search) <= LIMIT
    assert 0 < feasible.sum() < len(feasible)
    np.testing.assert_allclose(results["constraint"], levels(search) - LIMIT)
    assert search.best_params_["level"] == levels(search)[feasible].max()
    assert search.best_score_ == results["mean_test_score"][feasible].max()
    assert search.best_index_ == results["rank_test_score"].argmin()
    assert search.optimizer_.best_params == search.best_params_
    assert search.optimizer_.best_value == -search.best_score_
    assert search.best_estimator_.level == search.best_params_["level"]


def test_candidates_come_near_the_limit(search):
    assert search.best_params_["level"] > LIMIT - 0.01
    assert (levels(search)[-5:] < LIMIT + 0.1).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_function_of_the_row_is_as_good_as_a_metric(search, n_jobs):
    rows = []

    def constraint(row):
        rows.append(row)
        return by_row(row)

    other = fitted(constraint=constraint, n_jobs=n_jobs)
    assert levels(other).tolist() == levels(search).tolist()
    assert other.best_index_ == search.best_index_
    plain = [
        name
        for name in other.cv_results_
        if not name.startswith(("rank_", "param_")) and name != "constraint"
    ]
    for row in rows:
        k = levels(other).tolist().index(row["params"]["level"])
        assert row == {name: other.cv_results_[name][k] for name in plain}
    assert len(rows) == 12


def test_violations_rank_between_feasible_candidates_and_failures():
    means = np.array([0.9, 0.5, 0.7, np.nan, 0.8, 0.6, 0.4])
    constraint = np.array([2.0, -9.0, 0.0, np.nan, 2.0, np.nan, 1.0])
    failed = np.array([False, False, False, True, False, True, False])
    ranks = rank_scores(means, failed, constraint)
    assert ranks.tolist() == [4, 2, 1, 7, 5, 6, 3]


DISPLAYS = [
    CandidatesDisplay,
    ConvergenceDisplay,
    DistributionDisplay,
    ParallelCoordinatesDisplay,
    ParetoDisplay,
    SurrogateDisplay,
]


@pytest.mark.parametrize("refit", ["score", lambda r: int(r["constraint"].argmin())])
def test_the_least_violation_is_the_best_where_none_satisfies_it(refit, plt):
    search = make(constraint=lambda row: 2.0 - row["params"]["level"], refit=refit)
    with pytest.warns(UserWarning, match="None of the 12 candidates satisfies 'cons"):
        search.fit(X, y)
    assert search.best_params_["level"] == levels(search).max()
    with pytest.raises(ValueError, match="No configuration told satisfies"):
        _ = search.optimizer_.best_params
    for display in DISPLAYS:
        drawn = display.from_estimator(search).plot()
        drawn.figure_.canvas.draw()
        if hasattr(drawn, "failed") and display is not ConvergenceDisplay:
            assert drawn.best == search.best_index_
    assert parameters_at_edge(search)["level"] == "high"
    for source, metric in [(search.optimizer_, None), (search, "excess")]:
        with pytest.raises(ValueError, match="No candidate satisfies the constraint"):
            SurrogateDisplay.from_estimator(source, metric=metric)


def test_unknown_violations_rank_nothing():
    with pytest.warns(UserWarning, match="all are nan. Scores alone rank the cand"):
        search = make(constraint=lambda row: math.nan).fit(X, y)
    assert search.best_params_["level"] == levels(search).max()


@pytest.mark.parametrize(
    "refit",
    [
        lambda results: int(np.argmax(results["mean_test_score"])),
        one_standard_error(by=[("level", "max")]),
    ],
)
def test_a_callable_refit_chooses_among_the_feasible(search, refit):
    other = fitted(refit=refit)
    assert levels(other).tolist() == levels(search).tolist()
    assert other.best_index_ == search.best_index_


def test_what_cannot_be_computed_is_a_failure():
    search = fitted(scoring={"score": score, "excess": picky}, n_iter=20)
    at = levels(search)
    assert (at > 0.6).any()
    assert np.isnan(search.cv_results_["constraint"][at > 0.5]).all()
    assert search.best_params_["level"] == at[at <= LIMIT].max()
    ranks = search.cv_results_["rank_test_score"]
    assert ranks[at > 0.5].min() > ranks[at <= 0.5].max()
    told = {t.params["level"]: t for t in search.optimizer_.trials}
    for level in at:
        assert math.isnan(told[level].value) == (level > 0.5)


@pytest.mark.parametrize("constraint", ["excess", by_row])
def test_a_search_goes_on_from_its_checkpoint(tmp_path, constraint):
    path = tmp_path / "journal"
    whole = fitted(constraint=constraint)
    fitted(constraint=constraint, n_iter=7, checkpoint=path)
    rest = fitted(constraint=constraint, checkpoint=path)
    assert levels(rest).tolist() == levels(whole).tolist()
    for name in ("constraint", "rank_test_score"):
        assert (rest.cv_results_[name] == whole.cv_results_[name]).all()
    with pytest.raises(ValueError, match="constraint"):
        fitted(constraint=lambda row: 0.0, checkpoint=path)
    with pytest.raises(ValueError, match="constraint"):
        fitted(constraint=None, checkpoint=path)


def test_racing_compares_with_the_best_feasible_candidate():
    points = [{"level": at, "seconds": 0.0} for at in (0.3, 0.1, 0.9, 0.2, 0.35, 0.05)]
    search = fitted(racing=True, n_iter=6, n_pending=1, initial_points=points)
    skipped = search.cv_results_["split2_status"] == "skipped"
    assert levels(search)[skipped].tolist() == [0.05]
    assert math.isnan(search.cv_results_["constraint"][5])
    assert search.optimizer_.trials[5].constraint is None
    assert search.best_params_["level"] == 0.35


def test_callbacks_and_the_bar_know_the_best_feasible_candidate(tmp_path):
    pytest.importorskip("tqdm")
    seen, bar = [], io.StringIO()
    callbacks = [seen.append, JSONLogger(tmp_path / "log"), StopAtScore(LIMIT - 0.001)]
    with contextlib.redirect_stderr(bar):
        search = fitted(callback=callbacks, progress=True, n_iter=40)
    at = levels(search)
    assert len(at) < 40  # what is above the limit does not end it
    for k, result in enumerate(seen):
        assert result.constraint == search.cv_results_["constraint"][k]
        feasible = np.flatnonzero(at[: k + 1] <= LIMIT)
        best = feasible[at[feasible].argmax()] if len(feasible) else None
        assert result.best_number == best
    line = json.loads((tmp_path / "log").read_text().splitlines()[0])
    assert line["constraint"] == seen[0].constraint
    assert f"best={search.best_score_:.4g}" in bar.getvalue().split("\r")[-1]


def test_earlier_results_are_known_with_their_constraint(search):
    first = fitted(initial_points=search, n_iter=5, include_default=False)
    order = search.cv_results_["rank_test_score"].argsort()
    assert levels(first).tolist() == levels(search)[order[:5]].tolist()
    pair = ({"level": 0.9, "seconds": 0.0}, 0.9)
    frame = pd.DataFrame(search.cv_results_)
    frame.index += 7
    told = fitted(known_results=[frame, pair], n_iter=2, constraint=by_row)
    trials = told.optimizer_.trials
    constraints = [trial.constraint for trial in trials[:12]]
    np.testing.assert_allclose(constraints, search.cv_results_["constraint"])
    assert trials[12].constraint is None
    assert told.optimizer_.best_value <= -search.best_score_
    plain = MVRSMSearchCV(Constant(), SPACE, n_iter=2, cv=2, scoring=score).fit(X, y)
    with pytest.raises(
        ValueError, match="'known_results' must have 'mean_test_excess'"
    ):
        fitted(known_results={**plain.cv_results_}, refit="score")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraint": "size"}, r"got 'size'; 'scoring' has \['score', 'excess'\]"),
        ({"scoring": None, "refit": True}, "got 'excess'; 'scoring' has only one"),
        ({"constraint": 0.5}, "'constraint' parameter of MVRSMSearchCV must be"),
        ({"constraint": excess}, "'constraint' must be the name of a metric or a fun"),
        ({"constraint": lambda: 0.0}, "'constraint' must be the name of a metric or a"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_fit(options, message, tmp_path):
    search = make(**options)
    search.estimator.folder = str(tmp_path)
    with pytest.raises((TypeError, ValueError), match=message):
        search.fit(X, y)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("value", [True, "a", None, np.bool_(False), [1.0]])
def test_a_function_must_return_a_number(value):
    with pytest.raises(TypeError, match="'constraint' must return a number"):
        fitted(constraint=lambda row: value)


def test_what_a_function_raises_has_the_params():
    with pytest.raises(KeyError) as info:
        fitted(constraint=lambda row: row["mean_test_memory"])
    assert "'constraint' raised this for {'level': " in info.value.__notes__[0]


def test_metrics_of_a_callable_scoring_are_checked_at_the_first_success():
    def all_metrics(estimator, X, y):
        return {name: metric(estimator, X, y) for name, metric in SCORING.items()}

    search = fitted(scoring=all_metrics)
    assert search.best_params_["level"] <= LIMIT
    for scoring in (all_metrics, score):
        with pytest.raises(ValueError, match="got 'size'; 'scoring' has"):
            fitted(scoring=scoring, constraint="size")


def test_it_is_cloned_as_it_is():
    search = make(constraint=by_row)
    assert clone(search).get_params()["constraint"] is by_row
    assert search.set_params(constraint=None).constraint is None


def test_the_published_method_keeps_it_too():
    search = fitted(method="paper", n_initial_points=5, n_iter=20)
    assert search.best_params_["level"] == max(
        at for at in levels(search) if at <= LIMIT
    )


def test_pictures_show_the_best_feasible_candidate(search):
    pytest.importorskip("matplotlib")
    feasible = np.where(levels(search) <= LIMIT, levels(search), np.nan)
    line = ConvergenceDisplay.from_estimator(search)
    means = np.where(feasible >= 0, search.cv_results_["mean_test_score"], np.nan)
    np.testing.assert_array_equal(line.best, np.fmax.accumulate(means))
    assert (
        line.plot().infeasible_.get_label() == f"{np.isnan(feasible).sum()} infeasible"
    )
    tried = CandidatesDisplay.from_estimator(search, metric="excess").plot()
    assert tried.best == np.nanargmax(feasible)
    assert "infeasible (hollow)" in tried.axes_[0].get_title("left")
    assert SurrogateDisplay.from_estimator(search).best == search.best_index_
    value = ConvergenceDisplay.from_estimator(search.optimizer_)
    np.testing.assert_array_equal(value.best, -line.best)
    front = ParetoDisplay.from_estimator(search)
    assert (front.values[front.front, 1] <= 0.0).all()
    assert f"{np.isnan(feasible).sum()} infeasible" in search._repr_html_()
    means = np.sort(means[~np.isnan(means)])
    count = DistributionDisplay.from_estimator(search)
    np.testing.assert_array_equal(count.values[0], means)
    share = 1.0 - (len(means) - 1) / len(feasible)
    assert count.shares[0][0] == pytest.approx(share)


@pytest.mark.parametrize(
    ("display", "argument"),
    [
        (SurrogateDisplay, {"parameters": "level"}),
        (SurrogateDisplay, {"parameters": ["level", "seconds"]}),
        (ParallelCoordinatesDisplay, {}),
        (DistributionDisplay, {}),
        (ParetoDisplay, {}),
        (ParetoDisplay, {"metrics": ["score", "fit_time"]}),
    ],
)
def test_infeasible_candidates_are_told_from_others(search, display, argument, plt):
    drawn = display.from_estimator(search, **argument).plot()
    texts = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    n = int((levels(search) > LIMIT).sum())
    assert any(f"{n} infeasible" in text for text in texts)
    if display is ParallelCoordinatesDisplay:
        assert len(drawn.lines_.get_segments()) == len(levels(search)) - n


def sure(row):
    level = row["params"]["level"]
    return math.nan if level > 0.7 else level - LIMIT


@pytest.mark.parametrize("options", [{}, {"constraint": sure, "n_iter": 8}])
def test_a_study_of_optuna_has_the_constraint(options):
    pytest.importorskip("optuna")
    from sklearn_mvrsm.optuna import to_study

    search = fitted(**options)
    assert to_study(search).best_value == search.best_score_


def test_a_constraint_of_nan_is_a_failure_in_pictures(plt):
    search = fitted(constraint=sure, n_iter=8)
    unknown = levels(search) > 0.7
    assert 0 < unknown.sum() < 8
    scores = CandidatesDisplay.from_estimator(search)
    np.testing.assert_array_equal(scores.failed, unknown)
    np.testing.assert_array_equal(
        scores.infeasible, (levels(search) > LIMIT) & ~unknown
    )
