"""The report as the result of one step of GitHub Classroom's autograding, for its autograding-grading-reporter."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from grader.assignment import Assignment
from grader.report.model import CheckResult, Outcome, Report
from grader.report.shared import describe_check, explain_not_final, fold_hidden_checks
from grader.report.text import LENGTHS, render_to_fit, sanitize

# The reporter gets the result in an environment variable, which Linux limits to 128 kB.
MAX_BYTES = 96_000
ERRORS = (Outcome.TIMEOUT, Outcome.MEMORY, Outcome.CRASHED, Outcome.GRADER_ERROR)


def render(report: Report, assignment: Assignment | None = None) -> str:  # noqa: ARG001 - as of every platform
    """Return the step output `result`: one line, base64 of the JSON of `result`."""

    def text(longest: int) -> str:
        # ASCII only, so that the reporter's encoding does not matter.
        return (
            base64.b64encode(json.dumps(build_result(report, longest), allow_nan=False).encode("ascii")).decode("ascii") + "\n"
        )

    return render_to_fit(text, MAX_BYTES)


def build_result(report: Report, longest: int = LENGTHS[0]) -> dict[str, Any]:
    """Return the result: one test per visible check, one for all hidden checks; a report that is not final is an error."""
    shown = fold_hidden_checks(report)
    tests = [_test(check, longest) for check in shown.checks]
    if problem := explain_not_final(shown):
        tests.insert(0, _entry("the grader", "error", 0.0, _inert(problem, longest)))
    passed = all(check.outcome is Outcome.PASSED for check in shown.checks)
    return {
        "version": 1,
        "status": "error" if problem else "pass" if passed else "fail",
        "max_score": shown.max_points,
        "tests": tests,
    }


def render_refusal(message: str, assignment: Assignment) -> str:
    """Return the step output if nothing could be graded, with the maximum points."""
    test = _entry("the submission", "error", 0.0, _inert(message, 4_000))
    content = {"version": 1, "status": "error", "max_score": assignment.total("visible"), "tests": [test]}
    return base64.b64encode(json.dumps(content).encode("ascii")).decode("ascii") + "\n"


def _test(check: CheckResult, longest: int) -> dict[str, Any]:
    status = "pass" if check.outcome is Outcome.PASSED else "error" if check.outcome in ERRORS else "fail"
    text = describe_check(check) if check.outcome is Outcome.PASSED else f"{check.outcome.value}\n{describe_check(check)}"
    return _entry(_inert(f"{check.question}: {check.title}", 200), status, check.points, _inert(text.strip(), longest))


def _entry(name: str, status: str, score: float, message: str) -> dict[str, Any]:
    place = {"test_code": "", "filename": "", "line_no": 0, "duration": 0}  # no code of a check, hidden or not
    return {"name": name, "status": status, "score": score, "message": message, **place}


def _inert(text: str, longest: int) -> str:
    """Return the text, changed so that the runner takes no line of it for a command."""
    return re.sub(r"(?m)^(\s*):(?=:)", r"\1: ", sanitize(text, longest)).replace("##[", "# #[")
