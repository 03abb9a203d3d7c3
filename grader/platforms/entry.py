"""Shared by the entry points of all platforms: grade the assignment next to them, within the container's memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from grader.console import GRADED, ROOT, ReportWriter, write_report
from grader.machine import choose_jobs, read_memory_limit_mb

if TYPE_CHECKING:
    from grader.assignment import Assignment, AssignmentFiles
    from grader.report.model import Report

STOPPED = "The grader was stopped before it could begin: please submit again."
"""The initial result: entry scripts write it before they import anything that may be missing."""


class FileFormat(Protocol):
    """The module `report.py` of a platform that reads a file."""

    def render(self, report: Report, assignment: Assignment) -> str:
        """Return what the platform reads of a report."""

    def render_refusal(self, message: str) -> str:
        """Return what it reads where nothing was graded."""


class TextFormat(Protocol):
    """The module `report.py` of a platform that reads printed text or a step output; a refusal names the maximum points."""

    def render(self, report: Report, assignment: Assignment) -> str:
        """Return what the platform reads of a report."""

    def render_refusal(self, message: str, assignment: Assignment) -> str:
        """Return what it reads where nothing was graded."""


def grade_to_file(
    output: Path, submission: Path, form: FileFormat, questions: Sequence[str] = (), require_level: str = "basic"
) -> int:
    """Grade a submission with all checks, update the result file during grading, and return the exit code.

    Args:
        output: The result file.
        submission: The submission, or the folder that holds it.
        form: Renders a report for the platform.
        questions: Ids of questions; nothing for all.
        require_level: The isolation level below which nothing is graded.
    """
    from grader.assignment import SUITES, UsageError
    from grader.judge.run import GradingOptions, grade

    try:
        home = open_assignment()
        kept = ReportWriter(output, partial(form.render, assignment=home.assignment), lambda _: None)
        options = GradingOptions(questions, changed=kept, jobs=choose_jobs(home.assignment.limits.memory_mb))
        grade(home, submission, SUITES, options, require_level=require_level)
        kept.check()
    except UsageError as error:
        write_report(output, form.render_refusal(f"Nothing was graded: {error}"))
    return GRADED


def grade_to_text(
    submission: Path | None, form: TextFormat, suites: Sequence[str] | None = None, require_level: str = "basic"
) -> str:
    """Return the result of a submission in the platform's format; see `grade_to_file`.

    Args:
        submission: The submission; by default, the assignment's own file.
        suites: By default, all.
    """
    from grader.assignment import SUITES, UsageError
    from grader.judge.run import GradingOptions, grade

    home = open_assignment()
    options = GradingOptions(jobs=choose_jobs(home.assignment.limits.memory_mb))
    try:
        report: Report = grade(home, submission or home.stub, suites or SUITES, options, require_level)
    except UsageError as error:
        return form.render_refusal(f"Nothing was graded: {error}", home.assignment)
    return form.render(report, assignment=home.assignment)


def open_assignment() -> AssignmentFiles:
    """Return the assignment next to the grader, with limits that fit the container's memory."""
    from grader.assignment import AssignmentFiles

    return AssignmentFiles(ROOT, container_mb=read_memory_limit_mb())
