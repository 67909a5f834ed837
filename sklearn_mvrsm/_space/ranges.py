"""Ranges: numbers between two bounds, with or without steps.

The optimiser sees a *number* for each value: an integer, the index of a step, or a real
that may be a logarithm. ``to_number`` and ``to_value`` go back and forth, and what came
out of ``to_value`` survives the journey exactly.

Logarithms of reals live on the grid of multiples of ``2**-41`` (relative steps of
4.5e-13 in the value), and the value of a grid point is the shortest decimal number in
its cell. So a float with at most 12 significant digits, which is what people write,
comes back as it went in, although ``exp(log(0.1)) != 0.1`` in floating point.
"""

import math
import sys
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._domain import FloatArray
from sklearn_mvrsm._space.base import Kind, Parameter
from sklearn_mvrsm._space.values import is_integer, is_real
from sklearn_mvrsm._warnings import warn

__all__ = ["Integer", "Real", "snap_log_integers", "snap_logarithms"]


_PER_LOG = 2.0**41  # grid points in one unit of a real's logarithm
_LARGEST = 2**51  # well beyond, a float64 has no halves between integers
_LARGEST_LOG = 2**44  # well beyond, neighbouring integers share one logarithm
_DUST = 1e-6  # share of a step by which a float may miss it


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
class _Range(Parameter):
    """Numbers between two bounds. The index of a value is its steps from ``low``."""

    low: Any
    high: Any
    log: bool = field(default=False, kw_only=True)
    step: Any = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def has_steps(self) -> bool:
        """Whether there is a step that changes which values are offered."""

    @cached_property
    def _by_index(self) -> bool:
        """Whether the number of a value is its index."""
        return self.has_steps or self.kind == "category"

    @abstractmethod
    def _index(self, value: object) -> int | None:
        """Return the index of a value, None if it is not offered."""

    @cached_property
    def kind(self) -> Kind:
        """``"category"`` for two values; ``"real"`` without steps or with ``log``."""
        if self.size == 2:
            return "category"
        return "real" if self.log or self.size == math.inf else "integer"

    @abstractmethod
    def value_at(self, index: int) -> Any:
        """Return the value with this index."""

    def nearest(self, value: float) -> Any:
        """Return the offered value that is nearest to a number."""
        inside = min(max(value, self.low), self.high)
        if self._by_index:
            return self.to_value((inside - self.low) / self.step)
        if self.size == math.inf:
            return float(inside)
        return self.to_value(math.log(inside) if self.log else inside)

    def indices(self, value: object) -> list[int]:
        """Return the distance from ``low`` in steps."""
        index = self._index(value)
        return [] if index is None else [index]

    def to_number(self, value: object) -> float:
        """Return the index, the value, or its logarithm."""
        return self.number_at(self._offered(value))

    def to_code(self, value: object) -> Any:
        """Return the value as a builtin number."""
        return self.value_at(self._offered(value))

    def _offered(self, value: object) -> int:
        index = self._index(value)
        if index is None:
            raise self._refusal(value)
        return index

    def _refusal(self, value: object) -> ValueError:
        what = "an integer" if isinstance(self.low, int) else "a number"
        steps = f" in steps of {self.step!r}" if self.has_steps else ""
        ends = f"from {self.low!r} to {self.high!r}"
        return ValueError(f"must be {what} {ends}{steps}, got {value!r}")

    def from_code(self, code: int | float) -> Any:
        """Return the code as a builtin number."""
        return type(self.low)(code)

    def describe(self, unread: set[str] | None = None) -> dict[str, object]:
        """Describe bounds, scale and steps."""
        ends = {"kind": type(self).__name__, "low": self.low, "high": self.high}
        return {**ends, "log": self.log, **self._steps}

    @property
    def _steps(self) -> dict[str, object]:
        return {"step": self.step} if self.has_steps else {}

    def _arguments(self) -> str:
        options = {**({"log": True} if self.log else {}), **self._steps}
        shown = [f"{name}={value!r}" for name, value in options.items()]
        return ", ".join([repr(self.low), repr(self.high), *shown])

    def _check_range(self) -> None:
        """Check bounds and scale; with steps, end at the last of them."""
        kind = type(self).__name__
        _check_scale(kind, self.low, self.high, self.log)
        if not self.has_steps:
            return
        got = f"got step={self.step!r}, low={self.low!r}, high={self.high!r}"
        if self.log:
            raise ValueError(f"'step' must not be set for {kind} with log=True, {got}")
        n_steps = (_exact(self.high) - _exact(self.low)) / _exact(self.step or 1)
        dust = 0 if isinstance(self.low, int) else _DUST  # 1/3 is no decimal number
        if self.step <= 0 or n_steps < 1 - dust:
            raise ValueError(
                f"'step' must be > 0 and <= 'high' - 'low' for {kind}, {got}"
            )
        if abs(n_steps - round(n_steps)) > dust:
            last = type(self.low)(
                _exact(self.low) + math.floor(n_steps) * _exact(self.step)
            )
            warn(
                f"'high' of {kind} is lowered to {last!r}: 'high' - 'low' is no "
                f"multiple of 'step', {got}"
            )
            self._store(high=last)


