"""How the ready-made spaces are written: sizes, and the prefix of a pipeline's step."""

import dataclasses
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace

__all__ = [
    "Space",
    "at_most",
    "check_sizes",
    "limit",
    "rename",
    "rows_in_a_leaf",
    "share_of_features",
    "under",
]

Space = dict[str, Any]  # a parameter for each name


def check_sizes(n_samples: object, n_features: object) -> None:
    """Refuse what is not the number of rows or columns of a table."""
    for name, size in (("n_samples", n_samples), ("n_features", n_features)):
        if size is None:
            continue
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
    return {
        new(name): dataclasses.replace(
            read[name],
            conditions=tuple(
                (new(parent), wanted) for parent, wanted in read[name].conditions
            ),
        )
        for name in params
    }


def limit(params: Mapping[str, Any], name: str, values: Sequence[Any]) -> Space:
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
    left: Space = {}
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
