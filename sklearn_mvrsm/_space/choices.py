"""Choices: values in a list, in any order or in a meaningful one.

The optimiser sees the place of a value in the list.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._description import describe_value
from sklearn_mvrsm._space.base import Kind, Parameter
from sklearn_mvrsm._space.values import same_value

__all__ = ["Categorical", "Ordinal"]


@dataclass(frozen=True, eq=False, repr=False)
class _Choice(Parameter):
    values: Sequence[Any] | npt.NDArray[Any]  # kept as a tuple

    def __post_init__(self) -> None:
        self._store(values=_items(type(self).__name__, self.values))
        self._check_shared()

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
