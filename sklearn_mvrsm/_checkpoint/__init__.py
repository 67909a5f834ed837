"""Checkpoints: what of a search survives its process.

A line is checked by ``journal`` (its checksum), by ``_evaluation/scores`` (its fields)
and by ``checkpoint`` (its params, and that none comes twice).
"""

from sklearn_mvrsm._checkpoint.checkpoint import Checkpoint, open_checkpoint
from sklearn_mvrsm._checkpoint.fingerprint import Decisive
from sklearn_mvrsm._checkpoint.replay import ReplayedOptimizer

__all__ = ["Checkpoint", "Decisive", "ReplayedOptimizer", "open_checkpoint"]
