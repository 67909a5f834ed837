"""Exceptions that are hard to tell: each function raises one."""

import asyncio
import itertools
import os


class PanicError(BaseException):
    """As of a library in Rust: no Exception."""


class UnpicklablePanicError(BaseException):
    """Its pickle cannot be loaded."""

    def __init__(self, first, second):
        super().__init__("one argument kept of two")


class UnloadableError(Exception):
    """Ends whoever loads its pickle."""

    def __reduce__(self):
        return exit, (3,)


class LoadableAtHomeError(Exception):
    """Its pickle can be loaded where it was made alone."""

    def __reduce__(self):
        return load_at_home, (os.getpid(), *self.args)


def load_at_home(pid, *args):
    if pid != os.getpid():
        raise ValueError("not at home")
    return LoadableAtHomeError(*args)


class UnreadableError(Exception):
    """Raises whatever attribute it is asked for."""

    def __getattribute__(self, name):
        raise LookupError("no attributes")


class SilentError(Exception):
    """Does as it is told instead of saying its message."""

    def __init__(self, say):
        super().__init__()
        self.say = say

    def __str__(self):
        return self.say()


class BrokenCauseError(Exception):
    """Raises instead of saying what it was raised from."""

    @property
    def __cause__(self):
        raise AttributeError("no cause")

    __context__ = __suppress_context__ = __notes__ = __cause__


class EndlessCauseError(Exception):
    """Is always raised from another one."""

    @property
    def __cause__(self):
        return EndlessCauseError()


class Words(str):
    """A text that refuses what texts do."""

    __slots__ = ()

    def refuse(self, *args):
        raise TypeError("no")

    __reduce__ = encode = lower = __format__ = __len__ = refuse


class NamelessType(type):
    def __getattribute__(cls, name):
        if name in ("__name__", "__qualname__", "__module__"):
            raise LookupError("no name")
        return super().__getattribute__(name)


class NamelessError(Exception, metaclass=NamelessType):
    pass


class MisplacedError(Exception):
    __module__ = 7


class EndlessGroupError(ExceptionGroup):
    @property
    def exceptions(self):
        return itertools.repeat(self)


class OwnGroupError(ExceptionGroup):
    @property
    def exceptions(self):
        return (self,)


def raised_from_itself():
    error = ValueError("bad")
    raise error from error


def raised_from_each_other():
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def contexts_of_each_other():
    first, second, third = ValueError("first"), KeyError("second"), TypeError("third")
    first.__context__, second.__context__, third.__cause__ = second, third, first
    raise first


def group_that_is_its_own_cause():
    group = ExceptionGroup("group", [ValueError("bad"), KeyError("bad")])
    group.exceptions[0].__cause__ = group
    raise group


def group_of_itself():
    raise OwnGroupError("group", [ValueError("bad")])


def endless_group():
    raise EndlessGroupError("group", [ValueError("bad")])


def group_of_very_many():
    error = ValueError("bad")
    for _ in range(60):  # 2 ** 60 of them, if each is printed
        error = ExceptionGroup("group", [error, error])
    raise error


def long_chain():
    error = ValueError("bad")
    for k in range(20_000):
        cause, error = error, ValueError(k)
        error.__cause__ = cause
    raise error


def endless_causes():
    raise EndlessCauseError("bad")


def broken_attributes():
    raise BrokenCauseError("bad")


def panic():
    raise PanicError("index out of bounds")


def unpicklable_panic():
    raise UnpicklablePanicError(1, 2)


def loadable_at_home():
    raise LoadableAtHomeError("bad")


def unreadable():
    raise UnreadableError("bad")


def unloadable():
    raise UnloadableError("bad")


def generator_exit():
    raise GeneratorExit("bad")


def cancelled():
    raise asyncio.CancelledError("bad")


def stop_iteration():
    raise StopIteration("bad")


def syntax_error_of_bytes():
    raise SyntaxError("bad", ("file", 1, 1, b"\xff"))


def message_that_raises():
    raise SilentError(panic)


def message_that_exits():
    raise SilentError(lambda: exit(3))


def message_that_is_no_text():
    raise SilentError(lambda: 7)


def message_without_end():
    error = SilentError(lambda: str(error))
    raise error


def message_of_another_kind():
    raise SilentError(lambda: Words("bad"))


def message_that_cannot_be_written():
    raise ValueError("bad \ud800")


def nameless():
    raise NamelessError("bad")


def misplaced():
    raise MisplacedError("bad")


def notes_that_are_none():
    error = ValueError("bad")
    error.__notes__ = 7
    raise error


def source_that_cannot_be_read():
    class Loader:
        def get_source(self, name):
            raise SystemError("no source")

    names = {"__name__": "made_up", "__loader__": Loader()}
    exec(
        compile("def fail():\n    raise ValueError('bad')\n", "a\ud800.py", "exec"),
        names,
    )
    names["fail"]()


def globals_without_a_name():
    exec("raise ValueError('bad')", {"__name__": 7})


FAULTS = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and not isinstance(value, type) and name != "load_at_home"
}
