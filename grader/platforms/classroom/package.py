"""A template repository for GitHub Classroom, tried out with the workflow's own command before it is written.

It contains only what students get: workflow and checks are in the student's own repository. So there are no hidden checks, and
students can change the checks.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import Assignment, AssignmentFiles, UsageError
from grader.packing.package import (
    collect_platform_modules,
    convert_to_unix_lines,
    run_entry_script,
    try_out_package,
    write_files,
    write_folder,
)
from grader.packing.release import collect_student_files, open_for_packing
from grader.platforms.classroom.report import render_refusal
from grader.platforms.entry import STOPPED

WORKFLOW = ".github/workflows/classroom.yml"
ENTRY = ".github/grade.py"
CONSTRAINTS = ".github/constraints.txt"  # of the workflow alone: students may have other versions
COMMAND = f"python -s -B {ENTRY}"

GRADE = '''\
"""Grades this repository for GitHub Classroom; see grader/platforms/classroom/entry.py."""

import os
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

# The step has an output before anything is imported that may be missing; of two with one name the later one counts.
with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8", newline="\\n") as file:
    file.write({refusal!r})

from grader.console import run_guarded
from grader.platforms.classroom.entry import main

if __name__ == "__main__":
    sys.exit(run_guarded(main))
'''

STEPS = """\
# Made by `python -m grader classroom`. It grades with the visible checks; the final grade is computed after you submit.
name: Autograding Tests
on: [push, workflow_dispatch, repository_dispatch]
permissions:
  checks: write
  actions: read
  contents: read
jobs:
  run-autograding-tests:
    runs-on: ubuntu-latest
    if: github.actor != 'github-classroom[bot]'
    timeout-minutes: {minutes}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
          cache: pip
          cache-dependency-path: |
            requirements.txt
            {constraints}
      - name: Install
        run: python -m pip install --quiet --constraint {constraints} -r requirements.txt
      - name: Grade
        id: grade
        run: {command}
      - name: Report
        uses: classroom-resources/autograding-grading-reporter@v1
        env:
          GRADE_RESULTS: "${{{{steps.grade.outputs.result}}}}"
        with:
          runners: grade
"""


def write_package(root: Path, options: argparse.Namespace) -> Iterator[str]:
    """Write the folder NAME-classroom, a template repository; yield what was checked and written, line by line.

    Before it is written, the command of its workflow grades the solution, the stub and a hostile
    file, with the Python that runs this.

    Args:
        options: name, and output (the folder for it).

    Raises:
        UsageError: If one of them does not get the expected points; nothing is written.
    """
    home = open_for_packing(root, options.name, options.draft)
    content = collect_repository_files(home)
    yield from try_out_package(home, ("visible",), lambda place, source: _points(place, content, home.assignment, source))
    yield write_folder(options.output / f"{options.name}-classroom", content)
    yield f"points on the platform: {home.assignment.total('visible'):g}, by visible checks, which students can change"


def collect_repository_files(home: AssignmentFiles) -> dict[str, bytes]:
    """Return the files of the repository by name: the student's folder, the workflow, and the program that it runs."""
    minutes = int(home.assignment.limits.budget // 60) + 11  # up to ten minutes to install, without a cache
    mine = {
        WORKFLOW: STEPS.format(minutes=minutes, command=COMMAND, constraints=CONSTRAINTS).encode(),
        CONSTRAINTS: (home.root / "constraints.txt").read_bytes(),
        ENTRY: GRADE.format(refusal=f"result={render_refusal(STOPPED, home.assignment)}").encode(),
        ".gitignore": b"__pycache__/\n.venv/\nreport.*\n",
        **collect_platform_modules(home, "classroom"),
    }
    return convert_to_unix_lines(collect_student_files(home) | mine)


def _points(place: Path, content: dict[str, bytes], assignment: Assignment, source: str) -> float:
    """Return the points that the reporter would add up for this source, after the workflow's command has run."""
    write_files(place / "repository", content | {assignment.submission: source.encode()})
    output = place / "output"
    output.touch()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    run_entry_script(["bash", "-e", "-c", COMMAND], place / "repository", GITHUB_OUTPUT=str(output), PATH=path)
    *_, last = output.read_text(encoding="utf-8").splitlines()
    name, _, encoded = last.partition("=")
    if name != "result":
        raise UsageError(f"nothing was written: the step's last output is {name!r}, expected 'result'")
    scores: list[float] = [test["score"] for test in json.loads(base64.b64decode(encoded))["tests"]]
    return sum(scores)
