"""Find facts that checks compare and no answer has, by reading the checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.answers import Case
from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.slips import Slip
from grader.course.handwritten import suggest

VIEW = "only"  # the view whose arguments are names of facts


def list_unknown_facts(home: AssignmentFiles, cases: Mapping[str, Case]) -> Iterator[Slip]:
    """Yield each fact that checks select with `only` and the answer of the case does not have, where it is named first.

    Args:
        cases: All cases with their answers.
    """
    found: dict[str, list[Slip]] = {}
    for suite in SUITES:
        for case, fact, line in _list_selected(home.checks[suite]):
            answer = cases[case].answer if case in cases else None
            if isinstance(answer, dict) and fact not in answer:
                close = suggest(fact, map(str, answer)).removesuffix("?")
                driver = f"the driver {cases[case].driver} ({home.drivers.relative_to(home.root).as_posix()})"
                what = f"the answer of case {case} has no fact {fact!r} ({close}): correct it here, or in {driver}"
                found.setdefault(fact, []).append(Slip(home.checks[suite], line, what))
    for first, *more in found.values():
        yield first._replace(text=f"{first.text} ({len(more)} more calls name it)") if more else first


def _list_selected(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield (case, fact, line) for each `student.expect("case", only("fact"))`, also with a view that has a name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not any(isinstance(node, ast.ImportFrom) and _imports_view(node) for node in tree.body):
        return
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="student"), attr="expect"), args=[ast.Constant(value=str(name)), view, *_]
            ):
                used = named.get(view.id) if isinstance(view, ast.Name) else view
                yield from ((name, fact, node.lineno) for fact in _list_facts(used))


def _imports_view(node: ast.ImportFrom) -> bool:
    return node.module == "grader.judge.views" and any(alias.name == VIEW and not alias.asname for alias in node.names)


def _list_facts(view: ast.expr | None) -> Iterator[str]:
    match view:
        case ast.Call(func=ast.Name(id=name), args=arguments) if name == VIEW:
            yield from (each.value for each in arguments if isinstance(each, ast.Constant) and isinstance(each.value, str))
