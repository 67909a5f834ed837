"""What a step costs as observations become more and more: it must not grow for ever.

``python -m sklearn_mvrsm.benchmarks.long_run`` tells an optimiser of ten mixed
parameters 10,000 values, and prints the CPU time of a step and the memory of the
process on the way. In each thousand, all but the last steps are told at random points.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sklearn_mvrsm import Categorical, Integer, MVRSMOptimizer, Real
from sklearn_mvrsm.benchmarks._optional import require

MEGABYTE = 1e6


@dataclass(frozen=True)
class Stage:
    """A part of the run.

    Attributes
    ----------
    n_told : int
        Values told until its end.
    step : float
        CPU seconds of asking and telling, median of its steps.
    memory : float
        Resident set of the process at its end, in MB.
    best : float
        Lowest value so far.
    """

    n_told: int
    step: float
    memory: float
    best: float


def space() -> dict[str, object]:
    """Return two categories, three integers and five reals."""
    return {
        **{f"c{k}": Categorical(["a", "b", "c"]) for k in range(2)},
        **{f"i{k}": Integer(-5, 10) for k in range(3)},
        **{f"x{k}": Real(-5.0, 10.0) for k in range(5)},
    }


def bowl(params: Mapping[str, Any]) -> float:
    """Return a quadratic of the numbers, and what the wrong categories cost."""
    numbers = sum((v - 3.0) ** 2 for k, v in params.items() if not k.startswith("c"))
    return float(numbers + 5.0 * (params["c0"] != "b") + 3.0 * (params["c1"] != "c"))


def stages(
    n_stages: int, n_told: int, n_steps: int, random_state: int = 0
) -> Iterator[Stage]:
    """Yield what each stage of a run costs.

    Parameters
    ----------
    n_stages : int
    n_told : int
        Values of a stage.
    n_steps : int
        How many of them are told where the optimiser proposes, at the end.
    random_state : int
    """
    process = require("psutil", "psutil").Process()
    optimizer = MVRSMOptimizer(space(), random_state=random_state)
    best = float("inf")
    for k in range(n_stages):
        drawn = optimizer.space.sample(n_told - n_steps, random_state=random_state + k)
        for params in drawn:
            optimizer.tell(params, value := bowl(params))
            best = min(best, value)
        seconds = []
        for _ in range(n_steps):
            start = time.process_time()
            params = optimizer.ask()
            optimizer.tell(params, value := bowl(params))
            seconds.append(time.process_time() - start)
            best = min(best, value)
        memory = process.memory_info().rss / MEGABYTE
        yield Stage((k + 1) * n_told, median(seconds), memory, best)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    program = argparse.ArgumentParser(description=__doc__)
    program.add_argument("--stages", type=int, default=10)
    program.add_argument("--told", type=int, default=1000, help="values of a stage")
    program.add_argument("--steps", type=int, default=50, help="proposed ones of them")
    options = program.parse_args(arguments)
    print(f"{'values told':>11}{'ms a step':>11}{'memory, MB':>12}{'best value':>12}")
    for stage in stages(options.stages, options.told, options.steps):
        print(
            f"{stage.n_told:11d}{1e3 * stage.step:11.1f}{stage.memory:12.0f}"
            f"{stage.best:12.3g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
