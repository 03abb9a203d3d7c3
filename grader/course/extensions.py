"""The extensions that a policy takes from a CSV file beside it, one student per row."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from pydantic import ValidationError

from grader.assignment import UsageError
from grader.course.handwritten import describe_faults, suggest
from grader.course.policy import Extension, Policy

GRANTS = ("days", "minutes", "until")
COLUMNS = ("student", *GRANTS, "reason")


def parse_extensions(text: str, name: str, policy: Policy) -> Iterator[Extension]:
    """Yield the extensions of a table, in its order.

    Args:
        name: The name of the table, for error messages.
        policy: The policy that names it. Its zone applies to dates; no student may have an extension in both.

    Raises:
        UsageError: Names the line at fault.
    """
    reader = csv.DictReader(
        io.StringIO(text.removeprefix("\ufeff"), newline=""), restkey="", skipinitialspace=True, strict=True
    )
    try:
        columns = [column.strip().lower() for column in reader.fieldnames or ()]
        reader.fieldnames = columns
        known = {"student", "reason"} <= set(columns) <= set(COLUMNS) and not set(GRANTS).isdisjoint(columns)
        if len(set(columns)) < len(columns) or not known:
            found = ", ".join(columns) or "nothing"
            unknown = [column for column in columns if column not in COLUMNS]
            advice = f"; there is no column {unknown[0]!r}; {suggest(unknown[0], COLUMNS)}" if unknown else ""
            advice = "; separate the cells with commas" if ";" in found else advice
            raise UsageError(
                f"{name}, line 1: expected the columns student, reason and days, minutes or until; found {found}{advice}"
            )
        first: dict[str, str] = {one.student.strip().casefold(): "[[extensions]] of the policy" for one in policy.extensions}
        for row in reader:
            where = f"{name}, line {reader.line_num}"
            if "" in row:
                raise UsageError(f"{where}: expected {len(columns)} cells, found more; put a text with a comma in quotes")
            cells = {column: (cell or "").strip() for column, cell in row.items()}
            if not any(cells.values()):
                continue
            student = cells["student"].casefold()
            if student in first:
                raise UsageError(
                    f"{where}: {cells['student']} is also in {first[student]}; keep one extension for each student"
                )
            first[student] = f"line {reader.line_num}"
            yield _read_extension(cells, where, policy)
    except csv.Error as error:
        raise UsageError(f"{name}, line {reader.reader.line_num}: not valid CSV ({error}); is a quote left open?") from error


def _read_extension(cells: Mapping[str, str], where: str, policy: Policy) -> Extension:
    for column in ("student", "reason"):
        if not cells[column]:
            raise UsageError(f"{where}: expected a {column}, found an empty cell")
    granted = [column for column in GRANTS if cells.get(column)]
    if len(granted) != 1:
        raise UsageError(f"{where}: expected exactly one of days, minutes and until, found {' and '.join(granted) or 'none'}")
    (column,) = granted
    value: datetime | int
    if column == "until":
        value = _read_moment(cells[column], where, policy)
    elif cells[column].isdecimal() and len(cells[column]) < 10:
        value = int(cells[column])
    else:
        raise UsageError(f"{where}: expected a whole number of {column}, found {cells[column]!r}")
    try:
        return Extension.model_validate({"student": cells["student"], "reason": cells["reason"], column: value})
    except ValidationError as error:
        raise UsageError(f"{where}: {describe_faults(Extension, error.errors())}") from error


def _read_moment(text: str, where: str, policy: Policy) -> datetime:
    moment: datetime | None = None
    with contextlib.suppress(ValueError):
        moment = datetime.fromisoformat(re.sub("Z$", "+00:00", text))  # Python 3.10 does not read the Z
    if moment is None or len(text) <= len("2026-03-05"):
        raise UsageError(f"{where}: expected a date with a time in until, such as 2026-03-05 12:00, found {text!r}")
    if moment.tzinfo is None and policy.zone is None:
        raise UsageError(f"{where}: write an offset, such as {text}+01:00, or set zone = ... in the policy")
    deadline = policy.deadline()
    try:
        placed = policy.placed(moment).astimezone(timezone.utc)
    except OverflowError as error:
        raise UsageError(f"{where}: until {text} is outside the calendar; write a nearer year") from error
    if deadline and placed < deadline.astimezone(timezone.utc):
        raise UsageError(f"{where}: until {text} is before the deadline, {deadline}")
    return moment
