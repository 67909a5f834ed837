"""Normalised regret of several methods over real tuning problems.

The regret of a run after k evaluations is the share of the way from the best value
known (0) to the median value of random params (1) that is left. Both ends are the
problem's own where it knows them, and otherwise those of the runs that are compared:
the least value of all, and the median of the values that the method ``random`` found.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm.benchmarks._registry import make_problem
from sklearn_mvrsm.benchmarks._store import Run

AFTER = (10, 15, 25, 50, 100)
UNTUNED = "mvrsm-portfolio"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Regret:
    """How a method fares after some evaluations.

    Parameters
    ----------
    method : str
    after : int
        Evaluations.
    mean, error : float
        Mean regret over the problems, each problem's runs averaged first, and the
        standard error of that mean over the problems.
    ahead : float
        Mean difference to the reference method, positive where the reference is better,
        in standard errors over the problems; nan for the reference itself.
    n_problems, n_runs : int
        How many the method has.
    below : float
        Share of its runs that are behind the model as it comes, which is the first
        evaluation of `UNTUNED`; nan if that has no runs.
    outer : float
        Mean loss of the winners on data that were not searched on; of whole runs only.
    """

    method: str
    after: int
    mean: float
    error: float
    ahead: float
    n_problems: int
    n_runs: int
    below: float
    outer: float


def regrets(
    runs: Sequence[Run], *, reference: str, after: Iterable[int] = AFTER
) -> list[Regret]:
    """Return the regrets of each method, least first, after each number of evaluations.

    Parameters
    ----------
    runs : sequence of Run
        With runs of the method ``random`` where problems do not know their ends.
    reference : str
        The method that the others are compared with, problem by problem.
    after : iterable of int
        Numbers of evaluations; those that no run has are left out.
    """
    ends = _ends(runs)
    untuned = {r.task.problem: r.values[0] for r in runs if r.task.method == UNTUNED}
    found: list[Regret] = []
    for k in after:
        means = _means(runs, ends, k)
        base = means.get(reference, {})
        rows = []
        for method, by_problem in means.items():
            values = np.array(list(by_problem.values()))
            shared = by_problem.keys() & base.keys()
            gap = np.array([by_problem[name] - base[name] for name in sorted(shared)])
            error = _error(gap)
            own = [r for r in runs if r.task.method == method and len(r.values) >= k]
            below = [
                bool(r.best[k - 1] > untuned[r.task.problem] + 1e-12)
                for r in own
                if r.task.problem in untuned
            ]
            outer = [r.outer for r in own if len(r.values) == k]
            rows.append(
                Regret(
                    method,
                    k,
                    float(values.mean()),
                    _error(values),
                    float(gap.mean() / error) if error > 0.0 else np.nan,
                    len(values),
                    len(own),
                    float(np.mean(below)) if below else np.nan,
                    float(np.mean(outer)) if outer else np.nan,
                )
            )
        found += sorted(rows, key=lambda row: row.mean)
    return found


def _means(
    runs: Iterable[Run], ends: dict[str, tuple[float, float]], k: int
) -> dict[str, dict[str, float]]:
    """Return the mean regret after k evaluations by method and problem."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if len(run.values) < k:
            continue
        low, typical = ends[run.task.problem]
        best = float(run.best[k - 1])
        regret = (best - low) / (typical - low) if np.isfinite(best) else 1.0
        values[run.task.method][run.task.problem].append(min(regret, 1.0))
    return {
        method: {problem: float(np.mean(each)) for problem, each in by_problem.items()}
        for method, by_problem in values.items()
    }


def _ends(runs: Iterable[Run]) -> dict[str, tuple[float, float]]:
    """Return the best and the median random value of each problem."""
    by_problem: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_problem[run.task.problem].append(run)
    ends = {}
    for name, found in by_problem.items():
        problem = make_problem(name)
        low = problem.optimum
        if low is None:
            low = min(float(np.nanmin(run.values)) for run in found)
        typical = problem.typical
        if typical is None:
            drawn = [run.values for run in found if run.task.method == "random"]
            if not drawn:
                raise ValueError(f"{name!r} needs runs of the method 'random'")
            typical = float(np.nanmedian(np.concatenate(drawn)))
        ends[name] = low, max(typical, np.nextafter(low, np.inf))
    return ends


def _error(values: FloatArray) -> float:
    """Return the standard error of a mean."""
    if len(values) < 2:
        return np.nan
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def as_text(rows: Iterable[Regret], *, reference: str) -> str:
    """Return the regrets as a table of reStructuredText and of plain text alike."""
    lines = [
        f"| after | method | regret | s.e. | behind {reference}, in s.e. "
        "| problems | runs | below untuned | outer loss |",
        "|" + " ---: | --- |" + " ---: |" * 7,
    ]
    for row in rows:
        cells = (
            f"{row.ahead:+.1f}",
            str(row.n_problems),
            str(row.n_runs),
            f"{row.below:.0%}",
            f"{row.outer:.3f}",
        )
        shown = " | ".join("" if "nan" in cell else cell for cell in cells)
        lines.append(
            f"| {row.after} | {row.method} | {row.mean:.3f} | {row.error:.3f} "
            f"| {shown} |"
        )
    return "\n".join(lines)
