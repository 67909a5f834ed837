"""The way from ConfigSpace to a space, and back."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, Self, overload

from sklearn_mvrsm._space.base import UNSET, Parameter
from sklearn_mvrsm._space.choices import Ordinal
from sklearn_mvrsm._space.conditions import Condition, Dimension
from sklearn_mvrsm._space.constraints import (
    AllOf,
    AnyOf,
    Bound,
    Constraint,
    Forbidden,
    Relation,
    Values,
)
from sklearn_mvrsm._space.default import Space, default_params
from sklearn_mvrsm._space.ranges import Integer, Real

__all__ = ["ConfigSpaceMethods", "write"]


Params = dict[str, Any]

_MOST_STEPS = 10_000  # that are listed for ConfigSpace


class _Space(Space, Protocol):
    constraints: tuple[Constraint, ...]

    def sample(self, n: int, random_state: object = None) -> list[Params]: ...


class ConfigSpaceMethods:
    """What a space has for those who have a ``ConfigurationSpace``."""

    @overload
    @classmethod
    def from_configspace(
        cls, cs: object, *, return_default: Literal[False] = ...
    ) -> Self: ...

    @overload
    @classmethod
    def from_configspace(
        cls, cs: object, *, return_default: Literal[True]
    ) -> tuple[Self, Params]: ...

    @classmethod
    def from_configspace(
        cls, cs: object, *, return_default: bool = False
    ) -> Self | tuple[Self, Params]:
        """Translate a ``ConfigSpace.ConfigurationSpace``.

        Needs the library ConfigSpace (``pip install sklearn-mvrsm[configspace]``).

        Parameters
        ----------
        cs : ConfigSpace.ConfigurationSpace
            Uniform floats and integers (``log`` included), categories, ordinals and
            constants, with their default values; conditions; forbidden clauses. An
            ordinal with a ``"step"`` in its ``meta``, as :meth:`to_configspace` writes
            it, is a number with steps.
        return_default : bool, default=False
            Whether to return the default configuration too.

        Returns
        -------
        space : SearchSpace
            Forbidden clauses are its constraints.
        default : dict of str to object
            Only where asked for: the default configuration.

        Raises
        ------
        ImportError
            If ConfigSpace is not installed.
        ValueError
            If something has no counterpart; the message names the hyperparameter: a
            prior or weights that are not uniform, a condition on a float, an "or"
            between conditions on different parents.

        Examples
        --------
        >>> from ConfigSpace import ConfigurationSpace, EqualsCondition
        >>> from sklearn_mvrsm import SearchSpace
        >>> cs = ConfigurationSpace({"kernel": ["linear", "rbf"], "gamma": (0.1, 1.0)})
        >>> cs.add(EqualsCondition(cs["gamma"], cs["kernel"], "rbf"))
        >>> space, default = SearchSpace.from_configspace(cs, return_default=True)
        >>> space["gamma"], default
        (Real(0.1, 1.0, default=0.55).when(kernel=['rbf']), {'kernel': 'linear'})
        """
        _require_configspace()
        from sklearn_mvrsm._space.configspace_reader import default_of, read

        params, constraints = read(cs)
        build: Any = cls
        space = build(params, constraints=constraints)
        built: Self = space
        if not return_default:
            return built
        default: Params = space.decode(space.encode(default_of(cs)))
        return built, default

    def to_configspace(
        self: _Space, *, default: Mapping[str, object] | None = None
    ) -> Any:
        """Translate into a ``ConfigSpace.ConfigurationSpace``.

        Needs the library ConfigSpace (``pip install sklearn-mvrsm[configspace]``). Its
        numbers have no steps (those before 1.0 had ``q``): a parameter with ``step``
        becomes an ordinal of its values.

        Parameters
        ----------
        default : mapping of str to object or None, default=None
            The configuration that becomes the default. None: the declared defaults,
            and ConfigSpace's choice where there is none. What a forbidden clause
            refuses is replaced by an allowed configuration.

        Returns
        -------
        ConfigSpace.ConfigurationSpace

        Raises
        ------
        ImportError
            If ConfigSpace is not installed.
        ValueError
            If something has no counterpart; the message names it: alternatives,
            values that ConfigSpace refuses, constraints that are functions.

        Examples
        --------
        >>> from sklearn_mvrsm import Integer, SearchSpace
        >>> space = SearchSpace({"depth": Integer(1, 9), "kind": ["a", "b"]})
        >>> cs = space.to_configspace(default={"depth": 3, "kind": "b"})
        >>> dict(cs.get_default_configuration())
        {'depth': 3, 'kind': 'b'}
        """
        _require_configspace()
        if default is None and self.constraints:
            default = default_params(self) or self.sample(1, random_state=0)[0]
        if default is not None:
            self.encode(default)  # refuses what is no configuration
        return write(self.parameters, self.names, self.constraints, default or {})


def _require_configspace() -> None:
    try:
        importlib.import_module("ConfigSpace")
    except ImportError as error:
        raise ImportError(
            "from_configspace and to_configspace need ConfigSpace, which "
            "'pip install sklearn-mvrsm[configspace]' installs"
        ) from error


def write(
    dimensions: Sequence[Dimension],
    names: Sequence[str],
    constraints: Sequence[Constraint],
    default: Mapping[str, object],
) -> object:
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
        if isinstance(parameter, Integer | Real) and parameter.has_steps:
            return _steps(name, parameter, default)
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
        values = [parameter.to_value(place) for place in range(int(parameter.size))]
        if len(values) == 1:
            return kinds.Constant(name, values[0])
        return kinds.CategoricalHyperparameter(name, values, **default)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Parameter {name!r} (={parameter!r}) is refused by ConfigSpace: {error}"
        ) from error


def _steps(name: str, parameter: Integer | Real, default: dict[str, Any]) -> Any:
    """Return an ordinal: ConfigSpace's numbers have no steps any more."""
    from ConfigSpace import OrdinalHyperparameter

    size = int(parameter.size)
    if size > _MOST_STEPS:
        raise ValueError(f"its {size} steps would be a list of more than {_MOST_STEPS}")
    values = [parameter.value_at(index) for index in range(size)]
    return OrdinalHyperparameter(name, values, meta={"step": parameter.step}, **default)


def _condition(
    cs: Any, child: str, condition: Condition, dimensions: Sequence[Dimension]
) -> object:
    import ConfigSpace.conditions as kinds

    parent = dimensions[condition.parent]
    parameter = parent.parameter

    def value(place: int) -> object:
        return parameter.to_value(parameter.number_at(place))

    pair = (cs[child], cs[parent.name])
    (first, last), *others = condition.spans
    if first == last and not others:
        return kinds.EqualsCondition(*pair, value(first))
    if isinstance(parameter, Integer | Real) and not others:
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
