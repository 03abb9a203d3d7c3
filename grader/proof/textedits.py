"""Find edits of a text that turn it into another definition, for `altered` in mistakes.py. Comments and layout are kept.

Only the standard library is needed: workers of a sandbox use this module on a student's code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from grader.proof.alignment import align, dump, have_same_fields, is_block
from grader.proof.lines import split_lines

READABLE = 8  # minimum characters of a replaced text; a shorter one is hard to understand
MAX_LINE = 80  # characters up to which a replaced text is extended to be more readable
MOST_LINES = 6  # around a line that stands in the text several times
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Await)
BINDING = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Attribute, ast.Subscript, ast.Await, ast.Starred, ast.IfExp)

Range = tuple[int, int]


@dataclass(frozen=True)
class _Replacement:
    """A part of the text, and its replacement.

    Attributes:
        around: Larger parts that may be replaced instead, if the part is not unique.
    """

    start: int
    end: int
    new: str
    around: tuple[Range, ...]


def find_edits(text: str, wanted: ast.stmt) -> list[list[str]]:
    """Return (old text, new text) of each edit that turns a text into a definition; nothing if no edits can.

    Each old text occurs in the text once. As in `grader.proof.catalogue.altered`, further lines of a new text are indented like
    the line in which the old one begins.

    Args:
        text: The definition in its file.
        wanted: The wanted definition; docstrings do not count.
    """
    (base,) = ast.parse(text).body
    drop_docstrings(base)
    for brackets in (False, True):  # around what takes the place of an operand, where it needs them
        finder = _EditFinder(text, brackets)
        if not finder.compare(base, wanted, ()) or not finder.found:
            return []
        edits = finder.make_edits()
        try:
            (made,) = ast.parse(apply_edits(text, edits)).body
        except (SyntaxError, ValueError):
            continue
        if dump(drop_docstrings(made)) == dump(wanted):
            return edits
    return []


def apply_edits(text: str, edits: list[list[str]]) -> str:
    """Return a text after edits.

    Raises:
        ValueError: If an old text does not occur exactly once.
    """
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(old)
        line = text[: text.index(old)].rpartition("\n")[2]
        indent = " " * (len(line) - len(line.lstrip()))
        text = text.replace(old, re.sub(r"\n(?=.)", f"\n{indent}", new))
    return text


def drop_docstrings(definition: ast.stmt) -> ast.stmt:
    """Remove the docstrings from a definition, in place, and return it."""
    for node in ast.walk(definition):
        if (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and ast.get_docstring(node, False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return definition


@dataclass
class _EditFinder:
    """Finds what must be replaced in a text.

    Attributes:
        brackets: Whether operations that replace operands get brackets.
        found: The replacements so far.
    """

    text: str
    brackets: bool
    found: list[_Replacement] = field(default_factory=list)

    def __post_init__(self) -> None:
        lines = split_lines(self.text, keepends=True)
        self._lines = lines
        self._begins = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]

    def compare(self, base: Any, wanted: Any, around: tuple[Range, ...], parent: ast.AST | None = None) -> bool:
        """Find the replacements that turn a part of the text into the wanted one; return whether this is possible."""
        if dump(base) == dump(wanted):
            return True
        if isinstance(base, list) and isinstance(wanted, list):
            if is_block([*base, *wanted]):
                return self._compare_blocks(base, wanted, around)
            return len(base) == len(wanted) and all(
                self.compare(*pair, around, parent) for pair in zip(base, wanted, strict=True)
            )
        if not isinstance(base, ast.AST) or not isinstance(wanted, ast.AST):
            return False
        before, own = len(self.found), self._range(base)
        inner = (own, *around) if own else around
        if have_same_fields(base, wanted) and not isinstance(base, ast.JoinedStr):
            fields = base._fields
            if all(self.compare(getattr(base, name), getattr(wanted, name), inner, base) for name in fields):
                return True
            del self.found[before:]
        if own is None or isinstance(base, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        new = self._indent(ast.unparse(ast.fix_missing_locations(wanted)), own[0])
        called = isinstance(parent, ast.Call) and parent.func is base
        if self.brackets and isinstance(wanted, OPERATIONS) and (called or isinstance(parent, BINDING)):
            new = f"({new})"
        self.found.append(_Replacement(*own, new, around))
        return True

    def _compare_blocks(self, base: list[ast.stmt], wanted: list[ast.stmt], around: tuple[Range, ...]) -> bool:
        removed: list[ast.stmt] = []
        added: list[ast.stmt] = []
        previous: ast.stmt | None = None
        for was, now in align(base, wanted):
            if was is not None and now is not None:
                if not (self._exchange(removed, added, previous, was, around) and self.compare(was, now, around)):
                    return False
                removed, added, previous = [], [], was
            else:
                removed += [] if was is None else [was]
                added += [] if now is None else [now]
        return self._exchange(removed, added, previous, None, around)

    def _exchange(
        self,
        removed: list[ast.stmt],
        added: list[ast.stmt],
        previous: ast.stmt | None,
        following: ast.stmt | None,
        around: tuple[Range, ...],
    ) -> bool:
        """Replace statements by others, between two that stay."""
        if not removed and not added:
            return True
        ranges = [self._range(node) for node in removed]
        before, after = (node and self._range(node) for node in (previous, following))
        if any(one is None for one in ranges) or (previous and not before) or (following and not after):
            return False
        new = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in added)
        if ranges and ranges[0] and ranges[-1]:
            start, end = ranges[0][0], ranges[-1][1]
            if not added and after:
                end = after[0]
            elif not added and before:
                start = before[1]
            new = self._indent(new or ("" if after or before else "pass"), start)
            self.found.append(_Replacement(start, end, new, around))
        elif after:
            line = (after[0], self._end_of_line(after[0]))
            self.found.append(
                _Replacement(after[0], after[0], self._indent(f"{new}\n", after[0], True), (line, after, *around))
            )
        elif before:
            new = self._indent(f"\n{new}", before[0])
            self.found.append(_Replacement(before[1], before[1], new, (before, *around)))
        else:
            return False
        return True

    def _range(self, node: ast.AST) -> Range | None:
        """Return the range of a node in the text; None if it has none."""
        if not isinstance(getattr(node, "end_lineno", None), int):
            return None
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        # Columns are counted in bytes.
        start, end = (
            len(self._lines[line].encode()[:column].decode())
            for line, column in ((first, node.col_offset), (last, node.end_col_offset))  # type: ignore[attr-defined]
        )
        return self._begins[first] + start, self._begins[last] + end

    def _indent(self, new: str, start: int, last: bool = False) -> str:
        """Return a text whose further lines are indented like the line that it is inserted into.

        Args:
            last: Whether to indent an empty last line, too, because text follows it.
        """
        line = self.text[self.text.rfind("\n", 0, start) + 1 :]
        indent = line[: len(line) - len(line.lstrip(" "))]
        made = re.sub(r"\n(?=.)", f"\n{indent}", new)
        return made + indent if last else made

    def _end_of_line(self, start: int) -> int:
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end

    def make_edits(self) -> list[list[str]]:
        """Return the replacements as edits with unique old texts; overlapping ones are merged."""
        whole = (0, len(self.text))
        merged: list[Range] = []
        for start, end in sorted(self._widen(one, whole) for one in self.found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return [[self.text[start:end], self._rewrite(start, end)] for start, end in merged]

    def _widen(self, one: _Replacement, whole: Range) -> Range:
        """Return a unique part of the text that contains the replaced part, and is short but readable."""
        choices = [(one.start, one.end), *one.around, *self._list_lines_around(one), whole]
        unique = [
            (start, end)
            for start, end in choices
            if end > start and self.text.count(self.text[start:end]) == 1 and not self._leaves_block(one, start)
        ]
        if not unique:
            return whole
        for start, end in unique:
            if READABLE <= end - start <= MAX_LINE and "\n" not in self.text[start:end]:
                return start, end
        return min(unique, key=lambda chosen: chosen[1] - chosen[0] + MAX_LINE * (chosen[1] - chosen[0] < READABLE))

    def _leaves_block(self, one: _Replacement, start: int) -> bool:
        """Return whether a new line is indented less than the line in which the edit begins, which no edit can express."""
        line = self.text[self.text.rfind("\n", 0, start) + 1 :]
        indent = len(line) - len(line.lstrip(" "))
        return any(len(new) - len(new.lstrip(" ")) < indent for new in one.new.split("\n")[1:] if new.strip())

    def _list_lines_around(self, one: _Replacement) -> Iterator[Range]:
        """Yield the replaced lines, and these with some lines before and after, without the first indentation."""
        first, last = (self.text.count("\n", 0, place) for place in (one.start, one.end))
        for more in range(MOST_LINES):
            for before in range(more + 1):
                begin, end = first - before, last + more - before
                if begin >= 0 and end < len(self._lines):
                    indent = len(self._lines[begin]) - len(self._lines[begin].lstrip())
                    yield min(self._begins[begin] + indent, one.start), self._begins[end] + len(self._lines[end].rstrip("\n"))

    def _rewrite(self, start: int, end: int) -> str:
        """Return the new text for a part, its further lines without the indentation of the first."""
        new, place = "", start
        for one in sorted(self.found, key=lambda one: (one.start, one.end)):
            if start <= one.start and one.end <= end:
                new += self.text[place : one.start] + one.new
                place = one.end
        new += self.text[place:end]
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        indent = len(line) - len(line.lstrip())
        return re.sub(rf"\n {{0,{indent}}}", "\n", new)
