"""What the surrogate expects, as a score."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm import MVRSMOptimizer
from sklearn_mvrsm.inspection._scores import (
    guiding_metric,
    optimizer_of,
    read_scores,
)

__all__ = ["expectation"]

FloatArray = npt.NDArray[np.float64]


def expectation(
    search: Any, metric: str
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Return a function from points to the mean and deviation of the score.

    A search has a surrogate of the metric that guided it. For any other one an
    optimiser is told the scores here.

    Parameters
    ----------
    search : MVRSMSearchCV, MVRSMOptimizer or OptimizeResult
    metric : str

    Returns
    -------
    callable
        From points of shape (n, d) to two arrays of shape (n,). Means are cut where
        the metric ends, as far as that is known.
    """
    optimizer = optimizer_of(search)
    if optimizer is not None:
        return optimizer.predict
    optimizer = search.optimizer_
    scores = read_scores(search, metric)
    if metric != guiding_metric(search):
        optimizer = MVRSMOptimizer(search.space_, method=search.method, random_state=0)
        for row, params in enumerate(search.cv_results_["params"]):
            if np.isfinite(scores.values[row]) or scores.failed[row]:
                optimizer.tell(params, -scores.values[row])

    def expected(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, std = optimizer.predict(points)
        return np.clip(-mean, *scores.bounds), std

    return expected
