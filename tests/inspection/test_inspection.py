"""Displays: the arrays they hold, for searches of every kind, and that they draw."""

import sys

import numpy as np
import pytest
from formulas import Formula, X, fitted, minus, plus, y
from scipy.optimize import OptimizeResult
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from sklearn_mvrsm import Integer, MVRSMOptimizer, MVRSMSearchCV, Ordinal, Real
from sklearn_mvrsm.inspection import (
    CandidatesDisplay,
    ConvergenceDisplay,
    DistributionDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    ParetoDisplay,
    SurrogateDisplay,
    TimelineDisplay,
    parameters_at_edge,
)

DISPLAYS = [
    DistributionDisplay,
    ConvergenceDisplay,
    ParallelCoordinatesDisplay,
    ImportanceDisplay,
    SurrogateDisplay,
    CandidatesDisplay,
    TimelineDisplay,
    ParetoDisplay,
]


def mixed_score(params):
    if params["depth"] == 7:
        raise ValueError("seven is refused")
    rate = params.get("rate", 0.1)
    return (
        {"tree": 0.5, "linear": 0.0, "deep": 0.3}[params["kind"]]
        + 0.1 * params["x"]
        - abs(np.log10(rate) + 1) / 10
    )


MIXED = {
    "kind": ["tree", "linear", "deep"],
    "x": Real(0.0, 1.0),
    "depth": Integer(1, 9),
    "rate": Real(1e-3, 1.0, log=True).when(kind=["tree", "deep"]),
    "leaves": Integer(2, 500, log=True).when(kind="deep"),
    "size": Ordinal([8, 64, 512]),
    "flag": [True, False],
}


@pytest.fixture(scope="module")
def mixed():
    return fitted(mixed_score, MIXED, n_iter=40)


@pytest.fixture(scope="module")
def wide():
    space = {
        f"step__{k}": Real(0.0, 1.0) if k % 2 else Integer(0, 9) for k in range(130)
    }
    return fitted(lambda params: params["step__1"] - params["step__3"], space, 40)


