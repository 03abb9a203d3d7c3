"""What of an assignment's own files would let a submission run outside of its worker, or in a library's place."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from grader.assignment import AssignmentFiles


def find_leaks(home: AssignmentFiles) -> Iterator[str]:
    """Yield a sentence for each leak.

    The sandbox's server imports drivers and support files before any submission is confined. It does not find submissions
    itself, but a student's machine and a notebook would.
    """
    name = Path(home.assignment.submission).stem
    installed = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    if name in sys.stdlib_module_names or PathFinder.find_spec(name, installed) is not None:
        yield f"{name}.py has the name of a library, whose users would import it instead: choose another `submission`"
    for path in (home.drivers, *home.support()):
        if path.suffix == ".py" and name in _import_at_once(ast.parse(path.read_bytes())):
            where = path.relative_to(home.root).as_posix()
            yield f"{where} imports {name} at its top, where nothing is confined: use `submitted`, which drivers are given"


def _import_at_once(tree: ast.AST) -> set[str]:
    """Return the modules, without their parts, that are imported outside of functions."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found |= _import_at_once(node)
    return found
