"""Ask and tell: the one place where names meet arrays."""

from sklearn_mvrsm._optimizer.optimizer import MVRSMOptimizer, SpaceExhaustedError
from sklearn_mvrsm._optimizer.plan import Plan, enqueue_first, make_optimizer

__all__ = [
    "MVRSMOptimizer",
    "Plan",
    "SpaceExhaustedError",
    "enqueue_first",
    "make_optimizer",
]
