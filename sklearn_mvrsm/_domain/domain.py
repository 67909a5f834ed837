"""The box in which the optimiser works: categories, integers and reals, without names.

Notation
--------
``d`` is the number of coordinates. A *point* is a float64 vector of shape ``(d,)``:
category codes ``0 .. size - 1`` first, then integers, then reals. Every function
takes one point of shape ``(d,)`` or a stack of points of shape ``(n, d)``.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "Domain", "FloatArray", "IntArray", "Region", "redraw"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

_EXACT = 2**53  # beyond this, neighbouring integers share one float64


@dataclass(frozen=True)
class Domain:
    """Sizes and bounds of a mixed-variable box.

    Parameters
    ----------
    category_sizes : tuple of int
        Number of categories of each categorical coordinate, at least 1.
    integer_bounds : tuple of (int, int)
        Smallest and largest value of each integer coordinate, both included.
    real_bounds : tuple of (float, float)
        Ends of each real coordinate, both included.

    Raises
    ------
    ValueError
        For a category without values, a lower bound above its upper one, a bound or
        a width that is not finite, an integer that a float64 cannot tell from its
        neighbours.

    Notes
    -----
    ``low == high`` is legal and means a coordinate with one value. A domain without
    coordinates is legal too: it holds exactly one, empty, point.

    Examples
    --------
    >>> domain = Domain((3,), ((1, 9),), ((0.0, 1.0),))
    >>> domain.round(np.array([0.6, 20.0, -0.1]))
    array([1., 9., 0.])
    """

    category_sizes: tuple[int, ...] = ()
    integer_bounds: tuple[tuple[int, int], ...] = ()
    real_bounds: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        """Check the bounds."""
        for size in self.category_sizes:
            if size < 1:
                raise ValueError(f"A category size must be >= 1, got {size}")
        for low, high in self.integer_bounds:
            if not -_EXACT <= low <= high <= _EXACT:
                raise ValueError(
                    "Integer bounds must satisfy -2**53 <= low <= high <= 2**53, "
                    f"got low={low}, high={high}"
                )
        for left, right in self.real_bounds:
            if not (left <= right and math.isfinite(right - left)):
                raise ValueError(
                    "Real bounds must be finite with low <= high and a finite width, "
                    f"got low={left}, high={right}"
                )

    def __reduce__(self) -> tuple[type["Domain"], tuple[object, ...]]:
        """Pickle the bounds alone; what is derived is computed again."""
        return Domain, (self.category_sizes, self.integer_bounds, self.real_bounds)

    @cached_property
    def n_categorical(self) -> int:
        """Number of categorical coordinates."""
        return len(self.category_sizes)

    @cached_property
    def n_integer(self) -> int:
        """Number of integer coordinates."""
        return len(self.integer_bounds)

    @cached_property
    def n_real(self) -> int:
        """Number of real coordinates."""
        return len(self.real_bounds)

    @cached_property
    def d(self) -> int:
        """Number of coordinates."""
        return self.n_categorical + self.n_integer + self.n_real

    @cached_property
    def categorical(self) -> slice:
        """Where the categorical coordinates are."""
        return slice(0, self.n_categorical)

    @cached_property
    def integer(self) -> slice:
        """Where the integer coordinates are."""
        return slice(self.n_categorical, self.n_categorical + self.n_integer)

    @cached_property
    def real(self) -> slice:
        """Where the real coordinates are."""
        return slice(self.n_categorical + self.n_integer, self.d)

    @cached_property
    def lower(self) -> FloatArray:
        """Smallest value of each coordinate, shape ``(d,)``, read-only."""
        integers = [low for low, _ in self.integer_bounds]
        reals = [low for low, _ in self.real_bounds]
        return _frozen([0] * self.n_categorical + integers + reals)

    @cached_property
    def upper(self) -> FloatArray:
        """Largest value of each coordinate, shape ``(d,)``, read-only."""
        categories = [size - 1 for size in self.category_sizes]
        integers = [high for _, high in self.integer_bounds]
        reals = [high for _, high in self.real_bounds]
        return _frozen(categories + integers + reals)

    @cached_property
    def span(self) -> FloatArray:
        """``upper - lower``, shape ``(d,)``, read-only."""
        return _frozen(self.upper - self.lower)

    @cached_property
    def neutral(self) -> FloatArray:
        """Where unused coordinates rest, shape ``(d,)``, read-only.

        Category 0, the middle integer (the lower of two), the middle real.
        """
        middle = self.lower + self.span / 2
        middle[self.categorical] = 0.0
        middle[self.integer] = np.floor(middle[self.integer])
        return _frozen(middle)

    def clip(self, x: FloatArray) -> FloatArray:
        """Move every coordinate to the nearest value inside its bounds."""
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def round(self, x: FloatArray) -> FloatArray:
        """Return the nearest point: whole categories and integers, reals clipped.

        Halves go up, so that every value between two ends owns an interval of the
        same length.
        """
        nearest = self.clip(x)
        discrete = nearest[..., : self.n_categorical + self.n_integer]
        whole = np.floor(discrete)
        whole += discrete - whole >= 0.5  # exact; floor(x + 0.5) is not
        discrete[...] = whole
        return nearest

    def sample(self, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw points uniformly; each category and integer has the same chance.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness, advanced.
        n : int or None
            Number of points; None draws a single one.

        Returns
        -------
        ndarray of shape (d,) or (n, d)
        """
        x = np.empty((1 if n is None else n, self.d))
        split = self.n_categorical + self.n_integer
        low, high = self.lower, self.upper
        if split > 0:
            x[:, :split] = rng.integers(
                low[:split].astype(np.int64),
                high[:split].astype(np.int64),
                size=(len(x), split),
                endpoint=True,
            )
        if self.n_real > 0:
            share = rng.random((len(x), self.n_real))
            x[:, split:] = low[split:] + share * self.span[split:]
        x = self.clip(x)
        return x[0] if n is None else x

    def relaxed(self) -> "Domain":
        """Return the domain in which each category is an integer ``0 .. size - 1``.

        Coordinates keep their places, so points of one are points of the other.
        """
        codes = tuple((0, size - 1) for size in self.category_sizes)
        return Domain((), codes + self.integer_bounds, self.real_bounds)


def _frozen(values: npt.ArrayLike) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


class Region(Protocol):
    """The part of a box that holds configurations: what a method sees of a space."""

    @property
    def domain(self) -> Domain:
        """The box."""

    def canonical(self, points: FloatArray, /) -> FloatArray:
        """Return the one representative of each point's configuration."""
        ...

    def active(self, points: FloatArray, /) -> BoolArray:
        """Return which coordinates of each point exist."""
        ...

    def feasible(self, point: FloatArray, /) -> bool:
        """Return whether one point is allowed."""
        ...


def redraw(
    region: Region, points: FloatArray, active: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Draw uniform values of the coordinates that have come into existence.

    Parameters
    ----------
    region : Region
    points : ndarray of shape (n, d)
    active : ndarray of bool of shape (n, d) or (d,)
        What existed before the points were changed.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, d)
        Canonical points.
    """
    points = region.canonical(points)
    known = active
    for _ in range(region.domain.d):  # a new parent can bring new children
        exists = region.active(points)
        fresh = exists & ~known
        if not fresh.any():
            break
        uniform = region.domain.sample(rng, len(points))
        points = region.canonical(np.where(fresh, uniform, points))
        known = known | exists
    return points
