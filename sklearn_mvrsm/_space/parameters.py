"""What a user writes for one parameter, and how its values become numbers.

A parameter owns an interval or a list of *values*. The optimiser sees *numbers*: a
category code, an integer, or a real that may be a logarithm. ``to_number`` and
``to_value`` go back and forth, and what came out of ``to_value`` survives the journey
exactly.

Logarithms of reals live on the grid of multiples of ``2**-41`` (relative steps of
4.5e-13 in the value), and the value of a grid point is the shortest decimal number in
its cell. So a float with at most 12 significant digits, which is what people write,
comes back as it went in, although ``exp(log(0.1)) != 0.1`` in floating point.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._description import describe_value
from sklearn_mvrsm._domain import FloatArray
from sklearn_mvrsm._space.base import Countable, Kind, Parameter
from sklearn_mvrsm._space.values import is_integer, is_real, same_value

__all__ = [
    "Categorical",
    "Integer",
    "Ordinal",
    "Real",
    "snap_log_integers",
    "snap_logarithms",
]


_PER_LOG = 2.0**41  # grid points in one unit of a real's logarithm
_LARGEST = 2**51  # well beyond, a float64 has no halves between integers
_LARGEST_LOG = 2**44  # well beyond, neighbouring integers share one logarithm


def snap_logarithms(x: FloatArray) -> FloatArray:
    """Round logarithms of reals to their grid."""
    return np.asarray(np.rint(x * _PER_LOG) / _PER_LOG)


def snap_log_integers(
    x: FloatArray, low: npt.ArrayLike, high: npt.ArrayLike
) -> FloatArray:
    """Return the logarithm of the integer in whose interval each ``x`` lies."""
    value = np.floor(np.exp(x) + 0.5)
    return np.asarray(np.log(np.minimum(np.maximum(value, low), high)))


@dataclass(frozen=True, eq=False, repr=False)
class Real(Parameter):
    """A float between two bounds, both included.

    Parameters
    ----------
    low, high : float
        Bounds, finite, ``low < high``.
    log : bool, default=False
        Search the logarithm, so that each factor of ten is as likely as the next;
        needs ``low > 0``.
    default : float, optional
        The value a search begins with.
    conditions : tuple of (str, object)
        Written by :meth:`when`.

    Examples
    --------
    >>> Real(1e-3, 0.5, log=True)
    Real(0.001, 0.5, log=True)
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the bounds and keep them as builtin floats."""
        for which in ("low", "high"):
            self._store(**{which: _real_bound(which, getattr(self, which))})
        _check_scale("Real", self.low, self.high, self.log)
        got = f"got low={self.low!r}, high={self.high!r}"
        if not math.isfinite(self.high - self.low):
            raise ValueError(f"'high' - 'low' must be finite for Real, {got}")
        if self.log and self.low < sys.float_info.min:
            raise ValueError(
                f"'low' must be >= {sys.float_info.min} for Real with log=True, {got}"
            )
        if self.bounds[0] == self.bounds[1]:
            raise ValueError(
                "'low' and 'high' must differ by more than one part in 10**12 for "
                f"Real with log=True, {got}"
            )
        self._check_default()

    @property
    def kind(self) -> Kind:
        """Always ``"real"``."""
        return "real"

    @property
    def size(self) -> float:
        """Always ``math.inf``."""
        return math.inf

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the number: of the value, or of its logarithm."""
        if self.log:
            return _log_on_grid(self.low), _log_on_grid(self.high)
        return self.low, self.high

    def to_number(self, value: object) -> float:
        """Return the value or its logarithm."""
        number = self.to_code(value)
        return _log_on_grid(number) if self.log else number

    def to_value(self, number: float) -> float:
        """Return a builtin float inside the bounds."""
        low, high = self.bounds
        if number <= low:
            return self.low
        if number >= high:
            return self.high
        return self._shortest(number) if self.log else float(number)

    def _shortest(self, number: float) -> float:
        cell = round(number * _PER_LOG) / _PER_LOG
        value = math.exp(cell)
        for digits in (12, 13):
            short = float(f"{value:.{digits}g}")
            if _log_on_grid(short) == cell:
                return short
        return float(f"{value:.14g}")  # precise enough to lie in the cell always

    def snap(self, x: FloatArray) -> FloatArray:
        """Clip, and round logarithms to their grid."""
        inside = np.clip(x, *self.bounds)
        return snap_logarithms(inside) if self.log else inside

    def to_code(self, value: object) -> float:
        """Return the value as a builtin float."""
        if not is_real(value) or not self.low <= value <= self.high:
            raise ValueError(
                f"must be a number from {self.low!r} to {self.high!r}, got {value!r}"
            )
        return float(value)

    def from_code(self, code: int | float) -> float:
        """Return the code as a builtin float."""
        return float(code)

    def describe(self, unread: set[str] | None = None) -> dict[str, object]:
        """Describe bounds and scale."""
        return {"kind": "Real", "low": self.low, "high": self.high, "log": self.log}

    def _arguments(self) -> str:
        return f"{self.low!r}, {self.high!r}" + (", log=True" if self.log else "")


