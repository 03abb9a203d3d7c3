"""Find the lines of a submission that messages of failed checks name or quote; nothing is parsed.

A message may contain text of the student: at worst, a wrong line of the student's own page is marked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.assignment import Question
from grader.course.handed_in import HandedInCode, split_lines
from grader.report.model import CheckResult, Outcome, Report
from grader.report.text import sanitize

MOST_LINES = 5_000  # of a file that are shown; real ones have some hundred
MOST_COLUMNS = 500
MOST_TEXT = 400_000  # characters of a file that are shown
MOST_POINTERS = 20  # of one check
# "  line 12, in total", "cell 3, line 4 still raises", and below it the line itself; judge/failure.py writes them.
PLACE = re.compile(
    r"^ *(?P<cell>cell \d+, )?line (?P<line>\d+)(?:, in .*| still raises .*)?(?:\n +(?P<quoted>.*))?$", re.MULTILINE
)


@dataclass(frozen=True)
class Pointer:
    """A place that the message of a failed check names.

    Attributes:
        check: The check.
        line: The number of the line; in a notebook, within its cell.
        in_notebook: Whether it is a line of a notebook's cell.
        quoted: What the line says, without its indentation; empty where the message does not quote it.
    """

    check: CheckResult
    line: int
    in_notebook: bool
    quoted: str


@dataclass
class MarkedLine:
    """A line of a submission.

    Attributes:
        anchor: The id of its element.
        pointers: The places in messages that name this line.
    """

    number: int
    text: str
    anchor: str
    pointers: list[Pointer] = field(default_factory=list)


@dataclass(frozen=True)
class MarkedFile:
    """A file of a submission, to be shown beside the outcomes of its checks.

    Attributes:
        left_out: How many lines are not shown.
    """

    name: str
    notebook: bool
    lines: Sequence[MarkedLine]
    left_out: int


def find_pointers(report: Report) -> list[Pointer]:
    """Return the places in the submission that messages of failed checks name, each once per check."""
    found: list[Pointer] = []
    for check in report.checks:
        if check.outcome is not Outcome.PASSED:
            places = [
                Pointer(check, int(place["line"][:9]), bool(place["cell"]), (place["quoted"] or "").strip())
                for place in PLACE.finditer(check.message)
            ]
            distinct = {(one.line, one.in_notebook, one.quoted): one for one in places}
            found += list(distinct.values())[:MOST_POINTERS]
    return found


def mark_lines(code: HandedInCode, report: Report) -> list[MarkedFile]:
    """Return the files of a submission, with the pointers of this report's failed checks at their lines."""
    files = []
    for number, file in enumerate(code.files, 1):
        shown = [MarkedLine(line, text, f"file-{number}-line-{line}") for line, text in enumerate(clean_lines(file.text), 1)]
        left_out = len(split_lines(file.text)) - len(shown)
        files.append(MarkedFile(sanitize(file.name, 200), file.notebook, shown, left_out))
    for pointer in find_pointers(report):
        for line in _find_lines(files, pointer):
            line.pointers.append(pointer)
    return files


def _find_lines(files: Sequence[MarkedFile], pointer: Pointer) -> list[MarkedLine]:
    """Return the lines that a pointer means: one line of a file, or all quoted lines of a notebook."""
    for file in files:
        if file.notebook is pointer.in_notebook:
            if file.notebook:
                return [line for line in file.lines if pointer.quoted and line.text.strip() == pointer.quoted]
            return list(file.lines[pointer.line - 1 : pointer.line]) if pointer.line else []
    return []


def find_definitions(files: Sequence[MarkedFile], questions: Sequence[Question]) -> Mapping[str, MarkedLine]:
    """Return, by question, the line that defines its function; of several, the last, which counts."""
    found = {}
    for question in questions:
        for file in files:
            if line := _find_definition(file.lines, question.function.split(".")):
                found[question.id] = line
    return found


def _find_definition(lines: Sequence[MarkedLine], names: Sequence[str]) -> MarkedLine | None:
    """Return the last line that defines the first of these names and, after it, the line that defines the next one."""
    begins = re.compile(rf"(?:(?:async )?def|class)\s+{re.escape(names[0])}\b")
    matching = [index for index, line in enumerate(lines) if begins.match(line.text)]
    if not matching:
        return None
    if len(names) == 1:
        return lines[matching[-1]]
    inside = re.compile(rf"\s+(?:async )?def\s+{re.escape(names[1])}\b")
    return next((line for line in lines[matching[-1] :] if inside.match(line.text)), lines[matching[-1]])


def clean_lines(text: str) -> list[str]:
    """Return the lines of a file for display, sanitized, and limited in number and length."""
    return [_clean_line(line[:MOST_COLUMNS]) for line in split_lines(text[:MOST_TEXT])[:MOST_LINES]]


def _clean_line(text: str) -> str:
    return text if text.isascii() and text.isprintable() else sanitize(text, 2 * MOST_COLUMNS)
