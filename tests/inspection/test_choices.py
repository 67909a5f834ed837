"""Displays of a choice among models, of optimisers, and of what metrics can be."""

import numpy as np
import pytest
from formulas import Formula, X, fitted, plus, y
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import (
    Integer,
    MVRSMOptimizer,
    MVRSMSearchCV,
    Real,
    minimize,
    spaces,
)
from sklearn_mvrsm.inspection import (
    CandidatesDisplay,
    ConvergenceDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    ParetoDisplay,
    SurrogateDisplay,
    TimelineDisplay,
)

LINEAR, TREE = LogisticRegression(), DecisionTreeClassifier()
C, DEPTH = Real(0.0, 1.0), Integer(1, 12)
CHOICES = {
    "any_of": spaces.any_of({"clf": [(LINEAR, {"C": C}), (TREE, {"depth": DEPTH})]}),
    "list of dicts": [
        {"clf": [LINEAR], "clf__C": C},
        {"clf": [TREE], "clf__depth": DEPTH},
    ],
    "conditions": {
        "clf": [LINEAR, TREE],
        "clf__C": C.when(clf=LINEAR),
        "clf__depth": DEPTH.when(clf=TREE),
    },
}


def model_score(params):
    if isinstance(params["clf"], LogisticRegression):
        return 0.5 + 0.4 * params["clf__C"]
    return 1.0 - 0.05 * abs(params["clf__depth"] - 4)


@pytest.fixture(scope="module", params=CHOICES)
def choice(request):
    return fitted(model_score, CHOICES[request.param], n_iter=30)


def names(display):
    return [axis.name for axis in display.axes]


# --- a choice among models --------------------------------------------------------


def test_the_choice_is_an_axis_with_the_names_of_classes(choice, plt):
    display = ParallelCoordinatesDisplay.from_estimator(choice).plot()
    assert names(display) == ["clf", "clf__C", "clf__depth"]
    assert display.axes[0].ticks == ("LogisticRegression", "DecisionTreeClassifier")
    is_tree = [params["clf"] is TREE for params in choice.cv_results_["params"]]
    assert np.array_equal(display.values[:, 0], is_tree)
    assert set(ImportanceDisplay.from_estimator(choice).names) == set(names(display))


def test_the_best_candidate_of_each_model_is_in_the_picture(plt):
    def score(params):
        is_tree = isinstance(params["clf"], DecisionTreeClassifier)
        return 0.1 if is_tree else 0.95 + 0.01 * params["clf__C"]

    made = fitted(score, CHOICES["any_of"], n_iter=20)
    display = CandidatesDisplay.from_estimator(made).plot()
    assert display.axes_[0].get_ylim()[0] < 0.1


@pytest.mark.parametrize("parameters", ["clf", ["clf"], None])
def test_each_model_is_shown_at_its_own_best_candidate(choice, parameters, plt):
    display = SurrogateDisplay.from_estimator(choice, parameters).plot()
    assert names(display) == ["clf"]  # and never with what depends on it
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["LogisticRegression", "DecisionTreeClassifier"]
    best = [np.nanmax(display.scores[display.values[:, 0] == k]) for k in (0, 1)]
    assert display.mean == pytest.approx(best, abs=0.05)


@pytest.mark.parametrize("name", ["clf__C", "clf__depth"])
def test_a_slice_goes_through_the_best_candidate_of_its_model(choice, name):
    display = SurrogateDisplay.from_estimator(choice, name)
    params = choice.cv_results_["params"]
    has = [k for k, each in enumerate(params) if name in each]
    assert display.centre == max(has, key=lambda k: display.scores[k])
    truth = [
        model_score({**params[display.centre], name: value})
        for value in display.grid[0]
    ]
    assert display.mean == pytest.approx(truth, abs=0.15)


