"""One thread for linear algebra that is not worth more.

While a proposal is made, other processes fit on the same cores. The threads of BLAS
would wait for one another there, spinning: a step of the optimiser took four times as
much CPU beside one busy process on two cores. With one thread, what is proposed does
not depend on the number of cores either, which decides how sums are rounded.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded"]


@cache
def _libraries() -> ThreadpoolController:
    """Return what is loaded: NumPy's and SciPy's BLAS."""
    return ThreadpoolController().select(user_api="blas")


_one_at_a_time = threading.RLock()
"""The limit belongs to the process: where the blocks of two threads overlapped, one
would restore what the other had set, and it would stay."""


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS to one thread within a block, which threads enter one at a time."""
    with _one_at_a_time, _libraries().limit(limits=1):
        yield
