"""Points, comments and answers by hand: they move one question, stay whatever is graded again, and are named as the cause."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import UsageError
from grader.course import rescore
from grader.course.adjustments import (
    COLUMNS,
    NAME,
    QuestionAdjustment,
    parse_adjustments,
    read_adjustments_text,
    write_row,
)
from grader.course.feedback import join_accounts, render
from grader.course.results import ResultsFolder
from grader.course.scoring import score_class, score_submission
from grader.course.summary import explain_scores
from grader.course.worklist import Person
from tests.kit.examples import examples
from tests.kit.test_course_policy import BOB, DUE, FULL, course, entry, graded, made, policy_file, result

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_the_page_shows_a_file_that_is_read": ("docs/adjustments.md",),
    "test_preview_of_nothing": ("command:regrade",),
    "test_a_change_beyond_the_bounds_is_told": ("grader/course/*.html", "grader/report/*.html"),
    "test_the_commands": ("command:regrade", "tests/kit/toy/assignments/toy/*"),
}
HEADER = ",".join(COLUMNS) + "\n"
ADA = "ada@x.edu"
PARTLY = (5.0, 0.0, *FULL[2:])  # of Alpha 5 of 10


def rows(text: str) -> tuple[QuestionAdjustment, ...]:
    """Return the adjustments of a file with these lines below the header."""
    return parse_adjustments(HEADER + text, NAME)


def points(text: str, policy: str = "", got: Any = PARTLY) -> tuple[Decimal | None, Decimal]:
    """Return Ada's score, and that of the question Alpha."""
    one = score_submission(entry(), graded(got), made(policy), entry().students[0], rows(text))
    return one.points, one.questions["a"]


@pytest.mark.parametrize(
    ("change", "alpha"),
    [("+2", 7), ("-1.5", 3.5), ("=8", 8), ("=0", 0), ("+9", 10), ("-9", 0), ("'+2", 7), ("−1", 4), (" = 8 ", 8)],
)
def test_a_change_moves_its_question_within_its_bounds(change: str, alpha: float) -> None:
    """Catches: a sign that is misread, a set that is added, more than a question is worth, another question that moves."""
    before = points("")
    assert points(f"{ADA},a,{change},why,,,") == (before[0] + Decimal(str(alpha)) - 5, Decimal(str(alpha)))  # type: ignore[operator]


def test_changes_apply_in_the_order_of_the_file() -> None:
    """Catches: a later row that does not count, or one for somebody else that does."""
    assert points(f"{ADA},a,=2,w,,,\n007,a,+9,w,,,\nsubmission_1,a,-1,w,,,\nbob@x.edu,a,=3,w,,,\n")[1] == 9


def test_weights_scale_and_faults_apply_to_adjusted_questions() -> None:
    """Catches: points by hand that are worth less, or more, than those of a check."""
    text = f"{ADA},a,+1,w,,,"
    assert points(text, "[weights.questions]\na = 3\n")[1] == 18
    assert points(f"{ADA},a,=10,w,,,", "[weights.suites]\nhidden = 2\n")[1] == 14, "full marks are full marks"
    assert points(text, "out_of = 50\n")[0] == Decimal(str((20 + 1) * 2))
    assert points(text, '[[faulty]]\nquestion = "a"\nthen = "full"\nreason = "r"\n')[1] == 10
    assert points(text, '[[faulty]]\nquestion = "a"\nthen = "out"\nreason = "r"\n')[1] == 0
    bonus = f"{ADA},bonus,-2,w,,,"
    extra = points(bonus, '[extra]\nquestions = ["bonus"]\nat_most = 4\n', FULL)
    assert extra[0] == 20 + 3
    assert points("", '[extra]\nquestions = ["bonus"]\nat_most = 4\n', FULL)[0] == 24


def test_the_student_reads_why() -> None:
    """Catches: a score that nobody can explain."""
    one = score_submission(entry(), graded(PARTLY), made(), entry().students[0], rows(f"{ADA},a,=8,sign,R2,pls,no\n"))
    assert one.explanation()[:2] == [
        "Alpha: 5 of 10 points: +5, makes 5",
        "Alpha, by hand (set to 8), because R2: sign: +3, makes 8",
    ]


