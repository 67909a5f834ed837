"""What runs tasks, wherever that is: the interface of all pools."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Self

from sklearn_mvrsm._outcomes import Event

__all__ = ["Pool"]


class Pool(ABC):
    """Runs tasks, and says what became of them. Use it in a ``with`` block.

    Tasks wait in a queue, first in, first out.

    Attributes
    ----------
    n_workers : int
        Tasks at a time.
    """

    n_workers: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    @abstractmethod
    def free(self) -> int:
        """How many more tasks could start at once."""

    @abstractmethod
    def submit(
        self,
        task_id: Hashable,
        fn: Callable[..., Any],
        *args: Any,
        timeout: float | None = None,
    ) -> None:
        """Queue a task.

        Parameters
        ----------
        task_id : hashable
            Names the task in its event; not that of a task still under way.
        fn : callable
            What to run. Where it runs elsewhere, it and its arguments are pickled now.
        *args
            Its arguments.
        timeout : float, optional
            Seconds after its start at which the task is killed.
        """

    @abstractmethod
    def next_event(self, timeout: float | None = None) -> Event | None:
        """Wait for a task to end.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Returns
        -------
        Event or None
            None when the time is over, or when no task is under way.

        Raises
        ------
        RuntimeError
            If nothing can be run there.
        """

    @abstractmethod
    def finished(self) -> list[Event]:
        """Return what has ended and was not asked for; what waits is not begun."""

    @abstractmethod
    def cancel(self, task_id: Hashable) -> bool:
        """Drop a task; no event follows. One that runs is killed after a short while.

        Parameters
        ----------
        task_id : hashable
            A task under way; others are ignored.

        Returns
        -------
        bool
            Whether it was still waiting, so that nothing of it has been run.
        """

    @abstractmethod
    def close(self) -> None:
        """Kill all that runs; no event follows."""
