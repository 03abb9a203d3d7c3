"""What a class shows: exactly what was planted, on a page that no name or message can break, and nothing hidden to students."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import Assignment, AssignmentFiles, Question, QuestionPoints
from grader.course import classpage, feedback, policy, publishing, scoring, summary
from grader.course.classpage import ClassFiles
from grader.course.feedback import Account
from grader.course.handed_in import collect_code
from grader.course.insight import MAX_BINS, ClassInsight, QuestionInsight, analyze_results, make_histogram_bins
from grader.course.results import Course, ResultFingerprints, ResultsFolder, SubmissionResult
from grader.course.similarity import SimilarPair
from grader.course.worklist import Person, WorklistEntry
from grader.hashing import hash_parts
from grader.judge.failure import LIMITS, explain_failure
from grader.judge.run import Grader
from grader.report.model import Cause, CheckResult, Outcome, Report
from grader.report.shared import fold_hidden_checks
from grader.report.terminal import find_next_step
from grader.sandbox.reply import Reply
from tests.kit.browser import measure_width, needs_browser
from tests.kit.examples import examples
from tests.kit.test_page import HOSTILE, LEVELS, Parsed

pytestmark = pytest.mark.recorded

ASSIGNMENT = Assignment(
    name="planted",
    title="Planted mistakes",
    version="1.0",
    submission="submitted.py",
    questions=(
        Question(id="first", title="First", function="first", task="return one", points=QuestionPoints(visible=2, hidden=2)),
        Question(
            id="second",
            title="Second",
            function="second",
            task="return two",
            points=QuestionPoints(visible=2, hidden=4),
            hidden_visibility="hidden",
        ),
    ),
)
CHECKS = {  # question, points
    "visible/test_a": ("first", 1),
    "visible/test_b": ("first", 1),
    "hidden/test_secret_c": ("first", 2),
    "visible/test_d": ("second", 2),
    "hidden/test_secret_e": ("second", 4),
}
BIDI = "\u202egnihtyna\u2066"
ODD = f"{HOSTILE} {BIDI} {'x' * 5_000}"


def wrong(outcome: str = "failed", message: str = "got 1", **fields: Any) -> dict[str, Any]:
    """Return fields of a check that has not passed. Its signature is that of its message, if it is not given."""
    return {"outcome": Outcome(outcome), "message": message, "signature": hash_parts([message])[:12], **fields}


def mistaken(*ids: str, hint: str = "Is it one?") -> dict[str, Any]:
    return wrong(message=f"like {ids[0]}", mistakes=ids, hint=hint)


UNWRITTEN = wrong("not run", "not written yet", unwritten=True, signature="")
FAULT = {"cause": Cause.GRADER, "note": "The server went away"}


class Planted:
    """A class under construction: `add` puts a submission into it, in which all checks pass that nothing is said of."""

    def __init__(self) -> None:
        self.entries: list[WorklistEntry] = []
        self.contents: dict[str, str] = {}
        self.results: dict[str, SubmissionResult | None] = {}

    def add(
        self,
        name: str,
        content: str = "",
        who: str = "",
        status: Literal["graded", "refused", "failed"] = "graded",
        **fields: Any,
    ) -> str:
        """Return the id. Checks are named by their last letter: `add("x", d=wrong())`; all=... is for every check."""
        self.entries.append(WorklistEntry(id=name, path=name, students=(Person(name=who or f"Student {name}"),)))
        self.contents[name] = hash_parts([content or name])
        said = {letter: fields.pop(letter) for letter in "abcde" if letter in fields}
        everywhere, report = fields.pop("all", {}), fields.pop("report", {})
        checks = []
        for place, (question, worth) in CHECKS.items():
            known: dict[str, Any] = {"outcome": Outcome.PASSED, "message": "", "seconds": 0.1, "title": f"It does {place[-1]}."}
            known |= everywhere | said.get(place[-1], {})
            suite, points = place.partition("/")[0], worth * (known["outcome"] is Outcome.PASSED)
            check = CheckResult(id=place, question=question, suite=suite, max_points=worth, points=points, **known)
            checks.append(check)
        own = {"isolation": "full", "isolation_layers": (), "final": status != "failed", "checks": checks} | report
        made = Report(assignment="planted", title="Planted", suite_version="1.0", suites=("visible", "hidden"), **own)
        made.summarize(ASSIGNMENT)
        key = ResultFingerprints(submission=self.contents[name], suite="s", environment=fields.pop("environment", "e"))
        self.results[name] = SubmissionResult(entry=name, key=key, status=status, report=made, **fields)
        return name

    def result(self, name: str) -> SubmissionResult:
        """Return the result of a submission that is not still to come."""
        result = self.results[name]
        assert result is not None
        return result

    def course(self) -> Course:
        return Course(
            assignment=ASSIGNMENT,
            suites=("visible", "hidden"),
            export="export",
            layout="folder",
            suite="s",
            environment="e",
            submissions=self.contents,
            entries=self.entries,
        )

    def shown(self) -> ClassInsight:
        return analyze_results(self.course(), self.results)

    def page(self, pairs: Iterable[SimilarPair] = ()) -> str:
        return classpage.render(self.shown(), ClassFiles(list(pairs)))


def planted() -> Planted:
    """Return a class with a known number of everything."""
    made = Planted()
    for number in range(6):
        made.add(f"right_{number}", seconds=1.0 + number, cpu_seconds=0.5)
    # Visible checks cannot tell two mistakes apart; where a hidden one has failed as well, it can.
    for number in range(4):
        made.add(f"told_{number}", a=mistaken("minus_one", "minus_two"), c=mistaken("minus_one"))
    for number in range(2):
        made.add(f"either_{number}", a=mistaken("minus_one", "minus_two"), b=mistaken("minus_one", "minus_two"))
    made.add("both", a=mistaken("minus_one"), c=mistaken("minus_one"), e=mistaken("half", hint="Half of what?"))
    for number in range(3):
        made.add(f"alike_{number}", d=wrong(message="got 7", signature="77"), e=wrong(message="got 8", signature="88"))
    made.add("like_alike", d=wrong(message="got 7", signature="77"))  # fails one of the two: something else
    made.add("alone", d=wrong(message="got 9"))
    for number in range(2):
        made.add(f"blank_{number}", content="stub", all=UNWRITTEN)
    made.add("broken", all=wrong(message="your file is not valid Python", signature="broken"))
    made.add("refused", status="refused", all=wrong(message="there is no submitted.py", signature=""))
    made.add(
        "fault",
        status="failed",
        all=wrong("grader error", signature=""),
        report=FAULT,
    )
    made.add("endless", d=wrong("timeout", "stopped after 5 seconds"), seconds=99.0)
    made.add("huge", d=wrong("memory", "ran out of memory"))
    made.add("forged", e=wrong("crashed", "the process did not keep to the protocol: a second frame", cause=Cause.PROTOCOL))
    made.add("copy_0", content="copied", c=wrong(message="got 3"))
    made.add("copy_1", content="copied")
    made.add("again", retried=("visible/test_a",))
    made.add("later")
    made.results["later"] = None
    return made


def ids(entries: Iterable[WorklistEntry]) -> list[str]:
    return [entry.id for entry in entries]


def troubled(shown: ClassInsight, name: str) -> list[str]:
    """Return the ids of the submissions that this trouble happened to."""
    trouble = shown.trouble(name)
    assert trouble is not None
    return ids(case.entry for case in trouble.cases)


def question(shown: ClassInsight, name: str) -> QuestionInsight:
    return next(one for one in shown.questions if one.question.id == name)


# What is counted


def test_points_are_those_of_graded_submissions() -> None:
    """A fault of the grader costs a student nothing here either, and what is still to come is no zero."""
    shown = planted().shown()
    assert len(shown.points) == 28
    assert not {"fault", "later"} & shown.points.keys()
    assert (shown.max_points, shown.full, ids(shown.to_come)) == (10, 8, ["later"])
    assert (shown.points["refused"], shown.points["told_0"], shown.points["like_alike"]) == (0, 7, 8)
    assert sum(one.count for one in shown.bins) == 28
    assert shown.mean == pytest.approx(185 / 28)
    assert shown.median == 8


def test_states_of_questions() -> None:
    """Each graded submission is in one of them; what could not be loaded says nothing about a question."""
    shown = planted().shown()
    first, second = question(shown, "first"), question(shown, "second")
    assert first.counts == {"full": 16, "part": 8, "not started": 2, "not run": 2}
    assert second.counts == {"full": 15, "part": 6, "none": 3, "not started": 2, "not run": 2}
    assert (first.tried, second.tried) == (24, 24)
    # Seven have lost what the hidden check is worth or more: told 3 of 4, both 3, either 2, copy_0 2, and four have nothing.
    assert first.mean == pytest.approx((16 * 4 + 5 * 1 + 2 * 2 + 2) / 28)
    assert first.max_points == 4
    assert first.discrimination is not None
    assert first.discrimination > 0


def test_discrimination_leaves_the_question_itself_out() -> None:
    """Its own points would make every question look as if it told something of the others."""
    made = Planted()
    for number in range(16):
        lost: dict[str, Any] = {letter: wrong() for letter in ("abc" if number % 2 else "") + ("de" if number % 4 > 1 else "")}
        made.add(f"{number}", **lost)
    assert [one.discrimination for one in made.shown().questions] == [pytest.approx(0), pytest.approx(0)]


def test_mistakes_are_counted_once_a_submission() -> None:
    """However many checks they fail; and what the hidden checks tell apart is told apart."""
    shown = planted().shown()
    found = {(one.question, one.ids): (ids(one.submissions), one.hint) for one in shown.mistakes}
    assert found == {
        ("first", ("minus_one",)): (["told_0", "told_1", "told_2", "told_3", "both"], "Is it one?"),
        ("first", ("minus_one", "minus_two")): (["either_0", "either_1"], "Is it one?"),
        ("second", ("half",)): (["both"], "Half of what?"),
    }
    assert [len(one.submissions) for one in shown.mistakes] == [5, 2, 1]
    assert shown.mistakes[0].share == pytest.approx(5 / 24)


def raised(kind: str, message: str) -> dict[str, str]:
    return {"status": "error", "type": kind, "message": message}


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ([["0a1b", 3.0, -7.5]], [["0a1b", 3.0000001, -7.4999999]], True),
        ([["0a1b", [3], 3.0]], [["0a1b", [3], 3.0]], True),
        ([["0a1b", 3.0, -7.5]], [["0a1b", 3.1, -7.5]], False),
        ([["0a1b", 3.0]], [["ffff", 3.0]], False),
        ([["0a1b", 3.0], ["0a1c", 4.0]], [["0a1c", 4.0]], True),
        (raised("NameError", "name 'rets' is not defined"), raised("NameError", "name 'g' is not defined"), True),
        (raised("NameError", "name 'g' is not defined"), raised("KeyError", "'g'"), False),
        (raised("TypeError", "can't add 'NoneType'"), raised("TypeError", "can't add 'list'"), False),
        (raised("TypeError", "f.<locals>.g() takes 1"), raised("TypeError", "h() takes 1"), True),
        (raised("TypeError", "f() takes 1"), raised("TypeError", "h() takes 2"), False),
        ({"case": "c", "said": "moved by 0.3000001"}, {"case": "c", "said": "moved by 0.3"}, True),
        ({"case": "c", "said": "moved by 0.3"}, {"case": "c", "said": "moved by 0.6"}, False),
        ("something else each time", "something else each time", True),
    ],
)
def test_what_submissions_do_makes_a_group(one: Any, other: Any, alike: bool) -> None:
    """Catches: groups by variable names, line numbers or last digits; two behaviors in one group."""
    made = Planted()
    for number, saw in enumerate((one, other)):
        text = wrong(message=f"NameError: x{number}\n  line {number}", signature=f"{number}")
        made.add(f"{number}", d=text, shows={"visible/test_d": saw})
    groups = [(group.number, ids(group.submissions)) for group in made.shown().unknown]
    assert groups == ([(1, ["0", "1"])] if alike else [(1, ["0"]), (2, ["1"])])


COMPARED = "returns:\n  expected [1.5, 2]\n  got      [1.5, 3]\n  1 of 2 differ\nInput of f (case c):\n  a = 9"


@pytest.mark.parametrize(
    ("messages", "heading"),
    [
        ((COMPARED,), "returns: expected [1.5, 2], got [1.5, 3], 1 of 2 differ"),
        (("ValueError: bad\n  line 3, in f", COMPARED), "returns: expected [1.5, 2], got [1.5, 3], 1 of 2 differ"),
        (("a:\n  expected " + "1, " * 80 + "\n  got 2\n  1 of 9 differ; largest difference at [0]: expected 1, got 2",), None),
        (("ValueError: bad\n  line 3, in f",), "ValueError: bad"),
    ],
)
def test_a_group_is_headed_by_what_was_expected_and_found(messages: tuple[str, ...], heading: str | None) -> None:
    """Catches: a heading "returns:" with nothing after it, or the inputs of a case in place of what came out."""
    made = Planted()
    for name in "one", "two":
        failed: dict[str, Any] = {letter: wrong(message=message) for letter, message in zip("de", messages, strict=False)}
        made.add(name, **failed)
    found = Parsed(made.page()).text
    heading = "a: 1 of 9 differ; largest difference at [0]: expected 1, got 2" if heading is None else heading
    checks = " · ".join(("It does d.", "It does e. hidden")[: len(messages)])
    many = "1 check" if len(messages) == 1 else "2 checks"
    assert f"2 second : fails {many} {checks} {heading} It does " in found
    assert "catalogue add planted --class DIR --group 1" in found


def test_unknown_answers_are_grouped_by_what_the_checks_saw() -> None:
    """The same checks with the same signatures; what the catalogue knows, or was only stopped, is not among them."""
    groups = [ids(one.submissions) for one in planted().shown().unknown]
    assert groups[0] == ["alike_0", "alike_1", "alike_2"]
    assert sorted(groups[1:]) == [["alone"], ["copy_0"], ["like_alike"]]


def test_only_the_same_output_is_the_same_answer() -> None:
    """A message tells a part of what a check saw, and the same output of two checks is not the same answer."""
    made = Planted()
    made.add("one", d=wrong(message="got [7, ...]", signature="77"), e=wrong(message="got 8", signature="88"))
    made.add("same", d=wrong(message="got [7, ...], and printed", signature="77"), e=wrong(message="got 8", signature="88"))
    made.add("other", d=wrong(message="got [7, ...]", signature="78"), e=wrong(message="got 8", signature="88"))
    made.add("swapped", d=wrong(message="got 8", signature="88"), e=wrong(message="got [7, ...]", signature="77"))
    assert [ids(one.submissions) for one in made.shown().unknown] == [["one", "same"], ["other"], ["swapped"]]


def test_troubles() -> None:
    """Each kind with those it happened to, and why."""
    found = {one.id: {case.entry.id: case.reason for case in one.cases} for one in planted().shown().troubles}
    assert found == {
        "failed": {"fault": "The server went away"},
        "refused": {"broken": "your file is not valid Python", "refused": "there is no submitted.py"},
        "timeout": {"endless": "second"},
        "memory": {"huge": "second"},
        "crashed": {"forged": "second"},
        "suspicious": {"forged": "second: the process did not keep to the protocol: a second frame"},
    }


def test_what_looks_hostile() -> None:
    """What the judge saw, and a worker that died, are recognized; what an honest error is, or says, is not."""
    spoiled = explain_failure(Reply("protocol", details={"message": "a second frame"}), ASSIGNMENT.questions[0], 5, 100, "")
    made = Planted()
    made.add("forges", a=wrong("crashed", "in any words", cause=spoiled.cause))
    made.add("calls", b=wrong(message="in any words", cause=Cause.NETWORK))
    made.add("kills", attempts=3)
    made.add("opens", b=wrong(message=f"OSError: no\n{LIMITS[Cause.OPEN_FILES]}", cause=Cause.OPEN_FILES))
    made.add("prints", b=wrong(message=f"AssertionError: {LIMITS[Cause.NETWORK]} {spoiled.message}", cause=Cause.EXCEPTION))
    assert troubled(made.shown(), "suspicious") == ["forges", "calls", "kills"]


def test_words_decide_nothing() -> None:
    """Catches: a list that is empty once a message is worded anew, and whatever else goes by the words of a message."""
    first, other = planted(), planted()
    for result in filter(None, other.results.values()):
        report = result.report
        for text in (report, *report.checks, *report.questions):
            for name in {"message", "note", "note_detail", "printed", "detail"} & type(text).model_fields.keys():
                if getattr(text, name):
                    setattr(text, name, f"reworded {hash_parts([getattr(text, name)])}")
    known, reworded = first.shown(), other.shown()
    assert [(trouble.id, ids(case.entry for case in trouble.cases)) for trouble in reworded.troubles] == [
        (trouble.id, ids(case.entry for case in trouble.cases)) for trouble in known.troubles
    ]
    assert (reworded.questions, reworded.heatmap, reworded.bins) == (known.questions, known.heatmap, known.bins)
    for name, result in ((name, result) for name, result in first.results.items() if result):
        ours, theirs = result.report, other.result(name).report
        assert find_next_step(ours)[0] == find_next_step(theirs)[0]
        left, right = (fold_hidden_checks(report).checks for report in (ours, theirs))
        assert [(check.id, check.outcome) for check in left] == [(check.id, check.outcome) for check in right]


def test_flakes_and_copies() -> None:
    """The same content must be graded the same; and who handed in the same is told, unless nothing is in it."""
    shown = planted().shown()
    (flake,) = shown.flakes
    assert ids(flake.submissions) == ["copy_0", "copy_1"]
    assert flake.checks == (("first: It does c.", {"failed": 1, "passed": 1}),)
    assert [(case.entry.id, case.reason) for case in shown.retried] == [("again", "visible/test_a")]
    assert [(ids(one.submissions), one.blank) for one in shown.same] == [
        (["copy_0", "copy_1"], False),
        (["blank_0", "blank_1"], True),
    ]


def test_slowest_and_most_failed() -> None:
    """The slowest first; a check is failed by those in which it was run."""
    shown = planted().shown()
    assert [run.entry.id for run in shown.slowest][:3] == ["endless", "right_5", "right_4"]
    most = {one.check.id: (one.failed, one.run) for one in shown.checks}
    assert most["visible/test_a"] == (7, 24)
    assert most["visible/test_d"] == (7, 24)
    assert next(iter(most)) in ("visible/test_a", "visible/test_d")


def test_every_failed_check_is_listed() -> None:
    """Catches: a check whose discrimination nobody sees, because a dozen others fail more often."""
    made = Planted()
    for index in range(4):
        made.add(f"s{index}", a=wrong() if index else {})
    shown = made.shown()
    (one,) = shown.failing
    checks = [
        replace(one, check=one.check.model_copy(update={"id": f"visible/check{index}"}), discrimination=index / 100)
        for index in range(20)
    ]
    text = Parsed(classpage.render(replace(shown, checks=tuple(checks)))).text
    assert "8 more checks" in text
    assert [text.count(f"visible/check{index} Discrimination 0.{index:02}.") for index in range(20)] == [1] * 20


def test_levels_and_environments() -> None:
    """Guarantees differ between levels, so more than one is told; so is what a submission could do."""
    made = planted()
    made.add("laptop", report={"isolation": "basic", "isolation_open": ("read hidden files",)}, environment="other")
    shown = made.shown()
    assert shown.levels == {"full": 27, "basic": 1}
    assert shown.environments == {"e": 27, "other": 1}
    text = Parsed(made.page()).text
    for part in ("different levels of isolation: full (27), basic (1)", "could read hidden files", "graded in 2 environments"):
        assert part in text


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 500).map(lambda n: n / 2), st.lists(st.floats(0, 1), max_size=60))
def test_every_submission_is_in_one_bin(most: float, shares: list[float]) -> None:
    """Bins are round, not many, and full marks are a bin of their own."""
    points = [round(share * most * 2) / 2 for share in shares]
    found = make_histogram_bins(points, most)
    assert len(found) <= MAX_BINS + 1
    assert [one.low for one in found[1:]] == [one.high for one in found[:-1]]
    for one in found[:-1]:
        assert one.count == sum(one.low <= number < one.high for number in points)
    assert (found[-1].low, found[-1].high, found[-1].count) == (most, most, points.count(most))


def test_empty_classes() -> None:
    """Nothing handed in, nothing graded yet, no points at all: a page all the same."""
    made = Planted()
    assert "of 0" in Parsed(made.page()).text
    made.add("later")
    made.results["later"] = None
    assert "1 submission still to come" in Parsed(made.page()).text
    assert make_histogram_bins([0.0], 0.0) == []
    assert analyze_results(made.course(), {}).to_come == tuple(made.entries)


# The page


def test_the_page_shows_what_was_counted() -> None:
    """What only the insight knows helps nobody."""
    made = planted()
    pairs = [
        SimilarPair("right_0", "right_1", 0.83, [((3, 20), (5, 22))]),
        SimilarPair("copy_0", "copy_1", 1.0, []),
        SimilarPair("right_0", "nobody", 1.0, []),
    ]
    told = Parsed(made.page(pairs))
    for part in (
        "28 of 30",
        "8 29 %",
        "1 submission still to come",
        "The grader failed on 1 submission",
        "In 2 submissions, nothing could be graded: why",
        "5 minus one first, 21 % of those who tried Is it one?",
        "minus one or 1 other like it",
        "3 second : fails 2 checks It does d. · It does e. hidden got 7",
        "3 wrong answers that only one submission gives",
        "nothing could be graded : 2 submissions",
        "timed out : 1 submission",
        "2 submissions with the same content, graded differently",
        "first: It does c. failed 1, passed 1",
        "2 submissions with the same content: nothing was written",
        "lines 3 to 20, and lines 5 to 22",
    ):
        assert part in told.text, part
    assert told.text.count("83 %") == 1
    assert told.text.count(" and Student ") == 1
    labels = [attributes.get("aria-label", "") for tag, attributes in told.elements if tag == "svg"]
    assert "first: full marks 16, in part 8, not started 2, not run 2" in labels
    assert "28 graded submissions, from 0 to 10 points; median 8, mean 6.6, full marks 8" in labels


def test_links_lead_to_the_pages_of_students(tmp_path: Path) -> None:
    """A link is relative, and there is a page at its end."""
    made = planted()
    made.add("müller+1@x.edu")
    written = publishing.write_pages(ResultsFolder(tmp_path), made.course(), made.results, ClassFiles())
    told = Parsed((tmp_path / "class.html").read_text(encoding="utf-8"))
    places = {unquote(target) for target in told.all("href") if not target.startswith("#")}
    graded = [name for name, result in made.results.items() if result]
    assert places == {f"staff/{name}.html" for name in graded}
    assert all((tmp_path / place).is_file() for place in places)
    assert {target[1:] for target in told.all("href") if target.startswith("#")} <= set(told.all("id"))
    theirs = {tmp_path / "students" / f"{name}.html" for name in graded}
    assert set(written) == {tmp_path / "class.html", *(tmp_path / place for place in places), *theirs}


def test_only_what_changes_is_written(tmp_path: Path) -> None:
    """A rerun must not make a sync of three thousand files."""
    made, folder = planted(), ResultsFolder(tmp_path)
    publishing.write_pages(folder, made.course(), made.results, ClassFiles())
    assert publishing.write_pages(folder, made.course(), made.results, ClassFiles()) == []
    files = ClassFiles(accounts={"right_0": Account(["10 of 10 points", "two days late: -2, makes 8"])})
    theirs = [tmp_path / part / "right_0.html" for part in ("students", "staff")]
    assert publishing.write_pages(folder, made.course(), made.results, files) == theirs
    assert "two days late: -2, makes 8" in (tmp_path / "students" / "right_0.html").read_text(encoding="utf-8")


def test_partners_read_nothing_of_each_other(tmp_path: Path) -> None:
    """Why one has an extension, and what the other has done, is nobody else's business; the shared page tells neither."""
    made = Planted()
    made.add("team")
    made.add("pair")
    course = made.course()
    people = (Person(name="Ada", email="ada@x"), Person(name="Bob", email="bob@x"))
    course = course.model_copy(update={"entries": [entry.model_copy(update={"students": people}) for entry in course.entries]})
    text = '[[adjustments]]\nstudent = "bob@x"\npoints = -4\nreason = "a hearing"\n'
    first = course.model_copy(update={"entries": course.entries[:1]})
    told = summary.explain_scores(first, scoring.score_class(first, made.results, policy.parse_policy(text, "p")))
    publishing.write_pages(ResultsFolder(tmp_path), first, made.results, ClassFiles(accounts=told))
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "students").iterdir()}
    assert sorted(pages) == ["team", "team~1", "team~2"]
    assert [name for name, page in pages.items() if "a hearing" in page] == ["team~2"]
    assert '<p class="points">Score: 10 of 10 points</p>' in pages["team~1"]
    explained = {name for name, page in pages.items() if "How the score came about" in page}
    assert explained == {"team~1", "team~2"}, "the shared page has nothing to explain"
    assert "Score: 6 of 10 points" in pages["team~2"]
    assert "Score: on a separate page" in pages["team"]
    same = summary.explain_scores(first, scoring.score_class(first, made.results, policy.parse_policy("", "p")))
    assert list(same) == ["team"]
    publishing.write_pages(ResultsFolder(tmp_path), first, made.results, ClassFiles(accounts=same))
    assert [path.name for path in (tmp_path / "students").iterdir()] == ["team.html"], "nothing is left of the others"
    publishing.write_pages(ResultsFolder(tmp_path), first, {}, ClassFiles())
    assert [path.name for path in (tmp_path / "students").iterdir()] == ["team.html"], "another shard has just written it"
    rest = course.model_copy(update={"entries": course.entries[1:]})
    publishing.write_pages(ResultsFolder(tmp_path), rest, made.results, ClassFiles())
    assert [path.name for path in (tmp_path / "students").iterdir()] == ["pair.html"], "the other has left the class"


