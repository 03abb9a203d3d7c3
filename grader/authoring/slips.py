"""Slips of authors; and those in assignment.toml, with better messages than the model of an assignment gives."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from grader.assignment import Assignment
from grader.course.handwritten import explain_fault, suggest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


SHORTEST_CALL = 0.1  # seconds: a correct call takes hundredths, and a busy machine ten times as long


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
    """Yield the slips in assignment.toml: also numbers and truth values in quotes, which other readers of the file accept."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if text.startswith("\ufeff"):
        yield Slip(path, 1, "it begins with a byte order mark (BOM); save it as UTF-8 without one")
        return
    lines = text.splitlines()
    try:
        content = tomllib.loads(text)
        yield from (named := list(_find_wrong_names(path, content, lines)))
        yield from _find_short_limits(path, content, lines)
        # As JSON, because tuples are lists there; TOML has no other type that this model knows.
        Assignment.model_validate_json(json.dumps(content, default=str), strict=True)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        yield Slip(path, int(at[1]) if at else 0, f"not valid TOML: {error}")
    except ValidationError as error:
        unknown = [] if named else list(_find_unknown_needs(path, content, lines))
        yield from unknown
        faults = error.errors()
        for fault in faults:
            place = [str(part) for part in fault["loc"]]
            if (not place and (unknown or named)) or (fault["type"] == "missing" and is_misspelled(fault, faults)):
                continue
            if fault["type"] == "too_short" and len(faults) > 1:
                continue  # of a question that was already reported
            where = "" if fault["type"] == "extra_forbidden" or not place else f"{'.'.join(place)}: "
            yield Slip(path, _line_of_setting(lines, fault["loc"]), f"{where}{_explain(fault)}")


def _find_wrong_names(path: Path, content: dict[str, Any], lines: list[str]) -> Iterator[Slip]:
    """Yield a name that is not the folder's, and the second question of an id."""
    name = content.get("name")
    if isinstance(name, str) and name != path.parent.name:
        text = f'name is {name!r}, but the folder is called {path.parent.name!r}; write name = "{path.parent.name}"'
        yield Slip(path, _line_of_setting(lines, ("name",)), text)
    first: dict[str, int] = {}
    for index, question in enumerate(_list_tables(content)):
        line = _line_of_setting(lines, ("questions", index, "id"))
        if question.get("id") in first:
            text = f"a second question has the id {question['id']!r}; the first is in line {first[question['id']]}"
            yield Slip(path, line, text)
        first.setdefault(str(question.get("id")), line)


def _find_short_limits(path: Path, content: dict[str, Any], lines: list[str]) -> Iterator[Slip]:
    """Yield limits that stop right work on a slow machine, or the whole run before the first call has ended."""
    limits = content.get("limits")
    seconds, budget = (limits.get(name) if isinstance(limits, dict) else None for name in ("seconds", "budget"))
    if isinstance(seconds, (int, float)) and 0 < seconds < SHORTEST_CALL:
        text = f"limits.seconds: expected at least {SHORTEST_CALL:g}, because machines differ, found {seconds:g}"
        yield Slip(path, _line_of_setting(lines, ("limits", "seconds")), text)
    elif isinstance(seconds, (int, float)) and isinstance(budget, (int, float)) and 0 < budget < seconds:
        text = f"limits.budget: expected more than `seconds` ({seconds:g}), because it is for all calls, found {budget:g}"
        yield Slip(path, _line_of_setting(lines, ("limits", "budget")), text)


def _list_tables(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables [[questions]]; none if the key holds something else."""
    found = content.get("questions", [])
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def is_misspelled(fault: ErrorDetails, faults: Sequence[ErrorDetails]) -> bool:
    """Return whether a key is missing because it is there with a misspelled name, which is reported already."""
    *table, key = fault["loc"]
    unknown = [
        str(other["loc"][-1]) for other in faults if other["type"] == "extra_forbidden" and [*other["loc"][:-1]] == table
    ]
    return bool(difflib.get_close_matches(str(key), unknown, 1))


def _explain(fault: ErrorDetails) -> str:
    """Return what is wrong with a value, and how to write it."""
    if fault["loc"][-1:] == ("points",) and fault["type"] == "model_type":
        return f"expected {{ visible = 3, hidden = 2 }}, with your numbers; found {fault['input']!r}"
    said = explain_fault(Assignment, fault).replace("expected a valid boolean", "expected true or false")
    said = re.sub(r"expected a valid (number|integer)", r"expected a \1", said).replace("a integer", "an integer")
    said = said.replace("expected a valid string", "expected a text in quotes")
    if isinstance(fault["input"], str) and fault["type"] in ("float_type", "int_type", "bool_type"):
        said = said.replace(", found ", ", found the text ")
    return said


def _find_unknown_needs(path: Path, content: dict[str, Any], lines: list[str]) -> Iterator[Slip]:
    questions = _list_tables(content)
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
        heads = [number for number, line in enumerate(lines, 1) if re.match(r"\s*\[\[questions\]\]", line)]
        first = heads[place[1]] if place[1] < len(heads) else 1
    keys = [part for part in place if isinstance(part, str) and part != "questions"]
    head = re.compile(rf"\s*\[\[?{re.escape(keys[0])}\]" if keys else "$.")
    if found := next((number for number, line in enumerate(lines, 1) if head.match(line)), 0):
        if len(keys) == 1:
            return found
        first, keys = found, keys[1:]
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