@dataclass(frozen=True, eq=False, repr=False)
class Integer(Countable):
    """An int between two bounds, both included and equally reachable.

    Parameters
    ----------
    low, high : int
        Bounds, ``low < high``.
    log : bool, default=False
        Search the logarithm: each value gets the chance of its interval
        ``[ln(value - 1/2), ln(value + 1/2)]``; needs ``low > 0``.
    default : int, optional
        The value a search begins with.
    conditions : tuple of (str, object)
        Written by :meth:`when`.

    Examples
    --------
    >>> Integer(1, 1000, log=True).when(booster="gbtree")
    Integer(1, 1000, log=True).when(booster='gbtree')
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the bounds and keep them as builtin ints."""
        for which in ("low", "high"):
            self._store(**{which: _integer_bound(which, getattr(self, which))})
        _check_scale("Integer", self.low, self.high, self.log)
        largest = _LARGEST_LOG if self.log else _LARGEST
        if max(-self.low, self.high) > largest:
            raise ValueError(
                f"bounds must be at most 2**{largest.bit_length() - 1} in size for "
                f"Integer with log={self.log}, got low={self.low}, high={self.high}"
            )
        self._check_default()

    @cached_property
    def kind(self) -> Kind:
        """``"category"`` for two values; ``"real"`` for the logarithm of more."""
        if self.size == 2:
            return "category"
        return "real" if self.log else "integer"

    @property
    def size(self) -> int:
        """How many integers there are."""
        return self.high - self.low + 1

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the number: a code, the value, or its logarithm."""
        if self.kind == "real":
            return self.edge(0), self.edge(self.size)
        return super().bounds

    def number_at(self, index: int) -> float:
        """Return the code, the value, or its logarithm, of ``low + index``."""
        if self.kind == "category":
            return float(index)
        number = float(self.low + index)
        # the same function as for whole arrays: two libraries may differ in a bit
        return float(np.log(np.array([number]))[0]) if self.kind == "real" else number

    def edge(self, index: int) -> float:
        """Return the number half-way down to the value before."""
        if self.kind == "real":
            return math.log(self.low + index - 0.5)
        return super().edge(index)

    def to_number(self, value: object) -> float:
        """Return the code, the value, or its logarithm."""
        return self.number_at(self.to_code(value) - self.low)

    def to_value(self, number: float) -> int:
        """Return a builtin int inside the bounds."""
        if self.kind == "category":
            number += self.low
        elif self.kind == "real":
            number = math.exp(min(number, self.bounds[1]))
        return min(max(math.floor(number + 0.5), self.low), self.high)

    def snap(self, x: FloatArray) -> FloatArray:
        """Return the number of the integer that is nearest."""
        if self.kind == "real":
            return snap_log_integers(x, self.low, self.high)
        return super().snap(x)

    def indices(self, value: object) -> list[int]:
        """Return the distance from ``low``."""
        if is_integer(value) and self.low <= value <= self.high:
            return [int(value) - self.low]
        return []

    def to_code(self, value: object) -> int:
        """Return the value as a builtin int."""
        if not is_integer(value) or not self.low <= value <= self.high:
            raise ValueError(
                f"must be an integer from {self.low} to {self.high}, got {value!r}"
            )
        return int(value)

    def from_code(self, code: int | float) -> int:
        """Return the code as a builtin int."""
        return int(code)

    def describe(self, unread: set[str] | None = None) -> dict[str, object]:
        """Describe bounds and scale."""
        return {"kind": "Integer", "low": self.low, "high": self.high, "log": self.log}

    def _arguments(self) -> str:
        return f"{self.low}, {self.high}" + (", log=True" if self.log else "")


@dataclass(frozen=True, eq=False, repr=False)
class _Choice(Countable):
    values: Sequence[Any] | npt.NDArray[Any]  # kept as a tuple

    def __post_init__(self) -> None:
        self._store(values=_items(type(self).__name__, self.values))
        self._check_default()

    @property
    def size(self) -> int:
        """How many values are offered, equal ones counted one by one."""
        return len(self.values)

    def to_number(self, value: object) -> float:
        """Return the first place of a value."""
        return float(self.to_code(value))

    def to_value(self, number: float) -> Any:
        """Return the very object that was declared."""
        return self.values[min(max(math.floor(number + 0.5), 0), self.size - 1)]

    def indices(self, value: object) -> list[int]:
        """List the places of a value.

        Identity decides where it can, then type and equality, then, for a numpy
        scalar, its builtin equivalent.
        """
        places = [i for i, own in enumerate(self.values) if own is value]
        if not places:
            places = [i for i, own in enumerate(self.values) if same_value(own, value)]
        if not places and isinstance(value, np.generic):
            builtin = value.item()
            return [] if isinstance(builtin, np.generic) else self.indices(builtin)
        return places

    def to_code(self, value: object) -> int:
        """Return the first place of a value."""
        places = self.indices(value)
        if not places:
            raise ValueError(f"must be one of {list(self.values)!r}, got {value!r}")
        return places[0]

    def from_code(self, code: int | float) -> Any:
        """Return the object at a place."""
        return self.values[int(code)]

    def describe(self, unread: set[str] | None = None) -> dict[str, object]:
        """Describe the values as far as plain data can."""
        values = [describe_value(value, unread) for value in self.values]
        return {"kind": type(self).__name__, "values": values}

    def _arguments(self) -> str:
        return repr(list(self.values))


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(_Choice):
    """One of several unordered values.

    Parameters
    ----------
    values : list, tuple, range or 1-d array
        Any objects at all; each place is a candidate of its own, so equal values are
        too. The estimator receives the very object; items of an array become
        builtin numbers.
    default : object, optional
        The value a search begins with, one of those.
    conditions : tuple of (str, object)
        Written by :meth:`when`.

    Examples
    --------
    >>> Categorical(["linear", "rbf", None])
    Categorical(['linear', 'rbf', None])
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    @property
    def kind(self) -> Kind:
        """Always ``"category"``."""
        return "category"


