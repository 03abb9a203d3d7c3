"""The screen of watch mode: the progress, what to do next, and the keys."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.assignment import AssignmentFiles
from grader.console import name_python
from grader.report import layout, screen, terminal
from grader.report.model import Outcome, QuestionResult, Report

if TYPE_CHECKING:
    from rich.text import Text

KEYS = ("h hint · d debug · a all · q quit", "[h]int [d]ebug [a]ll [q]uit")  # the shorter ones for a narrow terminal
WIDE = 80  # columns that fit the names of all questions
ROOM = 13  # lines for all but the explanation
LEAST_NAME = 16  # columns for the part that is being graded; with fewer, it is left out
BAR = 40  # columns of the bar at most


@dataclass(frozen=True)
class GradingResult:
    """A report from the grading thread.

    Attributes:
        changed: The questions whose code the save changed.
        whole: Whether everything is graded.
    """

    report: Report
    changed: frozenset[str]
    whole: bool
    seconds: float


@dataclass(frozen=True)
class GradingFailure:
    """Why nothing could be graded."""

    message: str


@dataclass(frozen=True)
class GradingProgress:
    """The progress of a grading.

    Attributes:
        done: How many checks are done.
        count: How many there are; 0 while that is not known.
        question: The name of the part that is being graded.
    """

    done: int
    count: int
    question: str


Event = GradingResult | GradingFailure | GradingProgress


class WatchScreen:
    """The screen: a progress bar, a mark for each question, what to do next, and the keys.

    If NO_COLOR is set, or the terminal cannot move its cursor, each screen is printed below the previous one.
    """

    def __init__(self, home: AssignmentFiles, submission: Path) -> None:
        from rich.console import Console

        self._plain = not layout.has_controls(sys.stdout)
        self._console = Console(highlight=False, color_system=None if self._plain else "auto")
        self._submission = submission
        name = "" if (home.root / "assignment.toml").is_file() else f" {home.assignment.name}"
        self._command = f"{name_python()} grade.py{name}"
        self._report: Report | None = None
        self._changed: frozenset[str] = frozenset()
        self._all = False  # show the next complete report in full
        self._last: GradingResult | None = None
        self._hinted = ""  # the hint that was asked for: it stays when the rest is graded
        self._text, self._end = "starting", ""
        self._status()

    def show(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, GradingFailure):
            self._begin_line()
            self._print(event.message)
            self._status("waiting for the next save")
        elif isinstance(event, GradingProgress):
            done = f", {event.done} of {event.count} checks" if event.count else ""
            self._status(f"grading {event.question}".strip(), passing=True, end=done)
        else:
            again = self._report
            self._report, self._changed, self._last = event.report, event.changed or self._changed, event
            if event.whole and self._all:
                self._all = False
                self._clear()
                screen.render(event.report)
            elif again is None or not event.whole or _said(again) != _said(event.report):
                self._draw(event)
            self._status("waiting for the next save" if event.whole else "checking the rest", passing=not event.whole)

    def first(self) -> QuestionResult | None:
        """Return the question to work on: the first changed one that fails, or else the first one in progress."""
        if self._report is None:
            return None
        report = self._report
        begun = [
            question
            for question in terminal.list_open_questions(report)
            if question.outcome is not Outcome.NOT_STARTED or terminal.is_unfinished(report, question)
        ]
        return next((question for question in begun if question.id in self._changed), begun[0] if begun else None)

    def hint(self) -> None:
        """Show the hint for the question to work on."""
        if self._report is None or self._last is None:
            return
        question, following = self.first(), _not_started(self._report)
        if terminal.find_common_failure(self._report):
            text = "The file must load first: the message above names the line."
        elif question is not None and find_advice(self._report, question):
            self._draw(self._last, hints=True)
            text = ""
        elif question is not None and terminal.is_unfinished(self._report, question):
            text = f"{question.id}: {question.task}"
        elif question is not None:
            text = f"No known mistake matches. Look closer: {self._command} --show {question.id}"
        else:
            text = f"{following.id}: {following.task}" if following else "No failed question is left, so there is no hint."
        if text:
            self._begin_line()
            self._print(text, "bold")
        self._status()

    def everything(self) -> None:
        """Show the whole report as soon as everything is graded."""
        self._all = True
        self._status("grading everything for the whole report")

    def again(self) -> None:
        """Draw the screen again."""
        if self._last is not None:
            self._draw(self._last)
        self._status()

    def to_debug(self) -> QuestionResult | None:
        """Return the question to debug, and show that it is starting; or show why there is none."""
        question = self.first()
        if self._report is not None and terminal.find_common_failure(self._report):
            question = None
            self._status("nothing to debug: the file cannot be loaded")
        elif question is None:
            self._status("nothing to debug: no question that you have started fails")
        else:
            self._status(f"starting the debugger for {question.id}")
        return question

    def end(self) -> None:
        """Move the cursor to the beginning of a line."""
        self._begin_line()

    def forget(self) -> None:
        """Redraw everything at the next event: another program has used the terminal."""
        self._report = None

    def _draw(self, event: GradingResult, hints: bool = False) -> None:
        self._clear()
        for line in self._lines(event, hints):
            self._console.print(line, soft_wrap=isinstance(line, str), markup=False)

    def _lines(self, event: GradingResult, hints: bool) -> Iterator[object]:
        from rich.columns import Columns
        from rich.text import Text

        report = hide_hints(event.report)
        reason, question = terminal.explain_common_failure(report), self.first()
        yield self._fit(f"{report.title} · {self._submission.name}", "bold")
        if not reason:  # which says nothing of what has been done
            # Without questions that earn no points, such as optional attachments, so that the number stays the same.
            counted = [question for question in report.questions if question.max_points]
            passed = sum(question.outcome is Outcome.PASSED for question in counted)
            words = f"{passed} of {len(counted)} questions · {report.points:g}/{report.max_points:g} points"
            yield _bar(passed, len(counted), words, self._console.width)
            wide = self._console.width >= WIDE
            marks = [_mark(report, question, self._changed, wide) for question in report.questions]
            yield Columns(marks, padding=(0, 2 if wide else 1))
        for remark in report.remarks:
            yield self._fit(remark)
        yield Text("")
        for done in (entry for entry in report.questions if entry.id in event.changed and entry.outcome is Outcome.PASSED):
            yield Text(f"✓ {done.id}: passed", screen.choose_style(Outcome.PASSED))
        if reason:
            yield self._fit_room(reason[1:])
        elif question is not None:
            yield from self._explain(report, question)
            if advice := find_advice(event.report, question):
                self._hinted = advice if hints else self._hinted
                yield self._fit(advice if advice == self._hinted else "There is a hint: press h", "bold")
        else:
            yield from self._say_next(report)
        if not event.whole:
            yield Text(f"{event.seconds:.2f} s after the save", "dim")

    def _explain(self, report: Report, question: QuestionResult) -> Iterator[Text]:
        """Yield the explanation of the question to work on."""
        _, word = terminal.describe_outcome(report, question)
        yield self._fit(f"{question.id}: {question.title} ({word})", screen.choose_style(question.outcome))
        if word == terminal.UNFINISHED[1]:
            yield self._fit(terminal.TO_WRITE)
        yield self._fit_room(terminal.explain_question(report, question))

    def _say_next(self, report: Report) -> Iterator[Text]:
        """Yield the totals and, if all questions in progress pass, the next question."""
        following = _not_started(report)
        yield self._fit("\n".join(terminal.make_closing_lines(report)))
        if following is not None:
            yield self._fit(f"{following.id}: {following.task}", "bold")
        elif report.points == report.max_points:
            yield self._fit(f"All visible checks pass. Submit {self._submission.name}.", screen.choose_style(Outcome.PASSED))

    def _fit(self, text: str, style: str = "") -> Text:
        """Return the text, wrapped to the terminal."""
        from rich.text import Text

        return Text(layout.wrap_lines(text, self._console.width), style)

    def _fit_room(self, lines: list[str]) -> Text:
        """Return the lines, cut so that the lines above stay on the screen: differences first, inputs last."""
        fitting = self._fit("\n".join(lines))
        wrapped = fitting.plain.split("\n")
        room = max(self._console.height - ROOM, 8)
        if self._plain or len(wrapped) <= room:
            return fitting
        return self._fit("\n".join(wrapped[: room - 1])).append("\n  [... press a for the whole report]", "dim")

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(self._fit(text, style), soft_wrap=True)

    def _clear(self) -> None:
        if self._plain:
            self._console.print("─" * min(self._console.width, BAR))
        else:
            self._begin_line()
            self._console.clear()

    def _begin_line(self) -> None:
        from rich.control import Control
        from rich.segment import ControlType

        if not self._plain:
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))

    def _status(self, text: str | None = None, passing: bool = False, end: str = "") -> None:
        """Show the status next to the keys, or show it again.

        Args:
            text: The status; its end is cut where the line is too long.
            passing: Whether it changes soon, and needs no line of its own.
            end: The part of it that is not cut.
        """
        self._text, self._end = (self._text, self._end) if text is None else (text, end)
        keys = KEYS[self._console.width < WIDE]
        line = f"{keys}    {self._text}{self._end}"
        if self._plain:
            if not passing:
                self._console.print(line, soft_wrap=True, markup=False)
            return
        self._begin_line()
        if len(line) >= self._console.width:  # the keys matter most, then the numbers
            room = max(self._console.width - 1 - len(f"{KEYS[1]}    {self._end}"), 0)
            short = self._text if len(self._text) <= room else f"{self._text[: room - 3]}..." if room > LEAST_NAME else ""
            line = f"{KEYS[1]}    {short}{self._end if short else self._end.removeprefix(', ')}"
        self._console.print(line[: self._console.width - 1], end="", markup=False, style="dim")


def _not_started(report: Report) -> QuestionResult | None:
    return next((question for question in report.questions if question.outcome is Outcome.NOT_STARTED), None)


def _said(report: Report) -> list[tuple[str, ...]]:
    """Return everything in a report except its duration."""
    return [(check.id, check.outcome.value, check.message, check.hint) for check in report.checks]


def hide_hints(report: Report) -> Report:
    """Return a copy without hints: students should think first."""
    copy = report.model_copy(deep=True)
    for check in copy.checks:
        check.hint, check.mistakes, check.suspects = "", (), ()
    return copy


def find_advice(report: Report, question: QuestionResult) -> str:
    """Return the hint for this question, or nothing."""
    return next((check.advice() for check in report.checks if check.question == question.id and check.hint), "")


def _bar(done: int, count: int, words: str, width: int) -> Text:
    """Return a bar that fits the terminal, and the text next to it; its parts differ even without colors."""
    from rich.text import Text

    length = max(min(BAR, width - len(words) - 1), 0)
    full = length * done // max(count, 1)
    return Text.assemble(("━" * full, screen.choose_style(Outcome.PASSED)), ("─" * (length - full), "dim"), f" {words}")


def _mark(report: Report, question: QuestionResult, changed: frozenset[str], named: bool) -> Text:
    from rich.text import Text

    mark, _ = terminal.describe_outcome(report, question)
    style = screen.choose_style(question.outcome) + (" bold" if question.id in changed else "")
    return Text(f"{mark} {question.id}" if named else mark, style)
