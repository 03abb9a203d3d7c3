"""Two changes of one text, made together: what a student's work with two mistakes looks like."""

from __future__ import annotations

import difflib


def merge(text: str, one: str, other: str) -> str:
    """Return a text with what each of two others changes of it, in lines of its own."""
    lines = text.splitlines(keepends=True)
    changes = []
    for changed in (one.splitlines(keepends=True), other.splitlines(keepends=True)):
        for kind, start, end, first, last in difflib.SequenceMatcher(None, lines, changed, autojunk=False).get_opcodes():
            if kind != "equal":
                changes.append((start, end, changed[first:last]))
    for start, end, new in sorted(changes, reverse=True):
        lines[start:end] = new
    return "".join(lines)