def test_older_submissions_count_nowhere(tmp_path: Path) -> None:
    """A class in which one hands in twice is no larger, and its mean is that of the scores; the old page says so."""
    made = Planted()
    made.add("one")
    made.add("two", all=wrong())
    entries = [entry.model_copy(update={"students": (Person(email="a@x"),)}) for entry in made.entries]
    course = made.course().model_copy(update={"entries": entries})
    rows = scoring.score_class(course, made.results, policy.parse_policy("", "p"))
    assert [row.entry for row in rows] == ["two"]
    files = ClassFiles(accounts=summary.explain_scores(course, rows), older={"one"}, scored=True)
    publishing.write_pages(ResultsFolder(tmp_path), course, made.results, files)
    page = Parsed((tmp_path / "class.html").read_text(encoding="utf-8")).text
    assert "1 submission left out here, because another submission of the same student counts." in page
    assert "a class of 1" in page
    assert "Scores after the policy and adjustments are in gradebook.csv." in page
    assert "none: another submission counts, not this one" in (tmp_path / "students" / "one.html").read_text(encoding="utf-8")


def test_what_was_not_read_is_named() -> None:
    """Whoever is in no list below must be on the page at least."""
    course = planted().course().model_copy(update={"unread": ["bob.txt", "<b>dan</b>.rar"]})
    page = classpage.render(analyze_results(course, planted().results))
    assert "bob.txt, &lt;b&gt;dan&lt;/b&gt;.rar" in page
    assert "2 names in the export are not submissions" in page