def test_a_model_that_was_not_tried_is_still_an_axis_value():
    models = [(LINEAR, {"C": C}), (TREE, {"depth": DEPTH}), (SVC(), {"C": C})]
    space = spaces.any_of({"scale": [("a", {}), ("b", {})], "clf": models})
    tried = [{"scale": "a", "clf": LINEAR, "clf__C": value} for value in (0.1, 0.9)]
    made = fitted(model_score, space, n_iter=2, initial_points=tried)
    display = SurrogateDisplay.from_estimator(made, ["clf", "scale"])
    assert display.axes[0].ticks[2] == "SVC"
    assert np.isfinite(display.mean).all()


def test_dicts_that_share_a_model_share_its_name():
    svc = SVC()
    space = [
        {"clf": [svc], "clf__kernel": ["linear"]},
        {"clf": [svc], "clf__kernel": ["rbf", "poly"], "clf__gamma": Real(0, 1)},
        {"clf": [KNeighborsClassifier()]},
    ]
    made = fitted(lambda params: params.get("clf__gamma", 0.5), space, n_iter=20)
    display = ParallelCoordinatesDisplay.from_estimator(made)
    assert names(display) == ["clf", "clf__kernel", "clf__gamma"]
    assert display.axes[0].ticks == ("SVC", "KNeighborsClassifier")
    assert display.axes[1].ticks == ("linear", "rbf", "poly")
    surrogate = SurrogateDisplay.from_estimator(made, "clf__kernel")
    assert np.isfinite(surrogate.mean).all()


def test_models_that_are_written_alike_are_numbered_where_nothing_else_shows_them():
    models = [(SVC(), {"C": C}), (SVC(), {"gamma": Real(0, 1)})]
    made = fitted(lambda params: 1.0, spaces.any_of({"clf": models}), n_iter=8)
    display = ParallelCoordinatesDisplay.from_estimator(made)
    assert names(display) == ["clf", "clf__C", "clf__gamma"]
    assert display.axes[0].ticks == ("SVC #0", "SVC #1")


def test_two_choices_are_told_apart_by_their_importance():
    def score(params):
        is_tree = isinstance(params["clf"], DecisionTreeClassifier)
        return 2.0 * is_tree + 1.0 * (params["scale"] == "b")

    models = [(LINEAR, {}), (TREE, {"depth": DEPTH})]
    space = spaces.any_of({"scale": [("a", {}), ("b", {})], "clf": models})
    display = ImportanceDisplay.from_estimator(fitted(score, space, n_iter=40))
    assert display.names == ("clf", "scale", "clf__depth")
    assert display.total == pytest.approx([0.8, 0.2, 0.0], abs=0.06)
    assert display.first_order == pytest.approx([0.8, 0.2, 0.0], abs=0.06)


def test_a_choice_that_is_not_free_of_another_one_is_still_told_apart():
    def score(params):
        return 2.0 * isinstance(params["clf"], DecisionTreeClassifier)

    space = [
        {"prepare": ["full"], "clf": [LINEAR], "clf__C": C},
        {"prepare": ["full", "plain"], "clf": [TREE], "clf__depth": DEPTH},
    ]
    made = fitted(score, space, n_iter=40)
    display = ImportanceDisplay.from_estimator(made)
    assert display.names[0] == "clf"
    assert display.total[0] == pytest.approx(1.0, abs=0.05)
    surrogate = SurrogateDisplay.from_estimator(made, ["clf", "prepare"])
    assert np.isnan(surrogate.mean).tolist() == [[False, True], [False, False]]


def test_a_parameter_and_what_depends_on_it_are_not_the_default_picture():
    space = {"kind": ["a", "b"], "x": Real(0, 1).when(kind="b"), "z": Real(0, 1)}
    made = fitted(
        lambda p: 5.0 * (p["kind"] == "b") + 3.0 * p.get("x", 0) + 0.1 * p["z"],
        space,
        n_iter=40,
    )
    assert ImportanceDisplay.from_estimator(made).names == ("kind", "x", "z")
    assert names(SurrogateDisplay.from_estimator(made)) == ["kind", "z"]


