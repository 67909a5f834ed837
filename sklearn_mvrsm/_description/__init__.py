"""Descriptions of values, the same in every session: what a checkpoint compares."""

from sklearn_mvrsm._description.content import digest
from sklearn_mvrsm._description.description import describe_value, is_estimator

__all__ = ["describe_value", "digest", "is_estimator"]
