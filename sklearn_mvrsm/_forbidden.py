"""Constraints as values: they can be compared, pickled, read, and translated.

A parameter that does not exist in a configuration is never the reason to forbid it.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn_mvrsm._values import same_value

__all__ = ["AllOf", "AnyOf", "Bound", "Forbidden", "Relation", "Values"]

_OPERATORS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, repr=False)
class Forbidden(ABC):
    """A constraint that says what is forbidden; called, it says what is allowed."""

    def __post_init__(self) -> None:
        """Carry a name, by which messages and fingerprints know a constraint."""
        object.__setattr__(self, "__qualname__", repr(self))

    @property
    @abstractmethod
    def text(self) -> str:
        """The forbidden case, as a person would write it."""

    @abstractmethod
    def forbids(self, params: Mapping[str, Any]) -> bool:
        """Tell whether a configuration is such a case."""

    def __call__(self, params: Mapping[str, Any]) -> bool:
        """Tell whether a configuration is allowed."""
        return not self.forbids(params)

    def __repr__(self) -> str:
        """Show the forbidden case."""
        return f"forbid({self.text})"


@dataclass(frozen=True, repr=False)
class Values(Forbidden):
    """A parameter has one of some values."""

    name: str
    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        """``name == value`` or ``name in [values]``."""
        if len(self.values) == 1:
            return f"{self.name} == {self.values[0]!r}"
        return f"{self.name} in {list(self.values)!r}"

    def forbids(self, params: Mapping[str, Any]) -> bool:
        """Compare as categories are compared."""
        if self.name not in params:
            return False
        return any(same_value(params[self.name], value) for value in self.values)


@dataclass(frozen=True, repr=False)
class Bound(Forbidden):
    """A number is beyond a bound; ``sign`` is one of ``< <= > >=``."""

    name: str
    sign: str
    value: float

    @property
    def text(self) -> str:
        """``name < value``."""
        return f"{self.name} {self.sign} {self.value!r}"

    def forbids(self, params: Mapping[str, Any]) -> bool:
        """Compare the number with the bound."""
        if self.name not in params:
            return False
        return bool(_OPERATORS[self.sign](params[self.name], self.value))


@dataclass(frozen=True, repr=False)
class Relation(Forbidden):
    """Two parameters are in a relation; ``sign`` is one of ``== < <= > >=``."""

    left: str
    sign: str
    right: str

    @property
    def text(self) -> str:
        """``left < right``."""
        return f"{self.left} {self.sign} {self.right}"

    def forbids(self, params: Mapping[str, Any]) -> bool:
        """Compare the values."""
        if self.left not in params or self.right not in params:
            return False
        return bool(_OPERATORS[self.sign](params[self.left], params[self.right]))


@dataclass(frozen=True, repr=False)
class AllOf(Forbidden):
    """All of some cases come together."""

    parts: tuple[Forbidden, ...]

    @property
    def text(self) -> str:
        """``a and b``."""
        return " and ".join(_grouped(part) for part in self.parts)

    def forbids(self, params: Mapping[str, Any]) -> bool:
        """Ask every part."""
        return all(part.forbids(params) for part in self.parts)


@dataclass(frozen=True, repr=False)
class AnyOf(Forbidden):
    """One of some cases."""

    parts: tuple[Forbidden, ...]

    @property
    def text(self) -> str:
        """``a or b``."""
        return " or ".join(_grouped(part) for part in self.parts)

    def forbids(self, params: Mapping[str, Any]) -> bool:
        """Ask every part."""
        return any(part.forbids(params) for part in self.parts)


def _grouped(part: Forbidden) -> str:
    return f"({part.text})" if isinstance(part, AllOf | AnyOf) else part.text
