"""Gradescope: a zip with an autograder, which writes results.json."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from grader.console import add_level, add_output

if TYPE_CHECKING:
    from grader.assignment import Assignment
    from grader.report.model import Report

ENDING = "json"
HELP = "make the autograder zip for Gradescope"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command that makes the package."""
    add_output(parser, "NAME-gradescope.zip")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="include these wheels, so that it builds without a network")
    add_level(parser)


def render(report: Report, assignment: Assignment) -> str:
    """Return what the platform reads of a report."""
    from grader.platforms.gradescope import report as form

    return form.render(report, assignment)
