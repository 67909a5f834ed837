"""What a notebook shows of a search."""

import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from formulas import Formula, X, fitted, minus, plus, y
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real
from sklearn_mvrsm._search.notebook import summary

VOID = {"input", "br", "meta", "link", "img", "hr"}


class Balanced(HTMLParser):
    """Checks that every element is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_balanced(page):
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser.seen


def usual(search):
    """Scikit-learn's diagram without its running number."""
    return unnumbered(estimator_html_repr(search))


def unnumbered(page):
    return re.sub(r"(sk-\w+-id-)\d+", r"\1", page)


def picture(page):
    return ElementTree.fromstring(re.search(r"<svg.*</svg>", page)[0])


def line(page):
    """Corners of the convergence line, in pixels."""
    path = picture(page).find("path[@class='sk-mvrsm-best']").get("d")
    x, y = map(float, re.match(r"M([\d.]+) ([\d.]+)", path).groups())
    corners = [(x, y)]
    for axis, text in re.findall(r"([HV])([\d.]+)", path):
        x, y = (float(text), y) if axis == "H" else (x, float(text))
        corners.append((x, y))
    return np.array(corners)


def half_fails(params):
    if params["x"] > 0.5:
        raise ValueError("too much")
    return params["x"]


@pytest.fixture(scope="module")
def search():
    return fitted(
        half_fails, {"x": Real(0, 1), "kind": ["<b>&", "plain"]}, n_iter=20, cv=3
    )


def test_an_unfitted_search_looks_as_usual():
    search = MVRSMSearchCV(Formula(), {"x": [1]})
    assert summary(search) == ""
    assert unnumbered(search._repr_html_()) == usual(search)


def test_a_fitted_search_has_its_summary_above_the_usual_diagram(search):
    page = search._repr_html_()
    assert page.startswith(summary(search))
    assert unnumbered(page).endswith(usual(search))
    check_balanced(page)


def test_the_summary_tells_score_parameters_and_what_became_of_candidates(search):
    page = summary(search)
    row = search.best_index_
    assert f"<b>{search.best_score_:.4g}</b>" in page
    assert f"(candidate {row + 1} of 20)" in page
    assert f"<td>x</td><td>{search.best_params_['x']!r}</td>" in page
    n_failed = int((search.cv_results_["status"] == "error").sum())
    assert 0 < n_failed < 20
    counts = f"20 candidates, 3 folds each: {20 - n_failed} ok, {n_failed} error"
    assert counts in page or f"{n_failed} error, {20 - n_failed} ok" in page


def test_values_cannot_break_the_page(search):
    page = summary(fitted(lambda params: 1.0, {"kind": ["<b>&"]}, n_iter=1))
    assert "<td>&#x27;&lt;b&gt;&amp;&#x27;</td>" in page
    check_balanced(page)


def test_a_value_that_cannot_be_shown_is_named_by_its_type():
    class Shy:
        def __repr__(self):
            raise RuntimeError("not me")

    search = fitted(lambda params: 1.0, {"x": ["y"]}, n_iter=1)
    search.cv_results_["params"][0] = {"x": Shy(), "long": "z" * 500}
    page = summary(search)
    assert "<td>&lt;Shy&gt;</td>" in page
    assert "z" * 78 + "…</td>" in page


def test_of_many_parameters_some_are_listed():
    space = {f"p{k}": Real(0, 1) for k in range(130)}
    page = summary(fitted(lambda params: params["p0"], space, n_iter=3))
    assert page.count("<tr>") == 12
    assert "and 118 more parameters" in page


def test_the_line_steps_up_where_the_best_score_does(search):
    scores = search.cv_results_["mean_test_score"]
    best = np.fmax.accumulate(scores)
    improvements = int((np.diff(best[~np.isnan(best)]) > 0).sum())
    corners = line(summary(search))
    heights = corners[:, 1]
    assert (np.diff(corners[:, 0]) >= 0).all()
    assert (np.diff(heights) <= 0).all()  # up is less in SVG
    assert (np.diff(heights) < 0).sum() == improvements > 0
    assert corners.min() >= 0
    assert (corners <= [280, 72]).all()


