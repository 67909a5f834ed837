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

    Where the distribution has steps, the parameter counts those of ``steps``, or of
    ``grid`` (low, high and step) where they are too fine for a parameter of their own.
    """

    distribution: BaseDistribution
    parameter: Real | Integer | Categorical
    steps: Real | Integer | None = None
    grid: tuple[float, float, float] | None = None

    def to_plain(self, value: Any) -> int | float:
        """Return the plain form of a suggested value."""
        if isinstance(self.parameter, Categorical):
            return int(self.distribution.to_internal_repr(value))
        if self.steps is not None:
            return int(self.steps.to_number(self.steps.nearest(float(value))))
        if self.grid is not None:
            low, _, step = self.grid
            steps: float = (value - low) / step
            return round(steps)
        return float(value) if isinstance(self.parameter, Real) else int(value)

    def to_value(self, plain: int | float) -> Any:
        """Return the value, as ``suggest_...`` returns it."""
        if isinstance(self.parameter, Categorical):
            return self.distribution.to_external_repr(plain)
        if self.steps is not None:
            return self.steps.value_at(int(plain))
        if self.grid is not None:
            low, high, step = self.grid
            return min(low + plain * step, high)
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
    except (ValueError, OverflowError):
        return None


def _axis_of(distribution: BaseDistribution) -> Axis:
    if isinstance(distribution, CategoricalDistribution):
        return Axis(distribution, Categorical(range(len(distribution.choices))))
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    kind: Any = Integer if isinstance(distribution, IntDistribution) else Real
    low, high, step = distribution.low, distribution.high, distribution.step
    own: Real | Integer
    try:
        own = kind(low, high, log=distribution.log, step=step)
    except ValueError:
        if distribution.log or step is None:
            raise
        count = Integer(0, round((high - low) / step))
        return Axis(distribution, count, grid=(low, high, step))
    if not own.has_steps:
        return Axis(distribution, own)
    return Axis(distribution, Integer(0, int(own.size) - 1), own)
