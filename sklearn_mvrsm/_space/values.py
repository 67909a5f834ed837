"""Values of categories: when two are the same, and numbers of numpy as Python's."""

import numbers
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from types import MethodType
from typing import Any, TypeGuard

import numpy as np

from sklearn_mvrsm._description import describe_value, is_estimator

__all__ = [
    "Originals",
    "copied",
    "evaluated",
    "float_of",
    "generator_of",
    "int_of",
    "is_integer",
    "is_real",
    "plain",
    "same_value",
]


_ATOMS = frozenset({bool, bytes, complex, float, int, str, type(None)})


def plain(value: object) -> Any:
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
    """Return whether two values are the same category; nothing is ever hashed.

    Identical objects are; otherwise both need the same type and equal contents:
    ``True``, ``1`` and ``1.0`` differ, NaN equals NaN, arrays and containers are
    compared item by item, estimators by their parameters, objects that define no
    equality by their state.
    """
    if a is b:
        return True
    try:
        return type(a) is type(b) and _same_content(a, b)
    except Exception:  # a third party's __eq__ may refuse; then they are not the same
        return False


def _same_content(a: Any, b: Any) -> bool:
    """Return whether two values of one type have equal contents."""
    if isinstance(a, np.ndarray):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return alike and same_value(a.tolist(), b.tolist())
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if is_estimator(a):
        return same_value(a.get_params(deep=False), b.get_params(deep=False))
    equality: object = type(a).__eq__
    if equality is object.__eq__ or isinstance(a, MethodType):
        return _same_state(a, b)
    equal = a == b
    if not isinstance(equal, bool | np.bool_):  # of a data frame: item by item
        return _same_state(a, b)
    return bool(equal) or bool(a != a and b != b)


def _same_state(a: object, b: object) -> bool:
    unread: set[str] = set()
    return describe_value(a, unread) == describe_value(b, unread) and not unread


def copied(params: Mapping[str, object], *, objects: bool = True) -> dict[str, object]:
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

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle no ids: in another process they are those of other objects."""
        return Originals, (list(self._seen.values()),)

    def restored(self, params: Mapping[str, object]) -> dict[str, object]:
        """Return the very objects, or copies as they were of those altered since."""
        return {name: self._restored(value) for name, value in params.items()}

    def _restored(self, value: object) -> object:
        if type(value) in _ATOMS:
            return value
        if id(value) not in self._seen:
            copy = _copied(value)
            # what equals no copy of itself cannot be watched
            self._seen[id(value)] = (value, copy if same_value(value, copy) else value)
        original = self._seen[id(value)][1]
        return value if same_value(value, original) else _copied(original)


def _copied(value: object) -> object:
    if type(value) in _ATOMS:
        return value
    try:
        return deepcopy(value)
    except Exception:  # a lock, a module, an open file
        return value


def is_real(value: object) -> TypeGuard[Any]:
    """Return whether a value is a real number; bools are not."""
    if type(value) is float:  # the abstract class takes ten times as long
        return True
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[Any]:
    """Return whether a value is a whole number by type; bools are not."""
    if type(value) is int:  # the abstract class takes ten times as long
        return True
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def int_of(name: str, value: Any, least: int) -> int:
    """Return an argument as Python's int; raise if it is no int, or too small."""
    if is_integer(value) and value >= least:
        return int(value)
    error = ValueError if is_integer(value) else TypeError
    raise error(f"{name!r} must be an int >= {least}, got {value!r}")


def float_of(name: str, value: Any) -> float:
    """Return a value as Python's float; raise what ``float`` does, with the name."""
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise type(error)(
            f"{name!r} must be a number, got {value!r}: {error}"
        ) from None


def evaluated(
    func: Callable[[dict[str, object]], Any], params: Mapping[str, object]
) -> float:
    """Return the value of a function, which is given parameters that it may alter."""
    return float_of("func(params)", func(copied(params)))


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a generator of numpy; raise if the argument cannot seed one."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"'random_state' must be an int >= 0, a generator of numpy or None, got "
            f"{random_state!r}"
        ) from None
