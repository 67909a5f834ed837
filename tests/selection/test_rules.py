"""Rules that choose the winner from a table of results."""

import pickle

import numpy as np
import pytest
from formulas import Formula, X, fitted, minus, plus, y
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import Integer, MVRSMSearchCV, Real, SearchSpace
from sklearn_mvrsm.selection import constrained, one_standard_error

nan = np.nan


def table(splits, status=None, metric="score", **columns):
    """Build results from the scores of each row on each fold."""
    splits = np.array(splits, float)
    results = {f"split{k}_test_{metric}": splits[:, k] for k in range(splits.shape[1])}
    results[f"mean_test_{metric}"] = splits.mean(axis=1)
    results.update(columns)
    results["status"] = np.array(status or ["ok"] * len(splits), dtype=object)
    return results


def masked(values, dtype=object):
    """Make a column of a parameter, None where it does not exist."""
    column = np.ma.masked_all(len(values), dtype=dtype)
    for row, value in enumerate(values):
        if value is not ...:
            column[row] = value
    return column


# --- one standard error ---------------------------------------------------------

# mean 0.8, standard deviation 0.1 over 4 folds: standard error 0.05
BEST = 0.8 + 0.1 * np.sqrt(3) / 2 * np.array([1.0, -1.0, 1.0, -1.0])


def near(*means):
    return table([BEST, *([mean] * 4 for mean in means)])


def test_the_standard_error_is_the_deviation_of_the_sample_over_the_root_of_its_size():
    assert np.std(BEST, ddof=1) == pytest.approx(0.1)
    results = near(0.7501, 0.7499)
    results["size"] = np.array([9.0, 5.0, 1.0])
    assert one_standard_error("size")(results) == 1


@pytest.mark.parametrize(
    ("by", "row"),
    [
        ("size", 2),
        ("param_depth", 1),
        ("depth", 1),
        ([("size", "max")], 3),
        (["flat", "size"], 2),
        (["flat", ("depth", "max")], 3),
        ([("kind", ["b", "a"])], 2),  # of two equals the better
        ([("kind", ["a", "b"]), "size"], 0),
        ("flat", 0),  # between equals the best
    ],
)
def test_the_simplest_of_the_good_is_chosen(by, row):
    results = near(0.77, 0.78, 0.76, 0.5)
    results["size"] = np.array([5.0, 4.0, 3.0, 9.0, 1.0])
    results["flat"] = np.ones(5)
    results["param_depth"] = masked([5, 1, 3, 9, 0])
    results["param_kind"] = masked(["a", "b", "b", "a", "b"])
    assert one_standard_error(by)(results) == row


def test_a_parameter_that_does_not_exist_is_simplest_and_none_is_least():
    results = near(0.78, 0.79)
    results["param_depth"] = masked([None, 100, ...])
    assert one_standard_error("depth")(results) == 2
    results["param_depth"] = masked([None, 100, None])
    assert one_standard_error("depth")(results) == 1


def test_booleans_and_numpy_numbers_can_be_compared():
    results = near(0.79)
    results["param_flag"] = masked([True, False], bool)
    assert one_standard_error("flag")(results) == 1


@pytest.mark.parametrize("status", ["error", "timeout", "out_of_memory", "crashed"])
def test_failed_rows_are_neither_best_nor_chosen(status):
    results = near(0.78, 0.9, nan)
    results["status"][2] = status  # an error_score of 0.9 stands there
    results["size"] = np.array([3.0, 2.0, 1.0, 1.0])
    assert one_standard_error("size")(results) == 1


def test_results_without_a_status_are_understood():
    results = near(0.78, nan)
    del results["status"]
    results["size"] = np.array([3.0, 2.0, 1.0])
    assert one_standard_error("size")(results) == 1


def test_the_metric_decides():
    results = near(0.9) | table([[1.0] * 4, [0.2] * 4], metric="recall")
    results["size"] = np.array([2.0, 1.0])
    assert one_standard_error("size")(results) == 1
    assert one_standard_error("size", metric="recall")(results) == 0


