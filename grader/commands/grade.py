"""Grade submissions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.shared import add_sound, read_suites, require_sound
from grader.console import (
    GRADED,
    GRADER_ERROR,
    USAGE,
    ProgressLine,
    ReportNotWritten,
    ReportWriter,
    add_jobs,
    add_level,
    choose_jobs,
    refuse_output,
)
from grader.formats import ENDINGS

if TYPE_CHECKING:
    from grader.report.model import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", metavar="NAME", help="the assignment")
    about = "submission (file, notebook, zip or folder), or a class as Gradescope exports it"
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=about)
    parser.add_argument("--suite", default="visible,hidden", help="visible, hidden or both (default: visible,hidden)")
    parser.add_argument("--format", default="text", choices=sorted(ENDINGS), help="format of the report")
    about = "show hidden checks in one line, with their points only (text, html, json, csv)"
    parser.add_argument("--for-student", action="store_true", help=about)
    parser.add_argument(
        "-o", dest="output", type=Path, metavar="FILE", help="write to this file; for several paths, to this folder"
    )
    add_jobs(parser)
    add_level(parser)
    add_sound(parser)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0; 2 where one of several submissions could not be read, 3 where a report is not final."""
    from grader import submission
    from grader.assignment import AssignmentFiles, UsageError
    from grader.formats import choose_renderer
    from grader.judge.run import GradingOptions, grade
    from grader.report.text import sanitize
    from grader.sandbox.parsing import OwnParser

    suites = read_suites(options.suite)
    home = AssignmentFiles(root, options.name)
    paths = [one for path in options.paths for one in submission.expand_paths(path, home.assignment.submission)]
    several = len(paths) > 1
    if options.require_sound:
        require_sound(home, options)
    code, refused = GRADED, []
    with OwnParser() as parser:
        for path in paths:
            if several:
                print(f"== {sanitize(str(path))}", file=sys.stdout if options.format == "text" else sys.stderr)
            output = options.output
            if output is not None and several:
                output = output / f"{'_'.join(part for part in path.parts if part not in '/..')}.{ENDINGS[options.format]}"
            try:
                submission.read_submission(path, home.assignment.submission, parser=parser)
                refuse_output(output, path)
            except UsageError as error:
                # In a batch, one bad path must not cost the others their grade.
                if not several:
                    raise
                print(f"error: {sanitize(str(error))}", file=sys.stderr)
                refused.append(str(path))
                continue
            rendered = choose_renderer(options.format, home.assignment, options.for_student)
            with ProgressLine() as progress:
                kept = ReportWriter(output, rendered, progress.show)
                chosen = GradingOptions(changed=kept, jobs=choose_jobs(options, home.assignment))
                report = grade(home, path, suites, chosen, require_level=options.require_level)
            try:
                kept.check()
            except ReportNotWritten as error:
                if not several:
                    raise
                print(f"error: {sanitize(str(error))}", file=sys.stderr)
                code = GRADER_ERROR
                continue
            _print_result(report, output, rendered, options)
            for remark in submission.list_remarks(path, home.assignment.submission):
                print(f"note: {sanitize(remark)}", file=sys.stderr)
            code = code if report.final else GRADER_ERROR
    if refused:
        print(f"graded {len(paths) - len(refused)} of {len(paths)}; not graded: {sanitize(', '.join(refused))}")
    return USAGE if refused and code == GRADED else code


def _print_result(report: Report, output: Path | None, rendered: Callable[[Report], str], options: argparse.Namespace) -> None:
    """Print the report, or where it was written."""
    from grader.report import screen, shared
    from grader.report.text import sanitize

    if output is not None:
        print(f"wrote {sanitize(str(output))}: {report.points:g}/{report.max_points:g} points")
    elif options.format == "text":
        screen.render(shared.fold_hidden_checks(report) if options.for_student else report)
    else:
        print(rendered(report), end="")
