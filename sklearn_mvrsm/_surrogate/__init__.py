"""The model of the default method: a Gaussian process over mixed variables."""

from sklearn_mvrsm._surrogate.posterior import Slice
from sklearn_mvrsm._surrogate.surrogate import CAPACITY, FORGET, Surrogate

__all__ = ["CAPACITY", "FORGET", "Slice", "Surrogate"]
