"""The surrogate along one or two parameters."""

import numpy as np
import pytest
from formulas import fitted, minus, plus
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from sklearn_mvrsm import Integer, Real, SearchSpace
from sklearn_mvrsm.inspection import ParallelCoordinatesDisplay, SurrogateDisplay

SPACE = {
    "kind": ["a", "b", "c"],
    "x": Real(0.0, 2.0),
    "k": Integer(1, 5),
    "rate": Real(1e-3, 1.0, log=True).when(kind="b"),
    "size": Integer(1, 10_000, log=True),
}


def formula(params):
    kind = {"a": 0.0, "b": 1.0, "c": 2.0}[params["kind"]]
    return params["x"] + 0.5 * params["k"] + kind + np.log10(params.get("rate", 1.0))


@pytest.fixture(scope="module")
def search():
    return fitted(formula, SPACE, n_iter=60)


def best(search):
    return dict(search.best_params_)


def legend(display):
    return {text.get_text() for text in display.ax_.get_legend().get_texts()}


def test_the_mean_of_one_number_follows_the_score_along_it(search):
    display = SurrogateDisplay.from_estimator(search, ["x"])
    (grid,) = display.grid
    assert (grid[0], grid[-1], len(grid)) == (0.0, 2.0, 101)
    truth = [formula({**best(search), "x": x}) for x in grid]
    assert display.mean == pytest.approx(truth, abs=0.3)
    assert display.std.shape == (101,)
    assert (display.std >= 0.0).all()


def test_all_integers_are_shown_while_they_are_few(search):
    display = SurrogateDisplay.from_estimator(search, ["k"])
    assert display.grid[0].tolist() == [1, 2, 3, 4, 5]
    truth = [formula({**best(search), "k": k}) for k in range(1, 6)]
    assert display.mean == pytest.approx(truth, abs=0.3)


def test_steps_are_all_shown_while_they_are_few(plt):
    space = {
        "x": Real(0, 1, step=0.1).when(k=[2, 4]),
        "k": Integer(0, 4, step=2),
        "wide": Real(0, 1, step=1e-3),
    }
    made = fitted(lambda params: params["wide"] + params.get("x", 0.0), space)
    display = SurrogateDisplay.from_estimator(made, ["x", "k"]).plot()
    assert display.grid[0].tolist() == [k / 10 for k in range(11)]
    assert display.ax_.get_yticks().tolist() == display.grid[1].tolist() == [0, 2, 4]
    assert np.isnan(display.mean).sum() == np.isnan(display.mean[:, 0]).sum() == 11
    assert len(SurrogateDisplay.from_estimator(made, ["wide"]).grid[0]) == 101
    drawn = ParallelCoordinatesDisplay.from_estimator(made).plot().ax_
    assert {"0.2", "0.5", "0.8"} <= {text.get_text() for text in drawn.texts}


def test_some_integers_are_shown_where_they_are_many(search):
    (grid,) = SurrogateDisplay.from_estimator(search, ["size"], resolution=30).grid
    assert len(grid) <= 30
    assert np.array_equal(grid, np.rint(grid))
    assert (grid[0], grid[-1]) == (1, 10_000)
    ratios = grid[1:] / grid[:-1]
    assert ratios[-5:] == pytest.approx(np.full(5, ratios[-1]), rel=0.01)


def test_categories_are_shown_by_place(search):
    display = SurrogateDisplay.from_estimator(search, ["kind"])
    assert display.grid[0].tolist() == [0, 1, 2]
    assert display.axes[0].ticks == ("a", "b", "c")


def test_two_parameters_make_a_table(search):
    display = SurrogateDisplay.from_estimator(search, ["x", "k"], resolution=11)
    x, k = display.grid
    assert display.mean.shape == display.std.shape == (11, 5)
    truth = [
        [formula({**best(search), "x": each, "k": int(other)}) for other in k]
        for each in x
    ]
    assert display.mean == pytest.approx(np.array(truth), abs=0.4)


def test_candidates_are_placed_with_their_scores(search):
    display = SurrogateDisplay.from_estimator(search, ["rate"])
    params = search.cv_results_["params"]
    rates = [each.get("rate", np.nan) for each in params]
    assert np.array_equal(display.values[:, 0], rates, equal_nan=True)
    assert np.array_equal(display.scores, search.cv_results_["mean_test_score"])
    assert display.best == search.best_index_


