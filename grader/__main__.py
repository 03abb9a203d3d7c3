"""The instructor's command line: `python -m grader COMMAND`. Every command prints what it wrote."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from grader.commands import pack
from grader.console import ROOT, run_guarded
from grader.platforms.registry import PLATFORMS

# The help text of each command. The rest is in commands/NAME.py, which is imported only when it is needed.
COMMANDS = {
    "build": "make stubs and answers from solutions/",
    "verify": "prove the suite: solution and alternatives 100 %%, stub 0 %%, mistakes caught",
    "catalogue": "add a wrong submission to the mistakes that are recognized",
    "propose": "propose mistakes, entries of catches.toml, and cases; you accept each by name",
    "grade": "grade submissions",
    "new": "create a small assignment that is already proven, to build on",
    "remove": "delete all files of an assignment",
    "rename": "rename a question in all files at once",
    "release": "make the zip for students",
    "course": "grade a class: resumable, in parallel, on many machines",
    "regrade": "rescore a class by a policy, or after correcting checks",
    "feedback": "copy the students' pages of a class, ready to mail or to upload",
    "doctor": "attack the sandbox of this machine, and grade the reference solutions of assignments",
}


def main(root: Path = ROOT) -> int:
    """Run one command and return its exit code: 0 done, 1 something is stale or not proven, 2 usage, 3 grader error."""
    parser = argparse.ArgumentParser(prog="python -m grader", description="Build, prove and grade assignments.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, about in COMMANDS.items():
        command = commands.add_parser(name, help=about)
        if sys.argv[1:2] == [name]:
            module = import_module(f"grader.commands.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    for name, platform in PLATFORMS.items():
        command = commands.add_parser(name, help=platform.HELP)
        platform.add_arguments(command)
        command.set_defaults(run=pack.run)
    options = parser.parse_args()
    return run_guarded(lambda: options.run(root, options))


if __name__ == "__main__":
    sys.exit(main())
