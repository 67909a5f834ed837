"""Callbacks: called after each candidate of a search, they log it or end the search.

Any callable that takes a `CandidateResult` is one. What returns True ends the search.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import ModuleType
from typing import Any

__all__ = [
    "CandidateResult",
    "JSONLogger",
    "MLflowLogger",
    "StopAtScore",
    "StopWhenStalled",
]


@dataclass(frozen=True)
class CandidateResult:
    """What a callback is given: a candidate, and the best one so far.

    Attributes
    ----------
    number : int
        From 0 on, in the order in which candidates were proposed.
    params : dict
        Its parameters: a copy, which may be altered.
    score : float
        Mean test score of the metric that the search follows; of ``minimize``, the
        value of the function. nan if the candidate failed or was given up.
    best_number : int or None
        Number of the best candidate so far, this one included; None while there is
        none.
    best_score : float
        Its score; nan while there is none.
    greater_is_better : bool
        False in ``minimize``.
    status : str
        As in ``cv_results_``, or "pruned" for a candidate that ``racing`` has given up.
    fold_scores : tuple of float
        Of the metric that the search follows; nan where a fold has none. Empty in
        ``minimize``.
    mean_scores : dict of str to float
        Mean test score of each metric; "score" is the name of a single one.
    fit_time : float
        Seconds: mean over the fits that ran; of ``minimize``, those of the evaluation.
    restored : bool
        Whether it was read from a checkpoint: nothing was fitted.
    constraint : float or None
        Value of the ``constraint`` of the search: the candidate is feasible, and can
        be the best, where it is <= 0. nan if the candidate failed; None if it was given
        up, or there is no constraint.

    Examples
    --------
    >>> from sklearn_mvrsm import Real, minimize
    >>> def show(result):
    ...     if result.number == result.best_number:
    ...         print(f"{result.number}: {result.score:.1f}")
    >>> space = {"x": Real(0.0, 4.0, default=3.0)}
    >>> _ = minimize(lambda params: params["x"], space, 1, callback=show)
    0: 3.0
    """

    number: int
    params: dict[str, Any]
    score: float
    best_number: int | None
    best_score: float
    greater_is_better: bool = True
    status: str = "ok"
    fold_scores: tuple[float, ...] = ()
    mean_scores: Mapping[str, float] = field(default_factory=dict)
    fit_time: float = math.nan
    restored: bool = False
    constraint: float | None = None

    @property
    def x(self) -> dict[str, Any]:
        """``params``, by the name that :func:`scipy.optimize.minimize` has for it."""
        return self.params

    @property
    def fun(self) -> float:
        """``score``, by the name that :func:`scipy.optimize.minimize` has for it."""
        return self.score


Callback = Callable[[CandidateResult], bool | None]


def as_callbacks(callback: object) -> tuple[Callback, ...]:
    """Return the argument ``callback`` as a tuple.

    Parameters
    ----------
    callback : callable, list of callable or None
        As a search has it.

    Raises
    ------
    TypeError
        If something else is among them.
    """
    several = isinstance(callback, list | tuple)
    given = () if callback is None else callback if several else (callback,)
    assert isinstance(given, list | tuple)
    for each in given:
        if not callable(each) or isinstance(each, type):
            raise TypeError(
                f"'callback' must be a callable or a list of callables, got {each!r}"
            )
    return tuple(given)


class StopWhenStalled:
    """Ends a search when the best score has not improved for some candidates.

    Those that violate a constraint do not count before one has satisfied it.

    Parameters
    ----------
    n : int
        How many candidates in a row, at least 1.

    Raises
    ------
    ValueError
        If it is not such a number.

    Examples
    --------
    >>> from sklearn_mvrsm import Real, minimize
    >>> from sklearn_mvrsm.callbacks import StopWhenStalled
    >>> result = minimize(
    ...     lambda params: abs(params["x"]),
    ...     {"x": Real(-1.0, 1.0)},
    ...     1000,
    ...     random_state=0,
    ...     callback=StopWhenStalled(20),
    ... )
    >>> result.nfev < 1000
    True
    """

    def __init__(self, n: int) -> None:
        is_count = isinstance(n, Integral) and not isinstance(n, bool) and n >= 1
        if not is_count:
            raise ValueError(f"'n' must be a whole number >= 1, got {n!r}")
        self.n: int = int(n)

    def __call__(self, result: CandidateResult) -> bool:
        """Return whether to end the search."""
        is_feasible = result.constraint is None or result.constraint <= 0.0
        if result.best_number is None and not is_feasible:
            return False
        best = -1 if result.best_number is None else result.best_number
        return result.number - best >= self.n

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{type(self).__name__}({self.n})"


class StopAtScore:
    """Ends a search when the best score is good enough.

    Parameters
    ----------
    score : float
        A search ends once its best score is at least this; ``minimize`` once its lowest
        value is at most this.

    Raises
    ------
    ValueError
        If it is not a number.

    Examples
    --------
    >>> from sklearn_mvrsm import Real, minimize
    >>> from sklearn_mvrsm.callbacks import StopAtScore
    >>> space = {"x": Real(0.0, 4.0, default=3.0)}
    >>> minimize(
    ...     lambda params: params["x"], space, 1000, callback=StopAtScore(3.5)
    ... ).nfev
    1
    """

    def __init__(self, score: float) -> None:
        is_number = isinstance(score, Real) and not isinstance(score, bool)
        if not is_number or math.isnan(score):
            raise ValueError(f"'score' must be a number, got {score!r}")
        self.score: float = float(score)

    def __call__(self, result: CandidateResult) -> bool:
        """Return whether to end the search."""
        if result.greater_is_better:
            return result.best_score >= self.score
        return result.best_score <= self.score

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{type(self).__name__}({self.score})"


class JSONLogger:
    """Appends a line of JSON to a file for each candidate.

    The keys are those of `CandidateResult`. What JSON does not have becomes text, a
    number that is not finite becomes null. A candidate that was read from a checkpoint
    is written only if the file does not have its number.

    Parameters
    ----------
    path : str or path-like
        The file. It is opened for each line and may be read meanwhile.

    Raises
    ------
    FileNotFoundError
        If its folder does not exist.

    Examples
    --------
    >>> import json, os, tempfile
    >>> from sklearn_mvrsm import Real, minimize
    >>> from sklearn_mvrsm.callbacks import JSONLogger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "log")
    ...     space = {"x": Real(0.0, 4.0, default=3.0)}
    ...     _ = minimize(
    ...         lambda params: params["x"], space, 1, callback=JSONLogger(path)
    ...     )
    ...     with open(path) as file:
    ...         json.loads(file.read())["params"]
    {'x': 3.0}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(self.path))
        if not os.path.isdir(folder):
            raise FileNotFoundError(
                f"'path' must be in a folder that exists, got {self.path!r}"
            )

    def __call__(self, result: CandidateResult) -> None:
        """Append the line of a candidate."""
        if result.restored and result.number in self._numbers():
            return
        line = json.dumps(_plain(vars(result)), allow_nan=False).encode() + b"\n"
        with open(self.path, "ab+") as file:
            if file.tell():  # a line that breaks off, as after a crash
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else b"\n" + line
            file.write(line)

    def _numbers(self) -> set[int]:
        """Return the numbers of the candidates that the file has."""
        found = set()
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                for line in file:
                    try:
                        found.add(json.loads(line)["number"])
                    except (ValueError, LookupError, TypeError):
                        continue
        return found

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{type(self).__name__}({self.path!r})"


