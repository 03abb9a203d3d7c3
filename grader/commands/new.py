"""Create an assignment: a small one that is already proven, or a first draft from an existing solution."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.console import GRADED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", metavar="NAME", help="name in files and commands: a to z, 0 to 9 and _")
    parser.add_argument("--title", help="title for students (default: derived from the name)")
    about = "make it from this solution, a Python module or a notebook: a question for each public function and class"
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help=about)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0 when the assignment is there."""
    from grader.authoring.new import new

    name, notes = options.name, list[str]()
    for path in new(root, name, options.title, options.source, notes.append):
        print(f"wrote {path.relative_to(root)}")
    if options.source is None:
        print(
            f"\n{name} is complete and has one question; docs/authoring.md explains the next steps. Commands:\n"
            f"  python -m grader verify {name}    # prove it: passes now, and should pass after every change\n"
            f"  python grade.py {name} --submission solutions/{name}    # what a student sees\n"
            f"  python -m grader build {name}     # after a change to solutions/, drivers or checks; then verify again"
        )
        return GRADED
    print("", *notes, sep="\n")
    print(
        f"\n{name} is a first draft, not proven yet; docs/authoring.md explains the next steps, from a module to a release.\n"
        f"  python -m grader verify {name}    # what is not proven yet\n"
        f"  python grade.py {name} --submission solutions/{name}    # what a student sees\n"
        f"  python -m grader build {name}     # after you have written mistakes.py; then verify again"
    )
    return GRADED
