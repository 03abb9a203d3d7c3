"""Runs on Autolab: grades the submitted file and prints the result as the last line."""

from __future__ import annotations

import os
from pathlib import Path

from grader.console import GRADED
from grader.platforms.entry import grade_to_text


def main(handin: Path, require_level: str = "basic") -> int:
    """Grade the submitted file and print the result once, last.

    Autolab believes the last line of stdout. So the result is printed only when no code of the
    submission runs any more, and nothing is printed after it. If the grader itself fails, that
    line is missing, and Autolab records no score.

    Args:
        require_level: The isolation level below which nothing is graded.
    """
    stdout = os.dup(1)  # not inherited by processes that are started from here on
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)

    from grader.platforms.autolab import report

    text = grade_to_text(handin, report, require_level=require_level)
    os.dup2(nowhere, 2)  # Autolab reads both as one
    with open(stdout, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return GRADED
