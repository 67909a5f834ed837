"""What a method works on: a box without names, and what was observed in it."""

from sklearn_mvrsm._domain.domain import (
    BoolArray,
    Domain,
    FloatArray,
    IntArray,
    Region,
    redraw,
)
from sklearn_mvrsm._domain.history import History, as_number, impute_failures

__all__ = [
    "BoolArray",
    "Domain",
    "FloatArray",
    "History",
    "IntArray",
    "Region",
    "as_number",
    "impute_failures",
    "redraw",
]
