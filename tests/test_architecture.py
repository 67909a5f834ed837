"""The law of the house: who may know whom, read from the source by ast."""

import ast
import importlib
import pickle
import pickletools
import subprocess
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

# Package (or module) -> the others that it may import. Each is below it in this table.
# `_compat` has no face: `_execution`, say, must not import scikit-learn with joblib.
BELOW = {
    "_warnings": set(),
    "callbacks": set(),
    "_domain": set(),
    "_compat": set(),
    "_compat.sklearn": set(),
    "_compat.joblib": set(),
    "_description": set(),
    "_space": {"_warnings", "_domain", "_description"},
    "_paper": {"_domain"},
    "_surrogate": {"_domain", "_paper"},
    "_optimizer": {"_warnings", "_domain", "_space", "_paper", "_surrogate"},
    "_execution": {"_compat.joblib"},
    "_cluster": {"_compat.joblib", "_execution"},
    "_evaluation": {
        "_domain",
        "_compat.sklearn",
        "_compat.joblib",
        "_execution",
        "_cluster",
    },
    "_checkpoint": {
        "_warnings",
        "_compat.sklearn",
        "_description",
        "_space",
        "_optimizer",
        "_evaluation",
    },
    "_search": {
        "_warnings",
        "callbacks",
        "_domain",
        "_compat.sklearn",
        "_compat.joblib",
        "_description",
        "_space",
        "_optimizer",
        "_execution",
        "_evaluation",
        "_checkpoint",
    },
    "selection": {"_domain", "_compat.sklearn"},
    "boosting": {"_domain", "_compat.sklearn"},
    "__init__": {"_space", "_optimizer", "_search"},
}

# Built on the public package; nothing imports them.
OUTSIDE = {"spaces", "inspection", "benchmarks", "optuna"}

# But for the benchmarks, which search the ready-made spaces.
BUILT_ON = {"benchmarks": {"spaces"}}

# The one way out, used within a function: param_space="auto" is a ready-made space.
DOORS = {"_search.run": {"spaces"}}

# What exists for an optional library may import it first thing.
FOR_A_LIBRARY = {"optuna": {"optuna"}}

# The types of arrays, defined once; all that some may know of `_domain`.
ALIASES = {"FloatArray", "BoolArray", "IntArray"}
KNOW_ALIASES_ALONE = {"_evaluation", "_search", "selection", "boosting"}

REQUIRED = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}

# Package or module -> the dependencies that it may import; all may use the stdlib.
DEPENDENCIES = {
    "_warnings": set(),
    "callbacks": set(),
    "_domain": {"numpy"},
    "_compat": set(),
    "_compat.sklearn": {"sklearn", "numpy"},
    "_compat.joblib": {"joblib", "loky", "cloudpickle"},
    "_description": {"numpy"},
    "_space": {"numpy", "scipy"},
    "_paper": {"numpy", "scipy"},
    "_surrogate": {"numpy", "scipy"},
    "_optimizer": {"numpy", "scipy"},
    "_optimizer.blas": {"threadpoolctl"},
    "_execution": set(),
    "_cluster": {"numpy", "joblib"},
    "_evaluation": {"numpy", "sklearn", "joblib"},
    "_checkpoint": {"numpy", "sklearn", "joblib"},
    "_search": {"numpy", "scipy", "sklearn", "joblib"},
    "selection": {"numpy", "sklearn", "joblib"},
    "boosting": {"numpy", "sklearn"},
    "__init__": set(),
}

NO_CLOCKS_NO_PROCESSES = {
    "time",
    "datetime",
    "multiprocessing",
    "subprocess",
    "threading",
    "signal",
}