@dataclass(frozen=True, eq=False, repr=False)
class Ordinal(_Choice):
    """One of several values in a meaningful order, modelled as an integer.

    Parameters
    ----------
    values : list, tuple, range or 1-d array
        Any objects, in their order; neighbours are taken to behave alike.
    default : object, optional
        The value a search begins with, one of those.
    conditions : tuple of (str, object)
        Written by :meth:`when`.

    Examples
    --------
    >>> Ordinal([16, 64, 256, 1024])
    Ordinal([16, 64, 256, 1024])
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    @property
    def kind(self) -> Kind:
        """``"integer"``, or ``"category"`` for fewer than three values."""
        return "integer" if self.size > 2 else "category"


def _items(kind: str, values: object) -> tuple[Any, ...]:
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(
                f"the values of {kind} must be a 1-d array, got shape {values.shape}"
            )
        values = values.tolist()
    if not isinstance(values, list | tuple | range):
        raise TypeError(
            f"the values of {kind} must be a list, tuple, range or 1-d array, "
            f"got {values!r}"
        )
    if len(values) == 0:
        raise ValueError(f"the values of {kind} must not be empty, got {values!r}")
    return tuple(values)


def _log_on_grid(value: float) -> float:
    return round(math.log(value) * _PER_LOG) / _PER_LOG


def _real_bound(which: str, value: object) -> float:
    if not is_real(value):
        raise TypeError(f"{which!r} must be a number for Real, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{which!r} must be finite for Real, got {value!r}")
    return number


def _integer_bound(which: str, value: object) -> int:
    if is_integer(value):
        return int(value)
    if is_real(value) and not math.isfinite(value):
        raise ValueError(f"{which!r} must be finite for Integer, got {value!r}")
    raise TypeError(f"{which!r} must be an int for Integer, got {value!r}")


def _check_scale(kind: str, low: float, high: float, log: object) -> None:
    if not isinstance(log, bool):
        raise TypeError(f"'log' must be a bool for {kind}, got {log!r}")
    if not low < high:
        hint = "; write a list of one for a single value" if low == high else ""
        raise ValueError(
            f"'low' must be < 'high' for {kind}, got low={low!r}, high={high!r}{hint}"
        )
    if log and low <= 0:
        raise ValueError(f"'low' must be > 0 for {kind} with log=True, got low={low!r}")