def test_a_student_is_not_told_that_all_is_well_where_the_grader_failed() -> None:
    """Nor is anybody told of a -k that takes none of the hidden checks."""
    made = Planted()
    made.add(
        "lost",
        status="failed",
        report={"checks": [], **FAULT},
    )
    made.add("fine", c=wrong())
    lost, fine = (feedback.render(made.result(name), ASSIGNMENT) for name in ("lost", "fine"))
    assert "Nothing to fix here" not in lost
    assert "-k a</code>" in fine
    assert not re.search(r"-k \d", fine)


def hostile() -> Planted:
    """Return a class in which every text that somebody else has written is hostile, and long."""
    made = planted()
    for number in range(2):
        made.add(
            f"{'w' * 110}{number}",
            who=ODD,
            content=f"odd {number}",
            a=wrong(message=ODD, title=ODD) if number else wrong(message=ODD),
            d=wrong(message=ODD, mistakes=(ODD, ODD), hint=ODD),
            report={"isolation_open": (ODD,)},
            retried=(ODD,),
            seconds=50.0,
        )
    made.add("fault_2", who=ODD, status="failed", report={"cause": Cause.GRADER, "note": ODD})
    made.add("refused_2", who=ODD, status="refused", all=wrong(message=ODD))
    return made


def test_nothing_a_student_writes_is_markup() -> None:
    """A name or a message must not run in the browser of an instructor, turn the text around it, or fill the page."""
    made = hostile()
    text = made.page([SimilarPair(made.entries[-4].id, made.entries[-3].id, 0.5, [])])
    told = Parsed(text)
    tags = [tag for tag, _ in told.elements]
    assert not {"script", "img", "link", "iframe", "form", "base"} & set(tags)
    assert tags.count("style") == 1
    assert not [name for _, attributes in told.elements for name in attributes if name in ("src", "style") or name[:2] == "on"]
    assert "{{ 7*7 }} {% raw %}" in told.text
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 150_000