# Package or module -> modules of the stdlib and of dependencies that it must not know.
FORBIDDEN = {
    "_domain": NO_CLOCKS_NO_PROCESSES,
    "_description": NO_CLOCKS_NO_PROCESSES,
    "_space": NO_CLOCKS_NO_PROCESSES,
    "_paper": NO_CLOCKS_NO_PROCESSES,
    "_surrogate": NO_CLOCKS_NO_PROCESSES,
    "_optimizer": NO_CLOCKS_NO_PROCESSES - {"threading"},
    "_optimizer.optimizer": NO_CLOCKS_NO_PROCESSES,
    "_optimizer.mvrsm": NO_CLOCKS_NO_PROCESSES,
    "_checkpoint.journal": NO_CLOCKS_NO_PROCESSES
    | {"pickle", "marshal", "shelve", "joblib"},
    "_search": {
        "numpy.linalg",
        "scipy.linalg",
        "signal",
        "multiprocessing",
        "subprocess",
    },
    "_search.results": NO_CLOCKS_NO_PROCESSES,
    "_search.racing": NO_CLOCKS_NO_PROCESSES,
}

NAMES = {"estimator", "condition", "conditions", "params", "parameter", "names"}
FIT = {"estimator", "estimators", "fold", "folds", "scorer", "cv"}

# Package -> words that no name in it may contain: what it must not know.
UNKNOWN = {
    "_domain": NAMES | {"surrogate", "optimizer", "score"},
    "_paper": NAMES | {"optimizer", "score", "seconds"},
    "_surrogate": NAMES | {"optimizer", "score", "seconds"},
    "_space": {"surrogate", "kernel", "optimizer", "history", "observation", "score"},
    "_optimizer": FIT | {"process", "processes", "worker", "workers", "seconds"},
    "_execution": FIT | {"candidate", "params", "score", "sklearn", "numpy"},
    "_cluster": FIT | {"candidate", "params", "score", "sklearn"},
    "_evaluation": {"optimizer", "space", "rank"},
    "_checkpoint": {"worker", "workers", "pool", "process", "timeout"},
}

# What scikit-learn's searches have, private names that are no protocol of IPython's.
INHERITED = {
    name
    for name in dir(GridSearchCV)
    if name.startswith("_") and not name.endswith("_")
}

# The two modules that may use private names, and whose.
PRIVATE = {"_compat.sklearn": {"sklearn"}, "_compat.joblib": {"joblib", "loky"}}


@cache
def tree_of(module):
    return ast.parse(PATHS[module].read_text(encoding="utf-8"))


def package_of(module):
    """Return what a module belongs to; the modules of `_compat` stand alone."""
    package, *inner = module.split(".")
    alone = package == "_compat" and inner != ["__init__"]
    return module if alone else package


def is_outside(module):
    return package_of(module) in OUTSIDE


def is_package(name):
    return f"{name}.__init__" in PATHS


def laws_of(table, module):
    """Return the entry of a module in a table, else that of its package."""
    return table.get(module, table.get(package_of(module)))


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


@cache
def internal_imports(module):
    """Return {(module of the package, imported name)} of a module."""
    found = set()
    for dotted, name in imports(tree_of(module)):
        top, _, rest = dotted.partition(".")
        if top != PACKAGE:
            continue
        if rest and (f"{rest}.{name}" in PATHS or is_package(f"{rest}.{name}")):
            found.add((f"{rest}.{name}", None))
        elif rest:
            found.add((rest, name))
        elif name in PATHS or is_package(name):
            found.add((name, None))
        else:
            found.add(("__init__", name))
    return found


