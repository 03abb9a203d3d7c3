"""Recognize a question or function that was renamed in one file only, and name the command that renames it in all files."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.checks_read import list_checks
from grader.authoring.slips import Slip, find_question_line
from grader.authoring.stub import BEGIN
from grader.proof.lines import split_lines

DECLARES = {"case": 1, "mistake": 0, "alternative": 0, "altered": 0}  # calls that name a question, and at which position


def find_renamed(home: AssignmentFiles) -> Slip | None:
    """Return the slip of a question or function that all other files call by another name; None if there is no such one."""
    return _find_question(home) or _find_function(home)


def _find_question(home: AssignmentFiles) -> Slip | None:
    ids = [question.id for question in home.assignment.questions]
    used = Counter(_list_used(home))
    unknown, unused = [name for name in used if name not in ids], [name for name in ids if name not in used]
    if len(unknown) != 1 or len(unused) != 1 or used[unknown[0]] < 2:  # a single one is misspelled where it stands
        return None
    (old,), (new,) = unknown, unused
    path = home.folder / "assignment.toml"
    text = f"the question is called {new!r} here, and {old!r} in all other files; to rename it, write {old!r} here again"
    return Slip(path, find_question_line(path, new), f"{text}, then run {_command(home, old, new)}")


def _find_function(home: AssignmentFiles) -> Slip | None:
    path, functions = home.solution / home.assignment.submission, {each.function for each in home.assignment.questions}
    text, drivers = path.read_text(encoding="utf-8"), home.drivers.read_text(encoding="utf-8")
    definitions = {node.name: node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    marks = {number: begin["question"] for number, line in enumerate(split_lines(text), 1) if (begin := BEGIN.match(line))}
    missing = sorted(name for name in functions - definitions.keys() if re.search(rf"\bsubmitted\.{name}\b", drivers))
    if len(missing) != 1:
        return None
    (old,) = missing
    of_old = {question.id for question in home.assignment.questions if question.function == old}
    for name, node in definitions.items():
        held = {mark for line, mark in marks.items() if node.lineno <= line <= (node.end_lineno or 0)}
        if name not in functions and held & {*of_old, name}:
            what = (
                f"the function is called {name!r} here, and {old!r} in all other files; to rename it, write {old!r} here again"
            )
            return Slip(path, node.lineno, f"{what}, then run {_command(home, old, name)}")
    return None


def _command(home: AssignmentFiles, old: str, new: str) -> str:
    return f"`python -m grader rename {home.assignment.name} {old} {new} --apply`"


def _list_used(home: AssignmentFiles) -> Iterator[str]:
    """Yield the questions that marks, checks, cases, mistakes and alternatives name by a literal, as often as they do."""
    solution = (home.solution / home.assignment.submission).read_text(encoding="utf-8")
    yield from (begin["question"] for line in split_lines(solution) if (begin := BEGIN.match(line)))
    yield from (check.question for suite in SUITES for check in list_checks(home.checks[suite]) if check.question)
    for path in (home.solution / f"{name}.py" for name in ("cases", "mistakes", "alternatives")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ():
            match node:
                case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords) if name in DECLARES:
                    given = [*arguments[DECLARES[name] :][:1], *(each.value for each in keywords if each.arg == "question")]
                    yield from (each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str))
