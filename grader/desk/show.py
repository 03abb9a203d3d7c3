"""The values that failing checks compare, as tables: the case, expected next to got, and a map of the difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.desk.look import FailureInspection, make_console, print_lines
from grader.judge import compare
from grader.judge.compare import format_number
from grader.judge.received import INPUTS_OF_CASE
from grader.judge.student import Comparison
from grader.judge.tables import (
    CUT,
    MAP,
    ComparedPart,
    choose_largest,
    choose_shade,
    compare_arrays,
    describe_array,
    list_parts,
    shorten,
    shrink_map,
)
from grader.report import screen
from grader.report.model import Outcome
from grader.report.text import sanitize

ROWS = 24  # of a table: those that differ most, the first ones if none differs
PARTS = 6  # that are shown in full
NAMES = 8  # of parts that are only named
SHADES = " .:-=+*#%@"
COLORS = [f"color({code})" for code in (236, 230, 229, 222, 221, 215, 209, 203, 197, 160)]  # gray, yellow, red
STRANGE = "?"  # on a map: the difference is NaN or infinite
WRONG = screen.choose_style(Outcome.FAILED)


def show_failure(looks: list[FailureInspection]) -> None:
    """Print the values that the first of these checks compared, and the names of the others (see `find_failing_checks`)."""
    console = make_console()
    first, *others = looks
    first.print_headline(console)
    print_lines(console, f"\n{first.called()}", "bold")
    arguments, rest = first.inputs()
    _print_inputs(console, arguments)
    if rest := {name: value for name, value in rest.items() if not any(_is_same(value, known) for known in arguments.values())}:
        print_lines(console, INPUTS_OF_CASE, "bold")
        _print_inputs(console, rest)
    if first.tried.compared is not None:
        _print_compared(console, first.tried.compared, first.passed)
        if facts := _find_facts(first.tried.said, first.tried.compared):
            print_lines(console, sanitize(facts))
    elif found := first.found():
        print_lines(console, found)
    if first.passed:
        agree = ": in this one, expected and got agree" if first.tried.compared else ""
        print_lines(console, f"\nEvery check that was run passes{agree}.", screen.choose_style(Outcome.PASSED))
    if others:
        print_lines(console, "\nThese checks also fail; add their -k to look at them:", "bold")
    for other in others:
        print_lines(console, f"  ✗ {other.check.title} (-k {other.name})")


def _is_same(one: Any, other: Any) -> bool:
    """Return whether both are arrays with the same numbers, which need only one column."""
    arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.ndim > 0
    return arrays and one.dtype == other.dtype and np.array_equal(one, other)


def _print_inputs(console: Console, inputs: dict[str, Any]) -> None:
    """Print the inputs of a call: arrays with the same number of rows in one table, the rest line by line."""
    tables: dict[int, list[tuple[str, np.ndarray]]] = {}
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) and value.ndim in (1, 2) and value.size:
            tables.setdefault(len(value), []).append((name, value.reshape(len(value), -1)))
        elif isinstance(value, list) and value and all(isinstance(item, np.ndarray) for item in value):
            for index, item in enumerate(value):
                numbers = [*map(format_number, item.ravel()[:6]), *([CUT] if item.size > 6 else [])]
                print_lines(console, f"  {name}[{index}], {describe_array(item)}: {', '.join(numbers)}")
        else:
            print_lines(console, f"  {name} = {shorten(compare.format_value(value))}")
    for size, arrays in tables.items():
        rows = choose_largest(np.zeros(size), ROWS)
        columns = [column for name, array in arrays for column in _columns(name, array, rows)]
        while columns:  # as many columns at a time as fit
            fit = max((end for end in range(1, len(columns) + 1) if _width(columns[:end]) <= console.width), default=1)
            _print_table(console, [str(row) for row in rows], size, rows, columns[:fit])
            del columns[:fit]
    console.print()


Column = tuple[str, list[Text]]  # a title, and a cell for each row


def _columns(name: str, array: np.ndarray, rows: list[int], most: int = 4) -> Iterator[Column]:
    """Yield the first columns of an array."""
    for column in range(min(array.shape[1], most)):
        title = name if array.shape[1] == 1 else f"{name}\n[:, {column}]"
        yield title, [Text(format_number(array[row, column])) for row in rows]
    if array.shape[1] > most:
        yield CUT, [Text(CUT)] * len(rows)


def _width(columns: list[Column]) -> int:
    """Return the approximate width of a table with these columns."""
    return 10 + sum(3 + max(map(len, [*title.split("\n"), *map(str, cells)])) for title, cells in columns)


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)


def _print_table(console: Console, labels: list[str], size: int, rows: list[int], columns: list[Column]) -> None:
    """Print columns with row labels; mark rows that are left out."""
    table = _table()
    table.add_column("row", justify="right", style="dim", no_wrap=True)
    for title, _ in columns:
        table.add_column(Text(sanitize(title)), justify="right", no_wrap=True)
    for at, (label, row) in enumerate(zip(labels, rows, strict=True)):
        if row != (rows[at - 1] + 1 if at else 0):
            table.add_row(Text(CUT))
        table.add_row(label, *(cells[at] for _, cells in columns))
    if rows[-1] != size - 1:
        table.add_row(Text(CUT))
    console.print()
    console.print(Padding(table, (0, 0, 0, 2), expand=False), soft_wrap=False)


def _print_compared(console: Console, compared: Comparison, passed: bool) -> None:
    """Print the parts that differ (all parts, if none differs), and name the others."""
    parts = list_parts(compared)
    agree = [part.path for part in parts if not part.differs]
    chosen = [part for part in parts if part.differs] or parts
    arrays = [part for part in chosen if part.comparable]
    plain = [part for part in chosen if not part.comparable]
    if plain:
        _print_plain(console, plain[:ROWS])
    for part in arrays[:PARTS]:
        _print_array(console, part)
    if left := [part.path for part in [*plain[ROWS:], *arrays[PARTS:]]]:
        print_lines(console, f"{'Also' if passed else 'Also different'}: {_names(left)}")
    if agree and not passed:
        print_lines(console, f"Agree: {_names(agree)}", screen.choose_style(Outcome.PASSED))


def _find_facts(said: str, compared: Comparison) -> str:
    """Return the rest of a failure message: the numbers behind a right or wrong that is compared."""
    differs = compare.difference(compared.forms[0], compared.got, compared.rtol, compared.atol, compared.exact_dtype)
    return said.removeprefix(differs).strip("\n") if differs and said.startswith(differs) else ""


def _names(paths: list[str]) -> str:
    more = f", and {len(paths) - NAMES} more" if len(paths) > NAMES else ""
    return ", ".join(paths[:NAMES]) + more


def _print_plain(console: Console, parts: list[ComparedPart]) -> None:
    """Print a table of values that are not arrays, or that differ in kind or shape."""
    table = _table()
    for title in ("", "expected", "got", "difference"):
        table.add_column(title, overflow="fold")
    for part in parts:
        style = WRONG if part.differs else ""
        one, other = part.describe(part.expected), part.describe(part.got)
        table.add_row(Text(part.path), Text(one), Text(other, style), Text(part.distance(), style))
    console.print(Padding(table, (0, 0, 1, 2), expand=False), soft_wrap=False)


def _print_array(console: Console, part: ComparedPart) -> None:
    """Print two arrays of the same shape next to each other, and a map of the differences, if there are any."""
    arrays = compare_arrays(part)
    expected, got, distance = arrays.expected, arrays.got, arrays.distance
    print_lines(console, f"{part.path}, {describe_array(expected.reshape(arrays.shape))}", "bold")
    if arrays.summary:
        print_lines(console, f"  {arrays.summary}")
    rows = choose_largest(distance.max(axis=1), ROWS)
    width = distance.shape[1]
    for count in range(min(width, MAP[1]), 0, -1):  # as many columns as fit beside each other
        columns = _beside(expected, got, distance, rows, choose_largest(distance.max(axis=0), count))
        if _width(columns) <= console.width:
            break
    if count < width:
        print_lines(console, f"  {count} of its {width} columns{', those that differ most' if part.differs else ''}:")
    _print_table(console, [arrays.label(row) for row in rows], len(distance), rows, columns)
    console.print()
    if part.differs:
        _print_map(console, distance)


def _beside(expected: np.ndarray, got: np.ndarray, distance: np.ndarray, rows: list[int], chosen: list[int]) -> list[Column]:
    """Return the chosen columns of the expected array, then of the received one."""
    columns: list[Column] = []
    for title, array in (("expected", expected), ("got", got)):
        for column in chosen:
            wrong = [title == "got" and distance[row, column] > 0 for row in rows]
            cells = [
                Text(format_number(array[row, column]), WRONG if bad else "") for row, bad in zip(rows, wrong, strict=True)
            ]
            columns.append((title if array.shape[1] == 1 else f"{title}\n[:, {column}]", cells))
    if distance.shape[1] == 1 and distance.any():
        apart = [format_number(each) if np.isfinite(each) and each else "" for each in distance[rows, 0]]
        columns.append(("difference", list(map(Text, apart))))
    return columns


def _print_map(console: Console, distance: np.ndarray) -> None:
    """Print a map of differences: one shade per entry, or per block of entries if there are too many."""
    if distance.shape[1] == 1:
        distance, across, down = distance.T, "rows", ""
    else:
        across, down = "columns", f", rows 0 to {len(distance) - 1} down"
    grid, block = shrink_map(distance)
    finite = distance[np.isfinite(distance)]
    largest = finite.max() if finite.size else 0.0
    colors = console.color_system is not None and not console.no_color
    several = f"\n  each cell shows the largest of {block[0]} x {block[1]} differences" if block != [1, 1] else ""
    print_lines(console, f"  map: {across} 0 to {distance.shape[1] - 1} from left to right{down}{several}")
    for row in grid:
        console.print(Text.assemble("  |", *(_shade(value, largest, colors) for value in row), "|"))
    strange = Text.assemble("   ", _shade(np.inf, 1.0, colors), " NaN or infinite") if np.isinf(distance).any() else Text()
    scale = (_shade(largest * level / (len(SHADES) - 1), largest, colors) for level in range(len(SHADES)))
    console.print(Text.assemble("  agrees |", *scale, f"| {format_number(largest)}", strange))
    console.print()


def _shade(value: float, largest: float, colors: bool) -> tuple[str, str]:
    """Return one character of a map, with its style."""
    level = choose_shade(value, largest)
    if level is None:
        return STRANGE * 2, "bold white on magenta" if colors else ""
    return ("  ", f"on {COLORS[level]}") if colors else (SHADES[level] * 2, "")
