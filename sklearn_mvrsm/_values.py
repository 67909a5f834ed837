"""Values of categories: when two are the same, and what can be said of one."""

import numbers
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, TypeGuard

import numpy as np

__all__ = [
    "Originals",
    "copied",
    "describe_value",
    "is_estimator",
    "is_integer",
    "is_real",
    "plain",
    "same_value",
]


_ATOMS = frozenset({bool, bytes, complex, float, int, str, type(None)})


def plain(value: Any) -> Any:
    """Return a number of any library as Python's; anything else as it is.

    Numbers of numpy have the precision of their type in all that is computed with
    them: ``np.uint8(200) + 100`` is 44.
    """
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def same_value(a: object, b: object) -> bool:
    """Tell whether two values are the same category; nothing is ever hashed.

    Identical objects are; otherwise both need the same type and equal contents:
    ``True``, ``1`` and ``1.0`` differ, NaN equals NaN, arrays and containers are
    compared item by item, estimators by their parameters.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return alike and same_value(a.tolist(), b.tolist())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if is_estimator(a) and is_estimator(b):
        return same_value(a.get_params(deep=False), b.get_params(deep=False))
    try:
        return bool(a == b) or bool(a != a and b != b)
    except Exception:  # a third party's __eq__ may refuse; then they are not the same
        return False


def is_estimator(value: object) -> TypeGuard[Any]:
    """Tell whether a value has parameters of its own, as estimators do."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def describe_value(value: object) -> list[object]:
    """Describe a value by plain data that are the same in every session.

    Numbers, strings, containers and estimators are described in full, functions and
    classes by name, anything else by its type.
    """
    if value is None or type(value) in (bool, int, float, str):
        return [type(value).__name__, repr(value)]
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, list | tuple):
        return [kind, *map(describe_value, value)]
    if isinstance(value, dict):
        return [kind, *(describe_value(pair) for pair in value.items())]
    if isinstance(value, np.generic | np.ndarray):
        return [kind, str(value.dtype), describe_value(value.tolist())]
    if is_estimator(value):
        parameters = sorted(value.get_params(deep=False).items())
        return [kind, *map(describe_value, parameters)]
    name = getattr(value, "__qualname__", None)
    module = getattr(value, "__module__", None)
    return [kind] if name is None else [kind, f"{module}.{name}"]


def copied(params: Mapping[str, Any], *, objects: bool = True) -> dict[str, Any]:
    """Return parameters whose values can be altered without altering these.

    Parameters
    ----------
    params : mapping
    objects : bool, default=True
        Whether to copy objects too that are equal to nothing but themselves, such as
        estimators. What cannot be copied never is.
    """
    return {
        name: _copied(value) if objects or _is_compared(value) else value
        for name, value in params.items()
    }


def _is_compared(value: object) -> bool:
    equality: object = type(value).__eq__
    return equality is not object.__eq__


class Originals:
    """What objects were when they were first seen, for when somebody alters them.

    Parameters
    ----------
    pairs : iterable of (object, object)
        Objects and what they were.
    """

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        self._seen = {id(pair[0]): pair for pair in pairs}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle no ids: in another process they are those of other objects."""
        return Originals, (list(self._seen.values()),)

    def restored(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the very objects, or copies as they were of those altered since."""
        return {name: self._restored(value) for name, value in params.items()}

    def _restored(self, value: Any) -> Any:
        if type(value) in _ATOMS:
            return value
        if id(value) not in self._seen:
            copy = _copied(value)
            # what equals no copy of itself cannot be watched
            self._seen[id(value)] = (value, copy if same_value(value, copy) else value)
        original = self._seen[id(value)][1]
        return value if same_value(value, original) else _copied(original)


def _copied(value: Any) -> Any:
    if type(value) in _ATOMS:
        return value
    try:
        return deepcopy(value)
    except Exception:  # a lock, a module, an open file
        return value


def is_real(value: object) -> TypeGuard[Any]:
    """Tell whether a value is a real number; bools are not."""
    if type(value) is float:  # the abstract class takes ten times as long
        return True
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[Any]:
    """Tell whether a value is a whole number by type; bools are not."""
    if type(value) is int:  # the abstract class takes ten times as long
        return True
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
