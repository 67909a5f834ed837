"""What a benchmark problem is, and the meter through which a method sees it.

A `Problem` is data: a space, a function of ``params`` to be minimised, and what
is known of it. A `Meter` is one run: it counts evaluations, adds the problem's
noise and tells the method's own time from the time of the objective.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_mvrsm import Categorical, Integer, Real, SearchSpace

Params = dict[str, Any]


@dataclass(frozen=True)
class Box:
    """An unconditional mixed space, in the order of plain arrays.

    An array that belongs to the box holds the category codes (0 .. size - 1)
    first, then the integers, then the reals.

    Parameters
    ----------
    categories : tuple of int
        Number of values of each category.
    integers : tuple of (low, high)
        Bounds of each integer, both included.
    reals : tuple of (low, high)
        Bounds of each real, both included.
    """

    categories: tuple[int, ...] = ()
    integers: tuple[tuple[int, int], ...] = ()
    reals: tuple[tuple[float, float], ...] = ()

    @property
    def d(self) -> int:
        """Number of variables."""
        return len(self.categories) + len(self.integers) + len(self.reals)

    @property
    def n_discrete(self) -> int:
        """Number of categories and integers; they come first in an array."""
        return len(self.categories) + len(self.integers)

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds, shape (d,)."""
        bounds = [*((0, k - 1) for k in self.categories), *self.integers, *self.reals]
        return np.array([low for low, _ in bounds], dtype=float)

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """Upper bounds, shape (d,)."""
        bounds = [*((0, k - 1) for k in self.categories), *self.integers, *self.reals]
        return np.array([high for _, high in bounds], dtype=float)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Parameter names: h0.. for categories, i0.. integers, x0.. reals."""
        return (
            *(f"h{j}" for j in range(len(self.categories))),
            *(f"i{j}" for j in range(len(self.integers))),
            *(f"x{j}" for j in range(len(self.reals))),
        )

    def space(self) -> SearchSpace:
        """Return the box as a `SearchSpace`."""
        parameters = (
            *(Categorical(tuple(range(k))) for k in self.categories),
            *(Integer(low, high) for low, high in self.integers),
            *(Real(low, high) for low, high in self.reals),
        )
        return SearchSpace(dict(zip(self.names, parameters, strict=True)))

    def to_array(self, params: Mapping[str, object]) -> NDArray[np.float64]:
        """Return the values of ``params`` as an array of shape (d,)."""
        return np.array([params[name] for name in self.names], dtype=float)

    def to_params(self, x: ArrayLike) -> Params:
        """Return an array of shape (d,) as params; the inverse of `to_array`."""
        n = self.n_discrete
        values = np.asarray(x, dtype=float).tolist()
        numbers = [round(v) if j < n else v for j, v in enumerate(values)]
        return dict(zip(self.names, numbers, strict=True))


@dataclass(frozen=True)
class Problem:
    """A function of named parameters to be minimised.

    Parameters
    ----------
    name : str
        The registered name, for example ``"rosenbrock10"``.
    space : SearchSpace
        Where the params live.
    function : callable
        ``function(params) -> float``, free of noise.
    budget : int
        Evaluations after the initial points.
    variant : str, default="original"
        ``"original"`` or ``"moved"``.
    n_initial : int, default=24
        Uniform random points that every method is given first; 0 where each brings
        its own.
    noise : float, default=0.0
        A run adds uniform noise in [0, noise] to every value.
    optimum : float or None, default=None
        The least value, where it is known.
    typical : float or None, default=None
        The median value of random params, where it is known.
    minimiser : dict or None, default=None
        Params at which the optimum is attained, where they are known.
    box : Box or None, default=None
        The space as a box, for problems that also work on plain arrays.
    first : callable, default=list
        Returns params that are worth trying first: the model as it comes, and
        what was learned elsewhere; none if nothing is known.
    outer : callable or None, default=None
        ``outer(params) -> float``, the value on data that are not searched on.
    """

    name: str
    space: SearchSpace
    function: Callable[[Mapping[str, Any]], float]
    budget: int
    variant: str = "original"
    n_initial: int = 24
    noise: float = 0.0
    optimum: float | None = None
    typical: float | None = None
    minimiser: Params | None = None
    box: Box | None = None
    first: Callable[[], Sequence[Params]] = list
    outer: Callable[[Params], float] | None = None

    def evaluate(self, params: Mapping[str, object]) -> float:
        """Return the value at ``params``, without noise."""
        return float(self.function(params))

    def evaluate_array(self, x: ArrayLike) -> float:
        """Return the value at an array of shape (d,), without noise.

        Parameters
        ----------
        x : array-like of shape (d,)
            Categories as places, then integers, then reals.

        Raises
        ------
        TypeError
            If the problem has no `box`.
        """
        if self.box is None:
            raise TypeError(f"problem {self.name!r} has no plain array form")
        return self.evaluate(self.box.to_params(x))

    def initial_points(self, seed: int) -> list[Params]:
        """Return the `n_initial` random points of run ``seed``."""
        return self.space.sample(self.n_initial, random_state=seed)


def _same(params: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two params agree; some peers keep 13 decimals of a float."""
    return params.keys() == other.keys() and all(
        isclose(params[name], value, rel_tol=1e-9, abs_tol=1e-9)
        if isinstance(value, float)
        else params[name] == value
        for name, value in other.items()
    )


