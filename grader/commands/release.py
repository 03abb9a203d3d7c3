"""Make the zip that students get."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.shared import require_proven
from grader.console import GRADED, add_output, refuse_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_output(parser, "NAME.zip")
    about = "where students will find the zip: the notebook in it then works in Google Colab, and is also written to DIR"
    parser.add_argument("--url", default="", help=about)


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0 when the zip has been tried out and written."""
    from grader.packing.release import release

    refuse_file(options.output)
    require_proven(root, options)
    for line in release(root, options.name, options.output, options.draft, options.url):
        print(line, flush=True)
    return GRADED
