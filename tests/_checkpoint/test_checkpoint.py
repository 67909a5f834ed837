"""Laws of checkpoints: a resumed search is the search that was never interrupted."""

import contextlib
import copy
import errno
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from estimators import Constant
from kill_resume import kill_and_resume
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, fbeta_score, make_scorer
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real, SearchSpace
from sklearn_mvrsm._checkpoint import journal
from sklearn_mvrsm._checkpoint.fingerprint import (
    describe,
    describe_estimator,
    describe_scorer,
    digest_content,
    digest_folds,
)

X, y = make_classification(60, n_features=5, flip_y=0.2, random_state=0)
SCALERS = [StandardScaler(), MinMaxScaler(), None]


class Bowl(ClassifierMixin, BaseEstimator):
    """Scores best at x = 0.3 and k = 4; some values of ``k`` fail or end the search."""

    fits = 0
    bad = ()  # values of k for which the fit raises
    last = None  # number of fits after which the search is interrupted

    def __init__(self, x=0.0, k=0, scaler=None, z=0.0):
        self.x = x
        self.k = k
        self.scaler = scaler
        self.z = z

    def fit(self, X, y, sample_weight=None):
        if Bowl.fits == Bowl.last:
            raise KeyboardInterrupt
        Bowl.fits += 1
        if self.k in Bowl.bad:
            raise ArithmeticError(f"cannot fit k={self.k}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y, sample_weight=None):
        if self.k == 9:
            return -np.inf if self.x > 0 else np.nan
        return float(-((self.x - 0.3) ** 2) - (self.k - 4) ** 2 / 50 + X[0, 0] / 99)


SPACE = {
    "x": Real(-1.0, 1.0),
    "k": Integer(0, 9),
    "scaler": Categorical(SCALERS),
    "z": Real(0.01, 1.0, log=True).when(scaler=[None]),
}


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    monkeypatch.setattr(Bowl, "fits", 0)
    monkeypatch.setattr(Bowl, "bad", ())
    monkeypatch.setattr(Bowl, "last", None)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


quiet = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.FitFailedWarning",
    "ignore:One or more of the (test|train) scores are non-finite",
)


def make(path=None, **options):
    arguments = {
        "n_iter": 8,
        "n_initial_points": min(6, options.get("n_iter", 8)),
        "cv": 3,
        "random_state": 0,
        "refit": False,
        "checkpoint": path,
    }
    return MVRSMSearchCV(Bowl(), SPACE, **{**arguments, **options})


def interrupt(search, n_fits, X=X, y=y):
    """Interrupt a search after so many fits."""
    Bowl.last = Bowl.fits + n_fits
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    Bowl.last = None


def assert_same(search, other):
    """Assert that results of two searches are equal but for times."""
    assert list(search.cv_results_) == list(other.cv_results_)
    for name, column in search.cv_results_.items():
        if "time" in name:
            continue
        expected = other.cv_results_[name]
        if np.ma.isMA(column):
            np.testing.assert_array_equal(column.mask, expected.mask)
            column, expected = column.compressed(), expected.compressed()
        if name.startswith("split") and name.endswith("_error"):
            column = [text.splitlines()[-1:] for text in column]
            expected = [text.splitlines()[-1:] for text in expected]
        np.testing.assert_equal(list(column), list(expected))
    trials, others = search.optimizer_.trials, other.optimizer_.trials
    assert [t.params for t in trials] == [t.params for t in others]
    np.testing.assert_equal([t.value for t in trials], [t.value for t in others])


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path, records, key=""):
    """Write the lines of a checkpoint anew, with the checksums that they need."""
    with open(path, "wb") as file:
        for record in records:
            content = {name: record[name] for name in record if name != "check"}
            line = journal._line(content, key)
            file.write(line)
            key = key or json.loads(line)["check"]


def folds_in(path):
    return [(e["candidate"], e["fold"]) for e in lines(path) if "candidate" in e]


# --- resuming ---------------------------------------------------------------


@quiet
def test_a_checkpoint_changes_nothing_of_a_search(path):
    assert_same(make(path).fit(X, y), make().fit(X, y))
    assert folds_in(path) == [(k, fold) for k in range(8) for fold in range(3)]


@quiet
@pytest.mark.parametrize("n_fits", [0, 1, 2, 3, 10, 23])
def test_a_resumed_search_fits_only_what_was_not_finished(path, n_fits):
    Bowl.bad = (7,)
    interrupt(make(path), n_fits)
    assert len(folds_in(path)) == n_fits
    Bowl.fits = 0
    resumed = make(path).fit(X, y)
    assert Bowl.fits == 24 - n_fits
    assert_same(resumed, make().fit(X, y))


@quiet
def test_a_search_that_is_done_fits_nothing_but_the_refit(path):
    done = make(path, refit=True).fit(X, y)
    Bowl.fits = 0
    again = make(path, refit=True).fit(X, y)
    assert Bowl.fits == 1
    assert_same(again, done)
    assert again.best_params_ == done.best_params_
    assert set(again.fit_log_["slot"]) == {-1}


@quiet
def test_a_search_can_be_interrupted_many_times(path):
    for _ in range(5):
        interrupt(make(path), 4)
    assert_same(make(path).fit(X, y), make().fit(X, y))
    assert sorted(folds_in(path)) == sorted(set(folds_in(path)))


