"""The policy of a course, and the scores that it makes of stored outcomes: no clock, no files, no chance.

All arithmetic is exact, on decimal numbers and their fractions, so a score is the same on every machine. In which order a
policy's rules apply is written in `score`, and for instructors in docs/policy.md.
"""

from __future__ import annotations

import functools
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from grader.assignment import UsageError
from grader.course.results import Course, SubmissionResult
from grader.course.worklist import Person, WorklistEntry
from grader.report.model import Report

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLACES = 6  # behind the point: of every number in a policy, and of every one that a score shows


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        raise ValueError('expected a number, found a table; an id with a point in it needs quotes: "loop.first" = 2')
    if isinstance(value, (bool, str)):
        raise ValueError(f"expected a number, found {value!r}")
    return value


def _moment(value: Any) -> Any:
    if not isinstance(value, datetime):
        raise ValueError(f"expected a date with a time, as 2026-03-01T23:59:00+01:00, found {value}")
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
    """Factors of points, where they are not 1.

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
            raise ValueError("expected question or check, one of them")
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

    @model_validator(mode="after")
    def _one_unit(self) -> LatePenalty:
        if self.percent_per_day and self.points_per_day:
            raise ValueError("expected percent_per_day or points_per_day, found both")
        return self


class Extension(_Strict):
    """A later deadline.

    Attributes:
        student: Email or sid; or the id of a submission, then for all who submitted it together.
    """

    student: str = Field(min_length=1)
    days: Count | None = None
    until: Moment | None = None
    reason: Reason

    @model_validator(mode="after")
    def _one(self) -> Extension:
        if (self.days is None) == (self.until is None):
            raise ValueError("expected days or until, one of them")
        return self


class AttemptLimits(_Strict):
    """How often students may submit.

    Attributes:
        at_most: In all.
        per_day: Between midnight and midnight in the policy's zone.
        beyond: "cost": each attempt beyond either limit has its `cost` in points. "refused": if the
            attempt that would count is beyond a limit, it earns nothing.
    """

    at_most: Annotated[Count, Field(ge=1)] | None = None
    per_day: Annotated[Count, Field(ge=1)] | None = None
    beyond: Literal["cost", "refused"]
    cost: Amount = Decimal(0)

    @model_validator(mode="after")
    def _cost(self) -> AttemptLimits:
        if (self.beyond == "cost") != (self.cost > 0):
            raise ValueError('expected a cost above 0 with beyond = "cost", and none with beyond = "refused"')
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
    late: LatePenalty | None = None
    extensions: tuple[Extension, ...] = ()
    attempts: AttemptLimits | None = None
    adjustments: tuple[Adjustment, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Policy:
        try:
            self.clock()
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(
                f"zone: there is no {self.zone!r} here; expected a name as Europe/Berlin (Windows needs `pip install tzdata`)"
            ) from error
        moments = {"late.deadline": self.late.deadline if self.late else None}
        moments |= {f"extensions.{index}.until": one.until for index, one in enumerate(self.extensions)}
        for name, moment in moments.items():
            if moment and moment.tzinfo is None and self.zone is None:
                raise ValueError(f"{name}: write an offset, as 2026-03-01T23:59:00+01:00, or say zone = ... at the top")
        deadline = self.deadline()
        for name, moment in moments.items():
            if moment and deadline and self.placed(moment).astimezone(timezone.utc) < deadline.astimezone(timezone.utc):
                raise ValueError(f"{name}: {moment} is before the deadline, {deadline}")
        if self.extensions and self.late is None:
            raise ValueError("extensions: there is no [late], so nothing is late")
        if self.attempts and self.attempts.per_day and self.zone is None:
            raise ValueError("attempts.per_day: say zone = ... at the top, by which a day ends")
        for name, bound in (("at_least", self.at_least), ("at_most", self.at_most)):
            if bound is not None and Fraction(bound) % Fraction(self.round_to):
                raise ValueError(f"{name}: {bound} is no multiple of round_to, {self.round_to}")
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most: {self.at_most} is below at_least, {self.at_least}")
        named = Counter(one.question or one.check for one in self.faulty)
        if twice := [name for name, count in named.items() if count > 1]:
            raise ValueError(f"faulty: found twice: {', '.join(twice)}")
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


class ScoreStep(BaseModel, frozen=True):
    """One change on the way to a score.

    Attributes:
        what: The reason, for the student to read.
    """

    what: str
    before: Decimal
    after: Decimal


class Score(BaseModel):
    """The score of one student for a submission.

    Attributes:
        entry: The submission that counts.
        status: "final", "pending" (not graded yet) or "not final" (the grader failed, or was
            interrupted). Only a final score has points.
        max_points: Full marks, without extra credit.
        steps: From 0 to the points; each begins where the one before ended.
        questions: Points by question, weighted, before anything else.
        outcomes: How many checks had each outcome.
        days_late: Begun days after the student's own deadline; None where it is not known.
        replaces: Older submissions of the same student, which do not count.
    """

    entry: str
    student: Person
    status: Literal["final", "pending", "not final"]
    points: Decimal | None = None
    max_points: Decimal | None = None
    steps: tuple[ScoreStep, ...] = ()
    questions: dict[str, Decimal] = {}
    outcomes: dict[str, int] = {}
    days_late: int | None = None
    replaces: tuple[str, ...] = ()

    def explanation(self) -> list[str]:
        """Return how the points came about, a line for each step, for the student to read."""
        lines = [f"of several submissions the newest counts, not {', '.join(self.replaces)}"] if self.replaces else []
        if self.points is None:
            why = "it is not graded yet" if self.status == "pending" else "the grader has to run again, which is not your fault"
            return [*lines, f"there are no points yet: {why}"]
        for step in self.steps:
            change = step.after - step.before
            lines.append(f"{step.what}: {change:+f}, makes {step.after:f}" if change else step.what)
        return [*lines, f"{self.points:f} of {self.max_points:f} points"]


def load_policy(path: Path) -> Policy:
    """Return the policy that the file describes.

    Raises:
        UsageError: Names the field at fault.
    """
    return parse_policy(read_policy_text(path), str(path))


def read_policy_text(path: Path) -> str:
    """Return the file's text, to the byte.

    Raises:
        UsageError: If the file cannot be read.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe, which nobody may fill, or a device without end
            raise UsageError(f"{path} is not an ordinary file; expected a policy file, see docs/policy.md")
        return path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); expected a policy file, see docs/policy.md") from error
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
        faults = [(".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")) for fault in error.errors()]
        raise UsageError(f"{name}: " + "; ".join(f"{where}: {what}" if where else what for where, what in faults)) from error


