"""The page of a submission: the code beside its outcomes; the staff sees everything, students nothing that is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from grader.assignment import Assignment
from grader.course import marks
from grader.course.adjustments import COLUMNS, QuestionAdjustment, change_points, write_row
from grader.course.handed_in import HandedInCode
from grader.course.results import SubmissionResult
from grader.course.worklist import WorklistEntry
from grader.report import page
from grader.report.model import QuestionResult, Report
from grader.report.text import sanitize

CONCEALED = "A hidden check."
MAX_WHO = 300  # characters of the names of all who submitted together


@dataclass(frozen=True)
class Account:
    """What a page says beside the report.

    Attributes:
        lines: The explanation of the score; the last line is the score.
        whose: The names of the students who read it.
        adjustments: What the staff wrote by hand.
        limits: By line of adjustments.csv, why a row does not change the points as much as it says.
        members: The accounts of the students, where this one is for staff and those differ.
    """

    lines: Sequence[str] = ()
    whose: str = ""
    adjustments: Sequence[QuestionAdjustment] = ()
    limits: Mapping[int, str] = field(default_factory=dict)
    members: Sequence[Account] = ()


@dataclass(frozen=True)
class AdjustedPoints:
    """The points of a question after a change by hand, before any weight.

    Attributes:
        whose: The name of the student, where members of a group have different points.
    """

    question: QuestionResult
    whose: str = ""


def join_accounts(accounts: Sequence[Account]) -> Account:
    """Return what all pages of one submission say, for staff; the first is the one for all who submitted together."""
    first, *own = accounts
    if not own:
        return first
    lines = [line for account in own for line in (f"For {account.whose}", *account.lines)]
    rows = {one.line: one for account in accounts for one in account.adjustments}
    limits = {
        number: "; ".join(f"{account.limits[number]} for {account.whose}" for account in own if number in account.limits)
        for number in sorted({number for account in own for number in account.limits})
    }
    rows_in_order = [rows[line] for line in sorted(rows)]
    return Account([*lines, "one for each member of the group"], first.whose, rows_in_order, limits, own)


def render(
    result: SubmissionResult,
    assignment: Assignment,
    account: Account = Account(),
    entry: WorklistEntry | None = None,
    code: HandedInCode | None = None,
) -> str:
    """Return the page of one submission for its students.

    Args:
        entry: The submission, for its time.
        code: The submitted code, if known.
    """
    return _render(hide_from_student(result.report, assignment), assignment, account, entry, code)


def render_for_staff(
    result: SubmissionResult,
    assignment: Assignment,
    account: Account,
    entry: WorklistEntry,
    code: HandedInCode | None,
    student_page: str,
) -> str:
    """Return the page of one submission with everything, and with lines for adjustments.csv.

    Args:
        student_page: The path of the student's page, from the folder of the class.
    """
    report = result.report
    rows = [(question, write_row(entry.id, question.id)) for question in report.questions]
    about = {"staff": True, "entry": entry.id, "student_page": student_page, "rows": rows, "columns": ",".join(COLUMNS)}
    return _render(report, assignment, account, entry, code, about)


def _render(
    report: Report,
    assignment: Assignment,
    account: Account,
    entry: WorklistEntry | None,
    code: HandedInCode | None,
    about: dict[str, object] | None = None,
) -> str:
    files = marks.mark_lines(code, report) if code else []
    shown = page.describe_page(report, account.lines) | {
        "staff": False,
        "whose": sanitize(account.whose, MAX_WHO),
        "submitted": entry.created_at.strftime("%Y-%m-%d %H:%M %z") if entry and entry.created_at else "",
        "adjustments": account.adjustments,
        "limits": account.limits,
        "adjusted": _adjust(report, account),
        "files": files,
        "places": {
            question.id: [
                line for file in files for line in file.lines if any(one.check.question == question.id for one in line.pointers)
            ]
            for question in report.questions
        },
        "defined": marks.find_definitions(files, assignment.questions),
    }
    return page.open_template("feedback.html", Path(__file__).parent).render(shown | (about or {}))


def _adjust(report: Report, account: Account) -> dict[str, list[AdjustedPoints]]:
    """Return the points of the questions that are changed by hand: once if all members of a group have the same."""
    accounts = account.members or [account]
    adjusted = {}
    for question in report.questions:
        each = [AdjustedPoints(_change_question(question, one.adjustments), sanitize(one.whose, MAX_WHO)) for one in accounts]
        if any(one.question is not question for one in each):
            alike = len({one.question.points for one in each}) == 1
            adjusted[question.id] = [AdjustedPoints(each[0].question)] if alike else each
    return adjusted


def _change_question(question: QuestionResult, adjustments: Sequence[QuestionAdjustment]) -> QuestionResult:
    """Return the question with the points that these adjustments give it; itself if they give it none."""
    own = [one for one in adjustments if one.question == question.id and one.points]
    if not own:
        return question
    points, most = Fraction(str(question.points)), Fraction(str(question.max_points))
    points += sum(one.points for one in change_points(own, points, most, most))
    return question.model_copy(update={"points": float(points)})


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
