"""Create a small assignment that is already proven, to be changed."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.console import GRADED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", metavar="NAME", help="name in files and commands: a to z, 0 to 9 and _")
    parser.add_argument("--title", help="title for students (default: derived from the name)")


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0 when the assignment is there."""
    from grader.authoring.new import new

    for path in new(root, options.name, options.title):
        print(f"wrote {path.relative_to(root)}")
    name = options.name
    print(
        f"\n{name} is complete and has one question; docs/authoring.md explains the next steps. Commands:\n"
        f"  python -m grader verify {name}    # prove it: passes now, and should pass after every change\n"
        f"  python grade.py {name} --submission solutions/{name}    # what a student sees\n"
        f"  python -m grader build {name}     # after a change to solutions/, drivers or checks; then verify again"
    )
    return GRADED
