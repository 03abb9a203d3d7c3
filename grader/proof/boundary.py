"""Find files of an assignment that would let a submission run outside its worker, or replace a library.

`find_leaks` reads the files; `prove_confinement` submits a hostile file, which finds what reading does not.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.judge.harness import Harness
from grader.tripwire import BY_CHANCE, Tripwire

Finding = tuple[str, bool | None]  # (a line, whether it is a fault); None for a remark


def find_leaks(home: AssignmentFiles) -> Iterator[str]:
    """Yield a sentence for each leak.

    The sandbox's server imports drivers and support files before any submission is confined. It does not find submissions
    itself, but a student's machine and a notebook would.
    """
    name = Path(home.assignment.submission).stem
    installed = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    if name in sys.stdlib_module_names or PathFinder.find_spec(name, installed) is not None:
        yield f"{name}.py has the name of a library, and would replace it: choose another `submission`"
    for path in (home.drivers, *home.support()):
        if path.suffix == ".py" and name in _import_at_once(ast.parse(path.read_bytes())):
            where = path.relative_to(home.root).as_posix()
            yield f"{where} imports {name} at the top level, where nothing is confined: use the parameter `submitted`"


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


def prove_confinement(harness: Harness) -> Iterator[Finding]:
    """Yield whether a submission can run before it is confined: a hostile one is placed before the server imports anything.

    Args:
        harness: Its server must be cold; otherwise only its calls can be tested. It is warm afterwards.
    """
    home, sandbox = harness.home, harness.sandbox
    own = harness.student.parent
    isolation = sandbox.isolation
    forked = isolation.level != "basic"
    wire = Tripwire([own, sandbox.home] if forked else [own])
    names = [home.assignment.submission, *home.assignment.support, *(f"{name}.py" for name in BY_CHANCE)]
    placed = [] if sandbox.warm else [harness.place(wire.source.encode(), name) for name in names]
    failure = None
    try:
        harness.warm_up()
    except UsageError as error:
        failure = error
    finally:
        for path in placed:
            path.unlink(missing_ok=True)
    try:
        if module := wire.find_mark():
            drivers = home.drivers.relative_to(home.root).as_posix()
            why = f" ({failure})" if failure else ""
            yield (
                f"a submission ran before it was confined, as {module}: {drivers}, or an import of it, can see its folder{why}",
                True,
            )
            return
        if failure is not None:
            raise failure
        if not placed:
            yield "not tried: whether a submission runs before it is confined; the server was already warm", None
        path = harness.place(wire.source.encode())
        reply = sandbox.load(path)
        path.unlink(missing_ok=True)
        if reply.status != "ok" or not wire.has_run(reply.output):
            yield (
                f"the hostile submission did not run in its worker ({reply.status}): nothing shows if it is confined",
                True,
            )
        elif wire.find_mark() and forked and not {"own user", "landlock"} & _names(isolation.layers):
            yield "not tried: whether a confined submission can write outside its folder; no layer here forbids that", None
        elif wire.find_mark():
            yield f"a confined submission wrote outside its folder (isolation: {isolation.level})", True
        else:
            yield f"a hostile submission ran only in its worker (isolation: {isolation.level})", False
        if not forked:
            yield "not tried at basic: what a submission leaves behind in the process that also serves later calls", None
    finally:
        wire.remove_marks()


def _names(layers: Iterable[str]) -> set[str]:
    """Return layers without their versions."""
    return {layer.rstrip("0123456789").rstrip() for layer in layers}