def _plain(value: object) -> object:
    """Return a value by JSON's types."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return repr(value)


class MLflowLogger:
    """Logs each candidate as a run of MLflow. Needs mlflow or mlflow-skinny.

    Runs are nested in the one that is active, if any: use
    ``with mlflow.start_run(): search.fit(X, y)``. Each has the parameters, the mean
    score of each metric, the scores of the folds (as steps of ``fold_score``) and
    ``fit_time``; what failed has the status FAILED, what ``racing`` gave up KILLED. The
    active run has ``best_score``, a step a candidate. Where runs are kept is up to
    MLflow (``mlflow.set_tracking_uri``, ``mlflow.set_experiment``). Candidates read
    from a checkpoint are not logged again.

    Raises
    ------
    ImportError
        If MLflow is not installed.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     search = MVRSMSearchCV(SVC(), space, callback=MLflowLogger()).fit(X, y)
    """

    def __init__(self) -> None:
        _mlflow()

    def __call__(self, result: CandidateResult) -> None:
        """Log a candidate."""
        if result.restored:
            return
        mlflow = _mlflow()
        if mlflow.active_run() is not None and math.isfinite(result.best_score):
            mlflow.log_metric("best_score", result.best_score, step=result.number)
        means = {"fit_time": result.fit_time, **result.mean_scores}
        if result.constraint is not None:
            means["constraint"] = result.constraint
        if not result.mean_scores:
            means["score"] = result.score
        mlflow.start_run(run_name=f"candidate {result.number}", nested=True)
        status = {"ok": "FINISHED", "pruned": "KILLED"}.get(result.status, "FAILED")
        try:
            mlflow.set_tag("status", result.status)
            mlflow.log_params({k: str(v)[:500] for k, v in result.params.items()})
            mlflow.log_metrics({k: v for k, v in means.items() if math.isfinite(v)})
            for fold, score in enumerate(result.fold_scores):
                if math.isfinite(score):
                    mlflow.log_metric("fold_score", score, step=fold)
        finally:
            mlflow.end_run(status)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{type(self).__name__}()"


def _mlflow() -> ModuleType:
    try:
        import mlflow
    except ImportError as error:
        raise ImportError(
            "MLflowLogger needs MLflow, which 'pip install mlflow-skinny' installs"
        ) from error
    module: ModuleType = mlflow
    return module
