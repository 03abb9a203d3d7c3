"""Which definitions in the cells of a session still count: of a name, the latest edit does, in a cell or in the saved file."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from grader.sandbox.definitions import DEFINITIONS


class RunCell(NamedTuple):
    """A cell that was run.

    Attributes:
        number: Its execution count.
        text: What was typed.
        python: The same as Python, without magics.
    """

    number: int
    text: str
    python: str


class LatestEdits:
    """What has changed in the saved file, and in which order with the cells of this session.

    Args:
        file: The submission; it need not exist.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._state: tuple[int, int] | None = None
        self._definitions: dict[str, str] = {}  # in the file, each as a syntax tree, so that comments do not count
        self._changed: dict[str, int] = {}  # name -> the first cell that began after the file's definition had changed
        self._known: set[str] = set()  # all names that the kernel has had
        self.look(0, ())
        self._changed.clear()

    def look(self, number: int, names: Iterable[str]) -> None:
        """Note what has changed, as a cell begins.

        Args:
            number: The execution count of the cell.
            names: The names that the kernel has.
        """
        self._known.update(names)
        try:
            found = self._file.stat()
            state = found.st_mtime_ns, found.st_size
            if state == self._state:
                return
            tree = ast.parse(self._file.read_bytes())
        except OSError:
            state, tree = None, ast.Module([], [])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return  # nothing is known until the file is Python again
        now = {node.name: ast.dump(node) for node in tree.body if isinstance(node, DEFINITIONS)}
        self._changed = {name: cell for name, cell in self._changed.items() if name in now}
        self._changed |= {name: number for name, text in now.items() if self._definitions.get(name) != text}
        self._state, self._definitions = state, now

    def select(self, cells: Collection[RunCell], names: Collection[str]) -> tuple[list[tuple[int, str]], dict[str, int]]:
        """Return number and text of the cells without the definitions that no longer count.

        Also return the definitions that the saved file's have replaced, each with the last cell
        that had it.

        Args:
            names: The names that the kernel has. A definition that was deleted there does not count.
        """
        kept: set[str] = set()
        selected: list[tuple[int, str]] = []
        replaced: dict[str, int] = {}
        for number, text, python in reversed([*cells]):
            lines = python.split("\n")
            for node in ast.parse(python).body:
                if not isinstance(node, DEFINITIONS):
                    continue
                name = node.name
                deleted, newer = name in self._known and name not in names, self._changed.get(name, 0) > number
                first = min([node.lineno, *(entry.lineno for entry in node.decorator_list)])
                without = _blank(text, lines[first - 1 : node.end_lineno]) if deleted or newer else text
                if without == text:
                    kept.add(name)
                elif newer and not deleted and name not in kept:
                    replaced.setdefault(name, number)
                text = without
            selected.append((number, text))
        return selected[::-1], replaced


def _blank(text: str, block: list[str]) -> str:
    """Return a text with empty lines in place of these lines, so that the others keep their numbers."""
    lines = text.split("\n")
    for at in range(len(lines) - len(block) + 1):
        if lines[at : at + len(block)] == block:
            lines[at : at + len(block)] = [""] * len(block)
            return "\n".join(lines)
    return text