def test_a_slice_goes_through_the_best_candidate_that_has_the_parameter(search, plt):
    assert "rate" not in search.best_params_
    display = SurrogateDisplay.from_estimator(search, ["rate"]).plot()
    scores = np.where(np.isnan(display.values[:, 0]), -np.inf, display.scores)
    assert display.centre == np.argmax(scores) != display.best
    assert "slice at the best candidate with 'rate'" in display.ax_.get_title()
    assert "best of these" in legend(display)
    rate = display.grid[0]
    centre = search.cv_results_["params"][display.centre]
    truth = [formula({**centre, "rate": each}) for each in rate]
    assert np.corrcoef(display.mean, truth)[0, 1] > 0.95
    assert display.ax_.get_xscale() == "log"


def test_a_parent_has_the_rest_of_the_best_candidate_with_each_value(search, plt):
    display = SurrogateDisplay.from_estimator(search, "kind").plot()
    kinds = np.array([params["kind"] for params in search.cv_results_["params"]])
    points = []
    for kind in "abc":
        row = np.argmax(np.where(kinds == kind, display.scores, -np.inf))
        points.append(search.space_.encode(search.cv_results_["params"][row]))
    expected, _ = search.optimizer_.predict(points)
    assert display.mean == pytest.approx(-expected)
    assert "with each 'kind'" in display.ax_.get_title()


def test_a_parameter_and_its_parent_are_blank_where_it_does_not_exist(search, plt):
    display = SurrogateDisplay.from_estimator(search, ["kind", "rate"]).plot()
    blank = np.isnan(display.mean)
    assert blank[[0, 2]].all()
    assert not blank[1].any()
    assert np.array_equal(blank, np.isnan(display.std))
    assert display.ax_.get_yscale() == "log"
    absent = sum("rate" not in each for each in search.cv_results_["params"])
    assert f"{absent} candidates without these parameters" in display.ax_.get_title()


def test_what_no_candidate_has_is_met_from_the_root_on():
    space = {
        "a": ["off", "on"],
        "b": Integer(1, 9).when(a="on"),
        "c": Real(0.0, 1.0).when(b=[3, 4]),
    }
    made = fitted(lambda params: -float(params["a"] == "on"), space, n_iter=3)
    assert not any("c" in params for params in made.cv_results_["params"])
    display = SurrogateDisplay.from_estimator(made, ["c"])
    assert display.note == ", but a='on', b=3"
    assert not np.isnan(display.mean).any()


def test_alternatives_that_share_a_parameter_are_one_picture():
    space = [{"alpha": Real(0.1, 1.0)}, {"alpha": Real(0.5, 2.0), "k": [1, 2]}]
    made = fitted(lambda params: params["alpha"], space, n_iter=30)
    display = SurrogateDisplay.from_estimator(made, ["(alternative)", "alpha"])
    alpha = display.grid[1]
    assert (alpha[0], alpha[-1]) == (0.1, 2.0)
    assert np.array_equal(np.isnan(display.mean[0]), alpha > 1.0)
    assert np.array_equal(np.isnan(display.mean[1]), alpha < 0.5)


def test_parameters_of_different_alternatives_have_no_picture():
    space = [{"a": Real(0.0, 1.0)}, {"b": Real(0.0, 1.0)}]
    made = fitted(lambda params: 1.0, space, n_iter=10)
    with pytest.raises(ValueError, match="'a' and 'b' do not exist together"):
        SurrogateDisplay.from_estimator(made, ["a", "b"])


# formula(): means of the others are x 1, k/2 1.5, kind 1, and log10(rate) -1.5 with "b"
@pytest.mark.parametrize(
    ("names", "truth"),
    [
        ("x", lambda x: x + 1.5 + 1.0 - 0.5),
        ("kind", lambda kind: 1.0 + 1.5 + kind - 1.5 * (kind == 1)),
        ("rate", lambda rate: 1.0 + 1.5 + 1.0 + np.log10(rate)),
        (["x", "k"], lambda x, k: x + 0.5 * k + 1.0 - 0.5),
        (
            ["kind", "rate"],
            lambda kind, rate: np.where(kind == 1, 3.5 + np.log10(rate), np.nan),
        ),
    ],
)
def test_the_average_is_over_configurations_that_have_the_parameters(
    search, names, truth, plt
):
    display = SurrogateDisplay.from_estimator(
        search, names, kind="average", resolution=9
    ).plot()
    expected = truth(*np.meshgrid(*display.grid, indexing="ij"))
    assert display.mean == pytest.approx(expected, abs=0.3, nan_ok=True)
    assert "average over random configurations" in display.ax_.get_title()
    if isinstance(names, str):
        band = [] if names == "kind" else ["± 2 standard deviations of configurations"]
        curve = {"average of the surrogate", *band}
        assert curve <= legend(display)


