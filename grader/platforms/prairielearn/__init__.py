"""PrairieLearn: a question with an external grader, which writes results.json."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grader.console import add_level, add_output

if TYPE_CHECKING:
    from grader.assignment import Assignment
    from grader.report.model import Report

ENDING = "json"
HELP = "make a question with an external grader for PrairieLearn"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command that makes the package."""
    add_output(parser, "NAME/ and NAME-image/")
    parser.add_argument("--image", metavar="IMAGE", help="name of the image (default: rl-grader-NAME)")
    add_level(parser)


def render(report: Report, assignment: Assignment) -> str:
    """Return what the platform reads of a report."""
    from grader.platforms.prairielearn import report as form

    return form.render(report, assignment)