@quiet
def test_a_torn_last_line_costs_one_fit_and_warns(path):
    interrupt(make(path), 10)
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with pytest.warns(UserWarning, match="breaks off") as caught:
        resumed = make(path).fit(X, y)
    assert caught[0].filename == __file__
    assert Bowl.fits == 10 + 24 - 9
    assert_same(resumed, make().fit(X, y))


@quiet
def test_times_and_training_scores_are_those_of_the_journal(path):
    done = make(path, return_train_score=True).fit(X, y)
    again = make(path, return_train_score=True).fit(X, y)
    np.testing.assert_equal(again.cv_results_, done.cv_results_)


@quiet
@pytest.mark.parametrize("random_state", [None, 3])
def test_a_seed_that_was_drawn_is_taken_again(path, random_state):
    first = make(path, n_iter=5, random_state=random_state).fit(X, y)
    Bowl.fits = 0
    again = make(path, n_iter=5, random_state=None).fit(X, y)
    assert Bowl.fits == 0
    assert_same(again, first)


@quiet
def test_initial_points_and_several_metrics_resume(path):
    options = {
        "initial_points": [{"x": 0.5, "k": 3, "scaler": SCALERS[1]}],
        "scoring": {"acc": "accuracy", "rec": make_scorer(accuracy_score)},
        "refit": "rec",
    }
    interrupt(make(path, **options), 5)
    assert_same(make(path, **options).fit(X, y), make(**options).fit(X, y))


@quiet
def test_n_jobs_may_differ_and_folds_that_finish_early_are_kept(path):
    space = {"seconds": [0.0, 0.05], "level": Real(0.0, 1.0)}

    def search(path=None, n_iter=3, **options):
        return MVRSMSearchCV(
            Constant(), space, n_iter=n_iter, cv=3, checkpoint=path,
            random_state=0, refit=False, **options,
        ).fit(X, y)  # fmt: skip

    search(path, n_jobs=2)
    # Without the first fold of the last candidate, only that one is fitted.
    kept = [e for e in lines(path) if (e.get("candidate"), e.get("fold")) != (2, 0)]
    rewrite(path, kept)
    resumed = search(path)
    assert (resumed.fit_log_["slot"] >= 0).nonzero()[0].tolist() == [6]
    assert_same(resumed, search())


@quiet
def test_folds_behind_one_that_was_ended_are_skipped_again(path, late_if):
    late_if(lambda params: params["seconds"] == 60.0)

    def search(path):
        return MVRSMSearchCV(
            Constant(), {"seconds": [60.0, 0.0]}, n_iter=2, cv=4, fit_timeout=0.5,
            random_state=0, refit=False, checkpoint=path,
        )  # fmt: skip

    done = search(path).fit(X, y)
    again = search(path).fit(X, y)
    assert set(again.fit_log_["slot"]) == {-1}
    np.testing.assert_equal(again.cv_results_, done.cv_results_)
    assert sorted(done.cv_results_["status"]) == ["ok", "timeout"]


@quiet
def test_candidates_that_were_given_up_are_given_up_again(path):
    options = {"n_iter": 14, "n_initial_points": 12, "racing": 0.2}
    at_once = make(**options).fit(X, y)
    assert "skipped" in at_once.cv_results_["split2_status"]
    interrupt(make(path, **options), 20)
    n_known = len(folds_in(path))
    n_fits = sum(
        np.count_nonzero(at_once.cv_results_[f"split{k}_status"] != "skipped")
        for k in range(3)
    )
    Bowl.fits = 0
    resumed = make(path, **options).fit(X, y)
    assert Bowl.fits == n_fits - n_known
    assert_same(resumed, at_once)