@pytest.mark.parametrize(
    ("change", "policy", "said"),
    [
        ("+9", "", "capped at the maximum"),
        ("-9", "", "capped at 0"),
        ("+2", '[[faulty]]\nquestion = "a"\nthen = "full"\nreason = "r"\n', "no change, already at the maximum"),
        ("+2", "[weights.questions]\na = 0\n", "no change, the question earns no points"),
        ("+2", "[weights.questions]\na = 3\n", ""),
        ("=10", "", ""),
    ],
)
def test_a_change_beyond_the_bounds_is_told(folder: ResultsFolder, change: str, policy: str, said: str) -> None:
    """Catches: "+2 points" on the page of a student who gets none, and staff who are not told."""
    text = f"\nada@x.edu,a,{change},good,,,\n"
    told = list(rescore.rescore_and_report(folder, policy_file(folder, policy), adjustments=by_hand(folder, text)))
    assert [line for line in told if "line 3" in line] == (
        [f"{NAME}, line 3 (Ada Lovelace: {change} for a): {said}"] if said else []
    )
    whole, stored = folder.course(), rescore.read_scores(folder)
    assert stored is not None
    account = explain_scores(whole, stored.scores, stored.rules.parse_adjustments())["submission_1"]
    graded_one = folder.of(whole)["submission_1"]
    assert graded_one is not None
    page = re.sub(r"<[^>]+>", "", render(graded_one, whole.assignment, account))
    shown = "set to 10" if change == "=10" else change
    assert f"Alpha, by hand ({shown}{said and f': {said}'}), because good" in page
    assert f"a: {shown} points{said and f' ({said})'}\n" in page


def test_limits_of_each_member_of_a_group() -> None:
    """Catches: a row that is called useless on the staff page because it is for one member only."""
    ada, bob = Person(name="Ada", email=ADA), Person(name="Bob", email="bob@x.edu")
    text = rows("bob@x.edu,a,-4,w,,,\nsubmission_1,a,+4,w,,,\n")
    whole = course(entry("submission_1", DUE, ada, bob))
    scores = score_class(whole, {"submission_1": result("submission_1", graded())}, made(), text)
    assert [one.limits for one in scores] == [{3: "no change, already at the maximum"}, {}]
    joined = join_accounts(list(explain_scores(whole, scores, text).values()))
    assert joined.limits == {3: "no change, already at the maximum for Ada"}


@given(st.lists(st.sampled_from([*(f"+{n}" for n in range(12)), "-3", "=0", "=4.5", "=10"]), max_size=5))
@settings(max_examples=examples(40), deadline=None)
def test_no_changes_leave_the_bounds(changes: list[str]) -> None:
    """Catches: a sum of changes above the maximum, below 0, or that depends on anything but outcomes, policy and rows."""
    text = "".join(f"{ADA},a,{change},w,,,\n" for change in changes)
    got = points(text)
    assert 0 <= got[1] <= 10
    assert got == points(text)
    if changes and changes[-1].startswith("="):
        assert got[1] == Decimal(changes[-1][1:])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEADER + f"{ADA},a,2,w,,,\n", r"line 2, column points: .*\+2.*found '2'.*spreadsheet"),
        (HEADER + f"\n{ADA},a,+x,w,,,\n", r"line 3, column points"),
        (HEADER + ",a,+2,w,,,\n", "line 2, column student: expected a name, found nothing"),
        (HEADER + f"{ADA},a,+2,,,,\n", "line 2: expected a comment"),
        (HEADER + f"{ADA},a,,,,,\n", "line 2: expected points"),
        (HEADER + f"{ADA},a,+1,5,why,,\n", r"line 2: found the points \+1 with the comment '5'; .*decimal point"),
        (HEADER + f"{ADA},a,+2,one,two,three,four,five\n", "line 2: expected 7 cells, found 8; .*quotes"),
        (HEADER + f'{ADA},a,+2,"two\nlines",,,\n{ADA},a,2,w,,,\n', "line 4, column points"),
        (HEADER + f'{ADA},a,2,"two\nlines",,,\n', "line 2, column points"),
        (HEADER + f'{ADA},a,+2,"open,,,\n', "not valid CSV"),
        ("student;question;points\n", "line 1: expected the columns .*found 'student;question;points'; separate .*commas"),
        ("student,points\n", "line 1: expected the columns"),
        ("student,question,point\n", "line 1: expected the columns .*; there is no column 'point'; did you mean 'points'"),
        (HEADER + f"{ADA},a,+2,{'w' * 5000},,,\n", "line 2, column comment: expected at most 4000 characters, found 5000"),
    ],
)
def test_a_wrong_row_is_named(text: str, says: str) -> None:
    """Catches: a file that is misread in silence, and an error that does not say where it is."""
    with pytest.raises(UsageError, match=f"(?s)^{NAME}: .*{says}"):
        parse_adjustments(text, NAME)


