"""The table: final bests, paired tests against one method, own time a step."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sklearn_mvrsm.benchmarks import _bbob
from sklearn_mvrsm.benchmarks._store import Run, Task

Key = tuple[str, str]

N_INITIAL = 24  # initial points of every other problem but those of bbob-mixint
WITHOUT_INITIAL = "table-", "tuning-", "conditional-", "esp-flow"


@dataclass(frozen=True)
class Row:
    """One line of the table: a method on a problem or a group of problems.

    Parameters
    ----------
    problem, variant, method : str
        What was run.
    n_runs : int
        Number of seeds; of pairs of seed and problem in a group.
    mean, deviation, median : float
        Of the score of each run: its final best, or for bbob-mixint its area under
        the curve.
    wilcoxon, t_test : float
        Two-sided p-values of the paired tests against the reference method on the
        runs that both have; nan where there is nothing to compare.
    n_pairs : int
        Number of those runs.
    wins : int
        How many of them this method won against the reference.
    own_early, own_late : float
        Median CPU seconds a step in the first and in the last tenth after the
        initial points.
    """

    problem: str
    variant: str
    method: str
    n_runs: int
    mean: float
    deviation: float
    median: float
    wilcoxon: float
    t_test: float
    n_pairs: int
    wins: int
    own_early: float
    own_late: float


def is_area(problem: str) -> bool:
    """Return whether a problem's score is an area under the curve: higher is better."""
    return problem.startswith(_bbob.SUITE)


def group_of(problem: str) -> str:
    """Return the group under which a problem is summarised."""
    if problem.startswith("mivabo16-"):
        return "mivabo16"
    if is_area(problem):
        return f"{_bbob.SUITE}-{problem.rsplit('-', 1)[1]}"
    return problem


def score(run: Run) -> float:
    """Return what a run is judged by: its final best, or its area under the curve."""
    if is_area(run.task.problem):
        return _bbob.area_under_curve(run.values)
    return float(run.best[-1])


def n_initial_of(run: Run) -> int:
    """Return how many of a run's evaluations were of initial points."""
    if is_area(run.task.problem):
        dimension = int(run.task.problem.rsplit("-d", 1)[1])
        return _bbob.INITIAL_PER_DIMENSION * dimension
    return 0 if run.task.problem.startswith(WITHOUT_INITIAL) else N_INITIAL


def cut(runs: Iterable[Run], n: int) -> tuple[list[Run], list[Task]]:
    """Return runs as they were after n evaluations beyond the initial points.

    Parameters
    ----------
    runs : iterable of Run
    n : int
        At least 1.

    Returns
    -------
    cut : list of Run
    shorter : list of Task
        The runs that have fewer evaluations, which are left out.

    Raises
    ------
    ValueError
        If n is below 1.
    """
    if n < 1:
        raise ValueError(f"'n' must be at least 1, got {n}")
    kept, shorter = [], []
    for run in runs:
        end = n_initial_of(run) + n
        if len(run.values) < end:
            shorter.append(run.task)
        else:
            kept.append(
                replace(run, values=run.values[:end], own_seconds=run.own_seconds[:end])
            )
    return kept, shorter


def summarise(runs: Iterable[Run], *, reference: str) -> list[Row]:
    """Return the rows of the table, best method of each problem first.

    Parameters
    ----------
    runs : iterable of Run
    reference : str
        The method that the others are tested against.
    """
    by_problem: dict[Key, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        key = group_of(run.task.problem), run.task.variant
        by_problem[key][run.task.method].append(run)
    rows = []
    for (problem, variant), by_method in by_problem.items():
        base = _scores(by_method.get(reference, []))
        group = [
            _row(problem, variant, method, found, base)
            for method, found in by_method.items()
        ]
        sign = -1.0 if is_area(problem) else 1.0
        rows += sorted(group, key=lambda row: sign * row.mean)
    return rows


def _scores(runs: Sequence[Run]) -> dict[tuple[str, int], float]:
    return {(run.task.problem, run.task.seed): score(run) for run in runs}


def _row(
    problem: str,
    variant: str,
    method: str,
    runs: Sequence[Run],
    base: dict[tuple[str, int], float],
) -> Row:
    scores = _scores(runs)
    values = np.array(list(scores.values()))
    shared = [key for key in scores if key in base]
    own = np.array([scores[key] for key in shared])
    other = np.array([base[key] for key in shared])
    better = own > other if is_area(problem) else own < other
    wilcoxon, t_test = paired_tests(own, other)
    early, late = own_times(runs)
    return Row(
        problem,
        variant,
        method,
        len(values),
        float(np.mean(values)),
        float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"),
        float(np.median(values)),
        wilcoxon,
        t_test,
        len(shared),
        int(np.sum(better)),
        early,
        late,
    )


def paired_tests(
    own: NDArray[np.float64], other: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the two-sided p-values of Wilcoxon's and Student's paired tests.

    Parameters
    ----------
    own, other : ndarray of shape (n_pairs,)

    Returns
    -------
    wilcoxon, t_test : float
        nan where there are fewer than two pairs or all differences are zero. The
        signed-rank test drops pairs that do not differ; the t-test, the paper's,
        is nan where all differences are equal.
    """
    difference = own - other
    if len(difference) < 2 or not np.any(difference):
        return float("nan"), float("nan")
    wilcoxon = float(stats.wilcoxon(difference[difference != 0.0]).pvalue)
    if np.ptp(difference) == 0.0:
        return wilcoxon, float("nan")
    return wilcoxon, float(stats.ttest_rel(own, other).pvalue)


def own_times(runs: Sequence[Run]) -> tuple[float, float]:
    """Return the median own time a step, early and late, in CPU seconds.

    The first step after the initial points does not count: it may load libraries.
    """
    early, late = [np.zeros(0)], [np.zeros(0)]
    for run in runs:
        steps = run.own_seconds[n_initial_of(run) + 1 :]
        tenth = max(1, len(steps) // 10)
        early.append(steps[:tenth])
        late.append(steps[-tenth:])
    return _median(np.concatenate(early)), _median(np.concatenate(late))


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values)) if values.size else float("nan")


HEADER = (
    "problem",
    "method",
    "runs",
    "mean",
    "sd",
    "median",
    "wins",
    "Wilcoxon p",
    "t-test p",
    "own ms early",
    "own ms late",
)


def as_text(rows: Sequence[Row], *, reference: str) -> str:
    """Return the table as Markdown.

    Parameters
    ----------
    rows : sequence of Row
    reference : str
        As in `summarise`.
    """
    lines = [
        f"Wins and paired tests are against {reference}. Lower is better, but for "
        "bbob-mixint (area under the curve). Own times are medians of CPU time.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "|" + " --- |" * len(HEADER),
    ]
    for row in rows:
        name = row.problem if row.variant == "original" else f"{row.problem}, moved"
        is_reference = row.method == reference
        cells = (
            name,
            row.method,
            str(row.n_runs),
            f"{row.mean:.4g}",
            f"{row.deviation:.2g}",
            f"{row.median:.4g}",
            "" if is_reference else f"{row.wins}/{row.n_pairs}",
            "" if is_reference else f"{row.wilcoxon:.2g}",
            "" if is_reference else f"{row.t_test:.2g}",
            f"{1e3 * row.own_early:.2f}",
            f"{1e3 * row.own_late:.2f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
