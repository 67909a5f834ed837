"""The span set: ridge splines whose mixed directions lie in few dimensions.

Like the paper's basis it keeps Theorem 1; ``_paper/splines.py`` has the notation.
"""

import math
from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm._domain import Domain, FloatArray, IntArray
from sklearn_mvrsm._paper import (
    Direction,
    RidgeSplines,
    integer_directions,
    stack,
)

__all__ = ["SpanSet", "span_basis"]


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


@dataclass(frozen=True, eq=False)
class SpanSet:
    """What the span set draws; it is the same for every relevance.

    Parameters
    ----------
    domain : Domain
    integer : RidgeSplines
        Splines of integers, in units of the coordinates.
    mixed : ndarray of shape (m, d)
        Span vectors and their combinations, in unit coordinates.
    strips : ndarray of shape (m, kinks)
        Where the kinks of each are, as shares of what it reaches.
    kind : ndarray of shape (D,)
        0 for splines of one integer, 1 of a pair of integers, 2 of one span vector,
        3 of a combination.
    """

    domain: Domain
    integer: RidgeSplines
    mixed: FloatArray
    strips: FloatArray
    kind: IntArray

    @classmethod
    def draw(cls, domain: Domain, rng: np.random.Generator) -> "SpanSet":
        """Draw span vectors, combinations and kinks."""
        singles, pairs = integer_directions(domain)
        if domain.d > LARGE_D:
            singles, pairs = _one_sided(singles), _one_sided(pairs)
        axes, combinations = _span_vectors(domain, rng)
        mixed = np.concatenate([axes, combinations])
        kinks = round(MIXED_SIZE / max(len(mixed), 1))
        kinks = min(max(kinks, MIXED_OFFSETS[0]), MIXED_OFFSETS[1])
        # one offset in each of as many equal strips, so the kinks cover the box
        strips = (np.arange(kinks) + rng.random((len(mixed), kinks))) / kinks
        sizes = [sum(len(each.signs) for each in group) for group in (singles, pairs)]
        sizes += [kinks * len(axes), kinks * len(combinations)]
        kind = np.repeat(np.arange(len(sizes)), sizes)
        return cls(domain, stack(singles + pairs, domain.d), mixed, strips, kind)

    def scaled(self, relevance: FloatArray) -> RidgeSplines:
        """Return the splines, scaled by a positive relevance of each coordinate."""
        domain, integer = self.domain, self.integer
        touched = integer.directions != 0.0
        mean = touched @ relevance**2 / np.maximum(touched.sum(axis=1), 1)
        factor = np.sqrt(mean) / (touched @ domain.span)
        # few digits, so that products with integers are exact and kinks exactly on them
        factor = factor.astype(np.float32).astype(np.float64)
        # what is too narrow to divide by counts as a single value
        width = np.where(domain.span > THINNEST, domain.span, 1.0)
        scale = MIXED_WEIGHT / math.sqrt(max(domain.d, 1))
        mixed = scale * self.mixed * relevance / width
        ends = np.sort([mixed * domain.lower, mixed * domain.upper], axis=0)
        low, high = ends.sum(axis=2)[:, :, np.newaxis]  # as `reach`
        m, kinks = self.strips.shape
        group = np.repeat(np.arange(m), kinks) + len(integer.directions)
        signs = np.where(np.arange(kinks) % 2 == 0, 1.0, -1.0)
        offset = low + self.strips * (high - low)
        return RidgeSplines(
            np.concatenate([integer.directions * factor[:, np.newaxis], mixed]),
            np.concatenate([integer.group, group]),
            np.concatenate([integer.sign, np.tile(signs, m)]),
            np.concatenate([integer.offset * factor[integer.group], offset.ravel()]),
        )


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
    drawn = SpanSet.draw(domain, rng)
    return drawn.scaled(relevance), drawn.kind


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
