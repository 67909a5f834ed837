"""The model of the default method: a Gaussian process over mixed variables.

The kernel is ridge splines (the paper's) times an overlap kernel, plus a Matern 5/2.
``hyperparameters`` has the whole formula, with the terms left out here, and ``kernel``
computes it.
Hyperparameters maximise the posterior: marginal likelihood times their priors.
"""

from sklearn_mvrsm._surrogate.posterior import RealSlice
from sklearn_mvrsm._surrogate.surrogate import CAPACITY, FORGET, Surrogate

__all__ = ["CAPACITY", "FORGET", "RealSlice", "Surrogate"]
