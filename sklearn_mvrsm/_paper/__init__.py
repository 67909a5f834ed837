"""The published algorithm (Bliek et al., GECCO 2021), in reading order."""

from sklearn_mvrsm._paper.algorithm import PaperMethod
from sklearn_mvrsm._paper.perturbation import perturb_as_paper
from sklearn_mvrsm._paper.splines import (
    Direction,
    RidgeSplines,
    integer_directions,
    minimise_spline,
    reach,
    stack,
)

__all__ = [
    "Direction",
    "PaperMethod",
    "RidgeSplines",
    "integer_directions",
    "minimise_spline",
    "perturb_as_paper",
    "reach",
    "stack",
]
