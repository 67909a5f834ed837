"""Every name of scikit-learn, joblib and loky that is not public, and nothing else.

Each such name is a debt: it may move in any release. Importing them in one place means
that a move breaks one module, whose test names what moved.
"""

import contextlib
import copy
import inspect
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, Future
from multiprocessing import util
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar, cast

from joblib.parallel import (
    BatchedCalls,
    LokyBackend,
    MultiprocessingBackend,
    ParallelBackendBase,
    SequentialBackend,
    ThreadingBackend,
)
from sklearn.base import _fit_context
from sklearn.metrics._scorer import _MultimetricScorer as MultimetricScorer
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils import metaestimators
from sklearn.utils._metadata_requests import SIMPLE_METHODS
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _num_samples as num_samples

try:
    from joblib.externals.loky import ProcessPoolExecutor, process_executor
    from joblib.externals.loky.backend import resource_tracker
    from joblib.externals.loky.backend.context import LokyContext
    from joblib.externals.loky.backend.synchronize import SemLock
    from joblib.externals.loky.backend.utils import kill_process_tree
    from joblib.externals.loky.cloudpickle_wrapper import dumps as cloudpickle_dumps
except ImportError:  # a joblib that no longer brings a copy of its own
    from loky import ProcessPoolExecutor, process_executor
    from loky.backend import resource_tracker
    from loky.backend.context import LokyContext
    from loky.backend.synchronize import SemLock
    from loky.backend.utils import kill_process_tree
    from loky.cloudpickle_wrapper import dumps as cloudpickle_dumps

# of joblib's copy of cloudpickle, or of cloudpickle itself since joblib 1.6
CloudPickler: Any = sys.modules[cloudpickle_dumps.__module__].CloudPickler

