"""Which samples are held out: a share of each class, or whole groups."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sklearn_mvrsm._domain import IntArray

__all__ = ["of_each_class", "of_whole_groups"]


def of_each_class(y: npt.NDArray[Any], order: IntArray, n_held: int) -> IntArray:
    """Choose samples of every class in proportion, but never all of a class.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Labels.
    order : ndarray of shape (n_samples,)
        A permutation, which decides within a class.
    n_held : int
        How many to choose; one less for each class that would be used up.
    """
    y = y.astype(str) if y.ndim > 1 else y  # old numpy compares no rows of objects
    _, kinds = np.unique(y, axis=0 if y.ndim > 1 else None, return_inverse=True)
    kinds = kinds.reshape(-1)
    if y.ndim > 1:  # combinations that occur once count as one: none has to be fitted
        kinds = np.where(np.bincount(kinds)[kinds] == 1, kinds.max() + 1, kinds)
        _, kinds = np.unique(kinds, return_inverse=True)
    by_class = order[np.argsort(kinds[order], kind="stable")]
    steps = np.arange(len(y) + 1) * n_held // len(y)  # grows at n_held places, evenly
    chosen = by_class[np.diff(steps) > 0]
    left = np.bincount(kinds) - np.bincount(kinds[chosen], minlength=kinds.max() + 1)
    present, first = np.unique(kinds[chosen], return_index=True)
    return np.delete(chosen, first[left[present] == 0])


def of_whole_groups(
    labels: npt.NDArray[Any],
    groups: npt.NDArray[Any],
    rng: np.random.RandomState | None,
    n_held: int,
) -> npt.NDArray[np.bool_]:
    """Choose groups with samples of every class in proportion, never all of a class.

    Parameters
    ----------
    labels, groups : ndarray of shape (n_samples,)
        Class and group of each sample.
    rng : RandomState or None
        It orders the groups. None: by their last sample, the last one first.
    n_held : int
        How many samples to choose. A group is chosen if that comes nearer to it in
        the sum of squares over the classes; if none does, the one that is nearest.

    Returns
    -------
    ndarray of shape (n_samples,)
        Which samples are in the chosen groups.
    """
    _, kinds = np.unique(labels, return_inverse=True)
    _, places = np.unique(groups, return_inverse=True)
    counts = np.zeros((places.max() + 1, kinds.max() + 1))
    np.add.at(counts, (places, kinds), 1.0)
    last = np.zeros(len(counts))
    np.maximum.at(last, places, np.arange(len(places)))
    order = np.argsort(-last) if rng is None else rng.permutation(len(counts))
    fitted = counts.sum(axis=0)
    wanted = fitted * n_held / len(places)
    chosen = np.zeros(len(counts), dtype=np.bool_)
    usable = [g for g in order if (counts[g] < fitted)[counts[g] > 0].all()]
    for g in usable:
        nearer = ((wanted - counts[g]) ** 2).sum() < (wanted**2).sum()
        if nearer and (counts[g] < fitted)[counts[g] > 0].all():
            chosen[g] = True
            fitted, wanted = fitted - counts[g], wanted - counts[g]
        elif rng is None:
            break
    if not chosen.any() and usable:
        excess = [((wanted - counts[g]) ** 2).sum() for g in usable]
        chosen[usable[0 if rng is None else int(np.argmin(excess))]] = True
    return np.asarray(chosen[places])
