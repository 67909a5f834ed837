"""The private names that the package stands on are where, and what, it takes them for.

A failure here names what has moved in scikit-learn or joblib, before anything else of
the package fails for a reason that is harder to read.
"""

import inspect
import numbers
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from joblib import Parallel, delayed, parallel_config
from joblib import parallel as joblib_parallel
from joblib.externals import loky
from made_up import NoMachine
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV

from sklearn_mvrsm._compat import joblib as joblib_compat
from sklearn_mvrsm._compat import sklearn as compat

HAS_CALLBACKS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
X = np.arange(12.0).reshape(6, 2)
y = np.array([0, 1] * 3)


def grid(**options):
    return GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2, **options)


@pytest.mark.parametrize("module", [compat, joblib_compat])
def test_every_name_is_there(module):
    for name in module.__all__:
        assert hasattr(module, name), name


@pytest.mark.parametrize(
    "method",
    [
        "_check_refit_for_multimetric",
        "_get_routed_params_for_fit",
        "_get_scorers",
        "_select_best_index",
        "__sklearn_tags__",
        "get_metadata_routing",
        "score",
    ],
)
def test_the_base_of_searches_has_what_ours_calls(method):
    assert callable(getattr(compat.BaseSearchCV, method))


def test_the_base_of_searches_declares_its_parameters():
    declared = compat.BaseSearchCV._parameter_constraints
    own = {"estimator", "scoring", "n_jobs", "refit", "cv", "verbose", "pre_dispatch"}
    assert set(declared) == own | {"error_score", "return_train_score"}


def test_impossible_refits_are_refused_by_the_base():
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        grid(refit=True)._check_refit_for_multimetric(["a"])
    grid(refit="a")._check_refit_for_multimetric(["a"])


def test_the_best_index_is_the_first_of_the_best_rank():
    results = {"rank_test_a": np.array([2, 1, 1]), "params": [{}, {}, {}]}
    assert grid()._select_best_index("a", "a", results) == 1
    assert grid()._select_best_index(lambda r: 2, "a", results) == 2


def test_routed_params_have_their_three_places():
    routed = grid()._get_routed_params_for_fit({"groups": y, "a": 1})
    assert routed.splitter.split["groups"] is y
    assert routed.estimator.fit == {"a": 1}
    assert routed.scorer.score == {}


def test_metrics_with_names_are_known_before_a_fit():
    scorers, _ = grid(scoring=["accuracy", "f1"], refit="f1")._get_scorers()
    named = compat.named_scorers(scorers)
    assert list(named) == ["accuracy", "f1"]
    assert compat.named_scorers(get_scorer("accuracy")) is None
    assert compat.named_scorers(len) is None


def test_a_scorer_that_fails_among_others_gives_its_traceback():
    def bad(estimator, X, y):
        raise ValueError("no score")

    scorers, _ = grid(
        scoring={"good": lambda e, X, y: 1.0, "bad": bad}, refit=False
    )._get_scorers()
    scores = scorers(LogisticRegression().fit(X, y), X, y)
    assert scores["good"] == 1.0
    assert scores["bad"].startswith("Traceback (most recent call last)")


def test_declared_constraints_are_checked_by_the_fit_context():
    class Declared(BaseEstimator):
        _parameter_constraints: ClassVar = {
            "n": [compat.Interval(numbers.Integral, 1, None, closed="left")],
            "kind": [compat.StrOptions({"a", "b"})],
        }

        def __init__(self, n=1, kind="a"):
            self.n = n
            self.kind = kind

        @compat.fit_context(prefer_skip_nested_validation=False)
        def fit(self, X):
            return self

    assert isinstance(Declared().fit(X), Declared)
    with pytest.raises(ValueError, match="The 'n' parameter of Declared must be"):
        Declared(n=0).fit(X)
    with pytest.raises(ValueError, match="The 'kind' parameter of Declared must be"):
        Declared(kind="c").fit(X)


def test_fit_params_of_one_entry_a_sample_are_indexable():
    params = compat.check_method_params(X, params={"w": list(range(6)), "flag": "on"})
    assert params["flag"] == "on"
    assert len(params["w"]) == 6


def fit_and_score(**options):
    return compat.fit_and_score(
        LogisticRegression(),
        X,
        y,
        scorer=get_scorer("accuracy"),
        train=np.arange(4),
        test=np.arange(4, 6),
        verbose=0,
        parameters={"C": 2.0},
        fit_params={},
        score_params={},
        error_score="raise",
        return_train_score=True,
        return_n_test_samples=True,
        return_times=True,
        **options,
    )


def test_a_fold_gives_its_scores_and_times():
    result = fit_and_score(caller=None, callback_ctx=None)
    assert set(result) == {
        "fit_error",
        "fit_time",
        "n_test_samples",
        "score_time",
        "test_scores",
        "train_scores",
    }
    assert result["n_test_samples"] == 2


def test_arguments_of_other_releases_are_left_out():
    known = inspect.signature(compat._fit_and_score).parameters
    assert ("callback_ctx" in known) == HAS_CALLBACKS
    assert ("caller" in known) == HAS_CALLBACKS
    assert fit_and_score(argument_of_tomorrow=1)["fit_error"] is None


