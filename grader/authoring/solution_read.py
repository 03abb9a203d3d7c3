"""Read an author's solution: are its blanks marked, each in the function of its question?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from grader.assignment import AssignmentFiles
from grader.authoring.slips import Slip, find_question_line
from grader.authoring.stub import BEGIN, StubError, make_stub
from grader.course.handwritten import suggest
from grader.proof.lines import split_lines


def list_solution_slips(home: AssignmentFiles) -> Iterator[Slip]:
    """Yield the slips in the marks of the solution, and questions whose function it does not define."""
    path, settings = home.solution / home.assignment.submission, home.folder / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    faults: tuple[str, ...] = ()
    try:
        make_stub(text, home.assignment)
    except StubError as error:
        faults = error.faults
    for fault in faults:
        found = re.match(r"line (\d+): (.*)", fault, re.DOTALL)
        yield Slip(path, int(found[1]) if found else 0, found[2] if found else fault)
    blanks = {number: begin["question"] for number, line in enumerate(split_lines(text), 1) if (begin := BEGIN.match(line))}
    definitions = {node.name: node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for question in home.assignment.questions:
        node = definitions.get(question.function)
        if node is None:
            missing = f"{question.id} is about {question.function!r}, which {path.name} does not define at its top level"
            where = find_question_line(settings, question.id)
            yield Slip(settings, where, f"{missing}; {suggest(question.function, definitions)}")
        elif not faults and not any(_holds(node, line) for line in blanks):
            marks = f"no lines # BEGIN SOLUTION {question.id} and # END SOLUTION"
            what = f"{node.name} has {marks}, so the stub would contain its solution; write them around what students write"
            yield Slip(path, node.lineno, what, stops=question.id not in blanks.values() and not question.together)
    yield from _list_foreign(home, blanks, definitions)
    yield from (Slip(path, line, what) for line, what in _list_cut_docstrings(blanks, definitions.values()))


def _list_cut_docstrings(
    blanks: dict[int, str], definitions: Iterable[ast.FunctionDef | ast.ClassDef]
) -> Iterator[tuple[int, str]]:
    """Yield the marks above the docstring of a function or class, which the stub would lack."""
    nodes = [each for definition in definitions for each in ast.walk(definition)]
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            for line in blanks:
                if node.lineno < line < node.body[0].lineno:
                    yield line, f"the mark is above the docstring of {node.name}, so students would not read it; move it below"


def _list_foreign(
    home: AssignmentFiles, blanks: dict[int, str], definitions: dict[str, ast.FunctionDef | ast.ClassDef]
) -> Iterator[Slip]:
    """Yield the blanks of one question in the function of others, whose stub would show the task of the wrong question."""
    path, ids = home.solution / home.assignment.submission, [question.id for question in home.assignment.questions]
    for line, name in blanks.items():
        for node in definitions.values():
            own = [question.id for question in home.assignment.questions if question.function == node.name]
            if own and name not in own and name in ids and _holds(node, line):
                text = f"# BEGIN SOLUTION {name} is in {node.name}, which is about {own[0]}; write # BEGIN SOLUTION {own[0]}"
                yield Slip(path, line, text)


def _holds(node: ast.FunctionDef | ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)