# --- what a metric can be ---------------------------------------------------------


def near_one(scoring, estimator=None, sign=1.0):
    """Fit a search whose surrogate goes beyond 1 between its candidates."""
    space = {"x": Real(0.0, 1.0)}
    points = [{"x": value} for value in (0.0, 0.3, 0.42, 0.58, 0.7, 1.0)]
    search = fitted(
        lambda params: sign * (1.0 - 20.0 * max(0.0, abs(params["x"] - 0.5) - 0.08)),
        space,
        n_iter=6,
        initial_points=points,
    )
    search.scoring = scoring
    search.scorer_ = make_scorer(accuracy_score) if scoring == "made" else scoring
    return search


@pytest.mark.parametrize("scoring", [make_scorer(accuracy_score), plus])
def test_expectations_are_cut_where_the_metric_is_known_to_end(scoring):
    search = near_one(scoring)
    search.cv_results_["mean_test_score"] = np.maximum(
        search.cv_results_["mean_test_score"], 0.0
    )
    display = SurrogateDisplay.from_estimator(search)
    free, _ = search.optimizer_.predict([[x] for x in display.grid[0]])
    assert -free.min() > 1.0
    assert display.mean.max() == (1.0 if scoring is not plus else -free.min())


@pytest.mark.parametrize(
    ("scoring", "bounds"),
    [
        ("accuracy", (0, 1)),
        ("roc_auc", (0, 1)),
        ("f1_macro", (0, 1)),
        ("matthews_corrcoef", (-1, 1)),
        ("r2", (-np.inf, 1)),
        ("neg_log_loss", (-np.inf, 0)),
        ("neg_root_mean_squared_error", (-np.inf, 0)),
        (None, (-np.inf, np.inf)),  # its class has a score of its own
        (plus, (-np.inf, np.inf)),
    ],
)
def test_the_ends_of_metrics(scoring, bounds):
    from sklearn.metrics import check_scoring

    made = fitted(lambda params: params["x"] - 1.0, {"x": Real(0, 1)}, n_iter=3)
    made.cv_results_["mean_test_score"] = np.zeros(3)
    made.scoring, made.scorer_ = scoring, check_scoring(Formula(), scoring=scoring)
    assert SurrogateDisplay.from_estimator(made).bounds == bounds


def test_the_default_score_of_a_pipeline_is_known():
    pipeline = Pipeline([("clf", LogisticRegression())])
    search = MVRSMSearchCV(pipeline, {"clf__C": Real(0.1, 1)}, n_iter=2, cv=2)
    assert SurrogateDisplay.from_estimator(search.fit(X, y)).bounds == (0, 1)


def test_scores_beyond_the_ends_of_their_metric_are_believed():
    made = fitted(lambda params: 2.0 * params["x"], {"x": Real(0, 1)}, n_iter=5)
    made.scoring, made.scorer_ = "accuracy", make_scorer(accuracy_score)
    assert made.cv_results_["mean_test_score"].max() > 1.0
    assert SurrogateDisplay.from_estimator(made).bounds == (-np.inf, np.inf)


# --- optimisers -------------------------------------------------------------------

SPACE = {"x": Real(0.0, 1.0), "kind": ["a", "b"]}


def value(params):
    if params["x"] > 0.9:
        return np.nan
    return 1.0 + (params["x"] - 0.3) ** 2 + (params["kind"] == "b")


def told():
    optimizer = MVRSMOptimizer(SPACE, random_state=0)
    for _ in range(20):
        params = optimizer.ask()
        optimizer.tell(params, value(params))
    return optimizer


@pytest.fixture(
    scope="module", params=[told, lambda: minimize(value, SPACE, 20, random_state=0)]
)
def optimised(request):
    return request.param()


