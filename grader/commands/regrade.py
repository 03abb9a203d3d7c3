"""Score a class anew by a policy, or run what was corrected in the checks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.shared import add_workers, count_workers, end_class
from grader.console import GRADED, ClassProgress, add_level, print_line

if TYPE_CHECKING:
    from grader.course.run import RunProgress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `course` wrote")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="only score anew, by this policy; nothing is run")
    add_workers(parser, "submissions graded")
    add_level(parser)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, or 3 where a submission was not graded."""
    from grader.assignment import AssignmentFiles
    from grader.course.regrade import regrade
    from grader.course.results import ResultsFolder
    from grader.course.summary import write_class_results

    folder = ResultsFolder(options.folder)
    home = AssignmentFiles(root, folder.course().assignment.name)
    if options.policy:
        for line in write_class_results(home, folder, options.policy, anew=False):
            print_line(line)
        return GRADED
    failed: list[str] = []
    with ClassProgress() as progress:

        def show(standing: RunProgress) -> None:
            failed[:] = standing.failed
            progress.show(standing)

        for line in regrade(home, folder, count_workers(options), show, options.require_level):
            print_line(line)
    return end_class(failed)
