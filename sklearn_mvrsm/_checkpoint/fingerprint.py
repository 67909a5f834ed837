"""What a search depends on, as plain data that are the same in every session.

Each part has a name, by which a difference from another search can be told.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from sklearn_mvrsm._compat.sklearn import is_passthrough, named_scorers, num_samples
from sklearn_mvrsm._description import describe_value, digest
from sklearn_mvrsm._evaluation import FitJob, FunctionJob, Job
from sklearn_mvrsm._optimizer import MVRSMOptimizer, enqueue_first
from sklearn_mvrsm._space import UNSET, SearchSpace

__all__ = [
    "Decisive",
    "describe",
    "describe_estimator",
    "describe_scorer",
    "digest_content",
    "digest_folds",
    "fingerprint",
]


Record = dict[str, Any]
Unread = MutableMapping[str, set[str]]

# What of scikit-learn's `set_config` decides what becomes of a fit.
_SETTINGS = (
    "array_api_dispatch",
    "assume_finite",
    "enable_metadata_routing",
    "transform_output",
)


@dataclass(frozen=True)
class Decisive:
    """Arguments that decide what is proposed, or what becomes of a fit.

    Attributes
    ----------
    options : mapping of str to object
        Numbers, texts and None.
    refit : bool, str or callable
        It may name the metric that the search follows.
    initial_points : sequence of mapping
        Configurations to be evaluated first.
    known_results : sequence of (mapping, float) or (mapping, float, float)
        Configurations with their values, and their constraints where these are known.
    constraint : str, callable or None
        It names a metric, or is a function of the results of a candidate.
    """

    options: Mapping[str, object]
    refit: object
    initial_points: Sequence[Mapping[str, Any]]
    known_results: Sequence[tuple[Any, ...]] = ()
    constraint: object = None


def fingerprint(
    decisive: Decisive, space: SearchSpace, job: Job, unread: Unread
) -> Record:
    """Describe all that decides about the results of a search.

    Parameters
    ----------
    decisive : Decisive
        Arguments of the search.
    space : SearchSpace
        What is searched.
    job : FitJob or FunctionJob
        What is to be run.
    unread : mapping of str to set of str
        Where something cannot be told from others of its type, the type is added
        under the name of the part.

    Returns
    -------
    dict
        JSON's types, equal for equal searches in any session.

    Raises
    ------
    TypeError, ValueError
        If the data cannot be read, or an initial point is not in the space.
    """
    known = {}
    if decisive.known_results:
        told = [
            [space.to_codes(params), *map(repr, values)]
            for params, *values in decisive.known_results
        ]
        known["known_results"] = {"number": len(told), "content": describe(told)}
    return {
        "space": _describe_space(space, unread),
        **_describe_job(decisive, job, unread),
        "settings of scikit-learn": {name: get_config()[name] for name in _SETTINGS},
        "arguments": {
            **{name: describe(value) for name, value in decisive.options.items()},
            "initial_points": _codes(space, decisive.initial_points),
            **known,
        },
    }


def _describe_job(decisive: Decisive, job: Job, unread: Unread) -> Record:
    """Describe what is run for a candidate."""
    if isinstance(job, FunctionJob):
        found = unread.setdefault("function", set())
        described = describe(job.function, found, cloned=False)
        return {"function": described, "folds": {"number": job.n_splits}}
    assert isinstance(job, FitJob)
    constraint = {}
    if decisive.constraint is not None:
        types = unread.setdefault("constraint", set())
        constraint["constraint"] = describe(decisive.constraint, types, cloned=False)
    metadata = {"fit parameters": job.fit_params, "score parameters": job.score_params}
    return {
        "data": {
            "X": digest_content(job.X),
            "y": digest_content(job.y),
            **{
                name: _describe_each(name, params, unread, cloned=False, labels=False)
                for name, params in metadata.items()
            },
        },
        "folds": {
            "number": len(job.splits),
            "samples": digest_folds(job.splits, num_samples(job.X)),
        },
        "scoring": {
            "metrics": describe_scorer(job.scorer, unread),
            "guided by": _refit_metric(decisive.refit, job.scorer),
            **constraint,
        },
        "estimator": describe_estimator(job.estimator, unread),
    }


def describe(value: object, unread: set[str] | None = None, **options: bool) -> object:
    """Describe a value as `describe_value` does; what is told by one text, by that."""
    description = describe_value(value, unread, **options)
    match description:
        case [str(), str(text)]:
            return text
    return description


def describe_estimator(
    estimator: BaseEstimator, unread: Unread | None = None
) -> Record:
    """Describe an estimator by its type and each of its parameters, nested ones too."""
    found: Unread = {} if unread is None else unread
    own = describe_value(estimator, found.setdefault("estimator", set()), deep=False)
    params = estimator.get_params(deep=True)
    # The parameters of nested estimators follow by their names.
    described = _describe_each("estimator, parameters", params, found, deep=False)
    return {**own, "parameters": described}


def describe_scorer(scorer: object, unread: Unread | None = None) -> Record:
    """Describe each metric by its name; "score" is the name of a single one."""
    named = named_scorers(scorer) or {"score": scorer}
    plain = {
        name: "score of the estimator" if is_passthrough(metric) else metric
        for name, metric in named.items()
    }
    found: Unread = {} if unread is None else unread
    return _describe_each("scoring, metrics", plain, found, cloned=False)


def _describe_each(
    name: str, values: Mapping[str, object], unread: Unread, **options: bool
) -> Record:
    return {
        each: describe(value, unread.setdefault(f"{name}, {each}", set()), **options)
        for each, value in sorted(values.items())
    }


def _refit_metric(refit: object, scorer: object) -> str:
    """Return the metric that a search follows, as far as it is known."""
    named = named_scorers(scorer) or {"the first": scorer}
    return refit if isinstance(refit, str) else next(iter(named))


def _describe_space(space: SearchSpace, unread: Unread) -> Record:
    """Turn the fingerprint of a space so that differences can be told by name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    fingerprint: Record = space.fingerprint(found)
    unread.update({f"space, {name}": types for name, types in found.items()})
    described: Record = {}
    for place, coordinate in enumerate(fingerprint.pop("coordinates")):
        parameter = space.parameters[place].parameter
        if parameter.default is not UNSET:
            coordinate["default"] = parameter.to_code(parameter.default)
        name = coordinate.pop("name")
        name = "choice of alternatives" if name is None else repr(name)
        while name in described:
            name += " of a later alternative"
        described[name] = {"place": place, **coordinate}
    return described | fingerprint


