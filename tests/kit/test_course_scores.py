"""Scores as courses have them: curves, dropped questions, the best of several submissions, extensions from a table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import UsageError
from grader.course import dropping, rescore
from grader.course.results import Course, ResultsFolder, SubmissionResult
from grader.course.rules import RuleFiles
from grader.course.scoring import Score, score_class
from grader.course.worklist import Person, WorklistEntry
from tests.kit.examples import examples
from tests.kit.test_course_policy import ADA, BOB, DUE, FULL, UTC, WORK, WORTH, course, entry, graded, made, points, result

pytestmark = pytest.mark.recorded

INPUTS = ()

NOTHING = (0.0,) * 6
MEAN = '[curve]\nkind = "mean"\nmean = {}\n'


def build_class(*works: Sequence[float]) -> tuple[Course, dict[str, SubmissionResult | None]]:
    """Return a class in which each student has submitted once and earned these points."""
    names = [f"submission_{number}" for number in range(len(works))]
    entries = [entry(name, DUE, Person(name=name, sid=name)) for name in names]
    return course(*entries), {name: result(name, graded(work)) for name, work in zip(names, works, strict=True)}


def totals(scores: Sequence[Score]) -> list[Decimal | None]:
    """Return the points of each score."""
    return [one.points for one in scores]


# --- curves ---


@pytest.mark.parametrize(
    ("got", "rules", "expected"),
    [
        ((6, 4, 0, 0, 0, 0), "", "15.811388"),  # 25 · √0.4
        ((6, 4, 0, 0, 0, 0), "out_of = 10\nround_to = 0.1\n", "6.3"),
        ((6, 4, 5, 1, 0, 0), "out_of = 100\n", "80"),  # 100 · √0.64
        (NOTHING, "", "0"),
        (FULL, "", "25"),
        (FULL, '[extra]\nquestions = ["bonus"]\n', "25"),  # more than full marks: as it is
        ((6, 4, 2, 0, 3, 1), 'out_of = 20\n[extra]\nquestions = ["bonus"]\n', "17.888544"),  # 20 · √0.8
    ],
)
def test_square_root(got: Sequence[float], rules: str, expected: str) -> None:
    """The root is of the share of full marks, so that it raises work and leaves nothing and everything where they are."""
    assert points(f'{rules}[curve]\nkind = "square_root"\n', got=got) == Decimal(expected)


def test_a_curve_to_a_mean() -> None:
    """All get the same points up to the maximum; who has none gets none, and is not counted in the mean."""
    whole, results = build_class((6, 4, 0, 0, 0, 0), (6, 4, 5, 5, 0, 0), FULL, NOTHING)
    scores = score_class(whole, results, made(MEAN.format(20)))
    assert totals(scores) == [Decimal("11.666667"), Decimal("21.666667"), 25, 0]  # 10, 20, 25: a mean of 18.333333
    assert scores[0].explanation()[-2:] == [
        "curve: the mean of the class, 18.333333 points, is raised to 20, at most 25 points: +1.666667, makes 11.666667",
        "11.666667 of 25 points",
    ]
    assert totals(score_class(whole, results, made(MEAN.format(18)))) == [10, 20, 25, 0], "a curve lowers nobody"


def test_a_curve_before_late_days_and_only_of_graded_work() -> None:
    """One student's lateness, adjustment or pending work must not move the score of another."""
    entries = [entry("submission_1", DUE, ADA), entry("submission_2", DUE, BOB), entry("submission_3", DUE, Person(sid="3"))]
    results: dict[str, SubmissionResult | None] = {
        "submission_1": result("submission_1", graded((6, 4, 0, 0, 0, 0))),
        "submission_2": result("submission_2", graded((6, 4, 5, 5, 0, 0))),
        "submission_3": result("submission_3", graded(NOTHING, final=False), "failed"),
    }
    text = MEAN.format(16)
    assert totals(score_class(course(*entries), results, made(text))) == [11, 21, None]
    late = [entries[0], entry("submission_2", DUE + timedelta(days=3), BOB), entries[2]]
    text += "[late]\ndeadline = 2026-03-01T22:59:00Z\npercent_per_day = 10\n"
    text += '[[adjustments]]\nstudent = "8"\npoints = -2\nreason = "r"\n'
    assert totals(score_class(course(*late), results, made(text))) == [11, Decimal("12.7"), None]  # 21 · 0.7 - 2