@pytest.mark.parametrize(
    "display",
    [
        CandidatesDisplay,
        ConvergenceDisplay,
        ParallelCoordinatesDisplay,
        ImportanceDisplay,
        SurrogateDisplay,
    ],
)
def test_optimisers_and_results_of_minimize_are_drawn(display, optimised, plt):
    drawn = display.from_estimator(optimised).plot(figsize=(3.0, 2.5))
    assert drawn.label == "value"
    assert drawn.figure_.get_size_inches().tolist() == [3.0, 2.5]
    drawn.figure_.canvas.draw()


def test_lower_values_are_better(optimised):
    display = ConvergenceDisplay.from_estimator(optimised)
    best = getattr(optimised, "fun", None) or optimised.best_value
    assert display.best[-1] == best == np.nanmin(display.scores)
    assert (np.diff(display.best) <= 0.0).all()
    surrogate = SurrogateDisplay.from_estimator(optimised, "x")
    assert surrogate.best == np.nanargmin(surrogate.scores)
    assert surrogate.grid[0][surrogate.mean.argmin()] == pytest.approx(0.3, abs=0.1)
    importance = ImportanceDisplay.from_estimator(optimised)
    assert importance.names[0] == "kind"


def test_an_optimiser_has_one_metric_and_only_a_result_has_times(optimised, plt):
    with pytest.raises(ValueError, match=r"'metric' must be one of \['value'\]"):
        ConvergenceDisplay.from_estimator(optimised, metric="score")
    if not isinstance(optimised, MVRSMOptimizer):
        assert len(TimelineDisplay.from_estimator(optimised).slot) == 20
        display = ParetoDisplay.from_estimator(optimised).plot()
        assert display.labels == ("value", "time of the evaluation (s)")
        known = np.isfinite(optimised.func_vals)
        assert np.array_equal(display.values[known, 0], optimised.func_vals[known])
        assert (display.values[known, 1] > 0.0).all()
        assert np.isnan(display.values[~known]).all()
        assert {np.nanargmin(column) for column in display.values.T} <= {*display.front}
        named = r"'metrics' must be two of \['value', 'fit_time'\], got 'time'"
        with pytest.raises(ValueError, match=named):
            ParetoDisplay.from_estimator(optimised, ["value", "time"])
        return
    with pytest.raises(TypeError, match="TimelineDisplay needs a fitted MVRSMSearchCV"):
        TimelineDisplay.from_estimator(optimised)


def test_an_optimiser_without_values_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="must be told a value"):
        SurrogateDisplay.from_estimator(MVRSMOptimizer(SPACE))


# --- several searches -------------------------------------------------------------


def test_several_searches_are_one_mean_with_its_spread(plt):
    seeds = [
        fitted(lambda params: params["x"], {"x": Real(0, 1)}, n, random_state=n)
        for n in (5, 9)
    ]
    display = ConvergenceDisplay.from_estimator(seeds, name="ours").plot()
    assert display.best.shape == (2, 9)
    assert display.best[0, 4:].tolist() == [seeds[0].best_score_] * 5
    mean = display.line_.get_ydata()
    assert mean[-1] == pytest.approx((seeds[0].best_score_ + seeds[1].best_score_) / 2)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["ours", "± a standard deviation"]
    again = ConvergenceDisplay.from_estimator(seeds[:1], name="one").plot(display.ax_)
    assert again.band_ is None
    with pytest.raises(ValueError, match="'search' must have at least one search"):
        ConvergenceDisplay.from_estimator([])


def test_points_and_the_end_of_the_random_part_are_in_the_legend(plt):
    made = fitted(lambda p: p["x"], {"x": Real(0, 1)}, 8, n_initial_points=5)
    display = ConvergenceDisplay.from_estimator(made).plot()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["MVRSMSearchCV", "candidates", "end of the 5 initial candidates"]
    assert display.initial_.get_xdata()[0] == 5.5
