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

MAX_CELL = 30_000  # characters; Excel holds 32,767
# Outcomes of single checks: a question alone is partial or not started.
COUNTED = [outcome.value for outcome in Outcome if outcome not in (Outcome.PARTIAL, Outcome.NOT_STARTED)]


def render_gradebook(course: Course, scores: Iterable[Score]) -> str:
    """Return one row a student: the total, each question, how many checks ended how, lateness, state, and the explanation.

    Questions are weighted, but not scaled; whoever has no final score has no numbers.
    """
    questions = [question.id for question in course.assignment.questions]
    header = ["Submission", "Name", "Email", "SID", "Total", "Max Points", *questions]
    header += [*COUNTED, "Handed In", "Days Late", "Attempts", "Status", "Explanation"]
    entries = {entry.id: entry for entry in course.entries}
    rows: list[Row] = []
    for one in scores:
        entry, student = entries[one.entry], one.student
        handed_in = entry.created_at.isoformat() if entry.created_at else ""
        late: str | int = "late" if one.days_late is None and entry.late else "" if one.days_late is None else one.days_late
        row: Row = [one.entry, student.name, student.email, student.sid, one.points, one.max_points]
        row += [one.questions.get(question) for question in questions]
        row += [one.outcomes.get(outcome, 0) if one.outcomes else None for outcome in COUNTED]
        rows.append([*row, handed_in, late, len(entry.earlier) + 1, one.status, "; ".join(one.explanation())])
    return _text(header, rows)


def render_gradescope_csv(course: Course, scores: Iterable[Score]) -> str:
    """Return one row a student under the names that Gradescope's own export of grades has for these columns.

    Who is not graded has status Ungraded, and no score.
    """
    # As remembered from exports of grades, not checked against one: First Name, Last Name, SID, Email, Sections,
    # Total Score, Max Points, Status (Graded, Ungraded, Missing), Submission ID, Submission Time, Lateness (H:M:S), View
    # Count, Submission Count, then the questions. Older ones have one column Name. What the kit does not know is left out.
    # Gradescope is not known to read scores of a programming assignment from a file: this is to be joined with its export.
    header = ["First Name", "Last Name", "SID", "Email", "Total Score", "Max Points", "Status"]
    header += ["Submission ID", "Submission Time", "Submission Count"]
    entries = {entry.id: entry for entry in course.entries}
    rows: list[Row] = []
    for one in scores:
        entry = entries[one.entry]
        first, _, last = one.student.name.strip().rpartition(" ")
        status = "Ungraded" if one.points is None else "Graded"
        moment = entry.created_at.strftime("%Y-%m-%d %H:%M:%S %z") if entry.created_at else ""
        number = one.entry.removeprefix("submission_")
        who = [first or last, last if first else "", one.student.sid, one.student.email]
        rows.append([*who, one.points, one.max_points, status, number, moment, len(entry.earlier) + 1])
    return _text(header, rows)


def render_canvas_csv(course: Course, scores: Iterable[Score], column: str = "") -> str:
    """Return the text that Canvas' gradebook imports: one row for each student who has a score.

    Args:
        column: The header of the assignment's column in Canvas' own export, "Homework 3 (12345)".
            Canvas finds the column by it; with another header, Canvas asks whether to make a new
            assignment.
    """
    # As remembered of its import, not checked against it: the columns Student, ID, SIS User ID, SIS Login ID and Section come
    # first, students are found by ID (or SIS ID), and the second row holds the points possible. What an empty cell does to a
    # score that is already there we have not verified: so who has none yet has no row, which changes nothing.
    scores = list(scores)
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column or course.assignment.title]
    possible = {one.max_points for one in scores if one.max_points is not None}
    rows: list[Row] = [["    Points Possible", "", "", "", "", max(possible, default=None)]]
    for one in scores:
        if one.points is not None:
            name, sid, email = one.student.name or one.entry, one.student.sid, one.student.email
            # Canvas' own download names files by its ID; elsewhere a student's number is the school's.
            own, school = (sid, "") if course.layout == "canvas" else ("", sid)
            rows.append([name, own, school, email, "", one.points])
    return _text(header, rows)


def write_gradebooks(folder: Path, course: Course, scores: Iterable[Score], canvas_column: str = "") -> list[Path]:
    """Write gradebook.csv, gradescope.csv and canvas.csv into the folder, and return their paths."""
    scores = list(scores)
    texts = {
        "gradebook.csv": render_gradebook(course, scores),
        "gradescope.csv": render_gradescope_csv(course, scores),
        "canvas.csv": render_canvas_csv(course, scores, canvas_column),
    }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in texts]


def _text(header: list[str], rows: list[Row]) -> str:
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
    # Indentation is kept: Canvas knows its second row by it. Tabs, returns and the like become spaces, or are spelt out.
    return escape_formula(sanitize("".join(" " if character.isspace() else character for character in value), MAX_CELL))
