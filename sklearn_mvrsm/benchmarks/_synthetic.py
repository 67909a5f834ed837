"""The synthetic problems of the paper, and one each without reals and integers."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm.benchmarks._functions import (
    MiVaBOFunction,
    ackley,
    func3c,
    hartmann6,
    rosenbrock,
    six_hump_camel,
)
from sklearn_mvrsm.benchmarks._problem import Box, Problem

ArrayFunction = Callable[[NDArray[np.float64]], float]

NOISE = 1e-6


def on_box(
    name: str,
    box: Box,
    function: ArrayFunction,
    budget: int,
    *,
    n_initial: int = 24,
    noise: float = 0.0,
    optimum: float | None = None,
    minimiser: NDArray[np.float64] | None = None,
) -> Problem:
    """Return a problem whose function takes plain arrays of a box.

    Parameters
    ----------
    name, budget, n_initial, noise, optimum
        As in `Problem`.
    box : Box
        Where the arrays live.
    function : callable
        ``function(x) -> float`` for x of shape (d,).
    minimiser : ndarray of shape (d,) or None
        Where the optimum is, if known.
    """

    def of_params(params: Mapping[str, object]) -> float:
        return function(box.to_array(params))

    return Problem(
        name=name,
        space=box.space(),
        function=of_params,
        budget=budget,
        n_initial=n_initial,
        noise=noise,
        optimum=optimum,
        minimiser=None if minimiser is None else box.to_params(minimiser),
        box=box,
    )


def make_func3c() -> Problem:
    """Return Func3C: 3 categories (3, 5, 4 values), 2 reals; 200 evaluations."""
    camel = np.array([0.08984201, -0.71265640])  # the camel's minimum, -1.0316285
    return on_box(
        "func3c",
        Box((3, 5, 4), (), ((-1.0, 1.0),) * 2),
        func3c,
        200,
        noise=NOISE,
        optimum=0.7 * six_hump_camel(*camel),
        minimiser=np.array([1.0, 1.0, 0.0, *(camel / 2.0)]),
    )


def make_rosenbrock(n_integer: int, n_real: int, scale: float, budget: int) -> Problem:
    """Return a Rosenbrock problem of integers -2..2, then reals in [-2, 2].

    Parameters
    ----------
    n_integer, n_real : int
        Number of variables of each kind.
    scale : float
        The function is divided by it: 300 for 10 variables, 50000 for 238.
    budget : int
        Evaluations after the initial points.
    """
    d = n_integer + n_real
    return on_box(
        f"rosenbrock{d}",
        Box((), ((-2, 2),) * n_integer, ((-2.0, 2.0),) * n_real),
        lambda x: rosenbrock(x) / scale,
        budget,
        noise=NOISE,
        optimum=0.0,
        minimiser=np.ones(d),
    )


def make_mivabo(n_integer: int, n_real: int, instance: int, budget: int) -> Problem:
    """Return a MiVaBO instance: integers 0..3, reals in [0, 3]."""
    d = n_integer + n_real
    return on_box(
        f"mivabo{d}-{instance}",
        Box((), ((0, 3),) * n_integer, ((0.0, 3.0),) * n_real),
        MiVaBOFunction(n_integer, n_real, instance),
        budget,
    )


def make_ackley53(*, categorical: bool) -> Problem:
    """Return Ackley53: 50 binaries and 3 reals in [-1, 1]; 200 evaluations.

    Parameters
    ----------
    categorical : bool
        Whether the binaries are declared as categories or as integers 0..1.
    """
    reals = ((-1.0, 1.0),) * 3
    box = Box((2,) * 50, (), reals) if categorical else Box((), ((0, 1),) * 50, reals)
    return on_box(
        "ackley53-categories" if categorical else "ackley53",
        box,
        ackley,
        200,
        noise=NOISE,
        optimum=0.0,
        minimiser=np.zeros(53),
    )


def make_rosenbrock_integer10() -> Problem:
    """Return the all-integer case: Rosenbrock on 10 integers -5..10."""
    d, low, high = 10, -5, 10
    scale = d * (100.0 * (high - low**2) ** 2 + (high - 1.0) ** 2)
    return on_box(
        "rosenbrock-integer10",
        Box((), ((low, high),) * d, ()),
        lambda x: rosenbrock(x) / scale,
        200,
        optimum=0.0,
        minimiser=np.ones(d),
    )


def make_hartmann6() -> Problem:
    """Return the all-real case: Hartmann's function of 6 reals in [0, 1]."""
    minimiser = np.array(
        [0.20168951, 0.15001069, 0.47687397, 0.27533243, 0.31165162, 0.65730053]
    )
    return on_box(
        "hartmann6",
        Box((), (), ((0.0, 1.0),) * 6),
        hartmann6,
        100,
        optimum=hartmann6(minimiser),
        minimiser=minimiser,
    )
