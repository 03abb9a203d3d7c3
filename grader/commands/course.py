"""Grade a class: resumable, in parallel, on many machines."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.shared import (
    add_compared,
    add_sound,
    add_workers,
    count_workers,
    end_class,
    read_suites,
    require_sound,
)
from grader.console import ClassProgress, add_level, print_line, refuse_file

REFERENCE_FROM = 20  # submissions: in a class of this size, grading the reference as well costs little


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", metavar="NAME", help="the assignment")
    about = "unpacked export of Gradescope or Canvas, or a folder of files"
    parser.add_argument("export", type=Path, metavar="EXPORT_DIR", help=about)
    parser.add_argument("-o", dest="output", type=Path, required=True, metavar="DIR", help="folder for results and pages")
    parser.add_argument("--suite", default="visible,hidden", help="visible, hidden or both (default: visible,hidden)")
    parser.add_argument("--layout", choices=("gradescope", "canvas", "folder"), help="layout of the export (default: detected)")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="grade only part I of N; all parts share DIR")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="grade on the workers of this Dask cluster: see docs/cluster.md")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="late days, weights, caps: see docs/policy.md")
    parser.add_argument("--adjustments", type=Path, metavar="FILE", help="manual points and comments: see docs/adjustments.md")
    about = "run all checks of resubmissions, and all checks of all submissions if checks have changed: see docs/course.md"
    parser.add_argument("--afresh", action="store_true", help=about)
    add_compared(parser)
    add_workers(parser, "submissions graded")
    add_level(parser)
    add_sound(parser)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, or 3 where a submission was not graded."""
    from grader.assignment import AssignmentFiles, UsageError
    from grader.course import run
    from grader.course.adjustments import require_known_questions
    from grader.course.earlier import read_compared
    from grader.course.results import ResultsFolder
    from grader.course.rules import read_rule_files
    from grader.course.scoring import require_known_names
    from grader.course.summary import write_class_results

    home = AssignmentFiles(root, options.name)
    numbers = options.shard.split("/")
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise UsageError(f"--shard {options.shard}: expected two numbers, as in 1/4")
    refuse_file(options.output)
    files = read_rule_files(options.policy, options.adjustments)
    compared = read_compared(home, ResultsFolder(options.output), options.earlier, options.known)
    policy, rows = files.parse_policy(str(options.policy)), files.parse_adjustments(str(options.adjustments))
    with ClassProgress() as progress:
        job = run.prepare_job(
            home,
            options.export,
            options.output,
            read_suites(options.suite),
            options.layout,
            options.require_level,
            afresh=options.afresh,
        )
        own = run.take_shard(job.course.entries, *map(int, numbers))
        entries = run.list_ungraded_entries(job, own)
        print(f"{len(own)} submissions ({job.course.layout}), {len(own) - len(entries)} graded before", flush=True)
        if not options.afresh and (resubmitted := sum(entry.id in job.course.earlier for entry in entries)):
            print(f"{resubmitted} resubmitted: passed checks run again only if the code that they use has changed", flush=True)
        if options.require_sound or len(entries) >= REFERENCE_FROM:
            require_sound(home, options)
        for line in run.list_remarks(job):
            print_line(line)
        require_known_names(job.course, {}, policy)
        require_known_questions(job.course, rows, str(options.adjustments))
        if options.scheduler:
            from grader.course import cluster

            workers = None if options.workers is None else count_workers(options)
            standing = cluster.grade_on_cluster(job, entries, options.scheduler, workers, progress.show)
        else:
            standing = run.grade_entries(job, entries, count_workers(options), progress.show)
    rules = options.policy, options.adjustments
    for line in write_class_results(home, ResultsFolder(options.output), *rules, compared=compared):
        print_line(line)
    return end_class(standing.failed, standing.lost)