def test_a_file_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    """Catches: a mark at the beginning, line ends of another system, or columns in another order that shift cells."""
    path = tmp_path / NAME
    path.write_bytes('\ufeffQuestion,Student,Comment,Points\r\na,ada@x.edu,"über, gut",\'=8\r\n,,,\r\n'.encode())
    (row,) = parse_adjustments(read_adjustments_text(path), NAME)
    assert (row.student, row.question, str(row.points), row.comment, row.line) == (ADA, "a", "set to 8", "über, gut", 2)
    with pytest.raises(UsageError, match="expected a CSV file"):
        read_adjustments_text(tmp_path / "none.csv")


def test_the_page_shows_a_file_that_is_read() -> None:
    """Catches: an example in docs/adjustments.md that is refused, or that leaves out a column."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "adjustments.md").read_text(encoding="utf-8")
    example = "\n".join(line.strip() for line in page.partition("```\n")[2].partition("```")[0].splitlines())
    found = parse_adjustments(example, NAME)
    assert [str(row.points) for row in found] == ["set to 8", "+2", "-1.5", "None", "None"]
    assert all(any(getattr(row, column) for row in found) for column in COLUMNS)
    assert [row.is_open for row in found] == [False, False, False, False, True]


def test_words_in_parentheses_are_empty_cells() -> None:
    """Catches: "(rubric)" that a student reads, because it was left in a line copied from a staff page."""
    line = write_row("submission_1", "a").replace("(comment)", "good")
    assert line == "submission_1,a,(points),good,(rubric),(request),(answer)"
    (row,) = rows(line)
    assert (row.points, row.comment, row.rubric, row.request, row.answer) == (None, "good", "", "", "")
    with pytest.raises(UsageError, match="line 2: expected points, a comment"):
        rows(write_row("submission_1", "a"))


@given(st.lists(st.text(max_size=30), min_size=7, max_size=7))
@settings(max_examples=examples(40), deadline=None)
def test_a_written_row_is_one_row(cells: list[str]) -> None:
    """Catches: a comma, a quote or a line end that becomes another cell or row."""
    assert list(csv.reader(io.StringIO(write_row(*cells), newline=""))) in ([cells], [])


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    """Two graded submissions, and one to come."""
    made = ResultsFolder(tmp_path / "class")
    made.write_course(
        course(entry("submission_1"), entry("submission_2", DUE, BOB), entry("submission_3", DUE, Person(sid="3")))
    )
    made.write(result("submission_1", graded(PARTLY)))
    made.write(result("submission_2", graded()))
    return made


def by_hand(folder: ResultsFolder, text: str) -> Path:
    """Write adjustments beside the class."""
    path = folder.path.with_name(NAME)
    path.write_bytes((HEADER + text).encode())
    return path


def test_they_survive_and_are_named_as_the_cause(folder: ResultsFolder) -> None:
    """Catches: an adjustment that a new grading or another policy forgets, or that is taken for either of them."""
    rescore.rescore(folder)
    text = "ada@x.edu,a,+2,good,,,\r\n"
    (change,) = rescore.rescore(folder, adjustments=by_hand(folder, text)).changes
    assert (change.entry, change.after) == ("submission_1", Decimal(22))
    assert change.why[0] == f"{NAME} changed"
    assert (folder.path / NAME).read_bytes() == (HEADER + text).encode()
    stored = rescore.read_scores(folder)
    assert stored is not None
    assert stored.adjustments == HEADER + text
    assert ",22," in (folder.path / "gradebook.csv").read_text()
    folder.write(result("submission_1", graded((6.0, 0.0, *FULL[2:]))))
    (change,) = rescore.rescore(folder).changes
    assert (change.after, change.why[0]) == (Decimal(23), "its results changed")
    changes = rescore.rescore(folder, policy_file(folder, "out_of = 50\n")).changes
    assert {one.entry: (one.after, one.why[0]) for one in changes}["submission_1"] == (Decimal(46), "the policy changed")
    both = rescore.rescore(folder, policy_file(folder, ""), adjustments=by_hand(folder, "")).changes
    assert {one.entry: one.why[:2] for one in both}["submission_1"] == ("the policy changed", f"{NAME} changed")
    assert len(list((folder.path / rescore.HISTORY).iterdir())) == 4


def test_preview(folder: ResultsFolder) -> None:
    """Catches: a preview of adjustments that writes something, or says something other than what then happens."""
    rescore.rescore(folder)
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    file = by_hand(folder, "ada@x.edu,a,+2,good,,,\n")
    *said, _ = rescore.preview_rescoring(folder, adjustments=file)
    assert {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()} == before
    assert said[-2] == "1 of 3 scores changed: 1 rise, 0 fall"
    *told, _ = rescore.rescore_and_report(folder, adjustments=file)
    assert said == told


def test_a_wrong_file_leaves_all_as_it_was(folder: ResultsFolder) -> None:
    """Catches: half of a class that is scored by a file with a slip."""
    rescore.rescore(folder, adjustments=by_hand(folder, "ada@x.edu,a,+2,good,,,\n"))
    before = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    for text, says in (
        ("ada@x.edu,alpha,+2,good,,,\n", "line 2, column question: expected one of a, loop.first, bonus, found 'alpha'"),
        ("ada@x.edu,a,=11,good,,,\n", "line 2, column points: expected at most =10, .* found =11"),
    ):
        with pytest.raises(UsageError, match=says):
            rescore.rescore(folder, adjustments=by_hand(folder, text))
    assert {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()} == before


def test_misspelled_students_are_named(folder: ResultsFolder) -> None:
    """Catches: an adjustment for nobody that everybody believes in."""
    told = list(rescore.rescore_and_report(folder, adjustments=by_hand(folder, "adda@x.edu,a,+2,good,,,\n")))
    assert f"{NAME} names students without a score: adda@x.edu (do you mean ada@x.edu?); check the spelling." in "".join(told)
    told = list(
        rescore.rescore_and_report(folder, adjustments=by_hand(folder, "7,a,+2,good,,,\n08,a,+2,good,,,\n9,a,+2,w,,,\n"))
    )
    assert "score: 7 (do you mean 007?), 08 (do you mean 8?), 9; check" in "".join(told), "zeros that a spreadsheet drops"


def test_a_comment_for_one_of_two_is_private() -> None:
    """Catches: a comment for one member of a group on the page of both."""
    ada, bob = Person(name="Ada", email=ADA), Person(name="Bob", email="bob@x.edu")
    whole = course(entry("submission_1", DUE, ada, bob))
    results = {"submission_1": result("submission_1", graded())}
    text = rows("bob@x.edu,a,,see me,,,\nsubmission_1,a,,for both,,,\n")
    pages = explain_scores(whole, score_class(whole, results, made(), text), text)
    assert {name: [one.comment for one in page.adjustments] for name, page in pages.items()} == {
        "submission_1": [],
        "submission_1~1": ["for both"],
        "submission_1~2": ["see me", "for both"],
    }
    assert list(explain_scores(whole, score_class(whole, results, made(), text[1:]), text[1:])) == ["submission_1"]


def read_words(folder: ResultsFolder, page: str) -> str:
    """Return the text of a page of the class, without its tags."""
    return re.sub(r"<[^>]+>", "", (folder.path / page).read_text(encoding="utf-8"))


def test_the_commands(folder: ResultsFolder, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches: an option that reaches neither scores nor pages, or that is combined with what would run submissions."""
    toy = Path(__file__).with_name("toy")
    file = str(by_hand(folder, "ada@x.edu,a,+2,well argued,R7,Is it not right?,It is.\n8,a,,,,Why?,\n"))
    assert command_line("regrade", str(folder.path), "--adjustments", file, "--preview", root=toy) == 0
    assert "nothing changed yet" in capsys.readouterr().out
    assert command_line("regrade", str(folder.path), "--adjustments", file, root=toy) == 0
    assert "Ada Lovelace (submission_1): 20 -> 22" in capsys.readouterr().out
    for part in ("students", "staff"):
        text = (folder.path / part / "submission_1.html").read_text(encoding="utf-8")
        for said in ("by hand: 7/10", "well argued", "R7", "Is it not right?", "It is."):
            assert said in text, said
    assert "not answered yet" in (folder.path / "students" / "submission_2.html").read_text(encoding="utf-8")
    assert "1 regrade request without an answer" in (folder.path / "class.html").read_text(encoding="utf-8")
    assert "submitted 2026-03-01 22:59 +0000" in read_words(folder, "students/submission_1.html")
    policy = str(policy_file(folder, 'out_of = 50\nzone = "Europe/Berlin"\n'))
    assert command_line("regrade", str(folder.path), "--policy", policy, root=toy) == 0
    for part in ("students", "staff"):
        assert "submitted 2026-03-01 23:59 +0100" in read_words(folder, f"{part}/submission_1.html"), "the policy's zone"
    assert command_line("regrade", str(folder.path), "--adjustments", file, "--apply", root=toy) == 2
    assert "--adjustments and --apply cannot be combined" in capsys.readouterr().err
    stored = rescore.read_scores(folder)
    assert stored is not None
    assert stored.scores[0].points == 44


