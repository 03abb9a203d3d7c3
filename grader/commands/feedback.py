"""Put the pages of a graded class into a folder, ready to mail or to upload. Nothing is run, and nothing is sent."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.console import GRADED, print_line, refuse_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `course` wrote")
    parser.add_argument(
        "-o", dest="output", type=Path, required=True, metavar="FOLDER", help="new folder for pages and mail.csv"
    )


def run(root: Path, options: argparse.Namespace) -> int:  # noqa: ARG001 - as every command
    """Return 0."""
    from grader.course.mailing import write_mailing
    from grader.course.results import ResultsFolder

    refuse_file(options.output)
    for line in write_mailing(ResultsFolder(options.folder), options.output):
        print_line(line)
    return GRADED
