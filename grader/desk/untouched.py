"""Find the questions of a class that nobody has begun, although the class has changed: a sibling method was written."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Set

from grader.assignment import Assignment
from grader.desk.code_places import BLANK, list_methods
from grader.report.model import Outcome, Report


def find_untouched(source: bytes, assignment: Assignment) -> set[str]:
    """Return the questions whose methods hold nothing but the exceptions of the stub, after one given statement at most.

    Only those whose ids name these methods: others may have been begun elsewhere in the class. Methods with more code do not
    count: it may be given, or the student's own. (The stub itself is not at hand, since students write into it.)
    """
    lines = source.decode("utf-8", "replace").split("\n")
    blanks: dict[str, list[tuple[str, bool]]] = {}  # by question: the method, and whether it holds nothing else
    with contextlib.suppress(SyntaxError, ValueError):
        for method in list_methods(source):
            texts = [said for node in ast.walk(method) if (said := _read_blank(node)) is not None]
            first, *others = method.body[ast.get_docstring(method) is not None :] or method.body
            given = 0 if _read_blank(first) is not None else 1
            is_empty = len(texts) == 1 - given + len(others) and all(_read_blank(other) is not None for other in others)
            if given:  # a single statement, if the mark of the stub divides it from the blank
                is_empty = is_empty and bool(others) and all(BLANK in lines[other.lineno - 2] for other in others)
            for said in texts:
                blanks.setdefault(said.partition(": ")[0], []).append((method.name, is_empty))
    return {
        question.id
        for question in assignment.questions
        if (own := blanks.get(question.id)) and all(empty and name in question.id.split(".")[1:] for name, empty in own)
    }


def mark_untouched(report: Report, untouched: Set[str]) -> Report:
    """Return a copy in which these questions are not started, if all that they did was to raise the stub's exception."""
    copy = report.model_copy(deep=True)
    for question in copy.questions:
        if question.id in untouched and question.outcome is Outcome.NOT_STARTED:
            for check in copy.checks:
                if check.question == question.id:
                    check.outcome, check.message = Outcome.NOT_RUN, f"not written yet: {question.task}"
    return copy


def _read_blank(node: ast.AST) -> str | None:
    """Return the text of the stub's exception, if this raises it."""
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=str(said))])):
            return said
    return None
