"""Run every method on every problem with every seed, unless it has been done."""

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from sklearn_mvrsm.benchmarks._methods import get_method
from sklearn_mvrsm.benchmarks._optional import MissingLibraryError
from sklearn_mvrsm.benchmarks._problem import BudgetSpent, Meter
from sklearn_mvrsm.benchmarks._registry import expand, make_problem
from sklearn_mvrsm.benchmarks._store import Run, Task, append_run, read_runs
from sklearn_mvrsm.benchmarks._summary import own_times

# One thread a process, so that CPU time is comparable; a fixed hash seed for SMAC.
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_IN_PLACE = "SKLEARN_MVRSM_BENCHMARKS_ENVIRONMENT"

Report = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Parameters
    ----------
    problems : sequence of str
        Names of problems and groups; ``:moved`` appended for the moved variant.
    methods : sequence of str
        Names of methods, or ``module:function``.
    seeds : sequence of int
        Numbers of the runs.
    budget : int or None
        Evaluations after the initial points; None for each problem's own.
    data : Path or None
        Directory of the tables that some problems need.
    """

    problems: Sequence[str]
    methods: Sequence[str]
    seeds: Sequence[int]
    budget: int | None = None
    data: Path | None = None

    def tasks(self) -> list[Task]:
        """Return all tasks, seed by seed, so that partial results are balanced."""
        return [
            Task(problem, variant, method, seed)
            for problem, variant in expand(self.problems)
            for seed in self.seeds
            for method in self.methods
        ]


@dataclass(frozen=True)
class Failure:
    """A task that ended without results, and why."""

    task: Task
    reason: str
    is_missing: bool


def ensure_environment(
    arguments: Sequence[str], module: str = str(__package__)
) -> None:
    """Start this command anew where the environment is not `ENVIRONMENT`.

    Libraries read these variables when they are loaded, and Python its hash seed when
    it starts. Returns only where they are in place.
    """
    if os.environ.get(_IN_PLACE) == "1":
        return
    environment = {**os.environ, **ENVIRONMENT, _IN_PLACE: "1"}
    command = [sys.executable, "-m", module, *arguments]
    os.execve(sys.executable, command, environment)


def run_task(task: Task, budget: int | None, data: Path | None) -> Run | Failure:
    """Run one task.

    Parameters
    ----------
    task : Task
    budget : int or None
        As in `Plan`.
    data : Path or None
        As in `Plan`.
    """
    try:
        method = get_method(task.method)
        problem = make_problem(
            task.problem, variant=task.variant, seed=task.seed, data=data
        )
        budget = problem.budget if budget is None else budget
        meter = Meter(problem, budget, task.seed)
        try:
            returned: Sequence[float] = method(meter, budget, task.seed)
        except BudgetSpent:
            returned = meter.values
        if not np.array_equal(np.asarray(returned), meter.values, equal_nan=True):
            raise ValueError(f"{task.method} did not return the values it was given")
    except MissingLibraryError as error:
        return Failure(task, str(error), is_missing=True)
    except Exception:
        return Failure(task, traceback.format_exc(), is_missing=False)
    outer = np.nan if problem.outer is None else problem.outer(meter.winner)
    own_seconds = np.array(meter.own_seconds)
    return Run(task, np.array(meter.values), own_seconds, budget, outer)


def run(
    plan: Plan, path: Path, *, n_jobs: int = 1, report: Report = print
) -> list[Failure]:
    """Run what a file of results lacks, and add it to the file.

    Parameters
    ----------
    plan : Plan
    path : Path
        The file; it is made if need be.
    n_jobs : int, default=1
        Processes. Own times are fair only where each has a core to itself.
    report : callable, default=print
        Takes one line of progress.

    Returns
    -------
    list of Failure
        The tasks that gave no results.
    """
    expected = dict(_budgets(plan))
    done = {run.task: run.budget for run in read_runs(path)}
    for task, budget in expected.items():
        if done.get(task, budget) != budget:
            raise ValueError(
                f"{path} holds {task} with a budget of {done[task]}, {budget} is asked "
                "for: use another file for another budget"
            )
    todo = [task for task in expected if task not in done]
    report(f"{len(expected) - len(todo)} runs done, {len(todo)} to do")
    failures = []
    for number, outcome in enumerate(_outcomes(plan, todo, n_jobs), start=1):
        label = " ".join(str(part) for part in outcome.task)
        if isinstance(outcome, Failure):
            failures.append(outcome)
            reason = outcome.reason.strip().splitlines()[-1]
            report(f"[{number}/{len(todo)}] {label}: NO RESULT: {reason}")
        else:
            append_run(path, outcome)
            _, late = own_times([outcome])
            report(
                f"[{number}/{len(todo)}] {label}: best {outcome.best[-1]:.6g}, "
                f"own time {1e3 * late:.2f} ms a step at the end"
            )
    return failures


def _budgets(plan: Plan) -> Iterator[tuple[Task, int]]:
    budgets: dict[tuple[str, str], int] = {}
    for task in plan.tasks():
        key = task.problem, task.variant
        if key not in budgets:  # an unknown name ends the command here
            problem = make_problem(key[0], variant=key[1], data=plan.data)
            budgets[key] = problem.budget if plan.budget is None else plan.budget
        yield task, budgets[key]


def _outcomes(
    plan: Plan, tasks: Iterable[Task], n_jobs: int
) -> Iterator[Run | Failure]:
    if n_jobs == 1:
        for task in tasks:
            yield run_task(task, plan.budget, plan.data)
        return
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        futures = [
            pool.submit(run_task, task, plan.budget, plan.data) for task in tasks
        ]
        for future in as_completed(futures):
            yield future.result()
