"""Trace the functions of a submission that a call enters: only these can change its reply (used by proofs)."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from types import CodeType

IMPORTED = "the file itself"  # what every call enters; without it, nothing was noted
ENTER = "_enter_function"  # among the builtins, so that the submission has no name more

entered: set[str] = set()


def begin_trace() -> None:
    """Forget what was entered, and let code of `trace_functions` note it."""
    entered.clear()
    setattr(builtins, ENTER, entered.add)


def trace_functions(source: bytes, path: str) -> CodeType:
    """Return the code of a submission whose functions note that they are entered; lines and docstrings are the same."""
    tree = ast.parse(source)
    for name, function in list_functions(tree.body):
        first = 1 if ast.get_docstring(function, clean=False) is not None else 0
        _insert(function.body, first, name)
    future = [isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body]
    start = max((index + 1 for index, found in enumerate(future) if found), default=0)
    _insert(tree.body, start or (1 if ast.get_docstring(tree, clean=False) is not None else 0), IMPORTED)
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return code


def _insert(body: list[ast.stmt], index: int, name: str) -> None:
    (note,) = ast.parse(f"{ENTER}({name!r})").body
    if body:
        beside = body[min(index, len(body) - 1)]
        for node in ast.walk(note):
            ast.copy_location(node, beside)
    body.insert(index, note)


def list_functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes with their names.

    Left out are those under a condition, and those whose body makes more of them than a function, entered or not: generators
    and coroutines.
    """
    for node in body:
        if isinstance(node, ast.FunctionDef) and not _yields(node):
            yield within + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from list_functions(node.body, f"{within}{node.name}.")


def _yields(function: ast.FunctionDef) -> bool:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return False
