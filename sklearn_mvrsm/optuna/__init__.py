"""The optimiser as a sampler of optuna. Needs optuna."""

from sklearn_mvrsm.optuna._sampler import MVRSMSampler

__all__ = ["MVRSMSampler"]
