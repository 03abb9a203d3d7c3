"""Small changes of the test side: of the statements of drivers, and of the inputs of cases.

Only lines of drivers that calls of the solution reach are changed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader import fingerprints, reachable_code
from grader.assignment import SUITES, Assignment, AssignmentFiles
from grader.proof.mutants import change_statement
from grader.sandbox.entered import ENTER
from grader.sandbox.wire import TensorArray

FUTURE = "from __future__ import annotations\n"  # names in annotations need not be there
LINE = "line "  # of the drivers: what an instrumented one notes


@dataclass(frozen=True)
class Change:
    """A change of a driver or case.

    Attributes:
        question: "drivers" or "cases", as survivors.toml calls them.
        change: A description of the change.
        questions: The questions whose checks may notice.
        checks: These checks, by id without parameters.
        driver: The changed statement, for a change of drivers.
        drivers: The drivers that use it.
        case: Suite, name and inputs of a changed case.
    """

    question: str
    change: str
    questions: frozenset[str]
    checks: frozenset[str]
    driver: str = ""
    drivers: frozenset[str] = frozenset()
    case: tuple[str, str, dict[str, Any]] | None = None


def list_provable_questions(assignment: Assignment) -> frozenset[str]:
    """Return the questions whose checks are cheap: all except those that train."""
    return frozenset(question.id for question in assignment.questions if not question.needs)


# Drivers


def make_driver_changes(home: AssignmentFiles, lines: set[int]) -> Iterator[Change]:
    """Yield the changes of statements in functions of the drivers that calls of the solution reach."""
    text = home.drivers.read_text(encoding="utf-8")
    provable = list_provable_questions(home.assignment)
    checks = fingerprints.list_check_ingredients(home, SUITES)
    drivers = reachable_code.list_users(home.drivers)
    for node in ast.parse(text).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        users = drivers[node.name]
        asking = {check: fingerprints.find_question(home, check) for check, about in checks.items() if about.drivers & users}
        noticing = frozenset(check for check, question in asking.items() if question in provable)
        questions = frozenset(asking[check] for check in noticing)
        for change, changed in _changes(node, lines) if questions else ():
            yield Change("drivers", f"{node.name}: {change}", questions, noticing, FUTURE + ast.unparse(changed), users)


def _changes(definition: ast.stmt, lines: set[int]) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (description, changed definition) for the statements that are reached."""
    statements = [node for node in ast.walk(definition) if isinstance(node, ast.stmt)]
    for index, statement in enumerate(statements):
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.While, ast.Try)) or statement.lineno not in lines:
            continue  # a changed loop might never end
        if isinstance(statement, ast.AnnAssign) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            continue  # a declaration, or a docstring
        for change, new in change_statement(statement):
            if _skips(statement, new, lines):
                continue  # such a block is for wrong submissions
            copied = copy.deepcopy(definition)
            twin = [node for node in ast.walk(copied) if isinstance(node, ast.stmt)][index]
            yield change, _exchange(copied, twin, new)


def _skips(statement: ast.stmt, new: list[ast.stmt], lines: set[int]) -> bool:
    """Return whether the change only removes a block that the solution does not reach."""
    if not isinstance(statement, ast.If) or statement.body[0].lineno in lines or isinstance(new[0], ast.If):
        return False
    return ast.dump(new[0]) != ast.dump(statement.body[0])


def _exchange(definition: ast.stmt, old: ast.stmt, new: list[ast.stmt]) -> ast.stmt:
    for node in ast.walk(definition):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list) and any(one is old for one in statements):
                at = next(number for number, one in enumerate(statements) if one is old)
                statements[at : at + 1] = new or [ast.Pass()]
    return ast.fix_missing_locations(definition)


def instrument(text: str) -> str:
    """Return the functions and classes of a file of drivers, instrumented to record the lines that they reach."""
    parts = [FUTURE]
    for definition in ast.parse(text).body:
        if isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
            for node in list(ast.walk(definition)):
                for part in ("body", "orelse", "finalbody"):
                    statements = getattr(node, part, None)
                    if isinstance(statements, list) and statements and not isinstance(node, ast.ClassDef):
                        noted = [(ast.parse(f"{ENTER}({LINE + str(one.lineno)!r})").body[0], one) for one in statements]
                        setattr(node, part, [one for pair in noted for one in pair])
            parts.append(ast.unparse(ast.fix_missing_locations(definition)))
    return "\n\n".join(parts)


# Cases


def make_case_changes(home: AssignmentFiles) -> Iterator[Change]:
    """Yield the changes of the inputs of cases."""
    from grader.answers import read_answers

    provable = list_provable_questions(home.assignment)
    checks = fingerprints.list_check_ingredients(home, SUITES)
    for suite in SUITES:
        for name, case in read_answers(home.answers[suite], home.assignment.name).cases.items():
            noticing = frozenset(check for check, about in checks.items() if name in about.cases and check.startswith(suite))
            for argument, value in case.inputs.items() if case.question in provable else ():
                for what, other in _other_inputs(value):
                    changed = (suite, name, case.inputs | {argument: other})
                    yield Change("cases", f"{name}: {argument} {what}", frozenset({case.question}), noticing, case=changed)


def _other_inputs(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (description, changed value) for one input."""
    if isinstance(value, bool):
        yield f"{not value}", not value
    elif isinstance(value, int):
        yield "one more", value + 1
    elif isinstance(value, float):
        yield from ((f"{other:g}", other) for other in (0.0, 1.0) if 0 < value < 1)
        yield "ten times as large", 10 * value
    elif isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value):
        for what, other in _other_inputs(np.array(value)):
            yield what, other.tolist()
    elif isinstance(value, np.ndarray) and value.size and value.dtype != bool:
        with np.errstate(over="ignore"):
            others = {"ten times as large": value * 10}
        if value.ndim and len(value) > 1:
            others |= {
                "of the first row": value[:1],
                "of equal rows": np.repeat(value[:1], len(value), axis=0).view(type(value)),
            }
        for what, other in others.items():
            if other.shape != value.shape or not np.array_equal(other, value):
                yield what, other.astype(value.dtype).view(type(value))
        if isinstance(value, TensorArray):
            yield "of NumPy", value.view(np.ndarray)