@dataclass(frozen=True, eq=False, repr=False)
class Real(_Range):
    """A float between two bounds, both included.

    Parameters
    ----------
    low, high : float
        Bounds, finite, ``low < high``.
    log : bool, default=False
        Search the logarithm, so that each factor of ten is as likely as the next;
        needs ``low > 0``.
    step : float or None, default=None
        Offer ``low``, ``low + step``, ``low + 2 * step`` ... only, each the float of
        its decimal number (0.3, not ``3 * 0.1``). A ``high`` that is none of them is
        lowered, with a warning. Not with ``log``.
    default : float, optional
        The value a search begins with.
    conditions : tuple of (str, object)
        Written by :meth:`when`.

    Examples
    --------
    >>> Real(1e-3, 0.5, log=True)
    Real(0.001, 0.5, log=True)
    >>> Real(0, 1, step=0.1)
    Real(0.0, 1.0, step=0.1)
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    low: float
    high: float
    step: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the bounds and keep them as builtin floats."""
        for which in ("low", "high", "step")[: 2 + self.has_steps]:
            self._store(**{which: _real_bound(which, getattr(self, which))})
        self._check_range()
        got = f"got low={self.low!r}, high={self.high!r}"
        if not math.isfinite(self.high - self.low):
            raise ValueError(f"'high' - 'low' must be finite for Real, {got}")
        if self.step is not None and max(-self.low, self.high) > self.step * 2**40:
            raise ValueError(
                "'step' must be at least 2**-40 of the larger bound for Real, "
                f"got step={self.step!r}, low={self.low!r}, high={self.high!r}"
            )
        if self.log and self.low < sys.float_info.min:
            raise ValueError(
                f"'low' must be >= {sys.float_info.min} for Real with log=True, {got}"
            )
        if self.bounds[0] == self.bounds[1]:
            raise ValueError(
                "'low' and 'high' must differ by more than one part in 10**12 for "
                f"Real with log=True, {got}"
            )
        self._check_shared()

    @property
    def has_steps(self) -> bool:
        return self.step is not None

    @property
    def size(self) -> int | float:
        """How many values there are, ``math.inf`` without steps."""
        if self.step is None:
            return math.inf
        return round((self.high - self.low) / self.step) + 1

    def value_at(self, index: int) -> float:
        """Return the float of the decimal number so many steps from ``low``."""
        if index == self.size - 1:
            return self.high
        return float(_exact(self.low) + index * _exact(self.step or 0.0))

    def _index(self, value: object) -> int | None:
        if self.step is None or not self._is_near(value):
            return None
        index = round((float(value) - self.low) / self.step)
        index = min(max(index, 0), int(self.size) - 1)
        dust = abs(float(value) - self.value_at(index))
        return index if dust <= _DUST * self.step else None

    def _is_near(self, value: object) -> TypeGuard[Any]:
        slack = self.step or 0.0
        return is_real(value) and self.low - slack <= value <= self.high + slack

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the number: of the index, the value, or its logarithm."""
        if self.has_steps:
            return super().bounds
        if self.log:
            return _log_on_grid(self.low), _log_on_grid(self.high)
        return self.low, self.high

    def to_number(self, value: object) -> float:
        """Return the index, the value, or its logarithm."""
        if self.has_steps:
            return super().to_number(value)
        number = self.to_code(value)
        return _log_on_grid(number) if self.log else number

    def to_value(self, number: float) -> float:
        """Return a builtin float inside the bounds."""
        low, high = self.bounds
        if number <= low:
            return self.low
        if number >= high:
            return self.high
        if self.has_steps:
            return self.value_at(math.floor(number + 0.5))
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
        """Clip, and round indices to integers and logarithms to their grid."""
        if self.has_steps:
            return super().snap(x)
        inside = np.clip(x, *self.bounds)
        return snap_logarithms(inside) if self.log else inside

    def to_code(self, value: object) -> float:
        """Return the value as a builtin float."""
        if self.has_steps:
            return float(super().to_code(value))
        if not self._is_near(value):
            raise self._refusal(value)
        return float(value)


@dataclass(frozen=True, eq=False, repr=False)
class Integer(_Range):
    """An int between two bounds, both included and equally reachable.

    Parameters
    ----------
    low, high : int
        Bounds, ``low < high``.
    log : bool, default=False
        Search the logarithm: each value gets the chance of its interval
        ``[ln(value - 1/2), ln(value + 1/2)]``; needs ``low > 0``.
    step : int, default=1
        Offer ``low``, ``low + step``, ``low + 2 * step`` ... only. A ``high`` that is
        none of them is lowered, with a warning. Not with ``log``, but for 1.
    default : int, optional
        The value a search begins with.
    conditions : tuple of (str, object)
        Written by :meth:`when`.

    Examples
    --------
    >>> Integer(1, 1000, log=True).when(booster="gbtree")
    Integer(1, 1000, log=True).when(booster='gbtree')
    >>> Integer(50, 500, step=50)
    Integer(50, 500, step=50)
    """

    __module__ = "sklearn_mvrsm"  # pickles name the public path

    low: int
    high: int
    step: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        """Check the bounds and keep them as builtin ints."""
        for which in ("low", "high", "step"):
            self._store(**{which: _integer_bound(which, getattr(self, which))})
        self._check_range()
        largest = _LARGEST_LOG if self.log else _LARGEST
        if max(-self.low, self.high) > largest:
            raise ValueError(
                f"bounds must be at most 2**{largest.bit_length() - 1} in size for "
                f"Integer with log={self.log}, got low={self.low}, high={self.high}"
            )
        self._check_shared()

    @property
    def has_steps(self) -> bool:
        return self.step != 1

    @property
    def size(self) -> int:
        """How many integers there are."""
        return (self.high - self.low) // self.step + 1

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the number: the index, the value, or its logarithm."""
        if self.kind == "real":
            return self.edge(0), self.edge(self.size)
        return super().bounds

    def number_at(self, index: int) -> float:
        """Return the index, the value, or its logarithm."""
        if self._by_index:
            return float(index)
        number = float(self.low + index)
        # the same function as for whole arrays: two libraries may differ in a bit
        return float(np.log(np.array([number]))[0]) if self.kind == "real" else number

    def edge(self, index: int) -> float:
        """Return the number half-way down to the value before."""
        if self.kind == "real":
            return math.log(self.low + index - 0.5)
        return super().edge(index)

    def to_value(self, number: float) -> int:
        """Return a builtin int inside the bounds."""
        if self._by_index:
            return self.value_at(min(max(math.floor(number + 0.5), 0), self.size - 1))
        if self.kind == "real":
            number = math.exp(min(number, self.bounds[1]))
        return min(max(math.floor(number + 0.5), self.low), self.high)

    def value_at(self, index: int) -> int:
        """Return the value with this index."""
        return self.low + index * self.step

    def snap(self, x: FloatArray) -> FloatArray:
        """Return the number of the integer that is nearest."""
        if self.kind == "real":
            return snap_log_integers(x, self.low, self.high)
        return super().snap(x)

    def _index(self, value: object) -> int | None:
        if not is_integer(value) or not self.low <= value <= self.high:
            return None
        index, rest = divmod(int(value) - self.low, self.step)
        return index if rest == 0 else None


def _exact(value: float) -> Fraction:
    """Return the decimal number that people read, without rounding."""
    return Fraction(repr(value))


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
