"""Write one file with the visible cases and answers of all assignments, for reading."""

from __future__ import annotations

from pathlib import Path

from grader import answers
from grader.assignment import OVERVIEW, list_assignments
from grader.report.model import write_atomically


def write_overview(root: Path, check: bool = False) -> list[Path]:
    """Update solution.json, with the visible cases and answers of all assignments; return its path if it was stale.

    Args:
        root: The kit's folder.
        check: Whether to write nothing.
    """
    path = root / OVERVIEW
    paths = [root / "tests" / "visible" / "answers" / f"{name}.json" for name in list_assignments(root)]
    text = answers.render_overview(path for path in paths if path.is_file())
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return []
    if not check:
        write_atomically(path, text)
    return [path]
