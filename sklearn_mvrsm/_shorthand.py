"""Lists and scipy distributions, read as parameters the way GridSearchCV users mean.

A list is always categories, never an interval. Distributions are recognised by the
name they carry, so scipy is not imported.
"""

import math
from typing import Any

from sklearn_mvrsm._base_parameter import Parameter
from sklearn_mvrsm._parameters import Categorical, Integer, Real
from sklearn_mvrsm._values import is_real

__all__ = ["as_parameter"]

_SHAPES = {
    "uniform": (),
    "loguniform": ("a", "b"),
    "reciprocal": ("a", "b"),  # the old name of loguniform
    "randint": ("low", "high"),
}


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
    """
    if isinstance(value, Parameter):
        return value
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