def test_needs_nothing_from_elsewhere() -> None:
    """A page with the names of a class tells nobody that it is read."""
    text = planted().page()
    told = Parsed(text)
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import|https?:", style)
    assert "default-src 'none'; style-src 'unsafe-inline'" in told.all("content")
    assert not re.search(r'(href|src)="(https?:|//)', text)


def test_can_be_read_by_everyone() -> None:
    """A screen reader needs headings in order, a name for each picture or to pass it by, and ids that mean one thing."""
    told = Parsed(planted().page([SimilarPair("right_0", "right_1", 0.8, [])]))
    levels = [LEVELS.index(tag) for tag, _ in told.elements if tag in LEVELS]
    assert levels.count(0) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    pictures = [attributes for tag, attributes in told.elements if tag == "svg"]
    assert pictures
    assert all(one.get("aria-hidden") == "true" or (one["role"] == "img" and one["aria-label"]) for one in pictures)
    assert len(told.all("id")) == len(set(told.all("id")))
    assert all(attributes.get("scope") for tag, attributes in told.elements if tag == "th")


def large(number: int) -> Planted:
    """Return a class of this size, in which a third is right, a third makes a mistake, and a third is wrong in its own way."""
    made = Planted()
    for index in range(number):
        thirds = [{}, {"a": mistaken(f"mistake_{index % 40}")}, {"e": wrong(message=f"got {index % 900}")}]
        said: dict[str, Any] = thirds[index % 3]
        made.add(f"submission_{240_000_000 + index}", who=f"First Middle Lastname-{index}", content=f"{index // 2}", **said)
    return made


