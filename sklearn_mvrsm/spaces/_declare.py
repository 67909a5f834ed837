"""How the ready-made spaces are written: sizes, and the prefix of a pipeline's step."""

import dataclasses
import functools
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace

__all__ = [
    "Params",
    "ReadyMade",
    "Space",
    "at_most",
    "limit",
    "ready_made",
    "rename",
    "rows_in_a_leaf",
    "share_of_features",
    "under",
]

Params = dict[str, Any]  # a parameter, or a value, for each name

_COMMON = """
Parameters
----------
prefix, n_samples, n_features
    As for every function of :mod:`sklearn_mvrsm.spaces`.{}

Returns
-------
dict of str to parameter
"""


class Space(Params):
    """A dict of parameters that can be cut as a :class:`SearchSpace` can."""

    __module__ = "sklearn_mvrsm.spaces"  # pickles name the public path

    def __or__(self, other: Any) -> Any:
        """Return a space with what another dict has, too."""
        return Space({**self, **other}) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        """Return a space with what is here in place of what another dict has."""
        return Space({**other, **self}) if isinstance(other, dict) else NotImplemented

    def without(self, *names: str) -> "Space":
        """Return what :meth:`SearchSpace.without` does, as a dict."""
        return Space((name, self[name]) for name in SearchSpace(self).without(*names))


class ReadyMade(Protocol):
    """What makes a ready-made space."""

    __name__: str

    def __call__(
        self,
        *,
        prefix: str = "",
        n_samples: int | None = None,
        n_features: int | None = None,
    ) -> Space: ...


def ready_made(make: Callable[[int | None, int | None], Params]) -> ReadyMade:
    """Return a function that checks its arguments and puts a prefix before all names.

    Parameters
    ----------
    make : callable
        ``make(n_samples, n_features)`` returns a parameter for each name. The section
        "Sizes" of its docstring says what depends on them, and becomes the sections
        "Parameters" and "Returns", which are the same for all.
    """

    def space(
        *, prefix: str = "", n_samples: int | None = None, n_features: int | None = None
    ) -> Space:
        for name, size in (("n_samples", n_samples), ("n_features", n_features)):
            _check_size(name, size)
        return under(prefix, make(n_samples, n_features))

    signature = inspect.signature(space)
    functools.update_wrapper(space, make)
    vars(space)["__signature__"] = signature
    begin, _, rest = inspect.cleandoc(make.__doc__ or "").partition("\nSizes\n-----\n")
    sizes, _, end = rest.partition("\n\n")
    common = _COMMON.format("".join(f"\n    {line}" for line in sizes.splitlines()))
    space.__doc__ = f"{begin}{common}\n{end}"
    return space


def _check_size(name: str, size: object) -> None:
    """Refuse what is not the number of rows or columns of a table."""
    if size is None:
        return
    if not isinstance(size, numbers.Integral) or isinstance(size, bool):
        raise TypeError(f"{name!r} must be an int or None, got {size!r}")
    if size < 1:
        raise ValueError(f"{name!r} must be >= 1, got {size!r}")


def at_most(low: int, high: int, cap: int | None) -> Integer | Categorical:
    """Return the integers from ``low`` to the smaller of ``high`` and ``cap``.

    On a logarithmic scale. ``low`` is offered whatever the cap is.
    """
    top = high if cap is None else min(high, cap)
    return Integer(low, top, log=True) if top > low else Categorical([low])


def rows_in_a_leaf(most: int, n_samples: int | None) -> Integer | Categorical:
    """Return numbers of rows that a leaf needs, from 1."""
    # a leaf that needs more than a quarter of the rows leaves two splits at most
    cap = None if n_samples is None else max(2, n_samples // 4)
    return at_most(1, most, cap)


def share_of_features(n_features: int | None) -> Real | Categorical:
    """Return shares from one feature to all; usual square roots lie in the middle."""
    if n_features == 1:
        return Categorical([1.0])
    return Real(1.0 / (32 if n_features is None else n_features), 1.0, log=True)


def under(prefix: str, params: Mapping[str, Any]) -> Space:
    """Put a prefix before all names, in conditions too.

    Parameters
    ----------
    prefix : str
        Empty, or the name of a step and two underscores: ``"clf__"``.
    params : mapping of str to parameter
        Without the prefix.

    Returns
    -------
    dict of str to parameter
    """
    if not isinstance(prefix, str):
        raise TypeError(f"'prefix' must be a str, got {prefix!r}")
    if prefix != "" and not prefix.endswith("__"):
        raise ValueError(f"'prefix' must be '' or end with '__', got {prefix!r}")
    return rename(params, lambda name: prefix + name)


def rename(params: Mapping[str, Any], new: Callable[[str], str]) -> Space:
    """Change all names, in conditions too."""
    read = {each.name: each.parameter for each in SearchSpace(params).parameters}
    return Space(
        {
            new(name): dataclasses.replace(
                read[name],
                conditions=tuple(
                    (new(parent), wanted) for parent, wanted in read[name].conditions
                ),
            )
            for name in params
        }
    )


def limit(params: Mapping[str, Any], name: str, values: Sequence[Any]) -> Params:
    """Leave only some values to a parameter, and drop what then never exists.

    Parameters
    ----------
    params : mapping of str to parameter
        Conditions on ``name`` are met by a value, or by a list of values.
    name : str
        One of its names.
    values : sequence
        May be others than those that the parameter has.

    Returns
    -------
    dict of str to parameter
    """
    left: Params = {}
    for each, parameter in params.items():
        if each == name:
            parameter = dataclasses.replace(
                Categorical(values), conditions=parameter.conditions
            )
        conditions = []
        for parent, wanted in parameter.conditions:
            if parent == name:
                several = wanted if isinstance(wanted, list) else [wanted]
                wanted = [value for value in several if value in values]
            conditions.append((parent, wanted))
        if all(wanted != [] for _, wanted in conditions):
            left[each] = dataclasses.replace(parameter, conditions=tuple(conditions))
    return left
