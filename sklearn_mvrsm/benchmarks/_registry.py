"""The problems by name."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from sklearn_mvrsm.benchmarks import (
    _bbob,
    _conditional,
    _esp_flow,
    _standins,
    _steel,
    _synthetic,
    _tables,
    _tuning,
)
from sklearn_mvrsm.benchmarks._moved import moved
from sklearn_mvrsm.benchmarks._problem import Problem

VARIANTS = ("original", "moved")

_PLAIN: dict[str, Callable[[], Problem]] = {
    "func3c": _synthetic.make_func3c,
    "rosenbrock10": lambda: _synthetic.make_rosenbrock(3, 7, 300.0, 100),
    "ackley53": lambda: _synthetic.make_ackley53(categorical=False),
    "ackley53-categories": lambda: _synthetic.make_ackley53(categorical=True),
    "rosenbrock238": lambda: _synthetic.make_rosenbrock(119, 119, 50_000.0, 1000),
    "rosenbrock-integer10": _synthetic.make_rosenbrock_integer10,
    "hartmann6": _synthetic.make_hartmann6,
    "esp-flow": _esp_flow.make_esp_flow,
}
_FROM_FILES: dict[str, Callable[[Path], Problem]] = {
    "steel": _steel.make_steel,
    "steel-table": _standins.make_steel_table,
    "esp-table": _standins.make_esp_table,
}
_MIVABO = re.compile(r"mivabo(16|238)-(\d+)")
_BBOB = re.compile(r"bbob-mixint-f(\d+)-i(\d+)-d(\d+)")
_BUDGETS = {16: 100, 238: 1000}

GROUPS: dict[str, tuple[str, ...]] = {
    "mivabo16": tuple(f"mivabo16-{k}" for k in range(8)),
    "mivabo238": ("mivabo238-0",),
    "tables": _tables.TABLES,
    "conditional": _conditional.CONDITIONAL,
    "tuning-develop": tuple(f"tuning-{pair}" for pair in _tuning.DEVELOP),
    "tuning-report": tuple(f"tuning-{pair}" for pair in _tuning.REPORT),
    **{
        f"bbob-mixint-d{dimension:02d}": tuple(
            f"bbob-mixint-f{function:03d}-i{instance:02d}-d{dimension:02d}"
            for function in _bbob.FUNCTIONS
            for instance in _bbob.INSTANCES
        )
        for dimension in _bbob.DIMENSIONS
    },
}


def problem_names() -> tuple[str, ...]:
    """Return the names of problems and groups of problems."""
    return (*_PLAIN, *_FROM_FILES, *GROUPS)


def expand(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return (problem, variant) of each name; groups become their members.

    Parameters
    ----------
    names : iterable of str
        Names of problems or groups, with ``:moved`` appended for the variant whose
        optimum is moved.
    """
    pairs = []
    for given in names:
        name, _, variant = given.partition(":")
        if variant not in {"", *VARIANTS}:
            raise ValueError(f"unknown variant {variant!r} in {given!r}: {VARIANTS}")
        for member in GROUPS.get(name, (name,)):
            pairs.append((member, variant or "original"))
    return pairs


def make_problem(
    name: str,
    *,
    variant: str = "original",
    seed: int = 0,
    data: str | Path | None = None,
) -> Problem:
    """Return a problem by its name.

    Parameters
    ----------
    name : str
        One of `problem_names`, ``"mivabo16-3"`` for an instance (0, 1, ...), or
        ``"bbob-mixint-f008-i02-d10"`` for function, instance and dimension.
    variant : {"original", "moved"}, default="original"
        Whether the optimum is moved.
    seed : int, default=0
        Number of the run; it decides where the optimum is moved to.
    data : path or None, default=None
        Directory of the tables that ``steel``, ``steel-table`` and ``esp-table`` need.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        For an unknown name or variant, a problem that needs ``data`` and got none, or
        one whose optimum cannot be moved.
    MissingLibraryError
        If a library that the problem needs is not installed; an ``ImportError``.

    Examples
    --------
    >>> from sklearn_mvrsm.benchmarks import make_problem
    >>> problem = make_problem("rosenbrock10")
    >>> problem.evaluate(problem.minimiser)
    0.0
    """
    problem = _original(name, None if data is None else Path(data))
    match variant:
        case "original":
            return problem
        case "moved":
            return moved(problem, seed)
        case _:
            raise ValueError(f"'variant' must be one of {VARIANTS}, got {variant!r}")


def _original(name: str, data: Path | None) -> Problem:
    if name in _PLAIN:
        return _PLAIN[name]()
    if name in _FROM_FILES:
        if data is None:
            raise ValueError(f"problem {name!r} needs 'data', the directory of tables")
        return _FROM_FILES[name](data)
    if (match := _MIVABO.fullmatch(name)) is not None:
        d, instance = int(match[1]), int(match[2])
        return _synthetic.make_mivabo(d // 2, d // 2, instance, _BUDGETS[d])
    if (match := _BBOB.fullmatch(name)) is not None:
        return _bbob.make_bbob(*(int(number) for number in match.groups()))
    if name in _tables.TABLES:
        return _tables.make_table(name)
    if name in _conditional.CONDITIONAL:
        return _conditional.make_conditional(name)
    if name.startswith("tuning-"):
        return _tuning.make_tuning(name)
    known = ", ".join(problem_names())
    raise ValueError(f"unknown problem {name!r}; there are: {known}")
