"""From ConfigSpace's hyperparameters, conditions and clauses to ours.

A condition is read as *masks*: for each parent, which of its values satisfy it. Parents
are AND-ed, so an "or" is understood where it concerns one parent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._space.base import Parameter
from sklearn_mvrsm._space.choices import Categorical, Ordinal
from sklearn_mvrsm._space.constraints import (
    AllOf,
    AnyOf,
    Bound,
    Forbidden,
    Relation,
    Values,
)
from sklearn_mvrsm._space.ranges import Integer, Real
from sklearn_mvrsm._space.values import is_integer

__all__ = ["default_of", "read"]


Mask = npt.NDArray[np.bool_]
Masks = dict[str, Mask]

_MOST_VALUES = 10**6  # of a parent whose values are listed


def read(cs: object) -> tuple[dict[str, Parameter], list[Forbidden]]:
    """Read a ``ConfigurationSpace``.

    Parameters
    ----------
    cs : ConfigSpace.ConfigurationSpace

    Returns
    -------
    params : dict of str to parameter
        With their conditions.
    constraints : list of Forbidden

    Raises
    ------
    ValueError
        Naming the hyperparameter that has no counterpart.
    """
    from ConfigSpace import ConfigurationSpace

    if not isinstance(cs, ConfigurationSpace):
        raise TypeError(f"'cs' must be a ConfigurationSpace, got {cs!r}")
    params = {name: _parameter(name, each) for name, each in cs.items()}
    for condition in cs.conditions:
        child = _child(condition)
        for parent, mask in _masks(condition, params).items():
            if not mask.any():
                raise ValueError(
                    f"Hyperparameter {child!r} never exists, got {condition!r}"
                )
            params[child] = params[child].when({parent: _wanted(params[parent], mask)})
    return params, [_forbidden(clause, params) for clause in cs.forbidden_clauses]


def default_of(cs: Any) -> dict[str, Any]:
    """Return the defaults of the hyperparameters that exist by default."""
    return {name: cs[name].default_value for name in cs.get_default_configuration()}


def _parameter(name: str, given: object) -> Parameter:
    import ConfigSpace.hyperparameters as kinds

    match given:
        case kinds.UniformFloatHyperparameter():
            return Real(
                given.lower, given.upper, log=given.log, default=given.default_value
            )
        case kinds.UniformIntegerHyperparameter():
            return Integer(
                given.lower, given.upper, log=given.log, default=given.default_value
            )
        case kinds.CategoricalHyperparameter():
            if len(set(np.asarray(given.probabilities).tolist())) > 1:
                raise ValueError(
                    f"Hyperparameter {name!r} has weights that are not equal, which a "
                    f"SearchSpace cannot have, got {list(given.probabilities)!r}"
                )
            return Categorical(tuple(given.choices), default=given.default_value)
        case kinds.OrdinalHyperparameter():
            values, step = list(given.sequence), dict(given.meta or {}).get("step")
            if step is None:
                return Ordinal(tuple(values), default=given.default_value)
            kind = Integer if is_integer(step) else Real
            return kind(values[0], values[-1], step=step, default=given.default_value)
        case kinds.Constant():
            return Categorical((given.value,))
    raise ValueError(
        f"Hyperparameter {name!r} has no counterpart in a SearchSpace, got {given!r}"
    )


# --- conditions --------------------------------------------------------------------


def _child(condition: Any) -> str:
    while hasattr(condition, "components"):
        condition = condition.components[0]
    return str(condition.child.name)


def _masks(condition: Any, params: Mapping[str, Parameter]) -> Masks:
    import ConfigSpace.conditions as kinds

    if not isinstance(condition, kinds.Conjunction):
        return {condition.parent.name: _mask(condition, params)}
    parts = [_masks(each, params) for each in condition.components]
    merged = parts[0]
    for part in parts[1:]:
        if isinstance(condition, kinds.AndConjunction):
            both = {name: merged[name] & part[name] for name in merged.keys() & part}
            merged = merged | part | both
        else:
            merged = _either(merged, part, condition)
    return merged


def _either(left: Masks, right: Masks, condition: object) -> Masks:
    differ = [
        name
        for name in left | right
        if name not in left
        or name not in right
        or not np.array_equal(left[name], right[name])
    ]
    if len(differ) > 1 or left.keys() != right.keys():
        raise ValueError(
            f"Hyperparameter {_child(condition)!r} depends on one of several parents, "
            f"which a SearchSpace cannot say, got {condition!r}"
        )
    return {name: left[name] | right[name] for name in left}


def _mask(condition: Any, params: Mapping[str, Parameter]) -> Mask:
    """Return which values of its parent satisfy a condition."""
    import ConfigSpace.conditions as kinds

    parent = params[condition.parent.name]
    if parent.size > _MOST_VALUES:
        raise ValueError(
            f"Hyperparameter {condition.child.name!r} depends on "
            f"{condition.parent.name!r}, whose values cannot be listed, got "
            f"{condition!r}"
        )
    wanted = [condition.value]
    if isinstance(condition, kinds.InCondition):
        wanted = list(condition.values)
    places = np.array([k for each in wanted for k in parent.indices(each)])
    order = np.arange(int(parent.size))
    held: Mask = np.isin(order, places)
    match condition:
        case kinds.LessThanCondition():
            held = order < places[0]
        case kinds.GreaterThanCondition():
            held = order > places[0]
        case kinds.NotEqualsCondition():
            held = ~held
    return held


def _wanted(parent: Parameter, mask: Mask) -> Sequence[Any]:
    """Return the values that a mask marks, as ``when`` takes them."""
    places = np.flatnonzero(mask).tolist()
    if isinstance(parent, Integer) and places == [*range(places[0], places[-1] + 1)]:
        first, last = map(parent.value_at, (places[0], places[-1]))
        return range(first, last + 1, parent.step)
    return [parent.to_value(parent.number_at(place)) for place in places]


# --- forbidden clauses -------------------------------------------------------------


def _forbidden(clause: object, params: Mapping[str, Parameter]) -> Forbidden:
    import ConfigSpace.forbidden as kinds

    match clause:
        case kinds.ForbiddenAndConjunction():
            return AllOf(tuple(_forbidden(each, params) for each in clause.components))
        case kinds.ForbiddenOrConjunction():
            return AnyOf(tuple(_forbidden(each, params) for each in clause.components))
        case kinds.ForbiddenRelation():
            return Relation(clause.left.name, _relation(clause), clause.right.name)
        case kinds.ForbiddenEqualsClause():
            return _values(clause.hyperparameter.name, [clause.value], params)
        case kinds.ForbiddenInClause():
            return _values(clause.hyperparameter.name, clause.values, params)
    return _bound(clause, params)


def _values(
    name: str, values: Sequence[object], params: Mapping[str, Parameter]
) -> Values:
    parameter = params[name]
    offered = [parameter.to_value(parameter.to_number(value)) for value in values]
    return Values(name, tuple(offered))


def _bound(clause: Any, params: Mapping[str, Parameter]) -> Forbidden:
    import ConfigSpace.forbidden as kinds

    signs = {
        kinds.ForbiddenLessThanClause: "<",
        kinds.ForbiddenLessThanEqualsClause: "<=",
        kinds.ForbiddenGreaterThanClause: ">",
        kinds.ForbiddenGreaterThanEqualsClause: ">=",
    }
    if type(clause) not in signs:
        raise ValueError(
            f"A clause has no counterpart in a SearchSpace, got {clause!r}"
        )
    name, sign = clause.hyperparameter.name, signs[type(clause)]
    parameter = params[name]
    if not isinstance(parameter, Ordinal):
        return Bound(name, sign, parameter.to_value(parameter.to_number(clause.value)))
    place = parameter.to_code(clause.value)
    values = {
        "<": parameter.values[:place],
        "<=": parameter.values[: place + 1],
        ">": parameter.values[place + 1 :],
        ">=": parameter.values[place:],
    }
    return Values(name, tuple(values[sign]))


def _relation(clause: Any) -> str:
    import ConfigSpace.forbidden as kinds

    signs = {
        kinds.ForbiddenEqualsRelation: "==",
        kinds.ForbiddenLessThanRelation: "<",
        kinds.ForbiddenLessThanEqualsRelation: "<=",
        kinds.ForbiddenGreaterThanRelation: ">",
        kinds.ForbiddenGreaterThanEqualsRelation: ">=",
    }
    return signs[type(clause)]
