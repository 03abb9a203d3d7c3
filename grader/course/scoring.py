"""The scores that a policy makes of stored outcomes: no clock, no files, no chance.

All arithmetic is exact, on decimal numbers and their fractions, so a score is the same on every machine. In which order a
policy's rules apply is written in `score_submission`, and for instructors in docs/policy.md.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from pydantic import BaseModel

from grader.assignment import UsageError
from grader.course import curves
from grader.course.adjustments import QuestionAdjustment, change_points
from grader.course.dropping import choose_dropped
from grader.course.policy import PLACES, Extension, FaultyItem, Policy
from grader.course.results import Course, SubmissionResult
from grader.course.worklist import Person, WorklistEntry
from grader.report.model import Report


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
        steps: From 0 to the points; each begins where the one before ended. Of several submissions of
            the student, the first ones say which counts.
        questions: Points by question, weighted and adjusted by hand, before anything else.
        limits: By line of adjustments.csv, why a row does not change the points as much as it says.
        outcomes: How many checks had each outcome.
        days_late: Begun days after the student's own deadline; None where it is not known.
        seconds_late: Whole seconds after that deadline, without grace; None where they are not known.
        replaces: Other submissions of the same student, which do not count, oldest first.
    """

    entry: str
    student: Person
    status: Literal["final", "pending", "not final"]
    points: Decimal | None = None
    max_points: Decimal | None = None
    steps: tuple[ScoreStep, ...] = ()
    questions: dict[str, Decimal] = {}
    limits: dict[int, str] = {}
    outcomes: dict[str, int] = {}
    days_late: int | None = None
    seconds_late: int | None = None
    replaces: tuple[str, ...] = ()

    def explanation(self) -> list[str]:
        """Return how the points came about, a line for each step, for the student to read."""
        if self.points is None:
            why = (
                "the submission is not graded yet"
                if self.status == "pending"
                else "the grader must run again, through no fault of yours"
            )
            return [*(step.what for step in self.steps), f"there are no points yet: {why}"]
        lines = []
        for step in self.steps:
            change = step.after - step.before
            lines.append(f"{step.what}: {change:+f}, makes {step.after:f}" if change else step.what)
        return [*lines, f"{self.points:f} of {self.max_points:f} points"]


def require_known_names(course: Course, results: Mapping[str, SubmissionResult | None], policy: Policy) -> None:
    """Raise UsageError if the policy names unknown questions or checks; checks are known once there is a result."""
    questions = {question.id for question in course.assignment.questions}
    checks = {check.id for result in results.values() if result for check in result.report.checks}
    named = [(f"weights.questions.{name}", name, questions) for name in policy.weights.questions]
    named += [(f"extra.questions.{index}", name, questions) for index, name in enumerate(policy.extra.questions)]
    if policy.drop:
        named += [(f"drop.questions.{index}", name, questions) for index, name in enumerate(policy.drop.questions)]
    named += [(f"extra.checks.{index}", name, checks) for index, name in enumerate(policy.extra.checks)]
    for index, one in enumerate(policy.faulty):
        where, name = ("question", one.question) if one.question else ("check", one.check)
        named.append((f"faulty.{index}.{where}", name, questions if one.question else checks))
    for where, name, known in named:
        if known and name not in known:
            raise UsageError(f"{where}: the class has no {name!r}; there are: {', '.join(sorted(known))}")


def score_class(
    course: Course,
    results: Mapping[str, SubmissionResult | None],
    policy: Policy,
    adjustments: Sequence[QuestionAdjustment] = (),
) -> list[Score]:
    """Return a score for each student of the class, in the order of the submissions' ids.

    A student who takes part in several submissions gets one score: of the newest or the best, as the
    policy says. The newest is the one with the latest time; among those with the same time, or
    without any, the one whose id comes last.

    Args:
        results: By entry; None or missing for an entry that is still to come.
        adjustments: What the staff changes by hand, in the order in which it applies.

    Raises:
        UsageError: If the policy names a question or check that is not there.
    """
    require_known_names(course, results, policy)
    submissions = _list_submissions(course)
    mean = Fraction(0)
    if policy.curve and policy.curve.mean:
        mean = _find_mean_of_work(submissions.values(), results, policy, adjustments)
    rows = []
    for key, own in submissions.items():
        scores = []
        for entry, student in own:
            result = results.get(entry.id)
            one = score_submission(entry, result.report if result else None, policy, student, adjustments, mean)
            scores.append(_without_points(one, "not final") if result and result.status == "failed" else one)
        one = _choose(scores, [entry for entry, _ in own], policy)
        place = next(entry.students.index(student) if entry.students else 0 for entry, student in own if entry.id == one.entry)
        rows.append((_order(one.entry), place, key, one))
    rows.sort(key=lambda row: row[:3])
    return [one for *_, one in rows]


