"""The page that a student reads after grading: their own report, without what is hidden."""

from __future__ import annotations

from collections.abc import Sequence

from grader.assignment import Assignment
from grader.course.results import SubmissionResult
from grader.report import page
from grader.report.model import Report

CONCEALED = "A hidden check."


def render(result: SubmissionResult, assignment: Assignment, lines: Sequence[str] = ()) -> str:
    """Return the page of one result.

    Args:
        lines: The explanation of its score; the last line is the score.
    """
    return page.render(hide_from_student(result.report, assignment), lines)


def hide_from_student(report: Report, assignment: Assignment) -> Report:
    """Return a copy of a report that holds only content that a student may see.

    It has no names of hidden checks. It has their titles, unless the assignment keeps them hidden.
    """
    copy = report.for_student()
    kept = {question.id for question in assignment.questions if question.hidden_visibility == "hidden"}
    for number, check in enumerate(copy.checks, 1):
        if check.suite == "hidden":
            check.id = f"hidden/{number}"  # a number is not a name for -k, so the page shows no -k
            if check.question in kept:
                check.title = CONCEALED
    return copy