@pytest.fixture(scope="module")
def several():
    space = {"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}
    return fitted(
        lambda params: 2 * params["x"] + params["y"],
        space,
        scoring={"up": plus, "down": minus},
        refit=False,
    )


@pytest.fixture(scope="module")
def single():
    return fitted(lambda params: params["rate"], {"rate": Real(1e-3, 1.0, log=True)}, 9)


@pytest.fixture(scope="module")
def alternatives():
    space = [
        {"alpha": Real(1e-3, 1.0, log=True), "scale": ["no", "yes"]},
        {"alpha": Real(1e-2, 10.0, log=True), "steps": Integer(1, 5)},
    ]
    return fitted(lambda params: -(np.log10(params["alpha"]) ** 2), space, 20)


@pytest.fixture(scope="module")
def raced():
    space = {"x": Real(0, 1), "kind": ["a", "b"]}
    return fitted(lambda p: p["x"], space, 30, cv=4, racing=True)


every_search = pytest.mark.parametrize(
    "name", ["mixed", "wide", "several", "single", "alternatives", "raced"]
)
every_display = pytest.mark.parametrize(
    "display", DISPLAYS, ids=[display.__name__ for display in DISPLAYS]
)


def read(search, function):
    return np.array([function(params) for params in search.cv_results_["params"]])


# --- all displays ---------------------------------------------------------------


@every_search
@every_display
def test_every_display_draws_every_search_on_new_axes(display, name, request, plt):
    drawn = display.from_estimator(request.getfixturevalue(name))
    assert not plt.get_fignums()  # nothing is drawn before it is asked for
    assert drawn.plot() is drawn
    assert drawn.ax_.figure is drawn.figure_
    drawn.figure_.canvas.draw()


@every_display
def test_a_new_figure_has_the_size_that_is_asked_for(display, single, plt):
    drawn = display.from_estimator(single).plot(figsize=(4.0, 3.0))
    assert drawn.figure_.get_size_inches().tolist() == [4.0, 3.0]


@every_display
def test_given_axes_are_drawn_on(display, mixed, plt):
    figure, ax = plt.subplots()
    drawn = display.from_estimator(mixed).plot(ax=ax)
    assert drawn.ax_ is ax
    assert drawn.figure_ is figure
    assert plt.get_fignums() == [figure.number]


@every_display
def test_a_search_without_results_is_refused(display):
    with pytest.raises(NotFittedError, match="must be fitted"):
        display.from_estimator(MVRSMSearchCV(Formula(), {"x": [1]}))


@pytest.mark.parametrize("display", DISPLAYS[2:7])
def test_another_search_than_ours_lacks_what_is_needed(display):
    grid = GridSearchCV(Formula(lambda params: 1.0), {"x": [1]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match="needs a fitted MVRSMSearchCV, got GridSea"):
        display.from_estimator(grid)


@every_display
@pytest.mark.parametrize("source", ["x", SVC(), OptimizeResult(x=1.0)])
def test_what_is_no_search_is_refused_by_name(display, source):
    given = f"{display.__name__} needs a fitted .*, got {type(source).__name__}[,;]"
    with pytest.raises(TypeError, match=given):
        display.from_estimator(source)


@pytest.mark.parametrize("display", DISPLAYS[:6])
def test_an_unknown_metric_is_refused(display, several):
    with pytest.raises(ValueError, match=r"'metric' must be one of .* got 'left'"):
        display.from_estimator(several, metric="left")


@every_display
def test_without_matplotlib_the_arrays_are_there(display, single, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    drawn = display.from_estimator(single)
    with pytest.raises(ImportError, match=rf"{display.__name__}.plot needs matplotlib"):
        drawn.plot()


@pytest.mark.parametrize("display", DISPLAYS[2:6])
def test_a_space_without_parameters_has_nothing_to_show(display):
    made = fitted(lambda params: 1.0, {}, n_iter=1)
    with pytest.raises(ValueError, match="without parameters has nothing to show"):
        display.from_estimator(made)


# --- convergence ----------------------------------------------------------------


def test_the_best_so_far_never_falls_and_ends_at_the_best_score(mixed):
    display = ConvergenceDisplay.from_estimator(mixed)
    known = display.best[~np.isnan(display.best)]
    assert (np.diff(known) >= 0).all()
    assert known[-1] == mixed.best_score_


def test_failures_have_no_score(mixed):
    display = ConvergenceDisplay.from_estimator(mixed)
    depth = read(mixed, lambda params: params["depth"])
    assert (depth == 7).any()
    assert np.array_equal(display.failed, depth == 7)
    assert np.array_equal(
        display.scores, mixed.cv_results_["mean_test_score"], equal_nan=True
    )


def test_candidates_that_were_given_up_have_no_score_but_did_not_fail(raced, plt):
    skipped = raced.cv_results_["split3_status"] == "skipped"
    assert 0 < skipped.sum() < 30
    for display in (ConvergenceDisplay, ParallelCoordinatesDisplay):
        drawn = display.from_estimator(raced).plot()
        assert np.array_equal(np.isnan(drawn.scores), skipped)
        assert not drawn.failed.any()
        texts = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
        assert f"{skipped.sum()} given up" in texts
    timeline = TimelineDisplay.from_estimator(raced)
    assert np.isfinite(timeline.finish).all()
    surrogate = SurrogateDisplay.from_estimator(raced, ["x"])
    assert np.isnan(surrogate.scores).sum() == skipped.sum()
    assert not surrogate.failed.any()


def test_another_metric_is_learnt_without_candidates_that_were_given_up():
    made = fitted(
        lambda p: p["x"],
        {"x": Real(0, 1)},
        20,
        cv=4,
        racing=True,
        scoring={"up": plus, "down": minus},
        refit="up",
    )
    assert np.isnan(made.cv_results_["mean_test_down"]).any()
    display = SurrogateDisplay.from_estimator(made, metric="down")
    known = display.grid[0] > 0.8
    assert display.mean[known] == pytest.approx(-display.grid[0][known], abs=0.1)


def test_a_number_that_stands_for_failures_is_no_score():
    failing = fitted(mixed_score, MIXED, n_iter=40, error_score=-1.0)
    assert np.isfinite(failing.cv_results_["mean_test_score"]).all()
    display = ConvergenceDisplay.from_estimator(failing)
    depth = read(failing, lambda params: params["depth"])
    assert np.array_equal(display.failed, depth == 7)


def test_nothing_is_best_before_the_first_success():
    def failing_first(params):
        if params["x"] == 0:
            raise ValueError
        return 1.0

    made = fitted(
        failing_first,
        {"x": [0, 1]},
        n_iter=2,
        initial_points=[{"x": 0}, {"x": 1}],
    )
    display = ConvergenceDisplay.from_estimator(made)
    assert np.isnan(display.best[0])
    assert display.best[1] == 1.0


def test_each_metric_has_its_own_curve(several):
    value = read(several, lambda params: 2 * params["x"] + params["y"])
    for metric, sign in [(None, 1), ("up", 1), ("down", -1)]:
        display = ConvergenceDisplay.from_estimator(several, metric=metric)
        assert display.scores == pytest.approx(sign * value)


def test_searches_of_scikit_learn_are_understood():
    grid = GridSearchCV(Formula(lambda params: params["x"]), {"x": [1, 3, 2]}, cv=2)
    display = ConvergenceDisplay.from_estimator(grid.fit(X, y))
    assert display.best.tolist() == [1.0, 3.0, 3.0]
    assert display.name == "GridSearchCV"


def test_searches_on_one_axes_differ_in_colour_and_row_of_failures(mixed, single, plt):
    first = ConvergenceDisplay.from_estimator(mixed, name="one").plot()
    second = ConvergenceDisplay.from_estimator(mixed, name="two").plot(first.ax_)
    assert first.line_.get_color() != second.line_.get_color()
    assert first.failures_.get_ydata()[0] != second.failures_.get_ydata()[0]
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert [text for text in texts if "failed" not in text] == ["one", "two"]


def test_scores_that_would_flatten_the_picture_are_counted(plt):
    made = fitted(
        lambda params: -1e9 if params["x"] > 0.8 else -params["x"],
        {"x": Real(0, 1)},
        n_iter=20,
    )
    display = ConvergenceDisplay.from_estimator(made).plot()
    low, high = display.ax_.get_ylim()
    hidden = (display.scores < low).sum()
    assert hidden == (display.scores == -1e9).sum() > 0
    assert high - low < 20
    assert display.ax_.get_title() == f"{hidden} lower scores are not shown"


# --- distribution ---------------------------------------------------------------


def test_failures_are_worse_than_every_score_of_the_distribution(mixed, raced, plt):
    made = MVRSMSearchCV(mixed.estimator, mixed.param_space)
    made.cv_results_ = {"params": [{}] * 4, "mean_test_score": [2.0, np.nan, 1.0, 2.0]}
    optimizer = MVRSMOptimizer({"x": [0, 1, 2, 3]})
    for x, value in enumerate(made.cv_results_["mean_test_score"]):
        optimizer.tell({"x": x}, value)
    for source, shares in [(made, [0.5, 0.75, 1.0]), (optimizer, [0.25, 0.5, 0.75])]:
        display = DistributionDisplay.from_estimator(source, names="one").plot()
        assert display.values[0].tolist() == [1.0, 2.0, 2.0]
        assert display.shares[0].tolist() == shares
        (line,) = display.lines_
        assert line.get_label() == "one (1 failed)"
        ends = line.get_ydata()[[0, -1]].tolist()
        assert ends == [0.25 if source is made else 0.0, shares[-1]]
    several = DistributionDisplay.from_estimator([mixed, raced, made]).plot()
    assert several.names == tuple(f"MVRSMSearchCV {k}" for k in (1, 2, 3))
    assert [len(each) for each in several.values] == [
        np.isfinite(each.cv_results_["mean_test_score"]).sum()
        for each in (mixed, raced, made)
    ]
    assert "given up)" in several.lines_[1].get_label()
    other = DistributionDisplay.from_estimator(made).plot(display.ax_)
    assert other.lines_[0].get_color() != display.lines_[0].get_color()
    with pytest.raises(ValueError, match=r"'names' must have a name for each of 2 sea"):
        DistributionDisplay.from_estimator([made, made], names=["one"])
    with pytest.raises(ValueError, match="'search' must have one metric, got"):
        DistributionDisplay.from_estimator([made, optimizer])


def test_most_of_each_distribution_is_in_the_picture(single, plt):
    made = [MVRSMSearchCV(single.estimator, single.param_space) for _ in range(2)]
    for search, scale in zip(made, (1e-3, 1.0), strict=True):
        scores = -scale * np.arange(20.0)
        search.cv_results_ = {"params": [{}] * 20, "mean_test_score": scores}
    display = DistributionDisplay.from_estimator(made).plot()
    low, high = display.ax_.get_xlim()
    assert low < -19.0
    assert high > 0.0


# --- parallel coordinates -------------------------------------------------------


def test_values_are_placed_on_axes_and_absent_ones_are_nan(mixed):
    display = ParallelCoordinatesDisplay.from_estimator(mixed)
    assert [axis.name for axis in display.axes] == list(MIXED)
    column = {axis.name: display.values[:, k] for k, axis in enumerate(display.axes)}
    rate = read(mixed, lambda params: params.get("rate", np.nan))
    assert np.array_equal(column["rate"], rate, equal_nan=True)
    kinds = ["tree", "linear", "deep"]
    assert np.array_equal(
        column["kind"], read(mixed, lambda params: kinds.index(params["kind"]))
    )
    assert np.array_equal(
        column["size"], read(mixed, lambda params: [8, 64, 512].index(params["size"]))
    )
    assert display.best == mixed.best_index_


def test_axes_have_the_scale_and_ticks_of_their_parameters(mixed):
    display = ParallelCoordinatesDisplay.from_estimator(mixed)
    axis = {axis.name: axis for axis in display.axes}
    assert [name for name in axis if axis[name].log] == ["rate", "leaves"]
    assert axis["kind"].ticks == ("tree", "linear", "deep")
    assert axis["flag"].ticks == ("True", "False")
    assert axis["depth"].ticks == ()
    assert (axis["leaves"].low, axis["leaves"].high) == (2, 500)
    middle = np.sqrt(1e-3 * 1.0)
    assert axis["rate"].share(np.array([1e-3, middle, 1.0])) == pytest.approx(
        [0.0, 0.5, 1.0]
    )


def test_of_many_parameters_the_most_important_are_shown_and_that_is_said(wide, plt):
    display = ParallelCoordinatesDisplay.from_estimator(wide, max_parameters=6).plot()
    names = [axis.name for axis in display.axes]
    assert len(names) == 6
    assert {"step__1", "step__3"} <= set(names)
    assert display.n_parameters == 130
    assert display.ax_.get_title() == "6 most important of 130 parameters"


def test_alternatives_share_the_axes_that_mean_the_same(alternatives):
    display = ParallelCoordinatesDisplay.from_estimator(alternatives)
    names = [axis.name for axis in display.axes]
    assert names == ["(alternative)", "alpha", "scale", "steps"]
    assert not np.isnan(display.values[:, 1]).any()
    assert (np.isnan(display.values[:, 2]) != np.isnan(display.values[:, 3])).all()


def test_the_same_name_with_another_meaning_gets_another_axis():
    space = [{"x": Real(0, 1)}, {"x": ["none", "all"]}]
    made = fitted(lambda params: float(isinstance(params["x"], str)), space)
    display = ParallelCoordinatesDisplay.from_estimator(made)
    assert [axis.name for axis in display.axes] == ["(alternative)", "x [0]", "x [1]"]


def test_values_that_look_alike_have_different_ticks():
    long = ["a" * 30 + "1", "a" * 30 + "2"]
    space = {"x": long, "y": [Formula, np.mean, Formula(), Formula(len)]}
    display = ParallelCoordinatesDisplay.from_estimator(fitted(lambda p: 1.0, space))
    for axis in display.axes:
        assert len(set(axis.ticks)) == len(axis.ticks)
        assert max(map(len, axis.ticks)) <= 24


# --- importance -----------------------------------------------------------------


def test_known_importances_are_found():
    made = fitted(
        lambda params: 3 * params["x"] + params["y"] + (params["kind"] == "b"),
        {
            "none": Real(0, 1),
            "y": Real(0, 1),
            "x": Real(0, 1),
            "kind": ["a", "b"],
        },
        n_iter=60,
    )
    display = ImportanceDisplay.from_estimator(made)
    variances = {"x": 9 / 12, "y": 1 / 12, "kind": 1 / 4, "none": 0.0}
    shares = {name: each / (13 / 12) for name, each in variances.items()}
    assert display.names == ("x", "kind", "y", "none")
    expected = [shares[name] for name in display.names]
    assert display.total == pytest.approx(expected, abs=0.05)
    assert display.first_order == pytest.approx(expected, abs=0.05)


def test_a_conditional_parameter_counts_as_often_as_it_exists():
    made = fitted(
        lambda params: 2 * params.get("y", 0.0),
        {"kind": ["a", "b"], "y": Real(0, 1).when(kind="b"), "none": Real(0, 1)},
        n_iter=60,
    )
    display = ImportanceDisplay.from_estimator(made)
    assert display.names == ("kind", "y", "none")
    assert display.total == pytest.approx([0.8, 0.4, 0.0], abs=0.1)
    assert display.first_order == pytest.approx([0.6, 0.2, 0.0], abs=0.1)


def test_importances_of_another_metric_come_from_a_surrogate_of_it():
    made = fitted(
        lambda params: params,
        {"x": Real(0, 1), "y": Real(0, 1)},
        n_iter=30,
        scoring={
            "x": lambda estimator, X, y: estimator.score_["x"],
            "y": lambda estimator, X, y: estimator.score_["y"],
        },
        refit="x",
    )
    assert ImportanceDisplay.from_estimator(made).names == ("x", "y")
    assert ImportanceDisplay.from_estimator(made, metric="y").names == ("y", "x")


def test_the_most_important_of_many_come_first_and_that_is_said(wide, plt):
    display = ImportanceDisplay.from_estimator(wide).plot(max_parameters=10)
    assert set(display.names[:2]) == {"step__1", "step__3"}
    assert len(display.names) == 130
    assert len(display.ax_.get_yticklabels()) == 10
    assert "10 of 130 parameters" in display.ax_.get_title()


def test_a_constant_surrogate_has_no_important_parameter(plt):
    made = fitted(lambda params: 1.0, {"x": Real(0, 1)}, n_iter=5)
    display = ImportanceDisplay.from_estimator(made).plot()
    assert display.total.tolist() == [0.0]
    assert "constant" in display.ax_.get_title()


@pytest.mark.parametrize("n_samples", [0, 1, 100])
def test_samples_that_are_no_power_of_two_are_refused(single, n_samples):
    with pytest.raises(ValueError, match="'n_samples' must be a power of two"):
        ImportanceDisplay.from_estimator(single, n_samples=n_samples)


def test_the_published_surrogate_has_importances_too(plt):
    made = fitted(
        lambda params: 5 * params["x"] + params["k"],
        {"k": Integer(0, 3), "x": Real(0, 3)},
        method="paper",
    )
    assert ImportanceDisplay.from_estimator(made).names == ("x", "k")
    display = SurrogateDisplay.from_estimator(made, ["x"]).plot()
    assert np.isnan(display.std).all()


# --- timeline -------------------------------------------------------------------


def test_a_timeline_is_the_log_of_the_fits(mixed):
    display = TimelineDisplay.from_estimator(mixed)
    log = mixed.fit_log_
    for name in ("slot", "start", "finish", "status", "candidate", "fold"):
        assert np.array_equal(getattr(display, name), log[name])
    assert 0.0 < display.busy <= 1.0


def with_log(mixed, **columns):
    made = MVRSMSearchCV(mixed.estimator, mixed.param_space)
    vars(made).update(vars(mixed))
    made.fit_log_ = {name: np.array(column) for name, column in columns.items()}
    return made


STOPPED = {
    "candidate": [0, 0, 0, 1, 1, 1, -1],
    "fold": [0, 1, 2, 0, 1, 2, 0],
    "status": ["ok", "timeout", "skipped", "ok", "error", "ok", "crashed"],
    "slot": [0, 1, -1, 0, 2, 0, 1],
    "start": [0.0, 0.0, np.nan, 100.0, 10.0, 500.0, 600.0],
    "finish": [100.0, 400.0, np.nan, 200.0, 600.0, 600.0, 700.0],
}


def test_a_skipped_fit_is_given_up_when_its_candidate_ends(mixed):
    display = TimelineDisplay.from_estimator(with_log(mixed, **STOPPED))
    assert display.finish[2] == display.start[2] == 400.0


def test_fits_that_ran_in_vain_have_bars(mixed, plt):
    stopped = {name: list(column) for name, column in STOPPED.items()}
    for name, values in {
        "candidate": [0, 0],
        "fold": [3, 4],
        "status": ["killed", "skipped"],
        "slot": [2, 2],
        "start": [0.0, 300.0],
        "finish": [200.0, 500.0],
    }.items():
        stopped[name] += values
    display = TimelineDisplay.from_estimator(with_log(mixed, **stopped)).plot()
    assert display.start[-2:].tolist() == [0.0, 300.0]
    assert display.finish[-2:].tolist() == [200.0, 500.0]
    assert display.finish[2] == 400.0  # given up when the fit that ended it did
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[-3:] == ["1 killed", "1 in vain", "1 skipped"]
    assert display.busy == pytest.approx((300 + 500 + 590 + 400) / (3 * 700))


def test_fits_of_an_earlier_session_are_counted_but_have_no_place(mixed, plt):
    resumed = {name: list(column) for name, column in STOPPED.items()}
    for name, value in {"slot": -1, "start": np.nan, "finish": np.nan}.items():
        resumed[name][:3] = [value] * 3
    display = TimelineDisplay.from_estimator(with_log(mixed, **resumed)).plot()
    assert "2 more fits of an earlier session" in display.ax_.get_title()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["2 ok", "1 error", "1 crashed", "1 skipped"]


def test_slots_are_busy_while_they_run_fits(mixed):
    display = TimelineDisplay.from_estimator(with_log(mixed, **STOPPED))
    assert display.busy == pytest.approx((300 + 500 + 590) / (3 * 700))


def test_what_became_of_fits_is_told_in_the_legend(mixed, plt):
    display = TimelineDisplay.from_estimator(with_log(mixed, **STOPPED)).plot()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["3 ok", "1 error", "1 timeout", "1 crashed", "1 skipped"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "skipped",
        "slot 0",
        "slot 1",
        "slot 2",
    ]
    assert display.ax_.get_xlabel() == "minutes since the search began"
    assert display.skips_.get_xdata().tolist() == [400.0 / 60.0]


def test_a_search_none_of_whose_fits_ran_has_an_empty_timeline(mixed, plt):
    nothing = {name: column[:0] for name, column in STOPPED.items()}
    display = TimelineDisplay.from_estimator(with_log(mixed, **nothing)).plot()
    assert np.isnan(display.busy)
    assert display.bars_ == {}


# --- candidates -----------------------------------------------------------------


def test_every_candidate_is_a_point_for_each_parameter_that_it_has(mixed, plt):
    display = CandidatesDisplay.from_estimator(mixed).plot()
    assert [ax.get_xlabel() for ax in display.axes_] == list(MIXED)
    params = mixed.cv_results_["params"]
    for name, points, failures in zip(
        MIXED, display.points_, display.failures_, strict=True
    ):
        drawn = [each for each in params if name in each and each["depth"] != 7]
        failed = [each for each in params if name in each and each["depth"] == 7]
        assert len(points.get_offsets()) == len(drawn)
        assert len(failures.get_xdata()) == len(failed)
    rate = display.axes_[list(MIXED).index("rate")]
    assert rate.get_xscale() == "log"
    kind = display.points_[0].get_offsets()[:, 0]
    assert len(set(kind)) == len(kind)  # none hides another
    assert {round(each) for each in kind} == {0, 1, 2}
    with pytest.raises(ValueError, match="'ax' must be a subplot, to be divided, got"):
        display.plot(plt.figure().add_axes((0, 0, 1, 1)))


def test_a_parameter_that_no_candidate_has_is_an_empty_picture(plt):
    gamma = Real(1e-3, 1.0, log=True).when(kernel="rbf")
    search = MVRSMSearchCV(
        SVC(kernel="linear"), {"kernel": ["linear", "rbf"], "gamma": gamma}, n_iter=1
    ).fit(*load_iris(return_X_y=True))
    display = CandidatesDisplay.from_estimator(search).plot()
    display.figure_.canvas.draw()
    assert display.axes_[1].get_xlim() == (1e-3, 1.0)


def test_failures_have_one_colour_and_nothing_else_has_it(mixed, plt):
    colours = {
        CandidatesDisplay.from_estimator(mixed).plot().failures_[0].get_color(),
        ConvergenceDisplay.from_estimator(mixed).plot().failures_.get_color(),
        SurrogateDisplay.from_estimator(mixed, "x").plot().failures_.get_color(),
        SurrogateDisplay.from_estimator(mixed, ["x", "kind"])
        .plot()
        .failures_.get_color(),
    }
    parallel = ParallelCoordinatesDisplay.from_estimator(mixed).plot()
    drawn = np.unique(parallel.failures_.get_colors()[:, :3], axis=0)
    (failed,) = colours
    assert [plt.matplotlib.colors.to_hex(each) for each in drawn] == [failed.lower()]
    assert parallel.best_line_.get_color() != failed


# --- two metrics ----------------------------------------------------------------


def test_the_front_is_what_none_beats_in_both(several, plt):
    display = ParetoDisplay.from_estimator(several).plot()
    assert display.labels == ("mean up", "mean down")
    assert len(display.front) == len(display.values)  # one metric is minus the other
    values = np.array([[3, 1], [2, 2], [2, 1], [1, 3], [np.nan, 9], [3, 0], [2, 2]])
    made = MVRSMSearchCV(several.estimator, several.param_space, refit=False)
    made.cv_results_ = {
        "params": [{}] * 7,
        "mean_test_a": values[:, 0],
        "mean_test_b": values[:, 1],
        "mean_fit_time": -values[:, 1],
    }
    for metrics in (None, ["a", "b"], ["a", "fit_time"]):
        display = ParetoDisplay.from_estimator(made, metrics)
        assert display.front.tolist() == [3, 1, 0]


@pytest.mark.parametrize("metrics", ["fit_time", ["up"], ["up", "down", "fit_time"]])
def test_two_metrics_are_asked_for(several, metrics):
    with pytest.raises(ValueError, match="'metrics' must be two names, got"):
        ParetoDisplay.from_estimator(several, metrics)
    with pytest.raises(
        TypeError, match=r"needs a fitted search, .* got MVRSMOptimizer"
    ):
        ParetoDisplay.from_estimator(MVRSMOptimizer({"x": [1, 2]}))


# --- ends of ranges -------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value", "end"),
    [
        (Real(1.0, 100.0, log=True), 1.04, "low"),
        (Real(1.0, 100.0), 1.04, "low"),
        (Real(1.0, 100.0, log=True), 90.0, None),
        (Integer(1, 9), 9, "high"),
        (Integer(1, 9), 8, None),
        (Integer(1, 500, log=True), 1, "low"),
        (Integer(1, 500, log=True), 500, "high"),
        (Ordinal(["s", "m", "l"]), "l", "high"),
        (Ordinal(["s", "m", "l"]), "m", None),
        (["a", "b", "c"], "a", None),
        (Integer(0, 1), 1, None),
        (Integer(1, 9, step=4), 9, "high"),
        (Real(0.0, 1.0, step=0.5), 0.5, None),
    ],
)
def test_parameters_at_an_end_of_their_range_are_named(parameter, value, end):
    space = {"p": parameter, "x": Real(0.0, 1.0)}
    first = [{"p": value, "x": 0.5}]
    made = fitted(lambda p: float(p == first[0]), space, 2, initial_points=first)
    assert made.best_params_ == first[0]
    assert parameters_at_edge(made) == ({"p": end} if end else {})
    plain = made._repr_mimebundle_()["text/plain"]
    assert (f"At the edge of the range: p ({end} end)." in plain) == bool(end)
    assert (f"p ({end} end)" in made._repr_html_()) == bool(end)
