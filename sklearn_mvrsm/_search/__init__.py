"""The search itself: `MVRSMSearchCV`, and `minimize`, which runs as it does.

In the order of a fit: ``search`` reads its arguments and has the folds drawn, ``run``
puts a run together, ``loop`` asks, evaluates and tells, ``objective`` negates the
scores, and ``results`` makes ``cv_results_``.
"""

from sklearn_mvrsm._search.minimization import minimize
from sklearn_mvrsm._search.search import MVRSMSearchCV

__all__ = ["MVRSMSearchCV", "minimize"]