def _decimal(text: str) -> Decimal:
    """Return a number of a file; one of a billion zeros is not written out by whoever asks how large it is."""
    exponent = text.lower().partition("e")[2]
    if exponent.lstrip("+-0_")[3:]:
        raise ArithmeticError(f"a number is too large or too small: {text[:40]}")
    return Decimal(text)


def require_known_names(course: Course, results: Mapping[str, SubmissionResult | None], policy: Policy) -> None:
    """Raise UsageError where the policy names what is not there; checks are known once there is a result."""
    questions = {question.id for question in course.assignment.questions}
    checks = {check.id for result in results.values() if result for check in result.report.checks}
    named = [(f"weights.questions.{name}", name, questions) for name in policy.weights.questions]
    named += [(f"extra.questions.{index}", name, questions) for index, name in enumerate(policy.extra.questions)]
    named += [(f"extra.checks.{index}", name, checks) for index, name in enumerate(policy.extra.checks)]
    for index, one in enumerate(policy.faulty):
        where, name = ("question", one.question) if one.question else ("check", one.check)
        named.append((f"faulty.{index}.{where}", name, questions if one.question else checks))
    for where, name, known in named:
        if known and name not in known:
            raise UsageError(f"{where}: the class has no {name!r}; there are: {', '.join(sorted(known))}")


def score_class(course: Course, results: Mapping[str, SubmissionResult | None], policy: Policy) -> list[Score]:
    """Return a score for each student of the class, in the order of the submissions' ids.

    A student who takes part in several submissions gets one score, of the newest. That is the one
    with the latest time; among those with the same time, or without any, the one whose id comes
    last.

    Args:
        results: By entry; None or missing for an entry that is still to come.

    Raises:
        UsageError: If the policy names a question or check that is not there.
    """
    require_known_names(course, results, policy)
    newest: dict[str, tuple[WorklistEntry, Person]] = {}
    older: dict[str, list[str]] = {}
    beginning = datetime.min.replace(tzinfo=timezone.utc)
    for entry in sorted(course.entries, key=lambda entry: (entry.created_at or beginning, *_order(entry.id))):
        for student in reversed(entry.students or (Person(),)):
            key = identify_student(entry.id, student)
            if key in newest and newest[key][0].id != entry.id:
                older.setdefault(key, []).append(newest[key][0].id)
            newest[key] = entry, student
    rows = []
    for key, (entry, student) in newest.items():
        result = results.get(entry.id)
        one = score_submission(entry, result.report if result else None, policy, student)
        if result and result.status == "failed":
            one = _without_points(one, "not final")
        rows.append((_order(entry.id), entry.students.index(student) if entry.students else 0, key, one))
    rows.sort(key=lambda row: row[:3])
    return [one.model_copy(update={"replaces": tuple(older.get(key, ()))}) for _, _, key, one in rows]