@given(st.lists(WORTH, min_size=1, max_size=8), st.integers(1, 25), st.sampled_from(["newest", "best"]))
@settings(max_examples=examples(50), deadline=None)
def test_a_curve_keeps_the_order_and_lowers_nobody(works: list, mean: int, counts: str) -> None:
    """Whoever had more has no less afterwards; nobody gets more than the maximum, and steps lead to each score."""
    whole, results = build_class(*works)
    text = f'[attempts]\ncounts = "{counts}"\n'
    plain = score_class(whole, results, made(text))
    curved = score_class(whole, results, made(text + MEAN.format(mean)))
    for one, other in itertools.product(zip(plain, curved, strict=True), repeat=2):
        if (one[0].points or 0) <= (other[0].points or 0):
            assert (one[1].points or 0) <= (other[1].points or 0)
    for before, after in zip(plain, curved, strict=True):
        assert (before.points or 0) <= (after.points or 0) <= 25
        assert after.points == sum((step.after - step.before for step in after.steps), Decimal(0))


def test_a_mean_that_moves_is_no_new_result(tmp_path: Path) -> None:
    """Ada's results are as before: what moves her score is that Bob is graded as well."""
    folder = ResultsFolder(tmp_path / "class")
    folder.write_course(course(entry("submission_1"), entry("submission_2", DUE, BOB)))
    folder.write(result("submission_1", graded((6, 4, 0, 0, 0, 0))))
    file = tmp_path / "policy.toml"
    file.write_text(MEAN.format(16), encoding="utf-8")
    rescore.rescore(folder, file)
    folder.write(result("submission_2", graded((6, 4, 5, 5, 0, 0))))
    ada, bob = rescore.rescore(folder).changes
    assert (ada.before, ada.after, ada.why[0]) == (16, 11, "the class changed, not its results")
    assert bob.why[0] == "its results changed"


# --- dropped questions ---


@pytest.mark.parametrize(
    ("got", "rules", "expected"),
    [
        (WORK, "[drop]\nlowest = 1\n", "23.333333"),  # without Loop, 14 of 15, of 25
        (WORK, "out_of = 100\n[drop]\nlowest = 2\n", "100"),  # Alpha is left
        (WORK, '[drop]\nlowest = 1\nquestions = ["a", "bonus"]\n', "18.75"),  # without Bonus, 15 of 20
        (WORK, 'out_of = 10\n[drop]\nlowest = 1\n[extra]\nquestions = ["bonus"]\n', "12"),  # Alpha, and 4 points of 20
        (WORK, 'out_of = 100\n[drop]\nlowest = 1\n[[faulty]]\nquestion = "loop.first"\nthen = "full"\nreason = "r"\n', "100"),
        (NOTHING, "[drop]\nlowest = 1\n", "0"),
        (FULL, "[drop]\nlowest = 1\n", "25"),
    ],
)
def test_dropped_questions(got: Sequence[float], rules: str, expected: str) -> None:
    """What is dropped leaves points and maximum, and all have the same maximum afterwards; extra credit stays."""
    assert points(rules, got=got) == Decimal(expected)


def test_a_dropped_question_is_named() -> None:
    """A student must see which question was dropped, and what it would have counted."""
    (one,) = score_class(course(entry()), {"submission_1": result("submission_1", graded(WORK))}, made("[drop]\nlowest = 1\n"))
    assert one.explanation()[-3:] == [
        "Loop: dropped, 5 of 10 points: -5, makes 14",
        "scaled from 15 to 25 points: +9.333333, makes 23.333333",
        "23.333333 of 25 points",
    ]
    assert one.max_points == 25


def test_more_work_is_no_worse_where_questions_are_dropped() -> None:
    """A little more in a big question must not make a small one the lowest, and cost half of the points."""
    marks = {"big": (Fraction(51), Fraction(100)), "small": (Fraction(5), Fraction(10)), "other": (Fraction(10), Fraction(10))}
    assert dropping.choose_dropped(marks, list(marks), 1) == ["big"], "the lowest share is that of the small one"


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), min_size=2, max_size=6), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_what_is_dropped_is_the_best_choice(drawn: list, data: st.DataObject) -> None:
    """No other choice leaves a larger share."""
    marks = {str(index): (Fraction(min(got, 4 * most), 4), Fraction(most)) for index, (got, most) in enumerate(drawn)}
    droppable = data.draw(st.lists(st.sampled_from(sorted(marks)), min_size=2, unique=True))
    number = data.draw(st.integers(1, len(droppable) - 1))

    def share(dropped: Sequence[str]) -> Fraction:
        kept = [mark for name, mark in marks.items() if name not in dropped]
        return sum((got for got, _ in kept), Fraction(0)) / sum((most for _, most in kept), Fraction(0))

    dropped = dropping.choose_dropped(marks, droppable, number)
    assert len(set(dropped)) == number
    assert set(dropped) <= set(droppable)
    assert share(dropped) == max(map(share, itertools.combinations(droppable, number)))


