"""An autograder for Autolab, tried out with its own Makefile before it is written."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import Assignment, AssignmentFiles, UsageError
from grader.packing.package import (
    SETUP,
    collect_platform_modules,
    collect_server_files,
    convert_to_unix_lines,
    make_tar,
    run_entry_script,
    try_out_package,
    write_files,
    write_folder,
)
from grader.packing.release import make_zip, open_for_packing
from grader.platforms.autolab.report import list_problems

ENTRY = "run"
START = 60  # seconds beyond the checks' budget

MAKEFILE = """\
# Autolab runs `make -f autograde-Makefile` next to autograde.tar and the submission. The last printed line is the result, so
# nothing else may print: the grader captures the output of a submission and shows it in its report.
all:
\t@rm -rf rl-grader && mkdir rl-grader && tar xf autograde.tar -C rl-grader
\t@rl-grader/run {handin}
"""

RUN = """\
#!/usr/bin/env bash
source="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
chmod -R go-rwx "$source"
exec "${GRADER_VENV:-/opt/rl-grader}/bin/python" -s -B "$source/autograde.py" "$1"
"""

AUTOGRADE = '''\
"""Grades the file that Autolab lays down; see grader/platforms/autolab/entry.py."""

import sys
from pathlib import Path

from grader.console import run_guarded
from grader.platforms.autolab.entry import main

if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(Path(sys.argv[1]), "{require_level}")))
'''

README = """\
# {title} on Autolab

1. Your Tango image needs Python 3.10 to 3.13. Run once, as root: `mkdir rl-setup && tar xf autograde.tar -C rl-setup &&
   bash rl-setup/setup.sh`. This creates /opt/rl-grader (or the folder that GRADER_VENV names). From then on, only root
   can read rl-setup, which holds the hidden checks. Without a network, put a folder wheels/ next to setup.sh.
2. Create the assessment with these settings (as in its .yml):

```yaml
general:
  name: {name}
  display_name: {display}
  handin_filename: {handin}
autograder:
  autograde_timeout: {timeout}
  autograde_image: YOUR_IMAGE
problems:
{problems}
```

3. Upload autograde-Makefile and autograde.tar in the autograder settings.
4. For a scoreboard, use the column spec `[{{"hdr": "Points", "asc": false}}]`. Leaderboard entries of checks follow as
   further columns, in the order of the report.

Each problem is a question with its visible checks. The problem `hidden-checks` holds all hidden checks together; students
see only its points. A failure of the grader itself shows as a stage "The grader" that has not passed: these points do
not count, so regrade the submission. Do the same if the log has no line with scores at all.
{attachments}"""


def write_package(root: Path, options: argparse.Namespace) -> Iterator[str]:
    """Write the folder NAME-autolab; yield what was checked and written.

    The folder holds autograde-Makefile, autograde.tar and README.md. Before it is written, its own
    Makefile grades the solution, the stub and a hostile file, with the Python that runs this.

    Args:
        options: name, output (the folder for it) and require_level (the isolation level below which
            it grades nothing).

    Raises:
        UsageError: If one of the three does not get the expected points; then nothing is written.
    """
    home = open_for_packing(root, options.name, options.draft)
    content = collect_package_files(home, options.require_level)
    suites = ("visible", "hidden")
    yield from try_out_package(home, suites, lambda place, source: _points(place, content, home.assignment, source))
    yield write_folder(options.output / f"{options.name}-autolab", content)


def collect_package_files(home: AssignmentFiles, require_level: str = "basic") -> dict[str, bytes]:
    """Return the content of the package by name."""
    grader = collect_server_files(home) | collect_platform_modules(home, "autolab")
    mine = {
        "setup.sh": SETUP.encode(),
        ENTRY: RUN.encode(),
        "autograde.py": AUTOGRADE.format(require_level=require_level).encode(),
    }
    return {
        "README.md": _readme(home.assignment).encode(),
        "autograde-Makefile": MAKEFILE.format(handin=name_handin(home.assignment)).encode(),
        "autograde.tar": make_tar(convert_to_unix_lines(grader | mine), executable=[ENTRY, "setup.sh"]),
    }


def name_handin(assignment: Assignment) -> str:
    """Return the name of the submitted file: a zip if files may be attached."""
    return "handin.zip" if assignment.attachments else assignment.submission


def _readme(assignment: Assignment) -> str:
    lines = [f"- {{name: {name}, max_score: {worth:g}, optional: false}}" for name, worth in list_problems(assignment).items()]
    extra = ", ".join(assignment.attachments)
    attached = f"\nStudents submit a zip with {assignment.submission} and, optionally, {extra}.\n" if extra else ""
    return README.format(
        title=assignment.title,
        name=assignment.name.replace("_", ""),
        display=json.dumps(assignment.title),
        handin=name_handin(assignment),
        timeout=int(assignment.limits.budget) + START,
        problems="\n".join(lines),
        attachments=attached,
    )


def _points(place: Path, content: dict[str, bytes], assignment: Assignment, source: str) -> float:
    """Return the points that Autolab would read off the last line for this source."""
    write_files(place, content)
    submission = source.encode()
    if assignment.attachments:
        submission = make_zip({assignment.submission: submission})
    write_files(place, {name_handin(assignment): submission})
    printed = run_entry_script(["make", "-f", "autograde-Makefile"], place, GRADER_VENV=sys.prefix)
    scores: dict[str, float] = json.loads(printed.splitlines()[-1])["scores"]
    known = list_problems(assignment)
    if unknown := scores.keys() - known.keys():
        raise UsageError(f"nothing was written: the assessment has no problem {', '.join(unknown)}")
    return sum(scores.values())
