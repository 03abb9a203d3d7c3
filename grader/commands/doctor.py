"""Attack the sandbox of this machine, and grade references on it."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

from grader.console import GRADED, add_level, print_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="assignments whose reference solution must get full marks here"
    )
    about = "only read the files of this assignment, and list what is wrong in them; nothing is graded or attacked"
    parser.add_argument("--assignment", metavar="NAME", help=about)
    add_level(parser)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, or 1 if an attack succeeded, a reference lost points, or an assignment has faults."""
    if options.assignment is not None:
        return _inspect(root, options)
    from grader.doctor import attack_sandbox

    held = True
    checked = (line for name in options.names for line in check_assignment(root, name, options.require_level))
    for line, fine in itertools.chain(attack_sandbox(options.require_level), checked):
        held = held and fine is not False
        print(line if fine is None else f"{'ok   ' if fine else 'FAULT'} {line}", flush=True)
    return GRADED if held else 1


def _inspect(root: Path, options: argparse.Namespace) -> int:
    """Print the faults in the files of one assignment; return 1 if there are any."""
    from grader.assignment import UsageError
    from grader.authoring.inspection import inspect_assignment

    if options.names:
        raise UsageError(f"--assignment cannot be combined with {options.names[0]}: leave out one of them")
    name = options.assignment
    slips = inspect_assignment(root, name)
    for slip in slips:
        print_line(slip.describe(root))
    if not slips:
        print_line(f"{name}: nothing found. Next: `python -m grader verify {name}`")
        return GRADED
    commands = f"`python -m grader build {name}`, then `python -m grader verify {name}`"
    print_line(f"{name}: faults found: {len(slips)}. Next: correct these files, then run {commands}")
    return 1


def check_assignment(root: Path, name: str, require_level: str) -> Iterator[tuple[str, bool | None]]:
    """Yield (a line, whether it is good): attacks that an author's files allow, then the points of their reference."""
    from grader.assignment import AssignmentFiles
    from grader.doctor import check_reference
    from grader.judge.harness import Harness
    from grader.proof.boundary import find_leaks, prove_confinement

    home = AssignmentFiles(root, name)
    if leaks := list(find_leaks(home)):
        yield from ((leak, False) for leak in leaks)
        return
    with Harness(home) as harness:
        sound = True
        for line, fault in prove_confinement(harness):
            sound = sound and not fault
            yield line, None if fault is None else not fault
        if sound:
            yield check_reference(home, require_level=require_level, harness=harness)