def _codes(space: SearchSpace, points: Sequence[Mapping[str, object]]) -> list[Record]:
    """Return initial points, which are checked, as what they name in the space."""
    enqueue_first(MVRSMOptimizer(space, n_initial_points=0), points, len(points))
    return [space.to_codes(point) for point in points]


def digest_folds(splits: Sequence[tuple[Any, Any]], n_samples: int) -> str:
    """Return a digest of which samples each fold trains and tests on, in which order.

    Parameters
    ----------
    splits : sequence of (train, test)
        Indices, masks or slices.
    n_samples : int
        Number of samples.
    """
    everyone = np.arange(n_samples)
    return digest_content([[everyone[part] for part in split] for split in splits])


def digest_content(data: object) -> str:
    """Return a digest of data: equal for equal content, wherever it lies in memory.

    The index of pandas is not content.

    Parameters
    ----------
    data : object
        Arrays, data frames and series of pandas and polars, sparse matrices, and
        containers of them are read; other objects by their state.

    Returns
    -------
    str
        Hexadecimal.

    Raises
    ------
    TypeError
        If the data cannot be read in a way that is the same in every session.
    """
    unread: set[str] = set()
    description = describe_value(data, unread, cloned=False, labels=False)
    if unread:
        raise TypeError(
            "'checkpoint' needs data whose content can be read, got "
            f"{', '.join(sorted(unread))}"
        )
    return digest(json.dumps(description, sort_keys=True).encode())