def score_submission(entry: WorklistEntry, report: Report | None, policy: Policy, student: Person | None = None) -> Score:
    """Return what the student gets for this submission: a pure function of its arguments.

    The score reveals no more about hidden checks than `report.for_student()`.

    Args:
        entry: The submission.
        report: All outcomes; None when the submission is not graded yet.
        policy: The rules.
        student: The student whose extensions and adjustments apply; None: only those for the submission.
    """
    student = student or Person()
    days, lateness = _days_late(entry, student, policy)
    known = Score(entry=entry.id, student=student, status="pending", days_late=days)
    if report is None:
        return known
    outcomes = Counter(check.outcome.value for check in report.checks)
    known = known.model_copy(update={"outcomes": dict(sorted(outcomes.items()))})
    if not report.final:
        return _without_points(known, "not final")
    account = _Account()
    maximum = _work(account, report, policy)
    _at_most(account, policy)
    _attempts(account, entry, policy)
    _late(account, policy, days, lateness, maximum)
    for one in policy.adjustments:
        if _means(one.student, entry, student):
            account.to(account.points + Fraction(one.points), one.reason)
    if account.points < policy.at_least:
        account.to(Fraction(policy.at_least), f"at least {policy.at_least:f} points")
    _at_most(account, policy)
    step = Fraction(policy.round_to)
    account.to(math.floor(account.points / step + Fraction(1, 2)) * step, f"rounded to {policy.round_to:f}", quiet=True)
    return known.model_copy(
        update={
            "status": "final",
            "points": format_score(account.points),
            "max_points": format_score(maximum),
            "steps": tuple(account.steps),
            "questions": {name: format_score(points) for name, points in account.questions.items()},
        }
    )


def identify_student(entry: str, student: Person) -> str:
    """Return the key of a student in all submissions.

    That is the email or number, since names may be shared by several.

    Args:
        entry: The id of the submission. A mere name identifies a student only within it.
    """
    email, sid = student.email.strip().casefold(), student.sid.strip()
    return f"email {email}" if email else f"sid {sid}" if sid else f"in {entry} {student.name}"


def find_unscored_students(course: Course, scored: Iterable[Score], policy: Policy) -> list[str]:
    """Return whom the policy names but no score is of: misspelt, without a submission, or the id of an older one."""
    named = [*(one.student for one in policy.extensions), *(one.student for one in policy.adjustments)]
    entries = {entry.id: entry for entry in course.entries}
    people = [(entries[one.entry], one.student) for one in scored]
    return [name for name in dict.fromkeys(named) if not any(_means(name, *one) for one in people)]


def format_score(value: Fraction) -> Decimal:
    """Return a number as a score shows it: at most six places, upwards from halfway."""
    millionths = math.floor(value * 10**PLACES + Fraction(1, 2))
    whole, rest = divmod(abs(millionths), 10**PLACES)
    text = f"{whole}.{rest:0{PLACES}d}".rstrip("0").rstrip(".")
    return Decimal(f"-{text}" if millionths < 0 else text)


class _Account:
    """Points on their way from the checks to the score.

    Attributes:
        questions: The points of each question, weighted.
    """

    def __init__(self) -> None:
        self.points = Fraction(0)
        self.steps: list[ScoreStep] = []
        self.questions: dict[str, Fraction] = {}

    def to(self, points: Fraction, what: str, quiet: bool = False) -> None:
        """Set the points, and record the step.

        Args:
            quiet: Record no step if the points stay the same to a reader.
        """
        before, after = format_score(self.points), format_score(points)
        if not quiet or before != after:
            self.steps.append(ScoreStep(what=what, before=before, after=after))
        self.points = points