class CountingCallback:
    """A callback of scikit-learn that counts the tasks that begin and end."""

    def __init__(self):
        self.begun = []
        self.ended = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        self.begun.append((context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.ended.append((context.task_name, context.task_id))

    def teardown(self, estimator, context):
        pass


@quiet
@pytest.mark.filterwarnings("ignore:The estimator Bowl does not support callbacks")
def test_callbacks_see_the_folds_of_the_journal_too(path):
    pytest.importorskip("sklearn.callback", reason="no callbacks before 1.9")
    interrupt(make(path), 10)
    callback = CountingCallback()
    make(path).set_callbacks(callback).fit(X, y)
    tasks = [("candidate-split-evaluation", k) for k in range(24)]
    assert sorted(callback.begun) == sorted([("fit", 0), ("search", 0), *tasks])
    assert sorted(callback.ended) == sorted(callback.begun)


# --- extending --------------------------------------------------------------


@quiet
@pytest.mark.parametrize("initial", [None, 3])
def test_a_larger_n_iter_extends_to_the_search_that_was_longer_at_once(path, initial):
    make(path, n_iter=5, n_initial_points=initial).fit(X, y)
    Bowl.fits = 0
    extended = make(path, n_iter=8, n_initial_points=initial).fit(X, y)
    assert Bowl.fits == 9
    assert_same(extended, make(n_iter=8, n_initial_points=initial).fit(X, y))


@quiet
def test_a_smaller_n_iter_takes_the_first_candidates(path):
    make(path).fit(X, y)
    Bowl.fits = 0
    assert_same(make(path, n_iter=7).fit(X, y), make(n_iter=7).fit(X, y))
    assert len(folds_in(path)) == 24


@quiet
@pytest.mark.parametrize("options", [{"method": "paper"}, {"n_initial_points": 20}])
def test_an_extension_keeps_the_plan_of_the_first_run(path, options, recwarn):
    short = make(path, n_iter=6, **options).fit(X, y)
    recwarn.clear()
    Bowl.fits = 0
    extended = make(path, n_iter=10, **options).fit(X, y)
    assert Bowl.fits == 12
    assert extended.cv_results_["params"][:6] == short.cv_results_["params"]
    # ... also when it is interrupted, and without any candidate being another one.
    interrupt(make(path, n_iter=14, **options), 4)
    longer = make(path, n_iter=14, **options).fit(X, y)
    assert longer.cv_results_["params"][:10] == extended.cv_results_["params"]
    assert not [w for w in recwarn if "not the one" in str(w.message)]


# --- following --------------------------------------------------------------


@quiet
def test_candidates_that_are_now_proposed_otherwise_are_followed(path):
    done = make(path).fit(X, y)
    changed = lines(path)
    for entry in changed:
        if entry.get("candidate") in {2, 5}:
            entry["params"]["x"] = np.nextafter(entry["params"]["x"], 2.0)
    changed = changed[:-1]  # the last fold is still to be fitted
    rewrite(path, changed)
    Bowl.fits = 0
    with pytest.warns(UserWarning, match="Candidate 2 of the checkpoint") as caught:
        followed = make(path, n_iter=10).fit(X, y)
    assert caught[0].filename == __file__
    assert Bowl.fits == 1 + 6
    for k, params in enumerate(followed.cv_results_["params"][:8]):
        expected = dict(done.cv_results_["params"][k])
        if k in {2, 5}:
            expected["x"] = np.nextafter(expected["x"], 2.0)
        assert params == expected
    assert len(followed.optimizer_.trials) == 10
    points = {str(params) for params in followed.cv_results_["params"]}
    assert len(points) == 10


# --- failures ---------------------------------------------------------------


def test_a_fit_that_ends_the_search_is_tried_again(path):
    Bowl.bad = range(10)
    with pytest.raises(ArithmeticError):
        make(path, error_score="raise").fit(X, y)
    assert folds_in(path) == []
    Bowl.bad = ()
    interrupt(make(path, error_score="raise"), 2)
    assert folds_in(path) == [(0, 0), (0, 1)]


def fine(estimator, X, y):
    return 1.0


def fails(estimator, X, y):
    raise ArithmeticError("no score")


def fails_in_training(estimator, X, y):
    return 1.0 if len(X) == 20 else fails(estimator, X, y)  # of a test part


@quiet
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scoring": fails},
        {"scoring": fails_in_training, "return_train_score": True},
        {"scoring": {"score": fine, "other": fails}, "refit": "score"},
    ],
)
def test_a_failure_that_was_kept_ends_a_search_that_raises(path, options):
    if not options:
        Bowl.bad = (make().fit(X, y).cv_results_["params"][0]["k"],)
    with contextlib.suppress(ValueError):  # all candidates have failed
        make(path, **options).fit(X, y)
    with pytest.raises(RuntimeError, match=r"(?s)a fit raised:.*ArithmeticError"):
        make(path, error_score="raise", **options).fit(X, y)


@quiet
def test_another_error_score_takes_other_numbers_for_the_same_failures(path):
    Bowl.bad = range(0, 10, 2)
    make(path, include_default=False).fit(X, y)
    Bowl.fits = 0
    again = make(path, error_score=-7.0, include_default=False).fit(X, y)
    assert Bowl.fits == 0
    assert_same(again, make(error_score=-7.0, include_default=False).fit(X, y))


# --- refusals ---------------------------------------------------------------

OTHER_SPACE = {**SPACE, "x": Real(-1.0, 2.0)}
REFUSALS = {
    "space": ({"param_space": OTHER_SPACE}, "space, 'x', high: 1.0 in the checkpoint"),
    "category": (
        {"param_space": {**SPACE, "scaler": SCALERS[:2], "z": Real(0.01, 1.0)}},
        "space, 'scaler', values",
    ),
    "name": (
        {"param_space": {"x": Real(-1.0, 1.0), "k": Integer(0, 9)}},
        "space, 'scaler': only in the checkpoint",
    ),
    "folds": ({"cv": KFold(3, shuffle=True, random_state=1)}, "folds, samples"),
    "number of folds": ({"cv": 4}, "folds, number: 3 in the checkpoint, now 4"),
    "scoring": ({"scoring": "accuracy"}, "scoring, metrics, score"),
    "estimator": ({"estimator": Bowl(z=1.0)}, "estimator, parameters, z: "),
    "type": ({"estimator": Constant(), "param_space": {"level": [0, 1]}}, "estimator"),
    "seed": ({"random_state": 1}, "random_state: it gives the seed"),
    "method": ({"method": "paper"}, "arguments, method"),
    "n_pending": ({"n_pending": 1}, "arguments, n_pending"),
    "initial": ({"n_initial_points": 1}, "arguments, n_initial_points"),
    "points": (
        {"initial_points": [{"x": 0.0, "k": 1, "scaler": SCALERS[0]}]},
        "arguments, initial_points",
    ),
    "train": ({"return_train_score": True}, "arguments, return_train_score"),
    "timeout": ({"fit_timeout": 60.0}, "arguments, fit_timeout"),
    "memory": ({"fit_memory_limit": 1e9}, "arguments, fit_memory_limit"),
    "racing": ({"racing": True}, "arguments, racing"),
}


