"""MVRSMSearchCV: hyperparameter search with cross-validation."""

import copy
import functools
import numbers
import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from sklearn_mvrsm._compat.sklearn import (
    BaseSearchCV,
    Interval,
    StrOptions,
    check_method_params,
    fit_context,
    get_scorers,
    num_samples,
    routed_params,
    search_constraints,
)
from sklearn_mvrsm._evaluation import FitJob, FrozenFolds, Split, draw_folds
from sklearn_mvrsm._search.best_estimator import BestEstimatorMixin, fit_best
from sklearn_mvrsm._search.checks import (
    check_choice,
    check_memory_limit,
    check_names,
    check_scorer_routing,
    check_target,
)
from sklearn_mvrsm._search.earlier import read_earlier_results
from sklearn_mvrsm._search.failures import no_candidate_in_time, warn_of_failures
from sklearn_mvrsm._search.notebook import SummaryMixin
from sklearn_mvrsm._search.objective import Objective, objective_of
from sklearn_mvrsm._search.results import any_score, best_candidate, format_results
from sklearn_mvrsm._search.run import (
    SearchOutcome,
    first_point,
    make_portfolio,
    make_space,
    run_search,
)
from sklearn_mvrsm._search.settings import Settings
from sklearn_mvrsm._search.task_tree import open_tasks
from sklearn_mvrsm._space import SearchSpace, copied_containers


