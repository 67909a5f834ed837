"""What every parameter can do: say where it exists, and turn values into numbers."""

import keyword
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, Literal, Self

import numpy as np

from sklearn_mvrsm._domain import FloatArray
from sklearn_mvrsm._space.values import same_value

__all__ = ["UNSET", "Kind", "Parameter"]


Kind = Literal["category", "integer", "real"]

_NEAR = 0.01  # share of a range that counts as its end


class _Unset(Enum):
    """The default of a parameter for which none is declared; None is a value."""

    UNSET = "no default"

    def __repr__(self) -> str:
        """Show what it stands for."""
        return f"<{self.value}>"


UNSET = _Unset.UNSET


@dataclass(frozen=True, eq=False, repr=False)
class Parameter(ABC):
    """What all parameters share: default, conditions, and the way to numbers.

    The *index* of a value is its place in the list of values, where they can be listed:
    where ``size`` is finite. Others may depend on such parameters.
    """

    default: Any = field(default=UNSET, kw_only=True, compare=False)
    conditions: tuple[tuple[str, object], ...] = field(default=(), kw_only=True)

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Which block of the domain the number lives in."""

    @property
    @abstractmethod
    def size(self) -> int | float:
        """How many values are offered, ``math.inf`` for a real without steps."""

    @abstractmethod
    def indices(self, value: object) -> list[int]:
        """List the places where a value is offered; empty where it is not."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest number."""
        return self.number_at(0), self.number_at(int(self.size) - 1)

    def number_at(self, index: int) -> float:
        """Return the number of the value with this index."""
        return float(index)

    def edge(self, index: int) -> float:
        """Return the number where the cell of an index begins and the last one ends."""
        return self.number_at(index) - 0.5

    @abstractmethod
    def to_number(self, value: object) -> float:
        """Return the number of a value, or raise ValueError if it is not offered."""

    @abstractmethod
    def to_value(self, number: float) -> Any:
        """Return the value whose number is nearest; never outside the bounds."""

    def snap(self, x: FloatArray) -> FloatArray:
        """Return ``to_number(to_value(x))`` for an array of numbers of any shape."""
        return np.clip(np.floor(x + 0.5), *self.bounds)

    @abstractmethod
    def to_code(self, value: object) -> int | float:
        """Return a form of an offered value that JSON keeps exactly."""

    @abstractmethod
    def from_code(self, code: int | float) -> object:
        """Return the value that ``to_code`` turned into ``code``."""

    def end(self, value: object) -> str:
        """Return the end of the range where a value is: "low", "high" or ""."""
        if self.kind == "category":
            return ""
        low, high = (self.to_number(self.to_value(bound)) for bound in self.bounds)
        share = (self.to_number(value) - low) / (high - low)
        return "low" if share <= _NEAR else "high" if share >= 1.0 - _NEAR else ""

    @abstractmethod
    def describe(self, unread: set[str] | None = None) -> dict[str, object]:
        """Describe the parameter by plain data, without its conditions.

        Types of values that cannot be told apart are added to ``unread``.
        """

    @abstractmethod
    def _arguments(self) -> str: ...

    def when(
        self, parents: Mapping[str, object] | None = None, /, **more: object
    ) -> Self:
        """Return a copy that exists only where other parameters have certain values.

        Parameters
        ----------
        parents : mapping of str to object, optional
            Name of another parameter and the value, or the list, tuple, set, range
            or array of values, for which this one exists. What as a whole is one
            of the values offered counts as that value.
        **more : object
            The same, written as keywords.

        Returns
        -------
        parameter
            A copy; conditions given together or in a chain must all hold.

        Examples
        --------
        >>> from sklearn_mvrsm import Real
        >>> Real(1e-3, 1.0, log=True).when(kernel=["rbf", "poly"])
        Real(0.001, 1.0, log=True).when(kernel=['rbf', 'poly'])
        """
        if parents is not None and not isinstance(parents, Mapping):
            raise TypeError(
                "'when' takes keywords or a mapping of parent names to values, "
                f"got {parents!r}"
            )
        added = (*(parents or {}).items(), *more.items())
        if not added:
            raise ValueError("'when' must name at least one parent, got none")
        for name, _ in added:
            if not isinstance(name, str):
                raise TypeError(f"'when' takes parent names as str, got {name!r}")
        return replace(self, conditions=self.conditions + added)

    @property
    def condition_text(self) -> str:
        """The conditions as a person would say them; empty if there are none."""
        return " and ".join(f"{name} is {wanted!r}" for name, wanted in self.conditions)

    def __eq__(self, other: object) -> bool:
        """Return whether both offer the same, wherever a search begins.

        Values are compared by ``same_value``.
        """
        if type(self) is not type(other):
            return NotImplemented
        return all(
            same_value(getattr(self, each.name), getattr(other, each.name))
            for each in fields(self)
            if each.compare
        )

    def __hash__(self) -> int:
        """Hash what needs no hash of a value."""
        return hash((type(self), self.bounds))

    def __repr__(self) -> str:
        """Show the expression that builds the parameter."""
        text = f"{type(self).__name__}({self._arguments()}"
        text += ")" if self.default is UNSET else f", default={self.default!r})"
        for name, wanted in self.conditions:
            plain = name.isidentifier() and not keyword.iskeyword(name)
            pair = f"{name}={wanted!r}" if plain else f"{{{name!r}: {wanted!r}}}"
            text += f".when({pair})"
        return text

    def __sklearn_clone__(self) -> Self:
        """Return the same object: a condition may name a value by identity."""
        return self

    def _check_shared(self) -> None:
        """Keep default and conditions in their usual form, or say what is wrong."""
        self._store(conditions=self._checked_conditions())
        if self.default is UNSET:
            del self.__dict__["default"]  # the class has it; a pickle need not
            return
        try:
            value = self.from_code(self.to_code(self.default))
        except ValueError as error:
            raise ValueError(f"'default' of {type(self).__name__} {error}") from None
        self._store(default=value)

    def _checked_conditions(self) -> tuple[tuple[str, object], ...]:
        given: object = self.conditions
        if isinstance(given, list | tuple) and all(map(_is_condition, given)):
            return tuple(map(tuple, given))
        raise TypeError(
            f"'conditions' of {type(self).__name__} must be pairs of a parent's name "
            f"and its value, as 'when' writes them, got {given!r}"
        )

    def _store(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _is_condition(pair: object) -> bool:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return False
    return isinstance(pair[0], str)
