"""Ask and tell: the one place where names meet arrays.

``optimizer`` asks a ``method`` for points, by default ``mvrsm``. The acquisition
function is in ``acquisition``, a logarithm to which ``success`` adds that of the
probability to succeed; ``coordinate_step`` maximises the sum.
"""

from sklearn_mvrsm._optimizer.optimizer import MVRSMOptimizer, SpaceExhaustedError
from sklearn_mvrsm._optimizer.plan import Plan, enqueue_first, make_optimizer

__all__ = [
    "MVRSMOptimizer",
    "Plan",
    "SpaceExhaustedError",
    "enqueue_first",
    "make_optimizer",
]
