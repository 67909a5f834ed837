"""Mixed-variable hyperparameter search for scikit-learn."""

from sklearn_mvrsm._minimize import minimize
from sklearn_mvrsm._optimizer import MVRSMOptimizer, SpaceExhaustedError
from sklearn_mvrsm._parameters import Categorical, Integer, Ordinal, Real
from sklearn_mvrsm._search import MVRSMSearchCV
from sklearn_mvrsm._space import SearchSpace

__all__ = [
    "Categorical",
    "Integer",
    "MVRSMOptimizer",
    "MVRSMSearchCV",
    "Ordinal",
    "Real",
    "SearchSpace",
    "SpaceExhaustedError",
    "minimize",
]