__all__ = [
    "BaseSearchCV",
    "CloudPickler",
    "Interval",
    "MultimetricScorer",
    "StrOptions",
    "available_if",
    "check_method_params",
    "check_refit",
    "children_allowed",
    "close_result_writer",
    "cloudpickle_dumps",
    "executor_process",
    "executor_thread",
    "fit_and_score",
    "fit_context",
    "forbid_recycling",
    "get_scorers",
    "has_callbacks",
    "is_local_backend",
    "is_passthrough",
    "kill_process_tree",
    "lean_caller",
    "lean_context",
    "named_scorers",
    "num_samples",
    "one_worker_executor",
    "report_death",
    "requested_metadata",
    "root_callback_context",
    "routed_params",
    "safe_split",
    "search_constraints",
    "select_best_index",
    "submit_to_backend",
    "take_over_semaphores",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def fit_context(
    *, prefer_skip_nested_validation: bool
) -> Callable[[Decorated], Decorated]:
    """Give scikit-learn's decorator of ``fit``, with its types."""
    decorator = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return cast(Callable[[Decorated], Decorated], decorator)


def available_if(check: Callable[[Any], bool]) -> Callable[[Decorated], Decorated]:
    """Give scikit-learn's decorator of methods that are there on a condition."""
    decorator = metaestimators.available_if(check)
    return cast(Callable[[Decorated], Decorated], decorator)


_allowing = threading.Lock()


def named_scorers(scorer: Any) -> dict[str, Any] | None:
    """Scorers by the name of their metric.

    Parameters
    ----------
    scorer : callable
        What `get_scorers` returned.

    Returns
    -------
    dict of str to callable, or None
        None for one without a name, and for a callable of the user's, which may turn
        out to give several scores.
    """
    if isinstance(scorer, MultimetricScorer):
        return dict(scorer._scorers)
    return None


def is_passthrough(scorer: Any) -> bool:
    """Return whether a scorer calls the ``score`` of whatever estimator it scores."""
    return isinstance(scorer, _PassthroughScorer)


def search_constraints() -> dict[str, list[Any]]:
    """Return what the arguments that all searches share may be."""
    return dict(BaseSearchCV._parameter_constraints)


def get_scorers(search: Any) -> Any:
    """Return what scores a fit, as ``scoring`` and the estimator have it."""
    scorers, _ = search._get_scorers()
    return scorers


def routed_params(search: Any, params: Mapping[str, Any]) -> Any:
    """Choose what goes to the estimator, the splitter and the scorer.

    Parameters
    ----------
    search : BaseSearchCV
        Its routing decides, or the rule without routing.
    params : mapping
        What ``search.fit`` was called with, beside X and y.

    Returns
    -------
    Bunch
        ``estimator.fit``, ``splitter.split``, ``scorer.score``: a dict each.
    """
    return search._get_routed_params_for_fit(dict(params))


def check_refit(search: Any, metrics: Collection[str]) -> None:
    """Raise ValueError unless ``refit`` says which of several metrics counts."""
    search._check_refit_for_multimetric(metrics)


def select_best_index(search: Any, metric: str, results: Mapping[str, Any]) -> Any:
    """Return the row of the winner, by ``refit`` and by the ranks of a metric."""
    return search._select_best_index(search.refit, metric, results)


def requested_metadata(estimator: Any) -> dict[str, dict[str, Any]]:
    """Return what ``set_fit_request`` and its like have requested of an estimator.

    Parameters
    ----------
    estimator : estimator
        Without requests of its own where nothing was set.

    Returns
    -------
    dict of str to dict
        For each method, the names of its metadata: True, False or an alias.
    """
    requests = getattr(estimator, "_metadata_request", None)
    if requests is None:
        return {}
    return {
        method: {
            name: alias
            for name, alias in getattr(requests, method).requests.items()
            if alias is not None
        }
        for method in SIMPLE_METHODS
    }


def root_callback_context(search: Any, max_subtasks: int) -> Any:
    """Open the callback context of ``search.fit``.

    Parameters
    ----------
    search : BaseSearchCV
        The search whose ``fit`` has begun.
    max_subtasks : int
        How many subtasks the fit has.

    Returns
    -------
    CallbackContext or None
        None before scikit-learn 1.9, which has no callbacks.
    """
    if not hasattr(search, "_init_callback_context"):
        return None
    return search._init_callback_context(max_subtasks=max_subtasks)


def has_callbacks(search: Any) -> bool:
    """Whether ``search.set_callbacks`` has been given any."""
    return bool(getattr(search, "_skl_callbacks", ()))


def lean_context(context: Any) -> Any:
    """Copy a callback context with the tasks above it, without their other tasks.

    Parameters
    ----------
    context : CallbackContext
        A leaf of the tree of tasks.

    Returns
    -------
    CallbackContext
        To be pickled: its size does not grow with the number of tasks.
    """
    lean = copy.copy(context)
    lean._children_map = {}
    if context.parent is not None:
        lean.parent = lean_context(context.parent)
        lean.parent._children_map = {context.task_id: lean}
    return lean


def lean_caller(search: Any, without: Collection[str]) -> Any:
    """Copy a search without what only its own process can use.

    Parameters
    ----------
    search : BaseSearchCV
        Its fit has begun.
    without : collection of str
        More attributes to leave behind.

    Returns
    -------
    BaseSearchCV
        To be pickled; a generator as ``cv`` is left behind.
    """
    lean = copy.copy(search)
    for name in ("_callback_fit_ctx", "_skl_callbacks_to_teardown", *without):
        vars(lean).pop(name, None)
    if isinstance(lean.cv, Iterator):
        lean.cv = None
    return lean


def fit_and_score(estimator: Any, X: Any, y: Any, **kwargs: Any) -> dict[str, Any]:
    """Fit and score one candidate on one fold, as ``GridSearchCV`` does.

    Parameters
    ----------
    estimator, X, y, **kwargs
        Those of scikit-learn's function. Arguments that the installed release does
        not know (``caller`` and ``callback_ctx`` before 1.9) are left out.

    Returns
    -------
    dict
        ``test_scores``, ``fit_time``, ``score_time`` and so on.
    """
    known = inspect.signature(_fit_and_score).parameters
    kwargs = {name: value for name, value in kwargs.items() if name in known}
    result: dict[str, Any] = _fit_and_score(estimator, X, y, **kwargs)
    return result


def one_worker_executor(
    initializer: Callable[..., None], initargs: tuple[Any, ...], env: Mapping[str, str]
) -> Executor:
    """Make a loky executor of one process, which starts with the first task.

    It calls ``initializer(*initargs)`` there before anything else, and adds ``env`` to
    the environment. It has a context of its own: the one registered under the name
    "loky" is another copy's where a program imports both copies of loky.
    """
    executor: Executor = ProcessPoolExecutor(
        max_workers=1,
        context=LokyContext(),
        initializer=initializer,
        initargs=initargs,
        env=dict(env),
    )
    return executor


def executor_process(executor: Any) -> BaseProcess:
    """Return the process of a one-worker executor that has been given a task."""
    (process,) = executor._processes.values()
    assert isinstance(process, BaseProcess)
    return process


def executor_thread(executor: Any) -> threading.Thread:
    """Return the thread of an executor that has been given a task."""
    thread = executor._executor_manager_thread
    assert isinstance(thread, threading.Thread)
    return thread


def close_result_writer(executor: Any) -> None:
    """Close this process's writing end of the pipe for results, which it never uses.

    Else the thread of a one-worker executor that has begun to read a result waits for
    the rest for ever, should the worker be killed amid it.
    """
    executor._result_queue._writer.close()


def report_death(executor: Any, process: Any) -> None:
    """Have an executor's thread see that its process is gone, whoever holds a pipe."""
    if os.name == "posix":
        reader, writer = os.pipe()
        os.close(writer)
        os.dup2(reader, process.sentinel, inheritable=False)
        os.close(reader)
        with executor._shutdown_lock:
            executor._executor_manager_thread_wakeup.wakeup()


def take_over_semaphores(executor: Any) -> list[str]:
    """Return the semaphores of an executor, which loky then leaves to the caller."""
    holders = [executor, executor._call_queue, executor._result_queue]
    values = [
        x for y in (*holders, executor_process(executor)) for x in vars(y).values()
    ]
    names = [x._semlock.name for x in values if isinstance(x, SemLock)]
    for finalizer in list(cast(Any, util)._finalizer_registry.values()):
        if finalizer._callback is SemLock._cleanup and finalizer._args[0] in names:
            resource_tracker.unregister(*finalizer._args, "semlock")
            finalizer.cancel()
    return names


def forbid_recycling() -> None:
    """Keep loky from replacing a worker that grew, and reporting what it shared."""
    process_executor._USE_PSUTIL = False
    tracker = resource_tracker._resource_tracker
    if sys.platform == "linux" and tracker._fd is not None:
        os.close(tracker._fd)
        tracker._fd = tracker._pid = None  # one of its own is started, and killed, too


@contextlib.contextmanager
def children_allowed() -> Iterator[None]:
    """Let a daemonic process of multiprocessing (a dask worker, say) start processes.

    The rule against it protects from orphans; ours end themselves with their parent.
    One thread at a time, or the first to end would forbid it to the others.
    """
    process: Any = multiprocessing.current_process()
    config = process._config  # ``daemon`` itself cannot be set once it has started
    with _allowing:
        daemon = config.pop("daemon", None)
        try:
            yield
        finally:
            if daemon is not None:
                config["daemon"] = daemon


def is_local_backend(backend: Any) -> bool:
    """Whether a backend of joblib is one of those that it brings for one machine."""
    return type(backend) in (
        LokyBackend,
        MultiprocessingBackend,
        SequentialBackend,
        ThreadingBackend,
    )


def submit_to_backend(
    backend: Any,
    nested: Any,
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]],
    on_result: Callable[[Any], None],
    on_error: Callable[[BaseException], None],
) -> None:
    """Hand one call to a backend of joblib, as ``joblib.Parallel`` does.

    Parameters
    ----------
    backend : ParallelBackendBase
        It has been configured, by entering a ``Parallel``, and its call was started.
    nested : tuple
        What its ``get_nested_backend`` returned.
    call : tuple
        A function, its arguments and its keyword arguments.
    on_result, on_error : callable
        One of them is called, in any thread, with what the function returned, or with
        the reason for which there is nothing. An error may be reported twice.
    """

    def finish(out: Any) -> None:
        try:
            if backend.supports_retrieve_callback:
                out = backend.retrieve_result_callback(out)
            if isinstance(out, BaseException):
                raise out
            (result,) = out
        except BaseException as error:
            on_error(error)
        else:
            on_result(result)

    def look_for_error(future: Future[Any]) -> None:
        # Backends like dask's report here, and only here, that a call is given up.
        error = None if future.cancelled() else future.exception()
        if error is not None:
            on_error(error)

    inherited = getattr(ParallelBackendBase, "submit", None)  # joblib >= 1.5
    of_its_own = getattr(type(backend), "submit", inherited) is not inherited
    submit = backend.submit if of_its_own else backend.apply_async
    job = submit(BatchedCalls([call], nested), finish)
    if isinstance(job, Future):
        job.add_done_callback(look_for_error)
