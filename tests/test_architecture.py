"""The import graph of the package: who may know whom, read from the source by ast."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sklearn_mvrsm

PACKAGE = "sklearn_mvrsm"
ROOT = Path(sklearn_mvrsm.__file__).parent
PATHS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted(ROOT.rglob("*.py"))
}

ARRAYS = {"_domain", "_basis", "_surrogate", "_acquisition", "_exploration"}
NAMES = {"_parameters", "_space"}
CORE = ARRAYS | NAMES | {"_optimizer"}

# Module -> the modules of the package that it may import.
INTERNAL = {
    "_domain": set(),
    "_parameters": set(),
    "_basis": {"_domain"},
    "_surrogate": {"_domain", "_basis"},
    "_acquisition": {"_domain", "_basis", "_surrogate"},
    "_exploration": {"_domain"},
    "_space": {"_domain", "_parameters"},
    "_optimizer": ARRAYS | NAMES,
    "_sklearn_compat": set(),
    "_outcomes": set(),
    "_process": {"_outcomes", "_sklearn_compat"},
    "_runs": {"_outcomes", "_process"},
    "_workers": {"_outcomes", "_process", "_runs"},
    "_inline": {"_outcomes"},
    "_payload": {"_sklearn_compat"},
    "_surroundings": set(),
    "_fold": {"_outcomes", "_sklearn_compat"},
    "_evaluation": {
        "_fold",
        "_inline",
        "_outcomes",
        "_payload",
        "_surroundings",
        "_workers",
    },
    "_results": {"_evaluation"},
    "_journal": {"_evaluation"},
    "_search": {
        "_space",
        "_optimizer",
        "_workers",
        "_evaluation",
        "_results",
        "_journal",
        "_sklearn_compat",
    },
    "__init__": NAMES | {"_optimizer", "_search"},
}

# These read a finished fold's record, and nothing of how it came to be.
RECORDS_ONLY = {"_results": {"FoldScore"}, "_journal": {"FoldScore"}}

# Module -> the installed dependencies that it may import; all may use the stdlib.
DEPENDENCIES = {
    "_domain": {"numpy"},
    "_parameters": {"numpy"},
    "_basis": {"numpy", "scipy"},
    "_surrogate": {"numpy", "scipy"},
    "_acquisition": {"numpy", "scipy"},
    "_exploration": {"numpy", "scipy"},
    "_space": {"numpy", "scipy"},
    "_optimizer": {"numpy", "scipy"},
    "_sklearn_compat": {"sklearn", "joblib", "loky", "numpy"},
    "_outcomes": set(),
    "_process": set(),
    "_runs": set(),
    "_workers": set(),
    "_inline": set(),
    "_payload": set(),
    "_surroundings": {"sklearn", "joblib"},
    "_fold": {"sklearn"},
    "_evaluation": {"joblib"},
    "_results": {"numpy", "scipy"},
    "_journal": {"numpy"},
    "_search": {"numpy", "sklearn", "joblib"},
    "__init__": set(),
}

NO_CLOCKS_NO_PROCESSES = frozenset(
    {"time", "datetime", "multiprocessing", "subprocess", "threading", "signal"}
)

# Module -> parts of the stdlib and of its dependencies that it must not know.
FORBIDDEN = {
    **dict.fromkeys(CORE, NO_CLOCKS_NO_PROCESSES),
    **{
        name: {"numpy", "scipy", "sklearn"}
        for name in ("_outcomes", "_process", "_runs", "_workers", "_inline")
    },
    "_results": {"time", "signal", "multiprocessing", "subprocess", "threading"},
    "_search": {"numpy.linalg", "scipy.linalg", "signal", "multiprocessing"},
}

OUTSIDE = {"spaces", "inspection", "benchmarks"}
REQUIRED = {"numpy", "scipy", "sklearn", "joblib"}


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
        if rest:
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
def test_every_module_has_its_place_in_the_graph(module):
    assert module in INTERNAL
    assert module in DEPENDENCIES


@core_modules
def test_modules_import_only_what_the_graph_allows(module):
    targets = {target for target, _ in internal_imports(module)}
    assert targets <= INTERNAL[module]


@all_modules
def test_nothing_imports_what_is_built_around_the_package(module):
    outside = {target.split(".")[0] for target in edges(module)} & OUTSIDE
    assert outside <= {module.split(".")[0]}


@pytest.mark.parametrize("module", [name for name in PATHS if is_outside(name)])
def test_what_is_built_around_imports_the_public_package_only(module):
    own = module.split(".")[0]
    for target, name in internal_imports(module):
        assert target.split(".")[0] in {"__init__", own}
        if target == "__init__":
            assert name in sklearn_mvrsm.__all__


def test_imports_are_acyclic():
    # An __init__ re-exports; importing the package is not a dependency on its parts.
    graph = {
        module: {target for target in edges(module) if target != "__init__"}
        for module in PATHS
    }
    tuple(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("module", [name for name in RECORDS_ONLY if name in PATHS])
def test_results_and_journal_know_records_only(module):
    names = {
        name
        for target, name in internal_imports(module)
        if target in {"_evaluation", "_workers"}
    }
    assert names <= RECORDS_ONLY[module]


@core_modules
def test_modules_use_only_their_dependencies(module):
    tops = {dotted.split(".")[0] for dotted, _ in imports(tree_of(module))}
    third_party = tops - set(sys.stdlib_module_names) - {PACKAGE}
    at_import = {
        dotted.split(".")[0]
        for dotted, _ in imports(tree_of(module), inside_functions=False)
    }
    assert third_party & REQUIRED <= DEPENDENCIES[module]
    assert at_import & third_party <= DEPENDENCIES[module]


@pytest.mark.parametrize("module", [name for name in FORBIDDEN if name in PATHS])
def test_modules_do_not_know_what_they_must_not(module):
    for dotted, name in imports(tree_of(module)):
        for known in (dotted, f"{dotted}.{name}"):
            prefixes = {
                ".".join(known.split(".")[: k + 1]) for k in range(known.count(".") + 1)
            }
            assert not prefixes & FORBIDDEN[module], known


@all_modules
def test_private_names_of_others_live_in_one_module(module):
    tree = tree_of(module)
    foreign = REQUIRED | {"loky"}
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
    if module != "_sklearn_compat":
        assert used == set()


@all_modules
def test_optional_libraries_are_imported_inside_functions(module):
    at_import = {
        dotted.split(".")[0]
        for dotted, _ in imports(tree_of(module), inside_functions=False)
    }
    assert at_import <= set(sys.stdlib_module_names) | REQUIRED | {PACKAGE, "loky"}


@pytest.mark.parametrize("module", sorted(CORE & set(PATHS)))
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


def test_the_graph_names_no_module_that_does_not_exist():
    assert {name for name in INTERNAL if name not in PATHS} == set()
