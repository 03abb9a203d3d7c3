"""The report in a terminal: a table of questions, what went wrong in each, what to fix first, and the totals."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

from grader.report.model import HIDDEN_CHECKS, Cause, CheckResult, Outcome, QuestionResult, Report

MARKS = {Outcome.PASSED: "✓", Outcome.NOT_STARTED: "·", Outcome.NOT_RUN: "-", Outcome.GRADER_ERROR: "!"}
STYLES = {
    Outcome.PASSED: "green",
    Outcome.PARTIAL: "yellow",
    Outcome.NOT_STARTED: "dim",
    Outcome.NOT_RUN: "dim",
    Outcome.GRADER_ERROR: "magenta",
}
PRINTED_LINES = 12
LEAST_WIDTH = 40  # of a terminal: a narrower one breaks lines by itself
HANGS = re.compile(r" *(?:[✓✗·!-] |expected +|got +|[\w.]{1,20} = )?")  # below what follows this, the line goes on
TOGETHER = re.compile(r"python grade\.py(?: [^ (]\S*)+|-k [^ )]+")
GLUE = "\ue000"
ONE_REASON = "Nothing could be graded, for one reason:"


def render(report: Report, stream: TextIO | None = None) -> None:
    """Print the report.

    On a terminal, it has colours and a table; elsewhere, or when NO_COLOR is set, plain lines.
    """
    stream = stream or sys.stdout
    if stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        _render_rich(report, stream)
    else:
        plain = render_plain(report)
        shown = wrap_lines(plain, shutil.get_terminal_size().columns) if stream.isatty() else plain
        stream.write(shown.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8"))
    stream.flush()


def render_plain(report: Report) -> str:
    """Return the report as plain text."""
    lines = [f"{report.title} ({report.assignment} {report.suite_version})", *report.remarks, ""]
    width = max((len(question.id) for question in report.questions), default=0)
    for question in report.questions:
        outcome, cell = question.outcome, f"  {question.cell}" if question.cell else ""
        worth = f"{describe_score(question):>7} {question.seconds:6.2f} s"
        lines.append(f"{choose_outcome_mark(outcome)} {question.id:<{width}} {worth}  {outcome.value}{cell}")
    for question in report.questions:
        if body := explain_question(report, question):
            lines += ["", _heading(question), *body]
    lines += [*explain_common_failure(report), *describe_unwritten(report), "", *make_closing_lines(report)]
    return "\n".join(lines) + "\n"


def wrap_lines(text: str, width: int) -> str:
    """Return the text in lines of at most this width; what goes on in a further line stands below where it began.

    A command stays in one piece, however long, so that it can be copied: `python grade.py ...`, and `-k` with its pattern.
    """
    return "\n".join(_wrap(line, max(width, LEAST_WIDTH)) for line in text.split("\n"))


def _wrap(line: str, width: int) -> str:
    begun = HANGS.match(line)
    assert begun is not None  # it matches anything
    together = TOGETHER.sub(lambda found: found[0].replace(" ", GLUE), line[begun.end() :])
    wrapped = textwrap.wrap(
        together,
        width,
        initial_indent=begun[0],
        subsequent_indent=" " * len(begun[0]),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return "\n".join(wrapped).replace(GLUE, " ") if len(line) > width else line


def _render_rich(report: Report, stream: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, highlight=False)

    def write(lines: Sequence[str], style: str = "") -> None:
        if lines:
            console.print(Text(wrap_lines("\n".join(lines), console.width), style), soft_wrap=True)

    write([f"{report.title} ({report.assignment} {report.suite_version})"], "italic")
    table = Table()
    table.add_column("question")
    table.add_column("points", justify="right")
    table.add_column("time", justify="right")
    table.add_column("outcome")
    if report.cells:
        table.add_column("from")
    for question in report.questions:
        style = STYLES.get(question.outcome, "red")
        outcome = Text(f"{choose_outcome_mark(question.outcome)} {question.outcome.value}", style)
        row: list[Text | str] = [Text(question.id), describe_score(question), f"{question.seconds:.2f} s", outcome]
        table.add_row(*row, *([question.cell] if report.cells else []))
    console.print(table)
    write(report.remarks)
    for question in report.questions:
        if body := explain_question(report, question):
            style = STYLES.get(question.outcome, "red")
            console.print()
            console.print(Text(_heading(question), style))
            write(body)
    write([*explain_common_failure(report), *describe_unwritten(report), ""])
    write(make_closing_lines(report), "bold")


def explain_question(report: Report, question: QuestionResult) -> list[str]:
    """Return what to say of a question that was tried and has not passed: its first failure in full, the others by title."""
    failed = list_checks_to_explain(report, question)
    lines, given = (_failure(failed[0]), {*failed[0].hint.splitlines()}) if failed else ([], set())
    for check in failed[1:]:
        same = " (for the same reason)" if check.message == failed[0].message else ""
        lines.append(f"  {_headline(check)}{same}")
        if {*check.hint.splitlines()} - given:
            lines.append(textwrap.indent(check.advice(), "      "))
            given |= {*check.hint.splitlines()}
    return lines


def list_checks_to_explain(report: Report, question: QuestionResult) -> list[CheckResult]:
    """Return the checks that a question that was tried has not passed, those not run last; none for one reason for all."""
    if question.outcome in (Outcome.PASSED, Outcome.NOT_STARTED) or find_common_failure(report):
        return []
    checks = [check for check in report.checks if check.question == question.id and check.outcome is not Outcome.PASSED]
    return sorted(checks, key=lambda check: check.outcome is Outcome.NOT_RUN)


def explain_common_failure(report: Report) -> list[str]:
    """Return what to say when everything failed alike, as when the file cannot be loaded; otherwise nothing."""
    check = find_common_failure(report)
    return ["", ONE_REASON, *_body(check)] if check else []


def find_common_failure(report: Report) -> CheckResult | None:
    """Return a check that stands for all when everything failed alike, otherwise None."""
    checks = report.checks
    tried = all(check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN, Outcome.GRADER_ERROR) for check in checks)
    if len(report.questions) < 2 or not tried or len({check.message for check in checks}) > 1:
        return None
    return checks[0]


def describe_unwritten(report: Report) -> list[str]:
    """Return one line for each question that is still the stub."""
    lines = [f"  {question.id}: {task}" for question, task in list_unwritten(report)]
    return ["", "Not started:", *lines] if lines else []


def list_unwritten(report: Report) -> list[tuple[QuestionResult, str]]:
    """Return the questions that are still the stub, each with what is to be written."""
    found = []
    for question in report.questions:
        if question.outcome is Outcome.NOT_STARTED:
            check = next(check for check in report.checks if check.question == question.id)
            found.append((question, check.message.removeprefix("not written yet: ") or question.task))
    return found


def _heading(question: QuestionResult) -> str:
    cell = f", {question.cell}" if question.cell else ""
    return f"{question.id}: {question.title} ({question.outcome.value}, {describe_score(question)}{cell})"


def _headline(check: CheckResult) -> str:
    hidden = " [hidden]" if check.suite == "hidden" else ""
    run = "" if check.question == HIDDEN_CHECKS else f"; -k {make_selection_keyword(check)}"
    return f"{choose_outcome_mark(check.outcome)} {check.title} ({check.outcome.value}, {describe_points(check)}{run}){hidden}"


def choose_outcome_mark(outcome: Outcome) -> str:
    """Return the one character that stands for an outcome."""
    return MARKS.get(outcome, "✗")


def describe_points(check: CheckResult) -> str:
    """Return the points of a check in words."""
    if not check.max_points:
        return "no points"
    return f"{check.points:g} of {check.max_points:g} {'point' if check.max_points == 1 else 'points'}"


def make_selection_keyword(check: CheckResult) -> str:
    """Return the pattern with which `-k` runs this check."""
    return check.id.rpartition("/")[2].removeprefix("test_")


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
    if check.suspects:
        lines.append(f"      looks in part like: {', '.join(check.suspects)}")
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


def make_closing_lines(report: Report) -> list[str]:
    """Return the last lines: what to fix first, and the points with what they do not include."""
    verb, question = find_next_step(report)
    return [*([f"{verb}: {question.id} ({question.title})"] if question else []), *describe_total(report)]


def find_next_step(report: Report) -> tuple[str, QuestionResult | None]:
    """Return a verb and the question to go on with, or None when there is nothing to do, or one reason explains it all."""
    open_outcomes = (Outcome.PASSED, Outcome.NOT_RUN, Outcome.GRADER_ERROR)
    wrong = {check.question for check in report.checks if check.outcome not in open_outcomes or check.unwritten}
    left = [
        question
        for question in report.questions
        if question.id in wrong and question.outcome not in open_outcomes and question.id != HIDDEN_CHECKS
    ]
    # What is begun comes first: a student who works on it must not be sent away. What brings no points comes last.
    left.sort(key=lambda question: (not question.max_points, question.outcome is Outcome.NOT_STARTED))
    first = next(iter(left), None)
    if first is None or find_common_failure(report):
        return "", None
    if not first.max_points:
        return "If you like", first
    return "Start with" if first.outcome is Outcome.NOT_STARTED else "Fix first", first


def describe_total(report: Report) -> list[str]:
    """Return the points, what they do not include, and what must be known about this run."""
    kind = " + ".join(report.suites)
    lines = [f"{kind} checks: {report.points:g}/{report.max_points:g} points"]
    if entries := report.leaderboard():
        lines.append(f"leaderboard: {', '.join(f'{entry.name} {entry.value:g}' for entry in entries)}")
    if report.points_elsewhere:
        by = "by the visible checks" if "hidden" in report.suites else "after submission, by hidden checks"
        lines.append(f"{report.points_elsewhere:g} more points are graded {by}")
    if "hidden" in report.suites:
        could = f", a submission could {', '.join(report.isolation_open)}" if report.isolation_open else ""
        lines.append(f"isolation: {report.isolation}{could}")
        if report.refused_calls:
            lines.append(f"refused system calls that no honest code is known to use: {', '.join(report.refused_calls)}")
    if report.cause:
        lines.append(report.explain_stop())
    if not report.final:
        again = "" if report.cause is Cause.SUITE else " Please run the grader again."
        lines.append(f"This report is not final; nothing is held against the student.{again}")
    return lines


def describe_score(question: QuestionResult) -> str:
    """Return the points of a question, of how many."""
    return f"{question.points:g}/{question.max_points:g}"