@quiet
@pytest.mark.parametrize("case", REFUSALS)
def test_the_journal_of_another_search_is_refused_by_what_differs(path, case):
    options, expected = REFUSALS[case]
    make(path, n_iter=2).fit(X, y)
    content = path.read_bytes()
    Bowl.fits = 0
    with pytest.raises(ValueError, match="is of another search") as info:
        make(path, n_iter=2).set_params(**options).fit(X, y)
    message = str(info.value)
    assert f"\n- {expected}" in message
    if case not in {"type", "category", "name", "number of folds"}:
        assert message.count("\n- ") == 1, message
    assert Bowl.fits == 0
    assert path.read_bytes() == content


def test_other_settings_of_scikit_learn_are_refused(path):
    make(path, n_iter=1).fit(X, y)
    expected = 'scikit-learn, transform_output: "default" in the checkpoint'
    with (
        config_context(transform_output="pandas"),
        pytest.raises(ValueError, match=expected),
    ):
        make(path, n_iter=1).fit(X, y)


@quiet
def test_other_data_are_refused_by_their_name(path):
    make(path, n_iter=2).fit(X, y, sample_weight=np.ones(60))
    other = X.copy()
    other[3, 2] = np.nextafter(other[3, 2], 9)
    weight = np.ones(60)
    flipped = np.where(np.arange(60) == 5, 1 - y, y)
    cases = {
        "data, X": (other, y, weight),
        "data, y": (X, flipped, weight),
        "data, fit parameters, sample_weight": (X, y, 2 * weight),
    }
    for expected, (X2, y2, w) in cases.items():
        with pytest.raises(ValueError, match=f"\n- {expected}: "):
            make(path, n_iter=2, cv=KFold(3) if y2 is not y else 3).fit(
                X2, y2, sample_weight=w
            )


@quiet
@pytest.mark.parametrize(
    "options", [{"n_iter": 3}, {"n_jobs": 1}, {"verbose": 1}, {"refit": True}]
)
def test_what_only_shows_or_follows_the_search_may_differ(path, options, capsys):
    make(path, n_iter=2, n_initial_points=2).fit(X, y)
    Bowl.fits = 0
    make(path, **{"n_iter": 2, "n_initial_points": 2, **options}).fit(X, y)
    assert Bowl.fits == 3 * ("n_iter" in options) + ("refit" in options)


class Judge:
    """Scores as its attributes say; where it is kept is its own business."""

    def __init__(self, sign=1, **more):
        self.sign = sign
        vars(self).update(more)

    def __call__(self, estimator, X, y):
        return self.sign * estimator.score(X, y)

    def rank(self, results):
        return self.sign - 1


def judge(sign):
    """Return a function whose closure has the sign."""
    return lambda estimator, X, y: sign * estimator.score(X, y)


def judging(text):
    """Return the function that a script of the user's has, with this line in it."""
    scope = {"__name__": "__main__"}
    exec(f"BOUND = 0.5\ndef score(estimator, X, y):\n    return {text}\n", scope)
    return scope["score"]


def scaled(x, by=1):
    return by * x


def with_parts(part):
    return Bowl(scaler=ColumnTransformer([("some", StandardScaler(), part)]))


FIRST = {"a": judge(1), "b": judge(2)}
REVERSED = dict(reversed(FIRST.items()))
STATES = {
    "slice": ("estimator", with_parts(slice(0, 1)), with_parts(slice(0, 4))),
    "selector": (
        "estimator",
        with_parts(make_column_selector("a")),
        with_parts(make_column_selector("b")),
    ),
    "partial": (
        "estimator",
        Bowl(scaler=FunctionTransformer(partial(scaled, by=1))),
        Bowl(scaler=FunctionTransformer(partial(scaled, by=100))),
    ),
    "frozen": (
        "estimator",
        Bowl(scaler=FrozenEstimator(StandardScaler().fit(X))),
        Bowl(scaler=FrozenEstimator(StandardScaler().fit(X + 1))),
    ),
    "splitter": ("estimator", Bowl(scaler=KFold(3)), Bowl(scaler=KFold(4))),
    "scorer": ("scoring", Judge(1), Judge(-1)),
    "method": ("scoring", Judge(1).__call__, Judge(-1).__call__),
    "closure": ("scoring", judge(1), judge(-1)),
    "body": ("scoring", judging("1.0"), judging("2.0")),
    "argument": (
        "scoring",
        make_scorer(fbeta_score, beta=1),
        make_scorer(fbeta_score, beta=2),
    ),
    "order of metrics": ("scoring", FIRST, REVERSED),
    "category": (
        "param_space",
        {"scaler": [KFold(3), None]},
        {"scaler": [KFold(4), None]},
    ),
    "bound": (
        "param_space",
        SearchSpace({"x": [0.1, 0.2]}, [lambda params: params["x"] < 1]),
        SearchSpace({"x": [0.1, 0.2]}, [lambda params: params["x"] < 2]),
    ),
}


