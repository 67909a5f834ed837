"""What functions and classes do: the name for libraries, the code for all others.

What is installed is known by its name. A function of the user's own is known by its
instructions, without the names of files and the numbers of lines, and by all that it
reads: defaults, closure, and the globals that it names. A class is known by its bases
and by the functions among its members, by the other statements in its source with the
globals that they name, and by attributes that these do not set. Values may change while
a program runs.
"""

import ast
import builtins
import dis
import functools
import inspect
import itertools
import sys
import sysconfig
import textwrap
from collections.abc import Collection, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    NoneType,
)
from typing import Any

__all__ = [
    "OWN_PACKAGE",
    "class_parts",
    "code_parts",
    "find",
    "function_parts",
    "is_installed",
    "is_library",
    "name_of",
]


Parts = dict[str, Any]

_INSTALLED = {"site-packages", "dist-packages"}
_STDLIB = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
OWN_PACKAGE = __name__.partition(".")[0]
_CONSTANTS = frozenset(dis.hasconst)
_NAMES = frozenset(dis.hasname)
_PLAIN = (bool, int, float, complex, str, bytes, NoneType)
_SILENT = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "RESUME"})
_HAS_DOCSTRING = 0x4000000  # flag of code, since Python 3.13
# Names that the body of a class sets, and that say nothing of what it does.
_ABOUT = frozenset({"__doc__", "__firstlineno__", "__static_attributes__"})


def name_of(value: Any) -> str:
    """Return the module and the qualified name of a function or class."""
    module = value.__module__ if isinstance(value.__module__, str) else "unknown"
    return f"{module}.{value.__qualname__}"


def is_library(value: Any) -> bool:
    """Return whether the name of a function or class says all about it.

    It does if an installed package or the standard library has it under this name, and
    if it is a class of theirs without any function.
    """
    module, name = value.__module__, value.__qualname__
    scope = getattr(value, "__globals__", {}).get("__name__", module)
    if not (is_installed(module) and is_installed(scope)):
        return False  # functools.wraps copies the name of a module
    if find(module, name) is value:
        return True
    members = vars(value).values() if isinstance(value, type) else (value,)
    return not any(isinstance(member, FunctionType) for member in members)


