"""What a search depends on, as plain data that are the same in every session.

Data are told apart by their content; estimators, scorers and arguments by a description
in which no memory address occurs.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from sklearn_mvrsm._sklearn_compat import named_scorers
from sklearn_mvrsm._values import describe_value

__all__ = [
    "describe",
    "describe_estimator",
    "describe_scorer",
    "digest_content",
    "digest_folds",
]

_LONGEST = 300  # characters of a description; of a longer one the digest is kept
_SCALARS = frozenset({bool, bytes, complex, float, int, str, type(None)})


def describe(value: object) -> Any:
    """Describe a value of any kind by JSON's types.

    Functions and classes are told apart by name, other objects than numbers, strings,
    containers, arrays and estimators by type.
    """
    if type(value) in _SCALARS:
        return repr(value)
    description = json.dumps(describe_value(value))
    if len(description) > _LONGEST:
        return {"digest": hashlib.sha256(description.encode()).hexdigest()}
    return json.loads(description)


def describe_estimator(estimator: Any) -> dict[str, Any]:
    """Describe an estimator by its type and each of its parameters, nested ones too."""
    return {
        "type": _type_name(estimator),
        "parameters": {
            name: _type_name(value)
            if isinstance(value, BaseEstimator)  # its own parameters follow
            else describe(value)
            for name, value in sorted(estimator.get_params(deep=True).items())
        },
    }


def describe_scorer(scorer: Any) -> dict[str, Any]:
    """Describe each metric by its name; "score" is the name of a single one."""
    named = named_scorers(scorer) or {"score": scorer}
    return {name: _describe_metric(metric) for name, metric in named.items()}


def _describe_metric(metric: Any) -> Any:
    """Describe a function by its name, what scikit-learn made of one by its repr."""
    if hasattr(metric, "__qualname__"):
        return describe(metric)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(metric))


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def digest_folds(splits: Sequence[tuple[Any, Any]], n_samples: int) -> str:
    """Give a digest of which samples each fold trains and tests on, in which order.

    Parameters
    ----------
    splits : sequence of (train, test)
        Indices, masks or slices.
    n_samples : int
        Number of samples.
    """
    everyone = np.arange(n_samples)
    return digest_content([[everyone[part] for part in split] for split in splits])


def digest_content(data: Any) -> str:
    """Give a digest of data: equal for equal content, wherever it lies in memory.

    The index of pandas is not content.

    Parameters
    ----------
    data : object
        Arrays, data frames and series of pandas and polars, sparse matrices, and
        containers of them are read; other objects are left to joblib.

    Returns
    -------
    str
        Hexadecimal.

    Raises
    ------
    TypeError
        If the data cannot be read in a way that is the same in every session.
    """
    hasher = hashlib.blake2b(digest_size=20)
    _feed(hasher.update, data)
    return hasher.hexdigest()


def _feed(update: Callable[[Any], None], data: Any) -> None:
    """Feed one value to a hash, with its kind and length, so that none runs over."""
    if type(data) in _SCALARS:
        _mark(update, "scalar", type(data).__name__, repr(data))
    elif hasattr(data, "tocsr"):
        _feed_sparse(update, data)
    elif hasattr(data, "dtypes") and hasattr(data, "columns"):
        _feed_frame(update, data)
    elif hasattr(data, "dtype") and hasattr(data, "name") and hasattr(data, "to_numpy"):
        _feed_series(update, data)
    elif isinstance(data, np.ma.MaskedArray):
        _mark(update, "masked")
        _feed_array(update, np.ma.getmaskarray(data))
        _feed_array(update, np.asarray(data.filled()))
    elif isinstance(data, np.ndarray | np.generic):
        _feed_array(update, np.asarray(data))
    elif isinstance(data, Mapping):
        _mark(update, "mapping", str(len(data)))
        for item in data.items():
            _feed(update, item)
    elif isinstance(data, list | tuple):
        _feed_items(update, data)
    else:
        _feed_object(update, data)


def _mark(update: Callable[[Any], None], *parts: str) -> None:
    update(json.dumps(parts).encode())


def _feed_array(update: Callable[[Any], None], array: Any) -> None:
    _mark(update, "array", repr(array.dtype.descr), str(array.shape))
    if array.dtype.hasobject:
        _feed_items(update, array.ravel().tolist())
    elif array.size:
        flat = np.ascontiguousarray(array).reshape(-1)
        update(flat.view(np.uint8).data)


def _feed_items(update: Callable[[Any], None], items: Sequence[Any]) -> None:
    _mark(update, "items", str(len(items)))
    if all(type(item) in _SCALARS for item in items):
        update(repr(list(items)).encode("utf-8", "surrogatepass"))
        return
    for item in items:
        _feed(update, item)


def _feed_sparse(update: Callable[[Any], None], matrix: Any) -> None:
    rows = matrix.tocsr(copy=True)
    rows.sum_duplicates()
    _mark(update, "sparse", str(matrix.shape))
    _feed_array(update, rows.data)
    _feed_array(update, rows.indices.astype(np.int64))
    _feed_array(update, rows.indptr.astype(np.int64))


def _feed_frame(update: Callable[[Any], None], frame: Any) -> None:
    """Feed a data frame: names, then its columns one by one, by position."""
    names = list(frame.columns)
    _mark(update, "frame", str(frame.shape))
    _feed_items(update, names)
    by_place = hasattr(frame, "iloc")
    for place, name in enumerate(names):
        _feed(update, frame.iloc[:, place] if by_place else frame[name])


def _feed_series(update: Callable[[Any], None], series: Any) -> None:
    """Feed a column: its type, what is missing, and the values."""
    _mark(update, "series", str(series.dtype), str(series.name))
    missing = series.isna() if hasattr(series, "isna") else series.is_null()
    _feed_array(update, np.asarray(missing))
    categories: Any = getattr(series.dtype, "categories", None)
    if hasattr(categories, "to_numpy"):
        _feed_items(update, list(categories))
    _feed_array(update, np.asarray(series.to_numpy()))


def _feed_object(update: Callable[[Any], None], data: Any) -> None:
    _mark(update, "object", _type_name(data))
    if hasattr(data, "__array__"):
        _feed_array(update, np.asarray(data))
        return
    try:
        update(joblib.hash(data).encode())
    except Exception as error:
        raise TypeError(
            "'checkpoint' needs data whose content can be read, got "
            f"{_type_name(data)}: {error}"
        ) from error
