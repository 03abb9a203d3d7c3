"""The cells of a notebook's session: where the graded definitions in them come from, and what in them cannot be graded.

Only their text is searched. The sandbox decides whether it is Python, and what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.assignment import Question, UsageError
from grader.judge.origin import NotebookOrigin
from grader.judge.run import PreparedSubmission
from grader.report.model import Report
from grader.sandbox.definitions import hash_definition

CLASS = re.compile(r"(?<=indented inside the class )\w+(?=\?)")  # in the explanation of an AttributeError
CELL = re.compile(r"cell (\d+)(?: \(In \[\d+\]\))?")
# A function or class at the left margin, with its body: up to the next line there that continues nothing.
DEFINITION = re.compile(r"^(?:async\s+def|def|class)\s+(?P<name>\w+)\b.*(?:\n(?:[ \t#)\]].*)?)*", re.MULTILINE)


@dataclass(frozen=True)
class SessionOrigin(NotebookOrigin):
    """Where the statements of a graded session come from: a cell that was run, or the file next to the notebook.

    Attributes:
        numbers: For each cell, its execution count; None for that file.
    """

    numbers: list[int | None] = field(default_factory=list)

    def _frame(self, frame: dict[str, Any]) -> dict[str, Any]:
        placed = super()._frame(frame)
        number = self.numbers[placed["cell"] - 1] if "cell" in placed else None
        return {key: value for key, value in placed.items() if key != "cell"} | ({} if number is None else {"cell": number})


def refuse_subclasses(cells: Iterable[tuple[int, str]], functions: Iterable[str], file: str) -> None:
    """Refuse a last definition of a graded class that adds methods to another class of its name: its base is not graded.

    Args:
        cells: Number and source of each cell, in order.
        functions: What questions are about: functions, classes and methods.
        file: The name of the saved file.

    Raises:
        UsageError: If there is such a definition.
    """
    for name in (name for name in functions if "." not in name):
        defining = re.compile(rf"^class\s+{re.escape(name)}\b\s*(?:\(([^)]*)\))?", re.MULTILINE)
        found = [(number, match[1] or "") for number, text in cells for match in defining.finditer(text)]
        renamed = {match[1] for _, text in cells for match in re.finditer(rf"\b{re.escape(name)}\s+as\s+(\w+)", text)}
        if found and {base.strip().rpartition(".")[2] for base in found[-1][1].split(",")} & {name, *renamed}:
            raise UsageError(
                f"In [{found[-1][0]}] defines {name} as a subclass of another {name}. A cell is graded only with the whole "
                f"class in it: copy the class from {file} into the cell and change it there, or write the method in "
                f"{file}, save it and use %grade"
            )


def find_bare_methods(cells: Sequence[tuple[int, str]], asked: Iterable[Question]) -> list[str]:
    """Return a remark if the newest cell defines a method of a graded class outside of it."""
    number, text = cells[-1] if cells else (0, "")
    for owner, method in (question.id.split(".") for question in asked if question.id.count(".") == 1):
        if re.search(rf"^def\s+{re.escape(method)}\s*\(\s*self\b", text, re.MULTILINE):
            return [
                f"In [{number}] defines {method} outside a class, so it was not graded: define the whole class {owner} there."
            ]
    return []


def find_redefined(cells: Iterable[tuple[int, str]], helpers: Mapping[str, str], file: str) -> list[str]:
    """Return remarks on cells that define a helper of the saved file otherwise, where the file alone is graded.

    Args:
        cells: Number and source of each cell, in order.
        helpers: The fingerprint of each function and class in the file that no question is about.
        file: The name of the saved file.
    """
    last: dict[str, tuple[int, str]] = {}
    for number, text in cells:
        for match in DEFINITION.finditer(text):
            last[match["name"]] = number, hash_definition(match[0].splitlines())
    return [
        f"In [{last[name][0]}] redefines {name}, but the one in {file} was graded: change it there and save, or also define "
        "the function that the question is about in a cell."
        for name, mark in helpers.items()
        if name in last and last[name][1] != mark
    ]


def describe_replaced(replaced: Mapping[str, int], file: str) -> list[str]:
    """Return a line on definitions in cells that are older than those of the saved file, which were graded.

    Args:
        replaced: For each definition, the last cell that had it.
        file: The name of the saved file.
    """
    if not replaced:
        return []
    cells = [f"In [{number}]" for number in sorted({*replaced.values()})]
    again = "run that cell" if len(cells) == 1 else "run these cells"
    its = "its definition" if len(replaced) == 1 else "their definitions" if len(cells) > 1 else "its definitions"
    return [
        f"Graded: {', '.join(replaced)} from {file}, which you saved after running {' and '.join(cells)}; {again} again to "
        f"grade {its}."
    ]


def name_cells(staged: PreparedSubmission, numbers: list[int | None], file: str) -> PreparedSubmission:
    """Return a submission whose cells have the kernel's numbers, and whose first cell has the name of the saved file."""

    def named(words: str) -> str:
        return CELL.sub(lambda found: _name_cell(numbers, int(found[1]), file), words)

    origin = staged.origin and SessionOrigin(staged.origin.lines, numbers)
    cells = {name: named(words) for name, words in staged.cells.items()}
    remarks = tuple(named(remark) for remark in staged.remarks)
    return replace(staged, origin=origin, cells=cells, remarks=remarks)


def name_classes(report: Report, places: Mapping[str, str]) -> None:
    """Add to questions about the methods of a class where it was graded from: a cell, or the saved file.

    Args:
        places: Where each definition is, in words.
    """

    def place(name: re.Match[str]) -> str:
        return f"{name[0]} of {places[name[0]]}" if name[0] in places else name[0]

    for check in report.checks:
        check.message = CLASS.sub(place, check.message)


def _name_cell(numbers: list[int | None], at: int, file: str) -> str:
    number = numbers[at - 1] if 0 < at <= len(numbers) else at
    return file if number is None else f"In [{number}]"
