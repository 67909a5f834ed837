"""The model of the default method: a Gaussian process over mixed variables."""

from sklearn_mvrsm._surrogate.posterior import RealSlice
from sklearn_mvrsm._surrogate.surrogate import CAPACITY, FORGET, Surrogate

__all__ = ["CAPACITY", "FORGET", "RealSlice", "Surrogate"]