@quiet
@pytest.mark.parametrize("case", STATES)
def test_what_differs_by_its_state_alone_is_refused(path, case):
    name, before, after = STATES[case]
    options = {"param_space": {"k": [4]}}
    make(path, n_iter=1).set_params(**{**options, name: before}).fit(X, y)
    Bowl.fits = 0
    expected = f"\n- {'space' if name == 'param_space' else name}"
    with pytest.raises(ValueError, match=expected):
        make(path, n_iter=1).set_params(**{**options, name: after}).fit(X, y)
    assert Bowl.fits == 0
    make(path, n_iter=1).set_params(**{**options, name: copy.deepcopy(before)}).fit(
        X, y
    )
    assert Bowl.fits == 0


@quiet
@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("scoring", Judge(lock=threading.Lock()), "scoring, metrics, score"),
        ("scoring", {"a": Judge(file=sys.stderr)}, "scoring, metrics, a"),
        ("estimator", Bowl(z=weakref.ref(Bowl)), "estimator, parameters, z"),
        ("param_space", {"z": [weakref.ref(Bowl)]}, "space, 'z'"),
    ],
)
def test_what_cannot_be_told_is_named_before_any_fit(path, name, value, named):
    options = {"param_space": {"k": [4]}, name: value}
    for n_fits in (3, 0):
        Bowl.fits = 0
        with pytest.warns(UserWarning, match=f"cannot tell .*\n- {named} ") as caught:
            make(path, n_iter=1).set_params(**options).fit(X, y)
        assert caught[0].filename == __file__
        assert Bowl.fits == n_fits


NUMBERS = {
    "n_iter": (np.int8(4), 4),
    "n_initial_points": (np.uint8(3), 3),
    "n_pending": (np.uint8(2), 2),
    "n_jobs": (np.int8(1), 1),
    "random_state": (np.uint8(200), 200),
    "fit_timeout": (np.float32(60.5), 60.5),
    "seconds": (60, 60.0),
    "fit_memory_limit": (np.float32(2**40), 2**40),
    "timeout": (np.float32(600.5), 600.5),
    "racing": (np.float32(0.25), 0.25),
    "race": (np.True_, True),
    "level": (True, 0.05),
    "error_score": (np.float32(0.5), 0.5),
    "return_train_score": (np.True_, True),
    "refit": (np.False_, False),
    "verbose": (np.int8(0), 0),
    "cv": (np.uint8(3), 3),
    "initial_points": (
        [{"x": np.float32(0.5), "k": np.uint8(3), "scaler": None, "z": np.float64(1)}],
        [{"x": 0.5, "k": 3, "scaler": None, "z": 1}],
    ),
}
ALSO = {"seconds": "fit_timeout", "race": "racing", "level": "racing"}


@quiet
@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_of_numpy_are_those_of_python(path, case, monkeypatch):
    clock = time.monotonic  # float32 has gaps of 128 s on a machine that is up so long
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 2.0**30)
    name = ALSO.get(case, case)
    of_numpy, of_python = NUMBERS[case]
    search = make(**{"n_iter": 4, "checkpoint": path, name: of_numpy}).fit(X, y)
    assert search.get_params()[name] is of_numpy
    assert (search.fit_log_["slot"] >= 0).all()
    again = make(**{"n_iter": 4, "checkpoint": path, name: of_python}).fit(X, y)
    assert set(again.fit_log_["slot"]) == {-1}
    assert_same(search, again)
    assert "timeout" not in search.cv_results_["status"]


def test_folds_that_are_drawn_anew_are_refused_with_a_hint(path):
    cv = ShuffleSplit(3, random_state=None)
    search = MVRSMSearchCV(
        Bowl(), {"x": [0.1, 0.2]}, n_iter=1, cv=cv, checkpoint=path, refit=False
    )
    search.fit(X, y)
    with pytest.raises(ValueError, match="gives the same folds if its seed is fixed"):
        search.fit(X, y)


# --- the file ---------------------------------------------------------------


class Wordy(Bowl):
    """Fails with a message of ten million characters."""

    def fit(self, X, y):
        raise ValueError("x" * 10_000_000)


@quiet
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_long_messages_are_cut(path, n_jobs):
    search = make(path, n_iter=1, n_jobs=n_jobs).set_params(estimator=Wordy())
    with pytest.raises(ValueError, match="All the 3 fits failed") as info:
        search.fit(X, y)
    assert "characters left out" in str(info.value)
    assert len(str(info.value)) < 15_000
    assert max(len(text) for text in search.cv_results_["split0_error"]) <= 10_000
    assert path.stat().st_size < 50_000


def test_a_path_in_use_is_refused(path):
    inner = []

    class Nested(Bowl):
        def fit(self, X, y):
            if not inner:
                with pytest.raises(RuntimeError, match="in use by another search"):
                    make(path, n_iter=1).fit(X, y)
                inner.append(True)
            return super().fit(X, y)

    make(path, n_iter=1).set_params(estimator=Nested()).fit(X, y)
    assert inner


class Forking(Bowl):
    """Leaves a process behind that outlives its fit, and writes its number down."""

    folder = None

    def __init__(self, folder=None, x=0.0, k=0, scaler=None, z=0.0):
        super().__init__(x, k, scaler, z)
        self.folder = folder

    def fit(self, X, y):
        child = os.fork()
        if child == 0:
            time.sleep(60.0)
            os._exit(0)
        Path(self.folder, str(child)).touch()
        return super().fit(X, y)