# --- several submissions ---

BEST = '[attempts]\ncounts = "best"\n'


def submit_three() -> tuple[list[WorklistEntry], dict[str, SubmissionResult | None]]:
    """Return three submissions of Ada: of 10 points, of 19 points, and of 25, which is two days late."""
    entries = [
        entry("submission_1", DUE - timedelta(hours=2)),
        entry("submission_2", DUE),
        entry("submission_3", DUE + timedelta(hours=30)),
    ]
    works = ((6, 4, 0, 0, 0, 0), WORK, FULL)
    return entries, {one.id: result(one.id, graded(work)) for one, work in zip(entries, works, strict=True)}


def test_the_best_of_several_counts() -> None:
    """Scores are compared, not points: lateness may make the newest the worse one. The page tells all of them."""
    entries, results = submit_three()
    text = BEST + "[late]\ndeadline = 2026-03-01T22:59:00Z\npercent_per_day = 15\n"
    (one,) = score_class(course(*entries), results, made(text))
    assert (one.entry, one.points, one.replaces) == ("submission_2", 19, ("submission_1", "submission_3"))
    assert one.explanation()[:4] == [
        "the best of 3 submissions counts",
        "submission_1 of 2026-03-01 20:59 +0000: 10 points, does not count",
        "submission_2 of 2026-03-01 22:59 +0000: 19 points, counts",
        "submission_3 of 2026-03-03 04:59 +0000: 17.5 points, does not count",
    ]
    (one,) = score_class(course(*entries), results, made(text.replace("best", "newest")))
    assert (one.entry, one.points) == ("submission_3", Decimal("17.5"))
    assert one.explanation()[0] == "the newest of 3 submissions counts"


def test_of_equal_submissions_the_newest_counts() -> None:
    """Which page a student gets must not depend on the order of files."""
    entries, results = submit_three()
    results["submission_1"] = result("submission_1", graded())
    (one,) = score_class(course(*reversed(entries)), results, made(BEST))
    assert (one.entry, one.points) == ("submission_3", 25)


@pytest.mark.parametrize("status", ["pending", "not final"])
def test_no_best_before_all_are_graded(status: str) -> None:
    """A score that can still rise is no score yet."""
    entries, results = submit_three()
    results["submission_1"] = None if status == "pending" else result("submission_1", graded(NOTHING), "failed")
    (one,) = score_class(course(*entries), results, made(BEST))
    assert (one.entry, one.status, one.points) == ("submission_1", status, None)
    assert one.explanation()[:2] == [
        "the best of 3 submissions counts, once all are graded",
        "submission_1 of 2026-03-01 20:59 +0000: no points yet",
    ]


def test_a_refused_attempt_is_not_the_best() -> None:
    """The limits hold for each submission with what the platform lists before it."""
    entries, results = submit_three()
    entries[2] = entries[2].model_copy(update={"earlier": (DUE - timedelta(hours=2), DUE)})
    (one,) = score_class(course(*entries), results, made(BEST + 'at_most = 2\nbeyond = "refused"\n'))
    assert (one.entry, one.points) == ("submission_2", 19)


def test_a_curve_counts_each_student_once() -> None:
    """The mean is over students, of the work that earned most, however often one submits."""
    entries, results = submit_three()
    entries.append(entry("submission_4", DUE, BOB))
    results["submission_4"] = result("submission_4", graded((6, 4, 0, 0, 0, 1)))
    scores = score_class(course(*entries), results, made(BEST + MEAN.format(20)))  # of 25 and 11, 18
    assert [(one.entry, one.points) for one in scores] == [("submission_3", 25), ("submission_4", 13)]
    results["submission_3"] = result("submission_3", graded((6, 4, 0, 0, 0, 3)))
    scores = score_class(course(*entries), results, made(MEAN.format(20)))  # the newest ones: of 13 and 11, 12
    assert [(one.entry, one.points) for one in scores] == [("submission_3", 21), ("submission_4", 19)]


# --- extensions from a table ---

