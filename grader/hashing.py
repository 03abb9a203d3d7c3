"""Hashes of the parts of the kit, and of the libraries, that decide outcomes."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

LIBRARIES = ("torch", "numpy", "gymnasium", "pytest", "safetensors")
KIT = Path(__file__).parent
VIEWS, FACTS = KIT / "judge" / "views.py", KIT / "sandbox" / "facts.py"  # hashed with the checks that use them
# These only explain an outcome to students. A trial of a proof runs only one of their functions, whose message is stored in no
# record (received.describe_call).
EXPLAINS = (
    KIT / "sandbox" / "arguments.py",
    *(KIT / "judge" / f"{name}.py" for name in ("influence", "patterns", "received", "relations", "tables", "wrong_places")),
)
# Parts of the kit that can change an outcome.
DECIDES = ("judge", "sandbox", "answers.py", "assignment.py", "submission.py")
# Known hashes of code, by the hash of its files: to understand the files takes longer than all else that a command begins with.
KNOWN = KIT.parent / ".cache" / "code.json"
MOST_KNOWN = 64

Tree = TypeVar("Tree", bound=ast.AST)


def hash_parts(parts: Iterable[bytes | str]) -> str:
    """Return a hash of these parts, in their order."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little"))
        whole.update(data)
    return whole.hexdigest()


def hash_kit(*more: str, without: Sequence[Path] = ()) -> str:
    """Return the hash of the parts of the kit that decide the outcomes of all checks, and of `more` files.

    Args:
        without: Files that decide nothing here, such as `EXPLAINS`.
    """
    return _hash_code((*DECIDES, *more), without=(VIEWS, FACTS, *without))


@cache
def hash_sandbox() -> str:
    """Return the hash of the part of the kit that decides the result of a call."""
    return _hash_code(("sandbox",))


def _hash_code(parts: Iterable[str], without: Sequence[Path] = ()) -> str:
    """Return the hash of the path and the code of each file in these parts of the kit; see `read_code`."""
    paths = [file for part in parts for file in _files_of(KIT / part) if file not in without]
    files = {file.relative_to(KIT).as_posix(): file.read_bytes() for file in paths}
    key = hash_parts([sys.version, *(part for file in files.items() for part in file)])
    known = _read_known()
    if key not in known:
        known[key] = hash_parts(part for file in paths for part in (file.relative_to(KIT).as_posix(), read_code(file)))
        _write_known(known)
    return known[key]


def _files_of(part: Path) -> list[Path]:
    return [file for file in sorted(part.glob("**/*")) if file.suffix in (".py", ".ini")] if part.is_dir() else [part]


def _read_known() -> dict[str, str]:
    """Return the hashes that this machine knows, with those of the latest states of the kit at the end."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(KNOWN.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _write_known(known: dict[str, str]) -> None:
    """Write the latest hashes, whole or not at all; where that is not allowed, none."""
    part = KNOWN.with_name(f".{KNOWN.name}.{os.getpid()}")
    try:
        KNOWN.parent.mkdir(exist_ok=True)
        part.write_text(json.dumps(dict(list(known.items())[-MOST_KNOWN:])), encoding="utf-8")
        part.replace(KNOWN)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()


def read_code(file: Path) -> str:
    """Return a file as Python understands it.

    Its comments, docstrings and layout decide nothing.
    """
    text = file.read_text(encoding="utf-8")
    return _dump_code(text) if file.suffix == ".py" else text


@cache  # a proof hashes the sandbox three times: for replies, records and what `release` requires
def _dump_code(text: str) -> str:
    return ast.dump(drop_docstrings(ast.parse(text)))


def drop_docstrings(tree: Tree) -> Tree:
    """Remove the docstrings from a tree, and return it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body[:1] = [] if len(node.body) > 1 else [ast.Pass()]
    return tree


def list_libraries() -> list[str]:
    """Return the libraries that can change an outcome, with their versions."""
    return [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
