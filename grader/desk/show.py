"""What the failing checks of a question compare, as tables: the case, and expected beside got, with a map of the difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.desk.look import FailureInspection, make_console, print_lines
from grader.judge import compare
from grader.judge.compare import difference, format_number, is_number
from grader.judge.student import Comparison
from grader.report import screen
from grader.report.model import Outcome
from grader.report.text import sanitize

CUT = "[...]"
ROWS = 24  # of a table: those that differ most, the first ones if none differs
PARTS = 6  # that are shown in full
NAMES = 8  # of parts that are only named
MAP = (16, 32)  # rows and columns of a map at most; what is more shares a cell
SHADES = " .:-=+*#%@"
COLOURS = [f"color({code})" for code in (236, 230, 229, 222, 221, 215, 209, 203, 197, 160)]  # grey, yellow, red
STRANGE = "?"  # on a map: the difference is NaN or infinite
ABSENT = object()
WRONG = screen.choose_style(Outcome.FAILED)


@dataclass(frozen=True)
class ComparedPart:
    """Two values at the same place of what is expected and what was got."""

    path: str
    expected: Any
    got: Any
    differs: bool


def show_failure(looks: list[FailureInspection]) -> None:
    """Print what the first of these checks compared, and the names of the others (see `find_failing_checks`)."""
    console = make_console()
    first, *others = looks
    first.print_headline(console)
    print_lines(console, f"\n{first.called()}", "bold")
    _print_inputs(console, first.inputs())
    if first.tried.compared is not None:
        _print_compared(console, first.tried.compared, first.passed)
    elif found := first.found():
        print_lines(console, found)
    if first.passed:
        agree = ": in this one, expected and got agree" if first.tried.compared else ""
        print_lines(console, f"\nEvery check that was run passes{agree}.", screen.choose_style(Outcome.PASSED))
    if others:
        print_lines(console, "\nThese checks also fail; add their -k to look at them:", "bold")
    for other in others:
        print_lines(console, f"  ✗ {other.check.title} (-k {other.name})")


def _print_inputs(console: Console, inputs: dict[str, Any]) -> None:
    """Print the inputs of a call: arrays with as many rows in one table, the rest line by line."""
    tables: dict[int, list[tuple[str, np.ndarray]]] = {}
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) and value.ndim in (1, 2) and value.size:
            tables.setdefault(len(value), []).append((name, value.reshape(len(value), -1)))
        elif isinstance(value, list) and value and all(isinstance(item, np.ndarray) for item in value):
            for index, item in enumerate(value):
                numbers = [*map(format_number, item.ravel()[:6]), *([CUT] if item.size > 6 else [])]
                print_lines(console, f"  {name}[{index}], {_kind(item)}: {', '.join(numbers)}")
        else:
            print_lines(console, f"  {name} = {_cell(compare.format_value(value))}")
    for size, arrays in tables.items():
        rows = _most(np.zeros(size), ROWS)
        columns = [column for name, array in arrays for column in _columns(name, array, rows)]
        while columns:  # as many at a time as fit
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
    """Return about how wide a table with these columns is."""
    return 10 + sum(3 + max(map(len, [*title.split("\n"), *map(str, cells)])) for title, cells in columns)


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)


def _print_table(console: Console, labels: list[str], size: int, rows: list[int], columns: list[Column]) -> None:
    """Print columns beside the labels of their rows; mark where rows are left out."""
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
    """Print the parts that differ, or if none does all of them; and name the others."""
    forms = [list(_parts(form, compared.got, compared)) for form in compared.forms]
    parts = min(forms, key=lambda form: sum(part.differs for part in form))
    agree = [part.path for part in parts if not part.differs]
    chosen = [part for part in parts if part.differs] or parts
    arrays = [part for part in chosen if _comparable(part, compared)]
    plain = [part for part in chosen if not _comparable(part, compared)]
    if plain:
        _print_plain(console, plain[:ROWS])
    for part in arrays[:PARTS]:
        _print_array(console, part, compared)
    if left := [part.path for part in [*plain[ROWS:], *arrays[PARTS:]]]:
        print_lines(console, f"{'Also' if passed else 'These differ as well'}: {_names(left)}")
    if agree and not passed:
        print_lines(console, f"Agree: {_names(agree)}", screen.choose_style(Outcome.PASSED))


def _names(paths: list[str]) -> str:
    more = f", and {len(paths) - NAMES} more" if len(paths) > NAMES else ""
    return ", ".join(paths[:NAMES]) + more


def _parts(expected: Any, got: Any, how: Comparison, path: str = "") -> Iterator[ComparedPart]:
    """Yield the parts of two trees, place by place."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            below = sanitize(f"{path}, {key}" if path else str(key))
            yield from _parts(expected.get(key, ABSENT), got.get(key, ABSENT), how, below)
    elif (
        isinstance(expected, (list, tuple))
        and isinstance(got, (list, tuple))
        and len(expected) == len(got) > 0
        and not (_array(expected) is not None and _array(got) is not None)
    ):
        for index, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from _parts(one, other, how, f"{path}[{index}]")
    else:
        absent = expected is ABSENT or got is ABSENT
        differs = absent or difference(expected, got, how.rtol, how.atol, how.exact_dtype) is not None
        yield ComparedPart(path or "result", expected, got, differs)


