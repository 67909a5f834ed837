"""The optimiser as a sampler of optuna. Needs optuna."""

from sklearn_mvrsm.optuna._sampler import MVRSMSampler

__all__ = ["MVRSMSampler"]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
