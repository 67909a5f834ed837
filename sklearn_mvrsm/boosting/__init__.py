"""Boosting in a search: models that choose their own number of rounds."""

from sklearn_mvrsm.boosting._early_stopping import EarlyStopping

__all__ = ["EarlyStopping"]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