@pytest.mark.skipif(
    not hasattr(os, "fork"), reason="the fit forks children, and fork is POSIX's"
)
@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_process_that_a_fit_left_behind_does_not_use_the_checkpoint(path, n_jobs):
    folder = path.parent / "children"
    folder.mkdir()
    search = make(path, n_iter=1, n_jobs=n_jobs)
    search.set_params(estimator=Forking(folder), param_space={"k": [4]})
    try:
        search.fit(X, y)
        assert len(os.listdir(folder)) == 3
        search.fit(X, y)
        assert len(os.listdir(folder)) == 3
    finally:
        for child in os.listdir(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)


@pytest.mark.parametrize("where", ["nowhere/journal", "."])
def test_a_path_that_cannot_be_written_is_an_error_before_any_fit(tmp_path, where):
    with pytest.raises(OSError, match="cannot open the checkpoint"):
        make(tmp_path / where).fit(X, y)
    assert Bowl.fits == 0


FULL = [each for each in ("/dev/full",) if os.path.exists(each)]


@pytest.mark.parametrize("device", [*FULL, None])
def test_a_full_disk_is_an_error_before_any_fit(device, path, monkeypatch):
    write = os.write

    def full(fd, data):
        if b'"format"' in bytes(data):  # others write too: what ends processes, say
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    if device is None:
        monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left on device"):
        make(path if device is None else device).fit(X, y)
    assert Bowl.fits == 0


def test_a_disk_that_fills_up_ends_the_search_and_keeps_what_was_written(
    path, monkeypatch
):
    write = os.write

    def limited(fd, data):
        if Bowl.fits == 5 and b'"candidate"' in bytes(data):
            raise OSError(28, os.strerror(28))
        return write(fd, data)

    monkeypatch.setattr(os, "write", limited)
    with pytest.raises(OSError, match="cannot write the checkpoint: No space"):
        make(path).fit(X, y)
    assert len(folds_in(path)) == 4


def test_a_file_of_another_kind_is_left_alone(path):
    path.write_text("precious\n")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        make(path).fit(X, y)
    assert path.read_text() == "precious\n"
    assert Bowl.fits == 0


@quiet
def test_categories_are_stored_by_position(path):
    make(path).fit(X, y)
    found = {entry["params"]["scaler"] for entry in lines(path) if "candidate" in entry}
    assert found <= {0, 1, 2}
    assert "StandardScaler" not in path.read_text().split("\n", 1)[1]


def test_the_argument_is_a_path(tmp_path):
    with pytest.raises(ValueError, match="'checkpoint' parameter"):
        make(3).fit(X, y)
    assert clone(make(os.fspath(tmp_path / "a"))).checkpoint.endswith("a")


# --- damage -----------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a search that is done, and the lines of its checkpoint."""
    path = tmp_path_factory.mktemp("finished") / "journal.jsonl"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # k=9 gives scores that are not finite
        search = make(path).fit(X, y)
    return search, path.read_bytes().splitlines(keepends=True)


def refusal(path, content, expected):
    """Return the refusal of a checkpoint; None if it gives the search expected."""
    path.write_bytes(content)
    Bowl.fits = 0
    try:
        search = make(path).fit(X, y)
    except ValueError as error:
        message = str(error)
    else:
        assert_same(search, expected)
        return None
    assert repr(str(path)) in message
    assert path.read_bytes() == content
    assert Bowl.fits == 0
    return message


@quiet
@pytest.mark.filterwarnings("ignore:The last line of the checkpoint")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.long
def test_a_damaged_byte_is_refused_by_its_line_or_changes_nothing(path, finished, seed):
    search, lines = finished
    content, rng = b"".join(lines), random.Random(seed)
    refusals = []
    for _ in range(50):
        k, other = rng.randrange(len(content)), rng.randrange(256)
        flipped = content[k] ^ 1 << rng.randrange(8)
        put = rng.choice([[flipped], [other], [other, content[k]], []])
        damaged = content[:k] + bytes(put) + content[k + 1 :]
        refusals.append(refusal(path, damaged, search))
    numbers = [int(re.search(r"[Ll]ine (\d+)", each)[1]) for each in refusals if each]
    assert set(numbers) <= set(range(1, len(lines) + 1))
    assert len(numbers) > 40  # the others are in the last line, or of a space


HARMLESS = {
    "nothing": (lambda lines: lines, 0),
    "a line deleted": (lambda lines: [*lines[:4], *lines[5:]], 1),
    "two lines swapped": (
        lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]],
        0,
    ),
    "the end cut off": (lambda lines: lines[:20], 5),
    "line ends of Windows": (lambda lines: [s[:-1] + b"\r\n" for s in lines], 0),
    "a blank line at the end": (lambda lines: [*lines, b"\n"], 0),
}


@quiet
@pytest.mark.filterwarnings("ignore:The last line of the checkpoint")
@pytest.mark.parametrize("edit", HARMLESS)
def test_an_edit_that_is_harmless_costs_the_fits_that_it_removed(path, finished, edit):
    search, lines = finished
    change, n_fits = HARMLESS[edit]
    assert refusal(path, b"".join(change(lines)), search) is None
    assert Bowl.fits == n_fits


