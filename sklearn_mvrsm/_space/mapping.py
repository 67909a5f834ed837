"""What a space has in common with a dict: it is listed, indexed, joined and cut."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn_mvrsm._space.base import UNSET, Parameter
from sklearn_mvrsm._space.conditions import listed
from sklearn_mvrsm._space.constraints import Constraint, name_of, refuse_needed
from sklearn_mvrsm._space.layout import Layout, read
from sklearn_mvrsm._space.values import same_value

__all__ = ["MappingMethods"]


_MOST_LINES = 40  # of parameters that are shown
_WIDTH = 88
_MOST_WANTED = 10_000  # values of a condition that are gone through one by one
_N_PROBES = 100  # configurations with which constraints are tried


class MappingMethods(Mapping[str, Any]):
    """Names and parameters of a space; what is changed is always a new space."""

    _layout: Layout
    constraints: tuple[Constraint, ...]

    # spaces are told apart by identity: functions cannot be compared
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def alternatives(self) -> tuple[dict[str, Parameter], ...]:
        """A dict of the parameters of each alternative; one where there is no choice.

        ``SearchSpace(space.alternatives, space.constraints)`` is the space again.
        """
        return tuple(map(dict, self._layout.declared))

    def __getitem__(self, name: str) -> Any:
        """Return the parameter of a name.

        Of several alternatives that have different parameters of this name, a tuple of
        them: one for each alternative that has the name.
        """
        found = [each[name] for each in self._layout.declared if name in each]
        if not found:
            raise KeyError(name)
        first = found[0]
        is_one = all(
            each == first and same_value(each.default, first.default) for each in found
        )
        return first if is_one else tuple(found)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of declaration."""
        return iter(self._layout.names)

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._layout.names)

    def __bool__(self) -> bool:
        """Return True: an empty space holds one configuration."""
        return True

    def __copy__(self) -> Self:
        """Return the same object: a space is not altered after it is built."""
        return self

    def __or__(self, other: object) -> Self:
        """Return the space with the parameters and constraints of another, or a dict.

        What is new comes last; what there is already is replaced, with its conditions.
        Where there are alternatives, all get what is added but those in which its
        conditions can never hold.

        Raises
        ------
        ValueError
            If both have alternatives, or a condition can hold in none.
        """
        if not isinstance(other, Mapping):
            return NotImplemented
        return self._with(self, other)

    def __ror__(self, other: object) -> Self:
        """Return a dict with the parameters and constraints of this space."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return self._with(other, self)

    def _with(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> Self:
        constraints: list[Constraint] = []
        declared: list[object] = []
        for side in (left, right):
            if isinstance(side, MappingMethods):
                constraints += side.constraints
                declared.append(side.alternatives)
            else:
                declared.append(side)
        build: Any = type(self)
        space: Self = build(_joined(*declared), constraints)
        return space

    def without(self, *names: str) -> Self:
        """Return the space without some parameters, which the estimator then decides.

        Parameters
        ----------
        *names : str
            Of parameters; in all alternatives.

        Raises
        ------
        ValueError
            If a name is not in the space, or if something needs it that is not removed:
            a parameter that exists only for some of its values, or a constraint.

        Examples
        --------
        >>> from sklearn_mvrsm import SearchSpace, spaces
        >>> list(SearchSpace(spaces.svc()).without("degree", "coef0"))
        ['C', 'kernel', 'gamma']
        """
        build: Any = type(self)
        left = build(_removed(self._layout.declared, names))
        refuse_needed(self.constraints, names, left.sample(_N_PROBES, 0))
        space: Self = build(left, self.constraints)
        return space

    def __repr__(self) -> str:
        """Show how much there is, and each parameter and constraint on a line."""
        declared = self._layout.declared
        counts = {
            "parameter": sum(map(len, declared)),
            "conditional": sum(
                parameter.conditions != ()
                for each in declared
                for parameter in each.values()
            ),
            "alternative": len(declared) if self._layout.is_choice else 0,
            "constraint": len(self.constraints),
        }
        shown = [
            f"{n} {what}{'' if n == 1 or what == 'conditional' else 's'}"
            for what, n in counts.items()
            if n > 0 or what == "parameter"
        ]
        lines = [f"SearchSpace: {', '.join(shown)}", *self._lines()]
        return "\n".join(
            line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines
        )

    def _lines(self) -> Iterator[str]:
        """Yield the lines of parameters, by alternatives, and of constraints."""
        rows = [
            (f"{k}: " if self._layout.is_choice else "", name, parameter)
            for k, each in enumerate(self._layout.declared)
            for name, parameter in each.items()
        ]
        width = max(map(len, self), default=0)
        for mark, name, parameter in rows[:_MOST_LINES]:
            yield f"  {mark}{name:<{width}}  {' '.join(repr(parameter).split())}"
        if len(rows) > _MOST_LINES:
            yield f"  ... and {len(rows) - _MOST_LINES} more"
        for constraint in self.constraints:
            yield f"  constraint: {name_of(constraint)}"


def _joined(left: object, right: object) -> list[dict[str, Parameter]]:
    """Put the alternatives of two spaces together; what is right replaces.

    Each alternative gets what the other space has, but for that whose conditions can
    never hold there; of the values that a condition names, those are left that the
    parent has there.
    """
    lefts, rights = read(left), read(right)
    if len(lefts) == len(rights) == 1:
        return [{**lefts[0], **rights[0]}]
    if len(lefts) > 1 and len(rights) > 1:
        raise ValueError(
            "One of two joined spaces must have no alternatives, got "
            f"{len(lefts)} and {len(rights)}"
        )
    choice, added = (lefts, rights[0]) if len(lefts) > 1 else (rights, lefts[0])
    if choice is rights:  # which replaces what has its names
        parts = [
            _fitting({k: v for k, v in added.items() if k not in own}, own, choice)
            | own
            for own in choice
        ]
    else:
        parts = [_fitting(added, own, choice) for own in choice]
    for name, parameter in added.items():
        if not any(name in part for part in parts):
            raise ValueError(
                f"Parameter {name!r} exists in none of the {len(choice)} alternatives: "
                f"it needs {parameter.condition_text}"
            )
    if choice is rights:
        return parts
    return [own | part for own, part in zip(choice, parts, strict=True)]


def _fitting(
    added: Mapping[str, Parameter],
    own: Mapping[str, Parameter],
    choice: Sequence[Mapping[str, Parameter]],
) -> dict[str, Parameter]:
    """Return what of ``added`` can exist beside the parameters of one alternative."""
    left = dict(added)
    while True:
        around = {**own, **left}
        found = {name: _restricted(each, around, choice) for name, each in left.items()}
        if all(each is not None for each in found.values()):
            return {name: each for name, each in found.items() if each is not None}
        left = {name: each for name, each in left.items() if found[name] is not None}


def _restricted(
    parameter: Parameter,
    around: Mapping[str, Parameter],
    choice: Sequence[Mapping[str, Parameter]],
) -> Parameter | None:
    """Return a parameter with conditions that can hold, None if one never does."""
    conditions = []
    for parent, wanted in parameter.conditions:
        if parent not in around:
            return None
        others = [each[parent] for each in choice if parent in each]
        left = _offered(wanted, around[parent], others)
        if left is UNSET:
            return None
        conditions.append((parent, left))
    return replace(parameter, conditions=tuple(conditions))


def _offered(wanted: object, parent: Parameter, others: Sequence[Parameter]) -> object:
    """Return the wanted values that a parent offers, ``UNSET`` if there is none.

    All of them where one is offered by no other parent either: that is a mistake.
    """
    if parent.size == math.inf or parent.indices(wanted):
        return wanted
    items = listed(wanted)
    if len(items) > _MOST_WANTED:
        return wanted
    kept = [item for item in items if parent.indices(item)]
    known = [item for item in items if any(each.indices(item) for each in others)]
    if len(known) < len(items) or len(kept) == len(items):
        return wanted
    return kept or UNSET


def _removed(
    alternatives: Sequence[Mapping[str, Parameter]], names: Sequence[object]
) -> list[dict[str, Parameter]]:
    """Return alternatives without some parameters, on which no other may depend."""
    known = {name for each in alternatives for name in each}
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"'without' takes names as str, got {name!r}")
        if name not in known:
            raise ValueError(
                f"Parameter {name!r} is not in the space; its names are {sorted(known)}"
            )
        children = [
            child
            for each in alternatives
            for child, parameter in each.items()
            if child not in names and any(name == c[0] for c in parameter.conditions)
        ]
        if children:
            raise ValueError(
                f"Parameter {name!r} must not be removed alone, for others exist only "
                f"for some of its values: {list(dict.fromkeys(children))}. Remove them "
                "too, or replace them by parameters without this condition"
            )
    return [
        {name: each[name] for name in each if name not in names}
        for each in alternatives
    ]
