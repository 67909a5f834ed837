"""One tidy file of results: a row an evaluation, a block of rows a run.

A run is written at once when it is over. So the file can be added to, and the only
block that can be torn, by a machine that stops while writing, is the last.
"""

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COLUMNS = (
    "problem",
    "variant",
    "method",
    "seed",
    "index",
    "value",
    "best",
    "own_seconds",
)


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
    """

    task: Task
    values: NDArray[np.float64]
    own_seconds: NDArray[np.float64]

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
        rows: dict[Task, list[tuple[float, float]]] = {}
        for line, row in enumerate(reader, start=2):
            task = Task(row["problem"], row["variant"], row["method"], int(row["seed"]))
            block = rows.setdefault(task, [])
            if int(row["index"]) != len(block):
                raise ValueError(f"{path}, line {line}: a second run of {task}")
            block.append((float(row["value"]), float(row["own_seconds"])))
    return [Run(task, *np.array(block).T) for task, block in rows.items()]


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
    is_new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        columns = (run.values, run.best, run.own_seconds)
        for index, (value, best, own) in enumerate(zip(*columns, strict=True)):
            numbers = (repr(float(value)), repr(float(best)), f"{own:.6g}")
            writer.writerow((*run.task, index, *numbers))
        file.flush()
        os.fsync(file.fileno())


def mend(path: Path, expected: Mapping[Task, int]) -> None:
    """Cut off a last run that was not written to its end.

    Parameters
    ----------
    path : Path
        A file of results; it is changed only where it is torn.
    expected : mapping of Task to int
        How many rows the runs that are known should have.
    """
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    kept = len(whole)
    if kept > 1:
        task = _task_of(whole[-1])
        block = takewhile(lambda line: _task_of(line) == task, reversed(whole[1:]))
        size = len(list(block))
        if size < expected.get(task, 0):
            kept -= size
    if kept < len(lines):
        path.write_text("".join(whole[:kept]), encoding="utf-8")


def _task_of(line: str) -> Task:
    problem, variant, method, seed = next(csv.reader([line]))[:4]
    return Task(problem, variant, method, int(seed))