def test_the_average_has_an_effect_only_where_the_others_do_not_cancel_it(plt):
    space = {"x": Real(0.0, 1.0), "way": ["up", "down"]}
    made = fitted(lambda p: p["x"] if p["way"] == "up" else -p["x"], space, n_iter=30)
    along = [
        SurrogateDisplay.from_estimator(made, "x", kind=kind).mean
        for kind in ("slice", "average")
    ]
    assert np.ptp(along[0]) == pytest.approx(1.0, abs=0.1)
    assert along[1] == pytest.approx(0.0, abs=0.1)


def test_the_average_is_over_all_dicts_that_offer_a_value():
    svc = SVC()
    space = [
        {"clf": [svc], "kernel": ["linear"]},
        {"clf": [svc], "kernel": ["rbf"], "gamma": Real(0.0, 1.0)},
        {"clf": [KNeighborsClassifier()]},
    ]
    made = fitted(lambda p: p.get("gamma", -1.0 * (len(p) > 1)), space, n_iter=40)
    display = SurrogateDisplay.from_estimator(made, "clf", kind="average")
    assert display.mean == pytest.approx([-0.25, 0.0], abs=0.1)


def test_the_average_is_over_configurations_that_are_allowed():
    space = {"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}
    below = SearchSpace(space, [lambda params: params["y"] < 0.5])
    made = fitted(lambda params: params["y"], below, n_iter=20)
    display = SurrogateDisplay.from_estimator(made, "x", kind="average")
    assert display.mean == pytest.approx(0.25, abs=0.03)


def test_what_no_random_configuration_has_cannot_be_averaged():
    space = {"a": Integer(0, 10**6), "b": Real(0.0, 1.0).when(a=1)}
    made = fitted(lambda p: 1.0, space, 2, initial_points=[{"a": 1, "b": 0.5}])
    with pytest.raises(ValueError, match="'b' exist together in none of 8192 random"):
        SurrogateDisplay.from_estimator(made, "b", kind="average")
    with pytest.raises(ValueError, match=r"'kind' must be one of .* got 'individual'"):
        SurrogateDisplay.from_estimator(made, "b", kind="individual")


def test_without_names_the_two_most_important_parameters_are_taken(search):
    display = SurrogateDisplay.from_estimator(search)
    assert [axis.name for axis in display.axes] == ["kind", "k"]


def test_another_metric_has_a_surrogate_of_its_own(plt):
    made = fitted(
        lambda params: params["x"],
        {"x": Real(0.0, 1.0)},
        scoring={"up": plus, "down": minus},
        refit=False,
        n_iter=15,
    )
    up = SurrogateDisplay.from_estimator(made)
    down = SurrogateDisplay.from_estimator(made, metric="down").plot()
    assert up.best == np.argmax(up.scores) != down.best
    assert down.mean == pytest.approx(-up.mean, abs=0.05)
    assert down.ax_.get_ylabel() == "mean down"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([], "must be one or two names, got"),
        (["x", "k", "kind"], "must be one or two names, got"),
        (["y"], r"must be among .* got 'y'"),
        ("y", r"must be among .* got 'y'"),
        (["x", "x"], "must differ, got"),
    ],
)
def test_names_that_make_no_sense_are_refused(search, parameters, message):
    with pytest.raises(ValueError, match=f"'parameters' {message}"):
        SurrogateDisplay.from_estimator(search, parameters)


def test_failures_and_the_best_are_marked(plt):
    def half(params):
        if params["x"] > 0.5:
            raise ValueError
        return params["x"]

    made = fitted(half, {"x": Real(0.0, 1.0), "kind": ["a", "b"]}, n_iter=20)
    failed = np.isnan(made.cv_results_["mean_test_score"])
    for names in (["x"], ["kind"], ["x", "kind"]):
        display = SurrogateDisplay.from_estimator(made, names).plot()
        texts = {text.get_text() for text in display.ax_.get_legend().get_texts()}
        assert {"best", f"{failed.sum()} failed"} <= texts
        assert len(display.failures_.get_xdata()) == failed.sum()


def test_a_wild_band_does_not_flatten_the_rest(search, plt):
    display = SurrogateDisplay.from_estimator(search, ["x"])
    display.std[50] = 1e6
    low, high = display.plot().ax_.get_ylim()
    assert high - low < 5 * np.ptp([*display.mean, *display.scores])


def test_cells_of_a_log_axis_are_equally_wide_on_it(search, plt):
    display = SurrogateDisplay.from_estimator(search, ["rate", "x"], resolution=9)
    surface = display.plot().surface_
    edges = np.asarray(surface.get_coordinates()[0, :, 0])
    assert np.diff(np.log(edges)) == pytest.approx(np.full(9, np.log(1e3) / 8))
