"""The report on a terminal: with colors, a table and wrapped lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from grader.report import layout
from grader.report.model import Outcome, Report
from grader.report.terminal import (
    STYLES,
    describe_outcome,
    describe_score,
    list_rows,
    list_sections,
    make_closing_lines,
    render_plain,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Readers who cannot distinguish red from green can distinguish red from blue, and bold red by its brightness.
COLORS = {"green": "bright_blue", "red": "bold red"}
WIDE = 80  # columns that fit the times and a frame next to the questions


def render(report: Report, stream: TextIO | None = None) -> None:
    """Print the report.

    On a terminal, it has colors and a table; elsewhere, or when NO_COLOR is set, plain lines.
    """
    stream = stream or sys.stdout
    if layout.has_controls(stream):
        _render_rich(report, stream)
    else:
        shown, encoding = layout.fit_lines(render_plain(report), stream), stream.encoding or "utf-8"
        stream.write(shown.encode(encoding, layout.LEGIBLE).decode(encoding))
    stream.flush()


def _render_rich(report: Report, stream: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    layout.make_legible(stream)
    console = Console(file=stream, highlight=False)

    def write(lines: list[str], style: str = "") -> None:
        if lines:
            console.print(Text(layout.wrap_lines("\n".join(lines), console.width), style), soft_wrap=True)

    write([f"{report.title} ({report.assignment} {report.suite_version})"], "italic")
    if list_rows(report):
        console.print(_make_table(report, console))
    write([*report.remarks])
    for heading, body, outcome in list_sections(report):
        write(["", heading], choose_style(outcome) if outcome else "")
        write(body)
    write(["", *make_closing_lines(report)], "bold")


def _make_table(report: Report, console: Console) -> Table:
    from rich.table import Table
    from rich.text import Text

    wide = console.width >= WIDE
    table = Table() if wide else Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    outcomes = [" ".join(describe_outcome(report, question)) for question in report.questions]
    scores = [describe_score(question) for question in report.questions]
    cells = [question.cell for question in report.questions] if report.cells else []
    columns = [["points", *scores], ["outcome", *outcomes], *([["from", *cells]] if cells else [])]
    room = console.width - sum(2 + max(map(len, column)) for column in columns)
    table.add_column("question", overflow="fold")
    table.add_column("points", justify="right")
    if wide:
        table.add_column("time", justify="right")
    table.add_column("outcome", no_wrap=True)
    if report.cells:
        table.add_column("from")
    for at, question in enumerate(report.questions):
        short = question.id if len(question.id) <= room else question.id.replace(".", ".\n  ")
        time = [f"{question.seconds:.2f} s"] if wide else []
        name, outcome = Text(question.id if wide else short), Text(outcomes[at], choose_style(question.outcome))
        table.add_row(name, scores[at], *time, outcome, *cells[at : at + 1])
    return table


def choose_style(outcome: Outcome) -> str:
    """Return the style of an outcome on a terminal."""
    name = STYLES.get(outcome, "red")
    return COLORS.get(name, name)