@dataclass(frozen=True)
class _Part:
    """A check's weighted contribution.

    Attributes:
        question: The id of its question.
        name: The label in explanations.
        extra: Whether it is extra credit.
        fault: The entry of the policy that corrects it, if there is one.
        got: The points that were earned.
        counts: The points after corrections.
        of: The maximum.
    """

    question: str
    name: str
    extra: bool
    fault: FaultyItem | None
    got: Fraction
    counts: Fraction
    of: Fraction


def _parts(report: Report, policy: Policy) -> list[_Part]:
    titles = {question.id: question.title for question in report.questions}
    faulty = {one.question or one.check: one for one in policy.faulty}
    suites: dict[str, Decimal] = dict(policy.weights.suites.items())
    parts = []
    for check in report.checks:
        whole = titles.get(check.question, check.question)
        single = check.id in policy.extra.checks or check.id in faulty
        weight = Fraction(policy.weights.questions.get(check.question, 1)) * Fraction(suites.get(check.suite, 1))
        fault = faulty.get(check.id) or faulty.get(check.question)
        if fault and fault.then == "out":
            weight = Fraction(0)
        got, most = _exact(check.points) * weight, _exact(check.max_points) * weight
        parts.append(
            _Part(
                question=check.question,
                name=f"{whole}, {check.title}" if single else whole,
                extra=check.question in policy.extra.questions or check.id in policy.extra.checks,
                fault=fault,
                got=got,
                counts=most if fault else got,
                of=most,
            )
        )
    return parts


def _work(account: _Account, report: Report, policy: Policy) -> Fraction:
    """Add the questions, the scale and the extra credit to the account, and return the maximum."""
    titles = {question.id: question.title for question in report.questions}
    parts = _parts(report, policy)
    for question in dict.fromkeys(part.question for part in parts):
        own = [part for part in parts if part.question == question]
        account.questions[question] = _sum(part.counts for part in own)
        regular = [part for part in own if not part.extra]
        if worth := _sum(part.of for part in regular):
            got = _sum(part.got for part in regular)
            account.to(
                account.points + got,
                f"{titles.get(question, question)}: {format_score(got):f} of {format_score(worth):f} points",
            )
        for name, fault in dict.fromkeys((part.name, part.fault) for part in own if part.fault):
            given = _sum(part.counts - part.got for part in regular if (part.name, part.fault) == (name, fault))
            what = "full marks for all" if fault.then == "full" else "does not count"
            account.to(account.points + given, f"{name}: {what}, because {fault.reason}")
    maximum = _sum(part.of for part in parts if not part.extra)
    factor = Fraction(1)
    if policy.out_of is not None:
        if not maximum:
            raise UsageError("out_of: there is nothing to scale; every question is extra credit, taken out, or weighs 0")
        factor = Fraction(policy.out_of) / maximum
        what = f"scaled from {format_score(maximum):f} to {policy.out_of:f} points"
        account.to(account.points * factor, what, quiet=factor == 1)
    before = account.points
    for name in dict.fromkeys(part.name for part in parts if part.extra and part.of):
        own = [part for part in parts if part.extra and part.name == name]
        got, most = factor * _sum(part.counts for part in own), factor * _sum(part.of for part in own)
        account.to(account.points + got, f"extra credit, {name}: {format_score(got):f} of {format_score(most):f} points")
    if policy.extra.at_most is not None and account.points - before > policy.extra.at_most:
        account.to(before + Fraction(policy.extra.at_most), f"at most {policy.extra.at_most:f} points of extra credit")
    return maximum * factor


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


def _at_most(account: _Account, policy: Policy) -> None:
    if policy.at_most is not None and account.points > policy.at_most:
        account.to(Fraction(policy.at_most), f"at most {policy.at_most:f} points")


def _attempts(account: _Account, entry: WorklistEntry, policy: Policy) -> None:
    rule = policy.attempts
    if rule is None:
        return
    made = [*sorted(entry.earlier), entry.created_at]
    days = [moment.astimezone(policy.clock()).date() if moment else None for moment in made]
    beyond = [
        (rule.at_most is not None and index >= rule.at_most)
        # An attempt without a time belongs to no day.
        or (rule.per_day is not None and day is not None and days[:index].count(day) >= rule.per_day)
        for index, day in enumerate(days)
    ]
    limits = ((rule.at_most, "in all"), (rule.per_day, "a day"))
    allowed = " and ".join(f"{number} {span}" for number, span in limits if number is not None)
    what = f"attempt {len(made)}, where {allowed} are allowed"
    if rule.beyond == "refused" and beyond[-1]:
        account.to(Fraction(0), f"{what}: refused")
    elif rule.beyond == "cost" and any(beyond):
        left = account.points - Fraction(rule.cost) * sum(beyond)
        account.to(max(left, Fraction(0)), f"{what}: {rule.cost:f} points off for each of {sum(beyond)} beyond")


