"""Runs on Gradescope: grades the submission in Gradescope's folders and writes results.json."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from grader.platforms.entry import grade_to_file


def main(require_level: str = "basic") -> int:
    """Grade the submission in Gradescope's folders.

    Args:
        require_level: The isolation level below which nothing is graded.
    """
    from grader.platforms.gradescope import report

    root = Path(os.environ.get("AUTOGRADER_ROOT", "/autograder"))
    metadata = report.read_metadata(root / "submission_metadata.json")
    form = SimpleNamespace(render=partial(report.render, metadata=metadata), render_refusal=report.render_refusal)
    return grade_to_file(root / "results" / "results.json", root / "submission", form, require_level=require_level)
