"""The optimiser of a search that goes on, held to the candidates of its checkpoint."""

from collections.abc import Callable, Mapping
from typing import Any

from sklearn_mvrsm._checkpoint.checkpoint import Checkpoint
from sklearn_mvrsm._optimizer import MVRSMOptimizer
from sklearn_mvrsm._space import SearchSpace
from sklearn_mvrsm._warnings import warn

__all__ = ["ReplayedOptimizer"]


class ReplayedOptimizer:
    """The optimiser of a search, held to the candidates of a checkpoint.

    Parameters
    ----------
    optimizer : MVRSMOptimizer
        It has been asked for nothing yet.
    checkpoint : Checkpoint
        What the search has found before.
    new : callable
        Returns another optimiser like the first, with no point queued.

    Attributes
    ----------
    current : MVRSMOptimizer
        The one that is asked and told. It is replaced by one that has been told the
        same if it does not propose what the journal has.
    """

    def __init__(
        self,
        optimizer: MVRSMOptimizer,
        checkpoint: Checkpoint,
        new: Callable[[], MVRSMOptimizer],
    ) -> None:
        self.current = optimizer
        self._journal = checkpoint
        self._new = new
        self._asked: list[dict[str, Any]] = []
        self._told: list[tuple[Mapping[str, Any], float, float | None]] = []
        self._follows = False

    @property
    def space(self) -> SearchSpace:
        """What may be proposed."""
        return self.current.space

    def ask(self) -> dict[str, object]:
        """Propose the next candidate, as `MVRSMOptimizer.ask` does."""
        k, journal = len(self._asked), self._journal
        if self._follows and k in journal.codes:
            self.current.enqueue(journal.params(k))
        params: dict[str, Any] = self.current.ask()
        if journal.has_other(k, params):
            params = self._follow(k, journal.params(k))
        self._asked.append(params)
        return params

    def tell(
        self,
        params: Mapping[str, object],
        value: float,
        constraint: float | None = None,
    ) -> None:
        """Report the value of a candidate, as `MVRSMOptimizer.tell` does."""
        self._told.append((params, value, constraint))
        self.current.tell(params, value, constraint)

    def _follow(self, k: int, known: dict[str, object]) -> dict[str, object]:
        """Start again, with an optimiser that proposes what the journal has."""
        self._follows = True
        warn(
            f"Candidate {k} of the checkpoint is not the one that is proposed now, as "
            "can happen on another machine or with other releases. What has been "
            "finished is kept, and the search goes on from there; the candidates to "
            "come are not those of a search that was never interrupted."
        )
        self.current = self._new()
        for params in [*self._asked, known]:
            self.current.enqueue(params)
            latest = self.current.ask()
        for told in self._told:
            self.current.tell(*told)
        return latest
