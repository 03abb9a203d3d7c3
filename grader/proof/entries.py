"""Read the entries of survivors.toml and collateral.toml, with which an author allows an exception."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from grader.assignment import UsageError

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
        return [model.model_validate(entry) for entry in content.get(key, [])]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValidationError, TypeError) as error:
        raise UsageError(f"{path}: {error}") from error