def test_the_picture_says_in_words_what_it_shows(search):
    page = summary(search)
    scores = search.cv_results_["mean_test_score"]
    first = scores[~np.isnan(scores)][0]
    title = picture(page).find("title").text
    assert title.endswith(f"from {first:.4g} to {search.best_score_:.4g}")
    n_failed = int(np.isnan(scores).sum())
    assert f"{n_failed} failures below" in page
    assert len(picture(page).findall("path[@class='sk-mvrsm-failed']")) == n_failed


def test_one_candidate_and_equal_scores_have_a_picture_too():
    for n_iter in (1, 4):
        page = summary(fitted(lambda p: 1.0, {"x": Real(0, 1)}, n_iter=n_iter))
        assert len(set(line(page)[:, 1])) == 1
        assert "failure" not in page


def test_very_many_candidates_make_a_small_page(search):
    n = 20_000
    many = MVRSMSearchCV(search.estimator, search.param_space)
    vars(many).update(vars(search))
    scores = np.arange(n, dtype=float)
    scores[::2] = np.nan
    many.cv_results_ = {
        "params": [{"x": 0.1}] * n,
        "mean_test_score": scores,
        "std_test_score": np.zeros(n),
        "status": np.where(np.isnan(scores), "timeout", "ok"),
    }
    many.best_index_ = n - 1
    page = summary(many)
    assert len(page) < 40_000
    assert "10000 timeout" in page


def test_several_metrics_are_all_told_the_guiding_one_first():
    scoring = {"up": plus, "down": minus}
    space = {"x": Real(0, 1)}
    made = fitted(lambda p: p["x"], space, scoring=scoring, refit="down")
    page = summary(made)
    assert re.search(r"Best down <b>-0\..*</b>.*, up <b>0\.", page)
    assert re.search(r"<title>best down so far", page)


def test_without_a_refit_the_best_of_the_first_metric_is_told():
    scoring = {"up": plus, "down": minus}
    made = fitted(lambda p: p["x"], {"x": Real(0, 1)}, scoring=scoring, refit=False)
    assert not hasattr(made, "best_index_")
    row = int(np.argmax(made.cv_results_["mean_test_up"]))
    assert f"(candidate {row + 1} of 12)" in summary(made)
    check_balanced(made._repr_html_())


def test_a_callable_refit_decides_which_candidate_is_shown():
    made = fitted(lambda p: p["x"], {"x": Real(0, 1)}, refit=lambda results: 3)
    assert "(candidate 4 of 12)" in summary(made)


def test_a_number_that_stands_for_failures_is_not_the_best():
    made = fitted(half_fails, {"x": Real(0, 1)}, n_iter=20, error_score=5.0)
    page = summary(made)
    assert "<b>5</b>" not in page
    assert " to 5<" not in page


def test_a_candidate_that_was_given_up_is_no_failure():
    made = fitted(lambda p: p["x"], {"x": Real(0, 1)}, 20, cv=4, racing=True)
    assert np.isnan(made.cv_results_["mean_test_score"]).any()
    page = summary(made)
    assert "20 ok" in page
    assert "failure" not in page
    assert f"<b>{made.best_score_:.4g}</b>" in page


def test_an_interrupted_search_shows_what_it_has():
    def interrupted(params):
        if params["k"] == 2:
            raise KeyboardInterrupt
        return params["k"]

    search = MVRSMSearchCV(
        Formula(interrupted),
        {"k": Integer(1, 3)},
        initial_points=[{"k": 3}, {"k": 2}],
        n_pending=1,
        n_iter=2,
        cv=2,
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert "<td>k</td><td>3</td>" in search._repr_html_()


def test_ipython_gets_text_and_html(search):
    bundle = search._repr_mimebundle_()
    assert bundle["text/plain"] == repr(search)
    assert unnumbered(bundle["text/html"]) == unnumbered(search._repr_html_())


def test_where_diagrams_are_switched_off_there_is_no_html(search):
    with config_context(display="text"):
        assert not hasattr(search, "_repr_html_")
        assert list(search._repr_mimebundle_()) == ["text/plain"]


def test_a_search_inside_another_estimator_is_drawn_as_usual(search):
    page = make_pipeline(StandardScaler(), search)._repr_html_()
    assert "sk-mvrsm" not in page
    assert "MVRSMSearchCV" in page


def test_the_page_loads_and_runs_nothing(search):
    page = summary(search)
    assert "script" not in page
    assert "http" not in page
    assert "src=" not in page


def test_matplotlib_is_not_needed(search, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<svg" in summary(search)
