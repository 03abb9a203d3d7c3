"""Fingerprints of functions and classes, by which a submission's are known to be still those of the stub."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def hash_functions(source: bytes | str) -> dict[str, str]:
    """Return the fingerprint of every top-level function and class, by name; see `hash_definition`."""
    tree = ast.parse(source)
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    lines = re.split(r"\r\n|\r|\n", text)  # as Python counts lines; str.splitlines knows more kinds
    result = {}
    for node in tree.body:
        if isinstance(node, DEFINITIONS):
            result[node.name] = hash_definition(lines[node.lineno - 1 : node.end_lineno])
    return result


def hash_definition(lines: Iterable[str]) -> str:
    """Return the fingerprint of a function or class: a hash of its lines without comments, blank lines and indentation."""
    kept = "\n".join(line for line in map(str.strip, lines) if line and not line.startswith("#"))
    return hashlib.sha256(kept.encode()).hexdigest()[:16]
