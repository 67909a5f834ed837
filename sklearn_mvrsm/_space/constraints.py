"""Constraints: which configurations are forbidden, by functions or by values.

The values can be compared, pickled, read, and translated. A parameter that does not
exist in a configuration is never the reason to forbid it.
"""

import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_mvrsm._description import describe_value
from sklearn_mvrsm._space.values import copied, same_value

__all__ = [
    "AllOf",
    "AnyOf",
    "Bound",
    "Constraint",
    "Forbidden",
    "InfeasibleSpaceError",
    "Relation",
    "Values",
    "checked",
    "described",
    "infeasible",
    "name_of",
    "objection",
    "refuse_needed",
]


Params = dict[str, Any]
Constraint = Callable[[Params], bool]


class InfeasibleSpaceError(ValueError):
    """Almost nothing in the space satisfies its constraints."""

    __module__ = "sklearn_mvrsm"  # pickles name the public path


def checked(constraints: object) -> tuple[Constraint, ...]:
    """Return constraints as a tuple, or say what is wrong with them."""
    if not isinstance(constraints, list | tuple) or not all(map(callable, constraints)):
        raise TypeError(
            f"'constraints' must be a list of callables, got {constraints!r}"
        )
    return tuple(constraints)


def described(constraints: Sequence[Constraint], unread: set[str]) -> list[list[Any]]:
    """Return what each constraint does, by plain data, and its name.

    Types of objects in them that cannot be told apart are added to ``unread``.
    """
    return [
        [
            describe_value(each, unread, cloned=False),
            getattr(each, "__qualname__", type(each).__qualname__),
        ]
        for each in constraints
    ]


def objection(constraints: Sequence[Constraint], params: Params) -> Constraint | None:
    """Return the first constraint that forbids a configuration, None if none does.

    Each gets a copy of ``params``; objects that are equal to nothing else, such as
    estimators, are not copied. What one raises goes on, with a note that names it.
    """
    for constraint in constraints:
        try:
            allowed = constraint(copied(params, objects=False))
        except Exception as error:
            error.add_note(
                f"raised by the constraint {name_of(constraint)}({params!r})"
            )
            raise
        if not isinstance(allowed, bool | np.bool_):
            raise TypeError(
                f"A constraint must return a bool, got {allowed!r} from "
                f"{name_of(constraint)}({params!r})"
            )
        if not allowed:
            return constraint
    return None


def infeasible(objections: Sequence[Constraint]) -> InfeasibleSpaceError:
    """Build the error for points of which each was forbidden by one of these."""
    refused = Counter(map(name_of, objections)).most_common()
    return InfeasibleSpaceError(
        f"None of {len(objections)} random points satisfies the constraints; refused "
        f"by {', '.join(f'{name} ({n} times)' for name, n in refused)}"
    )


def name_of(constraint: Constraint) -> str:
    """Return what messages call a constraint."""
    return str(getattr(constraint, "__qualname__", repr(constraint)))


def refuse_needed(
    constraints: Sequence[Constraint],
    names: Sequence[str],
    samples: Sequence[Params],
) -> None:
    """Raise ValueError if a constraint needs a parameter that is to be removed.

    Parameters
    ----------
    constraints : sequence of callable
    names : sequence of str
        Of the parameters.
    samples : sequence of dict
        Configurations without them, to try functions with.
    """
    for constraint in constraints:
        needed = _parameters_of(constraint) | _missed(constraint, samples)
        for name in names:
            if any(name == each or name.endswith(f"__{each}") for each in needed):
                raise ValueError(
                    f"{name!r} must not be removed: the constraint "
                    f"{name_of(constraint)} needs it. Build the space anew from its "
                    "'alternatives', with other constraints"
                )


def _parameters_of(constraint: object) -> set[object]:
    """Return the names in a forbidden clause; no one knows those in a function."""
    match constraint:
        case Values(name=name) | Bound(name=name):
            return {name}
        case Relation(left=left, right=right):
            return {left, right}
        case AllOf(parts=parts) | AnyOf(parts=parts):
            return {name for part in parts for name in _parameters_of(part)}
    within = getattr(constraint, "constraint", None)  # of a model: names lack a prefix
    return set() if within is None else _parameters_of(within)


def _missed(constraint: Constraint, samples: Sequence[Params]) -> set[object]:
    """Return the keys that a constraint did not find in some configurations."""
    missed: set[object] = set()
    for params in samples:
        try:
            constraint(copied(params, objects=False))
        except KeyError as error:
            missed.update(error.args[:1])
        except Exception:  # it is raised again, with a name, where it matters
            continue
    return missed


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
    def forbids(self, params: Mapping[str, object]) -> bool:
        """Return whether a configuration is such a case."""

    def __call__(self, params: Mapping[str, object]) -> bool:
        """Return whether a configuration is allowed."""
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

    def forbids(self, params: Mapping[str, object]) -> bool:
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

    def forbids(self, params: Mapping[str, object]) -> bool:
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

    def forbids(self, params: Mapping[str, object]) -> bool:
        """Ask every part."""
        return any(part.forbids(params) for part in self.parts)


def _grouped(part: Forbidden) -> str:
    return f"({part.text})" if isinstance(part, AllOf | AnyOf) else part.text
