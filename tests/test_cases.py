"""Behaviour cases: faults that users of other search tools reported, done right here.

Only the adapter at the top knows the names of the interface. Class and test names carry
the number of the case.
"""

import os
import signal
import subprocess
import time
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Real

# Small spaces are used up on purpose in some cases, and that is said in a warning.
# LogisticRegression with its defaults does not always converge.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The space has only:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

# --- adapter: the only place that knows the interface -------------------------------


def real(lo, hi, log=False):
    return Real(lo, hi, log=log)


def integer(lo, hi, log=False):
    return Integer(lo, hi, log=log)


def choice(values):
    return Categorical(values)


def when(dim, parent, values):
    return dim.when({parent: values})


def make(estimator, space, n_iter, random_state=0, **kw):
    return MVRSMSearchCV(
        estimator, space, n_iter=n_iter, random_state=random_state, **kw
    )


X, y = load_iris(return_X_y=True)

# --- O1: a candidate whose every fit fails must not end the search ------------------


def test_o1_some_candidates_fail():
    s = make(SVC(), {"C": real(-1.0, 1.0)}, 24, cv=3, error_score=np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s.fit(X, y)  # C <= 0 is refused by SVC
    C = np.array([p["C"] for p in s.cv_results_["params"]])
    m = s.cv_results_["mean_test_score"]
    assert len(C) == 24
    assert (C <= 0).any()
    assert (C > 0).any()
    assert np.array_equal(np.isnan(m), C <= 0)
    assert s.best_params_["C"] > 0
    assert np.isfinite(s.best_score_)
    r = s.cv_results_["rank_test_score"]
    assert r[C <= 0].min() > r[C > 0].max()
    assert (C[-8:] > 0).sum() >= 1  # still proposing in the good half late in the run


def test_o1_numeric_error_score():
    s = make(SVC(), {"C": real(-1.0, 1.0)}, 16, cv=3, error_score=-7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s.fit(X, y)
    C = np.array([p["C"] for p in s.cv_results_["params"]])
    assert np.all(s.cv_results_["mean_test_score"][C <= 0] == -7.0)
    assert s.best_params_["C"] > 0


def test_o1_nothing_works():
    s = make(SVC(), {"C": real(-2.0, -1.0)}, 6, cv=3, error_score=np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="'C' parameter of SVC"):
            s.fit(X, y)


def test_o1_raise():
    s = make(SVC(), {"C": real(-2.0, -1.0)}, 6, cv=3, error_score="raise")
    with pytest.raises(ValueError, match="'C' parameter of SVC"):
        s.fit(X, y)


# --- O2: the estimator receives exactly the objects the user declared ---------------

INNER = LogisticRegression()
OPTIONS = [
    None,
    True,
    False,
    1,
    0,
    1.0,
    "1",
    "none",
    (5,),
    (5, 2),
    (7, 2),
    [3, 4],
    {"a": 1},
    np.float32(0.5),
    len,
    INNER,
]


def same(a, b):
    if isinstance(b, BaseEstimator):
        return type(a) is type(b)  # search tools clone estimators
    return type(a) is type(b) and a == b


class Spy(ClassifierMixin, BaseEstimator):
    def __init__(self, v=None, n=1, r=0.5):
        self.v, self.n, self.r = v, n, r

    def fit(self, X, y):
        if not any(same(self.v, o) for o in OPTIONS):
            raise TypeError(f"{type(self.v)!r} {self.v!r} was never declared")
        if type(self.n) is not int or type(self.r) is not float:
            raise TypeError(f"{type(self.n)} {type(self.r)}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_o2_types():
    space = {"v": choice(OPTIONS), "n": integer(1, 50, log=True), "r": real(0.1, 1.0)}
    s = make(Spy(), space, 60, cv=2, error_score="raise").fit(X, y)
    for p in s.cv_results_["params"]:
        assert any(same(p["v"], o) for o in OPTIONS)
        assert type(p["n"]) is int
        assert type(p["r"]) is float
    got = {(type(p["v"]).__name__, repr(p["v"])) for p in s.cv_results_["params"]}
    assert {("bool", "True"), ("int", "1"), ("float", "1.0"), ("str", "'1'")} & got
    # ragged tuples and lists did not become a 2-D array
    assert len(s.cv_results_["param_v"]) == 60
    assert s.cv_results_["param_v"].ndim == 1
    assert not hasattr(INNER, "coef_")


def test_o2_only_true_and_one():
    s = make(Spy(), {"v": choice([True, 1])}, 30, cv=2, error_score="raise").fit(X, y)
    assert {type(p["v"]) for p in s.cv_results_["params"]} == {bool, int}


# --- O3: all candidates of one fit are scored on the same folds ---------------------


class Watch(KFold):
    seen = []  # noqa: RUF012  shared on purpose: clones report to one list

    def split(self, *a, **k):
        for tr, te in super().split(*a, **k):
            Watch.seen.append(tuple(te))
            yield tr, te


def test_o3_folds_frozen():
    Watch.seen.clear()
    make(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": integer(1, 9)},
        8,
        cv=Watch(3, shuffle=True),
    ).fit(X, y)
    assert len(set(Watch.seen)) == 3


def test_o3_one_shot_generator():
    gen = KFold(3, shuffle=True, random_state=0).split(X)
    s = make(
        DecisionTreeClassifier(random_state=0), {"max_depth": integer(1, 9)}, 8, cv=gen
    ).fit(X, y)
    assert len(s.cv_results_["params"]) == 8
    assert s.n_splits_ == 3


# --- O4: conditional parameters: inactive means absent ------------------------------


def space_and_pipe():
    svc, knn = SVC(), KNeighborsClassifier()
    space = {
        "clf": choice([svc, knn]),
        "clf__kernel": when(choice(["linear", "rbf"]), "clf", [svc]),
        "clf__gamma": when(real(1e-3, 1.0, log=True), "clf__kernel", ["rbf"]),
        "clf__n_neighbors": when(integer(1, 3), "clf", [knn]),
    }
    return space, Pipeline([("clf", SVC())])


def test_o4_conditional():
    space, pipe = space_and_pipe()
    s = make(pipe, space, 30, cv=3, error_score="raise").fit(X, y)
    ps = s.cv_results_["params"]
    for p in ps:
        if isinstance(p["clf"], SVC):
            assert "clf__n_neighbors" not in p
            assert "clf__kernel" in p
            assert ("clf__gamma" in p) == (p["clf__kernel"] == "rbf")
        else:
            assert set(p) == {"clf", "clf__n_neighbors"}
    assert {type(p["clf"]) for p in ps} == {SVC, KNeighborsClassifier}
    for name in space:
        mask = np.ma.getmaskarray(s.cv_results_["param_" + name])
        assert mask.tolist() == [name not in p for p in ps]
    # 3 KNN settings and 1 linear SVC exist; the rest of the budget belongs to rbf
    knn = [
        p["clf__n_neighbors"] for p in ps if isinstance(p["clf"], KNeighborsClassifier)
    ]
    linear = [p for p in ps if p.get("clf__kernel") == "linear"]
    assert len(knn) == len(set(knn))
    assert len(linear) <= 1
    again = clone(pipe).set_params(**clone(s.best_params_, safe=False)).fit(X, y)
    assert np.array_equal(again.predict(X), s.predict(X))


# --- O5: the per-fit limit ends code that will not listen ---------------------------


class Stuck(ClassifierMixin, BaseEstimator):
    """Never returns if told to hang, ignores what signals it can, notes its pid."""

    def __init__(self, hang=False, z=0.0, folder=None):
        self.hang, self.z, self.folder = hang, z, folder

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.hang:
            open(os.path.join(self.folder, str(os.getpid())), "w").close()
            for sg in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
                signal.pthread_sigmask(signal.SIG_BLOCK, {sg})
            while True:
                try:  # noqa: SIM105  as stubborn code does
                    time.sleep(3600)
                except BaseException:
                    pass
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def alive(pid):
    out = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return bool(out) and not out.startswith("Z")  # a zombie is dead for our purpose


@pytest.mark.long
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_o5_timeout(tmp_path, n_jobs, late_if):
    late_if(lambda params: params["hang"])
    s = make(
        Stuck(folder=str(tmp_path)),
        {"hang": choice([False, True]), "z": real(0.0, 1.0)},
        6,
        cv=2,
        n_jobs=n_jobs,
        fit_timeout=2.0,
        error_score=np.nan,
    )
    t = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s.fit(X, y)
    assert time.monotonic() - t < 600  # of the 3600 that a fit would take
    h = np.array([p["hang"] for p in s.cv_results_["params"]])
    assert len(h) == 6
    assert h.any()
    assert not h.all()
    assert np.array_equal(np.isnan(s.cv_results_["mean_test_score"]), h)
    assert s.best_params_["hang"] is False
    pids = [int(f) for f in os.listdir(tmp_path)]
    assert pids
    assert os.getpid() not in pids
    assert not any(alive(p) for p in pids)


# --- O6: several metrics, and every way to say refit --------------------------------


def c_space():
    return {"C": real(1e-3, 1e2, log=True)}


TWO = {"acc": "accuracy", "loss": "neg_log_loss"}


class Counting(LogisticRegression):
    fits = 0

    def fit(self, X, y, **k):
        Counting.fits += 1
        return super().fit(X, y, **k)


def test_o6_named_refit():
    s = make(
        LogisticRegression(max_iter=500), c_space(), 8, cv=3, scoring=TWO, refit="loss"
    ).fit(X, y)
    m = s.cv_results_["mean_test_loss"]
    assert s.multimetric_
    assert s.best_index_ == np.argmax(m)
    assert s.best_score_ == m[s.best_index_] < 0
    assert s.best_params_ == s.cv_results_["params"][s.best_index_]
    assert s.score(X, y) < 0  # the refit metric, not accuracy
    assert {"mean_test_acc", "rank_test_acc", "rank_test_loss"} <= set(s.cv_results_)


def test_o6_callable_refit():
    s = make(
        LogisticRegression(max_iter=500),
        c_space(),
        6,
        cv=3,
        scoring=TWO,
        refit=lambda r: 2,
    ).fit(X, y)
    assert s.best_index_ == 2
    assert s.best_params_ == s.cv_results_["params"][2]
    s = make(
        LogisticRegression(max_iter=500), c_space(), 6, cv=3, refit=lambda r: 1
    ).fit(X, y)
    assert s.best_index_ == 1
    assert hasattr(s, "best_estimator_")


def test_o6_refit_false():
    s = make(
        LogisticRegression(max_iter=500), c_space(), 6, cv=3, scoring=TWO, refit=False
    ).fit(X, y)
    assert len(s.cv_results_["params"]) == 6
    assert not hasattr(s, "best_estimator_")
    assert not hasattr(s, "predict")
    s = make(LogisticRegression(max_iter=500), c_space(), 6, cv=3, refit=False).fit(
        X, y
    )
    assert s.best_score_ == s.cv_results_["mean_test_score"][s.best_index_]
    assert s.best_params_


@pytest.mark.parametrize(
    "scoring", [TWO, lambda est, X, y: {"a": 1.0, "b": 2.0}], ids=["dict", "callable"]
)
def test_o6_bad_refit_is_refused_before_any_fit(scoring):
    Counting.fits = 0
    with pytest.raises(ValueError, match="refit"):
        make(Counting(), c_space(), 30, cv=3, scoring=scoring, refit=True).fit(X, y)
    assert Counting.fits <= 3  # a callable reveals its keys only after one candidate
