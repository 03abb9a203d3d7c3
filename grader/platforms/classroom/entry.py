"""Runs on GitHub Classroom: grades the student's repository and writes the result as the step's output."""

from __future__ import annotations

import os

from grader.console import GRADED
from grader.platforms.entry import grade_to_text


def main() -> int:
    """Grade the student's folder with the visible checks and write the step's output `result`."""
    from grader.platforms.classroom import report

    text = grade_to_text(None, report, ("visible",))
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8", newline="\n") as file:
        file.write(f"result={text}")
    return GRADED
