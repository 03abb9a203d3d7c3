"""GitHub Classroom: a template repository, whose workflow grades with the visible checks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grader.console import add_output

if TYPE_CHECKING:
    from grader.assignment import Assignment
    from grader.report.model import Report

ENDING = "txt"
HELP = "make a template repository for GitHub Classroom; visible checks only"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command that makes the package."""
    add_output(parser, "NAME-classroom/")


def render(report: Report, assignment: Assignment) -> str:
    """Return what the platform reads of a report."""
    from grader.platforms.classroom import report as form

    return form.render(report, assignment)
