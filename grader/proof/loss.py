"""Say in one line why a solution does not pass: the file and line of the check, and what it says."""

from __future__ import annotations

import ast
import re

from grader.assignment import SUITES, AssignmentFiles
from grader.report.model import Cause, CheckResult, Outcome, Report

MOST = 300  # characters
PLACE = re.compile(r"""(?:tests/)?(?P<file>(?:visible|hidden|views)/\w+\.py)['"]?(?:, line |:)(?P<line>\d+)""")
SAID = re.compile(r"^(?:E\s+)?(?P<what>\w*(?:Error|Exception|Exit)\b.*)$", re.MULTILINE)


def explain_loss(home: AssignmentFiles, report: Report) -> str:
    """Return why a solution did not pass, on one line; "" if it passed."""
    lost = [check for check in report.checks if check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN)]
    if lost:
        more = f" (and {len(lost) - 1} more checks)" if len(lost) > 1 else ""
        return f"{_explain_check(home, lost[0])}{more}"
    if late := [check for check in report.checks if check.cause is Cause.RUN_BUDGET]:
        settings = f"assignments/{home.assignment.name}/assignment.toml"
        return f"the solution does not finish: {late[0].message}; raise limits.budget in {settings}"
    if report.cause or not report.final:
        return f"the solution was not graded: {shorten_account(report.explain_stop())}"
    return ""


def shorten_account(text: str) -> str:
    """Return an account on one line; of one with a traceback, the place in the checks and the error."""
    places, said = list(PLACE.finditer(text)), SAID.findall(text)
    if "\n" in text.strip() and places and said:
        return f"tests/{places[-1]['file']}:{places[-1]['line']}: {said[-1]}"[:MOST]
    return " ".join(text.split())[:MOST]


def _explain_check(home: AssignmentFiles, check: CheckResult) -> str:
    where, name = find_check(home, check.id), check.id.partition("/")[2]
    if check.outcome is Outcome.GRADER_ERROR:  # then the message is for students; what is wrong stands in the detail
        places, said = list(PLACE.finditer(check.detail)), " ".join(check.detail.strip().partition("\n")[0].split())
        where = f"tests/{places[-1]['file']}:{places[-1]['line']}" if places else where
        return f"{where}: the check {name} cannot be run: {said[:MOST]}"
    said = " ".join(f"{check.message} {check.detail}".split())
    return f"{where}: the solution does not pass {name}: {said[:MOST]}; correct it, or the check"


def begin_text(text: str) -> str:
    """Return the first line of a text, with the next one if the first only announces it, and with what was got."""
    first, *rest = [line.strip() for line in text.strip().splitlines()] or [""]
    if first.endswith(":") and rest:
        first = f"{first} {rest.pop(0)}"
    if rest and rest[0].startswith("got "):
        return f"{_cut(first)}, {_cut(' '.join(rest[0].split()))}"
    return first[:MOST]


def _cut(text: str) -> str:
    return text if len(text) <= MOST // 2 else f"{text[: MOST // 2]} ..."


def find_check(home: AssignmentFiles, check: str) -> str:
    """Return the file and the line of a check, such as "tests/visible/test_NAME.py:12"."""
    suite, _, name = check.partition("/")
    return f"tests/{suite}/test_{home.assignment.name}.py:{_list_lines(home, suite).get(name.partition('[')[0], 0)}"


def locate_entry(home: AssignmentFiles, kind: str, name: str) -> str:
    """Return the file and the line of an entry of mistakes.py or alternatives.py.

    Args:
        kind: "mistakes" or "alternatives".
    """
    path = home.solution / f"{kind}.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        if name in {getattr(target, "id", getattr(target, "name", "")) for target in targets}:
            return f"{path.relative_to(home.root).as_posix()}:{node.lineno}"
    return path.relative_to(home.root).as_posix()


def _list_lines(home: AssignmentFiles, suite: str) -> dict[str, int]:
    """Return the line of each function of a suite."""
    if suite not in SUITES or not home.checks[suite].is_file():
        return {}
    tree = ast.parse(home.checks[suite].read_text(encoding="utf-8"))
    return {node.name: node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
