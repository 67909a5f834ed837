"""What the optimiser asks of a method."""

from typing import Protocol

import numpy as np

from sklearn_mvrsm._domain import FloatArray, History

__all__ = ["Method"]


class Method(Protocol):
    """Proposes canonical points from what was observed of the objective.

    Attributes
    ----------
    may_repeat : bool
        Whether a configuration can be proposed again.
    n_initial_points : int
        Points proposed before the method's own, where the user does not say.
    """

    @property
    def may_repeat(self) -> bool: ...

    @property
    def n_initial_points(self) -> int: ...

    def initial_points(
        self, design: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return a Latin hypercube as it is, or as many points instead of it."""
        ...

    def observe(
        self, point: FloatArray, value: float, constraint: float | None
    ) -> None:
        """Update with one evaluation; a value that is not finite is a failure.

        The constraint must be <= 0; None: nothing is known of it.
        """
        ...

    def propose(self, history: History, rng: np.random.Generator) -> FloatArray:
        """Return a point, which can be infeasible or known: another is drawn then."""
        ...

    def predict(
        self, history: History, points: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return expected values and their deviations, each of shape ``(n,)``."""
        ...
