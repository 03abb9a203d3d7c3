"""Make stubs and answers from solutions/."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grader.commands.shared import add_workers, count_workers, report_slips


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="assignments (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--seed", type=int, help="make new hidden cases from this seed")
    add_workers(parser, "mistakes tried")


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0, or with --check 1 where something is stale."""
    from grader.assignment import list_assignments
    from grader.authoring.build import BuildOptions, build

    stale = []
    for name in options.names or list_assignments(root):
        report_slips(root, name)
        for path in build(root, name, BuildOptions(options.check, options.seed, workers=count_workers(options), report=print)):
            stale.append(path)
            print(f"{'stale' if options.check else 'wrote'} {path.relative_to(root)}")
    if not stale:
        print("everything is up to date")
    elif options.check:
        print("run `python -m grader build` and commit the result", file=sys.stderr)
    return 1 if stale and options.check else 0
