"""Lists and scipy distributions, read as parameters the way GridSearchCV users mean.

A list or tuple is always categories, never an interval, and a tuple that looks like an
interval of another tool makes a warning. Distributions are recognised by the name they
carry, so scipy is not imported.
"""

import inspect
import math
import warnings
from typing import Any

from sklearn_mvrsm._base_parameter import Parameter
from sklearn_mvrsm._parameters import Categorical, Integer, Real
from sklearn_mvrsm._values import is_integer, is_real, plain

__all__ = ["as_parameter"]

_SHAPES = {
    "uniform": (),
    "loguniform": ("a", "b"),
    "reciprocal": ("a", "b"),  # the old name of loguniform
    "randint": ("low", "high"),
}
_FAR = 1000.0  # a range is mostly meant as logarithmic if its ends are this ratio apart
_HUGE = 1e300


def as_parameter(name: str, value: Any) -> Parameter:
    """Turn what a user wrote for the parameter ``name`` into a parameter.

    Parameters
    ----------
    name : str
        For the message of an error.
    value : parameter, list, tuple, range, 1-d array or frozen scipy distribution
        Collections become a :class:`Categorical`; ``uniform``, ``loguniform`` and
        ``randint`` become :class:`Real` and :class:`Integer`.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If it is empty, or a distribution that is not understood.

    Warns
    -----
    UserWarning
        If it is a tuple that looks like an interval.
    """
    if isinstance(value, Parameter):
        return value
    if isinstance(value, tuple) and _looks_like_interval(value):
        _warn_of_interval(name, value)
    try:
        if hasattr(value, "dist") and hasattr(value, "kwds"):
            return _from_distribution(value)
        return Categorical(value)
    except TypeError:
        raise TypeError(
            f"Parameter {name!r} must be a Real, Integer, Ordinal, Categorical, list, "
            "tuple, range, 1-d array or frozen scipy.stats uniform, loguniform or "
            f"randint, got {value!r}; write a list of one for a single value"
        ) from None
    except ValueError as error:
        raise ValueError(f"Parameter {name!r}: {error}") from None


def _looks_like_interval(values: tuple[Any, ...]) -> bool:
    """Whether another tool calls this an interval: ends, perhaps a scale or a type."""
    if len(values) < 2 or not all(map(is_real, values[:2])):
        return False
    low, high = map(plain, values[:2])
    alone = len(values) == 2
    has_kind = len(values) == 3 and isinstance(values[2], str | type)
    nothing_between = all(map(is_integer, values)) and high - low == 1
    ascending = -_HUGE < low < high < _HUGE
    return ascending and not nothing_between and (alone or has_kind)


def _warn_of_interval(name: str, values: tuple[Any, ...]) -> None:
    low, high = map(plain, values[:2])
    kind = "Integer" if is_integer(low) and is_integer(high) else "Real"
    log = low > 0 and (high / low >= _FAR or "log" in str(values[2:]))
    interval = f"{kind}({_short(low)}, {_short(high)}{', log=True' if log else ''})"
    warnings.warn(
        f"Parameter {name!r} is a choice among the {len(values)} values of the tuple "
        f"{values!r}, and nothing between them. Write {interval} if an interval is "
        f"meant, {list(values)!r} if these values are, [{values!r}] if the tuple is.",
        UserWarning,
        stacklevel=_stacklevel(),
    )


def _short(end: float) -> str:
    short = f"{end:g}"
    return short if isinstance(end, float) and float(short) == end else repr(end)


def _stacklevel() -> int:
    """Return how far the caller is from whoever uses this package or scikit-learn."""
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in (__name__.partition(".")[0], "sklearn"):
            break
        frame, level = frame.f_back, level + 1
    return level


def _from_distribution(frozen: Any) -> Parameter:
    name = frozen.dist.name
    arguments = f"args={frozen.args!r}, kwds={frozen.kwds!r}"
    if name not in _SHAPES:
        raise ValueError(
            "the distributions understood are uniform, loguniform and randint, "
            f"got {name!r} with {arguments}"
        )
    order = (*_SHAPES[name], "loc", "scale")
    given = {"loc": 0, "scale": 1, **dict(zip(order, frozen.args, strict=False))}
    given |= frozen.kwds
    if not all(map(is_real, given.values())):
        raise ValueError(f"{name!r} must have plain numbers, got {arguments}")
    loc, scale = given["loc"], given["scale"]
    if name == "uniform":
        return Real(loc, loc + scale)
    if name == "randint":
        return Integer(_whole(given["low"] + loc), _whole(given["high"] + loc) - 1)
    if loc != 0:
        raise ValueError(f"{name!r} must have loc=0, got {arguments}")
    return Real(given["a"] * scale, given["b"] * scale, log=True)


def _whole(bound: Any) -> int:
    if bound != math.floor(bound):
        raise ValueError(f"'randint' must have whole bounds, got {bound!r}")
    return int(bound)
