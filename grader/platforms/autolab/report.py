"""The report as an Autolab autograder prints it: text for people, then formatted feedback, then the scores as the last line."""

from __future__ import annotations

import json
from typing import Any

from grader.assignment import Assignment
from grader.report import terminal
from grader.report.model import HIDDEN_CHECKS, Outcome, Report
from grader.report.shared import describe_check, explain_not_final, fold_hidden_checks
from grader.report.text import LENGTHS, render_to_fit, sanitize

MAX_BYTES = 500_000  # Tango cuts output above a megabyte, and the scores come last
GRADER = "The grader"  # no question is called that: ids have no spaces


def render(report: Report, assignment: Assignment | None = None) -> str:  # noqa: ARG001 - as of every platform
    """Return the whole stdout. Autolab itself reads only the last two lines."""

    def text(longest: int) -> str:
        lines = [json.dumps(line, allow_nan=False) for line in (render_feedback(report, longest), render_scores(report))]
        return "\n".join([sanitize(terminal.render_plain(fold_hidden_checks(report)), 20 * longest).rstrip(), *lines]) + "\n"

    return render_to_fit(text, MAX_BYTES)


def render_scores(report: Report) -> dict[str, Any]:
    """Return the last line: the points of each question's visible checks, of all hidden ones, and the scoreboard's row."""
    shown = fold_hidden_checks(report)
    entries = [entry.value for entry in shown.leaderboard()]
    # A question without points has no problem in Autolab; see `list_problems`.
    points = {question.id: question.points for question in shown.questions if question.max_points}
    return {"scores": points, "scoreboard": [shown.points, *entries]}


def render_feedback(report: Report, longest: int = LENGTHS[0]) -> dict[str, Any]:
    """Return the line before the scores, "semantic" feedback: a stage for each question, with a test for each check."""
    shown = fold_hidden_checks(report)
    stages: dict[str, dict[str, Any]] = {}
    if problem := explain_not_final(shown):
        stages[GRADER] = {"finished": {"passed": False, "hint": sanitize(problem, longest)}}
    for question in shown.questions:
        tests: dict[str, Any] = {}
        for check in (check for check in shown.checks if check.question == question.id):
            name = sanitize(check.title, 200)
            # Two checks may have the same title, but a JSON object has each name once.
            name = name if name not in tests else f"{name} ({len(tests) + 1})"
            tests[name] = {"passed": check.outcome is Outcome.PASSED}
            if text := sanitize(describe_check(check), longest):
                tests[name]["hint"] = text
        stages[f"{question.id}: {sanitize(question.title, 200)}"] = tests
    return {"_presentation": "semantic", "stages": list(stages), **stages}


def list_problems(assignment: Assignment) -> dict[str, float]:
    """Return the problems that an instructor creates in Autolab, by name, with their points."""
    worth = {question.id: question.points.visible for question in assignment.questions if question.points.visible}
    hidden = assignment.total("hidden")
    return worth | ({HIDDEN_CHECKS: hidden} if hidden else {})


def render_refusal(message: str, assignment: Assignment) -> str:
    """Return stdout when nothing was graded."""
    content = {"scores": dict.fromkeys(list_problems(assignment), 0.0), "scoreboard": [0.0]}
    stage = {"graded": {"passed": False, "hint": sanitize(message)}}
    lines = [{"_presentation": "semantic", "stages": [GRADER], GRADER: stage}, content]
    return "\n".join([sanitize(message), *map(json.dumps, lines)]) + "\n"