def _list_submissions(course: Course) -> dict[str, list[tuple[WorklistEntry, Person]]]:
    """Return the submissions of each student, oldest first, with the student as each of them names them."""
    found: dict[str, dict[str, tuple[WorklistEntry, Person]]] = {}
    beginning = datetime.min.replace(tzinfo=timezone.utc)
    for entry in sorted(course.entries, key=lambda entry: (entry.created_at or beginning, *_order(entry.id))):
        for student in reversed(entry.students or (Person(),)):
            found.setdefault(identify_student(entry.id, student), {})[entry.id] = entry, student
    return {key: list(own.values()) for key, own in found.items()}


def _takes_best(policy: Policy) -> bool:
    return policy.attempts is not None and policy.attempts.counts == "best"


def _find_mean_of_work(
    submissions: Iterable[list[tuple[WorklistEntry, Person]]],
    results: Mapping[str, SubmissionResult | None],
    policy: Policy,
    adjustments: Sequence[QuestionAdjustment],
) -> Fraction:
    """Return the mean, over students, of the points of the work: of the newest submission, or of the one with the most."""
    works = []
    for own in submissions:
        compared = own if _takes_best(policy) else own[-1:]
        graded = [
            _points_of_work(one.report, policy, list_own_adjustments(adjustments, entry, student))
            for entry, student in compared
            if (one := results.get(entry.id)) and one.status != "failed" and one.report.final
        ]
        if len(graded) == len(compared):
            works.append(max(graded))
    return curves.find_mean(works)


def _points_of_work(report: Report, policy: Policy, adjustments: Sequence[QuestionAdjustment]) -> Fraction:
    account = _Account()
    _work(account, report, policy, adjustments)
    return account.points


def _choose(scores: list[Score], entries: list[WorklistEntry], policy: Policy) -> Score:
    """Return the score that counts of those of one student, oldest first, and say in its first steps why it does."""
    if len(scores) == 1:
        return scores[0]
    if waiting := [one for one in scores if one.points is None] if _takes_best(policy) else []:
        one, why = waiting[-1], [f"the best of {len(scores)} submissions counts, once all are graded"]
    elif _takes_best(policy):  # of equal ones, the newest
        one, why = max(reversed(scores), key=lambda one: one.points or 0), [f"the best of {len(scores)} submissions counts"]
    else:
        one, why = scores[-1], [f"the newest of {len(scores)} submissions counts"]
    for score, entry in zip(scores, entries, strict=True):
        time = f" of {_in_zone(entry.created_at, policy)}" if entry.created_at else ""
        points = "no points yet" if score.points is None else f"{score.points:f} points"
        counts = "" if waiting else ", counts" if score is one else ", does not count"
        why.append(f"{entry.id}{time}: {points}{counts}")
    steps = (ScoreStep(what=what, before=Decimal(0), after=Decimal(0)) for what in why)
    others = tuple(score.entry for score in scores if score is not one)
    return one.model_copy(update={"steps": (*steps, *one.steps), "replaces": others})


def _in_zone(moment: datetime, policy: Policy) -> str:
    return moment.astimezone(policy.clock() or timezone.utc).strftime("%Y-%m-%d %H:%M %z")


def score_submission(
    entry: WorklistEntry,
    report: Report | None,
    policy: Policy,
    student: Person | None = None,
    adjustments: Sequence[QuestionAdjustment] = (),
    mean: Fraction = Fraction(0),
) -> Score:
    """Return what the student gets for this submission: a pure function of its arguments.

    The score reveals no more about hidden checks than `report.for_student()`.

    Args:
        entry: The submission.
        report: All outcomes; None when the submission is not graded yet.
        policy: The rules.
        student: The student whose extensions and adjustments apply; None: only those for the submission.
        adjustments: As in `score_class`; those of others do not apply.
        mean: The mean of the work in the class, for a curve to a mean.
    """
    student = student or Person()
    own = [one for one in policy.extensions if _means(one.student, entry, student)]
    deadline = _own_deadline(own, policy)
    days, lateness = _days_late(entry, own, deadline, policy)
    seconds = _seconds_late(entry, deadline)
    known = Score(entry=entry.id, student=student, status="pending", days_late=days, seconds_late=seconds)
    if report is None:
        return known
    outcomes = Counter(check.outcome.value for check in report.checks)
    known = known.model_copy(update={"outcomes": dict(sorted(outcomes.items()))})
    if not report.final:
        return _without_points(known, "not final")
    account = _Account()
    maximum = _work(account, report, policy, list_own_adjustments(adjustments, entry, student))
    _curve(account, policy, maximum, mean)
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
            "limits": account.limits,
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


