"""The search itself: `MVRSMSearchCV`."""

from sklearn_mvrsm._search.search import MVRSMSearchCV

__all__ = ["MVRSMSearchCV"]