EDITS = {
    "a line twice": (
        lambda lines: [*lines[:4], lines[2], *lines[4:]],
        "Line 5 of the .* damaged: an earlier line is of candidate 0, fold 1 too",
    ),
    "a blank line": (
        lambda lines: [*lines[:4], b"\n", *lines[4:]],
        "Line 5 of the .* damaged: it is not JSON",
    ),
    "text cut out": (
        lambda lines: [*lines[:3], lines[3][:40] + lines[7][30:], *lines[8:]],
        "Line 4 of the .* damaged: it is not JSON",
    ),
    "a number changed": (
        lambda lines: [
            *lines[:3],
            lines[3].replace(b'"n_test_samples": 20', b'"n_test_samples": 21'),
            *lines[4:],
        ],
        "Line 4 of the .* damaged: its checksum is wrong",
    ),
    "no checksum": (
        lambda lines: [*lines[:3], b'{"candidate": 0}\n', *lines[4:]],
        "Line 4 of the .* damaged: it has no checksum",
    ),
    "the header changed": (
        lambda lines: [lines[0].replace(b"Bowl", b"Howl"), *lines[1:]],
        "Line 1 of the .* damaged: its checksum is wrong",
    ),
    "no header": (lambda lines: lines[1:], "line 1 begins with '.\"candidate"),
    "a byte order mark": (
        lambda lines: [b"\xef\xbb\xbf", *lines],
        r"line 1 begins with '\\+xef\\+xbb",
    ),
    "an older version": (
        lambda lines: [lines[0].replace(b"checkpoint 2", b"checkpoint 1"), *lines[1:]],
        'line 1 begins with .*checkpoint 1"., not with .*checkpoint 2"'
        ".*: go on with that version, or begin anew at another path",
    ),
}


@quiet
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_matters_is_refused_by_its_line(path, finished, edit):
    search, lines = finished
    change, expected = EDITS[edit]
    assert re.search(expected, refusal(path, b"".join(change(lines)), search))


@quiet
def test_a_line_of_another_checkpoint_is_refused(path, finished):
    search, lines = finished
    make(path, random_state=1).fit(X, y)
    foreign = path.read_bytes().splitlines(keepends=True)[3]
    message = refusal(path, b"".join([*lines[:3], foreign, *lines[4:]]), search)
    assert "Line 4 of the" in message
    assert "its checksum is wrong, it was changed or is of another" in message


CODES = {"x": 0.5, "k": 4, "scaler": 0}
WRONG_PARTS = [
    *(("candidate", value) for value in (-1, True, "0", 1.0, None)),
    *(("fold", value) for value in (-1, 3, 10**30, [0])),
    *(("status", value) for value in ("fine", "skipped", ["ok"], None)),
    *(("fit_time", value) for value in ("fast", "nan", 1, None)),
    *(("score_time", value) for value in ({}, True)),
    *(("n_test_samples", value) for value in (-1, 20.0, "20")),
    *(("error", value) for value in (None, 0)),
    *(("multimetric", value) for value in (0, None)),
    *(("test_scores", value) for value in ({}, None, [0.5], {"score": "NaN"})),
    *(("test_scores", {"score": value}) for value in (10**400, 1, None, [0.5])),
    *(("train_scores", value) for value in (0.5, {"score": True})),
    *(("params", value) for value in (None, {}, [], {**CODES, "y": 1})),
    *(("params", {**CODES, "x": value}) for value in (1.5, "0", 10**400, None)),
    *(("params", {**CODES, "k": value}) for value in (10, 4.5, -1)),
    *(("params", {**CODES, "scaler": value}) for value in (-1, 2, 3, "0")),
    ("surprise", 1),
]


@quiet
@pytest.mark.parametrize(("part", "value"), WRONG_PARTS)
def test_a_part_that_is_wrong_is_refused_by_its_line(path, finished, part, value):
    search, whole = finished
    records = [json.loads(line) for line in whole]
    rewrite(path, [*records[:4], {**records[4], part: value}, *records[5:]])
    message = refusal(path, path.read_bytes(), search)
    assert "Line 5 of the" in message
    named = "has the codes|Parameter '" if part == "params" else f"'{part}'"
    assert re.search(named, message)


@quiet
@pytest.mark.parametrize("value", [None, {}, {"random_state": 0}])
def test_a_header_that_is_wrong_is_refused_by_its_line(path, finished, value):
    search, whole = finished
    records = [json.loads(line) for line in whole]
    rewrite(path, [{**records[0], "plan": value}, *records[1:]])
    message = refusal(path, path.read_bytes(), search)
    assert "Line 1 of the" in message
    assert "'plan' must have ['n_initial_points', 'n_iter'" in message


@quiet
def test_folds_of_one_candidate_with_different_params_are_refused(path, finished):
    search, whole = finished
    records = [json.loads(line) for line in whole]
    records[5]["params"] = records[2]["params"]
    rewrite(path, records)
    assert "Line 6 of the" in (message := refusal(path, path.read_bytes(), search))
    assert "an earlier line has other params of candidate 1, fold 1" in message


# --- fingerprints -----------------------------------------------------------

