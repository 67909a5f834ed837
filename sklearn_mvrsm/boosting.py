"""Boosting in a search: models that choose their own number of rounds."""

from sklearn_mvrsm._early_stopping import EarlyStopping

__all__ = ["EarlyStopping"]
