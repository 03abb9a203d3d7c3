"""The report as a page: everything is said, nothing of a student's is taken for markup, it needs nothing and fits a phone."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import AssignmentFiles
from grader.judge.budgets import ReadingBudget, ReplyCache, TimeBudget
from grader.judge.run import Grader, GradingOptions, grade
from grader.judge.student import MAX_CURVES, MAX_POINTS, LoadedSubmission, RunContext, SubmissionUnderTest
from grader.report import page
from grader.report.model import CheckResult, Outcome, QuestionResult, Report, ValueTable, combine_outcomes
from tests.kit.browser import measure_width, needs_browser
from tests.kit.examples import examples

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("grading:policy_gradient",),
    "test_students_command_writes_page_and_json": ("grade.py",),
    "test_instructors_command_writes_the_whole": ("command:grade",),
}

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "policy_gradient" / "submitted.py"
VOID = {"meta", "wbr"}
TABLE = ValueTable(
    name="returns",
    kind="float32 [2, 2]",
    summary="1 of 4 differ",
    rows=("0", "1"),
    columns=("[:, 0]", "[:, 1]"),
    expected=(("1.5", "2.5"), ("3.5", "4.5")),
    got=(("1.5", "2.5"), ("-7", "4.5")),
    differs=((False, False), (True, False)),
    map=("00", "9?"),
)
LEVELS = ("h1", "h2", "h3")
LEARNED = {"reward, seed 1": [-0.5, -0.3, -0.4, -0.1, 0.0], "reward, seed 2": [-0.4] * 40}
HOSTILE = '</pre></title><script src="http://x.example/a.js">1</script><img src=x onerror=alert(1)> {{ 7*7 }} {% raw %}'


def check(question: str, outcome: str, **fields: Any) -> CheckResult:
    known: dict[str, Any] = {"suite": "visible", "max_points": 2, "message": "", "title": f"{question} does what it must."}
    known |= fields
    name = f"{known['suite']}/test_{question}_{outcome.replace(' ', '_')}"
    return CheckResult(id=name, question=question, outcome=Outcome(outcome), points=2 * (outcome == "passed"), **known)


def report(*checks: CheckResult, **fields: Any) -> Report:
    questions = []
    for name in dict.fromkeys(one.question for one in checks):
        own = [one for one in checks if one.question == name]
        points, most = sum(one.points for one in own), sum(one.max_points for one in own)
        outcome = combine_outcomes(own)
        questions.append(
            QuestionResult(id=name, title=name.title(), task="w", outcome=outcome, points=points, max_points=most, seconds=0.25)
        )
    known: dict[str, Any] = {
        "assignment": "a",
        "title": "Policies",
        "suite_version": "1",
        "suites": ("visible",),
        "isolation": "full",
        "isolation_layers": (),
        "final": True,
        "points": sum(one.points for one in checks),
        "max_points": sum(one.max_points for one in checks),
        "points_elsewhere": 50,
        "questions": questions,
        "checks": list(checks),
    }
    return Report(**(known | fields))


def every_outcome() -> Report:
    """Return a report in which every outcome occurs, with texts that are hard to lay out."""
    long = "a_name_without_a_space_" * 40
    return report(
        check("fine", "passed"),
        check("half.first_part", "passed"),
        check(
            "half.first_part", "failed", message="got 1", hint="Is it a sum or a mean?", printed="line\n" * 30, tables=[TABLE]
        ),
        check("wrong", "failed", message=f"KeyError: {long}\n  line 3\n    x[0]", printed=HOSTILE),
        check("wrong", "failed", message=f"KeyError: {long}\n  line 3\n    x[0]", title="Another check."),
        check("wrong", "failed", message="something else", title=long),
        check("slow", "timeout", message="stopped after 5 seconds"),
        check("big", "memory", message="ran out of memory"),
        check("gone", "crashed", message="the process ended"),
        check("new", "not run", message="not written yet: return the loss", unwritten=True),
        check("later", "not run", message="not run: first wrong must pass"),
        check("odd", "grader error", message="the grader failed here, not you"),
        check("learning", "failed", message="it ended on its target too seldom", curves=LEARNED),
    )


class Parsed(HTMLParser):
    """A page, read: its elements, its text, its ids; fails when tags do not fit together."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in ("path", "rect"), f"<{tag}/> closes nothing in HTML"
        self.elements.append((tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


def test_everything_is_said() -> None:
    """An outcome, a message, a print or a hint that the page leaves out is lost to who reads nothing else."""
    text = Parsed(page.render(every_outcome())).text
    for outcome in Outcome:
        assert outcome.value in text
    for part in ("Policies", "visible checks: 4/26 points", "50 more points are graded after submission", "0.25 s", "got 1"):
        assert part in text
    for part in (
        "Ask yourself: Is it a sum or a mean?",
        "It printed 30 lines",
        "return the loss",
        "Fix first",
        "1 check passed",
    ):
        assert part in text
    assert "1 check not passed, for the same reason" in text
    assert "-k wrong_failed" in text


def test_the_hint_comes_first() -> None:
    """A hint below a screen of numbers is read by nobody."""
    text = page.render(every_outcome())
    assert text.index("half.first_part does what") < text.index('class="hint"') < text.index("got 1")


def test_code_in_titles_and_hints_is_code() -> None:
    """Catches: backticks that are shown as such, and code that is not escaped."""
    found = report(check("q", "failed", title="`done` is `[B]`, not `<b>`.", hint="What is `1 - done`?"))
    for text in (page.render(found), page.render_verdict(found)):
        assert "<code>done</code> is <code>[B]</code>, not <code>&lt;b&gt;</code>." in text
        assert "What is <code>1 - done</code>?" in text
        assert "`" not in Parsed(text).text


def test_nothing_a_student_prints_is_markup() -> None:
    """What a submission prints, raises or is called must not run in the browser of who reads the report, or in the template."""
    wrong = check("q", "failed", message=HOSTILE, printed=HOSTILE, hint=HOSTILE, detail=HOSTILE, mistakes=(HOSTILE,))
    cells = ((HOSTILE,),)
    drawn = ((1.0, 2.0, 3.0, 4.0), (1.0, None, 3.0, 5.0))
    table = ValueTable(rows=(HOSTILE,), expected=cells, got=cells, differs=((True,),), curves=drawn)
    texts = dict.fromkeys(("name", "kind", "summary", "left_out"), HOSTILE)
    wrong.tables = (table.model_copy(update=texts),)
    found = report(wrong, check("r", "passed", curves={HOSTILE: [1, 2]}), note=HOSTILE, remarks=(HOSTILE,))
    for text in (page.render(found), page.render_verdict(found, sources=[HOSTILE])):
        told = Parsed(text)
        assert not {"script", "img"} & {tag for tag, _ in told.elements}
        assert told.text.count("{{ 7*7 }} {% raw %}") >= 10
        assert "49" not in told.text


def test_what_differs_is_marked() -> None:
    """A mark on an entry that is right, or none on one that is wrong, sends a student to the wrong line."""
    for text in (page.render(every_outcome()), page.render_verdict(every_outcome(), {"half.first_part"})):
        assert re.findall("<mark>(.*?)</mark>", text) == ["-7"]
        cells = [told for told in Parsed(text).texts if told in ("1.5", "2.5", "3.5", "4.5")]
        assert cells == ["1.5", "2.5", "1.5", "2.5", "3.5", "4.5", "4.5"]
        assert "1 of 4 differ" in Parsed(text).text
        assert re.findall(r'<rect class="shade(.)', text) == ["0", "0", "9", "X"]


def test_a_verdict_is_about_what_was_asked() -> None:
    """Whoever grades one function in a notebook must not search for it among the others; its hint waits for a click."""
    text = page.render_verdict(every_outcome(), {"half.first_part", "new"}, ["Graded: the cells that you ran."])
    told = Parsed(text).text
    assert "Graded: the cells that you ran." in told
    assert "return the loss" in told
    assert "KeyError" not in told
    assert re.search(r"<details class=\"hint\">\s*<summary>Hint</summary>\s*<p[^>]*>[^<]*Is it a sum or a mean", text)


def test_a_message_has_lines_where_no_style_is_applied() -> None:
    """Catches: "expected 1got 2" on GitHub, in a notebook that is not trusted, and in a browser without nested rules."""
    found = report(check("q", "failed", message="loss:\n\n  expected 1\n  got 2"))
    for text in (page.render(found), page.render_verdict(found)):
        bare = "".join(Parsed(text).texts)
        assert "loss:\n\n  expected 1\n  got 2" in bare


def test_a_verdict_brings_its_own_background() -> None:
    """Catches: dark text on the dark page of an editor that the template does not know."""
    style = page.render_verdict(every_outcome())
    palettes = re.findall(r"\{\s*(--text:[^}]*)\}", style)
    assert len(palettes) == 2
    assert all("--page:" in palette for palette in palettes)
    assert re.search(r"color: var\(--text\); background: var\(--page\);", style)
    assert ".vscode-high-contrast:not(.vscode-high-contrast-light)" in style, "the light one has both classes"


def test_a_required_return_is_a_line_in_the_plot() -> None:
    """A threshold outside of what was earned, left out of the scale, would be drawn over the text or not at all."""
    (plot,) = page.build_plots({"reward": [-10.0, -8.0]}, {"reward": -1.5})
    assert plot.threshold == (page.TOP, "-1.5")
    text = page.render(report(check("q", "failed", curves={"reward": [-10, -8]}, thresholds={"reward": -1.5})))
    assert "required: -1.5" in Parsed(text).text
    assert "Dotted" in text
    assert "Dotted" not in page.render(every_outcome())


def test_a_page_that_follows_saves_runs_its_own_script_alone() -> None:
    """A hash that does not fit leaves the page as it was at the first save; a content policy without one lets in others."""
    text = page.render(every_outcome(), live="12:34:56")
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in Parsed(text).all("content")
    assert "location.reload()" in script
    assert "12:34:56" in text
    assert "refresh" not in page.render(every_outcome())


def test_needs_nothing_from_elsewhere() -> None:
    """A page that loads something tells others who reads it, and is broken where there is no network."""
    text = page.render(every_outcome())
    told = Parsed(text)
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & {tag for tag, _ in told.elements}
    assert not [name for _, attributes in told.elements for name in attributes if name in ("src", "style") or name[:2] == "on"]
    assert {target.removeprefix("#") for target in told.all("href")} <= set(told.all("id"))
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import|https?:", style)
    assert "default-src 'none'; style-src 'unsafe-inline'" in told.all("content")


def test_can_be_read_by_everyone() -> None:
    """A screen reader needs a language, headings in order, names of pictures, and ids that mean one thing."""
    told = Parsed(page.render(every_outcome()))
    assert told.elements[0] == ("html", {"lang": "en"})
    levels = [LEVELS.index(tag) for tag, _ in told.elements if tag in LEVELS]
    assert levels[0] == 0
    assert levels.count(0) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    pictures = [attributes for tag, attributes in told.elements if tag == "svg"]
    assert len(pictures) == 4
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in pictures)
    assert len(told.all("id")) == len(set(told.all("id")))


def test_never_says_that_all_is_done_while_more_is_graded() -> None:
    """ "All passed" over half of the checks would be believed."""
    for elsewhere in (0, 50):
        text = Parsed(page.render(report(check("q", "passed"), points_elsewhere=elsewhere))).text
        assert "Nothing to fix here" in text
        assert not re.search(r"\b(all|every)\b", text, re.IGNORECASE)
        assert ("50 more points" in text) == bool(elsewhere)


def test_one_reason_is_told_once() -> None:
    """A file that cannot be loaded fails every check alike: forty times the same would hide it."""
    checks = [check(name, "failed", message="your file is not valid Python") for name in "abc"]
    text = Parsed(page.render(report(*checks))).text
    assert text.count("your file is not valid Python") == 1
    assert "Nothing could be graded, for one reason" in text
    assert "Fix first" not in text


def test_valid_from_the_first_moment(home: AssignmentFiles, replaced) -> None:
    """Whoever opens the page while it is graded, or after a crash, sees a whole page that says so."""
    pages: list[str] = []
    path = replaced(get_returns="return None")
    grade(
        home,
        path,
        options=GradingOptions(["get_returns"], changed=lambda now: pages.append(page.render(now.for_student()))),
    )
    assert len(pages) > 3
    texts = [Parsed(text).text for text in pages]
    assert all("This report is not final" in text for text in texts[:-1])
    assert "This report is not final" not in texts[-1]


def test_students_command_writes_page_and_json(tmp_path: Path) -> None:
    """Either file must not cost the other."""
    files = [tmp_path / "report.json", tmp_path / "report.html"]
    command = [sys.executable, "grade.py", "policy_gradient", "--json", str(files[0]), "--html", str(files[1])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"wrote {path}" in done.stdout for path in files)
    told = Parsed(files[1].read_text(encoding="utf-8")).text
    assert json.loads(files[0].read_text())["points"] == 0
    for part in ("0/63 points", "Start with", "Not started", "get_returns", "37 more points"):
        assert part in told


def test_instructors_command_writes_the_whole(tmp_path: Path, replaced) -> None:
    """An instructor needs the inputs of hidden checks and the names of mistakes, which a student's page leaves out."""
    path = replaced(get_value_net_loss="return ((value_net(observation) - returns) ** 2).sum()")
    output = tmp_path / "report.html"
    command = [sys.executable, "-m", "grader", "grade", "policy_gradient", str(path), "--format", "html", "-o", str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = Parsed(output.read_text(encoding="utf-8")).text
    assert "Looks like: " in told
    assert ", hidden, -k" in told


def test_hidden_inputs_never_reach_a_students_page(home: AssignmentFiles, replaced) -> None:
    """Inputs, values, prints and curves of hidden checks are for instructors."""
    path = replaced(get_returns="print('secret', rollout_buffer.rewards)\nreturn None")
    full = grade(home, path, ("hidden",), GradingOptions(["get_returns"]))
    full.checks[0].curves = {"learned in secret": [1.0, 2.0]}
    whole, shown = page.render(full), page.render(full.for_student())
    assert full.checks[0].tables
    for word in ("returns_unfinished_tail", "secret", "expected", "is a `return` missing?"):
        assert word in whole
        assert word not in shown
    assert full.checks[0].title in shown


# Curves


def learner(home: AssignmentFiles) -> SubmissionUnderTest:
    shared = RunContext(None, TimeBudget(home.assignment), ReadingBudget(), seed=0)  # type: ignore[arg-type]  # nothing is called
    nothing = LoadedSubmission(None, None, {}, frozenset(), None)
    return SubmissionUnderTest(shared, nothing, home.assignment.questions[0], {}, ReplyCache())


def test_curves_are_kept_and_bounded(home: AssignmentFiles) -> None:
    """A submission that returns a million rewards, or makes a curve of every call, must not fill the report."""
    student = learner(home)
    for number in range(MAX_CURVES + 3):
        student.curve(str(number), [0.1234567, 2, *[0.0] * 5_000])
    assert list(student.curves) == [str(number) for number in range(MAX_CURVES)]
    assert student.curves["0"][0] == 0.123457
    assert MAX_POINTS / 2 < len(student.curves["0"]) <= MAX_POINTS


@pytest.mark.parametrize(
    "values",
    [None, 3, "12", b"12", {}, {"0": 1}, [], [1, math.nan], [math.inf], [1, "2"], [[1]], [True], [None], [1e300], [1 << 250]],
    ids=lambda values: repr(values)[:12],
)
def test_what_is_no_curve_is_left_out(home: AssignmentFiles, values: Any) -> None:
    """The values come from the submission's process: no form of them may fail a check, or spoil the report."""
    student = learner(home)
    student.curve("reward", values)
    assert student.curves == {}


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40), min_size=1, max_size=3))
def test_every_curve_stays_in_its_plot(curves: list[list[float]]) -> None:
    """One point, a constant, a huge range: nothing is divided by zero or drawn outside."""
    for plot in page.build_plots({str(number): values for number, values in enumerate(curves)}):
        numbers = [point.split() for path in (plot.raw, plot.mean) for point in path.removeprefix("M").split("L")]
        for x, y in [*numbers, *((page.LEFT, height) for height, _ in plot.ticks), (page.LEFT, plot.began)]:
            assert page.LEFT <= float(x) <= page.RIGHT
            assert page.TOP - 0.1 <= float(y) <= page.BOTTOM + 0.1
        assert len(plot.ticks) <= page.TICKS + 1


