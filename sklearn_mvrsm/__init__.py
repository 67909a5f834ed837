"""Mixed-variable hyperparameter search for scikit-learn."""

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from sklearn_mvrsm._optimizer import MVRSMOptimizer, SpaceExhaustedError
    from sklearn_mvrsm._search import MVRSMSearchCV, minimize
    from sklearn_mvrsm._space import (
        Categorical,
        InfeasibleSpaceError,
        Integer,
        Ordinal,
        Real,
        SearchSpace,
    )

    __version__: str
else:

    def __getattr__(name):
        """Import a public name when it is asked for: workers need none of them."""
        from importlib import import_module, metadata

        if name == "__version__":
            try:
                return metadata.version("sklearn-mvrsm")
            except metadata.PackageNotFoundError:  # a copy that is not installed
                return "0+unknown"
        for package in ("_space", "_optimizer", "_search") if name in __all__ else ():
            face = import_module(f"{__name__}.{package}")
            if name in face.__all__:
                return globals().setdefault(name, getattr(face, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        """List what the package has and what it imports when asked."""
        return sorted({*globals(), *__all__, "__version__"})
