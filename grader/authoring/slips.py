"""Slips of authors; and those in assignment.toml, with better messages than the model of an assignment gives."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from grader.assignment import Assignment
from grader.course.handwritten import explain_fault, suggest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Slip(NamedTuple):
    """Something that an author has to correct, or at least to know.

    Attributes:
        path: The file.
        line: The line; 0 if it is about the whole file.
        text: What is wrong, and what to do.
        stops: Whether nothing can be built before it is corrected.
    """

    path: Path
    line: int
    text: str
    stops: bool = True

    def describe(self, root: Path) -> str:
        """Return one line, with the path of the file relative to the kit's folder."""
        where = self.path.relative_to(root).as_posix() if self.path.is_relative_to(root) else str(self.path)
        return f"{where}{f':{self.line}' if self.line else ''}: {self.text}"


def list_setting_slips(path: Path) -> Iterator[Slip]:
    """Yield the slips in assignment.toml."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    try:
        content = tomllib.loads(text)
        Assignment.model_validate(content)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        yield Slip(path, int(at[1]) if at else 0, f"not valid TOML: {error}")
    except ValidationError as error:
        unknown = list(_find_unknown_needs(path, content, lines))
        yield from unknown
        faults = error.errors()
        for fault in faults:
            place = [str(part) for part in fault["loc"]]
            if not place and unknown:
                continue
            if fault["type"] == "too_short" and len(faults) > 1:
                continue  # of a question that was already reported
            named = "" if fault["type"] == "extra_forbidden" or not place else f"{'.'.join(place)}: "
            yield Slip(path, _line_of_setting(lines, fault["loc"]), f"{named}{explain_fault(Assignment, fault)}")


def _find_unknown_needs(path: Path, content: dict[str, Any], lines: list[str]) -> Iterator[Slip]:
    questions = [each for each in content.get("questions", []) if isinstance(each, dict)]
    ids = [str(each.get("id")) for each in questions]
    for question in questions:
        for key in ("needs", "pieces"):
            for need in question.get(key, []) if isinstance(question.get(key, []), list) else []:
                if need not in ids:
                    line = next(
                        (number for number, text in enumerate(lines, 1) if f'"{need}"' in text and "id =" not in text), 0
                    )
                    yield Slip(
                        path, line, f"{question.get('id')} {key} {need!r}, which is not a question; {suggest(str(need), ids)}"
                    )


def _line_of_setting(lines: list[str], place: tuple[int | str, ...]) -> int:
    """Return the line of a key; 0 if it is unknown."""
    first = 1
    if len(place) > 1 and place[0] == "questions" and isinstance(place[1], int):
        heads = [number for number, line in enumerate(lines, 1) if line.strip() == "[[questions]]"]
        first = heads[place[1]] if place[1] < len(heads) else 1
    keys = [part for part in place if isinstance(part, str) and part != "questions"]
    head = next((number for number, line in enumerate(lines, 1) if keys and line.strip() == f"[{keys[0]}]"), 0)
    if head and len(keys) > 1:
        first, keys = head, keys[1:]
    for number, line in enumerate(lines[first - 1 :], first):
        if keys and re.match(rf"\s*{re.escape(keys[0])}\s*=", line):
            return number
    return first if first > 1 else 0


def find_question_line(path: Path, question: str) -> int:
    """Return the line of a question's id in assignment.toml; 0 if it is not found."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(
        (number for number, line in enumerate(lines, 1) if re.match(rf"""id\s*=\s*["']{re.escape(question)}["']""", line)), 0
    )
