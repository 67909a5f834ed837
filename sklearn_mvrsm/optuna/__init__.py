"""The optimiser as a sampler of optuna, and a search as a study. Needs optuna."""

from sklearn_mvrsm.optuna._sampler import MVRSMSampler
from sklearn_mvrsm.optuna._study import to_study

__all__ = ["MVRSMSampler", "to_study"]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
