"""Descriptions of values: equal for equal values, and the same in every session.

Notation
--------
A *description* consists of JSON's types. It is equal for equal values in any session
and process: no address, no hash and no order of a set occurs in it. Values that are
long to describe are described by a digest.

What reaches a fit is a clone of what was given: scikit-learn's ``clone`` goes through
dicts, lists, tuples, sets and estimators, and builds estimators anew from their
parameters; anything else is copied with its state. A description follows it.
"""

import copyreg
import functools
import inspect
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, TypeGuard

import numpy as np

from sklearn_mvrsm._description.code import (
    OWN_PACKAGE,
    class_parts,
    code_parts,
    find,
    function_parts,
    is_installed,
    is_library,
    name_of,
)
from sklearn_mvrsm._description.content import content, digest

__all__ = ["describe_value", "is_estimator", "is_rebuilt"]


_SCALARS = frozenset({bool, complex, float, int, str, type(None)})
_CONTAINERS = (dict, list, tuple, set, frozenset)
_BUFFERS = (bytes, bytearray, memoryview)
# Other types whose repr says all, by the package that they come from.
_REPRS = {
    "datetime": {"date", "datetime", "time", "timedelta"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "uuid": {"UUID"},
    "pandas": {"NAType", "NaTType", "Period", "Timedelta", "Timestamp"},
}
_LONGEST = 300  # characters of a description; of a longer one the digest is kept
_LONGEST_OF_PARTS = 3000  # the same where each part has a name
_MANY = 20  # items of a list that are described as a whole, if all are scalars
_FLAT_MODULES = ("builtins", "numpy", "scipy.special")  # of what has no ``__module__``
_SESSION_RANDOM_STATE = getattr(np.random.mtrand, "_rand", None)  # of np.random.seed
# What clone keeps of an estimator besides its parameters: requests for metadata and the
# container of its output. The names are scikit-learn's own.
_REQUESTS = "_metadata_request"
_OUTPUT = "_sklearn_output_config"


def is_estimator(value: object) -> TypeGuard[Any]:
    """Return whether a value has parameters of its own, as estimators do."""
    try:
        return hasattr(value, "get_params") and not isinstance(value, type)
    except Exception:  # a third party's __getattr__ may raise anything
        return False


def is_rebuilt(value: object) -> TypeGuard[Any]:
    """Return whether ``clone`` builds a value anew, from its parameters alone."""
    own = getattr(type(value), "__sklearn_clone__", None)
    maker = "" if own is None else own.__module__
    is_usual = maker in ("", "sklearn.base") or maker.partition(".")[0] == OWN_PACKAGE
    return is_usual and is_estimator(value)


def describe_value(
    value: object,
    unread: set[str] | None = None,
    *,
    cloned: bool = True,
    labels: bool = True,
    deep: bool = True,
) -> Any:
    """Describe a value by JSON's types, the same in every session.

    Parameters
    ----------
    value : object
        Any. Nothing that it raises when it is looked at goes on.
    unread : set of str, optional
        Types of which the state cannot be read are added to it: a description does
        not tell one of their objects from another.
    cloned : bool, default=True
        Whether ``clone`` copies the value before it is used.
    labels : bool, default=True
        Whether the index of pandas is content.
    deep : bool, default=True
        Whether the parameters of an estimator are described with it.
    """
    describer = _Describer(labels)
    description: Any
    try:
        if not deep and is_rebuilt(value):
            description = describer.outline(value)
        else:
            description = describer.describe(value, cloned=cloned)
    except Exception:  # nested too deeply, or of a class that raises at any touch
        name = name_of(type(value))
        describer.unread.add(name)
        description = [name] if deep else {"type": name}
    if unread is not None:
        unread |= describer.unread
    return description


class _Describer:
    """Describes values, each once, and follows cycles.

    An object that is met again inside itself is described by how far up it is among
    the objects that are not finished. One is finished once nothing in it leads to an
    object above it; then its description depends on it alone.

    Attributes
    ----------
    unread : set of str
        Types of which the state could not be read.
    """

    def __init__(self, labels: bool) -> None:
        self.unread: set[str] = set()
        self._labels = labels
        self._finished: dict[tuple[int, bool], tuple[Any, object]] = {}
        self._open: dict[tuple[int, bool], tuple[int, object]] = {}
        self._highest = 0  # place of the object furthest up that was met again

    def describe(self, value: object, *, cloned: bool = False) -> object:
        """Describe a value; ``cloned`` is whether ``clone`` goes into it."""
        if isinstance(value, np.generic):
            number = value.item()
            if type(number) not in _SCALARS or isinstance(value, np.timedelta64):
                return [name_of(type(value)), value.dtype.str, repr(value)]
            value = number
        if _is_scalar(value):
            return _scalar(value)
        if type(value) is np.ndarray and not value.dtype.hasobject:
            return self._described(value, cloned)  # nothing to remember
        key = (id(value), cloned)
        if key in self._finished:
            return self._finished[key][0]
        if key in self._open:
            place = self._open[key][0]
            self._highest = min(self._highest, place)
            return ["above", len(self._open) - place]
        place = len(self._open)
        self._open[key] = (place, value)  # which keeps the address from being reused
        above, self._highest = self._highest, place
        description = _shortened(self._described(value, cloned))
        if self._highest == place:
            self._forget(place)
            self._finished[key] = (description, value)
        self._highest = min(above, self._highest)
        return description

    def outline(self, estimator: object) -> dict[str, object]:
        """Describe what ``clone`` keeps of an estimator besides its parameters."""
        own = getattr(estimator, "__dict__", {})
        outline: dict[str, Any] = {"type": self.describe(type(estimator))}
        if _REQUESTS in own:
            requests = vars(own[_REQUESTS]).items()
            outline["requests"] = self.describe(
                {k: v.requests for k, v in requests if hasattr(v, "requests")}
            )
        if _OUTPUT in own:
            outline["output"] = self.describe(own[_OUTPUT])
        return outline

    def _described(self, value: Any, cloned: bool) -> object:
        kind = type(value)
        if isinstance(value, type):
            return self._named(value, "class", class_parts)
        if isinstance(value, FunctionType):
            return self._named(value, "function", function_parts)
        if isinstance(value, ModuleType):
            return ["module", value.__name__]
        if isinstance(value, CodeType):
            return ["code", *map(self.describe, code_parts(value))]
        if isinstance(value, MethodType):
            return ["method", *map(self.describe, (value.__func__, value.__self__))]
        if cloned and is_estimator(value):
            return self._estimator(value)
        if kind in _CONTAINERS:
            return [name_of(kind), *self._items(value, cloned)]
        if kind in _BUFFERS:
            return [name_of(kind), _text(bytes(value))]
        parts = self._content(value)
        return self._object(value) if parts is None else parts

    def _forget(self, place: int) -> None:
        """Remove the objects that are not finished, from a place on."""
        while len(self._open) > place:
            self._open.popitem()

    def _aside(self, value: object, cloned: bool) -> object:
        """Describe a value whose place among others is not known yet."""
        place = len(self._open)
        description = self.describe(value, cloned=cloned)
        self._forget(place)
        return description

    def _items(self, items: Any, cloned: bool) -> list[object]:
        """Describe what a builtin container holds; sets in the order of the result."""
        if len(items) > _MANY and (text := _whole(items)) is not None:
            return [_text(text)]
        if isinstance(items, dict):
            return [self._pairs(items, cloned)]
        if isinstance(items, set | frozenset):
            return sorted((self._aside(item, cloned) for item in items), key=json.dumps)
        return [self.describe(item, cloned=cloned) for item in items]

    def _pairs(self, pairs: Mapping[Any, Any], cloned: bool = False) -> Any:
        """Describe the items of a dict, whose order does not count."""
        if all(type(key) is str for key in pairs):
            return {k: self.describe(pairs[k], cloned=cloned) for k in sorted(pairs)}
        keyed = [(self._aside(key, False), value) for key, value in pairs.items()]
        keyed.sort(key=lambda pair: json.dumps(pair[0]))
        return [[key, self.describe(value, cloned=cloned)] for key, value in keyed]

    def _named(
        self, value: Any, what: str, take_apart: Callable[[Any], dict[str, Any]]
    ) -> object:
        """Describe a function or class by its name, and by its code if need be."""
        if is_library(value):
            return [name_of(type(value)), name_of(value)]
        return {what: name_of(value), **self._pairs(take_apart(value))}

    def _estimator(self, estimator: Any) -> object:
        """Describe an estimator as ``clone`` leaves it."""
        try:
            if not is_rebuilt(estimator):
                return ["kept", self.describe(estimator.__sklearn_clone__())]
            parameters = dict(estimator.get_params(deep=False))
        except RecursionError:
            raise
        except Exception:
            return self._object(estimator)
        described = self._pairs(parameters, cloned=True)
        return {**self.outline(estimator), "parameters": described}

    def _content(self, value: object) -> list[object] | None:
        """Describe data part by part; None for other values."""
        place, highest = len(self._open), self._highest
        try:
            parts = content(value, labels=self._labels)
            return None if parts is None else list(map(self._part, parts))
        except RecursionError:
            raise
        except Exception:  # of a library that only looks like one of those known
            self._forget(place)
            self._highest = highest
            return None

    def _part(self, part: object) -> object:
        # Lists were made just now; remembering them would keep a copy of the data.
        return (
            _shortened(self._items(part, False))
            if type(part) is list
            else self.describe(part)
        )

    def _object(self, value: Any) -> object:
        """Describe any other object by its type and its state."""
        try:
            parts = _state_parts(value)
        except RecursionError:
            raise
        except Exception:  # what cannot be pickled, or what a third party raises
            self.unread.add(name_of(type(value)))
            parts = _readable(value)
        if isinstance(parts, str):
            return [name_of(type(value)), parts]
        return {"type": self.describe(type(value)), **self._pairs(parts)}


def _state_parts(value: object) -> dict[str, object] | str:
    """Return what makes an object besides its type, as pickle has it.

    A name is returned if that says all.
    """
    if value is _SESSION_RANDOM_STATE:
        return {}
    if isinstance(value, np.random.RandomState):
        return {"state": value.get_state(legacy=False)}
    if isinstance(value, np.random.Generator):
        return {"state": value.bit_generator}
    if isinstance(value, np.random.BitGenerator):
        return {"state": value.state}
    if isinstance(value, MappingProxyType):
        return {"state": dict(value)}
    if isinstance(value, set | frozenset):
        return {"items": frozenset(value), "state": getattr(value, "__dict__", None)}
    compiled = getattr(value, "py_func", None)  # numba pickles it with a random id
    if isinstance(compiled, FunctionType) and is_installed(type(value).__module__):
        options = getattr(value, "targetoptions", None)
        return {"function": compiled, "options": options}
    reduce = copyreg.dispatch_table.get(type(value))
    reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
    if isinstance(reduced, str):
        return _named_parts(value, reduced)
    function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    items, pairs = list(items or ()), list(pairs or ())
    parts = {
        "function": function,
        "arguments": tuple(arguments),
        "state": _without_idle(value, state),
        "items": items or None,
        "pairs": (pairs if isinstance(value, OrderedDict) else dict(pairs)) or None,
    }
    if function is vars(copyreg)["__newobj__"]:
        del parts["function"]
        parts["arguments"] = parts["arguments"][1:]
    return {name: part for name, part in parts.items() if part is not None}


def _named_parts(value: object, name: str) -> dict[str, object] | str:
    """Return what makes an object that pickle looks up in a module by its name."""
    for module in (getattr(value, "__module__", None), *_FLAT_MODULES):
        if module is not None and find(module, name) is value:
            full = f"{module}.{name}"
            return full if is_installed(module) else {"name": full, **_readable(value)}
    if not hasattr(value, "__wrapped__"):
        raise TypeError(f"no module has {name}")
    return {"name": name, **_readable(value)}


def _readable(value: object) -> dict[str, object]:
    """Return what can be read of an object that cannot be pickled by value."""
    try:
        return {"state": object.__getstate__(value)}
    except Exception:
        return {}


def _without_idle(value: object, state: object) -> object:
    """Return state without what says nothing of what an object does.

    That is the release of scikit-learn that made it, the generator of a distribution
    of scipy, which is that of the session, and what was computed from the rest.
    """
    kind = type(value)
    if isinstance(state, tuple) and len(state) == 2:  # attributes, and slots
        return tuple(_without_idle(value, part) for part in state)
    if type(state) is not dict:
        return state
    idle = {"_sklearn_version"}
    if any(each.__name__ == "rv_generic" for each in kind.__mro__):
        idle.add("_random_state")
    return {
        name: part
        for name, part in state.items()
        if name not in idle
        and not isinstance(
            inspect.getattr_static(kind, str(name), None), functools.cached_property
        )
    }


def _is_scalar(value: object) -> bool:
    """Return whether the repr of a value says all about it."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    package = str(kind.__module__).partition(".")[0]
    if kind.__name__ not in _REPRS.get(package, ()):
        return False
    return package == "pandas" or getattr(value, "tzinfo", None) is None


def _whole(items: Any) -> str | None:
    """Return the repr of a container of scalars, or of lists of them; None of others.

    It takes a tenth of the time that the items take one by one.
    """
    try:
        if isinstance(items, dict):
            has_text = set(map(type, items)) == {str} and _is_plain(items.values())
            return repr(sorted(items.items())) if has_text else None
        if not _is_plain(items, depth=3 if isinstance(items, list | tuple) else 0):
            return None
        is_set = isinstance(items, set | frozenset)
        return repr(sorted(map(repr, items)) if is_set else items)
    except ValueError:  # an int of very many digits
        return None


def _is_plain(items: Iterable[Any], depth: int = 0) -> bool:
    if set(map(type, items)) <= _SCALARS:
        return True
    return all(
        _is_scalar(item)
        or (depth > 0 and type(item) in (list, tuple) and _is_plain(item, depth - 1))
        for item in items
    )


def _scalar(value: Any) -> list[object]:
    try:
        text = repr(value)
    except ValueError:  # an int of very many digits
        text = hex(value)
    return [type(value).__name__, _text(text)]


def _text(text: str | bytes) -> object:
    """Return a text, or the digest of a long one."""
    if len(text) > _LONGEST:
        raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
        return {"digest": digest(raw)}
    return text if isinstance(text, str) else repr(text)


def _shortened(description: object) -> object:
    text = json.dumps(description, sort_keys=True)
    has_names = isinstance(description, dict)
    if len(text) > (_LONGEST_OF_PARTS if has_names else _LONGEST):
        return {"digest": digest(text.encode())}
    return description
