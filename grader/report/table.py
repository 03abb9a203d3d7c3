"""The report as CSV, for spreadsheets and scripts: one row per check; the points add up to the total."""

from __future__ import annotations

import csv
import io

from grader.report.model import CheckResult, Report
from grader.report.shared import describe_check, explain_not_final
from grader.report.text import LENGTHS, escape_formula, sanitize

COLUMNS = (
    "submission",
    "assignment",
    "version",
    "final",
    "question",
    "suite",
    "check",
    "title",
    "outcome",
    "points",
    "max_points",
    "mistakes",
    "message",
)


def render(report: Report) -> str:
    """Return the table. It shows everything in the report; for a student, pass `shared.fold_hidden_checks(report)`.

    A report that is not final has "no" in the column `final`, and a first row without points that gives the reason.
    """
    about = [report.submission, report.assignment, report.suite_version, "yes" if report.final else "no"]
    rows = [_row(check) for check in report.checks]
    if problem := explain_not_final(report):
        rows.insert(0, ["", "", "", "the grader", "grader error", "0.0", "0.0", "", problem])
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([escape_formula(sanitize(text, LENGTHS[0])) for text in [*about, *row]] for row in rows)
    return file.getvalue()


def _row(check: CheckResult) -> list[str]:
    numbers = [repr(float(check.points)), repr(float(check.max_points))]
    where = [check.question, check.suite, check.id, check.title]
    return [*where, check.outcome.value, *numbers, " ".join(check.mistakes), describe_check(check)]
