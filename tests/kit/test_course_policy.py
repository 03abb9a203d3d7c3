"""Scores from stored outcomes: exact, explained, never a number before its time, and the gradebooks that hold them."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from grader.assignment import Assignment, UsageError
from grader.course import gradebook, policy, rescore, scoring
from grader.course.policy import Policy, parse_policy
from grader.course.results import Course, ResultFingerprints, ResultsFolder, SubmissionResult
from grader.course.rules import read_rule_files
from grader.course.scoring import Score, score_class, score_submission
from grader.course.worklist import Person, WorklistEntry
from grader.report.model import CheckResult, Outcome, Report, write_atomically
from grader.report.text import FORMULA
from tests.kit.examples import examples

pytestmark = pytest.mark.recorded

INPUTS = ("docs/policy.md",)

UTC = timezone.utc
ASSIGNMENT = Assignment.model_validate(
    {
        "name": "toy",
        "title": "Toys",
        "version": "1",
        "submission": "submitted.py",
        "questions": [
            {"id": name, "title": title, "function": "f", "task": "t", "points": {"visible": visible, "hidden": hidden}}
            for name, title, visible, hidden in (("a", "Alpha", 6, 4), ("loop.first", "Loop", 5, 5), ("bonus", "Bonus", 3, 2))
        ],
    }
)
# In the order of a report: question, suite, and what the check is worth.
CHECKS = [
    (question.id, suite, getattr(question.points, suite))
    for question in ASSIGNMENT.questions
    for suite in ("visible", "hidden")
]
FULL = tuple(worth for _, _, worth in CHECKS)
DUE = datetime(2026, 3, 1, 22, 59, tzinfo=UTC)


def graded(points: Sequence[float] = FULL, final: bool = True) -> Report:
    """Return a report in which the checks earned these points."""
    report = Report(
        assignment="toy", title="Toys", suite_version="1", suites=("visible", "hidden"), isolation="full", isolation_layers=()
    )
    for got, (question, suite, worth) in zip(points, CHECKS, strict=True):
        outcome = Outcome.PASSED if got == worth else Outcome.FAILED
        about = (
            {"message": "SECRET 0.125", "printed": "SECRET", "detail": "SECRET", "hint": "SECRET"} if suite == "hidden" else {}
        )
        name, title = f"{suite}/{question}", f"It is {suite}ly right."
        one = CheckResult(id=name, question=question, suite=suite, title=title, max_points=worth, points=got, outcome=outcome)
        report.checks.append(one.model_copy(update=about))
    report.final = final
    report.summarize(ASSIGNMENT)
    return report


def entry(name: str = "submission_1", at: datetime | None = DUE, *students: Person, **more: Any) -> WorklistEntry:
    """Return a submission of Ada, unless others are named."""
    people = students or (Person(name="Ada Lovelace", email="ada@x.edu", sid="007"),)
    return WorklistEntry(id=name, path=name, students=people, created_at=at, **more)


def course(*entries: WorklistEntry, layout: str = "gradescope") -> Course:
    """Return a class with these submissions."""
    ids = {one.id: "s" * 64 for one in entries}
    about: dict[str, Any] = {"assignment": ASSIGNMENT, "suites": ("visible", "hidden"), "export": "export", "layout": layout}
    return Course(**about, suite="t" * 64, environment="e" * 64, submissions=ids, entries=list(entries))


def result(name: str, report: Report, status: Literal["graded", "refused", "failed"] = "graded") -> SubmissionResult:
    """Return the result of a submission in the class."""
    return SubmissionResult(
        entry=name,
        key=ResultFingerprints(submission="s" * 64, suite="t" * 64, environment="e" * 64),
        status=status,
        report=report,
    )


def made(text: str = "") -> Policy:
    """Return the policy of a file with this text."""
    return parse_policy(text, "policy.toml")


def load(path: Path) -> Policy:
    """Return the policy of a file, with its extensions."""
    return read_rule_files(path).parse_policy(str(path))


def definite(points: Decimal | None) -> Decimal:
    """Return points that are there."""
    assert points is not None
    return points


def points(text: str, at: datetime | None = DUE, got: Sequence[float] = FULL, **more: Any) -> Decimal | None:
    """Return what Ada gets by this policy."""
    one = entry("submission_1", at, **more)
    return score_submission(one, graded(got), made(text), one.students[0]).points


# --- what holds for every policy ---

WORTH = st.tuples(*(st.integers(0, 4 * worth).map(lambda quarters: quarters / 4) for worth in map(int, FULL)))
AMOUNT = st.decimals(0, 60, places=2)
PERCENT = st.decimals(0, 100, places=1)
MOMENT = st.datetimes(datetime(2026, 2, 20), datetime(2026, 4, 10)).map(lambda moment: moment.replace(tzinfo=UTC))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Draw a policy with any of the rules."""
    step = draw(st.sampled_from([Decimal("0.000001"), Decimal("0.01"), Decimal("0.5"), Decimal(1)]))
    low, high = sorted(draw(st.tuples(st.integers(0, 40), st.integers(0, 40))))
    unit = draw(st.sampled_from(["percent_per_day", "points_per_day"]))
    rule: dict[str, Any] = {
        "round_to": step,
        "zone": draw(st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"])),
        "weights": {
            "questions": draw(st.dictionaries(st.sampled_from(["a", "bonus"]), AMOUNT, max_size=2)),
            "suites": draw(st.dictionaries(st.just("hidden"), AMOUNT, max_size=1)),
        },
        "extra": {"questions": draw(st.sampled_from([(), ("bonus",)])), "at_most": draw(st.none() | AMOUNT)},
        "late": {
            "deadline": datetime(2026, 3, 8, 23, 59),
            "grace_minutes": draw(st.integers(0, 90)),
            unit: draw(PERCENT),
            "percent_of": draw(st.sampled_from(["earned", "maximum"])),
            "most_days": draw(st.none() | st.integers(0, 5)),
            "floor_percent": draw(PERCENT),
            "free_days": draw(st.integers(0, 3)),
            "flagged_days": draw(st.integers(0, 3)),
        },
    }
    if draw(st.booleans()):
        rule |= {"at_least": Decimal(low), "at_most": Decimal(high)}
    if draw(st.booleans()):
        rule["out_of"] = draw(st.integers(1, 100))
    if draw(st.booleans()):
        fault = {"question": "loop.first", "then": draw(st.sampled_from(["full", "out"])), "reason": "r"}
        rule["faulty"] = [fault] if fault["then"] == "full" else [{**fault, "question": "", "check": "hidden/loop.first"}]
    if draw(st.booleans()):
        rule["attempts"] = draw(
            st.sampled_from([{"at_most": 2, "beyond": "refused"}, {"at_most": 1, "beyond": "cost", "cost": Decimal("1.5")}])
        )
    if draw(st.booleans()):
        rule["drop"] = {"lowest": 1, "questions": draw(st.sampled_from([(), ("a", "loop.first")]))}
        rule["weights"]["questions"] = {}  # so that there are enough to drop one
        rule["weights"]["suites"] = {}
        rule["faulty"] = []
    if draw(st.booleans()):
        rule["curve"] = {"kind": "square_root"}
    if draw(st.booleans()):
        amount = draw(st.decimals(-30, 30, places=2))
        rule["adjustments"] = [{"student": "ADA@x.edu", "points": amount, "reason": "r"}]
    return Policy.model_validate(rule)


def scored(one: WorklistEntry, report: Report | None, rule: Policy) -> Score:
    """Return Ada's score."""
    return score_submission(one, report, rule, one.students[0])


@given(policies(), WORTH, MOMENT, st.lists(MOMENT, max_size=3))
@settings(max_examples=examples(200), deadline=None)
def test_steps_lead_to_points_within_the_bounds(rule: Policy, got: tuple, at: datetime, earlier: list) -> None:
    """A student can follow each step from 0 to the score, which is a multiple of what it is rounded to, within its bounds."""
    one = scored(entry("submission_1", at, earlier=tuple(earlier)), graded(got), rule)
    assert one.status == "final"
    assert one.points == sum((step.after - step.before for step in one.steps), Decimal(0))
    position = Decimal(0)
    for step in one.steps:
        assert step.before == position
        position = step.after
    assert one.points is not None
    assert rule.at_least <= one.points
    assert rule.at_most is None or one.points <= rule.at_most
    assert one.points % rule.round_to == 0
    assert Score.model_validate_json(one.model_dump_json()) == one


@given(policies(), WORTH, WORTH, MOMENT)
@settings(max_examples=examples(200), deadline=None)
def test_more_points_never_lower_a_score(rule: Policy, one: tuple, other: tuple, at: datetime) -> None:
    """Whoever passes more gets as much, at least."""
    less, more = tuple(map(min, one, other)), tuple(map(max, one, other))
    low, high = (definite(scored(entry(at=at), graded(got), rule).points) for got in (less, more))
    assert low <= high


@given(policies(), WORTH, MOMENT, MOMENT)
@example(  # 02:45, and half an hour later 02:15
    made('zone = "Europe/Berlin"\n[late]\ndeadline = 2026-10-25T02:30:00\npercent_per_day = 10'),
    FULL,
    datetime(2026, 10, 25, 0, 45, tzinfo=UTC),
    datetime(2026, 10, 25, 1, 15, tzinfo=UTC),
)
@settings(max_examples=examples(200), deadline=None)
def test_later_never_raises_a_score(rule: Policy, got: tuple, one: datetime, other: datetime) -> None:
    """No moment is better than an earlier one, whatever clocks do."""
    first, last = (definite(scored(entry(at=at), graded(got), rule).points) for at in sorted((one, other)))
    assert first >= last


@given(policies(), WORTH)
@settings(max_examples=examples(50), deadline=None)
def test_a_score_tells_what_a_student_may_know(rule: Policy, got: tuple) -> None:
    """It can be made of the student's own report, so hidden checks give nothing away."""
    report = graded(got)
    one = scored(entry(), report, rule)
    assert one == scored(entry(), report.for_student(), rule)
    assert "SECRET" not in one.model_dump_json()
    assert "SECRET" not in " ".join(one.explanation())


@given(policies(), st.sampled_from([None, "failed", "interrupted"]))
@settings(max_examples=examples(50), deadline=None)
def test_no_number_before_grading_is_final(rule: Policy, fault: str | None) -> None:
    """What is still to come, or was the grader's fault, is no 0: not by any rule, in no gradebook."""
    whole = course(entry())
    report = graded((0.0,) * 6, final=fault == "failed")
    results = {"submission_1": result("submission_1", report, "failed" if fault == "failed" else "graded") if fault else None}
    (one,) = score_class(whole, results, rule)
    assert one.status == ("not final" if fault else "pending")
    assert one.points is one.max_points is None
    assert not one.steps
    assert not one.questions
    (row,) = csv.DictReader(io.StringIO(gradebook.render_gradebook(whole, [one])))
    assert [row[name] for name in ("Total", "Max Points", "a", "loop.first", "bonus")] == [""] * 5
    assert "no points yet" in row["Explanation"]
    (row,) = csv.DictReader(io.StringIO(gradebook.render_gradescope_csv(whole, [one])))
    assert (row["Toys"], row["SID"]) == ("", "007")
    assert len(list(csv.reader(io.StringIO(gradebook.render_canvas_csv(whole, [one]))))) == 2, (
        "Canvas: only the points possible"
    )


@given(policies(), st.lists(st.tuples(WORTH, st.none() | MOMENT), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=examples(50), deadline=None)
def test_same_scores_in_any_order(rule: Policy, work: list, chance: random.Random) -> None:
    """Scores depend on nothing but outcomes, times and policy; not on the order in which a class is listed."""
    people = [Person(name=f"n{index % 4}", sid=str(index % 4)) for index in range(len(work))]
    entries = [entry(f"submission_{index}", at, people[index]) for index, (_, at) in enumerate(work)]
    results = {f"submission_{index}": result(f"submission_{index}", graded(got)) for index, (got, _) in enumerate(work)}
    expected = score_class(course(*entries), results, rule)
    assert score_class(course(*entries), results, rule) == expected
    mixed = list(entries)
    chance.shuffle(mixed)
    assert score_class(course(*mixed), dict(reversed(results.items())), rule) == expected
    assert len(expected) == min(len(work), 4)


@given(WORTH, st.integers(1, 50), st.integers(1, 200))
@settings(max_examples=examples(50), deadline=None)
def test_weights_scale(got: tuple, factor: int, out_of: int) -> None:
    """All weights times a number: so are the points and the maximum, and nothing changes in what is scaled."""
    names = ("a", '"loop.first"', "bonus")
    weights = "[weights.questions]\n" + "\n".join(f"{name} = {factor}" for name in names)
    plain, weighted = scored(entry(), graded(got), made()), scored(entry(), graded(got), made(weights))
    assert weighted.points == factor * definite(plain.points)
    assert weighted.max_points == factor * definite(plain.max_points) == factor * 25
    scaled = f"out_of = {out_of}\n"
    assert points(scaled, got=got) == points(scaled + weights, got=got)


# --- worked by hand ---


def test_points_as_they_are() -> None:
    """Without a policy nothing is changed, and sums of decimals are the sums that a person makes."""
    one = scored(entry(), graded((0.1, 0.2, 0.0, 0.0, 0.0, 0.0)), made())
    assert one.points == Decimal("0.3")
    assert one.max_points == 25
    assert one.questions == {"a": Decimal("0.3"), "loop.first": 0, "bonus": 0}
    assert one.outcomes == {"failed": 6}
    assert one.explanation() == [
        "Alpha: 0.3 of 10 points: +0.3, makes 0.3",
        "Loop: 0 of 10 points",
        "Bonus: 0 of 5 points",
        "0.3 of 25 points",
    ]


WORK = (6.0, 4.0, 5.0, 0.0, 3.0, 1.0)  # Alpha 10 of 10, Loop 5 of 10, Bonus 4 of 5: 19 of 25


@pytest.mark.parametrize(
    ("text", "expected", "maximum"),
    [
        ("", "19", "25"),
        ("out_of = 100", "76", "100"),
        ("out_of = 10\nround_to = 0.5", "7.5", "10"),  # 7.6
        ("out_of = 30\nround_to = 0.1", "22.8", "30"),
        ("[weights.questions]\na = 2\n[weights.suites]\nhidden = 0.5", "24.5", "27.5"),  # 16 + 5 + 3.5
        ('[extra]\nquestions = ["bonus"]', "19", "20"),
        ('[extra]\nquestions = ["bonus"]\nat_most = 2.5', "17.5", "20"),
        ('out_of = 100\n[extra]\nquestions = ["bonus"]', "95", "100"),  # (15 + 4) · 5
        ('out_of = 100\nat_most = 90\n[extra]\nquestions = ["bonus"]\nat_most = 18', "90", "100"),
        ('[extra]\nchecks = ["hidden/a"]', "19", "21"),
        ('[[faulty]]\nquestion = "loop.first"\nthen = "full"\nreason = "r"', "24", "25"),
        ('[[faulty]]\nquestion = "loop.first"\nthen = "out"\nreason = "r"', "14", "15"),
        ('[[faulty]]\ncheck = "hidden/loop.first"\nthen = "out"\nreason = "r"', "19", "20"),
        ('[[faulty]]\nquestion = "bonus"\nthen = "full"\nreason = "r"\n[extra]\nquestions = ["bonus"]', "20", "20"),
        ("at_least = 20", "20", "25"),
        ("at_most = 18.5", "18.5", "25"),
        ('[[adjustments]]\nstudent = "ada@X.edu "\npoints = -2.5\nreason = "r"', "16.5", "25"),
        ('[[adjustments]]\nstudent = "007"\npoints = 1\nreason = "r"', "20", "25"),
        ('[[adjustments]]\nstudent = "submission_1"\npoints = 1\nreason = "r"', "20", "25"),
        ('[[adjustments]]\nstudent = "Ada Lovelace"\npoints = 1\nreason = "names are shared"', "19", "25"),
        ('[[adjustments]]\nstudent = "007"\npoints = -50\nreason = "r"', "0", "25"),
    ],
)
def test_worked_examples(text: str, expected: str, maximum: str) -> None:
    """Each rule, worked by hand."""
    one = scored(entry(), graded(WORK), made(text))
    assert (one.points, one.max_points) == (Decimal(expected), Decimal(maximum))


@pytest.mark.parametrize(("got", "expected"), [(2.49, "2"), (2.5, "3"), (3.5, "4"), (0.5, "1"), (0.49, "0")])
def test_rounds_up_from_halfway(got: float, expected: str) -> None:
    """Not to even numbers, as Python would: 2.5 makes 3, and so does 3.5 make 4."""
    assert points("round_to = 1", got=(got, 0, 0, 0, 0, 0)) == Decimal(expected)


def test_rounding_is_of_the_exact_number() -> None:
    """A third of a point is never rounded twice: 3 · 1/3 is 1, and 0.4999999 of a step is less than a half."""
    assert points("out_of = 1\nround_to = 0.01", got=(6, 4, 5, 0, 0, 0)) == Decimal("0.6")
    assert points("round_to = 1\n[weights.questions]\na = 0.249999", got=(2, 0, 0, 0, 0, 0)) == 0
    assert points("round_to = 0.1", got=(0.35, 0, 0, 0, 0, 0)) == Decimal("0.4"), "the float is a little less"
    assert points("round_to = 1\n[weights.questions]\na = 0.25", got=(2, 0, 0, 0, 0, 0)) == 1


BERLIN = 'zone = "Europe/Berlin"\n[late]\n'
TEN = "percent_per_day = 10\n"


@pytest.mark.parametrize(
    ("rules", "at", "expected"),
    [
        # 2026-03-01 23:59 in Berlin is 22:59 UTC: at that very moment it is on time.
        ("deadline = 2026-03-01T23:59:00\n" + TEN, "2026-03-01T22:59:00+00:00", "25"),
        ("deadline = 2026-03-01T23:59:00\n" + TEN, "2026-03-01T22:59:00.000001+00:00", "22.5"),
        ("deadline = 2026-03-01T23:59:00+01:00\n" + TEN, "2026-03-01T17:59:00-05:00", "25"),
        ("deadline = 2026-03-01T23:59:00\n" + TEN, "2026-03-02T22:59:00+00:00", "22.5"),
        ("deadline = 2026-03-01T23:59:00\n" + TEN, "2026-03-02T22:59:01+00:00", "20"),
        # Clocks are put forward on 2026-03-29: that day has 23 hours, and ends at 21:59 UTC.
        ("deadline = 2026-03-28T23:59:00\n" + TEN, "2026-03-29T21:59:00+00:00", "22.5"),
        ("deadline = 2026-03-28T23:59:00\n" + TEN, "2026-03-29T22:30:00+00:00", "20"),
        # Clocks are put back on 2026-10-25: that day has 25 hours, and ends at 22:59 UTC.
        ("deadline = 2026-10-24T23:59:00\n" + TEN, "2026-10-25T22:59:00+00:00", "22.5"),
        ("deadline = 2026-10-24T23:59:00\n" + TEN, "2026-10-25T22:59:01+00:00", "20"),
        # 02:30 is there twice on 2026-10-25: the first one is meant; an offset can say the second one.
        ("deadline = 2026-10-25T02:30:00\n" + TEN, "2026-10-25T00:30:01+00:00", "22.5"),
        ("deadline = 2026-10-25T02:30:00+01:00\n" + TEN, "2026-10-25T01:30:00+00:00", "25"),
        ("deadline = 2026-10-25T02:30:00+01:00\n" + TEN, "2026-10-25T01:30:01+00:00", "22.5"),
        # Grace puts off the deadline, and the end of each day.
        ("deadline = 2026-03-01T23:59:00\ngrace_minutes = 15\n" + TEN, "2026-03-01T23:14:00+00:00", "25"),
        ("deadline = 2026-03-01T23:59:00\ngrace_minutes = 15\n" + TEN, "2026-03-01T23:14:01+00:00", "22.5"),
        ("deadline = 2026-03-01T23:59:00\ngrace_minutes = 15\n" + TEN, "2026-03-02T23:14:00+00:00", "22.5"),
        ("deadline = 2026-03-01T23:59:00\npoints_per_day = 4\n", "2026-03-03T12:00:00+00:00", "17"),
        ("deadline = 2026-03-01T23:59:00\npoints_per_day = 20\n", "2026-03-03T12:00:00+00:00", "0"),
        ("deadline = 2026-03-01T23:59:00\nmost_days = 2\n" + TEN, "2026-03-03T12:00:00+00:00", "20"),
        ("deadline = 2026-03-01T23:59:00\nmost_days = 2\n" + TEN, "2026-03-04T12:00:00+00:00", "0"),
        ("deadline = 2026-03-01T23:59:00\nmost_days = 2\nfloor_percent = 50\n" + TEN, "2026-03-04T12:00:00+00:00", "12.5"),
        ("deadline = 2026-03-01T23:59:00\nfloor_percent = 50\n" + TEN, "2026-06-01T12:00:00+00:00", "12.5"),
        ("deadline = 2026-03-01T23:59:00\nfree_days = 2\n" + TEN, "2026-03-03T12:00:00+00:00", "25"),
        ("deadline = 2026-03-01T23:59:00\nfree_days = 2\n" + TEN, "2026-03-04T12:00:00+00:00", "22.5"),
        ("deadline = 2026-03-01T23:59:00\nfree_days = 2\nmost_days = 1\n" + TEN, "2026-03-05T12:00:00+00:00", "0"),
    ],
)
def test_late_days_by_hand(rules: str, at: str, expected: str) -> None:
    """Days by the clock of the course, at exact boundaries, where clocks are changed, and each way to charge for them."""
    assert points(BERLIN + rules, datetime.fromisoformat(at)) == Decimal(expected)


def test_late_percent_of_the_maximum() -> None:
    """Ten percent of 25 a day, whatever was earned; but never more than there is."""
    rules = BERLIN + "deadline = 2026-03-01T23:59:00\npercent_of = 'maximum'\n" + TEN
    assert points(rules, DUE + timedelta(hours=30), WORK) == 14
    assert points(rules, DUE + timedelta(days=200), WORK) == 0


@pytest.mark.parametrize(
    ("student", "grant", "expected"),
    [
        ("ADA@x.edu", "days = 1", "22.5"),
        ("007", "days = 2", "25"),
        ("submission_1", "until = 2026-03-03T12:00:00", "25"),
        ("007", "until = 2026-03-03T11:00:00", "22.5"),
        ("7", "days = 9", "20"),  # another number
    ],
)
def test_extensions(student: str, grant: str, expected: str) -> None:
    """An extension is for the one whom it names, and says so."""
    text = f'{BERLIN}deadline = 2026-03-01T23:59:00\n{TEN}[[extensions]]\nstudent = "{student}"\n{grant}\nreason = "ill"'
    one = scored(entry(at=datetime(2026, 3, 3, 11, tzinfo=UTC)), graded(), made(text))
    assert one.points == Decimal(expected)
    assert ("with an extension (ill)" in " ".join(one.explanation())) == (student != "7")


@pytest.mark.parametrize(
    ("late", "rules", "expected", "said"),
    [
        (True, "", "22.5", "late (the platform gives no time): counts as 1 day; 10 % of the points off per day"),
        (True, "flagged_days = 2", "20", "counts as 2 days"),
        (True, "free_days = 1", "25", "counts as 1 day, 1 of them free"),
        (True, "[[extensions]]\nstudent = '007'\ndays = 1\nreason = 'ill'", "25", "counts as on time"),
        (False, "", "25", None),
        (None, "", "25", "no time of submission: counts as on time"),
    ],
)
def test_late_without_a_time(late: bool | None, rules: str, expected: str, said: str | None) -> None:
    """Canvas says that it was late, not by how much; a folder of files says nothing. Whatever is taken for true is told."""
    text = f"[late]\ndeadline = 2026-03-01T23:59:00+01:00\n{TEN}{rules}"
    one = scored(entry(at=None, late=late), graded(), made(text))
    assert one.points == Decimal(expected)
    told = " ".join(one.explanation())
    assert said in told if said else "late" not in told


HISTORY = tuple(datetime(2026, 2, 27, 22, 30, tzinfo=UTC) + timedelta(hours=hours) for hours in (0, 1, 2))


@pytest.mark.parametrize(
    ("rules", "earlier", "expected"),
    [
        ("at_most = 4\nbeyond = 'refused'", HISTORY, "25"),
        ("at_most = 3\nbeyond = 'refused'", HISTORY, "0"),
        ("at_most = 2\nbeyond = 'cost'\ncost = 1.5", HISTORY, "22"),
        ("at_most = 2\nbeyond = 'cost'\ncost = 20", HISTORY, "0"),
        # In Berlin it was 23:30, 00:30, 01:30 and, days later, the last one.
        ("per_day = 1\nbeyond = 'cost'\ncost = 1", HISTORY, "24"),
        ("per_day = 1\nbeyond = 'cost'\ncost = 1", HISTORY[:2], "25"),  # one day in UTC, two in Berlin
        ("per_day = 1\nbeyond = 'refused'", HISTORY, "25"),
        ("per_day = 1\nbeyond = 'refused'", (DUE - timedelta(hours=1),), "0"),
    ],
)
def test_attempts(rules: str, earlier: tuple, expected: str) -> None:
    """Attempts beyond the limits cost what the policy says, or the last one is refused if it is beyond them."""
    one = scored(entry(earlier=earlier), graded(), made(f'zone = "Europe/Berlin"\n[attempts]\n{rules}'))
    assert one.points == Decimal(expected)
    assert ("refused" in " ".join(one.explanation())) == ("refused" in rules and expected == "0")


def test_attempts_in_words() -> None:
    """Catches: "5 beyond", with which a student cannot find out which limit was exceeded."""
    rules = "[attempts]\nat_most = 2\nbeyond = 'cost'\ncost = 1.5"
    found = scored(entry(earlier=HISTORY), graded(), made(f'zone = "Europe/Berlin"\n{rules}')).explanation()
    said = "attempt 4 (allowed: 2 in all): 1.5 points off for each attempt beyond the limit (2 attempts): -3, makes 22"
    assert said in found


def test_everything_at_once_in_words() -> None:
    """What a student reads: each rule in its place, from 0 to the points."""
    text = """
        out_of = 100
        round_to = 0.5
        at_most = 105
        zone = "Europe/Berlin"
        [weights.questions]
        "loop.first" = 2
        [extra]
        questions = ["bonus"]
        [[faulty]]
        check = "hidden/loop.first"
        then = "full"
        reason = "it asked for what nobody taught"
        [late]
        deadline = 2026-03-01T23:59:00
        percent_per_day = 10
        free_days = 1
        [[adjustments]]
        student = "ada@x.edu"
        points = 1.2
        reason = "asked a good question"
    """
    one = scored(entry(at=DUE + timedelta(days=1, hours=1)), graded(WORK), made(text))
    assert one.explanation() == [
        "Alpha: 10 of 10 points: +10, makes 10",
        "Loop: 10 of 20 points: +10, makes 20",
        "Loop, It is hiddenly right.: full marks for all, because it asked for what nobody taught: +10, makes 30",
        "scaled from 30 to 100 points: +70, makes 100",
        "extra credit, Bonus: 13.333333 of 16.666667 points: +13.333333, makes 113.333333",
        "at most 105 points: -8.333333, makes 105",
        "submitted 2 days late, 1 of them free; 10 % of the points off per day: -10.5, makes 94.5",
        "asked a good question: +1.2, makes 95.7",
        "rounded to 0.5: -0.2, makes 95.5",
        "95.5 of 100 points",
    ]


# --- a class ---

BOB = Person(name="Bob", email="bob@x.edu", sid="8")
ADA = Person(name="Ada Lovelace", email="ada@x.edu", sid="007")


def test_each_student_of_a_group_and_the_newest_of_several() -> None:
    """Everybody gets one row; of several submissions the newest counts, even if it is still to be graded."""
    again = ADA.model_copy(update={"email": "Ada@X.edu"})
    entries = [
        entry("submission_9", DUE, ADA, BOB),
        entry("submission_10", DUE, again),
        entry("submission_11", DUE - timedelta(days=1), BOB),
        entry("submission_12", None, Person(name="Ada Lovelace")),
    ]
    rows = score_class(course(*entries), {"submission_9": result("submission_9", graded(WORK))}, made())
    found = [(row.student.name, row.entry, row.points, row.replaces) for row in rows]
    assert found == [
        ("Bob", "submission_9", Decimal(19), ("submission_11",)),
        ("Ada Lovelace", "submission_10", None, ("submission_9",)),  # the same time: the id that comes last
        ("Ada Lovelace", "submission_12", None, ()),  # a name alone does not make it hers
    ]
    assert rows[0].explanation()[:3] == [
        "the newest of 2 submissions counts",
        "submission_11 of 2026-02-28 22:59 +0000: no points yet, does not count",
        "submission_9 of 2026-03-01 22:59 +0000: 19 points, counts",
    ]
    assert rows[1].explanation()[2:] == [
        "submission_10 of 2026-03-01 22:59 +0000: no points yet, counts",
        "there are no points yet: the submission is not graded yet",
    ]


def test_what_is_for_one_of_a_group_is_not_for_the_others() -> None:
    """A submission's id means all who handed it in, an email only one of them."""
    text = "".join(
        f'[[adjustments]]\nstudent = "{name}"\npoints = {number}\nreason = "r"\n'
        for name, number in (("submission_1", -1), ("bob@x.edu", -5), ("nobody@x.edu", -9))
    )
    whole = course(entry("submission_1", DUE, ADA, BOB))
    rows = score_class(whole, {"submission_1": result("submission_1", graded())}, made(text))
    assert [row.points for row in rows] == [24, 19]
    assert scoring.find_unscored_students(whole, rows, made(text)) == ["nobody@x.edu"]


def test_the_id_of_an_older_submission_is_nobody() -> None:
    """An extension, or a penalty, for a submission that no longer counts must not be lost in silence."""
    whole = course(entry("submission_1", DUE, ADA), entry("submission_2", DUE + timedelta(hours=1), ADA))
    graded_twice = {name: result(name, graded()) for name in ("submission_1", "submission_2")}
    rule = made('[[adjustments]]\nstudent = "submission_1"\npoints = -2\nreason = "r"\n')
    assert scoring.find_unscored_students(whole, score_class(whole, graded_twice, rule), rule) == ["submission_1"]


def test_an_email_of_spaces_is_nobodys() -> None:
    """Two students must not become one, of whom one is in no gradebook."""
    people = [Person(name=name, email=" ", sid=sid) for name, sid in (("P", "11"), ("Q", "12"))]
    whole = course(*(entry(f"submission_{number}", DUE, one) for number, one in enumerate(people)))
    assert [row.student.name for row in score_class(whole, {}, made())] == ["P", "Q"]


def test_a_class_without_names() -> None:
    """Where an export names nobody, each submission is a row."""
    whole = course(*(WorklistEntry(id=name, path=name) for name in ("b", "a")))
    rows = score_class(whole, {"a": result("a", graded())}, made())
    assert [(row.entry, row.points) for row in rows] == [("a", 25), ("b", None)]
    assert gradebook.render_gradebook(whole, rows).splitlines()[1].startswith("a,,,,25,25,10,10,5,6,")


# --- files ---


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("out_off = 3", "out_off: there is no key 'out_off' here; did you mean 'out_of'?"),
        ("grades = 3", "grades: there is no key 'grades' here; there are: out_of, at_least, at_most, round_to, zone,"),
        (
            "[late]\npercent_a_day = 3",
            "late.percent_a_day: there is no key 'percent_a_day' here; did you mean 'percent_per_day'?",
        ),
        ("[late]\nout_of = 3", "there is no key 'out_of' here; it belongs at the top of the file, above the first [section]"),
        ("[[adjustment]]\npoints = 1", "adjustment: there is no key 'adjustment' here; did you mean 'adjustments'?"),
        (
            "[[adjustments]]\nstudents = 'x'\npoints = 1\nreason = 'r'",
            "adjustments.0.students: there is no key 'students' here; did you mean 'student'?",
        ),
        ("[adjustments]\npoints = 1", "adjustments: expected a list; write [[adjustments]] in double brackets"),
        ("[[late]]\nfree_days = 1", "late: expected a table, found a list"),
        ("out_of = 0", "out_of: expected a number greater than 0, found 0"),
        ("out_of = inf", "out_of: expected a finite number, found"),
        ("out_of = true", "out_of: expected a number, found True"),
        ('out_of = "100"', "out_of: expected a number, found '100'"),
        ("round_to = 1e-300", "round_to: expected no more than"),
        ("round_to = 0", "round_to: expected a number greater than 0, found 0"),
        ("at_most = 99.7\nround_to = 0.5", "at_most: 99.7 is not a multiple of round_to, 0.5"),
        ("at_most = 1\nat_least = 2", "at_most: 1 is below at_least, 2"),
        ("at_least = -1", "at_least: expected a number greater than or equal to 0, found -1"),
        ('zone = "Europe/Atlantis"', "zone: there is no 'Europe/Atlantis' here"),
        ('zone = "../../etc/passwd"', "zone: there is no"),
        ('zone = "Europe"', "zone: there is no"),
        (
            "[weights.questions]\nloop.first = 2",
            "weights.questions.loop: expected a number, found a table; an id that contains a dot",
        ),
        ("[weights.questions]\na = -1", "weights.questions.a: expected a number greater than or equal to 0"),
        ("[weights.suites]\nsecret = 1", "weights.suites.secret: expected 'visible' or 'hidden', found 'secret'"),
        ("[late]\ndeadline = 2026-03-01", "late.deadline: expected a date with a time"),
        ("[late]\ndeadline = 1772000000", "late.deadline: expected a date with a time"),
        ("[late]\ndeadline = 2026-03-01T23:59:00", "late.deadline: write an offset"),
        ("[late]\npercent_per_day = 101", "late.percent_per_day: expected a number less than or equal to 100"),
        (
            "[late]\npercent_per_day = 1\npoints_per_day = 1",
            "late: expected either percent_per_day or points_per_day, found both",
        ),
        ("[late]\nmost_days = 1.5", "late.most_days: expected a valid integer, found 1.5"),
        (
            "[late]\n[[extensions]]\nstudent = 'x'\nreason = 'r'",
            "extensions.0: expected exactly one of days, minutes and until",
        ),
        ("[late]\n[[extensions]]\nstudent = 'x'\ndays = 1", "extensions.0.reason: expected a value, found none"),
        (
            "[late]\n[[extensions]]\nstudent = 7\ndays = 1\nreason = 'r'",
            "extensions.0.student: expected a valid string, found 7",
        ),
        ("[[extensions]]\nstudent = 'x'\ndays = 1\nreason = 'r'", "extensions: there is no [late]"),
        (
            "[late]\ndeadline = 2026-03-01T23:59:00Z\n"
            "[[extensions]]\nstudent = 'x'\nuntil = 2026-03-01T23:59:00+01:00\nreason = 'r'",
            "extensions.0.until: 2026-03-01 23:59:00+01:00 is before the deadline",
        ),
        ("[late]\n[[extensions]]\nstudent = 'x'\nuntil = 9999-12-31T23:59:00-05:00\nreason = 'r'", "date value out of range"),
        ("[attempts]\nat_most = 3", 'attempts: expected beyond = "cost" or "refused" if at_most or per_day is set'),
        ("[attempts]\ncounts = 'best'\nbeyond = 'refused'", "attempts: expected beyond"),
        ("[attempts]\ncounts = 'first'", "attempts.counts: expected 'newest' or 'best', found 'first'"),
        ("[curve]\nkind = 'mean'", 'curve: expected a mean with kind = "mean"'),
        ("[curve]\nkind = 'square_root'\nmean = 70", 'curve: expected a mean with kind = "mean"'),
        ("[curve]\nkind = 'cubic'", "curve.kind: expected 'square_root' or 'mean', found 'cubic'"),
        ("[drop]\nlowest = 0", "drop.lowest: expected a number greater than or equal to 1"),
        ("[late]\nextensions_file = '../e.csv'", "late: extensions_file: expected the name of a CSV file beside the policy"),
        ("[attempts]\nat_most = 3\nbeyond = 'cost'", "attempts: expected a cost above 0"),
        ("[attempts]\nper_day = 3\nbeyond = 'refused'", "attempts.per_day: set zone"),
        ("[[faulty]]\nthen = 'full'\nreason = 'r'", "faulty.0: expected either question or check"),
        ("[[faulty]]\nquestion = 'a'\nthen = 'gone'\nreason = 'r'", "faulty.0.then: expected 'full' or 'out', found 'gone'"),
        ("[[faulty]]\nquestion = 'a'\nthen = 'out'\nreason = 'r'\n" * 2, "faulty: listed twice: a"),
        ("[[adjustments]]\nstudent = 'x'\npoints = 1", "adjustments.0.reason: expected a value, found none"),
        ("out_of =", "not valid TOML"),
    ],
)
def test_a_wrong_policy_names_the_field(tmp_path: Path, text: str, said: str) -> None:
    """A policy that says something else than was meant must not be applied."""
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_a_policy_that_cannot_be_read(tmp_path: Path) -> None:
    """What is missing, or no text, is said; the mark that Windows' editor sets is no fault."""
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none.toml")
    (tmp_path / "p.toml").write_bytes(b"reason = '\xff'")
    with pytest.raises(UsageError, match="not UTF-8"):
        load(tmp_path / "p.toml")
    (tmp_path / "p.toml").write_bytes(b"\xef\xbb\xbfout_of = 7\r\n")
    assert load(tmp_path / "p.toml").out_of == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[weights.questions]\nb = 2", "weights.questions.b: the class has no 'b'; there are: a, bonus, loop.first"),
        ("[extra]\nquestions = ['x']", "extra.questions.0"),
        ("[extra]\nchecks = ['x']", "extra.checks.0"),
        ("[drop]\nlowest = 1\nquestions = ['b']", "drop.questions.0: the class has no 'b'"),
        ("[drop]\nlowest = 3", "drop.lowest: expected less than the number of questions to choose from, 3; found 3"),
        ("[curve]\nkind = 'mean'\nmean = 26", "curve.mean: 26 is above the maximum of 25 points"),
        ("[[faulty]]\ncheck = 'x'\nthen = 'out'\nreason = 'r'", "faulty.0.check"),
        ("out_of = 5\n[extra]\nquestions = ['a', 'loop.first', 'bonus']", "out_of: there are no points to scale"),
    ],
)
def test_a_policy_of_another_assignment(text: str, said: str) -> None:
    """A misspelled question would otherwise count as ever, and nobody would see it."""
    with pytest.raises(UsageError) as caught:
        score_class(course(entry()), {"submission_1": result("submission_1", graded())}, made(text))
    assert str(caught.value).startswith(said)


HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "＝1",
    'a"b',
    "a,b",
    "a\nb",
    "x\0y",
    "\u202egnp",
    "Zoë 李",
    "'",
    "-",
]


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=8), min_size=3, max_size=3))
@settings(max_examples=examples(100), deadline=None)
@example(["=cmd|'/C calc'!A0", "=x@y", "-7"])
@example(["Ada;=1+1", 'Ada; "=1+1"', "7\t@8"])
@example(["Ada", "x@y", '"=1+1'])
def test_no_cell_is_a_formula(texts: list[str]) -> None:
    """Names come from students: none starts a formula or breaks a row, in any of the files; numbers stay numbers."""
    student = Person(name=texts[0], email=texts[1], sid=texts[2])
    whole = course(entry("submission_1", DUE, student))
    rows = score_class(whole, {"submission_1": result("submission_1", graded())}, made())
    for text, lines in (
        (gradebook.render_gradebook(whole, rows), 2),
        (gradebook.render_gradescope_csv(whole, rows), 2),
        (gradebook.render_canvas_csv(whole, rows), 3),
    ):
        text.encode()
        assert "\r" not in text
        assert text.count("\n") == lines
        table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert len({len(row) for row in table}) == 1
        for cell in table[-1]:
            assert not cell.lstrip().startswith(FORMULA)
        assert not re.search(r"[;\t][\s\"]*[=+@＝＋－＠-]", text), "a formula where semicolons or tabs separate"
        assert "25" in table[-1]
        for separator in ",;\t":
            read = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            assert not [cell for row in read for cell in row if cell.lstrip(' "').startswith(FORMULA)]


