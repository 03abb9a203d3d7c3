"""Make what an instructor uploads to a platform; each platform is a command."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from grader.commands.shared import require_proven
from grader.console import GRADED, refuse_file


def run(root: Path, options: argparse.Namespace) -> int:
    """Return 0 when the package of the platform that the command names has been tried out and written."""
    refuse_file(options.output)
    require_proven(root, options)
    for line in import_module(f"grader.platforms.{options.command}.package").write_package(root, options):
        print(line, flush=True)
    return GRADED
