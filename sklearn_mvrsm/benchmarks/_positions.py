"""Configurations told by where their values lie in the ranges of a space.

Ready-made ranges depend on the size of the data. A configuration that is to serve for
data of any size is kept as positions: a number's share of the way from the lowest value
to the highest, on the range's own scale; a category's value itself.
"""

from collections.abc import Mapping
from typing import Any

from sklearn_mvrsm import Categorical, SearchSpace

__all__ = ["from_positions", "to_positions"]


def to_positions(space: SearchSpace, params: Mapping[str, object]) -> dict[str, object]:
    """Return the position of each value of a configuration, numbers to two decimals.

    Parameters
    ----------
    space : SearchSpace
        A single dict, without alternatives.
    params : mapping of str to object
        A configuration of the space.
    """
    parameters = {str(each.name): each.parameter for each in space.parameters}
    return {name: _position(parameters[name], params[name]) for name in params}


def from_positions(
    space: SearchSpace, positions: Mapping[str, object]
) -> dict[str, object]:
    """Return the configuration at given positions.

    Parameters
    ----------
    space : SearchSpace
        A single dict, without alternatives; its ranges may be others than those in
        which the positions were taken.
    positions : mapping of str to object
        As `to_positions` returns them. A number without a position is in the middle of
        its range; a category that is not offered becomes the first that is.

    Returns
    -------
    dict of str to object
        Active parameters by name.
    """
    parameters = {str(each.name): each.parameter for each in space.parameters}
    params: dict[str, Any] = {}

    def settle(name: str) -> bool:
        """Settle a parameter's value after those of its parents."""
        parameter = parameters[name]
        if name in params:
            return True
        for parent, wanted in parameter.conditions:
            accepted = wanted if isinstance(wanted, list | tuple) else [wanted]
            if not settle(parent) or params[parent] not in accepted:
                return False
        params[name] = _value(parameter, positions.get(name))
        return True

    for name in parameters:
        settle(name)
    return params


def _position(parameter: Any, value: Any) -> object:
    if isinstance(parameter, Categorical):
        return value
    low, high = parameter.bounds
    return round((parameter.to_number(value) - low) / max(high - low, 1e-300), 2)


def _value(parameter: Any, position: Any) -> object:
    if isinstance(parameter, Categorical):
        offered = list(parameter.values)
        return position if position in offered else offered[0]
    low, high = parameter.bounds
    share = 0.5 if position is None else position
    return parameter.to_value(low + share * (high - low))
