"""After the search: rules that choose the winner, and its models on every fold.

`one_standard_error` and `constrained` are values for ``refit``; `refit_folds` takes a
fitted search.
"""

from sklearn_mvrsm.selection._refit_folds import refit_folds
from sklearn_mvrsm.selection._rules import constrained, one_standard_error

__all__ = ["constrained", "one_standard_error", "refit_folds"]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
