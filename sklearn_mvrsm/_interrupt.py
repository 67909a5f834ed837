"""Ctrl-C that is not lost: an interrupt that nobody heeded is raised again.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be. Where that
is in a finalizer, or in a callback that was entered from C, the exception is printed
and dropped, and a search would go on as if nobody had pressed a key.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def heeded_interrupt() -> Iterator[Callable[[], None]]:
    """Remember interrupts within a block.

    Where somebody else handles them, or in another thread than the main one, nothing
    is changed.

    Yields
    ------
    callable
        Raises ``KeyboardInterrupt`` if there was an interrupt in this block before.
    """
    pressed = threading.Event()

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    def handle(signum: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.default_int_handler(signum, frame)

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) != signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
