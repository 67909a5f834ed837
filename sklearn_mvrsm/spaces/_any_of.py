"""The choice among models, each with a space of its own."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn_mvrsm import Categorical, SearchSpace
from sklearn_mvrsm.spaces._declare import Params, under

__all__ = ["any_of"]


def any_of(params: Mapping[str, Any]) -> SearchSpace:
    """Return a space of choices among models for steps of a pipeline.

    Parameters
    ----------
    params : mapping of str to list of pairs, or to parameter
        Pairs ``(model, space)`` for the name of a step: what the step may be, and the
        parameters it then has, without the step's prefix. ``space`` is a dict, a list
        of dicts or a :class:`~sklearn_mvrsm.SearchSpace`, and may itself be a choice.
        Items without a space, as ``"passthrough"``, have no parameters. All that is no
        list with pairs is a parameter as in any other space, and may be conditional on
        a chosen model.

    Returns
    -------
    SearchSpace
        One alternative for each model (for each combination of models, where several
        steps are chosen), as a list of dicts would have, so models may share names
        but never ranges. Parameters without a choice are part of each alternative.

    Raises
    ------
    TypeError, ValueError
        If a name, a parameter or a condition makes no sense.

    Notes
    -----
    Give the pipeline one of the models, not None: scikit-learn looks at it to tell
    whether folds should be stratified.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from sklearn_mvrsm import MVRSMSearchCV, spaces
    >>> models = [LogisticRegression(max_iter=5000), SVC()]
    >>> pairs = [(model, spaces.from_estimator(model)) for model in models]
    >>> space = spaces.any_of({"model": pairs})
    >>> pipeline = Pipeline([("scale", StandardScaler()), ("model", models[0])])
    >>> search = MVRSMSearchCV(pipeline, space, n_iter=30)
    >>> space.names[:4]
    ('model', 'model__C', 'model__solver', 'model__l1_ratio')
    """
    choices = {name: value for name, value in params.items() if _is_choice(value)}
    models = {
        step: Categorical([item[0] if _is_pair(item) else item for item in items])
        for step, items in choices.items()
    }
    options = [
        _alternatives(name, value) if name in choices else [_Part({name: value})]
        for name, value in params.items()
    ]
    combinations = [_joined(parts) for parts in itertools.product(*options)]
    known = {name for part in combinations for name in part.params}
    constraints = {id(each): each for part in combinations for each in part.constraints}
    return SearchSpace(
        [_reachable(part, models, known) for part in combinations],
        constraints=list(constraints.values()),
    )


@dataclass(frozen=True)
class _Part:
    """Some parameters of one alternative."""

    params: Params
    constraints: tuple["_WhereChosen", ...] = ()
    chosen: tuple[tuple[str, int], ...] = ()  # step, place of its model


@dataclass(frozen=True)
class _WhereChosen:
    """A model's constraint: it asks nothing where another model was chosen."""

    constraint: Callable[[Params], bool]
    step: str
    model: Any

    def __post_init__(self) -> None:
        name = getattr(self.constraint, "__qualname__", repr(self.constraint))
        object.__setattr__(self, "__qualname__", f"{self.step}: {name}")

    def __call__(self, params: Params) -> bool:
        if params.get(self.step) is not self.model:
            return True
        prefix = f"{self.step}__"
        own = {
            name.removeprefix(prefix): value
            for name, value in params.items()
            if name.startswith(prefix)
        }
        return self.constraint(own)


def _is_choice(value: object) -> bool:
    return isinstance(value, list | tuple) and any(map(_is_pair, value))


def _is_pair(item: object) -> bool:
    if not isinstance(item, tuple) or len(item) != 2:
        return False
    space = item[1]
    if isinstance(space, list):
        return len(space) > 0 and all(isinstance(each, Mapping) for each in space)
    return isinstance(space, Mapping)


def _alternatives(step: str, items: list[Any]) -> list[_Part]:
    """Return one part for each model, or for each alternative within its space."""
    pairs = [item if _is_pair(item) else (item, {}) for item in items]
    parts = []
    for place, (model, own) in enumerate(pairs):
        space = SearchSpace.from_any(own)
        if space.constraints and sum(model is other for other, _ in pairs) > 1:
            raise ValueError(
                f"Step {step!r} must not list the same object twice where a space "
                f"has constraints, got {model!r}"
            )
        constraints = tuple(
            _WhereChosen(each, step, model) for each in space.constraints
        )
        for each in _dicts(space):
            own_params = {step: Categorical([model]), **under(f"{step}__", each)}
            parts.append(_Part(own_params, constraints, ((step, place),)))
    return parts


def _dicts(space: SearchSpace) -> list[Params]:
    """Return the dicts of which a space was made, names in their order."""
    return [
        {name: own[name] for name in space if name in own} for own in space.alternatives
    ]


def _joined(parts: tuple[_Part, ...]) -> _Part:
    params: Params = {}
    for part in parts:
        twice = sorted(params.keys() & part.params.keys())
        if twice:
            raise ValueError(
                f"Parameter {twice[0]!r} must be given once, got it from a model's "
                "space and beside it"
            )
        params |= part.params
    return _Part(
        params,
        tuple(each for part in parts for each in part.constraints),
        tuple(each for part in parts for each in part.chosen),
    )


def _reachable(part: _Part, models: dict[str, Categorical], known: set[str]) -> Params:
    """Leave out what depends on other models, and conditions on the chosen ones."""
    chosen = dict(part.chosen)
    left = dict(part.params)
    fallen = {""}
    while fallen:
        fallen = {
            name
            for name, parameter in left.items()
            for parent, wanted in _conditions(parameter)
            if (parent not in left and parent in known)
            or (parent in models and not _holds(name, parent, wanted, models, chosen))
        }
        left = {name: left[name] for name in left if name not in fallen}
    return {name: _without(models, parameter) for name, parameter in left.items()}


def _conditions(parameter: object) -> tuple[tuple[str, object], ...]:
    return getattr(parameter, "conditions", ())  # a list has none


def _holds(
    name: str,
    step: str,
    wanted: object,
    models: dict[str, Categorical],
    chosen: dict[str, int],
) -> bool:
    """Return whether a condition on the model of a step holds for the chosen one."""
    child = Categorical([None]).when({step: wanted})
    space = SearchSpace({step: models[step], name: child})
    (condition,) = space.parameters[1].conditions
    return condition.holds(chosen[step])


def _without(models: dict[str, Categorical], parameter: Any) -> Any:
    """Drop the conditions on models: here they hold."""
    conditions = _conditions(parameter)
    left = tuple(each for each in conditions if each[0] not in models)
    if left == conditions:
        return parameter
    return dataclasses.replace(parameter, conditions=left)
