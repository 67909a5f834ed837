"""The import graph of the package: who may know whom, read from the source by ast."""

import ast
import importlib
import pickle
import pickletools
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import sklearn_mvrsm
from sklearn_mvrsm import Categorical, Integer, MVRSMSearchCV, Ordinal, Real, selection
from sklearn_mvrsm.boosting import EarlyStopping

PACKAGE = "sklearn_mvrsm"
ROOT = Path(sklearn_mvrsm.__file__).parent
PATHS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted(ROOT.rglob("*.py"))
}

# Layer -> its modules, in order: each may import those before it.
LAYERS = {
    "arrays": (
        "_domain",
        "_history",
        "_output",
        "_smooth",
        "_relevance",
        "_evidence",
        "_least_squares",
        "_basis",
        "_gates",
        "_rows",
        "_belief",
        "_slice",
        "_cholesky",
        "_learning",
        "_exploration",
        "_surrogate",
        "_acquisition",
        "_paper",
        "_steps",
        "_mvrsm",
    ),
    "names": (
        "_code",
        "_content",
        "_description",
        "_values",
        "_base_parameter",
        "_parameters",
        "_shorthand",
        "_conditions",
        "_constraints",
        "_forbidden",
        "_default",
        "_configspace_reader",
        "_configspace_writer",
        "_configspace",
        "_enumeration",
        "_layout",
        "_space",
    ),
    "blas": ("_blas",),
    "optimizer": ("_optimizer", "_minimize"),
    "compat": ("_sklearn_compat",),
    "workers": (
        "_interrupt",
        "_outcomes",
        "_pool",
        "_inline",
        "_reaper",
        "_watchdog",
        "_process",
        "_runs",
        "_spare",
        "_workers",
    ),
    "evaluation": (
        "_surroundings",
        "_payload",
        "_mapped_arrays",
        "_fold",
        "_fold_score",
        "_cluster",
        "_outpost",
        "_remote",
        "_evaluation",
    ),
    "results": ("_results", "_racing"),
    "journal": ("_journal",),
    "search": (
        "_folds",
        "_checks",
        "_own_values",
        "_proposals",
        "_judge",
        "_failures",
        "_common_failure",
        "_verbose",
        "_callbacks",
        "_fit_log",
        "_fingerprint",
        "_checkpoint",
        "_loop",
        "_progress",
        "_conclusion",
        "_session",
        "_html",
        "_best_estimator",
        "_search",
    ),
    "selection": ("_refit_rules", "_refit_folds", "selection"),
    "boosting": ("_holdout", "_early_stopping", "boosting"),
    "public": ("__init__",),
}

# Layer -> the layers whose modules it may import besides its own.
ABOVE = {
    "arrays": set(),
    "names": set(),
    "blas": set(),
    "optimizer": {"arrays", "names", "blas"},
    "compat": set(),
    "workers": {"compat"},
    "evaluation": {"workers", "compat"},
    "results": set(),
    "journal": set(),
    "search": {
        "names",
        "optimizer",
        "compat",
        "workers",
        "evaluation",
        "results",
        "journal",
    },
    "selection": {"compat"},
    "boosting": {"compat"},
    "public": {"names", "optimizer", "search"},
}

# The vocabulary that names share with arrays.
SHARED = {"names": {"_domain"}}

# Layer -> the installed dependencies that it may import; all may use the stdlib.
DEPENDENCIES = {
    "arrays": {"numpy", "scipy"},
    "names": {"numpy", "scipy"},
    "blas": {"threadpoolctl"},  # scikit-learn requires it
    "optimizer": {"numpy", "scipy"},
    "compat": {"sklearn", "joblib", "loky", "numpy"},
    "workers": set(),
    "evaluation": {"numpy", "sklearn", "joblib"},
    "results": {"numpy", "scipy"},
    "journal": set(),
    "search": {"numpy", "sklearn", "joblib"},
    "selection": {"numpy", "sklearn", "joblib"},
    "boosting": {"numpy", "sklearn"},
    "public": set(),
}

NO_CLOCKS_NO_PROCESSES = {
    "time",
    "datetime",
    "multiprocessing",
    "subprocess",
    "threading",
    "signal",
}