class MVRSMSearchCV(SummaryMixin, BestEstimatorMixin, BaseSearchCV):  # type: ignore[misc]  # base is Any: scikit-learn has no py.typed; once it has, strict mypy reports this line as unused
    """Search with cross-validation for parameters that maximise a score.

    Candidates are proposed one after the other by MVRSM, a surrogate model of the score
    over categories, integers and reals. Every candidate is scored on the same folds.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fit. It needs a ``score``, or ``scoring`` must be given.
    param_space : dict, list of dict, SearchSpace or "auto"
        Names of parameters with what they may be: `Real`, `Integer`, `Ordinal`,
        `Categorical`, a list of categories, a frozen distribution of ``scipy.stats``.
        "auto": what `spaces.from_estimator` has for the estimator and the data; the
        search then begins with the default and `spaces.portfolio`, as far as these
        are half of ``n_iter`` at most.
    n_iter : int or None, default=50
        Number of candidates in all. None: as many as fit in ``timeout``.
    n_initial_points : int, default=None
        How many candidates there are before the model proposes any: the default,
        ``initial_points``, ``known_results``, and random ones for the rest. None:
        ``6 + d // 3`` for ``d`` parameters, at most 24.
    initial_points : list of dict or fitted search, default=None
        Candidates to evaluate first, such as earlier winners; of a search, its best
        five. They count towards ``n_initial_points``.
    include_default : bool, default=True
        Whether the first candidate (after ``initial_points``) is the estimator as it
        is, so that the winner is never worse than that on the same folds.
    scoring : str, callable, list, tuple or dict, default=None
        As for ``GridSearchCV``. Of several metrics the search follows the one that
        ``refit`` names, else the first.
    refit : bool, str or callable, default=True
        As for ``GridSearchCV``. The refit has no time limit.
    cv : int, splitter or iterable, default=None
        As for ``GridSearchCV``. The folds are drawn once. A generator is used up by
        one fit, and an estimator that holds one cannot be cloned.
    error_score : "raise" or float, default=nan
        Score of a fit that failed. Such a candidate ranks behind all others whatever
        this is. "raise" raises what a fit raised; a fit that was stopped or crashed is
        a row nevertheless, with nan. Unless it is a number other than nan, the search
        ends once its first candidates (at least three, eight where they have numeric
        parameters, and twice ``n_jobs``) have all failed with the same exception.
    return_train_score : bool, default=False
        Whether ``cv_results_`` has training scores.
    verbose : int, default=0
        As for ``GridSearchCV``.
    random_state : int, RandomState or None, default=None
        Seed of the proposals.
    n_jobs : int, default=None
        Number of fits at a time; candidates and folds share the slots. With one slot
        and no limit, fits run in the process of the search, and a crash ends it. Under
        a joblib backend of dask or ray they run there, None taking all of its cores.
    n_pending : int, default=2
        Number of candidates in flight. Proposal k is made from exactly the results of
        the first ``k - n_pending`` candidates, whatever ``n_jobs`` and the timing; 1
        is strictly sequential.
    fit_timeout : float, default=None
        Seconds for one fit with its scoring. Then the fit is killed, whatever it does,
        and the other folds of the candidate are skipped.
    fit_memory_limit : int, default=None
        Bytes of address space that one fit may ask for on top of what its process has
        at the start. A fit that asks for more fails. On Linux only.
    timeout : float, default=None
        Seconds for the whole search, from the start of its first fit. Then running fits
        are killed, the candidates that have finished are kept, and the best is
        refitted. Fits that cannot end in time, at the pace of those before, are not
        begun.
    timeout_includes_refit : bool, default=False
        Whether the search ends earlier by the time that the refit should take: the mean
        time of the fits of the best candidate so far, scaled to all rows.
    checkpoint : str or path-like, default=None
        File that keeps every finished fit, a journal of JSON lines. If it exists, the
        search goes on as if it had not ended; that of another search is refused.
    racing : bool or float, default=False
        Whether to give up a candidate after some of its folds, where the chance that
        it becomes the best one is below this error level; True is 0.05. Its other
        folds are skipped, and it ranks behind all that were completed. See the Notes.
    method : {"mvrsm", "paper"}, default="mvrsm"
        "paper" is the published algorithm.
    progress : bool, default=False
        Whether to show a bar with the fits done, running and failed, the best score
        and the time left. It needs tqdm.
    callback : callable or list of callable, default=None
        Called with a `~callbacks.CandidateResult` after each candidate, in their
        order whatever ``n_jobs``. If one returns True, the search ends with the
        candidates in flight. See `callbacks`.
    known_results : object, default=None
        Results of the same objective that the optimiser learns from without a fit: a
        fitted search, a ``cv_results_`` (also as a data frame), pairs ``(params,
        score)``, or a list of these. They are no candidates of this search.
    constraint : str or callable, default=None
        What must be <= 0, and is known only after the fits: the name of one of several
        metrics, whose mean counts, or a function that takes the candidate's row of
        ``cv_results_`` as a dict and returns a number. See the Notes.

    Attributes
    ----------
    cv_results_ : dict of str to array or list
        One row per candidate, with the columns of ``GridSearchCV``, and ``status``
        ("ok", "error", "timeout", "out_of_memory", "crashed"), ``split{k}_status``
        (those and "skipped"), ``split{k}_error`` (text, empty when ok), and the value
        of a ``constraint``. What ``racing`` gave up is "ok", with a mean of nan.
    best_estimator_ : estimator
        Fitted on all data with the best parameters, if ``refit``.
    best_score_ : float
        Mean score of the best candidate, unless ``refit`` is callable.
    best_params_ : dict
        Parameters of the best candidate.
    best_index_ : int
        Its row.
    scorer_ : callable or dict of callable
        What scores held-out data.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the refit.
    multimetric_ : bool
        Whether there are several metrics.
    feature_names_in_ : ndarray of str
        Names of the columns, if the best estimator has them.
    space_ : SearchSpace
        The space that was searched.
    optimizer_ : MVRSMOptimizer
        What proposed the candidates, with all that it was told.
    cv_ : splitter
        Gives the folds that were used, again and again.
    fit_log_ : dict of str to array
        One row per fit: ``candidate`` (-1 where the search ended before it did),
        ``fold``, ``status``, ``slot`` (-1 where it did not run here), ``start`` and
        ``finish`` (seconds since the search began). A fit that was stopped because its
        result was no longer needed has the status "killed".

    Notes
    -----
    If the search ends early (``KeyboardInterrupt``, an error), ``cv_results_``,
    ``best_params_`` and ``best_score_`` are set from the candidates that have finished,
    and the exception goes on. `refit_best` fits the best estimator then.

    A ``checkpoint`` is of this search if the space, the data, the folds, the scoring,
    the estimator, and all arguments that decide about proposals or fits are the same;
    objects are told by their state, functions of your own by their code. ``n_iter`` may
    differ, and a larger one extends a search, as may ``n_jobs`` and ``error_score``.
    ``random_state=None`` takes the seed of the file, and a splitter that shuffles needs
    a fixed one. Fits that failed are not repeated, unless ``error_score="raise"`` had
    them end the search. An extension keeps the plan of the first run:
    ``method="paper"`` does not explore in that run's last step, and its
    ``n_initial_points`` holds.

    The candidate of ``include_default`` has the declared defaults (``Real(...,
    default=)``), and otherwise the estimator's own values, which are also known where
    they are None to XGBoost, LightGBM or CatBoost. A value that the space does not
    have is replaced by the one that is nearest: a number in the scale of its parameter,
    an estimator of the same class; the first of other categories. Where the space has
    alternatives, it is taken from the one that describes the estimator. There is no
    such candidate where nothing is known of any parameter, or a constraint forbids it.

    ``racing`` compares a candidate with the best one known when it was asked for, fold
    by fold. From the paired differences it predicts the difference of the final means;
    a t distribution allows for how little a few folds say, and for what differences
    were like before. The optimiser is told an estimate of the mean score. What is given
    up depends on scores alone, not on ``n_jobs`` or time; but a slot saves nothing
    where all folds of a candidate run at once.

    Candidates that violate the ``constraint`` rank behind all that satisfy it, by how
    much they do, and before those that failed; nan is a failure. If none satisfies it,
    the first of these is the best, with a warning. A callable ``refit`` sees the rows
    that satisfy it only. The function, whose argument has neither ranks nor ``param_``
    columns, is not called for candidates that failed or were given up.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from sklearn_mvrsm import MVRSMSearchCV, Real
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {
    ...     "kernel": ["linear", "rbf"],
    ...     "C": Real(1e-3, 1e3, log=True),
    ...     "gamma": Real(1e-4, 1e1, log=True).when(kernel="rbf"),
    ... }
    >>> search = MVRSMSearchCV(SVC(), space, n_iter=12, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"])
    12
    >>> bool(search.best_score_ > 0.9)
    True
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in search_constraints().items()
            if name != "pre_dispatch"
        },
        "param_space": [Mapping, list, tuple, SearchSpace, StrOptions({"auto"})],
        "n_iter": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "n_initial_points": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "initial_points": [list, tuple, BaseSearchCV, None],
        "include_default": ["boolean"],
        "random_state": ["random_state"],
        "n_pending": [Interval(numbers.Integral, 1, None, closed="left")],
        "fit_timeout": [Interval(numbers.Real, 0, None, closed="neither"), None],
        "fit_memory_limit": [Interval(numbers.Real, 1, None, closed="left"), None],
        "timeout": [Interval(numbers.Real, 0, None, closed="neither"), None],
        "timeout_includes_refit": ["boolean"],
        "checkpoint": [str, os.PathLike, None],
        "racing": ["boolean", Interval(numbers.Real, 0, 1, closed="neither")],
        "method": [StrOptions({"mvrsm", "paper"})],
        "progress": ["boolean"],
        "constraint": [str, callable, None],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_space: object,
        *,
        n_iter: int | None = 50,
        n_initial_points: int | None = None,
        initial_points: object = None,
        include_default: bool = True,
        scoring: object = None,
        refit: Any = True,
        cv: object = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        verbose: int = 0,
        random_state: object = None,
        n_jobs: int | None = None,
        n_pending: int = 2,
        fit_timeout: float | None = None,
        fit_memory_limit: float | None = None,
        timeout: float | None = None,
        timeout_includes_refit: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        racing: bool | float = False,
        method: str = "mvrsm",
        progress: bool = False,
        callback: object = None,
        known_results: object = None,
        constraint: object = None,
    ) -> None:
        self.estimator = estimator
        self.param_space = param_space
        self.n_iter = n_iter
        self.n_initial_points = n_initial_points
        self.initial_points, self.known_results = initial_points, known_results
        self.include_default = include_default
        self.scoring = scoring
        self.refit = refit
        self.cv = cv
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs, self.n_pending = n_jobs, n_pending
        self.fit_timeout, self.timeout = fit_timeout, timeout
        self.timeout_includes_refit = timeout_includes_refit
        self.fit_memory_limit = fit_memory_limit
        self.checkpoint = checkpoint
        self.racing, self.method = racing, method
        self.progress, self.callback, self.constraint = progress, callback, constraint

    def __sklearn_tags__(self) -> object:
        """Return the tags of the inner estimator, but for array API support."""
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags

    def __sklearn_clone__(self) -> Self:
        """Clone all but the values of the space: conditions and points name them.

        Each fit clones them.
        """
        bare = copy.copy(self)
        own = {"param_space", "initial_points", "known_results"}
        for name in own:
            setattr(bare, name, None)
        cloned: Self = super(MVRSMSearchCV, bare).__sklearn_clone__()
        for name in own & self.get_params(False).keys():
            is_space = name == "param_space"
            setattr(
                cloned, name, copied_containers(getattr(self, name), is_space=is_space)
            )
        return cloned

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: object, y: object = None, **params: object) -> Self:
        """Search, and fit the best estimator on all data if ``refit``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data, of any kind that ``GridSearchCV`` takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target; None for unsupervised learning.
        **params : dict of str to object
            Passed to the ``fit`` of the estimator, the scorer and the splitter, as
            ``GridSearchCV`` does.

        Returns
        -------
        MVRSMSearchCV
            The fitted search.

        Raises
        ------
        ValueError
            If something is wrong with an argument; if not a single fit succeeded; if
            the first candidates all failed with the same exception; if the checkpoint
            is of another search.
        TimeoutError
            If no candidate was finished within ``timeout``.
        OSError
            If the checkpoint cannot be written: before the first fit, or once the disk
            is full.
        RuntimeError
            If another search is using the checkpoint.
        """
        for name in [each for each in self.__dict__ if each.endswith("_")]:
            self.__dict__.pop(name)  # what an earlier fit has set
        settings = Settings.of(self)
        scorers = get_scorers(self)
        X, y = indexable(X, y)
        check_target(self, y)
        check_memory_limit(settings.fit_memory_limit, settings.n_jobs)
        params = check_method_params(X, params=params)
        routed = routed_params(self, params)
        check_scorer_routing(scorers, routed.scorer.score)
        tree = open_tasks(self, X, y, params.get("sample_weight"))
        job = FitJob(
            estimator=clone(self.estimator),
            X=X,
            y=y,
            splits=self._draw_folds(X, y, routed.splitter.split),
            scorer=scorers,
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            return_train_score=settings.return_train_score,
            raise_errors=settings.raises,
        )
        self.space_ = make_space(self.param_space, self.estimator, X)
        check_names(job.estimator, self.space_)
        objective = objective_of(self, settings, scorers)
        check_choice(self, objective)
        settings = read_earlier_results(settings, self.space_, objective)
        default = None
        if settings.include_default:
            default = first_point(self.space_, self.estimator, X)
        learned = make_portfolio(self.param_space, self.estimator, X)
        keep = functools.partial(self._keep, settings, objective)
        outcome = run_search(
            settings, job, self.space_, default, learned, objective, tree, keep
        )
        if not outcome.candidates:
            n_splits = self.n_splits_
            raise no_candidate_in_time(settings.timeout, n_splits, outcome.fit_log)
        error_score = settings.score_of_failures
        warn_of_failures(outcome.candidates, self.cv_results_, error_score)
        if tree is not None:
            tree.end_search()
        if self.refit:
            fit_best(self, X, y, job.fit_params, tree)
        if tree is not None:
            tree.end()
        return self

    def _draw_folds(
        self, X: object, y: object, split_params: Mapping[str, object]
    ) -> list[Split]:
        """Draw the folds, once, and set ``n_splits_`` and ``cv_``."""
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = draw_folds(cv, X, y, split_params)
        self.n_splits_ = len(splits)
        self.cv_ = FrozenFolds(splits, num_samples(X))
        return splits

    def _keep(
        self, settings: Settings, objective: Objective, outcome: SearchOutcome
    ) -> None:
        """Set ``cv_results_``, ``best_*_`` and so on, as far as there are results."""
        self.optimizer_ = outcome.optimizer
        self.fit_log_ = outcome.fit_log
        if not outcome.candidates:
            return
        self.multimetric_ = objective.multimetric
        self.scorer_ = objective.scorers
        self.cv_results_ = results = format_results(
            outcome.candidates,
            objective.names,
            error_score=settings.score_of_failures,
            return_train_score=settings.return_train_score,
            constrained=settings.constraint is not None,
        )
        chooses = bool(self.refit) or not objective.multimetric
        if chooses and any_score(outcome.candidates):
            metric = objective.refit_metric
            self.__dict__.update(best_candidate(self.refit, metric, results))