def find(module: str, name: str) -> object:
    """Return what a module that was imported has under a name, None if nothing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def is_installed(module: object) -> bool:
    """Return whether a module, by its name, is of an installed package."""
    if not isinstance(module, str) or module == "__main__":
        return False
    top = module.partition(".")[0]
    if top == OWN_PACKAGE:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return top in sys.stdlib_module_names
    return _is_installed_file(file)


@functools.cache
def _is_installed_file(file: str) -> bool:
    parents = Path(file).parents
    is_standard = any(Path(folder) in parents for folder in _STDLIB)
    return is_standard or not _INSTALLED.isdisjoint(each.name for each in parents)


def code_parts(code: CodeType) -> list[object]:
    """Return the instructions of code as one text, its constants and its signature."""
    steps: list[str] = []
    constants: list[Any] = []
    for step in _instructions(code):
        argument: object = step.arg
        if step.opcode in _CONSTANTS:
            constants.append(step.argval)
            argument = "constant"
        elif step.opcode in _NAMES:
            argument = step.argval
        steps.append(f"{step.opname} {argument}")
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    return [
        "\n".join(steps),
        constants,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        code.co_varnames[:n_arguments],
        code.co_flags & ~_HAS_DOCSTRING,
        code.co_exceptiontable,
    ]


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    steps = [each for each in dis.get_instructions(code) if each.opname not in _SILENT]
    for step, after in itertools.zip_longest(steps, steps[1:]):
        about = after is not None and after.opname == "STORE_NAME"
        if not (about and after.argval in _ABOUT):
            yield step


def function_parts(function: FunctionType) -> Parts:
    """Return all by which a function is known; what is empty is left out."""
    read, stored, named, imported, _ = _names(function.__code__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    scope = function.__globals__
    parts: Parts = {
        "code": function.__code__,
        "defaults": function.__defaults__,
        "keyword defaults": function.__kwdefaults__,
        "attributes": {k: v for k, v in vars(function).items() if k != "__wrapped__"},
        "closure": {
            name: _contents(cell) for name, cell in cells if name not in stored
        },
    }
    if not is_installed(scope.get("__name__")):
        parts["globals"] = _reached(scope, read - stored, named)
        parts["imports"] = _sources(imported, scope.get("__package__"))
    return {name: part for name, part in parts.items() if part}


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty, as before an assignment
        return None


def _names(code: CodeType) -> tuple[frozenset[str], ...]:
    """Return the names of code.

    They are globals read, variables set, all, modules imported, and attributes set.
    """
    try:
        return _known_names(code)
    except TypeError:  # it was made with constants that have no hash
        return _known_names.__wrapped__(code)


@functools.lru_cache(maxsize=4096)
def _known_names(code: CodeType) -> tuple[frozenset[str], ...]:
    names: tuple[set[str], ...] = set(), set(), set(), set(), set()
    read, stored, named, imported, attributes = names
    module = ""
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            stored.add(step.argval)
        elif step.opname in ("STORE_DEREF", "DELETE_DEREF"):
            stored |= {step.argval} & set(code.co_freevars)
        elif step.opcode in _NAMES:
            named.add(step.argval)
            if step.opname == "STORE_ATTR":
                attributes.add(step.argval)
            elif step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT")):
                read.add(step.argval)
            elif step.opname == "IMPORT_NAME":
                module = step.argval
                imported.add(module)
            elif step.opname == "IMPORT_FROM":  # perhaps a module
                imported.add(f"{module}.{step.argval}".lstrip("."))
        elif isinstance(step.argval, CodeType):
            for mine, inner in zip(names, _names(step.argval), strict=True):
                mine |= inner
    return tuple(map(frozenset, names))


def _sources(modules: Collection[str], package: str | None) -> Parts:
    """Return the sources of modules that are not installed.

    They need not have been imported yet, and are not imported.
    """
    found: Parts = {}
    for name in sorted(modules):
        for full in (name, f"{package}.{name}".rstrip(".")):  # relative, perhaps
            file = _file_of(full)
            if file is not None and not _is_installed_file(file):
                found[full] = Path(file).read_bytes()
    return found


def _file_of(module: str) -> str | None:
    """Return the file of a module, found without importing anything."""
    folders = None
    spec = None
    for end in itertools.accumulate(module.split("."), "{}.{}".format):
        try:
            spec = PathFinder.find_spec(end, folders)
        except Exception:  # of a finder that was added to the path
            return None
        if spec is None:
            return None
        folders = spec.submodule_search_locations
    return spec.origin if spec is not None and spec.has_location else None


def _reached(
    scope: Mapping[str, object],
    names: Collection[str],
    attributes: Collection[str],
    above: tuple[ModuleType, ...] = (),
) -> Parts:
    """Return globals by name; of modules that are not installed, what may be read."""
    found: Parts = {}
    for name in sorted(set(names) & scope.keys()):
        value = scope[name]
        if not isinstance(value, ModuleType) or is_installed(value.__name__):
            found[name] = value
        elif value not in above:
            inner = _reached(vars(value), attributes, attributes, (*above, value))
            found[name] = {"module": value.__name__, **inner}
    return found


def class_parts(cls: type) -> Parts:
    """Return all by which a class is known."""
    members = {name: _unwrapped(each) for name, each in vars(cls).items()}
    return {
        "bases": cls.__bases__,
        "metaclass": type(cls),
        "members": {
            name: member
            for name, member in members.items()
            if _acts(member) and not name.startswith("__annotate")
        },
        **_body_parts(cls),
    }


def _unwrapped(member: object) -> object:
    if isinstance(member, staticmethod | classmethod):
        return type(member), member.__func__
    if isinstance(member, property):
        return property, member.fget, member.fset, member.fdel
    if isinstance(member, functools.cached_property):
        return functools.cached_property, member.func
    return member


def _acts(member: object) -> bool:
    """Return whether a member of a class is code, not data."""
    if isinstance(member, GetSetDescriptorType | MemberDescriptorType):
        return False
    unwrapped = isinstance(member, tuple) and callable(member[0] if member else None)
    return unwrapped or callable(member) or hasattr(type(member), "__get__")


def _body_parts(cls: type) -> Parts:
    """Return the other statements in the source of a class, and what they read.

    Values stand in for names that are no globals, and for a source that is not there.
    """
    values = {
        name: value
        for name, value in vars(cls).items()
        if not (_acts(value) or name == "_abc_impl" or name[0] == name[-1] == "_")
    }
    tree: ast.stmt | None
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except Exception:  # inspect raises this and that for what has no source
        tree = None
    if not isinstance(tree, ast.ClassDef) or tree.name != cls.__name__:
        return {"assignments": [], **({"values": values} if values else {})}
    body = [_plain(each) for each in tree.body if _sets(each)]
    nodes = [node for each in body for node in ast.walk(each)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    scope = vars(sys.modules.get(cls.__module__, builtins))
    parts: Parts = {
        "assignments": [ast.unparse(each) for each in body],
        "globals": _reached(scope, names - values.keys(), attributes),
    }
    if not names <= scope.keys() | vars(builtins).keys() | values.keys():
        parts["values"] = values
    else:
        plain = {name for name, value in values.items() if isinstance(value, _PLAIN)}
        # What a program counts in a class differs from one search to the next.
        named = (values.keys() - names | plain) - _attributes_set(cls)
        parts["values"] = {name: values[name] for name in named}
    return {name: part for name, part in parts.items() if part or name == "assignments"}


def _attributes_set(cls: type) -> set[str]:
    """Return the attributes that functions of a class, its bases or its module set."""
    of_module = [
        each
        for each in vars(sys.modules.get(cls.__module__, builtins)).values()
        if isinstance(each, FunctionType | type) and each.__module__ == cls.__module__
    ]
    owners = [*cls.__mro__, *filter(inspect.isclass, of_module)]
    found = [vars(each) for each in owners if not is_installed(each.__module__)]
    members = [*of_module, *(member for each in found for member in each.values())]
    return {
        name
        for member in map(_unwrapped, members)
        for part in (member if isinstance(member, tuple) else (member,))
        if isinstance(part, FunctionType)
        for name in _names(part.__code__)[-1]
    }


def _sets(statement: ast.stmt) -> bool:
    """Return whether a statement of a class sets more than a function or a class."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Pass():
            return False
        case ast.AnnAssign(value=None) | ast.Expr(value=ast.Constant()):
            return False
    return True


def _plain(statement: ast.stmt) -> ast.stmt:
    """Return a statement without its annotation."""
    if not isinstance(statement, ast.AnnAssign) or statement.value is None:
        return statement
    plain = ast.Assign([statement.target], statement.value, lineno=statement.lineno)
    return ast.copy_location(plain, statement)
