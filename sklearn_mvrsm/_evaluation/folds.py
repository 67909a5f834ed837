"""The folds of a search: drawn once, and given again to whoever asks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import BaseCrossValidator

from sklearn_mvrsm._compat.sklearn import listed_folds, num_samples
from sklearn_mvrsm._domain import IntArray

__all__ = ["FrozenFolds", "Split", "draw_folds"]


Split = tuple[IntArray, IntArray]


Packed = npt.NDArray[np.integer]


def _packed(indices: IntArray, n_samples: int) -> Packed:
    """Return indices in little memory: a bit a sample if they are ascending."""
    kind = np.int32 if n_samples <= np.iinfo(np.int32).max else np.int64
    ascending = bool((np.diff(indices) > 0).all())
    if ascending and n_samples < 8 * np.dtype(kind).itemsize * len(indices):
        mask = np.zeros(n_samples, dtype=np.bool_)
        mask[indices] = True
        return np.packbits(mask)
    return indices.astype(kind)


def _unpacked(packed: Packed, n_samples: int) -> IntArray:
    """Return the indices that `_packed` was given."""
    if packed.dtype == np.uint8:
        return np.flatnonzero(np.unpackbits(packed.view(np.uint8), count=n_samples))
    return packed.astype(np.intp)


class FrozenFolds:
    """A splitter that gives the same folds each time, those a search has used.

    Parameters
    ----------
    splits : sequence of (train, test)
        What selects the samples of each fold: indices, a mask or a slice.
    n_samples : int
        Number of samples that were split.
    """

    def __init__(self, splits: Sequence[tuple[Any, Any]], n_samples: int) -> None:
        everyone = np.arange(n_samples)
        self.n_samples = n_samples
        self._splits = tuple(
            (_packed(everyone[train], n_samples), _packed(everyone[test], n_samples))
            for train, test in splits
        )

    def split(
        self,
        X: object = None,
        y: object = None,
        groups: object = None,
        **params: object,
    ) -> Iterator[Split]:
        """Yield the folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Looked at only for its length.
        y, groups, **params : object
            Ignored.

        Yields
        ------
        train, test : ndarray of int
            Indices of the samples.

        Raises
        ------
        ValueError
            If ``X`` has another number of samples than were split.
        """
        if X is not None and num_samples(X) != self.n_samples:
            raise ValueError(
                f"X must have the {self.n_samples} samples that the folds were drawn "
                f"on, got {num_samples(X)}"
            )
        for train, test in self._splits:
            yield _unpacked(train, self.n_samples), _unpacked(test, self.n_samples)

    def get_n_splits(
        self,
        X: object = None,
        y: object = None,
        groups: object = None,
        **params: object,
    ) -> int:
        """Return the number of folds; all arguments are ignored."""
        return len(self._splits)

    def __repr__(self) -> str:
        """Count folds and samples."""
        return f"<FrozenFolds: {len(self._splits)} folds of {self.n_samples} samples>"


def draw_folds(
    cv: BaseCrossValidator, X: object, y: object, split_params: Mapping[str, object]
) -> list[Split]:
    """Draw the folds of a splitter, in any form that selects samples.

    Each half may be indices or a mask, in an array, series, list, tuple, range or
    iterator, or a slice.

    Parameters
    ----------
    cv : splitter
        As ``check_cv`` returns it.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or None
    split_params : mapping
        Routed to the splitter.

    Returns
    -------
    list of (train, test)
        Arrays of indices.

    Raises
    ------
    ValueError
        If there are none, or another number than the splitter says; if one is no pair,
        or a half of it selects nothing, or what does not exist. The message tells
        which.
    """
    n_splits = cv.get_n_splits(X, y, **split_params)
    listed = listed_folds(cv)
    splits = list(cv.split(X, y, **split_params)) if listed is None else listed
    if len(splits) != n_splits:
        raise ValueError(
            "cv.split and cv.get_n_splits return inconsistent results. "
            f"Expected {n_splits} splits, got {len(splits)}"
        )
    if not splits:
        raise ValueError(
            "No fits were performed. Was the CV iterator empty? "
            "Were there no candidates?"
        )
    n_samples = num_samples(X)
    drawn = []
    for k, split in enumerate(splits):
        try:
            train, test = (_indices(part, n_samples) for part in split)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"each fold of 'cv' must be a pair of training and test samples, got "
                f"fold {k}: {error}"
            ) from error
        drawn.append((train, test))
    return drawn


def _indices(part: Any, n_samples: int) -> IntArray:
    """Return the indices of the samples that one half of a fold selects.

    An array that is that already is not copied: folds of many samples are large.
    """
    is_plain = type(part) is np.ndarray and part.dtype == np.intp and part.ndim == 1
    if is_plain and part.size and part.min() >= 0 and part.max() < n_samples:
        return np.asarray(part)
    everyone = np.arange(n_samples)
    if isinstance(part, slice):
        return _some(everyone[part])
    listed = not hasattr(part, "__array__") and isinstance(part, Iterable)
    given = np.asarray(list(part) if listed else part)
    if given.dtype == object:  # as of pandas' types that know missing values
        given = np.asarray(given.tolist())
    if given.size and (given.ndim != 1 or given.dtype.kind not in "biu"):
        raise ValueError(f"neither indices nor a mask: {part!r}")
    if given.dtype == np.bool_ and len(given) != n_samples:
        raise ValueError(f"a mask of {len(given)} for {n_samples} samples")
    try:
        return _some(everyone[given] if given.size else everyone[:0])
    except IndexError as error:
        raise ValueError(f"{error}, in {part!r}") from None


def _some(indices: IntArray) -> IntArray:
    if not len(indices):
        raise ValueError("no samples are selected")
    return indices