# --- with the other rules of scores ---

RULES = """
out_of = 100
zone = "Europe/Berlin"
[weights.questions]
a = 2
[drop]
lowest = 1
[curve]
kind = "square_root"
[late]
deadline = 2026-03-01T23:59:00
percent_per_day = 10
extensions_file = "extra-time.csv"
"""


def test_all_rules_give_the_score_computed_by_hand(tmp_path: Path) -> None:
    """Catches: a step in another place, a drop that looks at points of the checks, a rule that is not stored or not applied."""
    folder = ResultsFolder(tmp_path / "class")
    folder.write_course(course(entry("submission_1", DUE + timedelta(hours=30))))
    folder.write(result("submission_1", graded((3, 0, 5, 0, 2, 0))))
    source, table = policy_file(folder, RULES), "student,days,reason\nada@x.edu,1,ill\n"
    source.with_name("extra-time.csv").write_text(table, encoding="utf-8")
    rescore.rescore(folder, source, adjustments=by_hand(folder, "ada@x.edu,a,+4,sign,,,\n"))
    stored = rescore.read_scores(folder)
    assert stored is not None
    assert stored.scores[0].explanation() == [
        "Alpha: 6 of 20 points: +6, makes 6",
        "Alpha, by hand (+4), because sign: +8, makes 14",
        "Loop: 5 of 10 points: +5, makes 19",
        "Bonus: 2 of 5 points: +2, makes 21",
        # Without the points by hand, Alpha would be dropped; if they were not weighted, Bonus.
        "Loop: dropped, 5 of 10 points: -5, makes 16",
        "scaled from 25 to 100 points: +48, makes 64",
        "curve: the earned share of 100 points is replaced by its square root: +16, makes 80",
        "submitted 1 day late, with an extension (ill); 10 % of the points off per day: -8, makes 72",
        "72 of 100 points",
    ]
    assert (stored.policy, stored.extensions) == (RULES, table)
    assert stored.adjustments == (folder.path / NAME).read_text(encoding="utf-8")
    assert rescore.rescore(folder).changes == [], "the copies of all three files stay in force"


