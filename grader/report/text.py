"""Making a student's text fit to be shown: no control characters, no tricks, bounded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

MAX_TEXT = 4_000
LENGTHS = (10_000, 2_000, 500, 100, 20)  # to cut texts to, until all of them together fit
# What a spreadsheet may take for a formula; the last four are the full-width forms of the first four.
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
DROPPED = ("\t", "\n", "\r")  # some spreadsheets drop these at the beginning of a cell
# Spreadsheets drop spaces and quotes before a formula.
BEGINS = re.compile(rf"[\s\"]*[{''.join(map(re.escape, FORMULA))}]")
# Where a spreadsheet that separates by semicolons or tabs cuts a cell in two; quotes within a cell mean nothing to it.
CUT = re.compile(rf"([;\t\r\n])(?=[\s\"']*[{''.join(map(re.escape, FORMULA))}])")
KEPT = frozenset("\n\t")
# Cc: control, Cf: format (bidirectional overrides, zero-width characters), Cs: lone surrogates, Co/Cn: private, unassigned,
# Zl/Zp: separators of lines and paragraphs.
NEUTRALIZED = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def sanitize(text: str, limit: int = MAX_TEXT) -> str:
    """Return the text as a terminal would end up showing it, other control characters spelled out, its middle cut to `limit`.

    A carriage return starts a line again, so of a progress line only its last state is kept.
    """
    if len(text) > 64 * limit:
        text = text[: 32 * limit] + text[-32 * limit :]
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n"))
    text = "\n".join(lines)
    if len(text) > limit:
        text = f"{text[: limit // 2]}\n[... {len(text) - limit:,} characters left out ...]\n{text[-limit // 2 :]}"
    return "".join(
        character if character in KEPT or unicodedata.category(character) not in NEUTRALIZED else _spelled(character)
        for character in text
    )


def render_to_fit(render: Callable[[int], str], most: int) -> str:
    """Return what `render` makes of texts cut to a length: the first of LENGTHS with which it has at most so many bytes."""
    for longest in LENGTHS[:-1]:
        if len((text := render(longest)).encode("utf-8")) <= most:
            return text
    return render(LENGTHS[-1])


def escape_formula(text: str) -> str:
    """Return the text as a cell of a table that no spreadsheet takes for a formula, whatever it begins with or separates by."""
    text = CUT.sub(r"\1'", text)
    return f"'{text}" if text.startswith(DROPPED) or BEGINS.match(text) else text


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
