"""Add to an assignment's catalogue: a wrong submission becomes a mistake with a hint."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.shared import add_workers, count_workers
from grader.console import GRADED

if TYPE_CHECKING:
    from grader.assignment import AssignmentFiles
    from grader.proof.reduction import SmallestChange

MOST_LISTED = 20  # groups


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    actions = parser.add_subparsers(dest="action", required=True)
    about = "find the smallest change of the solution that fails like a wrong submission, and declare it in mistakes.py"
    add = actions.add_parser("add", help=about, description=f"{about[0].upper()}{about[1:]}.")
    add.add_argument("name", metavar="NAME", help="the assignment")
    one = add.add_mutually_exclusive_group(required=True)
    one.add_argument("--submission", type=Path, metavar="FILE", help="a wrong submission: file, notebook, zip or folder")
    one.add_argument("--class", dest="graded", type=Path, metavar="DIR", help="a graded class, as `course -o DIR` wrote it")
    add.add_argument("--question", metavar="QUESTION", help="the question in which the submission is wrong")
    add.add_argument("--group", type=int, metavar="N", help="with --class: number of the group on the class page")
    add.add_argument("--id", metavar="ID", help="what the mistake is called, as in last_row_left_out (default: you are asked)")
    add.add_argument("--hint", metavar="TEXT", help="the question that a good tutor would ask (default: you are asked)")
    add.add_argument("--source", default="student code", metavar="TEXT", help="origin of the mistake (default: student code)")
    add.add_argument("--dry-run", action="store_true", help="print the entry, and write nothing")
    add_workers(add, "texts tried")


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0 when the entry is written or, with --dry-run, printed."""
    from grader.assignment import AssignmentFiles, UsageError
    from grader.authoring.entry import NewMistake, make_catalogue, require_free_name
    from grader.proof.reduction import Reducer
    from grader.report.model import write_atomically
    from grader.report.text import sanitize

    home = AssignmentFiles(root, options.name)
    if not home.solution.is_dir():
        raise UsageError(f"there is no {home.solution}: mistakes are changes of the solution, which only instructors have")
    if not sys.stdin.isatty() and (missing := [name for name in ("id", "hint") if not getattr(options, name)]):
        raise UsageError(f"--{missing[0]} is missing; without a terminal, it must be given")
    if options.id:
        require_free_name(home, options.id)
    path = home.solution / "mistakes.py"
    with _find_submission(home, options) as (submission, question):
        reducer = Reducer(AssignmentFiles(root, options.name), question, count_workers(options), print)
        symptoms, change = reducer.reduce(submission)
    _print_change(change)
    name = options.id or _ask("Name of the mistake (such as last_row_left_out)?")
    require_free_name(home, name)
    hint = options.hint or _ask("What would a good tutor ask?")
    mistake = NewMistake(
        name, question, reducer.function, hint, options.source, change.edits, change.text, change.names, symptoms.hidden_only
    )
    entry, text, variant = make_catalogue(home, mistake)
    if not reducer.shows(variant.submission, symptoms):
        raise UsageError(f"nothing was written: the entry does not fail like the submission. It was:\n{sanitize(entry)}")
    if options.dry_run:
        print(f"\n{sanitize(entry)}\nnothing was written")
        return GRADED
    write_atomically(path, text)
    print(
        f"\n{sanitize(entry)}\nwrote {path.relative_to(root)}. Next:\n"
        f"  python -m grader build {options.name}     # stores what the checks see of it\n"
        f"  python -m grader verify {options.name}    # proves that they catch it, and that it costs nothing elsewhere"
    )
    return GRADED


@contextlib.contextmanager
def _find_submission(home: AssignmentFiles, options: argparse.Namespace) -> Iterator[tuple[Path, str]]:
    """Yield the path of the submission, and the question in which it is wrong."""
    from grader.assignment import UsageError

    if options.graded is None:
        if not options.question:
            there_are = ", ".join(question.id for question in home.assignment.questions)
            raise UsageError(f"--question is missing; there are: {there_are}")
        if options.group is not None:
            raise UsageError("--group is for a graded class: name it with --class")
        yield options.submission, options.question
        return
    from grader.course.results import ResultsFolder
    from grader.course.run import GradingJob
    from grader.course.summary import list_unnamed_groups

    folder = ResultsFolder(options.graded)
    course = folder.course()
    if course.assignment.name != home.assignment.name:
        raise UsageError(f"{options.graded} is a class of {course.assignment.name}, not of {home.assignment.name}")
    groups = list_unnamed_groups(folder)
    if not groups:
        raise UsageError(f"{options.graded} has no wrong answers that are not in the catalogue")
    if options.group is None or not 1 <= options.group <= len(groups):
        listed = [f"  {one.number}: {one.question}, {len(one.submissions)} submissions" for one in groups[:MOST_LISTED]]
        raise UsageError("\n".join([f"--group takes a number from 1 to {len(groups)}:", *listed]))
    group = groups[options.group - 1]
    if options.question not in (None, group.question):
        raise UsageError(f"group {group.number} is about {group.question}, not {options.question}")
    entry = group.submissions[0]
    job = GradingJob(home.root, course, Path(course.export), options.graded, {})
    print(f"group {group.number}: {group.question}, {len(group.submissions)} submissions; using {entry.id}")
    with job.handed_in(entry) as path:
        yield path, group.question


def _print_change(change: SmallestChange) -> None:
    from grader.report.text import sanitize

    origin = "a mutant of the solution" if change.mutant else "the remaining change"
    form = f"{len(change.edits)} edits" if len(change.edits) > 1 else "one edit" if change.edits else "a whole definition"
    print(f"{origin}, {form}, {change.size} characters:")
    for old, new in change.edits:
        print(*(f"  - {line}" for line in sanitize(old).splitlines()), sep="\n")
        print(*(f"  + {line}" for line in sanitize(new).splitlines()), sep="\n")
    if not change.edits:
        print(sanitize(change.text))


def _ask(question: str) -> str:
    from grader.assignment import UsageError

    try:
        answer = input(f"{question} ").strip()
    except EOFError:
        answer = ""
    if not answer:
        raise UsageError("no answer, so nothing was written")
    return answer
