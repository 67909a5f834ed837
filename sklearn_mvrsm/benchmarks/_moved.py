"""Variants with the optimum moved: they unmask methods that start near it.

Many test functions have their optimum in the middle of the box, on its bounds
or at the first category, and some methods start just there.
"""

from collections.abc import Mapping
from dataclasses import replace
from zlib import crc32

import numpy as np

from sklearn_mvrsm.benchmarks._problem import Problem

# The real coordinates of the optimum move by at most this share of the span, and
# keep this share of it between themselves and the bounds.
REACH = 0.15
MARGIN = 0.05


def moved(problem: Problem, seed: int) -> Problem:
    """Return the problem with its optimum elsewhere in the same box.

    Every category and integer is shifted cyclically by a random amount, never
    zero. The reals are translated where the minimiser is known: the functions
    here are defined, and have no lower value, outside the box too.

    Parameters
    ----------
    problem : Problem
        A problem with a box.
    seed : int
        Decides the shifts, together with the problem's name.
    """
    box = problem.box
    if box is None:
        raise ValueError(f"problem {problem.name!r} has no moved variant")
    rng = np.random.default_rng((seed, crc32(problem.name.encode())))
    n = box.n_discrete
    lower = box.lower[:n]
    sizes = box.upper[:n] - lower + 1
    shift = np.floor(rng.uniform(1.0, sizes))
    translation = np.zeros(box.d - n)
    minimiser = None
    if problem.minimiser is not None:
        minimiser = box.to_array(problem.minimiser)
        low, high = box.lower[n:], box.upper[n:]
        span = high - low
        target = minimiser[n:] + rng.uniform(-REACH, REACH, box.d - n) * span
        target = np.clip(target, low + MARGIN * span, high - MARGIN * span)
        translation = target - minimiser[n:]
        minimiser[:n] = lower + (minimiser[:n] - lower - shift) % sizes
        minimiser[n:] = target

    def function(params: Mapping[str, object]) -> float:
        x = box.to_array(params)
        x[:n] = lower + (x[:n] - lower + shift) % sizes
        x[n:] -= translation
        return problem.evaluate(dict(zip(box.names, x.tolist(), strict=True)))

    return replace(
        problem,
        variant="moved",
        function=function,
        minimiser=None if minimiser is None else box.to_params(minimiser),
    )