def test_the_best_submission_is_chosen_after_adjustments() -> None:
    """Catches: a best submission chosen by its checks, and a row for the student that reaches only one submission."""
    entries = [entry("submission_1", DUE - timedelta(hours=2)), entry("submission_2", DUE)]
    works = {"submission_1": (6, 4, 0, 0, 0, 0), "submission_2": (6, 4, 0, 0, 3, 0)}  # 10 and 13 points
    results = {name: result(name, graded(work)) for name, work in works.items()}
    best = made('[attempts]\ncounts = "best"\n')
    (one,) = score_class(course(*entries), results, best, rows("submission_1,loop.first,+4,w,,,\n"))
    assert (one.entry, one.points) == ("submission_1", 14)
    (one,) = score_class(course(*entries), results, best, rows(f"{ADA},loop.first,+4,w,,,\n"))
    assert (one.entry, one.points) == ("submission_2", 17)


def test_a_curve_to_a_mean_counts_points_by_hand() -> None:
    """Catches: a shift computed from the checks alone, which would raise the mean above the one that was asked for."""
    whole = course(entry("submission_1"), entry("submission_2", DUE, BOB))
    works = {"submission_1": (6, 4, 0, 0, 0, 0), "submission_2": (6, 4, 0, 0, 0, 0)}  # 10 points each
    results = {name: result(name, graded(work)) for name, work in works.items()}
    curve = made('[curve]\nkind = "mean"\nmean = 15\n')
    scores = score_class(whole, results, curve, rows(f"{ADA},loop.first,+4,w,,,\n"))
    assert [one.points for one in scores] == [17, 13]


@pytest.mark.parametrize("more", [(), ("--undo",), ("--apply",), ("--earlier", "class")])
def test_preview_of_nothing(
    folder: ResultsFolder, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    """Catches: --preview without rules to preview, which would otherwise run submissions or undo something."""
    assert command_line("regrade", str(folder.path), "--preview", *more) == 2
    assert "--preview shows the effect of --policy or --adjustments: add one or both" in capsys.readouterr().err
