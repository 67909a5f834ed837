"""An estimator that takes its time to learn nothing."""

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["Sleeper"]


class Sleeper(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # base is Any: scikit-learn has no py.typed; once it has, strict mypy reports this line as unused
    """Takes its time to learn nothing.

    Parameters
    ----------
    seconds : float
        That a fit takes; the median, if there is a spread.
    level : float
        Anything.
    spread : float
        Deviation of the logarithm of the seconds, which are drawn anew for each level
        and each table.
    """

    def __init__(
        self, seconds: float = 0.02, level: float = 0.0, spread: float = 0.0
    ) -> None:
        self.seconds = seconds
        self.level = level
        self.spread = spread

    def fit(self, X: ArrayLike, y: ArrayLike) -> "Sleeper":
        """Sleep."""
        seed = [int(1e9 * self.level), int(np.abs(np.asarray(X)).sum())]
        time.sleep(self.seconds * np.random.default_rng(seed).lognormal(0, self.spread))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> object:
        """Predict the first class."""
        return np.repeat(self.classes_[:1], len(X))
