"""The paper's figures: best value so far with its spread, and own time a step."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._store import Run
from sklearn_mvrsm.benchmarks._summary import group_of, n_initial_of

WINDOW = 9  # steps over which own times are smoothed


@dataclass(frozen=True)
class Curve:
    """What is drawn for one method on one problem.

    Parameters
    ----------
    method : str
    n_runs : int
    best : ndarray of shape (n_steps,)
        Mean over runs of the best value so far, after the initial points; step 0
        is the best of those, or the first value where there are none.
    deviation : ndarray of shape (n_steps,)
        Standard deviation over runs.
    own_seconds : ndarray of shape (n_steps - 1,)
        Median over runs of the own time of each step, smoothed.
    """

    method: str
    n_runs: int
    best: NDArray[np.float64]
    deviation: NDArray[np.float64]
    own_seconds: NDArray[np.float64]


def curves(runs: Iterable[Run]) -> dict[tuple[str, str], list[Curve]]:
    """Return the curves of each (problem, variant), methods in order of appearance.

    Parameters
    ----------
    runs : iterable of Run
        Runs of one method on one problem are cut to the shortest.
    """
    found: dict[tuple[str, str], dict[str, list[Run]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for run in runs:
        key = group_of(run.task.problem), run.task.variant
        found[key][run.task.method].append(run)
    return {
        key: [_curve(method, group) for method, group in by_method.items()]
        for key, by_method in found.items()
    }


def _curve(method: str, runs: Sequence[Run]) -> Curve:
    first = max(1, n_initial_of(runs[0]))
    steps = [(run.best[first - 1 :], run.own_seconds[first:]) for run in runs]
    n_steps = min(len(best) for best, _ in steps)
    best = np.array([best[:n_steps] for best, _ in steps])
    own = np.median([own[: n_steps - 1] for _, own in steps], axis=0)
    return Curve(
        method, len(runs), np.mean(best, axis=0), np.std(best, axis=0), _smooth(own)
    )


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the running median, windows cut at the ends."""
    half = WINDOW // 2
    return np.array(
        [np.median(values[max(0, k - half) : k + half + 1]) for k in range(len(values))]
    )


def draw(
    problem: str,
    variant: str,
    group: Sequence[Curve],
    path: Path,
    *,
    values_only: bool = False,
) -> None:
    """Draw the curves of one problem, best value left and own time right.

    Parameters
    ----------
    problem, variant : str
        For the title.
    group : sequence of Curve
    path : Path
        The file to write; its suffix decides the format.
    values_only : bool, default=False
        Draw no own times: one picture that is small enough for a first page.
    """
    require("matplotlib", "matplotlib").use("Agg")
    pyplot = require("matplotlib.pyplot", "matplotlib")
    figure, axes = pyplot.subplots(
        1,
        1 if values_only else 2,
        figsize=(7.0, 3.6) if values_only else (11.0, 4.2),
        layout="constrained",
        squeeze=False,
    )
    colours = pyplot.get_cmap("tab20").colors
    _draw_values(axes[0, 0], problem, group, colours)
    for right in axes[0, 1:]:
        for k, curve in enumerate(group):
            steps = np.arange(1, len(curve.best))
            own = np.maximum(curve.own_seconds, 1e-6)
            right.plot(steps, own, color=_colour(colours, k), linewidth=1.6)
        right.set(
            xlabel=axes[0, 0].get_xlabel(),
            ylabel="own CPU time a step (s)",
            yscale="log",
        )
    title = problem if variant == "original" else f"{problem}, optimum moved"
    figure.suptitle(title)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right center")
    figure.savefig(path, dpi=120 if values_only else 150)
    pyplot.close(figure)


def _draw_values(
    ax: Any, problem: str, group: Sequence[Curve], colours: Sequence[Any]
) -> None:
    positive = min(float(np.min(curve.best)) for curve in group) > 0.0
    is_log = positive and _is_log(problem)
    for k, curve in enumerate(group):
        steps = np.arange(len(curve.best))
        colour = _colour(colours, k)
        label = f"{curve.method} ({curve.n_runs})"
        ax.plot(steps, curve.best, label=label, color=colour, linewidth=1.6)
        lower = curve.best - curve.deviation
        ax.fill_between(
            steps,
            np.maximum(lower, curve.best / 10.0) if is_log else lower,
            curve.best + curve.deviation,
            color=colour,
            alpha=0.1,
            linewidth=0.0,
        )
    ax.set_yscale("log" if is_log else "linear")
    ax.set(xlabel="evaluations after the initial points", ylabel="best value so far")


def _colour(colours: Sequence[object], k: int) -> object:
    """Return the k-th colour: the strong ones first, then the pale ones."""
    return colours[(2 * k + k // 10) % 20]


def _is_log(problem: str) -> bool:
    """Return whether values are distances to a known optimum of zero."""
    names = ("rosenbrock", "ackley", "bbob-mixint")
    return problem.startswith(names)


def draw_all(
    runs: Iterable[Run], directory: Path, suffix: str, *, values_only: bool = False
) -> list[Path]:
    """Draw a figure for each problem and return the files.

    Parameters
    ----------
    runs : iterable of Run
    directory : Path
        It is made if need be.
    suffix : str
        ``"png"``, ``"svg"`` or ``"pdf"``.
    values_only : bool, default=False
        Draw no own times.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for (problem, variant), group in curves(runs).items():
        name = problem if variant == "original" else f"{problem}-moved"
        path = directory / f"{name}.{suffix}"
        draw(problem, variant, group, path, values_only=values_only)
        paths.append(path)
    return paths
