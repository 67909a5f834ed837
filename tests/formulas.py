"""An estimator whose score is a formula of its parameters: cheap searches."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_mvrsm import MVRSMSearchCV

X = np.zeros((12, 1))
y = np.array([0, 1] * 6)


class Formula(ClassifierMixin, BaseEstimator):
    """Takes any parameter; ``formula(params)`` is the score, and raises to fail."""

    def __init__(self, formula=None, **params):
        self.formula = formula
        self.params = params

    @classmethod
    def _get_param_names(cls):
        return ["formula"]

    def get_params(self, deep=True):
        return {"formula": self.formula, **self.params}

    def set_params(self, **params):
        self.formula = params.pop("formula", self.formula)
        self.params = {**self.params, **params}
        return self

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.score_ = self.formula(self.params)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return self.score_


def plus(estimator, X, y):
    """Score as the estimator does."""
    return estimator.score_


def minus(estimator, X, y):
    """Score the other way round."""
    return -estimator.score_


def fitted(formula, space, n_iter=12, **kwargs):
    """Fit a search with random points only, because that is faster."""
    search = MVRSMSearchCV(
        Formula(formula),
        space,
        n_iter=n_iter,
        **{"n_initial_points": n_iter, "cv": 2, "random_state": 0, **kwargs},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failures and small spaces are meant
        return search.fit(X, y)
