"""The published algorithm (Bliek et al., GECCO 2021).

In reading order: ``splines`` (equations 2 to 4, definitions 1 and 2), ``least_squares``
(its weights), ``perturbation`` (appendix B), ``algorithm`` (algorithm 1).
"""

from sklearn_mvrsm._paper.algorithm import PaperMethod
from sklearn_mvrsm._paper.lbfgs import minimise
from sklearn_mvrsm._paper.perturbation import perturb_as_paper
from sklearn_mvrsm._paper.splines import (
    Direction,
    RidgeSplines,
    integer_directions,
    minimise_spline,
    stack,
)

__all__ = [
    "Direction",
    "PaperMethod",
    "RidgeSplines",
    "integer_directions",
    "minimise",
    "minimise_spline",
    "perturb_as_paper",
    "stack",
]
