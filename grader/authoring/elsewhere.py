"""Find the files outside an assignment that name it: tests of its solution, measurements, pages. No command changes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PLACES = ("tests/kit", "benchmarks", "docs", "README.md")
TEXTS = (".py", ".md", ".toml", ".json")


def list_elsewhere(root: Path, name: str) -> Iterator[Path]:
    """Yield the files that have the name of an assignment in their own name or in their text."""
    in_name = re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")  # as in test_ddpg_solution.py
    in_text = re.compile(rf"\b{re.escape(name)}\b")
    for path in (path for place in PLACES for path in [root / place, *sorted((root / place).rglob("*"))]):
        if path.is_file() and "__pycache__" not in path.parts:
            named = in_name.search(path.name) or (path.suffix in TEXTS and in_text.search(read_text(path)))
            if named:
                yield path


def read_text(path: Path) -> str:
    """Return the text of a file that nobody needs to understand, such as one in another encoding."""
    return path.read_text(encoding="utf-8", errors="replace")
