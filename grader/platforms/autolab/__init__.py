"""Autolab: a Makefile and a tar, whose last line of output is the result."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grader.console import add_level, add_output

if TYPE_CHECKING:
    from grader.assignment import Assignment
    from grader.report.model import Report

ENDING = "txt"
HELP = "make the autograder for Autolab"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command that makes the package."""
    add_output(parser, "NAME-autolab/")
    add_level(parser)


def render(report: Report, assignment: Assignment) -> str:
    """Return what the platform reads of a report."""
    from grader.platforms.autolab import report as form

    return form.render(report, assignment)