def test_three_thousand_submissions() -> None:
    """The page of a large course opens as quickly as that of a small one."""
    made = large(3_000)
    began = time.process_time()
    text = made.page([SimilarPair(made.entries[index].id, made.entries[index + 7].id, 0.5, []) for index in range(400)])
    assert time.process_time() - began < 20
    assert len(text.encode()) < 3_000_000
    assert "3,000 of 3,000" in Parsed(text).text
    assert "Each column stands for 10 submissions" in text


# What students read


def test_students_see_their_own_and_nothing_hidden(tmp_path: Path) -> None:
    """No name, message or signature of a hidden check, no name of a mistake, nobody else."""
    made = planted()
    made.add("mine", who="Ada Lovelace", c=mistaken("minus_one"), e=wrong(message="expected 42", detail="in the judge"))
    publishing.write_pages(ResultsFolder(tmp_path), made.course(), made.results, ClassFiles())
    text = (tmp_path / "students" / "mine.html").read_text(encoding="utf-8")
    for word in ("secret", "expected 42", "in the judge", "like minus_one", "minus_one", "Is it one?", "signature", "right_0"):
        assert word not in text, word
    told = Parsed(text).text
    assert "It does c." in told
    assert feedback.CONCEALED in told
    assert "It does e." not in told
    everything = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "students").iterdir())
    assert "secret" not in everything
    assert "Student " not in everything


