"""The parts of a comparison, place by place, and those that differ as tables for a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from grader.judge.compare import difference, format_number, format_value, is_number, name_kind
from grader.judge.student import MAX_VALUE, Comparison
from grader.report.model import ValueTable
from grader.report.text import sanitize

CUT = "[...]"
MAX_PARTS = 2000  # that are looked at: a submission may return as many as the wire takes
MAX_TABLES = 4  # of a check in a report
MAX_ROWS, MAX_COLUMNS = 16, 6  # of a table in a report; those that differ most
MAX_POINTS = 64  # of a curve in a report
MAP = (16, 32)  # rows and columns of a map at most; what is more shares a cell
SHADES = 10  # of a map, of which the first means that both agree
ABSENT = object()


@dataclass(frozen=True)
class ComparedPart:
    """Two values at the same place of what is expected and what was got."""

    path: str
    expected: Any
    got: Any
    differs: bool
    how: Comparison

    @property
    def comparable(self) -> bool:
        """Whether both sides are arrays, or both lists, that can be compared number by number."""
        one, other = as_array(self.expected), as_array(self.got)
        if one is None or other is None or one.shape != other.shape:
            return False
        if isinstance(self.expected, (list, tuple)) or not self.differs:
            return isinstance(self.got, np.ndarray) == isinstance(self.expected, np.ndarray)
        # Only values that differ take several lines; where kind or dtype does, there is nothing to see in the numbers.
        return "\n" in str(_differ(self.expected, self.got, self.how))

    def describe(self, value: Any) -> str:
        """Return one of the two values as text: kind and shape where they differ, else the value."""
        if value is ABSENT:
            return "(nothing)"
        other = self.got if value is self.expected else self.expected
        if isinstance(value, np.ndarray):
            alike = type(value) is type(other) and value.shape == other.shape and value.dtype == other.dtype
            return shorten(format_value(value)) if alike else f"{name_kind(value)}, {describe_array(value)}"
        if value is None and isinstance(other, np.ndarray):
            return "None: is a `return` missing?"
        if is_number(value) and is_number(other) and self.differs and format_number(value) == format_number(other):
            return f"{type(value).__name__} {value!r}"  # of 2 and 2.0
        if isinstance(value, (list, tuple)) and isinstance(other, (list, tuple)) and len(value) != len(other):
            return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}: {shorten(format_value(value))}"
        return shorten(format_value(value))

    def distance(self) -> str:
        """Return how far two numbers are apart, or nothing."""
        both = (self.expected, self.got)
        numbers = [value.item() if isinstance(value, np.ndarray) and value.size == 1 else value for value in both]
        return (
            format_number(abs(float(numbers[1]) - float(numbers[0]))) if self.differs and all(map(is_number, numbers)) else ""
        )


def list_parts(compared: Comparison) -> list[ComparedPart]:
    """Return the values of both sides place by place, for the form that differs at the fewest places."""
    forms = [list(islice(_list_parts(form, compared.got, compared), MAX_PARTS)) for form in compared.forms]
    return min(forms, key=lambda form: sum(part.differs for part in form))


@dataclass(frozen=True)
class ComparedArrays:
    """Two arrays of one shape as rows and columns: a vector is one column, and more dimensions are rows of the last one.

    Attributes:
        distance: How far they are apart; 0 where they agree, infinity where the difference is not a number.
        labels: The place of a row in the array, without the last dimension.
        summary: A line on how many numbers differ, and where most; empty if none does.
    """

    expected: np.ndarray
    got: np.ndarray
    distance: np.ndarray
    shape: tuple[int, ...]
    summary: str

    def label(self, row: int) -> str:
        leading = self.shape[:-1] if len(self.shape) > 1 else self.shape
        return ", ".join(map(str, map(int, np.unravel_index(row, leading))))


def compare_arrays(part: ComparedPart) -> ComparedArrays:
    """Return the two arrays of a comparable part beside each other."""
    expected, got = np.asarray(as_array(part.expected)), np.asarray(as_array(part.got))
    shape = expected.shape
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.isclose(got, expected, rtol=part.how.rtol, atol=part.how.atol)
        distance = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    distance = np.where(close, 0.0, np.where(np.isnan(distance), np.inf, distance))
    summary = ""
    if part.differs:
        place = np.unravel_index(int(distance.argmax()), shape)
        apart = f", difference {format_number(distance[place])}" if np.isfinite(distance[place]) else ""
        largest = f"{list(map(int, place))}: expected {format_number(expected[place])}, got {format_number(got[place])}{apart}"
        summary = f"{(~close).sum()} of {close.size} differ; largest difference at {largest}"
    flat = (-1, shape[-1] if len(shape) > 1 else 1)
    return ComparedArrays(expected.reshape(flat), got.reshape(flat), distance.reshape(flat), shape, summary)


def choose_largest(distance: np.ndarray, most: int) -> list[int]:
    """Return the places of the largest values in order, the first ones where they are equal."""
    return sorted(np.argsort(-distance, kind="stable")[:most].tolist())


def shrink_map(distance: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return distances in at most MAP cells, each the largest of a block, and the block's rows and columns."""
    block = [-(-size // most) for size, most in zip(distance.shape, MAP, strict=True)]
    grid = np.pad(distance, [(0, -size % each) for size, each in zip(distance.shape, block, strict=True)])
    return grid.reshape(len(grid) // block[0], block[0], -1, block[1]).max(axis=(1, 3)), block


def choose_shade(value: float, largest: float) -> int | None:
    """Return the shade of a distance on a map, from 0 for none to 9 for the largest; None for an infinite one."""
    if np.isinf(value):
        return None
    # Whatever differs at all is seen.
    return max(round((SHADES - 1) * value / largest), 1) if value else 0


def make_tables(compared: Comparison) -> tuple[ValueTable, ...]:
    """Return tables of the parts that differ; nothing if none does, or if they cannot be shown: tables decide nothing."""
    try:
        parts = [part for part in list_parts(compared) if part.differs]
        plain = [part for part in parts if not part.comparable]
        arrays = [part for part in parts if part.comparable]
        tables = [_tabulate_values(plain[:MAX_ROWS])] if plain else []
        return (*tables, *map(_tabulate_array, arrays[: MAX_TABLES - len(tables)]))
    except Exception:  # the values come from the submission's process: whatever form they have, the message is there
        return ()


def _tabulate_values(parts: list[ComparedPart]) -> ValueTable:
    return ValueTable(
        rows=tuple(shorten(part.path, 100) for part in parts),
        expected=tuple((part.describe(part.expected),) for part in parts),
        got=tuple((part.describe(part.got),) for part in parts),
        differs=((True,),) * len(parts),
    )


def _tabulate_array(part: ComparedPart) -> ValueTable:
    arrays = compare_arrays(part)
    size = arrays.distance.shape
    rows = choose_largest(arrays.distance.max(axis=1), MAX_ROWS)
    columns = choose_largest(arrays.distance.max(axis=0), MAX_COLUMNS)

    def cells(array: np.ndarray) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(format_number(array[row, column]) for column in columns) for row in rows)

    left_out = [
        f"{len(chosen)} of {whole} {what}"
        for chosen, whole, what in ((rows, size[0], "rows"), (columns, size[1], "columns"))
        if len(chosen) < whole
    ]
    return ValueTable(
        name=shorten(part.path, 100),
        kind=describe_array(np.asarray(as_array(part.expected))),
        summary=arrays.summary,
        left_out=f"{' and '.join(left_out)}, those that differ most" if left_out else "",
        rows=tuple(map(arrays.label, rows)),
        columns=tuple(f"[:, {column}]" for column in columns) if size[1] > 1 else (),
        expected=cells(arrays.expected),
        got=cells(arrays.got),
        differs=tuple(tuple(bool(arrays.distance[row, column]) for column in columns) for row in rows),
        curves=() if size[1] > 1 else (_sample(arrays.expected), _sample(arrays.got)),
        map=_draw_map(arrays.distance) if size[1] > 1 else (),
    )


def _sample(column: np.ndarray) -> tuple[float | None, ...]:
    """Return at most MAX_POINTS of the numbers of a column, evenly spaced; None for what no curve can show."""
    places = np.linspace(0, len(column) - 1, min(len(column), MAX_POINTS)).round().astype(int)
    return tuple(round(float(value), 6) if abs(value) <= MAX_VALUE else None for value in column[places, 0].astype(np.float64))


def _draw_map(distance: np.ndarray) -> tuple[str, ...]:
    """Return a map of distances: a digit for each cell, its shade, or `?` where the distance is not a number."""
    grid, _ = shrink_map(distance)
    finite = distance[np.isfinite(distance)]
    largest = float(finite.max()) if finite.size else 0.0
    shades = [[choose_shade(value, largest) for value in row] for row in grid]
    return tuple("".join("?" if shade is None else str(shade) for shade in row) for row in shades)


def as_array(value: Any) -> np.ndarray | None:
    """Return an array, or a list of numbers as an array; None for anything else, and for what has not even two numbers."""
    if isinstance(value, (list, tuple)) and all(is_number(item) for item in value):
        value = np.array(value)
    return value if isinstance(value, np.ndarray) and value.ndim and value.size > 1 and value.dtype.kind in "fiub" else None


def describe_array(array: np.ndarray) -> str:
    """Return dtype and shape."""
    return f"{array.dtype} {list(array.shape)}"


def shorten(text: str, most: int = 300) -> str:
    """Return text fit to be shown, cut to a length."""
    text = sanitize(text)
    return text if len(text) <= most else f"{text[:most]} {CUT}"


def _differ(expected: Any, got: Any, how: Comparison) -> str | None:
    return difference(expected, got, how.rtol, how.atol, how.exact_dtype)


def _list_parts(expected: Any, got: Any, how: Comparison, path: str = "") -> Iterator[ComparedPart]:
    """Yield the parts of two trees, place by place."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            below = sanitize(f"{path}, {key}" if path else str(key))
            yield from _list_parts(expected.get(key, ABSENT), got.get(key, ABSENT), how, below)
    elif (
        isinstance(expected, (list, tuple))
        and isinstance(got, (list, tuple))
        and len(expected) == len(got) > 0
        and not (as_array(expected) is not None and as_array(got) is not None)
    ):
        for index, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from _list_parts(one, other, how, f"{path}[{index}]")
    else:
        differs = expected is ABSENT or got is ABSENT or _differ(expected, got, how) is not None
        yield ComparedPart(path or "result", expected, got, differs, how)
