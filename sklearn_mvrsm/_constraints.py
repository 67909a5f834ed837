"""Which configurations a user forbids, and what to say when hardly any is left."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sklearn_mvrsm._values import copied, describe_value

__all__ = [
    "Constraint",
    "InfeasibleSpaceError",
    "checked",
    "described",
    "infeasible",
    "objection",
]

Params = dict[str, Any]
Constraint = Callable[[Params], bool]


class InfeasibleSpaceError(ValueError):
    """Almost nothing in the space satisfies its constraints."""


def checked(constraints: Any) -> tuple[Constraint, ...]:
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
    """Give the first constraint that forbids a configuration, None if none does.

    Each gets a copy of ``params``; objects that are equal to nothing else, such as
    estimators, are not copied. What one raises goes on, with a note that names it.
    """
    for constraint in constraints:
        try:
            allowed = constraint(copied(params, objects=False))
        except Exception as error:
            error.add_note(f"raised by the constraint {_name(constraint)}({params!r})")
            raise
        if not isinstance(allowed, bool | np.bool_):
            raise TypeError(
                f"A constraint must return a bool, got {allowed!r} from "
                f"{_name(constraint)}({params!r})"
            )
        if not allowed:
            return constraint
    return None


def infeasible(objections: Sequence[Constraint]) -> InfeasibleSpaceError:
    """Build the error for points of which each was forbidden by one of these."""
    refused = Counter(map(_name, objections)).most_common()
    return InfeasibleSpaceError(
        f"None of {len(objections)} random points satisfies the constraints; refused "
        f"by {', '.join(f'{name} ({n} times)' for name, n in refused)}"
    )


def _name(constraint: Constraint) -> str:
    return str(getattr(constraint, "__qualname__", repr(constraint)))
