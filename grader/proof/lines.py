"""Lines of a Python file, counted as `ast` counts them."""

from __future__ import annotations

import io


def split_lines(text: str, keepends: bool = False) -> list[str]:
    """Return the lines of a Python text.

    `str.splitlines` also ends a line at a form feed or at U+2028, and then every later number is wrong.
    """
    lines = list(io.StringIO(text, newline=""))
    return lines if keepends else [line.rstrip("\r\n") for line in lines]
