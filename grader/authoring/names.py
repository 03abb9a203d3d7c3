"""Find names that an author's file uses and nothing defines, and imports of what does not exist, by reading the text."""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib
import importlib.util
import pkgutil
import symtable
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.attributes import list_modules, list_unknown_attributes
from grader.authoring.references import list_bound_names
from grader.authoring.slips import Slip
from grader.course.handwritten import suggest
from grader.proof.catalogue import PARAMETERS

OF_MODULES = {*vars(builtins), "__file__", "__name__", "__doc__", "__path__", "__spec__", "__class__", "__annotations__"}
ADDS_NAMES = {"globals", "exec", "vars", "locals"}  # a file that calls one of these may define names that nobody can read
OFTEN = ("numpy", "torch", "gymnasium", "matplotlib")  # besides the standard library, the modules that are suggested
COMES_FROM = {"points": "grader.judge", "only": "grader.judge.views", "case": "grader.answers"}
COMES_FROM |= dict.fromkeys(PARAMETERS, "grader.proof.catalogue")
CLOSE = 0.75  # similarity of a name that may be meant
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("assignments", "solutions", "tests")  # of the kit
REPLACED = {"gym"}  # the sandbox has it, installed or not; see grader.sandbox.substitutes


def list_unknown_names(home: AssignmentFiles) -> list[Slip]:
    """Return the undefined names, broken imports and attributes that no module has, of all files but the notebook.

    An entry of mistakes.py or alternatives.py is spliced into the solution, so it may use the solution's names.
    """
    solution = home.solution / home.assignment.submission
    code = _Source.read(solution)
    own, modules = _list_defined(code), list_modules(code.tree)
    paths = [solution, home.drivers, home.views, home.solution / "cases.py", *(home.checks[suite] for suite in SUITES)]
    found: list[Slip] = []
    for path in (path for path in paths if path.is_file()):
        source = _Source.read(path)
        found += [*_list_broken_imports(home, source), *_list_undefined(source, set())]
        found += list_unknown_attributes(path, source.tree, {})
    for path in (home.solution / f"{kind}.py" for kind in ("mistakes", "alternatives")):
        if path.is_file():
            source = _Source.read(path)
            found += [*_list_broken_imports(home, source), *_list_undefined(source, (own or set()) - set(PARAMETERS))]
            found += list_unknown_attributes(path, source.tree, modules)
            # Without the names of the solution, none of its entries can be judged.
            found = found if own is not None else [slip for slip in found if slip.path != path]
    return found


@dataclass(frozen=True)
class _Source:
    """A file that was read once: to parse a catalogue takes a tenth of a second."""

    path: Path
    tree: ast.Module
    table: symtable.SymbolTable

    @classmethod
    def read(cls, path: Path) -> _Source:
        text = path.read_text(encoding="utf-8")
        return cls(path, ast.parse(text), symtable.symtable(text, str(path), "exec"))


def _list_defined(source: _Source) -> set[str] | None:
    """Return the global names of a module; None if they cannot be known by reading."""
    for node in ast.walk(source.tree):
        match node:
            case ast.ImportFrom(names=names) if any(alias.name == "*" for alias in names):
                return None
            case ast.Call(func=ast.Name(id=name)) if name in ADDS_NAMES:
                return None
            case ast.ExceptHandler(type=ast.Name(id="NameError")):
                return None
    found = {symbol.get_name() for symbol in source.table.get_symbols() if _is_bound(symbol)}
    return found | {
        symbol.get_name() for scope in _list_scopes(source.table) for symbol in scope.get_symbols() if _is_set_there(symbol)
    }


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _is_set_there(symbol: symtable.Symbol) -> bool:
    """Return whether a function sets a global name."""
    return symbol.is_declared_global() and _is_bound(symbol)


