"""Delete all files of an assignment, in all folders."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grader.console import GRADED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", metavar="NAME", help="the assignment")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, even if the answer was no."""
    from grader.assignment import UsageError
    from grader.authoring.elsewhere import list_elsewhere
    from grader.authoring.new import remove

    def agreed(files: list[Path]) -> bool:
        if options.yes:
            return True
        if not sys.stdin.isatty():
            raise UsageError("nothing was deleted: pass --yes when no terminal is attached")
        print(*(path.relative_to(root) for path in files), sep="\n")
        try:
            return input(f"Delete these {len(files)} files? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            return False

    deleted = remove(root, options.name, agreed)
    print(f"deleted {len(deleted)} files" if deleted else "nothing was deleted")
    if deleted and (others := [path.relative_to(root).as_posix() for path in list_elsewhere(root, options.name)]):
        print(f"{options.name} is still named in these files; delete or change them by hand:")
        print(*(f"  {path}" for path in others), sep="\n")
    return GRADED
