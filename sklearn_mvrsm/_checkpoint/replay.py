"""The optimiser of a search, held to the candidates of its checkpoint if it has one."""

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
    checkpoint : Checkpoint or None
        What the search has found before; None: there is nothing to be held to.
    new : callable
        Returns another optimiser like the first, with no point queued.

    Attributes
    ----------
    current : MVRSMOptimizer
        The one that is asked and told. It is replaced by one that has been told the
        same if it does not propose what the journal has.
    checkpoint : Checkpoint or None
        As given.
    """

    def __init__(
        self,
        optimizer: MVRSMOptimizer,
        checkpoint: Checkpoint | None,
        new: Callable[[], MVRSMOptimizer],
    ) -> None:
        self.current = optimizer
        self.checkpoint = checkpoint
        self._new = new
        self._asked: list[dict[str, Any]] = []
        self._told: list[tuple[Mapping[str, Any], float, float | None]] = []
        self._follows = False

    @property
    def space(self) -> SearchSpace:
        """What may be proposed."""
        return self.current.space

    @property
    def has_score(self) -> bool:
        """Whether a fit of an earlier session has a score."""
        return self.checkpoint is not None and self.checkpoint.has_score

    def ask(self) -> dict[str, object]:
        """Propose the next candidate, as `MVRSMOptimizer.ask` does."""
        k = len(self._asked)
        journal = self.checkpoint
        if self._follows and journal is not None and k in journal.codes:
            self.current.enqueue(journal.params(k))
        params: dict[str, Any] = self.current.ask()
        if journal is not None and journal.has_other(k, params):
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