FRAME = {
    "n": [1, 2, 3],
    "x": [0.5, float("nan"), 2.0],
    "s": ["a", None, "c"],
    "b": [True, False, True],
}
KINDS = {
    "floats": lambda: np.arange(12.0).reshape(4, 3),
    "objects": lambda: np.array([["a", 1], [None, 2.5]], dtype=object),
    "text": lambda: np.array(["one", "two"]),
    "times": lambda: np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
    "masked": lambda: np.ma.array([1.0, 2.0], mask=[False, True]),
    "empty": lambda: np.empty((0, 3)),
    "list": lambda: [[1, 2.0], ["x", None]],
    "dict": lambda: {"a": [1, 2], "b": "x"},
    "csr": lambda: sp.csr_array(np.eye(4)),
    "coo": lambda: sp.coo_matrix(np.eye(4)),
    "pandas": lambda: pd.DataFrame(FRAME),
    "categorical": lambda: pd.DataFrame({"c": pd.Categorical(["u", "v", "u"])}),
    "nullable": lambda: pd.Series([1, None], dtype="Int64", name="y"),
    "moments": lambda: pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")),
    "polars": lambda: pl.DataFrame(FRAME),
    "enum": lambda: pl.Series("e", ["u", "v"], dtype=pl.Enum(["u", "v", "w"])),
}


def put_digests(queue):
    queue.put({kind: digest_content(make_data()) for kind, make_data in KINDS.items()})


def test_digests_are_the_same_in_another_process():
    context = multiprocessing.get_context("spawn")  # polars hangs in a forked process
    queue = context.Queue()
    child = context.Process(target=put_digests, args=(queue,), daemon=True)
    child.start()
    there = queue.get(timeout=300)
    child.join()
    here = {kind: digest_content(make_data()) for kind, make_data in KINDS.items()}
    assert there == here
    # csr and coo are one content in two forms
    assert len(set(here.values())) == len(here) - 1


def test_digests_do_not_depend_on_where_data_lie_in_memory():
    for array in (X, X[:, ::2], np.array(["a", "b"], dtype=object)):
        assert digest_content(np.asfortranarray(array)) == digest_content(array.copy())
    unsorted = sp.csr_array(([1.0, 2.0], [2, 0], [0, 2]), shape=(1, 3))
    assert digest_content(unsorted) == digest_content(unsorted.sorted_indices())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (X, X.astype(np.float32)),
        (X, X.reshape(5, 60)),
        ([1, 2], [1.0, 2.0]),
        ([[1], [2]], [[1, 2]]),
        ([["a", "b"]], [["ab"]]),
        (np.array([1, "1"], dtype=object), np.array(["1", 1], dtype=object)),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})),
        (pl.DataFrame({"a": [None, 1]}), pl.DataFrame({"a": [0, 1]})),
        (
            pd.Series(pd.Categorical(["u"], categories=["u", "v"])),
            pd.Series(pd.Categorical(["u"], categories=["u", "w"])),
        ),
        (sp.csr_array([[1.0, 0.0]]), sp.csr_array([[0.0, 1.0]])),
        (None, []),
    ],
)
def test_digests_tell_other_content_apart(one, other):
    assert digest_content(one) != digest_content(other)


def test_data_that_cannot_be_read_are_refused():
    with pytest.raises(TypeError, match="'checkpoint' needs data whose content"):
        digest_content([(row for row in X)])


def test_folds_are_what_they_select():
    mask = np.arange(6) < 4
    digest = digest_folds([(np.arange(4), np.arange(4, 6))], 6)
    assert digest == digest_folds([(mask, ~mask)], 6)
    assert digest != digest_folds([(np.arange(4)[::-1], np.arange(4, 6))], 6)
    assert digest != digest_folds([(np.arange(3), np.arange(4, 6))], 6)


def test_descriptions_have_no_addresses():
    class Thing:
        pass

    def metric(y, p):
        return 0.0

    for description in (
        describe(Thing()),
        describe({"a": [Thing(), metric]}),
        describe_estimator(make_pipeline(StandardScaler(), LogisticRegression(C=2.0))),
        describe_scorer(make_scorer(metric, thing=Thing())),
        describe_scorer(metric),
    ):
        assert "0x" not in json.dumps(description)


def test_a_nested_parameter_is_described_under_its_name():
    one, other = (
        describe_estimator(make_pipeline(StandardScaler(), LogisticRegression(C=c)))
        for c in (1.0, 2.0)
    )
    names = {
        n for n in one["parameters"] if one["parameters"][n] != other["parameters"][n]
    }
    assert "logisticregression__C" in names


def test_long_descriptions_are_kept_short():
    zeros, ones = describe(np.zeros(10_000)), describe(np.ones(10_000))
    assert zeros != ones
    assert len(json.dumps(zeros)) < 100


# --- kill -9 ----------------------------------------------------------------

forks = pytest.mark.skipif(
    not hasattr(os, "fork"),
    reason="kill_resume.py forks the searches that it kills, and fork is POSIX's",
)


@forks
@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.long
def test_searches_that_are_killed_lose_nothing():
    counts = kill_and_resume(20)
    assert counts["kills"] == 20


@forks
@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.long
def test_searches_in_two_processes_that_are_killed_lose_nothing():
    # few, as each time two processes are started; the script takes any number
    counts = kill_and_resume(3, n_jobs=2, methods=["mvrsm"])
    assert counts["kills"] == 3
    assert counts["kills before any fit"] + counts["kills after all fits"] < 3
