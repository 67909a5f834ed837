"""Mixed-variable hyperparameter search for scikit-learn."""

from typing import TYPE_CHECKING

from sklearn_mvrsm._optimizer import MVRSMOptimizer, SpaceExhaustedError, minimize
from sklearn_mvrsm._search import MVRSMSearchCV
from sklearn_mvrsm._space import (
    Categorical,
    InfeasibleSpaceError,
    Integer,
    Ordinal,
    Real,
    SearchSpace,
)

__all__ = [
    "Categorical",
    "InfeasibleSpaceError",
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

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name):
        """Look up ``__version__``, which reads a file, where it is asked for."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("sklearn-mvrsm")
        except PackageNotFoundError:  # a copy of the sources that is not installed
            return "0+unknown"
