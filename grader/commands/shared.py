"""Shared by several commands: their options, and the exit code of a class."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.console import GRADED, GRADER_ERROR, print_line

if TYPE_CHECKING:
    from grader.assignment import AssignmentFiles
    from grader.authoring.slips import Slip


def add_workers(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --workers."""
    parser.add_argument("--workers", type=int, metavar="N", help=f"{what} at the same time (default: one per core)")


def add_compared(parser: argparse.ArgumentParser) -> None:
    """Add --earlier and --known."""
    about = "compare with an earlier class: the folder that `course` wrote, or its statistics.json (can be repeated)"
    parser.add_argument("--earlier", type=Path, action="append", metavar="DIR", help=about)
    about = "look for code of public solutions: a file, notebook, zip or folder (can be repeated)"
    parser.add_argument("--known", type=Path, action="append", metavar="FOLDER", help=about)


def count_workers(options: argparse.Namespace) -> int:
    """Return the number of workers: --workers, or one per core."""
    from grader.assignment import UsageError
    from grader.machine import count_cores

    workers = count_cores() if options.workers is None else options.workers
    if workers < 1:
        raise UsageError(f"--workers {workers}: expected at least 1")
    return workers


def read_suites(text: str) -> tuple[str, ...]:
    """Return the suites that --suite names."""
    from grader.assignment import SUITES, UsageError

    suites = tuple(dict.fromkeys(text.split(",")))
    if unknown := [suite for suite in suites if suite not in SUITES]:
        raise UsageError(f"there is no suite {unknown[0]!r}; there are: {', '.join(SUITES)}")
    return suites


def add_sound(parser: argparse.ArgumentParser) -> None:
    """Add --require-sound."""
    about = "first grade the reference solution; refuse to grade if it does not get full marks"
    parser.add_argument("--require-sound", action="store_true", help=about)


def require_sound(home: AssignmentFiles, options: argparse.Namespace) -> None:
    """Warn if the reference solution loses points on this machine; with --require-sound, raise UsageError instead."""
    from grader.assignment import UsageError
    from grader.doctor import check_reference

    said, sound = check_reference(home, read_suites(options.suite), options.require_level)
    if not sound and options.require_sound:
        raise UsageError(f"nothing was graded: {said}")
    if not sound:
        print(f"Correct work loses points on this machine: {said}", flush=True)


def report_slips(root: Path, name: str) -> None:
    """Print an author's slips, one per line; raise UsageError instead if they make building impossible."""
    for slip in refuse_slips(root, name, "built"):
        print_line(f"note: {slip.describe(root)}")


def refuse_slips(root: Path, name: str, done: str) -> list[Slip]:
    """Return an author's slips; raise UsageError instead if the files of the assignment cannot be used.

    Args:
        done: What cannot be done with them, as in "built".
    """
    from grader.assignment import UsageError
    from grader.authoring.inspection import inspect_assignment

    slips = inspect_assignment(root, name, stale=False)
    if stops := [slip.describe(root) for slip in slips if slip.stops]:
        first, last = (
            f"nothing was {done}; faults found: {len(stops)}",
            "Next: correct these files, then run the same command again",
        )
        raise UsageError("\n".join([first, *(f"  {line}" for line in stops), last]))
    return slips


def require_proven(root: Path, options: argparse.Namespace) -> None:
    """Refuse to pack an assignment that is stale or not proven; with --unproven, say so and make it a draft.

    Raises:
        UsageError: If it is stale or not proven; the message ends with the next command.
    """
    from grader.assignment import AssignmentFiles, UsageError
    from grader.authoring.staleness import is_stale
    from grader.proof.standing import find_gaps, needs_full_proof

    name = options.name
    home = AssignmentFiles(root, name)
    gaps = find_gaps(home)
    if gaps and not options.unproven:
        build = f"`python -m grader build {name}`, then " if is_stale(home) else ""
        full = needs_full_proof(home)  # --quick would not look for some of the faults that it found
        verify = f"verify {name}" if full else f"verify --quick {name}"
        commands = f"{build}`python -m grader {verify}`, which takes minutes"
        raise UsageError(f"nothing was written: {'; '.join(gaps)}. Next: {commands}; or add --unproven to pack a draft")
    if gaps:
        options.draft = True
        print(f"draft: not proven ({'; '.join(gaps)})", flush=True)


def end_class(failed: list[str], lost: list[str] | None = None) -> int:
    """Report the submissions that were not graded, and return the exit code of a class."""
    if failed:
        print(f"the grader failed for {', '.join(failed)}: run the same command again", file=sys.stderr)
    if lost:
        print(f"not graded: {', '.join(lost)}: run the same command again", file=sys.stderr)
    return GRADER_ERROR if failed or lost else GRADED
