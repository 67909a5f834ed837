"""``python -m sklearn_mvrsm.benchmarks``: run, table, plot, steps, list."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn_mvrsm.benchmarks._methods import method_names
from sklearn_mvrsm.benchmarks._plot import draw_all
from sklearn_mvrsm.benchmarks._registry import problem_names
from sklearn_mvrsm.benchmarks._regret import as_text as as_regrets
from sklearn_mvrsm.benchmarks._regret import regrets
from sklearn_mvrsm.benchmarks._runner import Plan, ensure_environment, run
from sklearn_mvrsm.benchmarks._steps import PROBLEMS, SIZES, measure
from sklearn_mvrsm.benchmarks._store import read_all
from sklearn_mvrsm.benchmarks._summary import as_text, cut, summarise


def seeds_of(text: str) -> list[int]:
    """Return the seeds of ``"3"``, ``"0-9"`` or ``"0-4,10"``."""
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def positive(text: str) -> int:
    """Return a whole number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    program = argparse.ArgumentParser(
        prog="python -m sklearn_mvrsm.benchmarks", description=__doc__
    )
    commands = program.add_subparsers(dest="command", required=True)

    command = commands.add_parser(
        "run", help="run what the file of results lacks, and add it"
    )
    command.add_argument(
        "--problems", nargs="+", required=True, help="names; NAME:moved for the variant"
    )
    command.add_argument(
        "--methods", nargs="+", required=True, help="names, or module:function"
    )
    command.add_argument("--seeds", type=seeds_of, required=True, help="such as 0-9")
    command.add_argument("--out", type=Path, default=Path("results.csv"))
    command.add_argument(
        "--budget", type=positive, help="evaluations after the initial"
    )
    command.add_argument("--data", type=Path, help="directory of the tables")
    command.add_argument(
        "--jobs", type=positive, default=1, help="processes (default 1)"
    )

    _add_tables(commands)

    command = commands.add_parser("plot", help="best value so far and own time a step")
    command.add_argument("files", nargs="+", type=Path)
    command.add_argument("--directory", type=Path, default=Path("figures"))
    command.add_argument("--format", choices=("png", "svg", "pdf"), default="png")
    command.add_argument("--values", action="store_true", help="draw no own times")

    command = commands.add_parser("steps", help="own time of a step of our methods")
    command.add_argument("--methods", nargs="+", default=["mvrsm", "paper"])
    command.add_argument(
        "--dimensions", nargs="+", type=int, default=list(PROBLEMS), choices=PROBLEMS
    )
    command.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))

    commands.add_parser("list", help="names of problems and methods")
    return program


def _add_tables(commands: Any) -> None:
    """Add the commands that print a table of results."""
    tables = {
        "table": "final bests and paired tests",
        "regret": "normalised regret on real tuning",
    }
    for name, what in tables.items():
        command = commands.add_parser(name, help=what)
        command.add_argument("files", nargs="+", type=Path)
        command.add_argument(
            "--reference", default="mvrsm", help="method to compare with"
        )
    commands.choices["table"].add_argument(
        "--at",
        type=positive,
        help="judge runs after so many evaluations past the initial",
    )


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    options = parser().parse_args(arguments)
    match options.command:
        case "run":
            ensure_environment(arguments)
            return _run(options)
        case "table":
            _table(options)
        case "regret":
            rows = regrets(read_all(options.files), reference=options.reference)
            print(as_regrets(rows, reference=options.reference))
        case "plot":
            runs = read_all(options.files)
            where = options.directory, options.format
            for path in draw_all(runs, *where, values_only=options.values):
                print(path)
        case "steps":
            ensure_environment(arguments)
            _steps(options)
        case "list":
            print("problems:", *problem_names())
            print("methods:", *method_names(), "module:function")
    return 0


def _run(options: argparse.Namespace) -> int:
    plan = Plan(
        options.problems, options.methods, options.seeds, options.budget, options.data
    )
    failures = run(
        plan,
        options.out,
        n_jobs=options.jobs,
        report=lambda line: print(line, flush=True),
    )
    for failure in failures:
        if not failure.is_missing:
            print(f"\n{' '.join(map(str, failure.task))}\n{failure.reason}")
    return 1 if failures else 0


def _table(options: argparse.Namespace) -> None:
    runs = read_all(options.files)
    if options.at is not None:
        runs, shorter = cut(runs, options.at)
        labels = (" ".join((*task[:2], "by", task.method)) for task in shorter)
        for label, count in Counter(labels).items():
            print(
                f"left out, as shorter: {label}, {count} of its runs", file=sys.stderr
            )
    rows = summarise(runs, reference=options.reference)
    print(as_text(rows, reference=options.reference))


def _steps(options: argparse.Namespace) -> None:
    print("| method | d | n | median ms | largest ms |")
    print("|" + " --- |" * 5)
    for step in measure(options.methods, options.dimensions, options.sizes):
        cells = (step.method, step.d, step.n, f"{step.median:.2f}")
        print("| " + " | ".join(map(str, cells)) + f" | {step.largest:.2f} |")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
