"""The optimiser of a resumed search, held to the candidates of its checkpoint."""

import warnings
from collections.abc import Mapping
from typing import Any

from sklearn_mvrsm._checkpoint.checkpoint import Checkpoint
from sklearn_mvrsm._optimizer import make_optimizer

__all__ = ["ReplayedOptimizer"]


class ReplayedOptimizer:
    """The optimiser of a search, held to the candidates of a checkpoint.

    Parameters
    ----------
    search : MVRSMSearchCV
        Its ``optimizer_`` is asked and told, and replaced by one that has been told
        the same if it does not propose what the journal has.
    arguments : object
        Those of the search; numbers are Python's.
    checkpoint : Checkpoint
        What the search has found before.
    """

    def __init__(self, search: Any, arguments: Any, checkpoint: Checkpoint) -> None:
        self._search = search
        self._arguments = arguments
        self._checkpoint = checkpoint
        self._asked: list[dict[str, Any]] = []
        self._told: list[tuple[Mapping[str, Any], float]] = []
        self._follows = False

    def ask(self) -> dict[str, Any]:
        """Propose the next candidate, as `MVRSMOptimizer.ask` does."""
        k = len(self._asked)
        if self._follows and k in self._checkpoint.codes:
            self._search.optimizer_.enqueue(self._checkpoint.params(k))
        params: dict[str, Any] = self._search.optimizer_.ask()
        if self._checkpoint.has_other(k, params):
            params = self._follow(k)
        self._asked.append(params)
        return params

    def tell(self, params: Mapping[str, Any], value: float) -> None:
        """Report the value of a candidate, as `MVRSMOptimizer.tell` does."""
        self._told.append((params, value))
        self._search.optimizer_.tell(params, value)

    def _follow(self, k: int) -> dict[str, Any]:
        """Begin anew with an optimiser that is made to ask for what the journal has."""
        self._follows = True
        warnings.warn(
            f"Candidate {k} of the checkpoint is not the one that is proposed now, as "
            "can happen on another machine or with other releases. What has been "
            "finished is kept, and the search goes on from there; the candidates to "
            "come are not those of a search that was never interrupted.",
            UserWarning,
            stacklevel=9,
        )
        optimizer = make_optimizer(
            self._arguments,
            self._search.space_,
            self._checkpoint.plan,
            initial_points=(),
        )
        for params in [*self._asked, self._checkpoint.params(k)]:
            optimizer.enqueue(params)
            latest = optimizer.ask()
        for told, value in self._told:
            optimizer.tell(told, value)
        self._search.optimizer_ = optimizer
        return latest
