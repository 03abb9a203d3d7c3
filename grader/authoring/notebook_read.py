"""A solution in a notebook, plain or of Otter or nbgrader: its definitions and what they need. Nothing of it runs here."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from grader.assignment import UsageError
from grader.authoring.marks import SUFFIX, list_enclosed
from grader.sandbox.cells import Extract, NotANotebook, extract_definitions, read_code_cells

MAGIC = re.compile(r"^\s*[%!].*")


def read_notebook(content: bytes, path: Path) -> tuple[str, set[int], list[str], Callable[[int], str]]:
    """Return the definitions of a notebook and what they need, and what there is to know of them.

    These are the numbers of the lines that are marked as a solution by lines outside of statements, notes, and a function that
    names the place of a line.

    Raises:
        UsageError: If it cannot be read as a notebook.
    """
    try:
        content, tests = _without_tests(content)
        names = extract_definitions(content, [], "submitted").defined
        found = extract_definitions(content, names, "submitted")
        cells = [(number, text) for number, _, text in read_code_cells(content) if text.strip()]
    except NotANotebook as error:
        raise UsageError(f"{path}: {error}") from error
    notes = [f"left out: {path.name}, {line}" for line in found.left_out]
    if tests:
        notes.append(f"left out: {path.name}, {_name_cells(tests)}: tests")
    kept = {cell: {line for _, number, line in found.lines if number == cell} for _, cell, _ in found.lines}
    if gone := [number for number, _ in cells if number not in kept]:
        notes.append(f"left out: {path.name}, {_name_cells(gone)}: no definition needs it")
    for number, text in cells:
        notes += [f"left out: {path.name}, cell {number}: {line}" for line in _list_idle(text, kept.get(number, set()))]

    def place(line: int) -> str:
        first, cell, at = max((entry for entry in found.lines if entry[0] <= line), default=(line, 0, 1))
        return f"{path.name}, cell {cell}, line {at + line - first}"

    text, enclosed = _restore_marks(found, dict(cells))
    return text, enclosed, notes, place


def _restore_marks(found: Extract, cells: Mapping[int, str]) -> tuple[str, set[int]]:
    """Return an extract with the marks at the ends of its statements, and its lines between marks: it has statements alone."""
    made, enclosed = found.source.splitlines(), set()
    starts = sorted(found.lines)
    for (first, cell, at), after in zip(starts, [*(start for start, _, _ in starts[1:]), len(made) + 2], strict=True):
        lines = cells[cell].splitlines()
        inside = {*list_enclosed(lines)}
        for number, origin in zip(range(first, after - 1), range(at, len(lines) + 1), strict=False):
            mark = SUFFIX.search(lines[origin - 1])
            if mark and not SUFFIX.search(made[number - 1]):
                made[number - 1] += mark[0]
            if origin in inside:
                enclosed.add(number)
    return "\n".join([*made, ""]), enclosed


def _list_idle(text: str, kept: set[int]) -> Iterator[str]:
    """Yield the magics and statements of a cell that are left out, where others are kept: their first lines."""
    lines = text.splitlines()
    yield from (line.strip() for line in lines if kept and MAGIC.match(line))
    try:
        body = ast.parse("\n".join("" if MAGIC.match(line) else line for line in lines)).body
    except SyntaxError:  # it is said of the whole cell
        return
    for node in body:
        first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", []))])
        if kept and first not in kept:
            yield lines[first - 1].strip()


def _name_cells(numbers: list[int]) -> str:
    return f"cell{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _without_tests(content: bytes) -> tuple[bytes, list[int]]:
    """Return a notebook whose test cells are empty, and which these are: nbgrader's, and those between Otter's marks."""
    found, between = [], False
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] == "raw" and (mark := re.match(r"\s*# (BEGIN|END) TESTS", "".join(cell["source"]))):
                between = mark[1] == "BEGIN"
            graded = cell.get("metadata", {}).get("nbgrader", {})
            if cell["cell_type"] == "code" and (between or (graded.get("grade") and not graded.get("solution"))):
                cell["source"] = ""
                found.append(number)
    except (ValueError, KeyError, TypeError, AttributeError):  # extract_definitions says what is wrong with it
        return content, []
    return json.dumps(notebook).encode(), found
