"""When a search ends because all that it tried has failed in the same way."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real, SearchSpace
from sklearn_mvrsm._evaluation.scores import Candidate, FoldScore
from sklearn_mvrsm._search.common_failure import CommonFailure
from sklearn_mvrsm._search.objective import Objective
from sklearn_mvrsm._search.settings import Settings

X, y = load_iris(return_X_y=True)
KINDS = SearchSpace({"kind": list("pqrstuvwx")})
TREE, LINEAR, SUPPORT = DecisionTreeClassifier(), LogisticRegression(), SVC()
FAMILIES = SearchSpace(
    {"clf": [TREE, LINEAR, SUPPORT], "clf__max_depth": Integer(1, 9).when(clf=TREE)}
)
ALTERNATIVES = SearchSpace([{"a": [1]}, {"b": [2]}, {"c": [3, 4]}])
SAME_NAMES = SearchSpace(
    [{"a": ["x"], "k": list("pqr")}, {"b": ["y"], "k": list("pqr")}]
)


def text(message, type_name="ValueError"):
    frames = '  File "a.py", line 1, in fit\n    code()\n    ^^^^^^\n'
    return f"Traceback (most recent call last):\n{frames}{type_name}: {message}\n"


def ended_after(errors, params=None, space=KINDS, n_slots=1, n_splits=2, **options):
    """Return after how many candidates a search ends that fails so; None: never.

    Each of ``errors`` is that of both folds, or a pair (status, error), or a list of
    such, a fold each; None is a success.
    """
    options = {"error_score": np.nan, "has_succeeded": False} | options
    search = MVRSMSearchCV(SVC(), space, error_score=options["error_score"])
    watch = CommonFailure(
        space,
        Settings.of(search),
        Objective(len, True, print),
        n_slots,
        has_succeeded=options["has_succeeded"],
    )
    params = params or space.sample(len(errors), random_state=0)
    for k, (point, folds) in enumerate(zip(params, errors, strict=True)):
        errors = folds if isinstance(folds, list) else [folds] * n_splits
        folds = [fold_of(k, number, error) for number, error in enumerate(errors)]
        try:
            for fold in folds:
                watch.scored(fold, point)
            watch.finished(k, Candidate(point, tuple(folds)))
        except ValueError as error:
            return int(str(error).split()[4])  # "The search ends after 3 of ..."
    return None


def fold_of(candidate, number, error):
    if error is None:
        return FoldScore(candidate, number, "ok", test_scores={"score": 0.5})
    status, error = error if isinstance(error, tuple) else ("error", text(error))
    return FoldScore(candidate, number, status, error=error)


@pytest.mark.parametrize(("n_slots", "n_tried"), [(1, 3), (2, 4), (4, 8)])
def test_twice_as_many_candidates_as_slots_and_three_at_least_must_fail(
    n_slots, n_tried
):
    assert ended_after(["no"] * 9, n_slots=n_slots) == n_tried


@pytest.mark.parametrize(
    "errors",
    [
        ["no", "no", None, "no", "no", "no"],  # one succeeds
        ["no", "no", ["no", None], "no", "no", "no"],  # one fold does
        ["got 1", "got 2", "got 3", "got 4"],
        ["no", "no", "other", "no", "no", "no"],
        ["no", "no", ("error", text("no", "KeyError")), "no"],
        [("timeout", "late"), *["no"] * 4],  # more time might cure it
        [("out_of_memory", "large")] * 4,
    ],
    ids=str,
)
def test_failures_that_differ_or_depend_on_limits_end_nothing(errors):
    assert ended_after(errors) is None


@pytest.mark.parametrize(
    "errors",
    [
        [["first", "second"]] * 4,
        ["<A at 0x7f12>", "<A at 0x7f34>", "<A at 0x7f56>"],
        [f"[12:00:0{k}] Check failed" for k in range(4)],
        [[("crashed", "signal SIGSEGV"), ("skipped", "")]] * 4,
    ],
    ids=str,
)
def test_failures_are_alike_but_for_what_each_run_changes(errors):
    assert ended_after(errors) == 3


@pytest.mark.parametrize(
    ("options", "n_tried"),
    [
        ({"error_score": 0.0}, None),
        ({"error_score": -np.inf}, None),
        ({"has_succeeded": True}, None),
        ({"error_score": "raise"}, 3),  # crashes do not raise
    ],
)
def test_a_number_for_failures_or_an_earlier_success_has_it_go_on(options, n_tried):
    assert ended_after(["no"] * 5, **options) == n_tried


@pytest.mark.parametrize(
    ("space", "params", "n_tried"),
    [
        # each family must have failed
        (FAMILIES, [{"clf": TREE, "clf__max_depth": k} for k in range(1, 6)], None),
        (FAMILIES, [{"clf": LINEAR}, {"clf": SUPPORT}] * 4, None),
        (
            FAMILIES,
            [
                {"clf": LINEAR},
                {"clf": SUPPORT},
                {"clf": SUPPORT},
                {"clf": TREE, "clf__max_depth": 1},
            ],
            4,
        ),
        (ALTERNATIVES, [{"a": 1}, {"b": 2}] * 3, None),
        (ALTERNATIVES, [{"a": 1}, {"b": 2}, {"c": 3}], 3),
        (SAME_NAMES, [{"a": "x", "k": "p"}, {"b": "y", "k": "p"}] * 3, None),
        (
            SAME_NAMES,
            [{"a": "x", "k": "p"}, {"b": "y", "k": "p"}, {"b": "y", "k": "q"}],
            3,
        ),
        # of another category, more than one value
        (KINDS, [{"kind": "p"}] * 5, None),
        (KINDS, [{"kind": each} for each in "pppq"], 4),
        (
            SearchSpace({"one": ["p"], "kind": list("pqrs")}),
            [{"one": "p", "kind": each} for each in "pqrs"],
            3,
        ),
    ],
)
def test_no_choice_may_explain_the_failure(space, params, n_tried):
    assert ended_after(["no"] * len(params), params, space) == n_tried


@pytest.mark.parametrize(
    ("space", "n_slots", "n_tried"),
    [
        ({"kind": list("pqr"), "x": Real(0.0, 1.0)}, 1, 8),
        ({"kind": list("pqr"), "x": Real(0.0, 1.0)}, 5, 10),
        ({"x": [0.1, 0.2, 0.3, 0.4, None, "auto", "x", "y", "z"]}, 1, 8),
        ([{"x": Integer(1, 90)}, {"x": Integer(1, 90), "z": Real(0.0, 1.0)}], 1, 8),
    ],
)
def test_more_must_fail_where_a_number_may_explain_it(space, n_slots, n_tried):
    found = ended_after(["no"] * 12, space=SearchSpace(space), n_slots=n_slots)
    assert found == n_tried


def test_where_there_is_no_other_candidate_the_search_ends_by_itself():
    space = SearchSpace({"kind": list("pqr")})
    assert ended_after(["no"] * 3, [{"kind": each} for each in "pqr"], space) is None


# --- in a search --------------------------------------------------------------------


class Counted(ClassifierMixin, BaseEstimator):
    """Counts its fits, and fails where it is told to."""

    fits = 0

    def __init__(self, level=0.0, fails=True):
        self.level = level
        self.fails = fails

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        if self.fails:
            raise ArithmeticError("nothing can be done")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def make(estimator=None, space=None, **options):
    options = {"n_iter": 20, "cv": 3, "random_state": 0} | options
    Counted.fits = 0
    return MVRSMSearchCV(
        estimator or Counted(), space or {"level": Real(0.0, 1.0)}, **options
    )


def ends(search, match, *, n_fits, n_rows=3, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=match) as caught:
            search.fit(X, y, **params)
    assert Counted.fits == n_fits
    assert len(search.cv_results_["params"]) == n_rows
    assert set(search.cv_results_["status"]) == {"error"}
    assert len(search.fit_log_["status"]) == 3 * n_rows
    return str(caught.value)


def test_what_all_fits_raise_is_told_after_eight_candidates():
    message = ends(make(), "ArithmeticError: nothing can be done", n_fits=24, n_rows=8)
    assert "after 8 of 20 candidates" in message
    assert "All the 24 fits failed." in message
    assert "'error_score'" in message


def test_seven_candidates_beyond_a_bound_do_not_end_a_search():
    X, y = make_classification(120, weights=[0.9], random_state=0)
    tried = [*np.linspace(0.5, 0.9, 7), 0.05]  # a nu above about 0.2 is refused
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = make(
            NuSVC(),
            {"nu": Real(0.01, 0.99)},
            initial_points=[{"nu": nu} for nu in tried],
            n_iter=8,
        ).fit(X, y)
    assert list(search.cv_results_["status"]) == ["error"] * 7 + ["ok"]


def test_string_labels_are_told_to_be_refused_by_xgboost_at_once():
    xgboost = pytest.importorskip("xgboost")
    space = {"max_depth": Integer(2, 6), "booster": ["gbtree", "dart"]}
    search = make(xgboost.XGBClassifier(n_estimators=2), space, n_jobs=2, n_iter=30)
    names = np.array(["a", "b", "c"])[y]
    with pytest.raises(ValueError, match="Invalid classes"):
        search.fit(X, names)
    assert 4 <= len(search.cv_results_["params"]) <= 8


@pytest.mark.parametrize(
    ("estimator", "options", "match"),
    [
        (Counted(fails=False), {"scoring": "f1"}, "Target is multiclass"),
        (Counted(fails=False), {"scoring": "neg_log_loss"}, "predict_proba"),
        (
            Counted(fails=False),
            {"scoring": ["f1", "accuracy"], "refit": "f1"},
            "Target is multiclass",
        ),
    ],
)
def test_a_metric_that_cannot_be_computed_is_told_at_once(estimator, options, match):
    ends(make(estimator, **options), match, n_fits=24, n_rows=8)


def test_a_metric_that_does_not_guide_may_fail():
    search = make(
        Counted(fails=False),
        scoring={"good": "accuracy", "bad": lambda estimator, X, y: 1 / 0},
        refit="good",
        n_iter=4,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 4


def test_a_number_has_all_candidates_tried():
    search = make(error_score=0.0, n_iter=5)
    with pytest.raises(ValueError, match="All the 15 fits failed"):
        search.fit(X, y)
    assert Counted.fits == 15


def test_a_bad_family_does_not_end_a_search():
    pipeline = Pipeline([("encode", StandardScaler()), ("clf", LinearSVC())])
    space = {
        "encode": [StandardScaler(), OneHotEncoder(), "passthrough"],
        "clf__C": Real(0.1, 1.0),
    }
    bad = [
        {"encode": encoder, "clf__C": C}
        for C in (0.2, 0.4)
        for encoder in space["encode"][::2]
    ]
    search = make(pipeline, space, initial_points=bad, n_iter=12)
    names = np.array([["a", "b"], ["a", "c"], ["b", "c"]], dtype=object)[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(names, y)
    assert search.best_score_ == 1.0


def test_a_resumed_search_ends_alike_and_may_be_told_to_go_on(tmp_path):
    path = tmp_path / "search.jsonl"
    failing = {"n_fits": 24, "n_rows": 8}
    message = ends(make(checkpoint=path), "ArithmeticError", **failing)
    assert "checkpoint" in message
    ends(make(checkpoint=path), "ArithmeticError", **failing | {"n_fits": 0})
    search = make(checkpoint=path, error_score=0.0, n_iter=10)
    with pytest.raises(ValueError, match="All the 30 fits failed"):
        search.fit(X, y)
    assert Counted.fits == 6


def test_a_success_of_an_earlier_session_keeps_a_resumed_search_going(tmp_path):
    space = {"fails": [True, False], "level": Real(0.0, 1.0)}
    points = [{"fails": True, "level": 0.1 * k} for k in range(4)]
    points += [{"fails": False, "level": 0.5}]
    options = {"initial_points": points, "checkpoint": tmp_path / "search.jsonl"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(space=space, n_iter=5, **options).fit(X, y)
        search = make(space=space, n_iter=6, **options).fit(X, y)
    assert len(search.cv_results_["params"]) == 6


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_metadata_that_a_scorer_does_not_know_is_told_before_any_fit(n_jobs):
    import sklearn
    from sklearn.exceptions import UnsetMetadataPassedError
    from sklearn.metrics import accuracy_score, make_scorer
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    with sklearn.config_context(enable_metadata_routing=True):
        weighed = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        options = {"scoring": {"weighed": weighed, "plain": "accuracy"}}
        weights = {"sample_weight": np.ones(len(y))}
        tree = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        grid = GridSearchCV(tree, {}, refit="weighed", cv=2, **options)
        try:
            grid.fit(X, y, **weights)
        except UnsetMetadataPassedError:
            pass
        else:
            pytest.skip("this scikit-learn takes it for a request of all scorers")
        search = make(
            Counted(fails=False).set_fit_request(sample_weight=True),
            refit="weighed",
            n_jobs=n_jobs,
            **options,
        )
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            search.fit(X, y, **weights)
    assert Counted.fits == 0
