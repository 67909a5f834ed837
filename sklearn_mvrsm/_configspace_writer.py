"""From our parameters, conditions and constraints to ConfigSpace's."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn_mvrsm._base_parameter import UNSET, Countable, Parameter
from sklearn_mvrsm._conditions import Condition, Dimension
from sklearn_mvrsm._constraints import Constraint
from sklearn_mvrsm._forbidden import AllOf, AnyOf, Bound, Forbidden, Relation, Values
from sklearn_mvrsm._parameters import Integer, Ordinal, Real

__all__ = ["write"]


def write(
    dimensions: Sequence[Dimension],
    names: Sequence[str],
    constraints: Sequence[Constraint],
    default: Mapping[str, Any],
) -> Any:
    """Build a ``ConfigurationSpace``.

    Parameters
    ----------
    dimensions : sequence of Dimension
        In coordinate order.
    names : sequence of str
        In the order of declaration.
    constraints : sequence of callable
        Each a ``Forbidden``.
    default : mapping of str to object
        Default values, instead of those that the parameters declare; where there is
        neither, ConfigSpace chooses.

    Returns
    -------
    ConfigSpace.ConfigurationSpace

    Raises
    ------
    ValueError
        Naming what has no counterpart.
    """
    from ConfigSpace import ConfigurationSpace

    if any(each.name is None for each in dimensions):
        raise ValueError(
            "A list of alternatives has no counterpart in ConfigSpace; a category and "
            "conditions on it have"
        )
    cs = ConfigurationSpace()
    declared = {str(each.name): each for each in dimensions}
    for name in names:
        parameter = declared[name].parameter
        value = default.get(name, parameter.default)
        own = {} if value is UNSET else {"default_value": value}
        cs.add(_hyperparameter(name, parameter, own))
    for name in names:
        conditions = [
            _condition(cs, name, each, dimensions) for each in declared[name].conditions
        ]
        if conditions:
            cs.add(_all(conditions))
    for constraint in constraints:
        cs.add(_clause(cs, constraint))
    return cs


def _hyperparameter(name: str, parameter: Parameter, default: dict[str, Any]) -> Any:
    import ConfigSpace.hyperparameters as kinds

    try:
        match parameter:
            case Real(low=low, high=high, log=log):
                return kinds.UniformFloatHyperparameter(
                    name, low, high, log=log, **default
                )
            case Integer(low=low, high=high, log=log):
                return kinds.UniformIntegerHyperparameter(
                    name, low, high, log=log, **default
                )
            case Ordinal(values=values):
                return kinds.OrdinalHyperparameter(name, list(values), **default)
        assert isinstance(parameter, Countable)
        values = [parameter.to_value(place) for place in range(parameter.size)]
        if len(values) == 1:
            return kinds.Constant(name, values[0])
        return kinds.CategoricalHyperparameter(name, values, **default)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Parameter {name!r} (={parameter!r}) is refused by ConfigSpace: {error}"
        ) from error


def _condition(
    cs: Any, child: str, condition: Condition, dimensions: Sequence[Dimension]
) -> Any:
    import ConfigSpace.conditions as kinds

    parent = dimensions[condition.parent]
    parameter = parent.parameter
    assert isinstance(parameter, Countable)

    def value(place: int) -> Any:
        return parameter.to_value(parameter.number_at(place))

    pair = (cs[child], cs[parent.name])
    (first, last), *others = condition.spans
    if first == last and not others:
        return kinds.EqualsCondition(*pair, value(first))
    if isinstance(parameter, Integer) and not others:
        if first == 0 and last < parameter.size - 1:
            return kinds.LessThanCondition(*pair, value(last + 1))
        if first > 0 and last == parameter.size - 1:
            return kinds.GreaterThanCondition(*pair, value(first - 1))
    return kinds.InCondition(
        *pair,
        [value(k) for first, last in condition.spans for k in range(first, last + 1)],
    )


def _all(conditions: Sequence[Any]) -> Any:
    from ConfigSpace import AndConjunction

    return conditions[0] if len(conditions) == 1 else AndConjunction(*conditions)


def _clause(cs: Any, constraint: Constraint) -> Any:
    import ConfigSpace.forbidden as kinds

    bounds: dict[str, Any] = {
        "<": kinds.ForbiddenLessThanClause,
        "<=": kinds.ForbiddenLessThanEqualsClause,
        ">": kinds.ForbiddenGreaterThanClause,
        ">=": kinds.ForbiddenGreaterThanEqualsClause,
    }
    relations: dict[str, Any] = {
        "==": kinds.ForbiddenEqualsRelation,
        "<": kinds.ForbiddenLessThanRelation,
        "<=": kinds.ForbiddenLessThanEqualsRelation,
        ">": kinds.ForbiddenGreaterThanRelation,
        ">=": kinds.ForbiddenGreaterThanEqualsRelation,
    }
    match constraint:
        case Values(name=name, values=(value,)):
            return kinds.ForbiddenEqualsClause(cs[name], value)
        case Values(name=name, values=values):
            return kinds.ForbiddenInClause(cs[name], values)
        case Bound(name=name, sign=sign, value=value):
            return bounds[sign](cs[name], value)
        case Relation(left=left, sign=sign, right=right):
            return relations[sign](cs[left], cs[right])
        case AllOf(parts=parts):
            return kinds.ForbiddenAndConjunction(*(_clause(cs, each) for each in parts))
        case AnyOf(parts=parts):
            return kinds.ForbiddenOrConjunction(*(_clause(cs, each) for each in parts))
    assert not isinstance(constraint, Forbidden)
    name = getattr(constraint, "__qualname__", repr(constraint))
    raise ValueError(
        f"The constraint {name} is a function, which ConfigSpace cannot have; its "
        "forbidden clauses can be translated"
    )