def test_averages() -> None:
    """An average over fewer values than there are near would bend a straight line."""
    assert page.smooth_values([1.0, 2.0, 3.0, 4.0], 1) == [1, 2, 3, 4]
    assert page.smooth_values([0.0, 3.0, 6.0, 9.0, 12.0], 3) == [1.5, 3, 6, 9, 10.5]


def test_scales_are_round() -> None:
    """Lines at 0.1833 and 0.3667 cannot be read."""
    assert page.choose_round_numbers(-0.6, 0.0) == pytest.approx([-0.6, -0.4, -0.2, 0])
    assert page.choose_round_numbers(3, 98) == [50]


def test_a_learning_check_keeps_what_was_earned(home: AssignmentFiles) -> None:
    """The curve of a right submission is there, one point a collection of rollouts, and is drawn."""
    with Grader(home) as grader:
        found = grader.grade(SOLUTION, {"learning_ppo"})
    (only,) = found.checks
    assert only.outcome is Outcome.PASSED
    (curve,) = only.curves.values()
    assert 2 <= len(curve) <= 320 // 8  # training stops once the policy does well
    assert 'class="plot"' in page.render(found.for_student())


@pytest.mark.parametrize("result", ["None", "([], [], object(), [])", "([], [], [None], [])", "([], [], [float('nan')], [])"])
def test_odd_final_rewards_cost_nothing(home: AssignmentFiles, tmp_path: Path, result: str) -> None:
    """The lists are other checks' business: a policy that learned has learned, with a curve or without."""
    path = tmp_path / "submitted.py"
    wrapped = (
        f"\n\ntrained = train_policy_gradient\n\ndef train_policy_gradient(**all):\n    trained(**all)\n    return {result}\n"
    )
    path.write_text(SOLUTION.read_text(encoding="utf-8") + wrapped, encoding="utf-8")
    with Grader(home) as grader:
        (only,) = grader.grade(path, {"learning_ppo"}).checks
    assert (only.outcome, only.curves) == (Outcome.PASSED, {})


# In a browser


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_overflows_sideways(tmp_path: Path, width: int) -> None:
    """On a phone, one long word, row or picture would push the whole page sideways, and text out of sight.

    Only tables of numbers scroll sideways, by themselves.
    """
    assert measure_width(page.render(every_outcome()), width, tmp_path) <= width
