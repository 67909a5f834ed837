"""Pictures of a fitted search, of an optimiser, or of the result of ``minimize``.

Each display is made by ``from_estimator(search)``, which computes plain arrays and
draws nothing, and drawn by ``plot(ax=None)``, which needs matplotlib and keeps what it
has drawn in attributes that end in an underscore.
"""

from sklearn_mvrsm.inspection._candidates import CandidatesDisplay
from sklearn_mvrsm.inspection._convergence import ConvergenceDisplay
from sklearn_mvrsm.inspection._distribution import DistributionDisplay
from sklearn_mvrsm.inspection._importance import ImportanceDisplay
from sklearn_mvrsm.inspection._parallel import ParallelCoordinatesDisplay
from sklearn_mvrsm.inspection._pareto import ParetoDisplay
from sklearn_mvrsm.inspection._scores import parameters_at_edge
from sklearn_mvrsm.inspection._surrogate import SurrogateDisplay
from sklearn_mvrsm.inspection._timeline import TimelineDisplay

__all__ = [
    "CandidatesDisplay",
    "ConvergenceDisplay",
    "DistributionDisplay",
    "ImportanceDisplay",
    "ParallelCoordinatesDisplay",
    "ParetoDisplay",
    "SurrogateDisplay",
    "TimelineDisplay",
    "parameters_at_edge",
]

for _name in __all__:  # pickles and checkpoints name the public path
    globals()[_name].__module__ = __name__
