"""What a search knows at its end: its fitted attributes, and what there is to say."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from sklearn_mvrsm._failures import describe_failures
from sklearn_mvrsm._judge import Judge
from sklearn_mvrsm._results import (
    Candidate,
    any_score,
    count_non_finite,
    format_results,
)
from sklearn_mvrsm._sklearn_compat import named_scorers, select_best_index
from sklearn_mvrsm._values import copied


def keep_results(
    search: Any, candidates: Sequence[Candidate], judge: Judge, scorer: Any
) -> None:
    """Set ``cv_results_``, ``best_*_`` and so on, as far as the candidates give them.

    Parameters
    ----------
    search : MVRSMSearchCV
        Its attributes are set.
    candidates : sequence of Candidate
        Those that were finished; where there are none, nothing is set.
    judge : Judge
        Knows the metrics.
    scorer : callable
        What scored the fits.
    """
    if not candidates:
        return
    search.multimetric_ = judge.multimetric
    search.scorer_ = named_scorers(scorer) or scorer
    search.cv_results_ = format_results(
        candidates,
        judge.names,
        error_score=_error_score(search),
        return_train_score=search.return_train_score,
    )
    if not any_score(candidates) or (judge.multimetric and not search.refit):
        return
    results = search.cv_results_
    if callable(search.refit):  # it may alter what it is given
        results = {name: column.copy() for name, column in results.items()}
        results["params"] = [copied(each, objects=False) for each in results["params"]]
    search.best_index_ = select_best_index(search, judge.guide, results)
    if not callable(search.refit):
        means = search.cv_results_[f"mean_test_{judge.guide}"]
        search.best_score_ = means[search.best_index_]
    search.best_params_ = search.cv_results_["params"][search.best_index_]


def report(search: Any, candidates: Sequence[Candidate]) -> None:
    """Warn once of all failures, and once a set of scores that are not finite.

    Parameters
    ----------
    search : MVRSMSearchCV
        Its results have been kept.
    candidates : sequence of Candidate
        Those that were finished.

    Raises
    ------
    TimeoutError
        If there are none.
    ValueError
        If not a single fit gave a score.
    """
    if not candidates:
        raise TimeoutError(_what_time_bought(search))
    failures = describe_failures(candidates, _error_score(search))
    if not any_score(candidates):
        raise ValueError(failures)
    if failures:
        warnings.warn(failures, FitFailedWarning, stacklevel=5)
    for part, counts in count_non_finite(search.cv_results_).items():
        counted = ", ".join(
            f"{count} of {len(candidates)} means of {metric!r}"
            for metric, count in counts.items()
        )
        warnings.warn(
            f"One or more of the {part} scores are non-finite: {counted}.",
            UserWarning,
            stacklevel=5,
        )


def _error_score(search: Any) -> float:
    """Return what stands for the score of a fit that failed."""
    is_number = not isinstance(search.error_score, str)
    return float(search.error_score) if is_number else np.nan


def _what_time_bought(search: Any) -> str:
    """Say how far a search came that finished no candidate, and what helps."""
    log = search.fit_log_
    ran = log["slot"] >= 0
    ended = ran & (log["status"] != "killed")
    text = (
        f"No candidate was finished within timeout={search.timeout} seconds, which "
        f"count from the start of the first fit; a candidate is {search.n_splits_} "
        "fits. "
    )
    if not ran.any():
        return text + "No fit had started, as no worker became ready."
    start = float(log["start"][ran].min())
    text += f"The workers took {start:.1f} s to start, which is not part of it. "
    if ended.any():
        took = float((log["finish"] - log["start"])[ended][0])
        text += f"{ended.sum()} fits ended, the first of them took {took:.1f} s. "
    else:
        text += "No fit ended. "
    return text + "Raise 'timeout' or 'n_jobs', or have fewer folds ('cv')."
