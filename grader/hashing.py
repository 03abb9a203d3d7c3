"""Hashes of the parts of the kit, and of the libraries, that decide outcomes."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
from collections.abc import Iterable, Iterator, Sequence
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
    return hash_parts(_code_in((*DECIDES, *more), without=(VIEWS, FACTS, *without)))


@cache
def hash_sandbox() -> str:
    """Return the hash of the part of the kit that decides the result of a call."""
    return hash_parts(_code_in(("sandbox",)))


def _code_in(parts: Iterable[str], without: Sequence[Path] = ()) -> Iterator[str]:
    """Yield the path and the code of each file in these parts of the kit."""
    for part in (KIT / part for part in parts):
        for file in sorted(part.glob("**/*")) if part.is_dir() else [part]:
            if file.suffix in (".py", ".ini") and file not in without:
                yield from (file.relative_to(KIT).as_posix(), read_code(file))


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
