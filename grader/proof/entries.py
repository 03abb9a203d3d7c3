"""Read the entries of survivors.toml and collateral.toml, with which an author allows an exception."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from grader.assignment import UsageError
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
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        if unknown := [name for name in content if name != key]:
            raise UsageError(f"{path}: there is no key {unknown[0]!r}; each entry begins with [[{key}]]")
        if isinstance(content.get(key), dict):
            raise UsageError(f"{path}: expected a list; write [[{key}]] in double brackets")
        return [_read_entry(model, entry, f"{path}: entry {number}") for number, entry in enumerate(content.get(key, []), 1)]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise UsageError(f"{path}: {error}") from error


def _read_entry(model: type[Entry], content: object, where: str) -> Entry:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{where}: {describe_faults(model, error.errors())}") from error
