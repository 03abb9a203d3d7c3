"""The report as Gradescope's results.json (autograder specification, "Output Format").

Students see what Gradescope shows: title, points and outcome of hidden checks, if their visibility allows it. All text is
declared as plain text, so that no output of a submission is rendered; next to a picture of curves it is escaped instead.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from grader.assignment import Assignment
from grader.report import picture
from grader.report.model import CheckResult, Outcome, Report
from grader.report.shared import describe_check, remove_hidden_checks
from grader.report.terminal import make_closing_lines
from grader.report.text import sanitize

MAX_OUTPUT = 90_000  # Gradescope cuts the middle out of text above 100,000 characters


def render(report: Report, assignment: Assignment, metadata: dict[str, str] | None = None) -> str:
    """Return the text of results.json; see `build_results`."""
    return json.dumps(build_results(report, assignment, metadata), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_metadata(path: Path) -> dict[str, str]:
    """Return id and time of a submission from submission_metadata.json; missing or unexpected values are left out."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: str(content[name])[:100] for name in ("id", "created_at") if name in content}
    except (OSError, ValueError, TypeError):
        return {}


def build_results(report: Report, assignment: Assignment, metadata: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the content of results.json.

    It has one test per check, in the report's order, and only fields that are specified.

    Args:
        metadata: From `read_metadata`; kept in extra_data, so that a policy for late work can be
            applied to stored results.
    """
    shown = report.for_student()
    numbers = {question.id: index for index, question in enumerate(assignment.questions, 1)}
    counts: dict[str, int] = {}
    tests = []
    for check in shown.checks:
        counts[check.question] = counts.get(check.question, 0) + 1
        tests.append(_test(check, assignment, f"{numbers[check.question]}.{counts[check.question]}"))
    return {
        "execution_time": shown.seconds,
        "output": _capped("\n".join([*shown.remarks, *_summary(shown), *make_closing_lines(remove_hidden_checks(shown))])),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        **({"leaderboard": [entry.model_dump() for entry in entries]} if (entries := shown.leaderboard()) else {}),
        "extra_data": {
            "assignment": report.assignment,
            "submission": metadata or {},
            "suite_version": report.suite_version,
            "isolation": report.isolation,
            "isolation_layers": list(report.isolation_layers),
            "isolation_open": list(report.isolation_open),
            "refused_calls": list(report.refused_calls),
            "final": report.final,
            "outcomes": {check.id: check.outcome.value for check in report.checks},
            "mistakes": {check.id: list(check.mistakes) for check in report.checks if check.mistakes},
        },
    }


def render_refusal(message: str) -> str:
    """Return the text of a results.json with only a message and no points."""
    content = {"score": 0.0, "execution_time": 0.0, "output": _capped(sanitize(message)), "output_format": "text", "tests": []}
    return json.dumps(content, indent=1) + "\n"


def _test(check: CheckResult, assignment: Assignment, number: str) -> dict[str, Any]:
    hidden = check.suite == "hidden"
    passed = check.outcome is Outcome.PASSED
    output = _capped(f"{'' if passed else check.outcome.value}\n{describe_check(check)}".strip())
    test = {
        "name": f"{check.question}: {check.title}",
        "number": number,
        "score": check.points,
        "max_score": check.max_points,
        "status": "passed" if passed else "failed",
        "output": output,
        "tags": [check.question, check.suite, check.outcome.value],
        "visibility": assignment.question(check.question).hidden_visibility if hidden else "visible",
    }
    if check.outcome is Outcome.NOT_RUN and not check.max_points:
        del test["status"]  # no outcome: neither passed nor failed is true
    if uri := picture.make_data_uri(check.curves):
        # The only output that is not plain text: it is escaped, and the picture is added only if it fits completely.
        page = f'<pre>{html.escape(output)}</pre><img alt="learning curves" src="{uri}">'
        if len(page) < MAX_OUTPUT:
            test |= {"output": page, "output_format": "html"}
    return test


def _summary(report: Report) -> list[str]:
    hidden = [check for check in report.checks if check.suite == "hidden"]
    if not hidden:
        return []
    worth = sum(check.max_points for check in hidden)
    return [
        f"{worth:g} points come from {len(hidden)} hidden checks; Gradescope shows no total until they are published.",
    ]


def _capped(text: str) -> str:
    if len(text) <= MAX_OUTPUT:
        return text
    half = MAX_OUTPUT // 2 - 50
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"