def test_negative_numbers_stay_numbers() -> None:
    """A leading quote would make a text of a number."""
    assert gradebook._cell(Decimal("-1.50")) == "-1.50"
    assert gradebook._cell("-1.50") == "'-1.50"


def test_gradebooks_by_column() -> None:
    """What each platform reads, read again."""
    one = entry("submission_44", DUE, ADA, earlier=(DUE - timedelta(days=1),))
    whole = course(one, entry("submission_45", None, BOB))
    rows = score_class(whole, {"submission_44": result("submission_44", graded(WORK))}, made("out_of = 100"))
    first, second = csv.DictReader(io.StringIO(gradebook.render_gradebook(whole, rows)))
    told = [first[name] for name in ("Submission", "Name", "Email", "SID", "Total", "Max Points", "a", "loop.first", "bonus")]
    assert told == ["submission_44", "Ada Lovelace", "ada@x.edu", "007", "76", "100", "10", "5", "4"]
    told = [first[name] for name in ("passed", "failed", "not run", "Submitted", "Days Late", "Attempts", "Status")]
    assert told == ["4", "2", "0", "2026-03-01T22:59:00+00:00", "", "2", "final"]
    assert first["Explanation"] == "; ".join(rows[0].explanation())
    assert (second["Total"], second["passed"], second["Status"]) == ("", "", "pending")
    table = list(csv.reader(io.StringIO(gradebook.render_gradescope_csv(whole, rows))))
    assert table[0][:4] == ["First Name", "Last Name", "SID", "Email"]
    assert table[0][4:] == ["Toys", "Toys - Max Points", "Toys - Submission Time", "Toys - Lateness (H:M:S)"]
    assert table[1] == ["Ada", "Lovelace", "007", "ada@x.edu", "76", "100", "2026-03-01 22:59:00 +0000", ""]
    assert table[2] == ["Bob", "", "8", "bob@x.edu", "", "100", "", ""]
    late = score_class(whole, {}, made("[late]\ndeadline = 2026-02-28T21:58:53Z"))
    table = list(csv.reader(io.StringIO(gradebook.render_gradescope_csv(whole, late))))
    assert [row[-1] for row in table[1:]] == ["25:00:07", ""], "hours are not limited to a day"
    table = list(csv.reader(io.StringIO(gradebook.render_canvas_csv(whole, rows, "Toys (12)"))))
    assert table == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Toys (12)"],
        ["    Points Possible", "", "", "", "", "100"],
        ["Ada Lovelace", "", "007", "ada@x.edu", "", "76"],
    ]
    flat = course(entry("doejane_77", None, Person(name="doejane", sid="77"), late=True), layout="canvas")
    rows = score_class(flat, {"doejane_77": result("doejane_77", graded())}, made())
    assert list(csv.reader(io.StringIO(gradebook.render_canvas_csv(flat, rows))))[2] == ["doejane", "77", "", "", "", "25"]
    (row,) = csv.DictReader(io.StringIO(gradebook.render_gradebook(flat, rows)))
    assert row["Days Late"] == "late"