def test_hostile_lines_of_a_score_are_text() -> None:
    """The reason for an extension may have been copied from a mail."""
    made = hostile()
    result = made.result("right_0")
    told = Parsed(feedback.render(result, ASSIGNMENT, Account([HOSTILE])))
    assert not {"script", "img"} & {tag for tag, _ in told.elements}
    assert "{{ 7*7 }} {% raw %}" in told.text


# With a real suite


def test_real_submissions(built_toy: Path, tmp_path: Path) -> None:
    """What the judge leaves in its reports is what is counted."""
    right = (built_toy / "solutions" / "toy" / "submitted.py").read_text(encoding="utf-8")
    one_more = "\n\ndef total(values):\n    return sum(values) + 1.0\n"
    contents = {
        "right": right,
        "more_0": right + one_more,
        "more_1": right + one_more.replace("sum(values) + 1.0", "1.0 + sum(value for value in values)"),
        "scale": right + "\n\ndef spread(values, scale=1.0):\n    return max(values) - min(values)\n",
        "broken": "def total(values:\n",
    }
    home = AssignmentFiles(built_toy, "toy")
    suites, results = ("visible", "hidden"), {}
    with Grader(home, suites) as grader:
        for name, content in contents.items():
            path = tmp_path / name / "submitted.py"
            path.parent.mkdir()
            path.write_text(content, encoding="utf-8")
            key = ResultFingerprints(submission=hash_parts([content]), suite="s", environment="e")
            results[name] = SubmissionResult(entry=name, key=key, status="graded", report=grader.grade(path))
    entries = [WorklistEntry(id=name, path=name) for name in contents]
    submissions = {name: result.key.submission for name, result in results.items()}
    about: dict[str, Any] = {"export": "export", "layout": "folder", "suite": "s", "environment": "e"}
    course = Course(assignment=home.assignment, suites=suites, submissions=submissions, entries=entries, **about)
    shown = analyze_results(course, results)
    assert {one.ids: ids(one.submissions) for one in shown.mistakes} == {
        ("begins_with_one",): ["more_0", "more_1"],
        ("scale_ignored",): ["scale"],
    }
    assert shown.unknown == ()
    assert (shown.max_points, shown.full) == (6, 1)
    assert troubled(shown, "refused") == ["broken"]
    assert "begins with one" in Parsed(classpage.render(shown)).text
    hidden = [check for check in results["scale"].report.checks if check.suite == "hidden"]
    assert hidden
    text = feedback.render(results["scale"], home.assignment)
    for check in hidden:
        assert check.id.rpartition("/")[2].removeprefix("test_") not in text


