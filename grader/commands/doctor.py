"""Attack the sandbox of this machine, and grade references on it."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from grader.console import GRADED, add_level


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="assignments whose reference must get full marks here")
    add_level(parser)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, or 1 where an attack got through or a reference fell short."""
    from grader.assignment import AssignmentFiles
    from grader.doctor import attack_sandbox, check_reference

    held = True
    references = (check_reference(AssignmentFiles(root, name), require_level=options.require_level) for name in options.names)
    for line, fine in itertools.chain(attack_sandbox(options.require_level), references):
        held = held and fine is not False
        print(line if fine is None else f"{'ok   ' if fine else 'FAULT'} {line}", flush=True)
    return GRADED if held else 1