# Layer -> parts of the stdlib and of its dependencies that it must not know.
FORBIDDEN = {
    "arrays": NO_CLOCKS_NO_PROCESSES,
    "names": NO_CLOCKS_NO_PROCESSES,
    "optimizer": NO_CLOCKS_NO_PROCESSES,
    "workers": {"numpy", "scipy", "sklearn"},
    "results": NO_CLOCKS_NO_PROCESSES,
    "journal": NO_CLOCKS_NO_PROCESSES | {"pickle", "marshal", "shelve", "joblib"},
    "search": {"numpy.linalg", "scipy.linalg", "signal", "multiprocessing"},
}

PLACES = {
    module: (layer, place)
    for layer, modules in LAYERS.items()
    for place, module in enumerate(modules)
}
OUTSIDE = {"spaces", "inspection", "benchmarks", "optuna"}

# The one way out, used within a function: param_space="auto" is a ready-made space.
DOORS = {"_proposals": {"spaces.__init__"}}

# What exists for an optional library may import it first thing.
FOR_A_LIBRARY = {"optuna": {"optuna"}}

# What scikit-learn's searches have, private names that are no protocol of IPython's.
INHERITED = {
    name
    for name in dir(GridSearchCV)
    if name.startswith("_") and not name.endswith("_")
}

REQUIRED = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}


@cache
def tree_of(module):
    return ast.parse(PATHS[module].read_text(encoding="utf-8"))


def is_outside(module):
    return module.split(".")[0] in OUTSIDE


