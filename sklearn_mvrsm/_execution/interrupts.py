"""Ctrl-C that is neither lost nor harmful.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be. Where that
is in a finalizer, or in a callback that was entered from C, the exception is printed
and dropped, and a search would go on as if nobody had pressed a key. Where processes
are being ended, it would leave some of them behind.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["Interrupts", "deferred_interrupts"]


_MOST_SHIELDED = 3  # the last of so many in one shielded block is raised at once


class Interrupts:
    """What is known of interrupts in a block of `deferred_interrupts`."""

    def __init__(self) -> None:
        self._pressed = False
        self._is_shielded = False
        self._n_shielded = 0

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if there has been an interrupt."""
        if self._pressed:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Shield a short block; raise afterwards what came meanwhile.

        The third Ctrl-C inside the block is raised immediately.
        """
        known, self._is_shielded, self._n_shielded = self._pressed, True, 0
        try:
            yield
        finally:
            self._is_shielded = False
        if not known:
            self.check()

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self._pressed = True
        self._n_shielded += self._is_shielded
        if not self._is_shielded or self._n_shielded >= _MOST_SHIELDED:
            signal.default_int_handler(signum, frame)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Note interrupts within a block, so that none is lost.

    Where somebody else handles them, or in another thread than the main one, nothing
    is changed.
    """
    interrupts = Interrupts()
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) != signal.default_int_handler:
        yield interrupts
        return
    try:
        signal.signal(signal.SIGINT, interrupts._handle)
        yield interrupts
    finally:
        known, interrupts._is_shielded = interrupts._pressed, True
        if signal.getsignal(signal.SIGINT) == interrupts._handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if not known:
        interrupts.check()
