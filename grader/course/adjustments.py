"""What staff give, take and write by hand, question by question, in a CSV file; docs/adjustments.md explains it.

The file is one of the inputs of scores, like the policy: an adjustment stays in force whatever is graded again.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from grader.assignment import UsageError
from grader.course.handwritten import suggest
from grader.course.policy import read_policy_text
from grader.course.results import Course
from grader.report.text import sanitize

NAME = "adjustments.csv"  # in the folder of a class
COLUMNS = ("student", "question", "points", "comment", "rubric", "request", "answer")
REQUIRED = ("student", "question")
EMPTY = tuple(f"({column})" for column in COLUMNS)  # what a cell says in a line to copy; left as it is, the cell is empty
EXPECTED = f"a CSV file with the columns {','.join(COLUMNS)}, see docs/adjustments.md"
MOST_FAULTS = 5  # that one message lists
MOST_TEXT = 4_000  # characters of a comment, a request or an answer
# A quote in front keeps a spreadsheet from computing what follows; a spreadsheet writes a minus in more than one way.
POINTS = re.compile(r"'?\s*(?P<sign>[-+=−])\s*(?P<number>\d{1,6}(\.\d{1,6})?)")


class PointsChange(NamedTuple):
    """What happens to the points of a question.

    Attributes:
        value: The points to add; negative to take some away.
        absolute: Whether `value` replaces the points.
    """

    value: Decimal
    absolute: bool

    def __str__(self) -> str:
        return f"set to {self.value:f}" if self.absolute else f"{self.value:+f}"


def _read_points(value: Any) -> Any:
    if isinstance(value, str):
        if not value.strip():
            return None
        if not (found := POINTS.fullmatch(value.strip())):
            raise ValueError(
                f"expected points to add (+2), to take (-1.5) or to set (=8), found {value[:40]!r}; "
                "a spreadsheet drops + and =, so write '+2 or '=8 there"
            )
        number = Decimal(found["number"])
        return PointsChange(-number if found["sign"] in "-−" else number, found["sign"] == "=")
    return value


Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=MOST_TEXT), AfterValidator(sanitize)]  # a request may be a student's own words


class QuestionAdjustment(BaseModel):
    """One row of the file.

    Attributes:
        line: Where the row begins in the file.
        student: Email or sid; or the id of a submission, then for all who submitted it together.
        points: In points of the assignment, before any weight; None where they stay.
        rubric: The item of the rubric that it goes by.
        request: What the student asked for.
        answer: What the staff replied.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    line: int
    student: Name
    question: Name
    points: Annotated[PointsChange | None, BeforeValidator(_read_points)] = None
    comment: Text = ""
    rubric: Annotated[str, Field(max_length=200)] = ""
    request: Text = ""
    answer: Text = ""

    @model_validator(mode="after")
    def _says_something(self) -> QuestionAdjustment:
        if self.points is not None and not self.reason:
            raise ValueError("expected a comment, a rubric item or an answer with the points: the student reads why")
        if self.points is not None and self.comment.isdecimal():
            raise ValueError(
                f"found the points {self.points} with the comment {self.comment!r}; if this is one number, "
                "write it with a decimal point, such as +1.5; otherwise, explain the points in words"
            )
        if not (self.reason or self.request):
            raise ValueError("expected points, a comment, a rubric item, a request or an answer, found none of them")
        return self

    @property
    def reason(self) -> str:
        """Return why points are given or taken, for the student to read."""
        return ": ".join(filter(None, (self.rubric, self.comment or self.answer)))

    @property
    def is_open(self) -> bool:
        """Return whether a request waits for an answer."""
        return bool(self.request and not self.answer)


class AppliedChange(NamedTuple):
    """What a row does to the points of its question.

    Attributes:
        row: The row.
        points: The weighted points that it adds.
        limit: Why it does not change the points as much as it says; "" if it does.
    """

    row: QuestionAdjustment
    points: Fraction
    limit: str


def read_adjustments_text(path: Path) -> str:
    """Return the file's text, to the byte.

    Raises:
        UsageError: If the file cannot be read.
    """
    return read_policy_text(path, EXPECTED)


