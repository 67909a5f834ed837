"""The span set: ridge splines whose mixed directions lie in few dimensions.

Like the paper's basis it keeps Theorem 1; ``_paper/splines.py`` has the notation.
"""

import math

import numpy as np

from sklearn_mvrsm._domain import Domain, FloatArray, IntArray
from sklearn_mvrsm._paper import (
    Direction,
    RidgeSplines,
    integer_directions,
    reach,
    stack,
)

__all__ = ["span_basis"]


MIXED_SIZE = 480  # mixed splines aimed at; the kinks are shared out among directions
MIXED_OFFSETS = (4, 16)  # fewest and most kinks per mixed direction
MIXED_WEIGHT = 3.0  # of mixed splines against integer ones, in unit coordinates
COMBINATIONS = 24  # of span vectors, more where there are more reals,
MOST_COMBINATIONS = 8  # and no more than these for each real,
COMBINED = 3  # of about so many span vectors
LARGE_D = 40  # above, integer directions have one sign an offset instead of both
LEAST_NORM = 1e-12  # of a combination, so that it can be divided by
INTEGER_LEAK = 0.3  # size of the random integer part of each span vector
THINNEST = 1e-300  # width of a real coordinate


def span_basis(
    domain: Domain, rng: np.random.Generator, relevance: FloatArray
) -> tuple[RidgeSplines, IntArray]:
    """Draw the span set: many mixed directions in the span of ``d_c`` vectors.

    Span vectors ``b_j = (w_j, e_j)``, one real axis each with a weak random integer
    part; then sparse random combinations of about three of them, L1-normalised. All
    mixed directions lie in a space of dimension ``d_c``, so Theorem 1 holds word for
    word. Features are in units of each variable's span and scaled by its relevance.

    Parameters
    ----------
    domain : Domain
    rng : numpy.random.Generator
        Source of directions and offsets, advanced by an amount that does not depend
        on the relevance.
    relevance : ndarray of shape (d,)
        Positive scale of each coordinate, 1 where all matter alike.

    Returns
    -------
    basis : RidgeSplines
    kind : ndarray of shape (D,)
        0 for splines of one integer, 1 of a pair of integers, 2 of one span vector,
        3 of a combination.
    """
    singles, pairs = integer_directions(domain)
    if domain.d > LARGE_D:
        singles, pairs = _one_sided(singles), _one_sided(pairs)
    groups = [
        [_in_units(domain, direction, relevance) for direction in integer]
        for integer in (singles, pairs)
    ]
    axes, combinations = _span_vectors(domain, rng)
    kinks = round(MIXED_SIZE / max(len(axes) + len(combinations), 1))
    kinks = min(max(kinks, MIXED_OFFSETS[0]), MIXED_OFFSETS[1])
    for vectors in (axes, combinations):
        groups.append(_mixed_directions(domain, rng, vectors, relevance, kinks))
    basis = stack([direction for group in groups for direction in group], domain.d)
    sizes = [sum(len(direction.signs) for direction in group) for group in groups]
    return basis, np.repeat(np.arange(4), sizes)


def _one_sided(directions: list[Direction]) -> list[Direction]:
    """Keep one sign an offset: with both ends' slopes it spans the same functions.

    ``max(0, -z) = max(0, z) - z``, so beside a slope the second sign adds nothing but
    a more even prior, at twice the cost.
    """
    kept = []
    for direction in directions:
        lowest = direction.offsets.min()
        keep = (direction.signs < 0.0) | (direction.offsets == lowest)
        kept.append(
            Direction(direction.vector, direction.signs[keep], direction.offsets[keep])
        )
    return kept


def _in_units(domain: Domain, direction: Direction, relevance: FloatArray) -> Direction:
    touched = direction.vector != 0.0
    width = domain.span[touched].sum()
    factor = np.sqrt(np.mean(relevance[touched] ** 2)) / width
    # few digits, so that products with integers are exact and kinks exactly on them
    factor = float(np.float32(factor))
    vector, offsets = direction.vector * factor, direction.offsets * factor
    return Direction(vector, direction.signs, offsets)


def _span_vectors(
    domain: Domain, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return span vectors and their combinations, in unit coordinates."""
    n_real, n_integer = domain.n_real, domain.n_integer
    axes = np.zeros((n_real, domain.d))
    axes[:, domain.real] = np.eye(n_real)
    leak = rng.uniform(-1.0, 1.0, (n_real, n_integer))
    axes[:, domain.integer] = INTEGER_LEAK * leak / max(n_integer, 1)
    count = min(MOST_COMBINATIONS * n_real, max(COMBINATIONS, n_real))
    count = 0 if n_real < 2 else count
    mix = rng.normal(size=(count, n_real))
    mix *= rng.random((count, n_real)).argsort(axis=1) < COMBINED
    mix /= np.maximum(np.abs(mix).sum(axis=1, keepdims=True), LEAST_NORM)
    return axes, mix @ axes


def _mixed_directions(
    domain: Domain,
    rng: np.random.Generator,
    vectors: FloatArray,
    relevance: FloatArray,
    kinks: int,
) -> list[Direction]:
    # what is too narrow to divide by counts as a single value
    width = np.where(domain.span > THINNEST, domain.span, 1.0)
    scale = MIXED_WEIGHT / math.sqrt(max(domain.d, 1))
    signs = np.where(np.arange(kinks) % 2 == 0, 1.0, -1.0)
    directions = []
    shares = rng.random((len(vectors), kinks))
    for vector, share in zip(vectors, shares, strict=True):
        scaled = scale * vector * relevance / width
        low, high = reach(domain, scaled)
        # one offset in each of as many equal strips, so the kinks cover the box
        strip = (np.arange(kinks) + share) / kinks
        directions.append(Direction(scaled, signs, low + strip * (high - low)))
    return directions
