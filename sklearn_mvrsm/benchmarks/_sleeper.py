"""An estimator that takes its time to learn nothing."""

import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["Sleeper"]


# scikit-learn ships no types, and an estimator is of its classes
class Sleeper(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Takes its time to learn nothing.

    Parameters
    ----------
    seconds : float
        That a fit takes.
    level : float
        Anything.
    """

    def __init__(self, seconds: float = 0.02, level: float = 0.0) -> None:
        self.seconds = seconds
        self.level = level

    def fit(self, X: Any, y: Any) -> "Sleeper":
        """Sleep."""
        time.sleep(self.seconds)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the first class."""
        return np.repeat(self.classes_[:1], len(X))
