"""Record which functions of the solution each driver call enters: variants of other functions get the same answer.

Most mistakes and mutants change one method, and most checks of its class never enter it. Their calls need not be repeated, and
what they have shown stays true when another method changes.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from grader import fingerprints
from grader.sandbox.entered import IMPORTED, list_functions
from grader.sandbox.reply import Reply


class Coverage:
    """What calls of the solution returned, and which of its functions they entered.

    Args:
        source: The solution's text.
        drivers: The module of drivers; what may read the text of a submission is left out.

    Attributes:
        entered: By call, the functions that it entered.
    """

    def __init__(self, source: str, drivers: Path) -> None:
        self._source = source
        self._drivers = drivers
        self._replies: dict[str, bytes] = {}
        self.entered: dict[str, frozenset[str]] = {}

    def add(self, call: str, driver: str, reply: Reply) -> None:
        """Add what a traced call of the solution returned.

        Args:
            call: The digest of the call.
            driver: The name of its driver.
            reply: Its reply.
        """
        if IMPORTED not in reply.entered:
            return
        self.entered[call] = reply.entered
        if reply.status == "ok" and not reply.output and not fingerprints.reads_text(self._drivers, driver):
            self._replies[call] = pickle.dumps(reply)

    def write(self, path: Path) -> None:
        """Write it where the processes of a pool can read it, at once."""
        path.with_suffix(".new").write_bytes(pickle.dumps(self))
        path.with_suffix(".new").replace(path)

    def replies_to(self, submission: str) -> dict[str, bytes]:
        """Return by call the pickled replies that a variant of the solution would give as well."""
        changed = find_changed_functions(self._source, submission)
        if changed is None:
            return {}
        return {call: reply for call, reply in self._replies.items() if not self.entered[call] & changed}


@lru_cache(1)
def read_coverage(path: Path) -> Coverage:
    """Return what was written, which each process reads once.

    Raises:
        FileNotFoundError: If nothing has been written yet.
    """
    coverage: Coverage = pickle.loads(path.read_bytes())
    return coverage


def find_changed_functions(source: str, variant: str) -> set[str] | None:
    """Return the names of the functions and methods whose bodies alone differ; None if anything else does."""
    (outline, bodies), (other, others) = _split(source), _split(variant)
    return {name for name in bodies if bodies[name] != others[name]} if outline == other else None


@lru_cache(maxsize=4)
def _split(source: str) -> tuple[str, dict[str, list[str]]]:
    """Return what stands around the bodies of functions, and these by name, without comments and layout."""
    tree = ast.parse(source)
    bodies: dict[str, list[str]] = {}
    for name, function in list_functions(tree.body):
        bodies.setdefault(name, []).append(ast.dump(ast.Module(function.body, [])))
        function.body = []
    return ast.dump(tree), bodies


@dataclass(frozen=True)
class FunctionNames:
    """The names of all functions in some texts, to write a choice of them in few characters.

    Attributes:
        names: In the alphabet's order.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> FunctionNames:
        return cls(tuple(sorted({name for text in texts for name in _names_in(text)})))

    def encode(self, chosen: Iterable[str]) -> str:
        """Return the choice as a hexadecimal number, a bit for each name."""
        return f"{sum(1 << self.names.index(name) for name in set(chosen) & set(self.names)):x}"

    def decode(self, choice: str) -> frozenset[str]:
        return frozenset(name for index, name in enumerate(self.names) if int(choice, 16) >> index & 1)


@cache
def _names_in(text: str) -> frozenset[str]:
    return frozenset(name for name, _ in list_functions(ast.parse(text).body))


def leave_out_bodies(statement: str, entered: frozenset[str]) -> str:
    """Return a statement of a submission without the bodies of functions that are never entered.

    One that is not written yet stays: the judge sees that without entering it.
    """
    return _leave_out(statement, entered & _names_in(statement)) if _names_in(statement) - entered else statement


@cache
def _leave_out(statement: str, entered: frozenset[str]) -> str:
    tree = ast.parse(statement)
    for name, function in list_functions(tree.body):
        if name not in entered and "NotImplementedError" not in ast.unparse(function):
            function.body = [ast.Pass()]
    return ast.unparse(tree)
