"""What became of a task, as values; and how a task is run so that one comes out.

A task returns, raises, is stopped at its time limit, asks for too much memory, or
takes its process with it.
"""

import contextlib
import sys
import traceback
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

LONGEST_TEXT = 10_000
"""Characters of a message or traceback that are kept."""

_PACKAGE = __name__.partition(".")[0]
_MEMORY_PHRASES = (
    "bad_alloc",
    "bad_malloc",
    "bad allocation",
    "out of memory",
    "cannot allocate memory",
    "unable to allocate",
    "failed to allocate",
)


@dataclass(frozen=True)
class Returned:
    """The task returned ``value``."""

    value: Any


@dataclass(frozen=True)
class Raised:
    """The task raised; ``exception`` is None where it does not survive pickling."""

    type_name: str
    message: str
    traceback: str
    exception: BaseException | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TimedOut:
    """The task was stopped ``elapsed`` seconds after its start, for ``limit``."""

    limit: float
    elapsed: float


@dataclass(frozen=True)
class OutOfMemory:
    """The task could not get the memory it asked for, or was killed for using it."""

    message: str
    traceback: str = ""


@dataclass(frozen=True)
class Died:
    """The process of the task ended before the task did."""

    reason: str


Outcome = Returned | Raised | TimedOut | OutOfMemory | Died


@dataclass(frozen=True)
class Event:
    """What became of a task: where it ran (None if it did not), from when to when."""

    task_id: Hashable
    outcome: Outcome
    slot: int | None
    started: float
    finished: float


def attempt(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), memory_limit: int | None = None
) -> Returned | Raised | OutOfMemory:
    """Call a function and say what became of it.

    Parameters
    ----------
    fn : callable
        The function.
    args : tuple
        Its arguments.
    memory_limit : int or None
        Bytes that it may use on top of what the process uses already.

    Returns
    -------
    Returned, Raised or OutOfMemory
        ``SystemExit`` counts as raised; ``KeyboardInterrupt`` is not caught.
    """
    try:
        with memory_limited(memory_limit):
            return Returned(fn(*args))
    except (Exception, SystemExit) as error:
        return describe(error)


def shortened(text: str) -> str:
    """Return a text of at most `LONGEST_TEXT` characters, the middle left out."""
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2 - 30
    n = len(text) - 2 * half
    return f"{text[:half]} [... {n} characters left out ...] {text[-half:]}"


def describe(error: BaseException) -> Raised | OutOfMemory:
    """Turn an exception into an outcome.

    Parameters
    ----------
    error : BaseException
        The text of its traceback begins behind this package's own frames. Long texts
        are shortened: they are kept, sent and written once a fit.

    Returns
    -------
    Raised or OutOfMemory
        The second where the exception, or one that it was raised from, is a
        MemoryError or says in words that there was no memory.
    """
    message = _text(error)
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None and _is_ours(frames):
        frames = frames.tb_next
    text = shortened("".join(traceback.format_exception(type(error), error, frames)))
    cause: BaseException | None = error
    while cause is not None:
        words = _text(cause).lower()
        if isinstance(cause, MemoryError) or any(p in words for p in _MEMORY_PHRASES):
            return OutOfMemory(shortened(f"{type(error).__name__}: {message}"), text)
        cause = cause.__cause__
    return Raised(type(error).__name__, shortened(message), text, error)


def memory_limit_problem() -> str:
    """Say why this platform cannot hold a fit to a memory limit; empty if it can."""
    if sys.platform == "linux":
        return ""
    return f"only Linux enforces a limit on the memory of one fit, not {sys.platform}"


@contextlib.contextmanager
def memory_limited(limit: int | None) -> Iterator[None]:
    """Hold this process to ``limit`` bytes on top of what it uses at the start.

    Parameters
    ----------
    limit : int or None
        Bytes of address space; None for no limit. It is lifted at the end.
    """
    if limit is None or sys.platform != "linux":
        yield
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = [used + limit, *(x for x in (soft, hard) if x != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(allowed), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _is_ours(frames: TracebackType) -> bool:
    """Whether a traceback begins in this package."""
    name: str = frames.tb_frame.f_globals.get("__name__", "")
    return name.partition(".")[0] == _PACKAGE


def _text(error: BaseException) -> str:
    """Return the message of an exception, even of one that cannot say it."""
    try:
        return str(error)
    except Exception:
        return "<the exception's own message could not be made>"
