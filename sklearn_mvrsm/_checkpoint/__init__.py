"""Checkpoints: what of a search survives its process."""

from sklearn_mvrsm._checkpoint.checkpoint import Checkpoint, open_checkpoint
from sklearn_mvrsm._checkpoint.replay import ReplayedOptimizer

__all__ = ["Checkpoint", "ReplayedOptimizer", "open_checkpoint"]