# In a browser


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_overflows_sideways(tmp_path: Path, width: int) -> None:
    """With all that can be unfolded open, no name, message or picture pushes the page wider than the screen."""
    made = hostile()
    text = made.page([SimilarPair(made.entries[-4].id, made.entries[-3].id, 0.5, [((1, 9_999), (1, 9_999))])])
    assert measure_width(text, width, tmp_path) <= width


@pytest.mark.parametrize("form", ["a cell without source", "format 3"])
def test_a_copy_in_an_odd_notebook_is_found(tmp_path: Path, form: str) -> None:
    """Catches: a notebook that is graded in one way and compared in another, so that a copy gets full marks unseen."""
    text = Path(__file__).read_text(encoding="utf-8")
    notebooks: dict[str, Any] = {
        "a cell without source": {"cells": [{"cell_type": "code"}, {"cell_type": "code", "source": text}]},
        "format 3": {"worksheets": [{"cells": [{"cell_type": "code", "input": text.splitlines(True)}]}]},
    }
    (tmp_path / "ann.py").write_text(text)
    (tmp_path / "zoe.ipynb").write_text(json.dumps(notebooks[form]))
    (tmp_path / "stub.py").write_text("")
    home: Any = SimpleNamespace(assignment=ASSIGNMENT, stub=tmp_path / "stub.py")
    whole = Course(
        assignment=ASSIGNMENT,
        suites=("visible",),
        export=str(tmp_path),
        layout="files",
        suite="t" * 64,
        environment="e" * 64,
        submissions={"ann.py": "a" * 64, "zoe.ipynb": "z" * 64},
        entries=[WorklistEntry(id=path, path=path, students=(Person(name=path),)) for path in ("ann.py", "zoe.ipynb")],
    )
    (pair,) = summary.find_similar_submissions(home, collect_code(home, whole, tmp_path / "results"))
    assert (pair.first, pair.second, pair.score) == ("ann.py", "zoe.ipynb", 1.0)