def test_recycling_of_workers_can_be_forbidden(monkeypatch):
    monkeypatch.setattr(loky.process_executor, "_USE_PSUTIL", True)
    assert joblib_compat.process_executor is loky.process_executor
    joblib_compat.forbid_recycling()
    assert loky.process_executor._USE_PSUTIL is False


class Older(NoMachine):
    """One that does not know joblib 1.5."""

    submit = getattr(joblib_parallel.ParallelBackendBase, "submit", None)


@pytest.mark.filterwarnings("ignore:`apply_async` is deprecated")
@pytest.mark.parametrize("kind", [NoMachine, Older])
def test_a_backend_is_handed_calls_as_by_a_parallel(kind):
    with parallel_config(kind()):
        backend, _ = joblib_parallel.get_active_backend()
        with Parallel(n_jobs=2) as parallel:
            assert backend.parallel is parallel  # it is configured by entering
            assert parallel([delayed(max)(1, 2)] * 2) == [2, 2]
            nested = backend.get_nested_backend()
            found, errors = [], []
            for call in ((max, (1, 2), {}), (min, ((),), {"default": 3})):
                joblib_compat.submit_to_backend(
                    backend, nested, call, found.append, errors.append
                )
            bad = (divmod, (1, 0), {})
            joblib_compat.submit_to_backend(
                backend, nested, bad, found.append, errors.append
            )
    assert [type(batch) for batch in backend.calls] == [joblib_compat.BatchedCalls] * 5
    assert found == [2, 3]
    assert [type(error) for error in errors] == [ZeroDivisionError]


def test_what_a_backend_cannot_retrieve_is_an_error():
    backend = NoMachine()
    backend.retrieve_result_callback = lambda out: []
    found, errors = [], []
    call = (max, (1, 2), {})
    nested = backend.get_nested_backend()
    joblib_compat.submit_to_backend(backend, nested, call, found.append, errors.append)
    assert found == []
    assert [type(error) for error in errors] == [ValueError]


class Plain(NoMachine):
    """A backend that has callbacks take what came, as spark's does."""

    supports_retrieve_callback = False

    def submit(self, func, callback=None):
        try:
            callback(func())
        except ZeroDivisionError as error:
            callback(error)

    apply_async = submit


def test_a_backend_may_give_results_as_they_are():
    backend = Plain()
    nested = backend.get_nested_backend()
    found, errors = [], []
    for call in ((max, (1, 2), {}), (divmod, (1, 0), {})):
        joblib_compat.submit_to_backend(
            backend, nested, call, found.append, errors.append
        )
    assert found == [2]
    assert [type(error) for error in errors] == [ZeroDivisionError]


def test_backends_of_one_machine_are_told_from_others():
    for name in ("loky", "threading", "multiprocessing", "sequential"):
        with parallel_config(name):
            assert joblib_compat.is_local_backend(
                joblib_parallel.get_active_backend()[0]
            )
    assert joblib_compat.is_local_backend(joblib_parallel.get_active_backend()[0])
    assert not joblib_compat.is_local_backend(NoMachine())


def test_threads_take_turns_at_being_allowed_children(monkeypatch):
    config = {"daemon": True}
    process = SimpleNamespace(_config=config)
    monkeypatch.setattr(
        joblib_compat.multiprocessing, "current_process", lambda: process
    )

    def is_forbidden_after(seconds):
        with joblib_compat.children_allowed():
            time.sleep(seconds)
            return "daemon" in config

    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(is_forbidden_after, [0.05, 0.2, 0.0, 0.1]))
    assert found == [False] * 4
    assert config == {"daemon": True}


def test_a_search_has_no_callbacks_unless_it_is_given_some():
    assert not compat.has_callbacks(grid())


class Note:
    """A callback that notes nothing, and travels."""

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn < 1.9 has no callbacks")
class TestCallbacks:
    def test_a_search_has_the_callbacks_that_it_is_given(self):
        assert compat.has_callbacks(grid().set_callbacks(Note()))

    def test_a_lean_context_has_its_ancestors_only(self):
        search = grid().set_callbacks(Note())
        root = compat.root_callback_context(search, 2)
        branch = root.subcontext("search", max_subtasks=500, sequential_subtasks=False)
        leaves = [branch.subcontext("fold", task_id=k) for k in range(500)]
        lean = compat.lean_context(leaves[7])
        assert lean is not leaves[7]
        assert (lean.task_name, lean.task_id) == ("fold", 7)
        assert lean.parent.task_name == "search"
        assert lean.parent.parent.task_name == "fit"
        assert [c.task_name for c in lean.parent.parent] == ["fit", "search", "fold"]
        assert len(list(root)) == 502
        assert len(pickle.dumps(lean)) < 5_000

    def test_a_lean_caller_keeps_its_parameters_and_callbacks(self):
        search = grid().set_callbacks(Note())
        search.cv = iter([(X, y)])
        compat.root_callback_context(search, 2)
        lean = compat.lean_caller(search)
        assert lean.param_grid == search.param_grid
        assert compat.has_callbacks(lean)
        assert lean.cv is None
        assert not [name for name in vars(lean) if name.startswith("_callback")]
        assert hasattr(search, "_callback_fit_ctx")
        pickle.dumps(lean)

    def test_callbacks_are_torn_down_after_the_fit(self):
        search = grid().set_callbacks(Note()).fit(X, y)
        assert not hasattr(search, "_callback_fit_ctx")
        assert not hasattr(search, "_skl_callbacks_to_teardown")
