"""The first step of --show and --debug: grade the question in the sandbox, and find its checks that fail."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from grader.assignment import AssignmentFiles, Question, UsageError
from grader.desk.asked import find_questions
from grader.desk.breakpoints import ignore_breakpoints
from grader.judge.compare import format_value
from grader.judge.received import describe_call
from grader.judge.run import Grader, GradingOptions, select_questions
from grader.judge.student import LastCall
from grader.report import layout, screen, terminal
from grader.report.model import Cause, CheckResult, Outcome, Report
from grader.report.text import sanitize


class NothingToInspect(Exception):
    """No check called a function of the submission; the message says why.

    Attributes:
        fault: Whether the grader itself failed.
    """

    def __init__(self, message: str, fault: bool = False) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True)
class FailureInspection:
    """A check, its last call, its question, and the code that it called.

    Attributes:
        file: The student's own file, if it is not a notebook.
        source: Its content, or the Python file made from a notebook.
    """

    question: Question
    check: CheckResult
    tried: LastCall
    file: Path | None = None
    source: bytes = b""

    @property
    def passed(self) -> bool:
        return self.check.outcome is Outcome.PASSED

    @property
    def name(self) -> str:
        """The check's name, for -k."""
        return terminal.make_selection_keyword(self.check)

    def print_headline(self, console: Console) -> None:
        """Print the titles of question and check."""
        outcome = self.check.outcome
        said = f"{terminal.choose_outcome_mark(outcome)} {self.check.title} ({outcome.value}; -k {self.name})"
        print_lines(console, f"{self.question.id}: {self.question.title}", "bold")
        print_lines(console, said, screen.choose_style(outcome))

    def called(self) -> str:
        """Return a line with the function that was called, and the case, as in the report."""
        case = self.tried.case
        if case is None:
            return f"Called with (driver {self.tried.driver}):"
        return describe_call(case, self.question, self.tried.received)[0]

    def inputs(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments that the function received, and the inputs of its case that these do not show.

        If the arguments are not known, the inputs of the case stand in their place.
        """
        received = self.tried.received
        if received is None:
            return self.tried.inputs, {}
        hidden = {} if received.whole else self.tried.inputs
        return received.arguments, {name: value for name, value in hidden.items() if not received.shows(name)}

    def found(self) -> str:
        """Return how the check failed, without the inputs; and the expected facts, if the failure does not show them."""
        lines = [self.tried.said or self.check.message]
        if self.tried.case and not self.tried.said:
            lines += ["expected:", *(f"  {name} = {format_value(value)}" for name, value in self.tried.case.answer.items())]
        return sanitize("\n".join(filter(None, lines)))


def make_console() -> Console:
    """Return a console that spells out characters it cannot encode, wraps on terminals only, and obeys NO_COLOR."""
    layout.make_legible(sys.stdout)
    colors: Literal["auto"] | None = "auto" if layout.has_controls(sys.stdout) else None
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty(), color_system=colors)


def print_lines(console: Console, text: str, style: str = "") -> None:
    """Print text, wrapped to the terminal with hanging indents."""
    fitting = text if console.soft_wrap else layout.wrap_lines(text, console.width)
    console.print(Text(fitting, style), soft_wrap=True)


def find_failing_checks(
    home: AssignmentFiles,
    submission: Path,
    name: str,
    keyword: str = "",
    changed: Callable[[Report], None] | None = None,
    patient: bool = True,
) -> list[FailureInspection]:
    """Return the visible checks of a question that fail; if none does, its first check alone.

    They are in the order of the report.

    Args:
        name: The question's id, or parts of it.
        keyword: Selects checks, as pytest's -k.
        changed: Called with the report after each check.
        patient: False, for the debugger, to run no check after a timeout, since the others would take as long, and to
            ignore breakpoints.

    Raises:
        NothingToInspect: If no check has called a function of the student's.
        UsageError: As `judge.run.grade`.
    """
    asked = find_questions(home.assignment, [name])
    chosen = select_questions(home, asked)
    # The debugger stops at breakpoints afterwards. Here, they would hide why the check fails.
    ignored = contextlib.nullcontext(submission) if patient else ignore_breakpoints(submission, home.assignment)
    with Grader(home) as grader, ignored as graded:
        staged = grader.take(graded)
        report = grader.grade(staged, GradingOptions(chosen, keyword, changed, thorough=patient))
        found = grader.tried
        if not patient and not any(check.outcome is Outcome.TIMEOUT for check in report.checks):
            known = {check.id: check for check in report.checks if check.cause is not Cause.NOT_REACHED}
            report = grader.grade(staged, GradingOptions(chosen, keyword, changed, before=known))
            found = found | grader.tried
        tried, file, source = found, None if staged.handed.notebook else staged.handed.path, staged.path.read_bytes()
        file = submission if graded != submission else file
    if not report.final:
        faults = [check.message for check in report.checks if check.outcome is Outcome.GRADER_ERROR]
        raise NothingToInspect(report.explain_stop() or faults[0], fault=True)
    failed = [check for check in report.checks if check.outcome is not Outcome.PASSED]
    own = [check for check in report.checks if check.question in asked]
    if not own:
        raise UsageError(f"no check of {name} matches -k {keyword!r}")
    if failed:
        _require_tried(failed[0], name, own, tried)
    looks = [
        FailureInspection(home.assignment.question(check.question), check, tried[check.id], file, source)
        for check in own
        if check.id in tried
    ]
    if not looks:
        raise NothingToInspect(f"The checks of {name} call no function.")
    return [entry for entry in looks if not entry.passed] or looks[:1]


def _require_tried(first: CheckResult, name: str, own: list[CheckResult], tried: dict[str, LastCall]) -> None:
    """Raise NothingToInspect if the first failing check ended before it called anything."""
    if first not in own:
        raise NothingToInspect(f"{name} runs only after {first.question} passes: look at {first.question} first.")
    if first.id not in tried:
        raise NothingToInspect(f"{first.question}: {first.message}")
