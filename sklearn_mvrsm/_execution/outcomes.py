"""What became of a task, as values; and how a task is run so that one comes out.

A task returns, raises, is stopped at its time limit, asks for too much memory, or
takes its process with it.
"""

import builtins
import contextlib
import errno
import itertools
import os
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
    "oom when allocating",
)
_MEMORY_TEXT = 300
"""Characters of a message in which those count: further on it quotes others."""

_SPEAKERS = (RuntimeError, OSError, SystemError, Exception)
"""Built-in exceptions whose words may say it; those that libraries define may, too."""

_MAX_LINKED = 1000
"""So many exceptions at most are looked at in a chain, or printed."""


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
class TaskEnd:
    """What became of a task: where it ran (None if it did not), from when to when."""

    task_id: Hashable
    outcome: Outcome
    slot: int | None
    started: float
    finished: float


@dataclass(frozen=True)
class Abandoned:
    """A task that had begun when it was dropped; it was ``killed``, or ended."""

    task_id: Hashable
    killed: bool
    slot: int
    started: float
    finished: float


def attempt(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    memory_limit: int | None = None,
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
        ``SystemExit`` and its like count as raised; ``KeyboardInterrupt`` is not
        caught.
    """
    try:
        unlimited = memory_limit is None
        limits = contextlib.nullcontext() if unlimited else memory_limited(memory_limit)
        with copies_ended(), limits:
            return Returned(fn(*args))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return to_outcome(error)


class copies_ended:
    """End a copy of this process that was forked within a block, where it leaves it.

    It would answer in the place of this process, or run the rest of the program twice.
    A class: `contextlib.contextmanager` sets an attribute of what is raised, which may
    refuse that.
    """

    def __enter__(self) -> None:
        self._pid = os.getpid()

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if os.getpid() != self._pid:
            os._exit(int(kind is not None))


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text of at most so many characters, the middle left out."""
    if len(text) <= longest:
        return text
    half = longest // 2 - 30
    n = len(text) - 2 * half
    return f"{text[:half]} [... {n} characters left out ...] {text[-half:]}"


def to_outcome(error: BaseException) -> Raised | OutOfMemory:
    """Turn an exception into an outcome, whatever its own methods do.

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
    text = _attempted(lambda: _formatted(error)) or _plainly_formatted(error)
    text = shortened(text)
    if any(_is_about_memory(cause) for cause in causes(error)):
        return OutOfMemory(summary(error), text)
    return Raised(_type_name(error), shortened(_message(error)), text, error)


def causes(error: BaseException, *more: str) -> Iterator[BaseException]:
    """Yield an exception, what it was raised from, and members of groups; each once.

    Parameters
    ----------
    error : BaseException
        It comes first.
    *more : str
        More attributes that link exceptions, such as "__context__".
    """
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _MAX_LINKED:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if issubclass(type(found), BaseExceptionGroup):
            waiting += _attribute(found, "exceptions", BaseExceptionGroup)
        linked = [_attribute(found, name) for name in ("__cause__", *more)]
        waiting += [each for each in linked if each is not None]


def summary(error: BaseException) -> str:
    """Return the name of an exception's type and its message, shortened."""
    return shortened(f"{_type_name(error)}: {_message(error)}")


def memory_limit_problem() -> str:
    """Return why this platform has no memory limit for a fit; empty if it has one."""
    if sys.platform == "linux":
        return ""
    return f"only Linux enforces a limit on the memory of one fit, not {sys.platform}"


@contextlib.contextmanager
def memory_limited(limit: int | None) -> Iterator[None]:
    """Limit this process to ``limit`` bytes on top of what it uses at the start.

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
    """Return whether a traceback begins in this package."""
    name = frames.tb_frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == _PACKAGE


def _attribute(error: BaseException, name: str, kind: type = BaseException) -> Any:
    """Return what an exception has as ``name``, not what its class may say instead."""
    return vars(kind)[name].__get__(error)


def _attempted(say: Callable[[], str]) -> str | None:
    """Return a text that can be printed and pickled; None where it cannot be made."""
    try:
        return str.encode(say(), "utf-8", "backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _type_name(error: BaseException) -> str:
    name = _attempted(lambda: vars(type)["__name__"].__get__(type(error)))
    return "exception" if name is None else name


def _message(error: BaseException) -> str:
    """Return the message of an exception, even of one that cannot say it."""
    message = _attempted(lambda: str(error))
    return "<its message could not be made>" if message is None else message


def _frames(error: BaseException) -> TracebackType | None:
    """Return the traceback without this package's own frames at its begin."""
    frames: TracebackType | None = _attribute(error, "__traceback__")
    while frames is not None and frames.tb_next is not None and _is_ours(frames):
        frames = frames.tb_next
    return frames


def _formatted(error: BaseException) -> str:
    """Format an exception as Python does; raise if that would not end soon."""
    waiting, printed = [error], list[BaseException]()
    while waiting:
        found = waiting.pop()
        printed.append(found)
        if len(printed) > _MAX_LINKED:
            raise RecursionError("the chain of exceptions is too long")
        if isinstance(found, BaseExceptionGroup):  # printed wherever it is reached
            waiting += itertools.islice(found.exceptions, _MAX_LINKED)
        for linked in (found.__cause__, found.__context__):
            if linked is not None and all(linked is not each for each in printed):
                waiting.append(linked)
    return "".join(traceback.format_exception(type(error), error, _frames(error)))


def _plainly_formatted(error: BaseException) -> str:
    """Format an exception that Python cannot format, with what it has to do with."""
    codes = [(f.f_code, line) for f, line in traceback.walk_tb(_frames(error))]
    frames = _attempted(
        lambda: "".join(
            f'  File "{code.co_filename}", line {line}, in {code.co_name}\n'
            for code, line in codes
        )
    )
    lines = [f"{summary(each)}\n" for each in causes(error, "__context__")]
    linked = "".join(f"  linked to {line}" for line in lines[1:])
    return f"Traceback (most recent call last):\n{frames or ''}{lines[0]}{linked}"


def _is_about_memory(error: BaseException) -> bool:
    """Return whether an exception says that there was no memory."""
    kind = type(error)
    if issubclass(kind, MemoryError):
        return True
    if issubclass(kind, OSError):
        number = _attribute(error, "errno", OSError)
        if isinstance(number, int) and number == errno.ENOMEM:
            return True
    builtin = any(kind is each for each in vars(builtins).values())
    if builtin and not any(kind is each for each in _SPEAKERS):
        return False  # a value that is wrong, say, whose text may be about anything
    words = _message(error)[:_MEMORY_TEXT].lower()
    return any(phrase in words for phrase in _MEMORY_PHRASES)
