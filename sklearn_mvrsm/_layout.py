"""Where each declared parameter goes: coordinates of a domain, conditions resolved."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._base_parameter import Parameter
from sklearn_mvrsm._conditions import Condition, Dimension, resolve
from sklearn_mvrsm._domain import Domain
from sklearn_mvrsm._parameters import (
    Categorical,
    Integer,
    Real,
    snap_log_integers,
    snap_logarithms,
)
from sklearn_mvrsm._shorthand import as_parameter

__all__ = ["Layout", "copied_containers", "lay_out"]

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

_BLOCKS = ("category", "integer", "real")  # in the order of a point


@dataclass(frozen=True)
class Layout:
    """Parameters and their coordinates.

    Parameters
    ----------
    declared : tuple of dict of str to parameter
        One dict for each alternative, in the user's order.
    dimensions : tuple of Dimension
        In coordinate order: categories, integers, reals, each as declared. Where
        there are alternatives, coordinate 0 picks one.
    coordinates : tuple of dict of str to int
        For each alternative, the coordinate of each name, parents first.
    """

    declared: tuple[dict[str, Parameter], ...]
    dimensions: tuple[Dimension, ...]
    coordinates: tuple[dict[str, int], ...]

    @property
    def is_choice(self) -> bool:
        """Whether there are alternatives."""
        return len(self.declared) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, each once, in the user's order."""
        return tuple(dict.fromkeys(name for each in self.declared for name in each))

    @property
    def parents_first(self) -> list[int]:
        """All coordinates, parents before their children."""
        picker = [0] if self.is_choice else []
        return picker + [j for each in self.coordinates for j in each.values()]

    @cached_property
    def domain(self) -> Domain:
        """The box of the numbers."""
        blocks: dict[str, list[Parameter]] = {block: [] for block in _BLOCKS}
        for each in self.dimensions:
            blocks[each.parameter.kind].append(each.parameter)
        integers = [each.bounds for each in blocks["integer"]]
        return Domain(
            tuple(int(each.size) for each in blocks["category"]),
            tuple((int(low), int(high)) for low, high in integers),
            tuple(each.bounds for each in blocks["real"]),
        )

    def snap(self, x: FloatArray) -> FloatArray:
        """Give the nearest points whose coordinates are numbers of values.

        Parameters
        ----------
        x : ndarray of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d)
        """
        x = self.domain.round(x)
        if len(self._log_reals) > 0:
            x[:, self._log_reals] = snap_logarithms(x[:, self._log_reals])
        columns, low, high = self._log_integers
        if len(columns) > 0:
            x[:, columns] = snap_log_integers(x[:, columns], low, high)
        return x

    @cached_property
    def _log_reals(self) -> IndexArray:
        """Coordinates that are logarithms of reals."""
        found = [
            j
            for j, each in enumerate(self.dimensions)
            if isinstance(each.parameter, Real) and each.parameter.log
        ]
        return np.array(found, dtype=np.intp)

    @cached_property
    def _log_integers(self) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Coordinates that are logarithms of integers, and those integers' bounds."""
        found = [
            (j, each.parameter.low, each.parameter.high)
            for j, each in enumerate(self.dimensions)
            if isinstance(each.parameter, Integer) and each.parameter.kind == "real"
        ]
        table = np.array(found, dtype=np.float64).reshape(-1, 3)
        return table[:, 0].astype(np.intp), table[:, 1].copy(), table[:, 2].copy()


def copied_containers(declared: Any, *, is_space: bool) -> Any:
    """Copy the dicts and lists of a space or of points, not the values in them.

    Parameters
    ----------
    declared : object
        What a user gave: other objects are returned as they are.
    is_space : bool
        Whether lists in the dicts are lists of values, not values.
    """
    if type(declared) is dict and is_space:
        return {k: v[:] if type(v) is list else v for k, v in declared.items()}
    if isinstance(declared, Mapping):
        return copy.copy(declared)
    if type(declared) in (list, tuple):
        return type(declared)(
            copied_containers(each, is_space=is_space) for each in declared
        )
    return declared


def lay_out(params: Any) -> Layout:
    """Read what a user declared and give each parameter a coordinate.

    Parameters
    ----------
    params : dict or list of dict
        As for :class:`SearchSpace`.

    Raises
    ------
    TypeError, ValueError
        If a name, a parameter or a condition makes no sense.
    """
    declared = _read(params)
    entries: list[tuple[int, str | None, Parameter]] = [
        (alternative, name, parameter)
        for alternative, parameters in enumerate(declared)
        for name, parameter in parameters.items()
    ]
    if len(declared) > 1:
        entries.insert(0, (0, None, Categorical(tuple(range(len(declared))))))
    entries.sort(key=lambda entry: _BLOCKS.index(entry[2].kind))
    places: list[dict[str, int]] = [{} for _ in declared]
    for j, (alternative, name, _) in enumerate(entries):
        if name is not None:
            places[alternative][name] = j
    resolved = [resolve(*pair) for pair in zip(declared, places, strict=True)]
    dimensions = []
    for alternative, name, parameter in entries:
        conditions = () if name is None else resolved[alternative][name]
        if len(declared) > 1 and name is not None and conditions == ():
            conditions = (Condition(0, ((alternative, alternative),)),)
        dimensions.append(Dimension(name, parameter, alternative, conditions))
    coordinates = tuple(
        {name: place[name] for name in order}
        for order, place in zip(resolved, places, strict=True)
    )
    return Layout(declared, tuple(dimensions), coordinates)


def _read(params: Any) -> tuple[dict[str, Parameter], ...]:
    alternatives = [params] if isinstance(params, Mapping) else params
    if not isinstance(alternatives, list | tuple) or not all(
        isinstance(each, Mapping) for each in alternatives
    ):
        raise TypeError(
            f"A space must be a dict, a list of dicts or a SearchSpace, got {params!r}"
        )
    if len(alternatives) == 0:
        raise ValueError(f"A list of alternatives must not be empty, got {params!r}")
    for name in (name for each in alternatives for name in each):
        if not isinstance(name, str) or name == "":
            raise TypeError(f"A parameter's name must be a non-empty str, got {name!r}")
    return tuple(
        {name: as_parameter(name, value) for name, value in each.items()}
        for each in alternatives
    )