# --- regrade ---


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    """A class of three, of which one is still to be graded."""
    folder = ResultsFolder(tmp_path / "class")
    late = DUE + timedelta(hours=5)
    folder.write_course(
        course(entry("submission_1"), entry("submission_2", late, BOB), entry("submission_3", DUE, Person(sid="3")))
    )
    folder.write(result("submission_1", graded(WORK)))
    folder.write(result("submission_2", graded(WORK)))
    return folder


def policy_file(folder: ResultsFolder, text: str) -> Path:
    """Write a policy beside the class."""
    path = folder.path.with_name("policy.toml")
    path.write_bytes(text.encode())
    return path


def contents(path: Path) -> dict[str, bytes]:
    """Return all files of a folder, but those of the history."""
    files = (file for file in path.rglob("*") if file.is_file() and file.parent.name != rescore.HISTORY)
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


LATE = "# späte Abgabe\r\n[late]\r\ndeadline = 2026-03-01T23:59:00+01:00\r\npercent_per_day = 10\r\n"


def test_regrade_says_whose_score_moved_and_why(folder: ResultsFolder) -> None:
    """At first from points as they are; only what moves is told; the policy is kept to the byte."""
    changes = rescore.rescore(folder, policy_file(folder, LATE)).changes
    assert [(one.who, one.before, one.after) for one in changes] == [("Bob", Decimal(19), Decimal("17.1"))]
    assert changes[0].why == (
        "the policy changed",
        "+ submitted 1 day late; 10 % of the points off per day (-1.9)",
    )
    assert (folder.path / "policy.toml").read_bytes() == LATE.encode()
    stored = rescore.read_scores(folder)
    assert stored is not None
    assert stored.policy == LATE
    assert [one.points for one in stored.scores] == [19, Decimal("17.1"), None]
    books = {name for name in contents(folder.path) if name.endswith(".csv")}
    assert books == {"gradebook.csv", "gradescope.csv", "canvas.csv"}


