"""Report global variables that a submission's functions read instead of their own arguments or attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

MAX_NAME = 60  # characters of a name that a message quotes
MAX_NAMES = 3  # in a message


def select_globals(claimed: object, drivers: Path) -> dict[str, list[str]]:
    """Return, by function, the names of global variables that it reads instead of something of its own.

    These have the name of a parameter, an attribute, or an object in the drivers. Names that a driver itself uses from the
    submission are excluded.

    Args:
        claimed: The variables that a worker claims to have found in the source; see `grader.sandbox.variables.find_globals`.
        drivers: The file of drivers.
    """
    if not claimed or not isinstance(claimed, dict):
        return {}
    objects, used = _list_objects(drivers)
    found: dict[str, list[str]] = {}
    for function, reads in claimed.items():
        if isinstance(reads, dict):
            others = [name for name in _list_names(reads.get("objects")) if name in objects]
            found[function] = [name for name in (*_list_names(reads.get("own")), *others) if name not in used]
    return {function: names for function, names in found.items() if names}


def describe_globals(function: str, names: Sequence[str]) -> str:
    """Return a line for the failure message of a function's check, or an empty string if it reads no such variable."""
    if not names:
        return ""
    quoted = ", ".join(f"`{name}`" for name in names[:MAX_NAMES])
    return f"{function} uses the global{'s' * (len(names) > 1)} {quoted}: do you mean an argument, or self?"


def _list_names(claimed: object) -> list[str]:
    names = claimed if isinstance(claimed, list) else []
    return [name for name in names if isinstance(name, str) and name.isidentifier() and len(name) <= MAX_NAME]


@lru_cache(1)
def _list_objects(drivers: Path) -> tuple[set[str], set[str]]:
    """Return the names that a file of drivers gives to objects, and those of the submission that it uses."""
    nodes = list(ast.walk(ast.parse(drivers.read_bytes())))
    given = {node.arg for node in nodes if isinstance(node, ast.arg)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    return given | stored, {node.attr for node in attributes if ast.unparse(node.value) == "submitted"}
