"""A configuration brought into a space of other sizes or of other values."""

import math
from collections.abc import Mapping
from typing import Any

from sklearn_mvrsm import Categorical, Integer, Ordinal

__all__ = ["settle"]


def settle(
    space: Mapping[str, Any], reference: Mapping[str, Any], params: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the configuration of a space that is nearest to one of another space.

    Parameters
    ----------
    space : dict of str to parameter
        Ready-made, of the same model as ``reference`` but for the size of the data, or
        for values that an estimator's other settings forbid.
    reference : dict of str to parameter
        The space that ``params`` is of.
    params : mapping of str to object
        A number is clipped into its range, or moved with it where both ends have
        moved by one factor. What has no value has the middle of its range, or its
        first category.

    Returns
    -------
    dict of str to object, or None
        Active parameters by name. None if a category is not offered.
    """
    chosen: dict[str, Any] = {}

    def is_active(name: str) -> bool:
        for parent, wanted in space[name].conditions:
            accepted = wanted if isinstance(wanted, list | tuple) else [wanted]
            if not is_active(parent) or chosen[parent] not in accepted:
                return False
        if name not in chosen:
            chosen[name] = _nearest(space[name], reference.get(name), params.get(name))
        return True

    names = [name for name in space if is_active(name)]
    is_offered = all(
        chosen[name] == params[name]
        for name in names
        if name in params and isinstance(reference.get(name), Categorical)
    )
    return {name: chosen[name] for name in names} if is_offered else None


def _nearest(parameter: Any, reference: Any, value: Any) -> Any:
    if isinstance(parameter, Categorical | Ordinal):
        values = list(parameter.values)
        middle = 0 if isinstance(parameter, Categorical) else len(values) // 2
        return values[values.index(value) if value in values else middle]
    low, high = parameter.low, parameter.high
    if value is None:
        value = math.sqrt(low * high) if parameter.log else (low + high) / 2
    elif isinstance(reference, type(parameter)) and parameter.log:
        factor = low / reference.low
        if math.isclose(factor, high / reference.high, rel_tol=1e-6):
            value = value * factor
    clipped = min(max(value, low), high)
    return round(clipped) if isinstance(parameter, Integer) else float(clipped)