class BudgetSpent(Exception):
    """The run has had all its evaluations; methods may let it pass through."""


@dataclass
class Meter:
    """One run of a method on a problem.

    A method calls `evaluate` for the params it wants to know. Once the budget
    is used up, `evaluate` raises `BudgetSpent`, so that a method that has no
    argument for its budget need not count.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    budget : int
        Evaluations after the initial points.
    seed : int
        Number of the run; it decides the initial points and the noise.

    Attributes
    ----------
    values : list of float
        One a evaluation, in order, noise included.
    own_seconds : list of float
        CPU seconds that this process spent between the end of the previous
        evaluation and the start of this one: the method's own time.
    objective_seconds : float
        Wall seconds spent in the objective so far.
    winner : dict
        The params of the least value so far.
    """

    problem: Problem
    budget: int
    seed: int
    values: list[float] = field(default_factory=list)
    own_seconds: list[float] = field(default_factory=list)
    objective_seconds: float = 0.0
    winner: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Draw the noise and start the clock."""
        rng = np.random.default_rng((self.seed, 1))
        self._noise = rng.uniform(0.0, self.problem.noise, self.limit).tolist()
        self._initial = self.problem.initial_points(self.seed)
        self._resumed = time.process_time()

    @property
    def limit(self) -> int:
        """Evaluations in all, initial points included."""
        return self.problem.n_initial + self.budget

    @property
    def space(self) -> SearchSpace:
        """The problem's space."""
        return self.problem.space

    def initial_points(self, seed: int) -> list[Params]:
        """Return the initial points of run ``seed``; a method evaluates them first."""
        if seed == self.seed:
            return [dict(params) for params in self._initial]
        return self.problem.initial_points(seed)

    def evaluate(self, params: Mapping[str, object]) -> float:
        """Return the noisy value at ``params`` and record it.

        Raises
        ------
        BudgetSpent
            If all evaluations have been made.
        ValueError
            If the first evaluations are not of the initial points, in order.
        """
        own = time.process_time() - self._resumed
        index = len(self.values)
        if index >= self.limit:
            raise BudgetSpent(f"all {self.limit} evaluations have been made")
        if index < len(self._initial) and not _same(params, self._initial[index]):
            raise ValueError(
                f"evaluation {index} must be of the initial point "
                f"{self._initial[index]}, got {dict(params)}"
            )
        started = time.monotonic()
        noise: float = self._noise[index]
        value = self.problem.evaluate(params) + noise
        self.objective_seconds += time.monotonic() - started
        if not self.values or value < np.nanmin(self.values):
            self.winner = dict(params)
        self.values.append(value)
        self.own_seconds.append(own)
        self._resumed = time.process_time()
        return value