@pytest.mark.parametrize(
    ("by", "change", "message"),
    [
        ("weight", {}, "'weight' is neither a parameter nor a column; known: .*'kind'"),
        ("kind", {}, "'kind' must hold numbers to be compared, got 'a'"),
        ("text", {}, "'text' must hold numbers to be compared, got '10'"),
        ([("kind", ["a"])], {}, r"the order of 'kind' lacks 'b': \['a'\]"),
        ("size", {"status": ["error"] * 2}, "No candidate can be chosen: all 2 failed"),
        ("size", {"mean_test_score": [nan, nan]}, "all 2 failed"),
    ],
)
def test_what_cannot_be_decided_is_said(by, change, message):
    results = near(0.79)
    results["size"] = np.array([2.0, 1.0])
    results["param_kind"] = masked(["a", "b"])
    results["param_text"] = masked(["10", "9"])
    results.update({name: np.array(values) for name, values in change.items()})
    with pytest.raises(ValueError, match=message):
        one_standard_error(by)(results)


def test_an_unknown_metric_is_refused():
    rule = one_standard_error("size", metric="recall")
    with pytest.raises(ValueError, match=r"must be one of \['score'\], got 'recall'"):
        rule(near(0.79))


def test_one_fold_has_no_standard_error():
    with pytest.raises(ValueError, match="at least two folds, got 1"):
        one_standard_error("size")(table([[1.0]], size=np.ones(1)))


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("", "'by' must name"),
        ([], "'by' must name"),
        ([("size", "least")], "must be 'min', 'max' or a list of values, got 'least'"),
        (("kind", ["b", "a"]), r"must be in a list, by=\[\('kind', \['b', 'a'\]\)\]"),
        (("kind", ("b", "a")), "must be in a list"),
        (("kind", "max"), "must be in a list"),
    ],
)
def test_orders_that_make_no_sense_are_refused_at_once(by, message):
    with pytest.raises(ValueError, match=message):
        one_standard_error(by)


def test_a_list_or_tuple_of_names_and_pairs_is_no_pair():
    results = table([[1.0, 1.0]] * 2, size=[2, 1], depth=[1, 2])
    for by in (
        ("size", "depth"),
        ["size", ["depth", "max"]],
        ("size", ("depth", "max")),
    ):
        assert one_standard_error(by)(results) == 1


def test_what_a_constraint_forbids_needs_no_order():
    space = SearchSpace(
        {"criterion": ["gini", "entropy", "log_loss"]},
        constraints=[lambda params: params["criterion"] != "log_loss"],
    )
    rule = one_standard_error([("criterion", ["gini", "entropy"])])
    search = MVRSMSearchCV(DecisionTreeClassifier(), space, n_iter=2, refit=rule)
    assert search.fit(*load_iris(return_X_y=True)).best_params_["criterion"] == "gini"


def test_the_class_of_a_rule_is_no_rule():
    search = MVRSMSearchCV(
        DecisionTreeClassifier(), {"max_depth": Integer(1, 3)}, refit=constrained
    )
    with pytest.raises(
        TypeError, match=r"'refit' must be a rule, .* class constrained"
    ):
        search.fit(*load_iris(return_X_y=True))


# --- constrained ----------------------------------------------------------------


def timed(status=None):
    results = table([[0.9] * 2, [0.8] * 2, [0.7] * 2, [0.6] * 2], status)
    results["mean_fit_time"] = np.array([8.0, 4.0, 2.0, 1.0])
    results["param_n"] = masked([400, 200, ..., 50])
    return results


@pytest.mark.parametrize(
    ("column", "bounds", "row"),
    [
        ("mean_fit_time", {"at_most": 100.0}, 0),
        ("mean_fit_time", {"at_most": 4.0}, 1),
        ("mean_fit_time", {"at_most": 3.9}, 2),
        ("mean_fit_time", {"at_least": 0.5, "at_most": 1.5}, 3),
        ("mean_fit_time", {"at_least": 3.0}, 0),
        ("n", {"at_most": 250}, 1),
        ("param_n", {"at_most": 250}, 1),
        ("n", {"at_most": 100}, 2),  # does not exist there: nothing to keep within
        ("mean_test_score", {"at_least": 0.65, "at_most": 0.75}, 2),
    ],
)
def test_the_best_within_the_bounds_is_chosen(column, bounds, row):
    assert constrained(column, **bounds)(timed()) == row


def test_failed_rows_are_not_chosen_although_they_keep_the_bound():
    results = timed(["ok", "timeout", "error", "ok"])
    assert constrained("mean_fit_time", at_most=4.0)(results) == 3


