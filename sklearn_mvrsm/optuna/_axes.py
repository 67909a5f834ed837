"""Optuna's distributions as parameters, and their values as *plain* ones.

A plain value is what a parameter offers: a float, an int, the place of a choice, or the
number of a step.
"""

from dataclasses import dataclass
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from sklearn_mvrsm import Categorical, Integer, Real

__all__ = ["Axis", "Plain", "axis_of"]

Plain = dict[str, int | float]


@dataclass(frozen=True)
class Axis:
    """A distribution and the parameter that stands for it.

    Where the distribution has steps, the parameter counts them from ``low``.
    """

    distribution: BaseDistribution
    parameter: Real | Integer | Categorical
    low: float = 0
    high: float = 0
    step: float | None = None

    def to_plain(self, value: Any) -> int | float:
        """Return the plain form of a suggested value."""
        if isinstance(self.parameter, Categorical):
            return int(self.distribution.to_internal_repr(value))
        if self.step is not None:
            return round((float(value) - self.low) / self.step)
        return float(value) if isinstance(self.parameter, Real) else int(value)

    def to_value(self, plain: int | float) -> Any:
        """Return the value, as ``suggest_...`` returns it."""
        if isinstance(self.parameter, Categorical):
            return self.distribution.to_external_repr(plain)
        if self.step is not None:
            return min(self.low + plain * self.step, self.high)
        return plain


def axis_of(distribution: BaseDistribution) -> Axis | None:
    """Return the axis of a distribution; None where there is nothing to search.

    That is for single values, and for ranges that are too narrow or too wide for
    their values to be told apart.
    """
    if distribution.single():
        return None
    try:
        return _axis_of(distribution)
    except ValueError:
        return None


def _axis_of(distribution: BaseDistribution) -> Axis:
    if isinstance(distribution, CategoricalDistribution):
        return Axis(distribution, Categorical(range(len(distribution.choices))))
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, log = distribution.low, distribution.high, distribution.log
    step = distribution.step
    if isinstance(distribution, IntDistribution) and step == 1:
        return Axis(distribution, Integer(distribution.low, distribution.high, log=log))
    if step is None:
        return Axis(distribution, Real(low, high, log=log))
    return Axis(distribution, Integer(0, round((high - low) / step)), low, high, step)