def _days_late(entry: WorklistEntry, student: Person, policy: Policy) -> tuple[int | None, str]:
    """Return how many days late it counts as, before free ones, and that in words; None, and perhaps a remark, if unknown."""
    rule = policy.late
    if rule is None:
        return None, ""
    own = [one for one in policy.extensions if _means(one.student, entry, student)]
    general = policy.deadline()
    moments = [policy.placed(one.until) for one in own if one.until]
    if general:
        moments += [general, *(_clock_days_after(general, one.days) for one in own if one.days is not None)]
    extended = f", with an extension ({'; '.join(one.reason for one in own)})" if own else ""
    if moments and entry.created_at:
        deadline = max(moments, key=lambda moment: moment.astimezone(timezone.utc))
        days = _started(deadline, entry.created_at - timedelta(minutes=rule.grace_minutes))
        text = f"handed in {_days(days)} late" if days else "handed in on time"
        return days, text + extended if days or own else ""
    if entry.late:
        if own:
            return 0, f"late, as the platform says without a time{extended}: counts as on time"
        return rule.flagged_days, f"late, as the platform says without a time: counts as {_days(rule.flagged_days)}"
    return (0, "") if entry.late is False else (None, "no time of submission: counts as on time")


def _late(account: _Account, policy: Policy, days: int | None, lateness: str, maximum: Fraction) -> None:
    rule = policy.late
    if rule is None or not days:
        if lateness:
            account.to(account.points, lateness)
        return
    charged = max(days - rule.free_days, 0)
    if charged < days:
        lateness += f", {days - charged} of them free"
    kept = account.points
    if rule.most_days is not None and charged > rule.most_days:
        kept = Fraction(0)
        lateness += f"; after {_days(rule.most_days)} {rule.floor_percent:f} % of the points are left"
    elif charged and rule.percent_per_day:
        base = maximum if rule.percent_of == "maximum" else account.points
        kept -= base * Fraction(rule.percent_per_day) / 100 * charged
        of = f"the {format_score(maximum):f} points" if rule.percent_of == "maximum" else "the points"
        lateness += f"; {rule.percent_per_day:f} % of {of} off a day"
    elif charged and rule.points_per_day:
        kept -= Fraction(rule.points_per_day) * charged
        lateness += f"; {rule.points_per_day:f} points off a day"
    account.to(max(kept, account.points * Fraction(rule.floor_percent) / 100), lateness)


def _clock_days_after(moment: datetime, days: int) -> datetime:
    """Return when the clock shows the same time, days later; in a zone that is not always 24 hours a day."""
    # Python's sum is one of the clock, but forgets which of two equal hours it was, also for 0 days.
    return moment + timedelta(days=days) if days else moment


def _started(deadline: datetime, moment: datetime) -> int:
    """Return how many days have begun since the deadline; each ends when the clock shows the deadline's time again."""

    def over(days: int) -> bool:
        return moment > _clock_days_after(deadline, days).astimezone(timezone.utc)

    if not over(0):
        return 0
    # Clocks that are put forward or back make it one more, or one less, than there are 24 hours.
    days = max(math.ceil((moment - deadline.astimezone(timezone.utc)) / timedelta(days=1)) - 1, 1)
    while over(days):
        days += 1
    return days


def _days(number: int) -> str:
    return f"{number} day" if number == 1 else f"{number} days"


def _means(name: str, entry: WorklistEntry, student: Person) -> bool:
    known = (student.email.strip(), student.sid.strip(), entry.id)
    return name.strip().casefold() in {one.casefold() for one in known if one}


def _order(entry: str) -> tuple[int, str]:
    return len(entry), entry  # submission_9 comes before submission_10


def _without_points(one: Score, status: Literal["pending", "not final"]) -> Score:
    empty: dict[str, Any] = {"points": None, "max_points": None, "steps": (), "questions": {}}
    return one.model_copy(update={"status": status, **empty})


@functools.lru_cache(maxsize=4096)
def _exact(points: float) -> Fraction:
    return Fraction(str(points))  # 0.1 is a tenth, as it is written in the suite
