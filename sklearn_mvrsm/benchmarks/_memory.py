"""What processes of a search hold in memory while fits read a large table."""

import ast
import contextlib
import math
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import RandomizedSearchCV

from sklearn_mvrsm import MVRSMSearchCV
from sklearn_mvrsm.benchmarks._optional import require
from sklearn_mvrsm.benchmarks._sleeper import Sleeper

__all__ = ["memory", "memory_ratios", "print_memory_ratios"]

MEGABYTE = 1e6


class Held:
    """Scores a fit by what its process holds."""

    def __call__(self, estimator: object, X: object, y: object) -> dict[str, float]:
        """Return the process's number, and megabytes: resident, and its own."""
        process = require("psutil", "psutil").Process()
        held = process.memory_full_info()
        sizes = {"resident": held.rss / MEGABYTE, "own": held.uss / MEGABYTE}
        return {"pid": float(process.pid), **sizes}


def memory(
    n_samples: int = 1_000_000,
    who: str = "ours",
    kind: str = "numpy",
    cut: bool = False,
) -> dict[str, list[float]]:
    """Return megabytes held while fits read a table of 25 columns.

    Parameters
    ----------
    n_samples : int
        Rows; a million are 200 MB.
    who : {"ours", "theirs"}
        Our search, or ``RandomizedSearchCV``.
    kind : {"numpy", "pandas"}
        What the table is.
    cut : bool
        Whether it is all but one column of a larger one.

    Returns
    -------
    dict of str to list of float
        The resident set of the parent, its largest while it searched (on Linux), the
        resident set of each worker, and what is a worker's alone.
    """
    X, y = _table(n_samples, kind, cut)
    # whoever reads all of the table copies it; then small fits see what has stayed
    tiny = np.arange(2)
    large, small = (np.arange(n_samples), tiny), (tiny, tiny)
    shared: dict[str, Any] = {
        "n_iter": 1,
        "cv": [large] * 4 + [small] * 4,
        "scoring": Held(),
        "n_jobs": 2,
        "refit": False,
    }
    kinds = {"ours": MVRSMSearchCV, "theirs": RandomizedSearchCV}
    parent = require("psutil", "psutil").Process()
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the largest from now on
    search = kinds[who](Sleeper(0.5), {"level": [0.0]}, **shared).fit(X, y)
    results = search.cv_results_
    last = {  # by process, of the small ones
        results[f"split{k}_test_pid"][0]: [
            float(results[f"split{k}_test_{name}"][0]) for name in ("resident", "own")
        ]
        for k in range(4, 8)
    }
    resident, own = zip(*last.values(), strict=True)
    return {
        "parent, resident": [parent.memory_info().rss / MEGABYTE],
        "parent, at most": [_peak() / MEGABYTE],
        "workers, resident": list(resident),
        "workers, their own": list(own),
    }


def _table(n_samples: int, kind: str, cut: bool) -> tuple[object, object]:
    """Return a table of 25 columns, in which there is a gap behind each row if cut."""
    X = np.random.default_rng(0).normal(size=(n_samples, 25 + cut))
    y = np.arange(n_samples) % 3
    if kind == "numpy":
        return X[:, :25], y
    frame = require("pandas", "pandas").DataFrame(X, copy=False)
    return frame.iloc[:, :25], y


def _peak() -> float:
    """Return the largest resident set of this process, in bytes; nan if not known."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return 1024.0 * int(line.split()[1])
    return math.nan


def memory_ratios(n_samples: int, kind: str, cut: bool) -> tuple[float, float]:
    """Return what our search needs of memory, against ``RandomizedSearchCV``.

    Parameters
    ----------
    n_samples, kind, cut
        As for `memory`. Each search runs in a process of its own.

    Returns
    -------
    parent, workers : float
        Ratios of the parents' largest resident sets, and of what the workers that
        hold most have alone.
    """
    held = {}
    for who in ("theirs", "ours"):
        call = f"_memory.memory({n_samples}, {who!r}, {kind!r}, {cut})"
        code = f"from {__package__} import _memory; print({call})"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True)
        run.check_returncode()
        held[who] = ast.literal_eval(run.stdout.decode())
    parent, own = (
        max(held["ours"][name]) / max(held["theirs"][name])
        for name in ("parent, at most", "workers, their own")
    )
    return parent, own


def print_memory_ratios(sizes: Sequence[int]) -> None:
    """Print a line for each kind of table, in sizes of so many megabytes."""
    print("Memory, against RandomizedSearchCV: largest of the parent, a worker's own")
    for size in sizes:
        for kind in ("numpy", "pandas"):
            for cut in (False, True):
                ratios = memory_ratios(5000 * size, kind, cut)
                label = f"{size} MB, {kind}{', all columns but one' if cut else ''}"
                print(f"{label:36}{ratios[0]:8.3f}{ratios[1]:8.3f}", flush=True)
