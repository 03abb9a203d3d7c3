"""Read the entries of survivors.toml and collateral.toml, with which an author allows an exception."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from grader.assignment import UsageError
from grader.authoring.slips import is_misspelled
from grader.course.handwritten import describe_faults

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Entry = TypeVar("Entry", bound=BaseModel)


def read_entries(path: Path, key: str, model: type[Entry]) -> list[Entry]:
    """Return the entries `[[key]]` of a TOML file; none without the file.

    Raises:
        UsageError: If it is not valid TOML, if an entry is not valid, or if it has other keys, which would be ignored.
    """
    if not path.is_file():
        return []
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
        if unknown := [name for name in content if name != key]:
            where = _find_place(path, text, rf"\[*\s*{re.escape(unknown[0])}\b")
            raise UsageError(f"{where}: there is no key {unknown[0]!r}; each entry begins with [[{key}]]")
        if not isinstance(content.get(key, []), list):
            where = _find_place(path, text, rf"\[?\s*{key}\b")
            raise UsageError(f"{where}: expected a list; write [[{key}]] in double brackets")
        return [_read_entry(model, entry, path, key, number) for number, entry in enumerate(content.get(key, []), 1)]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from error


def _read_entry(model: type[Entry], content: object, path: Path, key: str, number: int) -> Entry:
    try:
        return model.model_validate(content, strict=True)
    except ValidationError as error:
        text, found = path.read_text(encoding="utf-8"), error.errors()
        faults = [fault for fault in found if not (fault["type"] == "missing" and is_misspelled(fault, found))]
        field = str(faults[0]["loc"][0]) if faults[0]["loc"] else ""
        header = rf"\[\[\s*{key}\s*\]\]"
        where = _find_place(path, text, rf"{re.escape(field)}\s*=", header, number) if field else str(path)
        raise UsageError(f"{where}: entry {number}: {describe_faults(model, faults)}") from error


def _find_place(path: Path, text: str, key: str, header: str = "", number: int = 0) -> str:
    """Return a file with the line where a key stands; without the key, that of its table; without either, the file.

    Args:
        key: A pattern that begins the key's line.
        header: A pattern that begins the table's line, if only one table is searched.
        number: Which of the tables with this header, from 1.
    """
    tables = place = 0
    for line, content in enumerate(map(str.strip, text.splitlines()), 1):
        if header and re.match(header, content):
            tables += 1
            place = line if tables == number else place
        elif tables == number and re.match(key, content):
            return f"{path}:{line}"
    return f"{path}:{place}" if place else str(path)
