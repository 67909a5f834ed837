"""Checkpoints: what of a search survives its process."""

from sklearn_mvrsm._checkpoint.checkpoint import Checkpoint, open_checkpoint
from sklearn_mvrsm._checkpoint.fingerprint import Decisive
from sklearn_mvrsm._checkpoint.replay import ReplayedOptimizer

__all__ = ["Checkpoint", "Decisive", "ReplayedOptimizer", "open_checkpoint"]
