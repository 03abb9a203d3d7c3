"""Which functions of the solution each driver call enters: a variant of the others gets the same answer.

Most mistakes and mutants change one method, and most checks of its class never enter it. Their calls need not be repeated:
a trial takes the reply of an instrumented solution, if the solution itself returned the same.
"""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from grader import fingerprints
from grader.sandbox.reply import Reply

Function = ast.FunctionDef | ast.AsyncFunctionDef

IMPORTED = "the file itself"  # what every call enters; without it, the output is not to be trusted
MARK = re.compile(r"\n<entered ([^<>]+)>\n")
RECORDER = f"""\
def _enter(name, seen=set()):
    import os
    if name not in seen:
        seen.add(name)
        os.write(1, f"\\n<entered {{name}}>\\n".encode())
_enter({IMPORTED!r})
"""


class Coverage:
    """What calls of the solution returned, and which of its functions they entered.

    Args:
        source: The solution's text.
        drivers: The module of drivers; what may read the text of a submission is left out.
    """

    def __init__(self, source: str, drivers: Path) -> None:
        self._source = source
        self._drivers = drivers
        self._replies: dict[str, tuple[bytes, frozenset[str]]] = {}

    def add(self, call: str, driver: str, reply: Reply, returned: Any) -> None:
        """Add what a call of the instrumented solution returned, if it can be recalled.

        Args:
            call: The digest of the call.
            driver: The name of its driver.
            reply: Its reply.
            returned: What the same call of the solution returned: status and facts; None if it was not made.
        """
        entered = frozenset(MARK.findall(reply.output))
        plain = MARK.sub("", reply.output)
        same = reply.status == "ok" and pickle.dumps([reply.status, reply.facts]) == pickle.dumps(returned)
        if same and not plain and IMPORTED in entered and not fingerprints.reads_text(self._drivers, driver):
            self._replies[call] = pickle.dumps(replace(reply, output="")), entered

    def write(self, path: Path) -> None:
        """Write it where the processes of a pool can read it, at once."""
        path.with_suffix(".new").write_bytes(pickle.dumps(self))
        path.with_suffix(".new").replace(path)

    def replies_to(self, submission: str) -> dict[str, bytes]:
        """Return by call the pickled replies that a variant of the solution would give as well."""
        changed = find_changed_functions(self._source, submission)
        if changed is None:
            return {}
        return {call: reply for call, (reply, entered) in self._replies.items() if not entered & changed}


@lru_cache(1)
def read_coverage(path: Path) -> Coverage:
    """Return what was written, which each process reads once.

    Raises:
        FileNotFoundError: If nothing has been written yet.
    """
    coverage: Coverage = pickle.loads(path.read_bytes())
    return coverage


def instrument_functions(source: str) -> str:
    """Return a submission whose functions print their names when they are first entered, to standard output."""
    tree = ast.parse(source)
    for name, function in _functions(tree.body):
        first = 1 if ast.get_docstring(function, clean=False) is not None else 0
        function.body[first:first] = ast.parse(f"_enter({name!r})").body
    imports = [isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body]
    start = max((index + 1 for index, found in enumerate(imports) if found), default=0)
    start = start or (1 if ast.get_docstring(tree, clean=False) is not None else 0)
    tree.body[start:start] = ast.parse(RECORDER).body
    return ast.unparse(tree)


def find_changed_functions(source: str, variant: str) -> set[str] | None:
    """Return the names of the functions and methods whose bodies alone differ; None if anything else does."""
    (outline, bodies), (other, others) = _split(source), _split(variant)
    return {name for name in bodies if bodies[name] != others[name]} if outline == other else None


def _split(source: str) -> tuple[str, dict[str, list[str]]]:
    """Return what stands around the bodies of functions, and these by name, without comments and layout."""
    tree = ast.parse(source)
    bodies: dict[str, list[str]] = {}
    for name, function in _functions(tree.body):
        bodies.setdefault(name, []).append(ast.dump(ast.Module(function.body, [])))
        function.body = []
    return ast.dump(tree), bodies


def _functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, Function]]:
    """Yield the functions of a module and the methods of its classes with their names, but none under a condition."""
    for node in body:
        if isinstance(node, Function):
            yield within + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{within}{node.name}.")