def list_own_adjustments(
    adjustments: Iterable[QuestionAdjustment], entry: WorklistEntry, student: Person
) -> list[QuestionAdjustment]:
    """Return those that are about this student, or about the whole submission."""
    return [one for one in adjustments if _means(one.student, entry, student)]


def find_unscored_students(course: Course, scored: Iterable[Score], policy: Policy) -> list[str]:
    """Return the students in the policy that have no score.

    A name may be misspelled, its student may not have submitted, or it is the id of a submission that does not count.
    """
    named = [*(one.student for one in policy.extensions), *(one.student for one in policy.adjustments)]
    return find_unscored(course, scored, named)


def find_unscored(course: Course, scored: Iterable[Score], named: Iterable[str]) -> list[str]:
    """Return the names that have no score, each once."""
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
        limits: See `Score`.
    """

    def __init__(self) -> None:
        self.points = Fraction(0)
        self.steps: list[ScoreStep] = []
        self.questions: dict[str, Fraction] = {}
        self.limits: dict[int, str] = {}

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
        worth: The maximum before any weight.
    """

    question: str
    name: str
    extra: bool
    fault: FaultyItem | None
    got: Fraction
    counts: Fraction
    of: Fraction
    worth: Fraction


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
                worth=_exact(check.max_points),
            )
        )
    return parts


def _work(account: _Account, report: Report, policy: Policy, adjustments: Sequence[QuestionAdjustment]) -> Fraction:
    """Add the questions, the dropped ones, the scale and the extra credit to the account, and return the maximum."""
    extra_by_hand: list[tuple[str, Fraction]] = []
    titles = {question.id: question.title for question in report.questions}
    parts = _parts(report, policy)
    marks: dict[str, tuple[Fraction, Fraction]] = {}
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
        changes = _by_hand(account, question, titles.get(question, question), regular or own, adjustments)
        account.questions[question] += _sum(change for _, change in changes)
        if not regular:
            extra_by_hand += changes
            continue
        for what, change in changes:
            account.to(account.points + change, what)
        if worth:
            marks[question] = _sum(part.counts for part in regular) + _sum(change for _, change in changes), worth
    maximum = _sum(part.of for part in parts if not part.extra)
    left = maximum - _drop(account, marks, titles, policy)
    target = maximum if policy.out_of is None else Fraction(policy.out_of)
    if target and not maximum:
        raise UsageError("out_of: there are no points to scale; every question is extra credit, left out, or has weight 0")
    if target != left:
        what = f"scaled from {format_score(left):f} to {format_score(target):f} points"
        account.to(account.points * target / left, what)
    factor = target / maximum if maximum else Fraction(1)
    before = account.points
    for name in dict.fromkeys(part.name for part in parts if part.extra and part.of):
        own = [part for part in parts if part.extra and part.name == name]
        got, most = factor * _sum(part.counts for part in own), factor * _sum(part.of for part in own)
        account.to(account.points + got, f"extra credit, {name}: {format_score(got):f} of {format_score(most):f} points")
    for what, change in extra_by_hand:
        account.to(account.points + factor * change, what)
    if policy.extra.at_most is not None and account.points - before > policy.extra.at_most:
        account.to(before + Fraction(policy.extra.at_most), f"at most {policy.extra.at_most:f} points of extra credit")
    return target


def _drop(
    account: _Account, marks: Mapping[str, tuple[Fraction, Fraction]], titles: Mapping[str, str], policy: Policy
) -> Fraction:
    """Take the dropped questions off the account, and return what they were worth."""
    rule = policy.drop
    if rule is None:
        return Fraction(0)
    droppable = [question for question in marks if not rule.questions or question in rule.questions]
    if len(droppable) <= rule.lowest:
        raise UsageError(
            f"drop.lowest: expected less than the number of questions to choose from, {len(droppable)}; found {rule.lowest}"
        )
    dropped = choose_dropped(marks, droppable, rule.lowest)
    for question in dropped:
        points, worth = marks[question]
        what = f"{titles.get(question, question)}: dropped, {format_score(points):f} of {format_score(worth):f} points"
        account.to(account.points - points, what)
    return _sum(marks[question][1] for question in dropped)


def _curve(account: _Account, policy: Policy, maximum: Fraction, mean: Fraction) -> None:
    rule = policy.curve
    if rule is None:
        return
    if rule.mean is None:
        what = f"curve: the earned share of {format_score(maximum):f} points is replaced by its square root"
    else:
        what = f"curve: the mean of the class, {format_score(mean):f} points, is raised to {rule.mean:f}"
        what += f", at most {format_score(maximum):f} points"
    account.to(curves.curve_points(account.points, maximum, rule, mean), what, quiet=True)


