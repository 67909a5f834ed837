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

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