def parse_adjustments(text: str, name: str) -> tuple[QuestionAdjustment, ...]:
    """Return the rows of a file, in its order.

    Args:
        text: The content of the file; a file without any line has no rows.
        name: The name of the file, for error messages.

    Raises:
        UsageError: Names the lines and columns at fault.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    rows: list[QuestionAdjustment] = []
    faults: list[str] = []
    columns: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            began, line = line, reader.line_num + 1
            if not any(map(str.strip, cells)):
                continue
            if columns is None:
                columns = _read_header(cells, f"{name}: line {began}")
                continue
            try:
                rows.append(_read_row(dict(zip(columns, cells, strict=False)), len(cells) - len(columns), began))
            except ValidationError as error:
                faults += [_describe_fault(fault, began) for fault in error.errors(include_url=False)]
            except ValueError as error:
                faults.append(f"line {began}: {error}")
    except csv.Error as error:
        raise UsageError(f"{name}: line {reader.line_num}: not valid CSV ({error}); is a quote left open?") from error
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise UsageError(f"{name}: {'; '.join(faults[:MOST_FAULTS])}{more}")
    return tuple(rows)


def _read_header(cells: Sequence[str], where: str) -> list[str]:
    columns = [cell.strip().casefold() for cell in cells]
    unknown = [column for column in columns if column not in COLUMNS]
    missing = [column for column in REQUIRED if column not in columns]
    if unknown or missing or len(set(columns)) < len(columns):
        found = ",".join(cells)[:200]
        advice = f"; there is no column {unknown[0]!r}; {suggest(unknown[0], COLUMNS)}" if unknown else ""
        advice = "; separate the cells with commas" if ";" in found else advice
        raise UsageError(f"{where}: expected the columns {','.join(COLUMNS)}, found {found!r}{advice}")
    return columns


def _read_row(cells: dict[str, str], excess: int, line: int) -> QuestionAdjustment:
    if excess > 0:
        raise ValueError(f"expected {len(cells)} cells, found {len(cells) + excess}; put a text with commas in quotes")
    filled = {column: "" if cell.strip() == f"({column})" else cell for column, cell in cells.items()}
    return QuestionAdjustment.model_validate({"line": line} | filled)


def _describe_fault(fault: Any, line: int) -> str:
    what = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "string_too_short":
        what = "expected a name, found nothing"
    elif fault["type"] == "string_too_long":
        what = f"expected at most {fault['ctx']['max_length']} characters, found {len(fault['input'])}"
    column = f", column {fault['loc'][0]}" if fault["loc"] else ""
    return f"line {line}{column}: {what}"


def require_known_questions(course: Course, adjustments: Iterable[QuestionAdjustment], name: str) -> None:
    """Raise UsageError where a row names a question that is not there, or sets more points than it is worth.

    Args:
        name: The name of the file, for error messages.
    """
    worth = {one.id: sum(getattr(one.points, suite) for suite in course.suites) for one in course.assignment.questions}
    for row in adjustments:
        if row.question not in worth:
            raise UsageError(
                f"{name}: line {row.line}, column question: expected one of {', '.join(worth)}, found {row.question!r}"
            )
        if row.points and row.points.absolute and row.points.value > Decimal(str(worth[row.question])):
            raise UsageError(
                f"{name}: line {row.line}, column points: expected at most ={worth[row.question]:g}, "
                f"which is what {row.question} is worth, found ={row.points.value:f}"
            )


def change_points(
    adjustments: Iterable[QuestionAdjustment], points: Fraction, most: Fraction, worth: Fraction
) -> Iterator[AppliedChange]:
    """Yield what each adjustment of one question does that has points, in order; never below 0 or above `most`.

    Args:
        points: The weighted points of the question.
        most: Its weighted maximum.
        worth: Its maximum before any weight.
    """
    for one in adjustments:
        if one.points is not None:
            asked = Fraction(one.points.value) * (most / worth if worth else 0)
            wanted = asked if one.points.absolute else points + asked
            after = min(max(wanted, Fraction(0)), most)
            limit = ""
            if not most:
                limit = "no change, the question earns no points"
            elif after != wanted:
                bound = "the maximum" if after else "0"
                limit = f"no change, already at {bound}" if after == points else f"capped at {bound}"
            yield AppliedChange(one, after - points, limit)
            points = after


def write_row(student: str, question: str, *more: str) -> str:
    """Return a line of the file, in which the other cells say their names.

    Args:
        more: Points, comment, rubric item, request and answer, as far as they are known.
    """
    file = io.StringIO(newline="")
    cells = [student, question, *more]
    # Before Python 3.13, only the characters of its own line end make a writer put a cell in quotes.
    csv.writer(file, lineterminator="\r\n").writerow([*cells, *EMPTY[len(cells) :]])
    return file.getvalue().removesuffix("\r\n")
