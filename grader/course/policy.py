"""The policy of a course, as an instructor writes it in a TOML file; docs/policy.md explains each key.

Numbers are exact decimals. scoring.py applies a policy to outcomes.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from datetime import datetime, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from grader.assignment import UsageError
from grader.course.handwritten import describe_faults

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLACES = 6  # behind the point: of every number in a policy, and of every one that a score shows


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        raise ValueError('expected a number, found a table; an id that contains a dot needs quotes: "loop.first" = 2')
    if isinstance(value, (bool, str)):
        raise ValueError(f"expected a number, found {value!r}")
    return value


def _moment(value: Any) -> Any:
    if not isinstance(value, datetime):
        raise ValueError(f"expected a date with a time, such as 2026-03-01T23:59:00+01:00, found {value}")
    return value


_Digits = Field(max_digits=13, decimal_places=PLACES)
Signed = Annotated[Decimal, BeforeValidator(_number), _Digits, Field(ge=-1_000_000, le=1_000_000)]
Amount = Annotated[Decimal, BeforeValidator(_number), _Digits, Field(ge=0, le=1_000_000)]
Percent = Annotated[Decimal, BeforeValidator(_number), _Digits, Field(ge=0, le=100)]
Positive = Annotated[Amount, Field(gt=0)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=0, le=10_000)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Reason = Annotated[str, Field(min_length=1, max_length=400)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Weights(_Strict):
    """Factors of points, if not 1.

    The factors of question and suite are multiplied.

    Attributes:
        questions: The factor of each question, by its id.
        suites: The factor of each suite.
    """

    questions: dict[str, Amount] = {}
    suites: dict[Literal["visible", "hidden"], Amount] = {}


class ExtraCredit(_Strict):
    """Extra credit: questions and checks that count beyond the maximum.

    Attributes:
        questions, checks: Ids of questions and of single checks.
        at_most: The most points that they may add.
    """

    questions: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    at_most: Amount | None = None


class FaultyItem(_Strict):
    """A question, or a single check, that turned out to be wrong.

    Attributes:
        then: "full" gives full marks to all; "out" takes it out.
    """

    question: str = ""
    check: str = ""
    then: Literal["full", "out"]
    reason: Reason

    @model_validator(mode="after")
    def _one(self) -> FaultyItem:
        if bool(self.question) == bool(self.check):
            raise ValueError("expected either question or check")
        return self


class DropLowest(_Strict):
    """Questions that do not count, for each student those whose loss leaves the highest share of the points.

    Attributes:
        lowest: How many.
        questions: The ids of those that may be dropped; none: all.
    """

    lowest: Annotated[Count, Field(ge=1)]
    questions: tuple[str, ...] = ()


class Curve(_Strict):
    """A curve over the points of the work, which raises points and never lowers any; see curves.py.

    Attributes:
        kind: "square_root": of the share of the maximum. "mean": the same number of points is added
            for everybody, so that the mean of the class becomes `mean`.
    """

    kind: Literal["square_root", "mean"]
    mean: Positive | None = None

    @model_validator(mode="after")
    def _mean(self) -> Curve:
        if (self.kind == "mean") != (self.mean is not None):
            raise ValueError('expected a mean with kind = "mean", and none with kind = "square_root"')
        return self


class LatePenalty(_Strict):
    """The points that late work loses.

    Attributes:
        deadline: Work submitted at this very moment is on time. Without an offset, it is in the
            policy's zone.
        grace_minutes: Puts off the deadline, and the end of each late day.
        percent_per_day, points_per_day: For each day that has begun.
        percent_of: Whether the percentage is of the points "earned", or of the "maximum".
        most_days: Work that is later than that keeps floor_percent of its points.
        floor_percent: Percentage of the earned points that is kept however late the work is.
        free_days: Days that cost nothing, and are not counted in most_days.
        flagged_days: How many days late a submission counts if the platform says only that it is
            late.
        extensions_file: The name of a CSV file beside the policy, with more extensions; see
            extensions.py.
    """

    deadline: Moment | None = None
    grace_minutes: Count = 0
    percent_per_day: Percent = Decimal(0)
    points_per_day: Amount = Decimal(0)
    percent_of: Literal["earned", "maximum"] = "earned"
    most_days: Count | None = None
    floor_percent: Percent = Decimal(0)
    free_days: Count = 0
    flagged_days: Count = 1
    extensions_file: str = ""

    @model_validator(mode="after")
    def _beside(self) -> LatePenalty:
        if self.extensions_file and not re.fullmatch(r"\w[\w.-]*\.csv", self.extensions_file):
            raise ValueError(
                f"extensions_file: expected the name of a CSV file beside the policy, such as extensions.csv, "
                f"found {self.extensions_file!r}"
            )
        return self

    @model_validator(mode="after")
    def _one_unit(self) -> LatePenalty:
        if self.percent_per_day and self.points_per_day:
            raise ValueError("expected either percent_per_day or points_per_day, found both")
        return self


class Extension(_Strict):
    """A later deadline.

    Attributes:
        student: Email or sid; or the id of a submission, then for all who submitted it together.
        days, minutes: After the deadline; days are those of the clock, with 23 to 25 hours.
        until: The new deadline.
    """

    student: str = Field(min_length=1)
    days: Count | None = None
    minutes: Count | None = None
    until: Moment | None = None
    reason: Reason

    @model_validator(mode="after")
    def _one(self) -> Extension:
        if [self.days, self.minutes, self.until].count(None) != 2:
            raise ValueError("expected exactly one of days, minutes and until")
        return self


class Attempts(_Strict):
    """Which of a student's submissions counts, and how often students may submit.

    Attributes:
        counts: The "newest", or the one with the "best" score.
        at_most: In all.
        per_day: Between midnight and midnight in the policy's zone.
        beyond: "cost": each attempt beyond either limit has its `cost` in points. "refused": if the
            attempt that would count is beyond a limit, it earns nothing.
    """

    counts: Literal["newest", "best"] = "newest"
    at_most: Annotated[Count, Field(ge=1)] | None = None
    per_day: Annotated[Count, Field(ge=1)] | None = None
    beyond: Literal["cost", "refused"] | None = None
    cost: Amount = Decimal(0)

    @model_validator(mode="after")
    def _limits(self) -> Attempts:
        if (self.beyond is None) != (self.at_most is None and self.per_day is None):
            raise ValueError('expected beyond = "cost" or "refused" if at_most or per_day is set; otherwise leave beyond out')
        if (self.beyond == "cost") != (self.cost > 0):
            raise ValueError('expected a cost above 0 if beyond = "cost"; otherwise leave cost out')
        return self


class Adjustment(_Strict):
    """Points given or taken by hand.

    Attributes:
        student: As in Extension.
        reason: The student reads it.
    """

    student: str = Field(min_length=1)
    points: Signed
    reason: Reason


class Policy(_Strict):
    """The content of a policy file. A key that is left out leaves points as they are.

    Attributes:
        out_of: The points to which the maximum is scaled.
        at_least: Lower bound of every score.
        at_most: Upper bound of every score.
        round_to: Scores are rounded to the nearest multiple, and upwards from halfway.
        zone: The time zone that determines when a day ends, as Europe/Berlin.
        canvas_column: The name of the assignment in Canvas' gradebook, as in "Homework 3 (12345)".
    """

    out_of: Positive | None = None
    at_least: Amount = Decimal(0)
    at_most: Amount | None = None
    round_to: Positive = Decimal(1).scaleb(-PLACES)
    zone: str | None = None
    canvas_column: str = ""
    weights: Weights = Weights()
    extra: ExtraCredit = ExtraCredit()
    faulty: tuple[FaultyItem, ...] = ()
    drop: DropLowest | None = None
    curve: Curve | None = None
    late: LatePenalty | None = None
    extensions: tuple[Extension, ...] = ()
    attempts: Attempts | None = None
    adjustments: tuple[Adjustment, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Policy:
        try:
            self.clock()
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(
                f"zone: there is no {self.zone!r} here; expected a name like Europe/Berlin (Windows needs `pip install tzdata`)"
            ) from error
        moments = {"late.deadline": self.late.deadline if self.late else None}
        moments |= {f"extensions.{index}.until": one.until for index, one in enumerate(self.extensions)}
        for name, moment in moments.items():
            if moment and moment.tzinfo is None and self.zone is None:
                raise ValueError(f"{name}: write an offset, such as 2026-03-01T23:59:00+01:00, or set zone = ... at the top")
        deadline = self.deadline()
        for name, moment in moments.items():
            placed = self.placed(moment).astimezone(timezone.utc) if moment else None  # fails outside the calendar
            if placed and deadline and placed < deadline.astimezone(timezone.utc):
                raise ValueError(f"{name}: {moment} is before the deadline, {deadline}")
        if self.extensions and self.late is None:
            raise ValueError("extensions: there is no [late] section; add one with a deadline, or remove the extensions")
        if self.attempts and self.attempts.per_day and self.zone is None:
            raise ValueError("attempts.per_day: set zone = ... at the top, which defines when a day ends")
        for name, bound in (("at_least", self.at_least), ("at_most", self.at_most)):
            if bound is not None and Fraction(bound) % Fraction(self.round_to):
                raise ValueError(f"{name}: {bound} is not a multiple of round_to, {self.round_to}")
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most: {self.at_most} is below at_least, {self.at_least}")
        named = Counter(one.question or one.check for one in self.faulty)
        if twice := [name for name, count in named.items() if count > 1]:
            raise ValueError(f"faulty: listed twice: {', '.join(twice)}")
        return self

    def clock(self) -> tzinfo | None:
        """Return the zone, or None where the file names none."""
        return ZoneInfo(self.zone) if self.zone is not None else None

    def placed(self, moment: datetime) -> datetime:
        """Return a moment of the file on the clock of the zone, if there is one."""
        clock = self.clock()
        if clock is None:
            return moment
        return moment.astimezone(clock) if moment.tzinfo else moment.replace(tzinfo=clock)

    def deadline(self) -> datetime | None:
        """Return when everybody's work is due, or None where the file does not say."""
        return self.placed(self.late.deadline) if self.late and self.late.deadline else None


def read_policy_text(path: Path, expected: str = "a policy file, see docs/policy.md") -> str:
    """Return the file's text, to the byte.

    Args:
        expected: What the file should be, for error messages.

    Raises:
        UsageError: If the file cannot be read.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe, which nobody may fill, or a device without end
            raise UsageError(f"{path} is not an ordinary file; expected {expected}")
        return path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); expected {expected}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: {error}; save it as UTF-8") from error


def parse_policy(text: str, name: str) -> Policy:
    """Return the policy that a file's text describes.

    Args:
        name: The name of the file, for error messages.

    Raises:
        UsageError: Names the field at fault.
    """
    try:
        return Policy.model_validate(tomllib.loads(text.removeprefix("\ufeff"), parse_float=_decimal))
    except ArithmeticError as error:
        raise UsageError(f"{name}: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{name}: not valid TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{name}: {describe_faults(Policy, error.errors())}") from error


def _decimal(text: str) -> Decimal:
    """Return a number of a file; refuse one with too many digits, which would fill the memory."""
    exponent = text.lower().partition("e")[2]
    if exponent.lstrip("+-0_")[3:]:
        raise ArithmeticError(f"a number is too large or too small: {text[:40]}")
    return Decimal(text)