def _list_scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Yield all scopes inside a module: functions, classes, comprehensions."""
    for child in table.get_children():
        yield child
        yield from _list_scopes(child)


def _list_undefined(source: _Source, more: Collection[str]) -> Iterator[Slip]:
    """Yield each undefined name of a file once, where it is used first.

    Args:
        more: Names that are defined elsewhere.
    """
    if (defined := _list_defined(source)) is None:
        return
    symbols = source.table.get_symbols()
    used = {symbol.get_name(): 0 for symbol in symbols if symbol.is_referenced() and not _is_bound(symbol)}
    for scope in _list_scopes(source.table):
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and symbol.is_global():
                used.setdefault(symbol.get_name(), scope.get_lineno())
    known = {*defined, *more}
    unknown = {name: line for name, line in used.items() if name not in known and name not in OF_MODULES}
    if not unknown:
        return
    # Those of an f-string among the arguments of a declaration are part of another slip, which `load_catalogue` reports.
    declared = [
        node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") in PARAMETERS
    ]
    inside = {
        id(name) for call in declared for text in ast.walk(call) if isinstance(text, ast.JoinedStr) for name in ast.walk(text)
    }
    names = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    uses = [node for node in names if id(node) not in inside]
    for name, first in unknown.items():
        if lines := [node.lineno for node in uses if node.id == name and node.lineno >= first]:
            yield Slip(source.path, min(lines), f"the name {name!r} is not defined{_advise(name, known)}")


def _advise(name: str, known: Collection[str]) -> str:
    """Return what to do about an undefined name."""
    if module := COMES_FROM.get(name):
        return f"; import it from {module}"
    close = difflib.get_close_matches(name, known, 1, cutoff=CLOSE)
    return f"; did you mean {close[0]!r}?" if close else "; define or import it"


def _list_broken_imports(home: AssignmentFiles, source: _Source) -> Iterator[Slip]:
    """Yield the imports, at the top level of a file, of modules or names that do not exist."""
    path = source.path
    for node in source.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if fault := _find_missing_module(home, alias.name, path):
                    yield Slip(path, node.lineno, fault)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if fault := _find_missing_module(home, node.module, path):
                yield Slip(path, node.lineno, fault)
                continue
            if (names := _list_names(node.module)) is None:
                continue
            for alias in node.names:
                if alias.name not in ("*", *names):
                    close = suggest(alias.name, [name for name in names if not name.startswith("_")])
                    yield Slip(path, node.lineno, f"{node.module} has no {alias.name!r}; {close}")


def _find_missing_module(home: AssignmentFiles, name: str, path: Path) -> str:
    """Return what is wrong if there is no such module, or if it is missing where this file is run; "" if it can be imported."""
    first, *rest = name.split(".")
    if first in FOLDERS:
        return f"{first!r} is not there when a submission is graded; write here what you need of it"
    given = {Path(each).stem for each in (*home.assignment.support, home.assignment.submission)}
    runs_with_students = path in (home.solution / home.assignment.submission, home.drivers)
    if (
        runs_with_students
        and first not in given
        and any((folder / f"{first}.py").is_file() for folder in (home.folder, home.root))
    ):
        return f'students do not have {first}.py; add it in assignment.toml: support = ["{first}.py"]'
    if first == "grader":
        parent = "grader"
        for part in rest:
            if not _has(importlib.import_module(parent), part):
                package = importlib.import_module(parent)
                return f"{parent} has no {part!r}; {suggest(part, _list_public(package))}"
            parent += f".{part}"
        return ""
    if _is_theirs(home, first) or first in REPLACED or first in sys.modules or importlib.util.find_spec(first):
        return ""
    if close := difflib.get_close_matches(first, [*OFTEN, *sys.stdlib_module_names], 1, CLOSE):
        return f"there is no module {first!r}; did you mean {close[0]!r}?"
    return f"there is no module {first!r}; correct its name, or install it and list it in `requirements` of assignment.toml"


def _is_theirs(home: AssignmentFiles, name: str) -> bool:
    """Return whether a module is one that the kit puts beside a file: drivers, views, the submission, support files."""
    beside = {"views", "drivers", "submitted", Path(home.assignment.submission).stem}
    beside |= {Path(support).stem for support in home.assignment.support}
    return name in beside or any((folder / f"{name}.py").is_file() for folder in (home.root, home.folder, home.solution))


def _list_names(module: str) -> list[str] | None:
    """Return what can be imported from a module of the kit, by reading it, or from one that is loaded; None for any other.

    To import one may take seconds: some modules of the kit import torch.
    """
    if module.partition(".")[0] == "grader":
        place = ROOT.joinpath(*module.split("."))
        source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        return [*list_bound_names(source), *(each.name for each in pkgutil.iter_modules([str(place)]))]
    loaded = sys.modules.get(module)
    if loaded is None:
        return None
    return [*dir(loaded), *(each.name for each in pkgutil.iter_modules(getattr(loaded, "__path__", ())))]


def _has(module: ModuleType, name: str) -> bool:
    if hasattr(module, name):
        return True
    return hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.{name}") is not None


def _list_public(package: ModuleType) -> list[str]:
    return [name for name in _list_names(package.__name__) or () if not name.startswith("_")]
