"""One tidy file of results: a row an evaluation, a block of rows a run.

A run is written when it is over, into a copy that then takes the file's place. So the
file can be added to, and a machine that stops while writing leaves the runs before it.
"""

import csv
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

COLUMNS = (
    "problem",
    "variant",
    "method",
    "seed",
    "budget",
    "index",
    "value",
    "best",
    "own_seconds",
)
OUTER = "outer"


class Task(NamedTuple):
    """One run: a method on a problem with a seed."""

    problem: str
    variant: str
    method: str
    seed: int


@dataclass(frozen=True)
class Run:
    """The results of a task.

    Parameters
    ----------
    task : Task
    values : ndarray of shape (n_evaluations,)
        In order, initial points first.
    own_seconds : ndarray of shape (n_evaluations,)
        CPU seconds of the method before each evaluation.
    budget : int
        Evaluations after the initial points that the method was granted; it may have
        ended before.
    outer : float, default=nan
        The winner's value on data that were not searched on. In a file it is a run of
        its own, of the variant `OUTER`.
    """

    task: Task
    values: NDArray[np.float64]
    own_seconds: NDArray[np.float64]
    budget: int
    outer: float = np.nan

    @property
    def best(self) -> NDArray[np.float64]:
        """The least value so far, shape (n_evaluations,)."""
        best: NDArray[np.float64] = np.fmin.accumulate(self.values)
        return best


def read_runs(path: Path) -> list[Run]:
    """Return the runs of a file, in order; none if there is no such file."""
    if not path.exists() or path.stat().st_size == 0:
        return []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path} has columns {reader.fieldnames}, not {COLUMNS}")
        rows: dict[Task, list[tuple[float, ...]]] = {}
        budgets: dict[Task, int] = {}
        for line, row in enumerate(reader, start=2):
            try:
                _add(row, rows, budgets)
            except ValueError as error:
                raise ValueError(f"{path}, line {line}: {error}") from error
    runs = []
    for task, block in rows.items():
        if task.variant == OUTER:
            continue
        values, _, own_seconds = np.array(block).T
        ((outer, *_),) = rows.get(task._replace(variant=OUTER), [(np.nan,)])
        runs.append(Run(task, values, own_seconds, budgets[task], outer))
    return runs


def _add(
    row: Mapping[str, Any],
    rows: dict[Task, list[tuple[float, ...]]],
    budgets: dict[Task, int],
) -> None:
    """Add an evaluation to those of its run, or raise ValueError."""
    if None in row.values() or None in row:
        raise ValueError("the row is not whole")
    task = Task(row["problem"], row["variant"], row["method"], int(row["seed"]))
    block = rows.setdefault(task, [])
    if int(row["index"]) != len(block):
        raise ValueError(f"a second run of {task}")
    if budgets.setdefault(task, int(row["budget"])) != int(row["budget"]):
        raise ValueError(f"'budget' must be {budgets[task]}, got {row['budget']}")
    value, best, own_seconds = (float(row[name]) for name in COLUMNS[-3:])
    least = np.fmin(value, block[-1][1]) if block else value
    if not np.array_equal(least, best, equal_nan=True):
        raise ValueError(f"'best' must be the least value so far, {least}, got {best}")
    block.append((value, best, own_seconds))


def read_all(paths: Iterable[Path]) -> list[Run]:
    """Return the runs of several files; each run may be in one of them only."""
    runs: dict[Task, Run] = {}
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no file of results {path}")
        for run in read_runs(path):
            if run.task in runs:
                raise ValueError(f"{path} holds a second run of {run.task}")
            runs[run.task] = run
    return list(runs.values())


def append_run(path: Path, run: Run) -> None:
    """Add a run to a file, which is made if need be, and see it onto the disk."""
    copy = path.with_name(f"{path.name}.part")
    is_new = not path.exists() or path.stat().st_size == 0
    with copy.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        else:
            with path.open(newline="", encoding="utf-8") as old:
                shutil.copyfileobj(old, file)
        columns = (run.values, run.best, run.own_seconds)
        for index, (value, best, own) in enumerate(zip(*columns, strict=True)):
            numbers = (repr(float(value)), repr(float(best)), f"{own:.6g}")
            writer.writerow((*run.task, run.budget, index, *numbers))
        if not np.isnan(run.outer):
            outer = repr(float(run.outer))
            task = run.task._replace(variant=OUTER)
            writer.writerow((*task, run.budget, 0, outer, outer, 0))
        file.flush()
        os.fsync(file.fileno())
    copy.replace(path)