def test_regrade_twice_changes_nothing(folder: ResultsFolder) -> None:
    """The same policy again, by name or by what was kept, leaves every byte and no history."""
    rescore.rescore(folder, policy_file(folder, LATE))
    before = contents(folder.path)
    for file in (policy_file(folder, LATE), folder.path / "policy.toml", None):
        assert rescore.rescore(folder, file).changes == []
        assert contents(folder.path) == before
    assert not (folder.path / rescore.HISTORY).exists()


def test_the_old_policy_brings_the_old_scores(folder: ResultsFolder) -> None:
    """Nothing is lost by trying a policy: the old one restores each file, and the history has what was replaced."""
    rescore.rescore(folder, policy_file(folder, LATE))
    before = contents(folder.path)
    changes = rescore.rescore(folder, policy_file(folder, "out_of = 100\n")).changes
    assert {one.who: (one.before, one.after) for one in changes} == {"Ada Lovelace": (19, 76), "Bob": (Decimal("17.1"), 76)}
    back = rescore.rescore(folder, policy_file(folder, LATE)).changes
    assert [(one.after, one.before) for one in back] == [(one.before, one.after) for one in changes]
    assert contents(folder.path) == before
    kept = sorted((folder.path / rescore.HISTORY).iterdir())
    assert [path.name for path in kept] == ["scores-0001.json", "scores-0002.json"]
    assert kept[0].read_bytes() == before["scores.json"]
    assert rescore.rescore(folder, policy_file(folder, "")).changes[0].after == 19
    assert (folder.path / "policy.toml").read_bytes() == b""


