"""The report in a terminal: a table of questions, what went wrong in each, what to fix first, and the totals."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TextIO

from grader.report.model import CheckResult, Outcome, QuestionResult, Report

MARKS = {Outcome.PASSED: "✓", Outcome.NOT_STARTED: "·", Outcome.NOT_RUN: "-", Outcome.GRADER_ERROR: "!"}
STYLES = {
    Outcome.PASSED: "green",
    Outcome.PARTIAL: "yellow",
    Outcome.NOT_STARTED: "dim",
    Outcome.NOT_RUN: "dim",
    Outcome.GRADER_ERROR: "magenta",
}
PRINTED_LINES = 12


def render(report: Report, stream: TextIO | None = None) -> None:
    """Print the report: with colours and a table on a terminal, as plain lines elsewhere or when NO_COLOR is set."""
    stream = stream or sys.stdout
    if stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        _render_rich(report, stream)
    else:
        stream.write(plain(report).encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8"))
    stream.flush()


def plain(report: Report) -> str:
    """Return the report as plain text."""
    lines = [f"{report.title} ({report.assignment} {report.suite_version})", ""]
    width = max((len(question.id) for question in report.questions), default=0)
    for question in report.questions:
        mark = MARKS.get(question.outcome, "✗")
        lines.append(f"{mark} {question.id:<{width}} {_score(question):>7} {question.seconds:6.2f} s  {question.outcome.value}")
    for question in report.questions:
        if body := explain(report, question):
            lines += ["", _heading(question), *body]
    lines += [*for_one_reason(report), *to_write(report), "", *totals(report)]
    return "\n".join(lines) + "\n"


def _render_rich(report: Report, stream: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    table = Table(title=f"{report.title} ({report.assignment} {report.suite_version})", title_justify="left")
    table.add_column("question")
    table.add_column("points", justify="right")
    table.add_column("time", justify="right")
    table.add_column("outcome")
    for question in report.questions:
        style = STYLES.get(question.outcome, "red")
        outcome = Text(f"{MARKS.get(question.outcome, '✗')} {question.outcome.value}", style)
        table.add_row(Text(question.id), _score(question), f"{question.seconds:.2f} s", outcome)
    console.print(table)
    for question in report.questions:
        if body := explain(report, question):
            style = STYLES.get(question.outcome, "red")
            console.print()
            console.print(Text(_heading(question), style))
            console.print(Text("\n".join(body)))
    console.print(Text("\n".join([*for_one_reason(report), *to_write(report), ""])))
    console.print(Text("\n".join(totals(report)), "bold"))


def explain(report: Report, question: QuestionResult) -> list[str]:
    """Return what to say of a question that was tried and has not passed: its first failure in full, the others by title."""
    if question.outcome in (Outcome.PASSED, Outcome.NOT_STARTED) or for_one_reason(report):
        return []
    failed = [check for check in report.checks if check.question == question.id and check.outcome is not Outcome.PASSED]
    lines = _failure(failed[0])
    for check in failed[1:]:
        same = " (for the same reason)" if check.message == failed[0].message else ""
        lines.append(f"  {_headline(check)}{same}")
    return lines


def for_one_reason(report: Report) -> list[str]:
    """Return what to say when everything failed alike, as when the file cannot be loaded; otherwise nothing."""
    checks = report.checks
    tried = all(check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN, Outcome.GRADER_ERROR) for check in checks)
    if len(report.questions) < 2 or not tried or len({check.message for check in checks}) > 1:
        return []
    return ["", "Nothing could be graded, for one reason:", *_body(checks[0])]


def to_write(report: Report) -> list[str]:
    """Return one line for each question that is still the stub."""
    lines = []
    for question in report.questions:
        if question.outcome is Outcome.NOT_STARTED:
            check = next(check for check in report.checks if check.question == question.id)
            told = check.message.removeprefix("not written yet: ") or question.task
            lines.append(f"  {question.id}: {told}")
    return ["", "Not started:", *lines] if lines else []


def _heading(question: QuestionResult) -> str:
    return f"{question.id}: {question.title} ({question.outcome.value}, {_score(question)})"


def _headline(check: CheckResult) -> str:
    hidden = " [hidden]" if check.suite == "hidden" else ""
    mark = MARKS.get(check.outcome, "✗")
    worth = f"{check.points:g} of {check.max_points:g} {'point' if check.max_points == 1 else 'points'}"
    name = check.id.rpartition("/")[2].removeprefix("test_")
    return f"{mark} {check.title} ({check.outcome.value}, {worth}; -k {name}){hidden}"


def _failure(check: CheckResult) -> list[str]:
    return [f"  {_headline(check)}", *_body(check)]


def _body(check: CheckResult) -> list[str]:
    lines = []
    if check.message:
        lines.append(textwrap.indent(check.message, "      "))
    if check.hint:
        lines.append(textwrap.indent(check.advice(), "      "))
    if check.mistakes:
        lines.append(f"      looks like: {', '.join(check.mistakes)}")
    if check.detail:
        lines.append(textwrap.indent(check.detail, "      "))
    printed = check.printed.strip().splitlines()
    if printed:
        lines.append("      it printed:")
        if len(printed) > PRINTED_LINES:
            half = PRINTED_LINES // 2
            printed = [*printed[:half], f"[... {len(printed) - PRINTED_LINES} lines ...]", *printed[-half:]]
        lines += [f"      | {line}" for line in printed]
    return lines


def first_to_fix(report: Report) -> QuestionResult | None:
    """Return the question to go on with: the first that fails, or is not begun; None if there is none, or no single one."""
    closed = (Outcome.PASSED, Outcome.NOT_RUN, Outcome.GRADER_ERROR)
    left = [question for question in report.questions if question.outcome not in closed]
    if for_one_reason(report):
        return None
    # What is begun comes first: a student who works on it must not be sent away.
    return min(left, key=lambda question: question.outcome is Outcome.NOT_STARTED, default=None)


def totals(report: Report) -> list[str]:
    """Return the last lines: what to fix first, and the points with what they do not include."""
    lines = []
    if first := first_to_fix(report):
        verb = "Start with" if first.outcome is Outcome.NOT_STARTED else "Fix first"
        lines.append(f"{verb}: {first.id} ({first.title})")
    kind = " + ".join(report.suites)
    lines.append(f"{kind} checks: {report.points:g}/{report.max_points:g} points")
    if report.points_elsewhere:
        lines.append(f"{report.points_elsewhere:g} more points are graded after submission, by checks that are not here")
    if "hidden" in report.suites:
        could = f", a submission could {', '.join(report.isolation_open)}" if report.isolation_open else ""
        lines.append(f"isolation: {report.isolation}{could}")
    if report.note:
        lines.append(report.note)
    if not report.final:
        again = "" if report.note.startswith("The checks") else " Please run the grader again."
        lines.append(f"This report is not final; nothing is held against the student.{again}")
    return lines


def _score(question: QuestionResult) -> str:
    return f"{question.points:g}/{question.max_points:g}"
