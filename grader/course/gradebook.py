"""Scores as CSV, for Gradescope, for Canvas, and for people: UTF-8, lines that end with \\n, in the order of the scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from grader.course.results import Course
from grader.course.scoring import Score
from grader.report.model import Outcome, write_atomically
from grader.report.text import escape_formula, sanitize

Cell = str | Decimal | int | None
Row = list[Cell]

CANVAS_BOOK = "canvas.csv"
GRADEBOOKS = ("gradebook.csv", "gradescope.csv", CANVAS_BOOK)
MAX_CELL = 30_000  # characters; Excel holds 32,767
# Outcomes of single checks: a question alone is partial or not started.
COUNTED = [outcome.value for outcome in Outcome if outcome not in (Outcome.PARTIAL, Outcome.NOT_STARTED)]


def render_gradebook(course: Course, scores: Iterable[Score]) -> str:
    """Return one row per student: total, questions, the number of checks per outcome, lateness, status and explanation.

    Questions are weighted, but not scaled; whoever has no final score has no numbers.
    """
    questions = [question.id for question in course.assignment.questions]
    header = ["Submission", "Name", "Email", "SID", "Total", "Max Points", *questions]
    header += [*COUNTED, "Submitted", "Days Late", "Attempts", "Status", "Explanation"]
    entries = {entry.id: entry for entry in course.entries}
    rows: list[Row] = []
    for one in scores:
        entry, student = entries[one.entry], one.student
        handed_in = entry.created_at.isoformat() if entry.created_at else ""
        late: str | int = "late" if one.days_late is None and entry.late else "" if one.days_late is None else one.days_late
        row: Row = [one.entry, student.name, student.email, student.sid, one.points, one.max_points]
        row += [one.questions.get(question) for question in questions]
        row += [one.outcomes.get(outcome, 0) if one.outcomes else None for outcome in COUNTED]
        attempts = 1 + max(len(entry.earlier), len(one.replaces))  # by the platform, or in this class
        rows.append([*row, handed_in, late, attempts, one.status, "; ".join(one.explanation())])
    return render_csv(header, rows)


def render_gradescope_csv(course: Course, scores: Iterable[Score]) -> str:
    """Return one row a student under the names that Gradescope's export of a course's grades has for an assignment.

    Who has no points yet has an empty cell.
    """
    # docs/policy.md names the source of the columns. Sections and the total lateness of a course are not known here.
    # Every row has the maximum, as in the export: finalgrade refuses an assignment with more than one.
    # Gradescope is not known to read scores of a programming assignment from a file: this is for tools that read its export.
    scores, title = list(scores), course.assignment.title
    header = ["First Name", "Last Name", "SID", "Email"]
    header += [title, f"{title} - Max Points", f"{title} - Submission Time", f"{title} - Lateness (H:M:S)"]
    entries = {entry.id: entry for entry in course.entries}
    most = _find_maximum(scores)
    rows: list[Row] = []
    for one in scores:
        moment = entries[one.entry].created_at
        first, _, last = one.student.name.strip().rpartition(" ")
        who = [first or last, last if first else "", one.student.sid, one.student.email]
        submitted = moment.strftime("%Y-%m-%d %H:%M:%S %z") if moment else ""
        rows.append([*who, one.points, most, submitted, _format_lateness(one.seconds_late)])
    return render_csv(header, rows)


def _format_lateness(seconds: int | None) -> str:
    """Return hours, minutes and seconds; the hours are not limited to 24."""
    return "" if seconds is None else f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _find_maximum(scores: Iterable[Score]) -> Decimal | None:
    """Return full marks, which are the same for the whole class; None where nobody is graded yet."""
    return max((one.max_points for one in scores if one.max_points is not None), default=None)


def render_canvas_csv(course: Course, scores: Iterable[Score], column: str = "") -> str:
    """Return the text that Canvas' gradebook imports: one row for each student who has a score.

    Args:
        column: The header of the assignment's column in Canvas' own export, "Homework 3 (12345)".
            Canvas finds the column by it; with another header, Canvas asks whether to make a new
            assignment.
    """
    # docs/policy.md names the source of the columns; any of ID, SIS User ID and SIS Login ID identifies the student. What an
    # empty cell does to a score that is already there is not known: so who has none yet has no row, which changes nothing.
    # Nor does a student of an anonymous export have one: Canvas knows none of its ids.
    scores = list(scores)
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column or course.assignment.title]
    rows: list[Row] = [["    Points Possible", "", "", "", "", _find_maximum(scores)]]
    for one in scores:
        if one.points is not None and not is_without_canvas_id(course, one):
            name, sid, email = one.student.name or one.entry, one.student.sid, one.student.email
            # Canvas' own download names files by its ID; elsewhere a student's number is the school's.
            own, school = (sid, "") if course.layout == "canvas" else ("", sid)
            rows.append([name, own, school, email, "", one.points])
    return render_csv(header, rows)


def is_without_canvas_id(course: Course, score: Score) -> bool:
    """Return whether the student comes from an anonymous export of Canvas, so that no row in Canvas is theirs."""
    return course.layout == "canvas" and score.student.is_anonymous


def write_gradebooks(folder: Path, course: Course, scores: Iterable[Score], canvas_column: str = "") -> list[Path]:
    """Write gradebook.csv, gradescope.csv and canvas.csv into the folder, and return their paths."""
    scores = list(scores)
    texts = (
        render_gradebook(course, scores),
        render_gradescope_csv(course, scores),
        render_canvas_csv(course, scores, canvas_column),
    )
    for name, text in zip(GRADEBOOKS, texts, strict=True):
        write_atomically(folder / name, text)
    return [folder / name for name in GRADEBOOKS]


def render_csv(header: list[str], rows: list[Row]) -> str:
    """Return a table in which no cell is a formula."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue()


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    # Indentation is kept: Canvas knows its second row by it. Tabs, returns and the like become spaces, or are spelled out.
    return escape_formula(sanitize("".join(" " if character.isspace() else character for character in value), MAX_CELL))