@given(policies(), policies())
@settings(max_examples=examples(8), deadline=None)
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, one: Policy, other: Policy) -> None:
    """For any two policies: what the second one changes, the first one takes back exactly."""
    whole = course(entry("submission_1"), entry("submission_2", DUE + timedelta(days=9), BOB))
    results = {name: result(name, graded(WORK)) for name in ("submission_1", "submission_2")}
    first, second = score_class(whole, results, one), score_class(whole, results, other)
    away = rescore._changes(first, first, second, second)
    again = score_class(whole, results, one)
    back = rescore._changes(second, second, again, again)
    assert [(change.entry, change.after, change.before) for change in away] == [
        (change.entry, change.before, change.after) for change in back
    ]


def test_results_that_changed_are_told_from_the_policy(folder: ResultsFolder) -> None:
    """Who was graded meanwhile, or again, did not move by the policy."""
    file = policy_file(folder, LATE)
    rescore.rescore(folder, file)
    folder.write(result("submission_1", graded()))
    folder.write(result("submission_3", graded((0.0,) * 6)))
    changes = {one.entry: one for one in rescore.rescore(folder, file).changes}
    assert changes["submission_1"].why[0] == "its results changed"
    assert "+ Loop: 10 of 10 points (+10)" in changes["submission_1"].why
    assert changes["submission_3"].why == ("its results changed", "it was pending, and is final")
    assert changes["submission_3"].after == 0
    assert "submission_2" not in changes
    folder.write(result("submission_2", graded(final=False)))
    (change,) = rescore.rescore(folder, policy_file(folder, "out_of = 25")).changes
    assert (change.entry, change.before, change.after) == ("submission_2", Decimal("17.1"), None)
    assert change.why == ("its results changed", "it was final, and is not final")


