"""Add a case that `propose` found, with a check that uses it, to cases.py, the visible checks and the question's points."""

from __future__ import annotations

import ast
import copy
import re
import sys
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.authoring.entry import add_import, format_as_ruff
from grader.proof.catalogue import DRAFT
from grader.proof.variations import Variation, add_case

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TITLE = f"{DRAFT} What does a student learn from this case?"
WORTH = 1  # points of a new check
FAKED = " with fakes"  # what firstfiles.py adds to the names of facts that are found with fakes in place of other functions


def plan_case(home: AssignmentFiles, variation: Variation) -> dict[Path, str]:
    """Return the new text of each file that declares a case, its check and its points.

    Raises:
        UsageError: If one of the files cannot take it.
    """
    checks, settings = home.checks["visible"], home.folder / "assignment.toml"
    return {
        home.solution / "cases.py": add_case(home, variation),
        checks: _insert_check(checks.read_text(encoding="utf-8"), variation, render_check(home, variation)),
        settings: add_points(settings.read_text(encoding="utf-8"), variation.question, WORTH),
    }


def render_check(home: AssignmentFiles, variation: Variation) -> str:
    """Return the check of a case: that of the case which it varies, under a new name and with the draft of a title."""
    path = home.checks["visible"]
    statement = _find_statement(path.read_text(encoding="utf-8"), variation)
    text = f'@points({WORTH}, question="{variation.question}")\ndef test_{variation.name}(student):\n'
    return format_as_ruff(f'{text}    """{TITLE}"""\n    {statement}\n', path)


def _find_statement(text: str, variation: Variation) -> str:
    """Return how a check uses the old case, with its view and tolerances, but for the new case; by default all facts.

    A check that names the facts which it compares counts only if one of those is among them that the new case is there for.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and _is_about(node, variation.question):
            match [part for part in node.body if not _is_title(part)]:
                case [ast.Expr(value=ast.Call() as call)]:
                    call = copy.deepcopy(call)
                    named = [part for part in ast.walk(call) if isinstance(part, ast.Constant) and part.value == variation.base]
                    if len(named) == 1 and _compares(call, variation):
                        named[0].value = variation.name
                        return ast.unparse(call)
    return f'student.expect("{variation.name}")'


def _compares(call: ast.Call, variation: Variation) -> bool:
    """Return whether a check that names facts compares one for which the variation is there."""
    names = {part.value for part in ast.walk(call) if isinstance(part, ast.Constant)} - {variation.base}
    wanted = {fact.removesuffix(FAKED) for fact in variation.facts} - {""}
    return not names or not wanted or bool(names & wanted)


def _is_about(node: ast.FunctionDef, question: str) -> bool:
    """Return whether a function is a check of the question that needs nothing but the submission."""
    match node.decorator_list:
        case [ast.Call(func=ast.Name(id="points")) as call]:
            texts = [part.value for part in ast.walk(call) if isinstance(part, ast.Constant)]
            return question in texts and [argument.arg for argument in node.args.args] == ["student"]
    return False


def _is_title(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _insert_check(text: str, variation: Variation, check: str) -> str:
    """Return the file of checks with one more, behind the last one of its question, or at the end."""
    tree = ast.parse(text)
    if any(isinstance(node, ast.FunctionDef) and node.name == f"test_{variation.name}" for node in ast.walk(tree)):
        raise UsageError(f"nothing was written: there is a check test_{variation.name} already")
    lines = text.splitlines(keepends=True)
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_about(node, variation.question)]
    last = max((node.end_lineno or 0 for node in own), default=len(lines))
    before, after = "".join(lines[:last]).rstrip("\n"), "".join(lines[last:]).lstrip("\n")
    made = f"{before}\n\n\n{check}" + (f"\n\n{after}" if after else "")
    imported = {alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return made if "points" in imported else add_import(made, "from grader.judge import points")


def add_points(text: str, question: str, more: float) -> str:
    """Return the text of an assignment.toml with more visible points for a question.

    Raises:
        UsageError: If its points are not found.
    """
    expected = tomllib.loads(text)
    for entry in expected["questions"]:
        if entry["id"] == question and "visible" in entry.get("points", {}):
            entry["points"]["visible"] += more
    heads = [found.start() for found in re.finditer(r"^[ \t]*\[\[\s*questions\s*\]\]", text, re.MULTILINE)]
    for begin, end in zip(heads, [*heads[1:], len(text)], strict=True):
        if re.search(rf"""^[ \t]*id\s*=\s*["']{re.escape(question)}["']""", text[begin:end], re.MULTILINE):
            raised = re.sub(
                r"(\bvisible\s*=\s*)(\d[\d.]*)", lambda m: f"{m[1]}{float(m[2]) + more:g}", text[begin:end], count=1
            )
            made = text[:begin] + raised + text[end:]
            if made != text and tomllib.loads(made) == expected:
                return made
    raise UsageError(f"nothing was written: assignment.toml has no visible points of {question} that can be raised by {more:g}")
