"""Runs on PrairieLearn: grades the submission in PrairieLearn's folders and writes results.json."""

from __future__ import annotations

import json
import os
from pathlib import Path

from grader.platforms.entry import grade_to_file


def main(require_level: str = "basic") -> int:
    """Grade the submission in PrairieLearn's folders.

    Until the last check is decided, results.json says that the attempt cannot be graded, so that no
    attempt is used up when the platform stops the grader.

    Args:
        require_level: The isolation level below which nothing is graded.
    """
    from grader.platforms.prairielearn import report

    root = Path(os.environ.get("GRADE_ROOT", "/grade"))
    questions = _read_questions(root / "data" / "data.json")
    return grade_to_file(root / "results" / "results.json", root / "student", report, questions, require_level)


def _read_questions(path: Path) -> list[str]:
    """Return the question ids that a server.py may set in `params.questions` of data.json; an empty list means all."""
    try:
        asked = json.loads(path.read_text(encoding="utf-8"))["params"]["questions"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [str(one) for one in asked] if isinstance(asked, list) else []