LATE = """
zone = "Europe/Berlin"
[late]
deadline = 2026-03-01T23:59:00
percent_per_day = 10
extensions_file = "extra-time.csv"
"""
COLUMNS = "line 1: expected the columns student, reason and days, minutes or until; found "


def score_late(table: str, late: timedelta) -> Score:
    """Return the score of Ada, who is late by this much, with a table of extensions."""
    whole = course(entry("submission_1", DUE + late))
    (one,) = score_class(whole, {"submission_1": result("submission_1", graded())}, RuleFiles(LATE, table).parse_policy("p"))
    return one


@pytest.mark.parametrize(
    ("table", "late", "expected"),
    [
        ("student,days,reason\nada@x.edu,1,ill\n", timedelta(hours=30), "22.5"),
        ("student,minutes,reason\nADA@x.edu,30,ill\n", timedelta(minutes=30), "25"),
        ("student,minutes,reason\n007,30,ill\n", timedelta(minutes=31), "22.5"),
        ("student,minutes,reason\n007,30,ill\n", timedelta(days=1, minutes=30), "22.5"),
        ("\ufeffStudent, Until, Reason\r\n007, 2026-03-03 12:00, ill\r\n", timedelta(hours=36), "25"),
        ("student,until,reason\n007,2026-03-02T23:00:00Z,ill\n", timedelta(hours=24, minutes=1), "25"),
        ("student,until,reason\n007,2026-03-02T23:00:00-05:00,ill\n", timedelta(hours=29), "25"),
        ("student,days,minutes,until,reason\nx,1,,,r\n,,,,\n\n007,,,2026-03-04 00:00,ill\n", timedelta(hours=48), "25"),
        ("student,days,reason\nbob@x.edu,5,ill\n", timedelta(hours=30), "20"),
    ],
)
def test_extensions_of_a_table(table: str, late: timedelta, expected: str) -> None:
    """Days, minutes or a date, for the one whom the row names."""
    one = score_late(table, late)
    assert one.points == Decimal(expected)
    assert ("with an extension (ill)" in " ".join(one.explanation())) == ("bob" not in table)


def test_days_after_an_extension_in_minutes_follow_the_clock() -> None:
    """The late day after 00:29 in Berlin has 23 hours when clocks are put forward in it."""
    text = LATE.replace("2026-03-01", "2026-03-28")
    rule = RuleFiles(text, "student,minutes,reason\n007,30,ill\n").parse_policy("p")
    whole = course(entry("submission_1", datetime(2026, 3, 29, 22, 40, tzinfo=UTC)))
    (one,) = score_class(whole, {"submission_1": result("submission_1", graded())}, rule)
    assert one.days_late == 2


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", COLUMNS + "nothing"),
        (
            "student,day,reason\nx,1,r\n",
            COLUMNS + "student, day, reason; there is no column 'day'; did you mean 'days'?",
        ),
        ("student,reason\nx,r\n", COLUMNS),
        ("student,days,days,reason\nx,1,1,r\n", COLUMNS),
        ("student;days;reason\nx;1;r\n", COLUMNS + "student;days;reason; separate the cells with commas"),
        ("student,days,reason\nx,1,r\nX ,2,r\n", "line 3: X is also in line 2; keep one extension for each student"),
        ("student,days,reason\nZ,2,r\n", "line 2: Z is also in [[extensions]] of the policy"),
        ("student,days,reason\nx,two,r\n", "line 2: expected a whole number of days, found 'two'"),
        ("student,days,reason\nx,-1,r\n", "line 2: expected a whole number of days, found '-1'"),
        ("student,minutes,reason\nx,10001,r\n", "line 2: minutes: expected a number less than or equal to 10000, found 10001"),
        ("student,days,reason\nx,,r\n", "line 2: expected exactly one of days, minutes and until, found none"),
        (
            "student,days,minutes,reason\nx,1,1,r\n",
            "line 2: expected exactly one of days, minutes and until, found days and",
        ),
        ("student,days,reason\n,1,r\n", "line 2: expected a student, found an empty cell"),
        ("student,days,reason\nx,1\n", "line 2: expected a reason, found an empty cell"),
        ("student,days,reason\nx,1,ill, again\n", "line 2: expected 3 cells, found more; put a text with a comma in quotes"),
        (
            "student,until,reason\nx,3/5/2026 12:00,r\n",
            "line 2: expected a date with a time in until, such as 2026-03-05",
        ),
        ("student,until,reason\nx,2026-03-05,r\n", "line 2: expected a date with a time"),
        ("student,until,reason\nx,2026-02-30 12:00,r\n", "line 2: expected a date with a time"),
        ("student,until,reason\nx,9999-12-31 23:59-05:00,r\n", "line 2: until 9999-12-31 23:59-05:00 is outside the calendar"),
        ('student,days,reason\nx,1,"ill\ny,1,r\n', "line 3: not valid CSV (unexpected end of data); is a quote left open?"),
        (
            "student,until,reason\nx,2026-03-01 23:58,r\n",
            "line 2: until 2026-03-01 23:58 is before the deadline, 2026-03-01",
        ),
    ],
)
def test_a_wrong_table_names_the_line(table: str, said: str) -> None:
    """An extension that is not understood would cost a student points, and nobody would see it."""
    text = LATE + '[[extensions]]\nstudent = "z"\ndays = 1\nreason = "r"\n'
    with pytest.raises(UsageError) as caught:
        RuleFiles(text, table).parse_policy("policy.toml")
    assert str(caught.value).startswith(f"extra-time.csv, {said}")