def imports(node, *, inside_functions=True):
    """Yield (dotted module, imported name or None) of every import below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, None) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"relative import, line {child.lineno}"
            yield from ((child.module, alias.name) for alias in child.names)
        elif inside_functions or not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            yield from imports(child, inside_functions=inside_functions)


def internal_imports(module):
    """Return {(module of the package, imported name)} of a module."""
    found = set()
    for dotted, name in imports(tree_of(module)):
        top, _, rest = dotted.partition(".")
        if top != PACKAGE:
            continue
        if f"{rest}.{name}" in PATHS:
            found.add((f"{rest}.{name}", None))
        elif rest:
            found.add((rest, name))
        elif name in PATHS or f"{name}.__init__" in PATHS:
            found.add((name, None))
        else:
            found.add(("__init__", name))
    return found


def edges(module):
    return {
        target if target in PATHS else f"{target}.__init__"
        for target, _ in internal_imports(module)
    }


core_modules = pytest.mark.parametrize(
    "module", [name for name in PATHS if not is_outside(name)]
)
all_modules = pytest.mark.parametrize("module", list(PATHS))


@core_modules
def test_every_module_has_its_place(module):
    assert module in PLACES


@core_modules
def test_modules_import_only_what_is_below_them(module):
    layer, place = PLACES[module]
    below = {name for other in ABOVE[layer] for name in LAYERS[other]}
    below |= set(LAYERS[layer][:place]) | SHARED.get(layer, set())
    assert edges(module) - DOORS.get(module, set()) <= below


@all_modules
def test_nothing_imports_what_is_built_around_the_package(module):
    others = edges(module) - DOORS.get(module, set())
    outside = {target.split(".")[0] for target in others} & OUTSIDE
    assert outside <= {module.split(".")[0]}


@pytest.mark.parametrize("module", [name for name in PATHS if is_outside(name)])
def test_what_is_built_around_imports_the_public_package_only(module):
    own = module.split(".")[0]
    for target, name in internal_imports(module):
        allowed = {"__init__", own}
        assert target.split(".")[0] in allowed
        if target == "__init__":
            assert name in sklearn_mvrsm.__all__


@pytest.mark.parametrize(("module", "targets"), DOORS.items())
def test_doors_are_opened_within_functions(module, targets):
    imported = {
        f"{dotted}.{name}.__init__".removeprefix(f"{PACKAGE}.")
        for dotted, name in imports(tree_of(module), inside_functions=False)
    }
    assert targets <= edges(module)
    assert not targets & imported


def test_imports_are_acyclic():
    # An __init__ re-exports; importing the package is not a dependency on its parts.
    graph = {
        module: {target for target in edges(module) if target != "__init__"}
        for module in PATHS
    }
    tuple(TopologicalSorter(graph).static_order())


@core_modules
def test_modules_use_only_their_dependencies(module):
    tops = {dotted.split(".")[0] for dotted, _ in imports(tree_of(module))}
    third_party = tops - set(sys.stdlib_module_names) - {PACKAGE}
    at_import = {
        dotted.split(".")[0]
        for dotted, _ in imports(tree_of(module), inside_functions=False)
    }
    allowed = DEPENDENCIES[PLACES[module][0]]
    assert third_party & REQUIRED <= allowed
    assert at_import & third_party <= allowed


@core_modules
def test_modules_do_not_know_what_they_must_not(module):
    forbidden = FORBIDDEN.get(PLACES[module][0], set())
    for dotted, name in imports(tree_of(module)):
        for known in (dotted, f"{dotted}.{name}"):
            prefixes = {
                ".".join(known.split(".")[: k + 1]) for k in range(known.count(".") + 1)
            }
            assert not prefixes & forbidden, known


@all_modules
def test_private_names_of_others_live_in_one_module(module):
    tree = tree_of(module)
    foreign = REQUIRED | {"loky", "optuna", "ConfigSpace"}
    bound = set()
    used = set()
    for dotted, name in imports(tree):
        if dotted.split(".")[0] not in foreign:
            continue
        bound.add(name or dotted.split(".")[0])
        path = [*dotted.split("."), *([name] if name is not None else [])]
        if any(part.startswith("_") for part in path) or "externals" in path:
            used.add(".".join(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            dunder = node.attr.startswith("__")
            if isinstance(root, ast.Name) and root.id in bound and not dunder:
                used.add(ast.unparse(node))
        if isinstance(node, ast.Attribute) and node.attr in INHERITED:
            used.add(ast.unparse(node))
    if module != "_sklearn_compat":
        assert used == set()


@all_modules
def test_optional_libraries_are_imported_inside_functions(module):
    at_import = {
        dotted.split(".")[0]
        for dotted, _ in imports(tree_of(module), inside_functions=False)
    }
    allowed = FOR_A_LIBRARY.get(module.split(".")[0], set())
    known = set(sys.stdlib_module_names) | REQUIRED | {PACKAGE, "loky"}
    assert at_import <= known | allowed


@pytest.mark.parametrize(
    "module", [*LAYERS["arrays"], *LAYERS["names"], *LAYERS["optimizer"]]
)
def test_the_core_prints_nothing(module):
    calls = [
        node.func.id
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    assert "print" not in calls


@all_modules
def test_modules_stay_readable(module):
    assert len(PATHS[module].read_text(encoding="utf-8").splitlines()) <= 450
    for node in ast.walk(tree_of(module)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = node.end_lineno - node.lineno + 1
        if ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines -= docstring.end_lineno - docstring.lineno + 1
        assert lines <= 50, f"{node.name}: {lines} lines without its docstring"


def test_the_layers_name_no_module_that_does_not_exist():
    assert set(PLACES) - set(PATHS) == set()


@pytest.mark.parametrize(
    "module",
    ["", *(f".{name}" for name in sorted({*OUTSIDE, "boosting", "selection"}))],
)
def test_public_names_carry_their_public_path(module):
    if module[1:] in FOR_A_LIBRARY:
        pytest.importorskip(module[1:])
    public = importlib.import_module(PACKAGE + module)
    for name in public.__all__:
        assert getattr(public, name).__module__ == PACKAGE + module, name


SPACE = {
    "kernel": Categorical(["linear", "rbf"]),
    "C": Real(0.01, 100.0, log=True).when(kernel="rbf"),
    "degree": Integer(1, 5),
    "gamma": Ordinal([0.1, 1.0]).when({"degree": [2, 3]}),
}


@pytest.mark.parametrize(
    "value",
    [
        MVRSMSearchCV(SVC(), SPACE, refit=selection.one_standard_error("param_C")),
        MVRSMSearchCV(EarlyStopping(SVC()), [SPACE, {}]),
        sklearn_mvrsm.SearchSpace(SPACE),
        sklearn_mvrsm.SearchSpace([SPACE, {"C": Real(0.0, 1.0)}]),
        sklearn_mvrsm.SpaceExhaustedError("all have been proposed"),
        selection.constrained("mean_fit_time", at_most=1.0),
        selection.refit_folds,
    ],
    ids=lambda value: type(value).__name__,
)
def test_pickles_name_public_paths_only(value):
    named = {
        argument.replace(" ", ".")
        for opcode, argument, _ in pickletools.genops(pickle.dumps(value, protocol=2))
        if opcode.name == "GLOBAL"
    }
    ours = {path for path in named if path.split(".")[0] == PACKAGE}
    assert ours
    assert not {path for path in ours if "._" in path}
