"""Spaces: names, conditions and constraints on one side, numbers on the other.

Another type of parameter is another `Parameter` (``base``), beside ``ranges`` and
``choices``; then ``default``, ``layout``, ``configspace``, ``inspection/_axes`` and
``optuna/_study`` have to know it. Where its numbers are neither categories nor integers
nor reals, ``_domain`` and the kernel have to, too.
"""

from sklearn_mvrsm._space.base import UNSET, Parameter
from sklearn_mvrsm._space.choices import Categorical, Ordinal
from sklearn_mvrsm._space.constraints import InfeasibleSpaceError
from sklearn_mvrsm._space.default import Wanted, default_params
from sklearn_mvrsm._space.layout import copied_containers
from sklearn_mvrsm._space.ranges import Integer, Real
from sklearn_mvrsm._space.search_space import SearchSpace
from sklearn_mvrsm._space.values import (
    Originals,
    copied,
    evaluated,
    float_of,
    generator_of,
    int_of,
    is_integer,
    is_real,
    plain,
)

__all__ = [
    "UNSET",
    "Categorical",
    "InfeasibleSpaceError",
    "Integer",
    "Ordinal",
    "Originals",
    "Parameter",
    "Real",
    "SearchSpace",
    "Wanted",
    "copied",
    "copied_containers",
    "default_params",
    "evaluated",
    "float_of",
    "generator_of",
    "int_of",
    "is_integer",
    "is_real",
    "plain",
]
