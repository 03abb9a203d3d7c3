"""The marks of Otter and nbgrader in a solution: which lines students are to write, and how this kit marks them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set

MARK = re.compile(r"^\s*#+\s*(?P<end>BEGIN|END) SOLUTION\b.*$")  # of Otter and nbgrader, and of this kit
SUFFIX = re.compile(r"[ \t]*# SOLUTION( NO PROMPT)?[ \t]*$")
END = "# END SOLUTION"


class Marks:
    """The marks of a file.

    Args:
        enclosed: Lines between a begin and an end that the file itself lacks.

    Attributes:
        lines: The lines of the file, without the marks that end a line.
        enclosed: The numbers of the lines from a begin to its end.
        single: The numbers of the lines that ended in a mark.
    """

    def __init__(self, lines: list[str], enclosed: Set[int]) -> None:
        self.lines = [SUFFIX.sub("", line) for line in lines]
        self.enclosed = enclosed | {*list_enclosed(lines)}
        self.single = {number for number, line in enumerate(lines, 1) if SUFFIX.search(line)}

    def cover(self, node: ast.stmt) -> bool:
        """Return whether a line of a statement is marked."""
        return not self._list_numbers(node).isdisjoint(self.enclosed | self.single)

    def cut(self, shown: list[list[str]], function: ast.FunctionDef, label: str, whole: bool) -> None:
        """Mark what students write of a function; marks that it has already stay in place.

        Args:
            shown: By line, what stands there; it is changed.
            label: The question that it is part of.
            whole: Whether students write all of its body if no lines inside it are marked by a begin and an end.
        """
        first, last = self._find_body(function)
        begin = f"# BEGIN SOLUTION {label}"
        indent = " " * function.body[-1].col_offset
        # The last mark may stand below all code; one with less indentation is about more than this function.
        numbers = range(first, min(last + 1, len(self.lines)) + 1)
        marks = {number: MARK.match(self.lines[number - 1]) for number in numbers}
        inside = {number: mark for number, mark in marks.items() if mark and mark[0].startswith(indent)}
        for number, mark in inside.items():
            shown[number - 1] = [mark[0].partition("#")[0] + (begin if mark["end"] == "BEGIN" else END)]
        # A notebook's extract has no comment that stands below the last statement of a cell.
        if inside and [mark["end"] for mark in inside.values()][-1] == "BEGIN":
            shown[last - 1].append(indent + END)
        if inside or not (whole or function.lineno in self.enclosed):
            for statements in self._list_single(function):
                margin = " " * statements[0].col_offset
                shown[statements[0].lineno - 1].insert(0, margin + begin)
                shown[(statements[-1].end_lineno or 0) - 1].append(margin + END)
        else:
            shown[first - 1].insert(0, indent + begin)
            shown[last - 1].append(indent + END)

    def _list_single(self, function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
        """Yield the neighboring statements with a mark at the end of one of their lines, but none between other marks."""
        found: list[ast.stmt] = []
        for number in sorted(self.single - self.enclosed):
            around = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and number in self._list_numbers(node)]
            inner = max(around, key=lambda node: (node.lineno, node.col_offset), default=function)
            if inner is function or inner in found:
                continue
            if found and (found[-1].end_lineno, found[-1].col_offset) != (inner.lineno - 1, inner.col_offset):
                yield found
                found = []
            found.append(inner)
        if found:
            yield found

    def _list_numbers(self, node: ast.stmt) -> set[int]:
        return {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}

    def _find_body(self, function: ast.FunctionDef) -> tuple[int, int]:
        """Return the first and the last line of a body without its docstring, with the comments above it."""
        body = function.body[1:] if _is_docstring(function.body[0]) and len(function.body) > 1 else function.body
        first = min([body[0].lineno, *(part.lineno for part in getattr(body[0], "decorator_list", []))])
        while not (above := self.lines[first - 2].strip()) or above.startswith("#"):
            first -= 1
        return first, body[-1].end_lineno or first


def list_enclosed(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines from a begin to its end; what begins in a definition ends with it."""
    begun = ""
    for number, line in enumerate(lines, 1):
        mark = MARK.match(line)
        if begun.startswith((" ", "\t")) and line[:1].strip():
            begun = ""
        if mark and mark["end"] == "BEGIN":
            begun = line
        if begun:
            yield number
        if mark and mark["end"] == "END":
            begun = ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