def test_rows_without_a_number_keep_no_bound():
    results = timed()
    results["mean_fit_time"][1] = nan
    assert constrained("mean_fit_time", at_most=4.0)(results) == 2


def test_that_no_candidate_keeps_the_bound_is_said():
    message = (
        r"No candidate has 'mean_fit_time' at most 0.5: among the candidates that did "
        "not fail it goes from 2 to 8"
    )
    with pytest.raises(ValueError, match=message):
        constrained("mean_fit_time", at_most=0.5)(timed(["ok", "ok", "ok", "crashed"]))
    with pytest.raises(ValueError, match=r"at least 9 and at most 10: .* it goes from"):
        constrained("mean_fit_time", at_least=9, at_most=10)(timed())
    results = timed() | {"mean_fit_time": np.full(4, nan)}
    with pytest.raises(ValueError, match="did not fail it has none"):
        constrained("mean_fit_time", at_most=1)(results)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "'at_most' or 'at_least' must be given"),
        ({"at_most": nan}, "must be numbers, got nan"),
    ],
)
def test_bounds_that_make_no_sense_are_refused_at_once(bounds, message):
    with pytest.raises(ValueError, match=message):
        constrained("mean_fit_time", **bounds)


# --- in a search ----------------------------------------------------------------

RULES = [
    one_standard_error(by=["n", ("kind", ["b", "a"])]),
    constrained("param_n", at_most=40),
]


@pytest.mark.parametrize("rule", RULES)
def test_rules_can_be_copied_pickled_and_compared(rule):
    assert pickle.loads(pickle.dumps(rule)) == rule
    search = MVRSMSearchCV(None, {}, refit=rule)
    assert clone(search, safe=False).refit == rule
    assert eval(repr(rule)) == rule


@pytest.mark.parametrize("rule", RULES)
def test_a_search_refits_what_the_rule_chooses(rule):
    search = fitted(
        lambda params: params["n"] / 100,
        {"n": Integer(1, 100), "kind": ["a", "b"], "x": Real(0, 1)},
        refit=rule,
    )
    assert search.best_index_ == rule(search.cv_results_)
    assert search.best_estimator_.params == search.best_params_


def test_a_bound_that_nothing_keeps_leaves_the_results():
    search = MVRSMSearchCV(
        Formula(lambda params: params["n"]),
        {"n": Integer(1, 100)},
        refit=constrained("n", at_least=101),
        n_iter=5,
        cv=2,
    )
    with pytest.raises(ValueError, match="No candidate has 'n' at least 101"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 5


def test_a_rule_follows_its_metric_among_several():
    search = fitted(
        lambda params: params["n"],
        {"n": Integer(1, 100)},
        scoring={"up": plus, "down": minus},
        refit=constrained("n", at_least=50, metric="down"),
    )
    values = [params["n"] for params in search.cv_results_["params"]]
    assert search.best_params_["n"] == min(n for n in values if n >= 50)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (one_standard_error("depht"), "'depht' is neither a parameter nor a column"),
        (one_standard_error("max_depth", metric="auc"), "'metric' must be one of"),
        (constrained("param_depth", at_most=3), "'param_depth' is neither"),
        (constrained("mean_fit_time", at_most=1, metric="score"), "must be one of"),
        (one_standard_error("criterion", "accuracy"), "'criterion' must hold numbers"),
        (constrained("criterion", 1, metric="accuracy"), "must hold numbers .* 'gini'"),
        (one_standard_error([("criterion", ["gini"])], "accuracy"), "lacks 'entropy'"),
        (one_standard_error("max_depth", "accuracy"), "at least two folds, got 1"),
    ],
)
def test_rules_that_suit_no_result_are_refused_before_any_fit(rule, message):
    fits = []
    search = MVRSMSearchCV(
        DecisionTreeClassifier(),
        {"max_depth": Integer(1, 3), "criterion": ["gini", "entropy"]},
        n_iter=2,
        cv=ShuffleSplit(1, random_state=0),
        scoring=["accuracy", "recall_macro"],
        refit=rule,
        callback=fits.append,
    )
    with pytest.raises(ValueError, match=message):
        search.fit(*load_iris(return_X_y=True))
    assert not fits
    assert not hasattr(search, "cv_results_")