def names_in(tree):
    """Yield every identifier of a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                yield node.id
            case ast.Attribute():
                yield node.attr
            case ast.arg() | ast.keyword() if node.arg is not None:
                yield node.arg
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name


def each_of(modules):
    """Run a test with each module: as one test, which names the module that fails."""

    def decorate(test):
        def run():
            for module in modules:
                try:
                    test(module)
                except AssertionError as error:
                    raise AssertionError(f"{module}: {error}") from error

        run.__name__ = test.__name__
        return run

    return decorate


inner_modules = each_of([name for name in PATHS if not is_outside(name)])
outer_modules = each_of([name for name in PATHS if is_outside(name)])
all_modules = each_of(list(PATHS))
private_packages = pytest.mark.parametrize(
    "package",
    [
        name
        for name in BELOW
        if name[0] == "_" and is_package(name)
        if name != "_compat"
    ],
)


def test_every_package_has_its_place_and_imports_only_downwards():
    assert {package_of(module) for module in PATHS} == {*BELOW, *OUTSIDE}
    places = list(BELOW)
    for place, package in enumerate(places):
        assert set(places[:place]) >= BELOW[package], package


@inner_modules
def test_modules_import_only_what_is_below_their_package(module):
    own = package_of(module)
    targets = {package_of(target) for target, _ in internal_imports(module)} - {own}
    assert targets - DOORS.get(module, set()) <= BELOW[own]


@all_modules
def test_packages_are_entered_through_their_face(module):
    own = package_of(module)
    for target, name in internal_imports(module):
        if package_of(target) != own:
            assert target == package_of(target), f"{target} is inside another package"
        elif is_package(own) and not is_outside(module):
            assert target != own, f"{name} comes through the package's own face"


@private_packages
def test_a_face_has_what_others_use_and_nothing_else(package):
    used = {
        name
        for module in PATHS
        if package_of(module) != package
        for target, name in internal_imports(module)
        if target == package
    }
    face = importlib.import_module(f"{PACKAGE}.{package}")
    assert set(face.__all__) == used
    docstring, *statements, names = tree_of(f"{package}.__init__").body
    assert isinstance(docstring, ast.Expr)
    assert isinstance(names, ast.Assign)
    assert all(isinstance(each, ast.ImportFrom) for each in statements)
    assert all(
        package_of(t) == package for t, _ in internal_imports(f"{package}.__init__")
    )


def test_one_librarys_private_names_come_without_the_others():
    (docstring,) = tree_of("_compat.__init__").body
    assert isinstance(docstring, ast.Expr)


def test_no_private_name_leaves_its_file():
    for module in PATHS:
        for target, name in internal_imports(module):
            assert not (name or "").startswith("_"), f"{module}: {target}.{name}"


def test_files_import_each_other_without_cycles():
    # An __init__ re-exports; importing a package is not a dependency on its parts.
    graph = {
        module: {target for target, _ in internal_imports(module) if target in PATHS}
        for module in PATHS
        if not module.endswith("__init__")
    }
    tuple(TopologicalSorter(graph).static_order())


@inner_modules
def test_types_of_arrays_are_defined_once(module):
    defined = {
        target.id
        for node in tree_of(module).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert defined & ALIASES == (ALIASES if module == "_domain.domain" else set())
    if package_of(module) in KNOW_ALIASES_ALONE:
        known = {
            name for target, name in internal_imports(module) if target == "_domain"
        }
        assert known <= ALIASES


@all_modules
def test_nothing_imports_what_is_built_around_the_package(module):
    outside = {package_of(target) for target, _ in internal_imports(module)} & OUTSIDE
    allowed = {package_of(module)} | DOORS.get(module, set())
    assert outside <= allowed | BUILT_ON.get(package_of(module), set())


@pytest.mark.parametrize(("module", "targets"), DOORS.items())
def test_doors_are_opened_within_functions(module, targets):
    at_import = {
        f"{dotted}.{name}".removeprefix(f"{PACKAGE}.").split(".")[0]
        for dotted, name in imports(tree_of(module), inside_functions=False)
    }
    assert targets <= {target for target, _ in internal_imports(module)}
    assert not targets & at_import


@outer_modules
def test_what_is_built_around_imports_the_public_package_only(module):
    own = {"__init__", package_of(module)} | BUILT_ON.get(package_of(module), set())
    for target, name in internal_imports(module):
        assert package_of(target) in own
        if target == "__init__":
            assert name in sklearn_mvrsm.__all__


@inner_modules
def test_modules_use_only_their_dependencies(module):
    tops = {dotted.split(".")[0] for dotted, _ in imports(tree_of(module))}
    third_party = tops - set(sys.stdlib_module_names) - {PACKAGE}
    at_import = {
        dotted.split(".")[0]
        for dotted, _ in imports(tree_of(module), inside_functions=False)
    }
    allowed = laws_of(DEPENDENCIES, module)
    assert third_party & REQUIRED <= allowed
    assert at_import & third_party <= allowed


@inner_modules
def test_modules_do_not_import_what_they_must_not_know(module):
    forbidden = laws_of(FORBIDDEN, module) or set()
    for dotted, name in imports(tree_of(module)):
        for known in (dotted, f"{dotted}.{name}"):
            prefixes = {
                ".".join(known.split(".")[: k + 1]) for k in range(known.count(".") + 1)
            }
            assert not prefixes & forbidden, known


@inner_modules
def test_modules_do_not_name_what_they_must_not_know(module):
    unknown = UNKNOWN.get(package_of(module), set())
    for name in names_in(tree_of(module)):
        assert not set(name.lower().strip("_").split("_")) & unknown, name


@inner_modules
def test_a_score_is_negated_in_one_place(module):
    negated = [
        ast.unparse(node.operand)
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        if {"score", "estimate"} & set(names_in(node.operand))
    ]
    if package_of(module) == "_search":
        assert negated == (["score"] if module == "_search.objective" else [])


@inner_modules
def test_methods_are_named_where_one_is_chosen(module):
    named = {
        node.value
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Constant) and node.value in ("mvrsm", "paper")
    }
    chooses = {"_optimizer.optimizer", "_search.search", "_search.minimization"}
    assert not named or module in chooses


@all_modules
def test_private_names_of_others_live_in_two_modules(module):
    tree = tree_of(module)
    foreign = (REQUIRED | {"loky", "optuna", "ConfigSpace"}) - PRIVATE.get(
        module, set()
    )
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
            if node.attr in INHERITED and module != "_compat.sklearn":
                used.add(ast.unparse(node))
    assert used == set()


@all_modules
def test_optional_libraries_are_imported_inside_functions(module):
    at_import = {
        dotted.split(".")[0]
        for dotted, _ in imports(tree_of(module), inside_functions=False)
    }
    allowed = FOR_A_LIBRARY.get(package_of(module), set())
    # the last two come with joblib, some day perhaps as packages of their own
    ours = {PACKAGE, "loky", "cloudpickle"}
    known = set(sys.stdlib_module_names) | REQUIRED | ours
    assert at_import <= known | allowed


@pytest.mark.parametrize(
    "package", ["_domain", "_space", "_paper", "_surrogate", "_optimizer"]
)
def test_the_core_prints_nothing(package):
    for module in PATHS:
        if package_of(module) == package:
            assert "print" not in set(names_in(tree_of(module))), module


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


def test_the_tables_name_no_module_that_does_not_exist():
    named = {*BELOW, *OUTSIDE, *DEPENDENCIES, *FORBIDDEN, *UNKNOWN, *PRIVATE}
    assert not {each for each in named if each not in PATHS and not is_package(each)}


@pytest.mark.parametrize(
    "module",
    [
        "",
        *(
            f".{name}"
            for name in sorted({*OUTSIDE, "boosting", "callbacks", "selection"})
        ),
    ],
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


def test_importing_the_package_imports_none_of_its_parts():
    code = (
        "import sys, sklearn_mvrsm as package\n"
        "assert not [name for name in sys.modules if name.startswith('sklearn_mvrsm.')]"
        "\nassert {*package.__all__, '__version__'} <= {*dir(package)}\n"
        "from sklearn_mvrsm import *\n"
        "assert Real is package.Real is vars(package)['Real']\n"
        "assert not hasattr(package, 'Reel') and not hasattr(package, 'Parameter')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_workers_import_only_what_a_fit_needs():
    def n_needless(estimator, X, y):
        parts = [each.split(".") for each in sys.modules if each.startswith(PACKAGE)]
        packages = {part[1] for part in parts if len(part) > 1}
        return -float(len(packages - needed))

    needed = {package.split(".")[0] for package in BELOW["_evaluation"] - {"_cluster"}}
    needed.add("_evaluation")
    space = {"C": Real(1.0, 2.0)}
    search = MVRSMSearchCV(
        SVC(), space, n_iter=2, cv=2, n_jobs=2, scoring=n_needless, refit=False
    )
    search.fit([[0.0], [1.0]] * 4, [0, 1] * 4)
    assert search.cv_results_["mean_test_score"].tolist() == [0.0, 0.0]