def _array(value: Any) -> np.ndarray | None:
    """Return an array, or a list of numbers as an array; None for anything else, and for what has not even two numbers."""
    if isinstance(value, (list, tuple)) and all(is_number(item) for item in value):
        value = np.array(value)
    return value if isinstance(value, np.ndarray) and value.ndim and value.size > 1 and value.dtype.kind in "fiub" else None


def _comparable(part: ComparedPart, how: Comparison) -> bool:
    """Return whether both sides are arrays, or both lists, that can be compared number by number."""
    one, other = _array(part.expected), _array(part.got)
    if one is None or other is None or one.shape != other.shape:
        return False
    if isinstance(part.expected, (list, tuple)) or not part.differs:
        return isinstance(part.got, np.ndarray) == isinstance(part.expected, np.ndarray)
    # Only values that differ take several lines; where kind or dtype does, there is nothing to see in the numbers.
    return "\n" in str(difference(part.expected, part.got, how.rtol, how.atol, how.exact_dtype))


def _print_plain(console: Console, parts: list[ComparedPart]) -> None:
    """Print a table of values that are one number, text and the like, or that are not even alike in kind or shape."""
    table = _table()
    for title in ("", "expected", "got", "difference"):
        table.add_column(title, overflow="fold")
    for part in parts:
        style = WRONG if part.differs else ""
        one, other = (_describe(value, part) for value in (part.expected, part.got))
        table.add_row(Text(part.path), Text(one), Text(other, style), Text(_distance(part), style))
    console.print(Padding(table, (0, 0, 1, 2), expand=False), soft_wrap=False)


def _describe(value: Any, part: ComparedPart) -> str:
    """Return a value of a part as text: kind and shape where they differ, else the value."""
    if value is ABSENT:
        return "(nothing)"
    other = part.got if value is part.expected else part.expected
    if isinstance(value, np.ndarray):
        alike = type(value) is type(other) and value.shape == other.shape and value.dtype == other.dtype
        return _cell(compare.format_value(value)) if alike else f"{compare.name_kind(value)}, {_kind(value)}"
    if value is None and isinstance(other, np.ndarray):
        return "None: is a `return` missing?"
    if is_number(value) and is_number(other) and part.differs and format_number(value) == format_number(other):
        return f"{type(value).__name__} {value!r}"  # of 2 and 2.0
    if isinstance(value, (list, tuple)) and isinstance(other, (list, tuple)) and len(value) != len(other):
        return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}: {_cell(compare.format_value(value))}"
    return _cell(compare.format_value(value))


def _kind(array: np.ndarray) -> str:
    return f"{array.dtype} {list(array.shape)}"


def _cell(text: str, most: int = 300) -> str:
    text = sanitize(text)
    return text if len(text) <= most else f"{text[:most]} {CUT}"


def _distance(part: ComparedPart) -> str:
    """Return how far two numbers are apart, or nothing."""
    numbers = [
        value.item() if isinstance(value, np.ndarray) and value.size == 1 else value for value in (part.expected, part.got)
    ]
    return format_number(abs(float(numbers[1]) - float(numbers[0]))) if part.differs and all(map(is_number, numbers)) else ""


