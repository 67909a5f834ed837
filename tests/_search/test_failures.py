"""Laws of what a search says of failed fits."""

import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV

from sklearn_mvrsm._evaluation.scores import Candidate, FoldScore
from sklearn_mvrsm._execution.outcomes import to_outcome
from sklearn_mvrsm._search.failures import describe_failures

nan = np.nan
OK = FoldScore(0, 0, "ok", test_scores={"score": 0.5})
SKIPPED = FoldScore(0, 0, "skipped")


def failed(error="boom", status="error"):
    return FoldScore(0, 0, status, error=error)


def late(seconds):
    text = f"the fit was stopped after {seconds:.2f} s, its limit is 20.0 s"
    return failed(text, "timeout")


def described(*rows, error_score=nan):
    return describe_failures([Candidate({}, row) for row in rows], error_score)


class Moody(BaseEstimator):
    """Fails on request."""

    def __init__(self, fails=False):
        self.fails = fails

    def fit(self, X, y):
        if self.fails:
            raise ValueError("moody")
        return self

    def score(self, X, y):
        return 0.5


def test_folds_of_candidates_that_were_given_up_are_no_failures():
    given_up = (OK, SKIPPED, SKIPPED)
    text = described(given_up, (late(20.0), SKIPPED, SKIPPED))
    assert "1 timeout (2 more fits" in text
    assert described(given_up) == ""


def test_no_failure_needs_no_words():
    assert described((OK, SKIPPED)) == ""


def test_failures_are_counted_by_kind_with_their_reasons():
    reason = failed("no such kernel")
    text = described(
        (reason, OK, reason),
        (failed("no time", "timeout"), SKIPPED, SKIPPED),
        error_score=-1.0,
    )
    assert "3 fits failed out of a total of 4." in text
    assert "will be set to -1.0" in text
    assert "By kind: 2 error, 1 timeout (2 more fits" in text
    assert "2 fits failed with the following error:\nno such kernel" in text
    assert "1 fits timed out: no time." in text


def test_words_for_failures_follow_grid_search():
    X, y = np.zeros((6, 1)), [0, 1] * 3
    grid = GridSearchCV(
        Moody(), {"fails": [True, False]}, cv=3, refit=False, error_score=0.0
    )
    with pytest.warns(FitFailedWarning) as caught:
        grid.fit(X, y)
    theirs = str(caught[0].message)
    ours = described((failed(),) * 3, (OK,) * 3, error_score=0.0)
    assert ours.split("By kind")[0].split() == theirs.split("Below")[0].split()
    with pytest.raises(ValueError, match="All the 3 fits failed") as info:
        grid.set_params(param_grid={"fails": [True]}).fit(X, y)
    ours = described((failed(),) * 3)
    theirs = str(info.value)
    assert ours.split("By kind")[0].split() == theirs.split("Below")[0].split()


def test_a_hundred_reasons_are_not_all_told():
    words = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    text = described(*((failed(word), OK) for word in words))
    assert text.count("1 fits failed with the following error") == 5
    assert "and 95 other kinds." in text


def test_timeouts_are_one_kind_with_a_range_and_advice_that_helps():
    text = described((OK, late(20.31)), (late(20.06), SKIPPED), (late(20.14), SKIPPED))
    (line,) = [line for line in text.splitlines() if "stopped after" in line]
    assert "3 fits timed out: the fit was stopped after 20.06 to 20.31 s," in line
    assert "its limit is 20.0 s" in line
    assert "'fit_timeout'" in line
    assert "error_score='raise'" not in text
    assert "misconfigured" not in described((late(20.31), late(20.06)))


@pytest.mark.parametrize(
    ("status", "advice"),
    [("out_of_memory", "'fit_memory_limit'"), ("crashed", "standard error output")],
)
def test_each_kind_has_its_own_advice(status, advice):
    text = described((failed(), OK), (failed("it ended", status), SKIPPED))
    assert f"{advice}" in text.split("it ended")[1]
    assert "error_score='raise'" in text.split("Below")[0]  # that is for the error


def text_of(error):
    try:
        raise error
    except Exception as caught:
        return to_outcome(caught).traceback


@pytest.mark.parametrize(
    ("messages", "shown"),
    [
        (["C must be > 0, got -2", "C must be > 0, got -1e-05"], "got -2 to -1e-05"),
        (["<A at 0x7f01> bad", "<A at 0x7fff2b> bad"], "<A at 0x...> bad"),
        (["a 1\nb 2", "a 3\nb 2"], "ValueError: a 1 to 3\nb 2\n"),
    ],
)
def test_messages_that_differ_by_numbers_or_addresses_are_one_kind(messages, shown):
    text = described(*((failed(text_of(ValueError(each))), OK) for each in messages))
    assert text.count("fits failed with the following error") == 1
    assert "2 fits failed with the following error:\nTraceback" in text
    assert "in text_of" in text
    assert shown in text


def test_names_that_differ_by_a_digit_are_two_kinds():
    text = described((failed("no penalty l1"), OK), (failed("no penalty l2"), OK))
    assert text.count("fits failed with the following error") == 2


def test_a_long_message_is_cut_in_its_middle():
    text = described((failed("begin" + "x" * 100_000 + "end"), OK))
    assert len(text) < 3000
    assert re.search(
        r"begin.*\[\.\.\. \d+ characters left out \.\.\.\].*end", text, re.DOTALL
    )
