"""Own time of a step of our methods, at given sizes of space and history."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_mvrsm import MVRSMOptimizer
from sklearn_mvrsm.benchmarks._registry import make_problem

PROBLEMS = {10: "rosenbrock10", 53: "ackley53", 238: "rosenbrock238"}
SIZES = (50, 200, 1000)
REPEATS = 11


@dataclass(frozen=True)
class StepTime:
    """CPU milliseconds of one ask and tell.

    Parameters
    ----------
    method : str
    d : int
        Variables.
    n : int
        Evaluations known before the step.
    median, largest : float
        Over the steps measured.
    """

    method: str
    d: int
    n: int
    median: float
    largest: float


def measure(
    methods: Sequence[str] = ("mvrsm", "paper"),
    dimensions: Sequence[int] = tuple(PROBLEMS),
    sizes: Sequence[int] = SIZES,
    repeats: int = REPEATS,
) -> Iterator[StepTime]:
    """Measure steps from n - repeats // 2 on, in real runs of the optimiser.

    Parameters
    ----------
    methods : sequence of str
        Names that `MVRSMOptimizer` knows.
    dimensions : sequence of int
        10, 53 or 238.
    sizes : sequence of int
        Evaluations known.
    repeats : int
        Steps whose median is taken.

    Yields
    ------
    StepTime
    """
    for method in methods:
        for d in dimensions:
            milliseconds = _run(method, d, max(sizes) + repeats)
            for n in sizes:
                first = max(0, n - repeats // 2)
                window = milliseconds[first : first + repeats]
                median, largest = float(np.median(window)), float(np.max(window))
                yield StepTime(method, d, n, median, largest)


def _run(method: str, d: int, n_steps: int) -> list[float]:
    """Return the CPU milliseconds of each of the first steps of a run."""
    problem = make_problem(PROBLEMS[d])
    optimizer = MVRSMOptimizer(
        problem.space, method=method, n_initial_points=24, random_state=0
    )
    milliseconds = []
    for _ in range(n_steps):
        started = time.process_time()
        params = optimizer.ask()
        asked = time.process_time()
        value = problem.evaluate(params)
        resumed = time.process_time()
        optimizer.tell(params, value)
        own = asked - started + time.process_time() - resumed
        milliseconds.append(1e3 * own)
    return milliseconds
