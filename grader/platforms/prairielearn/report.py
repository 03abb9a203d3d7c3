"""The report as PrairieLearn's results.json for an external grader.

PrairieLearn shows all tests or none, so hidden checks are folded into one. A report that is not final is not gradable: the
attempt is not used up, and no score is recorded.
"""

from __future__ import annotations

import json
from typing import Any

from grader.assignment import Assignment
from grader.report import picture
from grader.report.model import CheckResult, Outcome, Report
from grader.report.shared import describe_check, explain_not_final, fold_hidden_checks
from grader.report.terminal import make_closing_lines
from grader.report.text import LENGTHS, render_to_fit, sanitize

MAX_BYTES = 1_000_000  # of the whole file; PrairieLearn refuses larger ones


def render(report: Report, assignment: Assignment | None = None) -> str:  # noqa: ARG001 - as of every platform
    """Return the text of results.json; see `build_results`.

    If it is too large, pictures are removed first, then text is cut.
    """

    def text(longest: int) -> str:
        return json.dumps(build_results(report, longest), ensure_ascii=False, allow_nan=False) + "\n"

    return render_to_fit(text, MAX_BYTES)


def build_results(report: Report, longest: int = LENGTHS[0]) -> dict[str, Any]:
    """Return the content of results.json: one test per visible check, one for all hidden ones; texts are cut at `longest`."""
    shown = fold_hidden_checks(report)
    score = shown.points / shown.max_points if shown.max_points > 0 else 0.0
    result = {
        "gradable": shown.final,
        "score": min(max(score, 0.0), 1.0),
        "message": sanitize(f"{shown.points:g}/{shown.max_points:g} points", longest),
        "output": sanitize("\n".join([*shown.remarks, *make_closing_lines(shown)]), longest),
        "tests": [_test(check, longest) for check in shown.checks],
    }
    return result if shown.final else result | {"format_errors": [sanitize(explain_not_final(shown), longest)]}


def render_refusal(message: str) -> str:
    """Return the text of a results.json that only says why nothing was graded; the attempt is not used up."""
    content = {"gradable": False, "score": 0.0, "format_errors": [sanitize(message)], "tests": []}
    return json.dumps(content, ensure_ascii=False) + "\n"


def _test(check: CheckResult, longest: int) -> dict[str, Any]:
    test = {
        "name": sanitize(f"{check.question}: {check.title}", longest),
        "description": "",
        "points": check.points,
        "max_points": check.max_points,
        "message": "" if check.outcome is Outcome.PASSED else check.outcome.value,
        "output": sanitize(describe_check(check), longest),
    }
    uri = picture.make_data_uri(check.curves) if longest == LENGTHS[0] else ""
    return test | {"images": [{"label": "learning curves", "url": uri}]} if uri else test
