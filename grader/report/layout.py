"""Fit lines to a screen: hanging indents, unbroken commands, and only characters that its encoding has."""

from __future__ import annotations

import codecs
import io
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator
from typing import TextIO

LEAST_WIDTH = 40  # of a terminal: a narrower one breaks lines by itself
INDENT = 2  # of what goes on in a further line, where nothing says how far
# A wrapped line continues below the text after this.
HANGS = re.compile(r"(?P<indent> *)(?:[✓✗·~!-] |\| |expected +|got +|[\w.\[\]']{1,40} = )?")
# Text that people copy: a command, the pattern of -k, a path.
COMMAND = r"(?:\S*python\S* )?grade\.py(?: [^ (`]+)*|\S*python\S* -m pip(?: [^ (`]+)*|\(?-k [^ )]+\)?"
PIECES = re.compile(rf"(?P<whole>{COMMAND}|\S*[/\\]\S*)|\S+")
LEGIBLE = "grader.legible"  # the name of the error handler below
PLAIN = {
    "✓": "+", "✗": "x", "·": ".", "━": "=", "─": "-", "…": "...", "→": "->", "−": "-", "–": "-", "—": "-", "×": "x",
    "⁄": "/", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf", "∇": "grad", "∈": "in", "√": "sqrt", "∑": "sum",
    "‘": "'", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def has_controls(stream: TextIO) -> bool:
    """Return whether a stream may get colors and cursor movements: if it is a terminal and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def make_legible(stream: TextIO | None) -> None:
    """Let a stream spell out characters that its encoding lacks (π in cp1252) instead of raising an exception."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=LEGIBLE)


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Return the characters of an encoding error in ASCII: different marks stay different, Greek letters are named."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_spell_character, error.object[error.start : error.end])), error.end


def _spell_character(character: str) -> str:
    if character in PLAIN:
        return PLAIN[character]
    name = unicodedata.name(character, "")
    if name.startswith("GREEK ") and " LETTER " in name:
        letter = name.rpartition(" LETTER ")[2].lower()
        letter = letter.partition(" ")[0].replace("lamda", "lambda")
        return letter.capitalize() if "CAPITAL" in name else letter
    if unicodedata.combining(character):
        return ""  # an accent of a letter that was kept
    same = [PLAIN.get(each, each) for each in unicodedata.normalize("NFKD", character)]
    power = "^" if name.startswith("SUPERSCRIPT") else ""
    return power + "".join(each for each in same if each.isascii()) if same[0].isascii() else "?"


codecs.register_error(LEGIBLE, _spell)


def fit_lines(text: str, stream: TextIO) -> str:
    """Return the text, wrapped if the stream is a terminal."""
    return wrap_lines(text, shutil.get_terminal_size().columns) if stream.isatty() else text


def wrap_lines(text: str, width: int) -> str:
    """Return the text in lines of at most this width, with hanging indents.

    Text that people copy is never broken, however long: commands, patterns of -k, paths.
    """
    return "\n".join(_wrap(line, max(width, LEAST_WIDTH)) for line in text.split("\n"))


def _wrap(line: str, width: int) -> str:
    from rich.cells import cell_len  # of a terminal alone

    if cell_len(line) <= width:
        return line
    begun = HANGS.match(line)
    assert begun is not None  # it matches anything
    indent, hang = len(begun["indent"]), len(begun[0])
    if hang == indent or hang > width // 2:
        hang = min(indent, width // 2) + INDENT
    lines, current, empty = [], begun[0], hang == len(begun[0])  # with a small indent, the start of the line may stand alone
    for gap, piece, whole in _split(line[begun.end() :]):
        if cell_len(current + gap + piece) > width and not empty:
            lines.append(current)
            current, gap, empty = " " * hang, "", True
        parts = [piece] if whole else list(_cut(piece, width - cell_len(current + gap), width - hang))
        for part in parts[:-1]:
            lines.append(current + gap + part)
            current, gap = " " * hang, ""
        current, empty = current + gap + parts[-1], False
    return "\n".join([*lines, current])


def _split(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the words of a line, each with the space before it and whether it must not be broken; a command is one word."""
    end = 0
    for found in PIECES.finditer(text):
        yield text[end : found.start()], found[0], found["whole"] is not None
        end = found.end()


def _cut(word: str, first: int, most: int) -> Iterator[str]:
    """Yield a word in parts: the first fits into the rest of its line, each other part into a full line."""
    from rich.cells import cell_len

    room, part = max(first, 2), ""  # some characters take two columns
    for character in word:
        if cell_len(part + character) > room:
            yield part
            room, part = most, ""
        part += character
    yield part