def _print_array(console: Console, part: ComparedPart, how: Comparison) -> None:
    """Print two arrays of one shape beside each other, and a map of where they differ, if they do."""
    expected, got = np.asarray(_array(part.expected)), np.asarray(_array(part.got))
    shape = expected.shape
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.isclose(got, expected, rtol=how.rtol, atol=how.atol)
        distance = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    distance = np.where(close, 0.0, np.where(np.isnan(distance), np.inf, distance))
    print_lines(console, f"{part.path}, {_kind(expected)}", "bold")
    if part.differs:
        place = np.unravel_index(int(distance.argmax()), shape)
        apart = f", difference {format_number(distance[place])}" if np.isfinite(distance[place]) else ""
        largest = f"{list(map(int, place))}: expected {format_number(expected[place])}, got {format_number(got[place])}{apart}"
        print_lines(console, f"  {(~close).sum()} of {close.size} differ; largest difference at {largest}")
    # A vector is one column; what has more than two dimensions is shown as rows of its last one.
    flat = (-1, shape[-1] if len(shape) > 1 else 1)
    expected, got, distance = expected.reshape(flat), got.reshape(flat), distance.reshape(flat)
    leading = shape[:-1] if len(shape) > 1 else shape
    rows = _most(distance.max(axis=1), ROWS)
    labels = [", ".join(map(str, map(int, np.unravel_index(row, leading)))) for row in rows]
    for count in range(min(flat[1], MAP[1]), 0, -1):  # as many columns as fit beside each other
        columns = _beside(expected, got, distance, rows, _most(distance.max(axis=0), count))
        if _width(columns) <= console.width:
            break
    if count < flat[1]:
        print_lines(console, f"  {count} of its {flat[1]} columns{', those that differ most' if part.differs else ''}:")
    _print_table(console, labels, len(distance), rows, columns)
    console.print()
    if part.differs:
        _print_map(console, distance)


def _beside(expected: np.ndarray, got: np.ndarray, distance: np.ndarray, rows: list[int], chosen: list[int]) -> list[Column]:
    """Return the chosen columns of what was expected, and beside them those of what was got."""
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


def _most(distance: np.ndarray, most: int) -> list[int]:
    """Return the places of the largest values in order, the first ones where they are equal."""
    return sorted(np.argsort(-distance, kind="stable")[:most].tolist())


def _print_map(console: Console, distance: np.ndarray) -> None:
    """Print a map of differences: a shade for each place or, where they are too many, for the largest of several."""
    if distance.shape[1] == 1:
        distance, across, down = distance.T, "rows", ""
    else:
        across, down = "columns", f", rows 0 to {len(distance) - 1} down"
    block = [-(-size // most) for size, most in zip(distance.shape, MAP, strict=True)]
    grid = np.pad(distance, [(0, -size % each) for size, each in zip(distance.shape, block, strict=True)])
    grid = grid.reshape(len(grid) // block[0], block[0], -1, block[1]).max(axis=(1, 3))
    finite = distance[np.isfinite(distance)]
    largest = finite.max() if finite.size else 0.0
    colours = console.color_system is not None and not console.no_color
    several = f", a cell is the largest of {block[0]} x {block[1]}" if block != [1, 1] else ""
    print_lines(console, f"  map: {across} 0 to {distance.shape[1] - 1} from left to right{down}{several}")
    for row in grid:
        console.print(Text.assemble("  |", *(_shade(value, largest, colours) for value in row), "|"))
    strange = Text.assemble("   ", _shade(np.inf, 1.0, colours), " NaN or infinite") if np.isinf(distance).any() else Text()
    scale = (_shade(largest * level / (len(SHADES) - 1), largest, colours) for level in range(len(SHADES)))
    console.print(Text.assemble("  agrees |", *scale, f"| {format_number(largest)}", strange))
    console.print()


def _shade(value: float, largest: float, colours: bool) -> tuple[str, str]:
    """Return a cell of a map and its style."""
    if np.isinf(value):
        return STRANGE * 2, "bold white on magenta" if colours else ""
    # Whatever differs at all is seen.
    level = max(round((len(SHADES) - 1) * value / largest), 1) if value else 0
    return ("  ", f"on {COLOURS[level]}") if colours else (SHADES[level] * 2, "")
