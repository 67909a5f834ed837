"""The search itself: `MVRSMSearchCV`, and `minimize`, which runs as it does.

``run`` puts a run together, ``loop`` asks, evaluates and tells, and ``objective`` turns
scores into what is minimised.
"""

from sklearn_mvrsm._search.minimization import minimize
from sklearn_mvrsm._search.search import MVRSMSearchCV

__all__ = ["MVRSMSearchCV", "minimize"]
