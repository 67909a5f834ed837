"""scikit-learn's callbacks see a search as they see GridSearchCV."""

import contextlib
import os
import warnings

import awkward
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from sklearn_mvrsm import MVRSMSearchCV, Real
from sklearn_mvrsm._search.task_tree import open_tasks

callback_support = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn < 1.9 has no callbacks"
)

X = np.random.default_rng(0).normal(size=(40, 3))
y = np.arange(40) % 2


class Recorder:
    """Writes a line for each call to a file, which workers can do too."""

    def __init__(self, path):
        self.path = str(path)

    def _note(self, hook, context, **kwargs):
        names = sorted(name for name, value in kwargs.items() if value is not None)
        line = f"{hook} {context.task_name} {context.task_id} {','.join(names)}\n"
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line)

    def setup(self, estimator, context):
        self._note("setup", context)

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self._note("begin", context, X=X, y=y, metadata=metadata)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None):
        self._note("end", context, X=X, y=y, metadata=metadata)

    def teardown(self, estimator, context):
        self._note("teardown", context)

    @property
    def lines(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read().splitlines()

    def count(self, start):
        return sum(line.startswith(start) for line in self.lines)


class DeepRecorder(Recorder):
    """One that goes down to the estimators of the folds."""

    max_propagation_depth = None


class Moody(ClassifierMixin, BaseEstimator):
    """Fits, fails, hangs or dies, as ``mood`` says."""

    def __init__(self, mood="fine", level=0.0):
        self.mood = mood
        self.level = level

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        if self.mood == "fails":
            raise ValueError("moody")
        if self.mood == "dies":
            os._exit(3)
        while self.mood == "hangs":
            pass
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def make_search(estimator=None, space=None, n_iter=3, **options):
    options = {"cv": 2, "random_state": 0} | options
    return MVRSMSearchCV(
        Moody() if estimator is None else estimator,
        {"level": Real(0.0, 1.0)} if space is None else space,
        n_iter=n_iter,
        **options,
    )


@pytest.mark.parametrize(
    ("kind", "refit", "n_jobs"),
    [
        (Recorder, True, None),
        (Recorder, False, None),
        (DeepRecorder, True, None),
        (DeepRecorder, True, 2),
    ],
)
@pytest.mark.filterwarnings("ignore:The estimator Moody does not support callbacks")
def test_tasks_are_the_fit_the_search_its_folds_and_the_refit(
    kind, refit, n_jobs, tmp_path
):
    callback = kind(tmp_path / "calls")
    make_search(refit=refit, n_jobs=n_jobs).set_callbacks(callback).fit(X, y)
    for hook in ("begin", "end"):
        assert callback.count(f"{hook} fit 0") == 1
        assert callback.count(f"{hook} search 0") == 1
        assert callback.count(f"{hook} refit-with-best-params 1") == refit
        for k in range(6):
            assert callback.count(f"{hook} candidate-split-evaluation {k} ") == 1
        assert callback.count(hook) == 8 + refit
    assert callback.count("setup fit") == callback.count("teardown fit") == 1
    assert callback.lines[0].startswith("setup")
    assert callback.lines[1] == "begin fit 0 X,y"
    assert callback.lines[-2:] == ["end fit 0 X,y", "teardown fit 0 "]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_callbacks_go_down_to_estimators_that_have_them(n_jobs, tmp_path):
    deep, shallow = DeepRecorder(tmp_path / "deep"), Recorder(tmp_path / "shallow")
    space = {"C": [0.1, 0.5, 1.0]}
    search = make_search(LogisticRegression(), space, n_jobs=n_jobs, refit=False)
    grid = GridSearchCV(LogisticRegression(), space, cv=2, refit=False)
    search.set_callbacks(deep, shallow).fit(X, y)
    theirs = [DeepRecorder(tmp_path / "deep2"), Recorder(tmp_path / "shallow2")]
    grid.set_callbacks(*theirs).fit(X, y)
    for ours, other in zip([deep, shallow], theirs, strict=True):
        for start in ("begin", "end", "begin fit", "begin search", "end candidate"):
            assert ours.count(start) == other.count(start), start


def test_failed_folds_end_their_tasks(tmp_path):
    callback = Recorder(tmp_path / "calls")
    search = make_search(space={"mood": ["fine", "fails"]}, n_iter=2, error_score=0.0)
    with pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 4"):
        search.set_callbacks(callback).fit(X, y)
    assert callback.count("begin candidate") == callback.count("end candidate") == 4


@pytest.mark.parametrize("mood", ["hangs", "dies"])
def test_killed_folds_end_their_tasks_and_none_ends_twice(mood, tmp_path, late_if):
    late_if(lambda params: params["mood"] == "hangs")
    callback = Recorder(tmp_path / "calls")
    search = make_search(
        space={"mood": ["fine", mood]}, n_iter=2, cv=3, n_jobs=2, fit_timeout=0.5
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.set_callbacks(callback).fit(X, y)
    assert "skipped" in search.cv_results_["split2_status"]
    # A fold that is stopped on its way because of another one is not seen to end.
    ends = [callback.count(f"end candidate-split-evaluation {k} ") for k in range(6)]
    assert max(ends) == 1
    assert sum(ends) >= 5
    assert callback.count("end search") == 1


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_no_fold_ends_twice_where_hopeless_candidates_are_given_up(n_jobs, tmp_path):
    callback = Recorder(tmp_path / "calls")
    search = make_search(
        scoring=lambda e, X, y: e.level + 0.01 * float(X[0, 0]),
        n_iter=20,
        cv=4,
        n_jobs=n_jobs,
        racing=True,
    )
    search.set_callbacks(callback).fit(X, y)
    assert "skipped" in search.cv_results_["split3_status"]
    ends = [callback.count(f"end candidate-split-evaluation {k} ") for k in range(80)]
    assert max(ends) == 1
    if n_jobs is None:
        assert min(ends) == 1


def test_a_fold_that_cannot_even_begin_ends_its_task(tmp_path):
    class Refusing(Moody):
        def set_params(self, **params):
            if params.get("level", 0.0) > 0.9:
                raise ValueError("too high")
            return super().set_params(**params)

    callback = Recorder(tmp_path / "calls")
    points = [{"level": 0.95}, {"level": 0.1}]
    search = make_search(Refusing(), n_iter=2, initial_points=points, error_score=0.0)
    search.set_callbacks(callback)
    with pytest.warns(FitFailedWarning, match="too high"):
        search.fit(X, y)
    assert callback.count("begin candidate") == callback.count("end candidate") == 4


def test_hooks_receive_the_very_search_and_its_weights(tmp_path):
    class Keeper(Recorder):
        def __init__(self, path):
            super().__init__(path)
            self.estimators = []
            self.weights = {}

        def on_fit_task_begin(
            self, estimator, context, *, X=None, y=None, metadata=None
        ):
            self.estimators.append(estimator)
            if metadata is not None:
                self.weights[context.task_name] = metadata["sample_weight"]

    callback = Keeper(tmp_path / "calls")
    search = make_search().set_callbacks(callback)
    weights = np.ones(40)
    search.fit(X, y, sample_weight=weights)
    assert all(estimator is search for estimator in callback.estimators)
    assert callback.weights["fit"] is weights
    assert callback.weights["refit-with-best-params"] is weights
    assert len(callback.weights["candidate-split-evaluation"]) == 20


class StopAtFold:
    """Asks to stop at the end of the first fold of a candidate."""

    def __init__(self, number):
        self.number = number

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        is_fold = context.task_name == "candidate-split-evaluation"
        return is_fold and context.task_id == self.number


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_stop_flag_stops_the_search_and_refits(n_jobs):
    search = make_search(n_iter=30, n_jobs=n_jobs, n_pending=1)
    search.set_callbacks(StopAtFold(4)).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert search.predict(X).shape == (40,)


class Failing(StopAtFold):
    def __init__(self, where):
        self.where = where

    def _fail(self, where):
        if self.where == where:
            raise LookupError(f"failed at {where}")

    def setup(self, estimator, context):
        self._fail("setup")

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == "candidate-split-evaluation":
            self._fail("begin")

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "candidate-split-evaluation":
            self._fail("end")


@pytest.mark.parametrize(
    ("mood", "options"),
    [("fails", {}), ("hangs", {"n_jobs": 2, "fit_timeout": 0.5})],
)
def test_the_bars_of_scikit_learn_come_to_their_end(mood, options, capsys, late_if):
    pytest.importorskip("rich", reason="rich is not installed")
    late_if(lambda params: params["mood"] == "hangs")
    search = make_search(space={"mood": ["fine", mood]}, n_iter=2, cv=3, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.set_callbacks(callback_support.ProgressBar()).fit(X, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "%" in line]
    for name in ("fit", "search"):
        (line,) = [line for line in lines if f"MVRSMSearchCV - {name}" in line]
        assert "100%" in line


def test_a_callback_that_raises_leaves_no_fit():
    psutil = pytest.importorskip("psutil")
    before = set(psutil.Process().children(recursive=True))
    search = make_search(
        space={"mood": ["fine", "hangs"]},
        initial_points=[{"mood": "hangs"}, {"mood": "fine"}],
        n_iter=2,
        n_jobs=2,
        cv=[(np.arange(20), np.arange(20, 40))],
        fit_timeout=1000.0,
    )
    with pytest.raises(LookupError, match="failed at end"):
        search.set_callbacks(Failing("end")).fit(X, y)
    names = []
    for child in set(psutil.Process().children(recursive=True)) - before:
        with contextlib.suppress(psutil.NoSuchProcess):  # gone meanwhile, or a zombie
            names.append(" ".join(child.cmdline()))
    assert not any("popen_loky" in name for name in names), names


@pytest.mark.parametrize(
    ("where", "n_jobs"), [("setup", None), ("begin", None), ("end", None), ("end", 2)]
)
def test_what_a_callback_raises_ends_the_search(where, n_jobs):
    search = make_search(n_iter=30, n_jobs=n_jobs).set_callbacks(Failing(where))
    with pytest.raises(LookupError, match=f"failed at {where}"):
        search.fit(X, y)


class Raising(Failing):
    """Does what a function of awkward.py does."""

    def __init__(self, where, fault):
        super().__init__(where)
        self.fault = fault

    def _fail(self, where):
        if self.where == where:
            awkward.FAULTS[self.fault]()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("unpicklable_panic", awkward.UnpicklablePanicError),
        ("loadable_at_home", awkward.LoadableAtHomeError),
        ("unreadable", awkward.UnreadableError),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_whatever_a_callback_raises_ends_the_search(n_jobs, fault, error):
    search = make_search(n_iter=30, n_jobs=n_jobs)
    search.set_callbacks(Raising("end", fault))
    with pytest.raises(error if n_jobs == 1 else RuntimeError) as caught:
        search.fit(X, y)
    if n_jobs == 2:  # as it cannot travel
        assert error.__name__ in str(caught.value)


def test_a_generator_as_cv_goes_with_callbacks_and_workers(tmp_path):
    callback = Recorder(tmp_path / "calls")
    folds = ((np.arange(20), np.arange(20, 40)) for _ in range(2))
    make_search(cv=folds, n_jobs=2).set_callbacks(callback).fit(X, y)
    assert callback.count("end candidate") == 6


def test_clones_keep_their_callbacks_and_pickles_too(tmp_path):
    callback = Recorder(tmp_path / "calls")
    search = clone(make_search().set_callbacks(callback)).fit(X, y)
    assert callback.count("end fit") == 1
    assert search.best_params_


def test_estimators_of_the_folds_may_have_callbacks_of_their_own(tmp_path):
    callback = Recorder(tmp_path / "calls")
    inner = LogisticRegression().set_callbacks(callback)
    make_search(inner, {"C": Real(0.1, 1.0)}).fit(X, y)
    assert callback.count("setup") == callback.count("teardown") == 7
    assert callback.count("begin fit") == 7


def test_without_callbacks_there_are_no_tasks():
    assert open_tasks(make_search(), X, y, None) is None