def test_a_class_that_changed(folder: ResultsFolder) -> None:
    """Who came, who went, and who handed in again."""
    rescore.rescore(folder)
    folder.write_course(
        course(entry("submission_1"), entry("submission_4", DUE, BOB), entry("submission_5", DUE, Person(sid="5")))
    )
    folder.write(result("submission_4", graded()))
    told = {one.entry: (one.before, one.after, one.why[0]) for one in rescore.rescore(folder).changes}
    assert told == {
        "submission_4": (19, 25, "another submission counts, not submission_2"),
        "submission_5": (None, None, "new in the class"),
        "submission_3": (None, None, "no longer in the class"),
    }


def test_a_wrong_policy_leaves_all_as_it_was(folder: ResultsFolder) -> None:
    """Nothing is written before everything is known to be right."""
    rescore.rescore(folder, policy_file(folder, LATE))
    before = contents(folder.path)
    for text in ("out_of = -1", "[weights.questions]\nnone = 1"):
        with pytest.raises(UsageError):
            rescore.rescore(folder, policy_file(folder, text))
        assert contents(folder.path) == before


def test_ended_before_the_scores_were_written(folder: ResultsFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends it on the way: the next run tells the same changes, and keeps the old scores once."""
    rescore.rescore(folder, policy_file(folder, LATE))
    file = policy_file(folder, "out_of = 100")

    def fails(path: Path, text: str) -> None:
        if path.name == "scores.json":
            raise KeyboardInterrupt
        write_atomically(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(rescore, "write_atomically", fails)
        with pytest.raises(KeyboardInterrupt):
            rescore.rescore(folder, file)
    assert [(one.before, one.after) for one in rescore.rescore(folder, file).changes] == [(19, 76), (Decimal("17.1"), 76)]
    assert len(list((folder.path / rescore.HISTORY).iterdir())) == 1


def test_preview(folder: ResultsFolder) -> None:
    """Catches: a preview that writes something, or says something other than what then happens."""
    rescore.rescore(folder)
    before, file = contents(folder.path), policy_file(folder, LATE)
    *said, last = rescore.preview_rescoring(folder, file)
    assert contents(folder.path) == before
    assert not (folder.path / rescore.HISTORY).exists()
    assert last == "nothing changed yet: scores and pages are as before; leave out --preview to apply this"
    *told, _ = rescore.rescore_and_report(folder, file)
    assert said == told
    assert contents(folder.path) != before


def test_lines_for_a_terminal(folder: ResultsFolder) -> None:
    """Whose score moved, who has none, whom the policy misspells, and what was written."""
    text = LATE + "[[adjustments]]\nstudent = 'bbo@x.edu'\npoints = 1\nreason = 'r'\n"
    told = list(rescore.rescore_and_report(folder, policy_file(folder, text)))
    assert told == [
        "Bob (submission_2): 19 -> 17.1",
        "    the policy changed",
        "    + submitted 1 day late; 10 % of the points off per day (-1.9)",
        "1 of 3 scores changed: 0 rise, 1 fall",
        "1 without points (pending): submission_3; run `course` again",
        "the policy names students without a score: bbo@x.edu (do you mean bob@x.edu?); check the spelling. "
        "The id of a submission is valid only while that submission counts",
        f"wrote scores.json, gradebook.csv, gradescope.csv, canvas.csv, policy.toml to {folder.path}",
    ]


def test_a_pending_score_is_not_computed(folder: ResultsFolder) -> None:
    """Catches: "3 scores computed" of a class in which one has no points yet."""
    assert next(iter(rescore.rescore_and_report(folder))) == "2 of 3 scores computed"


def test_damaged_scores_are_said(folder: ResultsFolder) -> None:
    """Scores that cannot be read are no reason to begin from nothing."""
    (folder.path / "scores.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"scores\.json is damaged"):
        rescore.rescore(folder)


def test_the_page_shows_every_field() -> None:
    """The example in docs/policy.md is a policy, and leaves out no field but those that exclude one in it."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    fields = made(example).model_dump(exclude_unset=True)

    def missing(kind: type[BaseModel], found: dict[str, Any]) -> set[str]:
        return set(kind.model_fields) - set(found)

    assert not missing(Policy, fields)
    parts: dict[type[BaseModel], str] = {
        policy.Weights: "weights",
        policy.ExtraCredit: "extra",
        policy.Attempts: "attempts",
        policy.DropLowest: "drop",
        policy.Curve: "curve",
    }
    assert not any(missing(kind, fields[name]) for kind, name in parts.items())
    assert missing(policy.LatePenalty, fields["late"]) == {"points_per_day"}
    assert missing(policy.FaultyItem, fields["faulty"][0]) == {"check"}
    assert missing(policy.Extension, fields["extensions"][0]) == {"minutes", "until"}
    assert not missing(policy.Adjustment, fields["adjustments"][0])
