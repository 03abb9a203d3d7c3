"""Names that one file of an assignment uses and another one should define: functions, views, arguments of drivers.

See names.py for names that are used and defined in one file, and for modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.slips import Slip
from grader.course.handwritten import suggest

SUBMITTED = "submitted"  # what drivers and notebooks call the student's module


def list_broken_references(home: AssignmentFiles, inputs: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Iterator[Slip]:
    """Yield the names that nothing defines.

    Args:
        inputs: By case, its driver and its inputs.
    """
    yield from _list_unknown_functions(home)
    yield from _list_unknown_views(home)
    yield from _list_wrong_inputs(home, inputs)


def list_bound_names(path: Path) -> dict[str, int]:
    """Return the names that a module binds at its top level, with their lines."""
    found: dict[str, int] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found[statement.name] = statement.lineno
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = node.lineno
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found |= {alias.asname or alias.name: node.lineno for alias in node.names}
    return found


def list_parameters(path: Path, function: str) -> list[str]:
    """Return the names of the parameters of a function that a module defines at its top level; none if it is not there."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return []


def _list_unknown_functions(home: AssignmentFiles) -> Iterator[Slip]:
    """Yield what drivers and the notebook call of the student's module, and the solution does not define."""
    solution = home.solution / home.assignment.submission
    defined = list_bound_names(solution)
    for path in (home.drivers, home.solution / "notebook.py"):
        tree = _parse(path)
        for node in ast.walk(tree) if tree else ():
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Load()) if name == SUBMITTED:
                    if attribute not in defined and not attribute.startswith("_"):
                        what = f"{SUBMITTED}.{attribute}: {solution.name} of the solution does not define it"
                        yield Slip(path, node.lineno, f"{what}; {suggest(attribute, defined)}")


def _list_unknown_views(home: AssignmentFiles) -> Iterator[Slip]:
    """Yield what checks import from the views of their assignment, and is not there."""
    known = list_bound_names(home.views) if home.views.is_file() else {}
    for suite in SUITES:
        path = home.checks[suite]
        for node in ast.walk(_parse(path) or ast.Module([], [])):
            if not isinstance(node, ast.ImportFrom) or node.module != "views":
                continue
            for alias in node.names:
                if alias.name not in known and alias.name != "*":
                    where = f"views has no {alias.name!r}" if known else f"there is no {home.views.relative_to(home.root)}"
                    yield Slip(path, node.lineno, f"{where}; {suggest(alias.name, known)}")


def _list_wrong_inputs(home: AssignmentFiles, inputs: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Iterator[Slip]:
    """Yield inputs of cases that their driver does not take, and arguments that no input gives."""
    cases = home.solution / "cases.py"
    lines = list_bound_names(cases)
    drivers = {
        node.name: node.args for node in ast.parse(home.drivers.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
    }
    for name, (driver, given) in inputs.items():
        if driver not in drivers:
            continue
        arguments = drivers[driver]
        positional = [*arguments.posonlyargs, *arguments.args][1:]  # the first is the student's module
        taken = [argument.arg for argument in (*positional, *arguments.kwonlyargs)]
        keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        required = [argument.arg for argument in positional[: len(positional) - len(arguments.defaults)]]
        required += [argument.arg for argument, default in keywords if default is None]
        for key in given if arguments.kwarg is None else ():
            if key not in taken:
                what = f"case {name} gives {key!r}, which its driver {driver} does not take"
                yield Slip(cases, lines.get(name, 0), f"{what}; {suggest(key, taken)}")
        for key in required:
            if key not in given:
                instead = [other for other in given if other not in taken]  # swallowed by **
                more = f"; {suggest(key, instead)}" if instead else ""
                what = f"case {name} does not give {key!r}, which its driver {driver} needs{more}"
                yield Slip(cases, lines.get(name, 0), what)


def _parse(path: Path) -> ast.Module | None:
    """Return the tree of a file; None if it is missing, or no Python (a notebook may have magics)."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