def _by_hand(
    account: _Account, question: str, title: str, parts: Sequence[_Part], adjustments: Iterable[QuestionAdjustment]
) -> list[tuple[str, Fraction]]:
    """Return each adjustment of a question in words, and by how many weighted points it changes these parts of it.

    The account notes which of them do less than they say.
    """
    own = [one for one in adjustments if one.question == question]
    points, most = _sum(part.counts for part in parts), _sum(part.of for part in parts)
    changes = list(change_points(own, points, most, _sum(part.worth for part in parts)))
    account.limits |= {one.row.line: one.limit for one in changes if one.limit}
    return [
        (f"{title}, by hand ({one.row.points}{one.limit and f': {one.limit}'}), because {one.row.reason}", one.points)
        for one in changes
    ]


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


def _at_most(account: _Account, policy: Policy) -> None:
    if policy.at_most is not None and account.points > policy.at_most:
        account.to(Fraction(policy.at_most), f"at most {policy.at_most:f} points")


def _attempts(account: _Account, entry: WorklistEntry, policy: Policy) -> None:
    rule = policy.attempts
    if rule is None or rule.beyond is None:
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
    what = f"attempt {len(made)} (allowed: {allowed})"
    if rule.beyond == "refused" and beyond[-1]:
        account.to(Fraction(0), f"{what}: refused")
    elif rule.beyond == "cost" and any(beyond):
        count = f"{sum(beyond)} attempt{'s' * (sum(beyond) > 1)}"
        left = account.points - Fraction(rule.cost) * sum(beyond)
        account.to(max(left, Fraction(0)), f"{what}: {rule.cost:f} points off for each attempt beyond the limit ({count})")


def _days_late(entry: WorklistEntry, own: list[Extension], deadline: datetime | None, policy: Policy) -> tuple[int | None, str]:
    """Return how many days late it counts as, before free ones, and that in words; None, and perhaps a remark, if unknown."""
    rule = policy.late
    if rule is None:
        return None, ""
    extended = f", with an extension ({'; '.join(one.reason for one in own)})" if own else ""
    if deadline and entry.created_at:
        days = _started(deadline, entry.created_at - timedelta(minutes=rule.grace_minutes))
        text = f"submitted {_days(days)} late" if days else "submitted on time"
        return days, text + extended if days or own else ""
    if entry.late:
        if own:
            return 0, f"late (the platform gives no time){extended}: counts as on time"
        return rule.flagged_days, f"late (the platform gives no time): counts as {_days(rule.flagged_days)}"
    return (0, "") if entry.late is False else (None, "no time of submission: counts as on time")


def _own_deadline(own: list[Extension], policy: Policy) -> datetime | None:
    """Return the deadline of a student with these extensions: the latest of all that they are given."""
    general = policy.deadline()
    moments = [policy.placed(one.until) for one in own if one.until]
    if general:
        moments += [general, *(_clock_days_after(general, one.days) for one in own if one.days is not None)]
        moments += [_minutes_after(general, one.minutes) for one in own if one.minutes is not None]
    return max(moments, key=lambda moment: moment.astimezone(timezone.utc), default=None)


def _seconds_late(entry: WorklistEntry, deadline: datetime | None) -> int | None:
    if deadline is None or entry.created_at is None:
        return None
    return max(math.floor((entry.created_at - deadline.astimezone(timezone.utc)).total_seconds()), 0)


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
        lateness += f"; after {_days(rule.most_days)} {rule.floor_percent:f} % of the points remain"
    elif charged and rule.percent_per_day:
        base = maximum if rule.percent_of == "maximum" else account.points
        kept -= base * Fraction(rule.percent_per_day) / 100 * charged
        of = f"the {format_score(maximum):f} points" if rule.percent_of == "maximum" else "the points"
        lateness += f"; {rule.percent_per_day:f} % of {of} off per day"
    elif charged and rule.points_per_day:
        kept -= Fraction(rule.points_per_day) * charged
        lateness += f"; {rule.points_per_day:f} points off per day"
    account.to(max(kept, account.points * Fraction(rule.floor_percent) / 100), lateness)


def _minutes_after(moment: datetime, minutes: int) -> datetime:
    return (moment.astimezone(timezone.utc) + timedelta(minutes=minutes)).astimezone(moment.tzinfo)


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
    empty: dict[str, Any] = {"points": None, "max_points": None, "steps": (), "questions": {}, "limits": {}}
    return one.model_copy(update={"status": status, **empty})


@functools.lru_cache(maxsize=4096)
def _exact(points: float) -> Fraction:
    return Fraction(str(points))  # 0.1 is a tenth, as it is written in the suite
