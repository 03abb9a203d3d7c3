"""Rename a question in all files at once."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.console import GRADED, print_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", metavar="NAME", help="the assignment")
    parser.add_argument("old", metavar="OLD", help="a question, or the function or class that questions are about")
    parser.add_argument("new", metavar="NEW", help="its new name")
    parser.add_argument("--apply", action="store_true", help="change the files; without it, what would change is printed")


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0 when the files are changed, or when the planned changes are printed."""
    from grader.assignment import AssignmentFiles
    from grader.authoring.rename import plan_renaming, write_all

    plan = plan_renaming(AssignmentFiles(root, options.name), options.old, options.new)
    for line in plan.describe(root):
        print_line(line)
    if plan.left:
        print_line(f"{options.old} stays in these lines, where it means something else:")
        for line in plan.left:
            print_line(f"  {line}")
    if plan.elsewhere:
        print_line(f"{options.old} also occurs in these files, which name {options.name}; change them by hand:")
        for path, count in plan.elsewhere.items():
            print_line(f"  {path.relative_to(root).as_posix()} ({count} line{'s' if count > 1 else ''})")
    extent = (
        f"{plan.places} place{'s' if plan.places > 1 else ''} in {len(plan.texts)} file{'s' if len(plan.texts) > 1 else ''}"
    )
    if not options.apply:
        print_line(f"{extent}; nothing is changed yet: add --apply")
        return GRADED
    write_all(plan.texts)
    name = options.name
    print_line(f"{extent} changed. Next: `python -m grader build {name}`, then `python -m grader verify {name}`")
    return GRADED
