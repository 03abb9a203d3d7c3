"""Read a file of checks from its syntax tree: the checks with their points, and the cases that they name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from grader.assignment import AssignmentFiles
from grader.authoring.slips import Slip
from grader.course.handwritten import suggest
from grader.proof.catalogue import is_draft

PARAMETERS = ("number", "question")  # of @points
TAKE_A_CASE = {"expect", "case", "require"}  # methods of `student` whose first argument is a case


class ReadCheck(NamedTuple):
    """A check, as declared in its source.

    Attributes:
        points: None without @points; 0 if the number is not a literal.
        question: None if it is not a literal.
        draft: Whether its docstring is still the draft of `propose`.
        several: Whether its points cannot be known by reading: pytest makes several checks of it, or a number is computed.
        fault: What is wrong with its @points; "" if nothing is.
    """

    name: str
    line: int
    points: float | None
    question: str | None
    documented: bool
    draft: bool
    several: bool
    fault: str = ""


class ReadCalls(NamedTuple):
    """The cases that a file of checks may use.

    Attributes:
        cases: The cases that calls name by a literal, with the line of the call.
        texts: All string literals of the file. A case that is not among them is unused, unless names are `computed`.
        computed: Whether the name of a case is computed at run time.
    """

    cases: list[tuple[str, int]]
    texts: set[str]
    computed: bool


def list_checks(path: Path) -> list[ReadCheck]:
    """Return the checks of a file: functions whose name begins with test, also in classes."""
    return list(_list_checks(ast.parse(path.read_text(encoding="utf-8")).body, ()))


def list_uncollected(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the functions with @points that pytest does not run because of their names, with their lines."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("test"):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "points":
                    yield node.name, node.lineno


def _list_checks(body: list[ast.stmt], outer: tuple[ast.expr, ...]) -> Iterator[ReadCheck]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _list_checks(node.body, (*outer, *node.decorator_list))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield _read(node, (*outer, *node.decorator_list))


def _read(node: ast.FunctionDef, decorators: tuple[ast.expr, ...]) -> ReadCheck:
    calls = [each for each in decorators if isinstance(each, ast.Call)]
    if any(isinstance(each, ast.Name) and each.id == "points" for each in decorators):
        fault = "@points needs its arguments; write @points(number, question=...)"
        return ReadCheck(node.name, node.lineno, 0.0, None, *_read_title(node), True, fault)
    declared = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "points"]
    several = any(isinstance(call.func, ast.Attribute) and call.func.attr == "parametrize" for call in calls)
    if not declared:
        # A decorator that is not a call may be an alias of points(...).
        named = any(isinstance(each, ast.Name) for each in decorators)
        return ReadCheck(node.name, node.lineno, 0.0 if named else None, None, *_read_title(node), several)
    given = dict(zip(PARAMETERS, declared[0].args, strict=False)) | {key.arg: key.value for key in declared[0].keywords}
    fault = _find_fault(declared[0], given)
    worth, question = (getattr(given.get(name), "value", None) for name in PARAMETERS)
    number = float(worth) if isinstance(worth, (int, float)) else None
    name = question if isinstance(question, str) else None
    unclear = several or bool(fault) or number is None
    return ReadCheck(node.name, node.lineno, number or 0.0, name, *_read_title(node), unclear, fault)


def _find_fault(call: ast.Call, given: dict[str | None, ast.expr]) -> str:
    """Return what is wrong with the arguments of @points, as far as they are literals."""
    if unknown := [str(name) for name in given if name not in (*PARAMETERS, None)]:
        return f"@points takes number and question, not {unknown[0]!r}; {suggest(unknown[0], PARAMETERS)}"
    if len(call.args) > len(PARAMETERS):
        return "@points takes only number and question; remove the others"
    if missing := [name for name in PARAMETERS if name not in given and None not in given]:
        return f"@points has no {missing[0]}; write @points(number, question=...)"
    for name, kinds, words in (("number", (int, float), "a number"), ("question", (str,), "the id of a question")):
        match given.get(name):
            case ast.Constant(value=value) if not isinstance(value, kinds) or isinstance(value, bool):
                found = f"the text {value!r}" if isinstance(value, str) else repr(value)
                return f"@points: {name} is {found}, expected {words}"
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() | int() as value)):
                return f"@points: {name} is -{value}, expected {words} that is not negative"
    return ""


def _read_title(node: ast.FunctionDef) -> tuple[bool, bool]:
    """Return whether a check has a docstring, and whether that is a draft."""
    title = ast.get_docstring(node) or ""
    return bool(title.strip()), is_draft(title)


def list_draft_titles(home: AssignmentFiles) -> Iterator[Slip]:
    """Yield the checks whose title is still the draft of `propose`."""
    for path in home.checks.values():
        try:
            drafts = [check for check in list_checks(path) if check.draft]
        except (SyntaxError, ValueError, OSError):  # which is reported where checks are run
            continue
        for check in drafts:
            text = f"the title of {check.name} is a draft: write the line that a student reads, and remove DRAFT"
            yield Slip(path, check.line, text, stops=False)


def read_calls(path: Path) -> ReadCalls:
    """Return the cases that a file of checks names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    cases: list[tuple[str, int]] = []
    computed = False
    for node in nodes:
        if isinstance(node, ast.Call) and _is_of_student(node.func) and node.args:
            match node.args[0]:
                case ast.Constant(value=str(name)):
                    cases.append((name, node.lineno))
                case ast.Name():
                    pass  # a parameter or loop variable, whose values are literals somewhere in the file
                case _:
                    computed = True
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return ReadCalls(cases, texts, computed or any(isinstance(node, ast.JoinedStr) for node in nodes))


def list_slips(path: Path) -> Iterator[Slip]:
    """Yield functions with @points that pytest does not run, assertions that are always true, and texts for views."""
    for name, line in list_uncollected(path):
        yield Slip(path, line, f"{name} has @points, but its name does not begin with test: pytest does not run it")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Assert(test=ast.Tuple(elts=[_, *_])):
                yield Slip(path, node.lineno, "this assertion is always true, because it tests a tuple; remove its parentheses")
            case ast.Call(func=function, args=[_, ast.Constant(value=str(fact)), *_]) if _is_of_student(function):
                yield Slip(path, node.lineno, f"the view is a text; write only({fact!r}) to compare this fact alone")


def _is_of_student(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(value=ast.Name(id="student"), attr=attribute):
            return attribute in TAKE_A_CASE
    return False