def test_codes_of_an_anonymous_export_are_no_ids_of_canvas(tmp_path: Path) -> None:
    """Catches: rows that Canvas gives to nobody, or to another student, and nobody who is told."""
    folder = ResultsFolder(tmp_path / "class")
    people = {"anon_1aB2c": ("anon", "1aB2c"), "anon_zZ9x8": ("anon", "zZ9x8"), "doejane_77": ("doejane", "77")}
    entries = [entry(name, DUE, Person(name=who, sid=sid)) for name, (who, sid) in people.items()]
    folder.write_course(course(*entries, layout="canvas"))
    for name in people:
        folder.write(result(name, graded()))
    said = "\n".join(rescore.rescore_and_report(folder))
    assert "canvas.csv has no row for 2 students: the export is anonymous, so it has no Canvas ids; turn" in said
    rows = (folder.path / "canvas.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[:2] for row in rows[2:]] == [["doejane", "77"]]
    assert "anon_1aB2c" in (folder.path / "gradebook.csv").read_text(encoding="utf-8")


def test_a_date_needs_a_zone() -> None:
    """Midnight is at another time in each zone."""
    text = '[late]\ndeadline = 2026-03-01T23:59:00+01:00\nextensions_file = "e.csv"\n'
    with pytest.raises(UsageError, match=r"e\.csv, line 2: write an offset, such as 2026-03-02 12:00\+01:00, or set zone"):
        RuleFiles(text, "student,until,reason\nx,2026-03-02 12:00,r\n").parse_policy("p")


def test_a_table_is_kept_with_its_policy(tmp_path: Path) -> None:
    """Later runs use the copy in the class's folder; a changed table is a changed policy, and can be taken back."""
    folder = ResultsFolder(tmp_path / "class")
    folder.write_course(course(entry("submission_1", datetime(2026, 3, 3, 11, tzinfo=UTC))))
    folder.write(result("submission_1", graded()))
    source, table = tmp_path / "policy.toml", tmp_path / "extra-time.csv"
    source.write_text(LATE, encoding="utf-8")
    with pytest.raises(UsageError, match=r"extra-time\.csv cannot be read .*expected a file of extensions"):
        rescore.rescore(folder, source)
    table.write_bytes(b"student,days,reason\r\nada@x.edu,1,ill\r\nbo@x.edu,1,ill\r\n")
    told = list(rescore.rescore_and_report(folder, source))
    assert "the policy names students without a score: bo@x.edu; check the spelling." in "".join(told)
    assert told[-1].endswith(f"policy.toml, extra-time.csv to {folder.path}")
    assert (folder.path / "extra-time.csv").read_bytes() == table.read_bytes()
    table.unlink()
    assert rescore.rescore(folder).changes == []
    table.write_text("student,days,reason\nada@x.edu,2,ill\n", encoding="utf-8")
    (change,) = rescore.rescore(folder, source).changes
    assert (change.before, change.after, change.why[0]) == (Decimal("22.5"), 25, "the policy changed")
    for name in ("canvas", "adjustments"):
        source.write_text(LATE.replace("extra-time", name), encoding="utf-8")
        (tmp_path / f"{name}.csv").write_text("student,days,reason\nada@x.edu,2,ill\n", encoding="utf-8")
        with pytest.raises(UsageError, match=rf"late\.extensions_file: {name}\.csv is a file that the kit writes"):
            rescore.rescore(folder, source)
