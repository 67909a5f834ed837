"""The search itself: `MVRSMSearchCV`, and `minimize`, which runs as it does."""

from sklearn_mvrsm._search.minimization import minimize
from sklearn_mvrsm._search.search import MVRSMSearchCV

__all__ = ["MVRSMSearchCV", "minimize"]
