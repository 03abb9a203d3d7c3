"""Every format from one report: the same points for whoever reads it, nothing of hidden checks, and each as its reader asks."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from grader import answers
from grader.assignment import AssignmentFiles
from grader.formats import ENDINGS, choose_renderer
from grader.judge.run import GradingOptions, grade
from grader.platforms.autolab import report as autolab
from grader.platforms.classroom import report as classroom
from grader.report import picture
from grader.report.model import CheckResult, Outcome, Report
from tests.kit.examples import examples

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("grading:policy_gradient", "grader/report/*.py"),
    "test_every_format_is_registered_and_read_here": ("command:grade",),
    "test_grade_for_a_student": ("command:grade",),
}

ROOT = Path(__file__).resolve().parents[2]
FOR_ONE_STUDENT = {"text", "html", "json", "csv"}
CURVES = {"reward, seed $1_$": [-0.5, -0.3, -0.4, -0.1, 0.0], "reward, seed 2": [-0.4 + 0.01 * (n % 7) for n in range(500)]}

# What each reader asks for, as contracts and documentation say: a field too many or of another type is refused.


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


Points = Annotated[float, Field(ge=0)]


class Image(Strict):
    label: str
    url: str = Field(pattern=r"^data:image/png;base64,[A-Za-z0-9+/=]+$")


class PrairieLearnTest(Strict):
    name: str
    description: str = ""
    points: Points
    max_points: Points
    message: str = ""
    output: str = ""
    images: list[Image] = []


class PrairieLearn(Strict):
    score: float = Field(ge=0, le=1)
    gradable: bool = True
    format_errors: str | list[str] = []
    message: str = ""
    output: str = ""
    images: list[Image] = []
    tests: list[PrairieLearnTest] = []


class ClassroomTest(Strict):
    name: str
    status: Literal["pass", "fail", "error"]
    score: Points
    message: str
    test_code: str
    filename: str
    line_no: int
    duration: float


class Classroom(Strict):
    version: Literal[1]
    status: Literal["pass", "fail", "error"]
    max_score: Points
    tests: list[ClassroomTest]


class AutolabScores(Strict):
    scores: dict[str, Points]
    scoreboard: list[float]


class AutolabTest(Strict):
    passed: bool
    hint: str = ""


AutolabStage = TypeAdapter(dict[str, AutolabTest])


def no_constants(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def parsed(text: str) -> Any:
    return json.loads(text, parse_constant=no_constants)


# What each reader makes of it: the points, and of how many, or None where it is not told.


def read_gradescope(text: str) -> tuple[float, float | None]:
    content = parsed(text)
    assert "score" not in content
    return sum(test["score"] for test in content["tests"]), sum(test["max_score"] for test in content["tests"])


def read_prairielearn(text: str) -> tuple[float, float | None]:
    assert len(text.encode()) <= 1_000_000
    content = PrairieLearn.model_validate_json(text)
    parsed(text)
    points, worth = sum(test.points for test in content.tests), sum(test.max_points for test in content.tests)
    assert content.score == pytest.approx(points / worth if worth else 0.0)
    assert content.gradable != bool(content.format_errors)
    return points, worth


def read_classroom(text: str) -> tuple[float, float | None]:
    """Do what autograding-grading-reporter does with the results of its runners, down to the notice."""
    (line,) = text.splitlines()
    assert len(f"GRADE_RESULTS={line}") < 128 * 1024, "Linux starts nothing with such a variable"
    decoded = base64.b64decode(line, validate=True)
    assert decoded.isascii()
    runners = [Classroom.model_validate_json(decoded)]
    points, worth = sum(test.score for one in runners for test in one.tests), sum(one.max_score for one in runners)
    for test in runners[0].tests:  # the reporter prints them, and the runner reads what is printed
        for printed in [*test.name.splitlines(), *test.message.splitlines()]:
            assert not printed.lstrip().startswith("::")
            assert "##[" not in printed
    notice = re.fullmatch(r"Points (.+)/(.+)", f"Points {points}/{worth}")
    assert notice
    return float(notice[1]), float(notice[2])


def read_autolab(text: str) -> tuple[float, float | None]:
    lines = text.splitlines()
    last = AutolabScores.model_validate_json(lines[-1])
    before = parsed(lines[-2])
    assert before.pop("_presentation") == "semantic"
    assert before.pop("stages") == list(before)
    for stage in before.values():
        AutolabStage.validate_python(stage)
    assert last.scoreboard[0] == sum(last.scores.values())
    return sum(last.scores.values()), None


def find_element(root: ElementTree.Element, path: str) -> ElementTree.Element:
    """Return the first element at this path; there must be one."""
    found = root.find(path)
    assert found is not None, path
    return found


def read_junit(text: str) -> tuple[float, float | None]:
    """Read it as strict readers do: counts that add up, one outcome a test, points in each test and in each suite."""
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert root.tag == "testsuites"
    totals = {"points": 0.0, "max_points": 0.0}
    for suite in root:
        assert suite.tag == "testsuite"
        cases = suite.findall("testcase")
        kinds = [[child.tag for child in case if child.tag not in ("properties", "system-out")] for case in cases]
        assert all(kind in ([], ["failure"], ["error"], ["skipped"]) for kind in kinds)
        for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[name]) == kinds.count([kind])
        assert int(suite.attrib["tests"]) == len(cases)
        for name in totals:
            place = f"properties/property[@name='{name}']"
            own = [float(find_element(case, place).attrib["value"]) for case in cases]
            stated = suite.find(place)
            assert sum(own) == pytest.approx(float(stated.attrib["value"]) if stated is not None else 0.0)
            totals[name] += sum(own)
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.attrib[name]) == sum(int(suite.attrib[name]) for suite in root)
    return totals["points"], totals["max_points"]


def read_csv(text: str) -> tuple[float, float | None]:
    assert "\r" not in text
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    for row in rows:
        assert None not in row, "a row has too many cells"
        for cell in row.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t"))
    return sum(float(row["points"]) for row in rows), sum(float(row["max_points"]) for row in rows)


def read_json(text: str) -> tuple[float, float | None]:
    parsed(text)
    report = Report.model_validate_json(text)
    assert report.points == sum(check.points for check in report.checks) == sum(one.points for one in report.questions)
    return report.points, report.max_points


def read_text(text: str) -> tuple[float, float | None]:
    (found,) = re.findall(r"(?:^|>)[a-z +]+ checks: ([\d.]+)/([\d.]+) points", text, re.MULTILINE)
    return float(found[0]), float(found[1])


READERS: dict[str, Callable[[str], tuple[float, float | None]]] = {
    "text": read_text,
    "html": lambda text: read_text(re.sub(r"<svg.*?</svg>|<title>.*?</title>", "", text, flags=re.DOTALL)),
    "json": read_json,
    "csv": read_csv,
    "gradescope": read_gradescope,
    "prairielearn": read_prairielearn,
    "classroom": read_classroom,
    "autolab": read_autolab,
    "junit": read_junit,
}


@pytest.fixture(scope="module")
def toy(built_toy: Path) -> AssignmentFiles:
    return AssignmentFiles(built_toy, "toy")


def check(name: str, question: str, outcome: str, points: float = 0.0, worth: float = 1.0, **fields: Any) -> CheckResult:
    suite = fields.pop("suite", "visible")
    known: dict[str, Any] = {
        "title": f"{name} holds.",
        "message": "" if outcome == "passed" else "expected 1, got 2",
        "seconds": 0.5,
    }
    where = {"id": f"{suite}/test_{name}", "suite": suite, "question": question}
    return CheckResult(**where, outcome=Outcome(outcome), points=points, max_points=worth, **(known | fields))


def report(toy: AssignmentFiles, *checks: CheckResult, **fields: Any) -> Report:
    suites = tuple(suite for suite in ("visible", "hidden") if any(one.suite == suite for one in checks)) or ("visible",)
    known: dict[str, Any] = {
        "title": toy.assignment.title,
        "suite_version": "1.0",
        "suites": suites,
        "isolation": "full",
        "final": True,
    }
    made = Report(assignment="toy", isolation_layers=(), checks=list(checks), **(known | fields))
    made.summarize(toy.assignment)
    return made


PARTIAL = (check("a", "total", "passed", 1.5, 1.5), check("b", "total", "failed", worth=0.7), check("c", "spread", "timeout"))
HIDDEN = (
    check("secret_name", "total", "passed", 2.25, 2.25, suite="hidden", title="Secret title."),
    check("secret_other", "total", "failed", worth=0.1, suite="hidden", message="secret message", printed="secret print"),
    check("secret_third", "spread", "crashed", worth=3.0, suite="hidden", curves={"secret curve": [1.0, 2.0]}),
)
BROKEN = tuple(
    one.model_copy(update={"outcome": Outcome.CRASHED, "points": 0.0, "message": "died"}) for one in PARTIAL + HIDDEN
)
ODD = "=1+1\n::error::x\n##[group]\x00\x1b[2J\u202e<b>]]>&amp;\r\ufffe,\";'\t"
NO_CURVES = {"x": [float("nan"), 1.0, float("inf")], "y": [float("nan")]}  # which the model would not take
REPORTS: dict[str, Callable[[AssignmentFiles], Report]] = {
    "partial": lambda toy: report(toy, *PARTIAL),
    "hidden and visible": lambda toy: report(toy, *PARTIAL, *HIDDEN),
    "everything": lambda toy: report(toy, *PARTIAL[:1], *HIDDEN[:1]),
    "nothing earned": lambda toy: report(toy, *BROKEN),
    "worth nothing": lambda toy: report(toy, check("a", "total", "not run", worth=0.0)),
    "a question without points": lambda toy: report(toy, *PARTIAL, check("z", "both", "passed", worth=0.0)),
    "not final": lambda toy: report(
        toy,
        *PARTIAL,
        *HIDDEN,
        check("d", "both", "grader error"),
        final=False,
        cause="grader",
        note="The grader failed",
        note_detail="test_secret_name",
    ),
    "stopped at once": lambda toy: report(toy, final=False),
    "odd text": lambda toy: report(
        toy,
        check("a", "total", "failed", message=ODD, printed=ODD, title=ODD, hint=ODD),
        *HIDDEN,
        submission=ODD,
        remarks=(ODD,),
    ),
    "long text": lambda toy: report(
        toy,
        *(check(f"n{index}", "total", "failed", message="𝄞" * 4_000, printed="é\n" * 2_000) for index in range(120)),
    ),
    "with curves": lambda toy: report(toy, check("a", "total", "passed", 1.0, curves=CURVES), *HIDDEN),
    "numbers that are none": lambda toy: report(
        toy, check("a", "total", "passed", 1.0).model_copy(update={"curves": NO_CURVES})
    ),
    "with a leaderboard": lambda toy: report(
        toy, check("a", "total", "passed", 1.0, entries=({"name": "mean", "value": -1.25},)), *HIDDEN
    ),
}
# What the judge never puts into a report: it keeps finite numbers, and cleans all text. These formats rely on it.
NEVER_THERE = {"numbers that are none": ("html", "json"), "odd text": ("text", "html")}


def test_every_format_is_registered_and_read_here(toy: AssignmentFiles) -> None:
    """A format that the command line does not offer, or that no reader here checks, is forgotten at the next change."""
    assert set(ENDINGS) == set(READERS)
    for name in ENDINGS:
        assert callable(choose_renderer(name, toy.assignment))
    told = subprocess.run([sys.executable, "-m", "grader", "grade", "--help"], cwd=ROOT, capture_output=True, text=True).stdout
    assert all(name in told for name in ENDINGS)


@pytest.mark.parametrize("kind", sorted(REPORTS))
@pytest.mark.parametrize("name", sorted(ENDINGS))
def test_same_points_everywhere(toy: AssignmentFiles, name: str, kind: str) -> None:
    """Two platforms that give two grades for one submission make neither believable; so does one that cannot read its file."""
    one = REPORTS[kind](toy)
    if name in NEVER_THERE.get(kind, ()):
        return
    for for_student in (False, True):
        text = choose_renderer(name, toy.assignment, for_student)(one)
        assert text.encode("utf-8").decode("utf-8") == text
        assert "\r" not in text
        assert text.endswith("\n") or name == "html"
        points, worth = READERS[name](text)
        assert points == pytest.approx(one.points, abs=1e-9)
        assert worth is None or worth == pytest.approx(one.max_points, abs=1e-9)
        assert "NaN" not in text
        assert "Infinity" not in text


def test_prairielearn_gets_the_share(toy: AssignmentFiles) -> None:
    """Its score is a share, so the total is what its reader multiplies it with."""
    one = REPORTS["hidden and visible"](toy)
    content = parsed(choose_renderer("prairielearn", toy.assignment)(one))
    assert content["score"] * one.max_points == pytest.approx(one.points)


def test_autolab_knows_every_problem(toy: AssignmentFiles) -> None:
    """Points for a problem that the instructor was not told to make are lost."""
    problems = autolab.list_problems(toy.assignment)
    assert sum(problems.values()) == toy.assignment.total("visible") + toy.assignment.total("hidden")
    for kind in ("hidden and visible", "a question without points"):
        assert autolab.render_scores(REPORTS[kind](toy))["scores"].keys() <= problems.keys()
    missing = autolab.render_refusal("expected submitted.py", toy.assignment)
    assert read_autolab(missing) == (0, None)
    assert parsed(missing.splitlines()[-1])["scores"].keys() == problems.keys()


def test_autolab_has_the_leaderboard(toy: AssignmentFiles) -> None:
    """The scoreboard's row is the points, then what checks have measured."""
    assert autolab.render_scores(REPORTS["with a leaderboard"](toy))["scoreboard"] == [3.25, -1.25]


@pytest.mark.parametrize("kind", ["not final", "stopped at once"])
def test_a_report_that_is_not_final_says_so_everywhere(toy: AssignmentFiles, kind: str) -> None:
    """A fault of the grader that reads like a bad grade costs a student points, and nobody asks why."""
    one = REPORTS[kind](toy)
    made = {name: choose_renderer(name, toy.assignment)(one) for name in ENDINGS}
    for name in ("text", "html"):
        assert "not final" in made[name]
    assert parsed(made["json"])["final"] is False
    assert "not final" in parsed(made["gradescope"])["output"]
    question = PrairieLearn.model_validate_json(made["prairielearn"])
    assert not question.gradable  # the attempt is not used up, the score not recorded
    assert "through no fault of the student" in question.format_errors[0]
    step = Classroom.model_validate_json(base64.b64decode(made["classroom"]))
    assert step.status == step.tests[0].status == "error"
    assert "through no fault of the student" in step.tests[0].message
    stage = parsed(made["autolab"].splitlines()[-2])[autolab.GRADER]["finished"]
    assert not stage["passed"]
    assert "through no fault of the student" in stage["hint"]
    fault = find_element(ElementTree.fromstring(made["junit"]), "testsuite[@name='the grader']/testcase/error")
    assert "through no fault of the student" in (fault.text or "")
    rows = list(csv.DictReader(io.StringIO(made["csv"])))
    assert {row["final"] for row in rows} == {"no"}
    assert "through no fault of the student" in rows[0]["message"]


def test_junit_tells_how_it_failed(toy: AssignmentFiles) -> None:
    """A wrong answer is a failure, a crash an error, and what was not run neither."""
    outcomes = ("passed", "failed", "timeout", "memory", "crashed", "grader error", "not run")
    checks = [check(outcome.replace(" ", "_"), "total", outcome, float(outcome == "passed")) for outcome in outcomes]
    root = ElementTree.fromstring(choose_renderer("junit", toy.assignment)(report(toy, *checks)))
    kinds = [next((child.tag for child in case if child.tag != "properties"), "") for case in root.iter("testcase")]
    assert kinds == ["", "failure", "error", "error", "error", "error", "skipped"]


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\n=", "\r=", "\t", " =", "\u00a0@", "＝", "\t-"])
def test_no_message_is_a_formula(toy: AssignmentFiles, begin: str) -> None:
    """A student chooses the message of an exception; an instructor opens the table."""
    one = report(toy, check("a", "total", "failed", message=f"{begin}cmd|'/c calc'!A1"))
    rows = csv.DictReader(io.StringIO(choose_renderer("csv", toy.assignment)(one), newline=""))
    assert next(rows)["message"].startswith("'")


@pytest.mark.parametrize("separator", [";", "\t", "\n", "\r\n", '; "'])
def test_no_part_of_a_message_is_a_formula(toy: AssignmentFiles, separator: str) -> None:
    """Where semicolons separate, a comma and the quotes of a whole message mean nothing."""
    one = report(toy, check("a", "total", "failed", message=f"wrong{separator}=1+1"))
    text = choose_renderer("csv", toy.assignment)(one)
    assert "1+1" in text
    assert all(not line.lstrip(' "').startswith("=") for line in re.split("[;\t\n]", text))


@pytest.mark.parametrize("begin", ["=", "+", "-", "@"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_separates(toy: AssignmentFiles, separator: str, begin: str) -> None:
    """Catches: a cell of a student's that one spreadsheet keeps as text and another one computes."""
    message = "".join(f'wrong{mark}{begin}1+1{mark} "{begin}1' for mark in ",;\t")
    text = choose_renderer("csv", toy.assignment)(report(toy, check("a", "total", "failed", message=message)))
    cells = [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for cell in row]
    assert any("1+1" in cell for cell in cells)
    assert not [cell for cell in cells if cell.lstrip(" \"'").startswith(begin) and not cell.startswith("'")]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=60), min_size=4, max_size=4), st.integers(1, 200))
@example(["\t", "", "", ""], 1)  # one cell that is one tab
def test_any_text_can_be_read(toy: AssignmentFiles, texts: list[str], times: int) -> None:
    """Control characters make XML that no reader takes; a line of a student's must not become one of the format's."""
    title, message, printed, remark = (text * times for text in texts)
    one = report(
        toy, check("a", "total", "failed", title=title, message=message, printed=printed), remarks=(remark,), submission=remark
    )
    for name in ("prairielearn", "classroom", "autolab", "junit", "csv"):
        text = choose_renderer(name, toy.assignment)(one)
        assert READERS[name](text)[0] == 0
        assert not [sign for sign in text if sign not in "\n\t" and unicodedata.category(sign) in ("Cc", "Cf", "Cs")]


# Pictures


class Sources(HTMLParser):
    """The addresses of all pictures in a page, and all else that it holds: tags and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.pictures: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.pictures += [value or "" for name, value in attributes if name == "src"]

    def handle_data(self, data: str) -> None:
        self.text += data


def learned(toy: AssignmentFiles, **fields: Any) -> Report:
    return report(toy, check("a", "total", "failed", curves=CURVES, printed='<script src="x">1</script>', **fields))


def test_gradescope_shows_a_picture_beside_the_text(toy: AssignmentFiles) -> None:
    """A picture that is cut in the middle shows nothing, and text beside it that is not escaped is markup."""
    (test,) = parsed(choose_renderer("gradescope", toy.assignment)(learned(toy)))["tests"]
    assert test["output_format"] == "html"
    assert len(test["output"]) < 90_000
    page = Sources(test["output"])
    assert page.tags == ["pre", "img"]
    (uri,) = page.pictures
    png = base64.b64decode(uri.removeprefix("data:image/png;base64,"), validate=True)
    assert png.startswith(b"\x89PNG")
    assert len(png) < 60_000
    for part in ('<script src="x">', "reward, seed 2: about -0.37 at the start", "expected 1, got 2"):
        assert part in page.text


def test_prairielearn_shows_a_picture(toy: AssignmentFiles) -> None:
    """Where a platform can show how a training went, a line of numbers is a poor account of it."""
    (test,) = PrairieLearn.model_validate_json(choose_renderer("prairielearn", toy.assignment)(learned(toy))).tests
    assert base64.b64decode(test.images[0].url.partition(",")[2]).startswith(b"\x89PNG")
    assert "reward, seed 2: about" in test.output


def test_pictures_go_before_text_is_cut(toy: AssignmentFiles) -> None:
    """A results.json over a megabyte is refused as a whole."""
    noise = {f"curve {index}": [float((index * n * 7919) % 1000) for n in range(500)] for index in range(8)}
    checks = [check(f"n{index}", "total", "failed", curves=noise, message=f"told {index}") for index in range(40)]
    text = choose_renderer("prairielearn", toy.assignment)(report(toy, *checks))
    read_prairielearn(text)
    assert "told 39" in text


def without_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_IMAGES", "0")


def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    picture._data_uri.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)


@pytest.mark.parametrize("change", [without_images, without_matplotlib])
def test_without_pictures_there_is_text(toy: AssignmentFiles, monkeypatch: pytest.MonkeyPatch, change: Callable) -> None:
    """A platform that shows no pictures, or a matplotlib that is broken, must cost neither points nor words."""
    change(monkeypatch)
    (test,) = parsed(choose_renderer("gradescope", toy.assignment)(learned(toy)))["tests"]
    assert "output_format" not in test  # the whole file says "text"
    assert "reward, seed 2: about" in test["output"]
    (test,) = parsed(choose_renderer("prairielearn", toy.assignment)(learned(toy)))["tests"]
    assert "images" not in test


def test_no_picture_of_a_hidden_check(toy: AssignmentFiles) -> None:
    """How a hidden training went tells what was trained on."""
    for name in ("gradescope", "prairielearn"):
        assert "image/png" not in choose_renderer(name, toy.assignment)(REPORTS["hidden and visible"](toy))


# Nothing of hidden checks


def read_by_a_student(name: str, text: str) -> str:
    """Return what a student can read of a format's text."""
    if name == "classroom":
        return base64.b64decode(text).decode()
    if name == "gradescope":  # before hidden checks are published; extra_data is for instructors
        content = parsed(text)
        shown = [test for test in content["tests"] if test["visibility"] == "visible"]
        return json.dumps([content["output"], shown, content.get("leaderboard")])
    return text


def numbers(content: Any) -> Iterator[float]:
    """Return all numbers that are not whole, which nothing else holds by chance."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        for entry in content:
            yield from numbers(entry)
    elif isinstance(content, float) and Fraction(content).denominator > 1000:
        yield content


def secrets(home: AssignmentFiles) -> set[str]:
    """Return the words of an assignment's hidden checks, cases, inputs, answers and mistakes that no student has seen."""
    name = home.assignment.name
    source = home.checks["hidden"].read_text(encoding="utf-8")
    stored, known = (json.loads(home.answers[suite].read_text(encoding="utf-8"))[name] for suite in ("hidden", "visible"))
    words = {*re.findall(r"def test_(\w+)", source), *re.findall(r'"""(.+?)"""', source)}
    for suite in ("visible", "hidden"):
        words |= set(answers.read_mistakes(home.mistakes[suite], name))
    words |= set(stored["cases"])
    words |= {f"{abs(number):.6g}" for number in numbers(stored)}
    given = home.checks["visible"].read_text(encoding="utf-8") + json.dumps(known) + home.stub.read_text(encoding="utf-8")
    near = {f"{abs(number):.6g}" for number in numbers(known)}
    return {word for word in words - near if len(word) > 4 and word not in given}


# Right wherever visible checks look; where hidden ones do, it prints what it is given and is wrong in known ways.
TALKATIVE = """
def total(values):
    if not values:
        print("secretly nothing")
        return None
    return sum(values)


def spread(values, scale=1.0):
    if len(values) == 5:
        print("secretly", values)
        scale = 2.0
    return (max(values) - min(values)) * scale
"""


@pytest.fixture(scope="module")
def toys_report(toy: AssignmentFiles, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of a submission of which only hidden checks find out what is wrong."""
    path = tmp_path_factory.mktemp("talkative") / "submitted.py"
    path.write_text(TALKATIVE, encoding="utf-8")
    return grade(toy, path, ("visible", "hidden"))


def assert_kept(home: AssignmentFiles, one: Report, said: tuple[str, ...] = ()) -> None:
    """Assert that nothing of the hidden checks is in any format for students, and that an instructor's has it."""
    words = secrets(home) | set(said)
    whole = choose_renderer("json", home.assignment)(one)
    assert sum(word in whole for word in words) > 3, "the report holds no secrets that could get out"
    for word in said:
        assert word in whole
    for name in ENDINGS:
        text = read_by_a_student(name, choose_renderer(name, home.assignment, for_student=True)(one))
        assert not [word for word in words if word in text], name


def test_students_read_nothing_of_hidden_checks(toy: AssignmentFiles, toys_report: Report) -> None:
    """A name, an input, a value or a print of a hidden check in any file that a student gets gives the check away."""
    assert toys_report.points == 4
    assert_kept(toy, toys_report, said=("secretly", "nothing_of_nothing", "other_default", "no_values"))


def test_students_read_nothing_of_real_hidden_checks(home: AssignmentFiles, replaced) -> None:
    """The same for an assignment in use, whose hidden checks compare real inputs."""
    body = "returns = [r * 1.0 for r in rollout_buffer.rewards]\nreturn torch.tensor(returns).reshape(-1, 1)"
    one = grade(home, replaced(get_returns=body), ("visible", "hidden"), GradingOptions(["get_returns"]))
    assert any(check.outcome is Outcome.FAILED for check in one.checks if check.suite == "hidden")
    assert_kept(home, one)


def test_gradescope_keeps_inputs_even_when_published(toy: AssignmentFiles, toys_report: Report) -> None:
    """Gradescope may show title and outcome of hidden checks in the end, as the instructor has set it; never more."""
    content = parsed(choose_renderer("gradescope", toy.assignment)(toys_report))
    text = json.dumps([content["output"], content["tests"]])
    assert "The sum of nothing is 0." in text
    for word in ("secret", "nothing_to_add", "default_scale", "no_values", "other_default"):
        assert word not in text


@pytest.mark.parametrize("kind", ["hidden and visible", "not final"])
def test_the_fold_tells_points_alone(toy: AssignmentFiles, kind: str) -> None:
    """How many points hidden checks bring is part of the score; which of them brought it is not."""
    one = REPORTS[kind](toy)
    for name in sorted(set(ENDINGS) - {"gradescope"}):
        text = read_by_a_student(name, choose_renderer(name, toy.assignment, for_student=True)(one))
        assert "3 hidden checks" in text
        assert "ecret" not in text


def test_a_fold_is_a_report_that_adds_up(toy: AssignmentFiles) -> None:
    """Points of hidden checks must not be left in the questions they belong to."""
    one = REPORTS["hidden and visible"](toy)
    shown = Report.model_validate_json(choose_renderer("json", toy.assignment, for_student=True)(one))
    assert [entry.id for entry in shown.questions] == ["total", "spread", "hidden-checks"]
    assert [entry.points for entry in shown.questions] == [1.5, 0, 2.25]
    assert shown.questions[0].outcome is Outcome.PARTIAL


def test_nothing_graded_for_one_reason_is_said_once(toy: AssignmentFiles) -> None:
    """A syntax error is told as one thing to mend, hidden checks or not."""
    text = choose_renderer("text", toy.assignment, for_student=True)(REPORTS["nothing earned"](toy))
    assert text.count("died") == 1
    assert "for one reason" in text


def test_nobody_is_sent_to_mend_hidden_checks(toy: AssignmentFiles) -> None:
    """A student cannot work on a check that they do not have."""
    text = choose_renderer("text", toy.assignment, for_student=True)(report(toy, PARTIAL[0], *HIDDEN))
    assert "Fix first" not in text
    assert "-k checks" not in text


def test_grade_for_a_student(tmp_path: Path, replaced) -> None:
    """The option must reach the file: an instructor who sends it on trusts it."""
    path = replaced(get_returns="return None")
    output = tmp_path / "report.csv"
    command = [sys.executable, "-m", "grader", "grade", "policy_gradient", str(path), "--format", "csv", "--for-student"]
    done = subprocess.run([*command, "-o", str(output)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = output.read_text(encoding="utf-8")
    points, worth = read_csv(text)
    assert f"{points:g}/{worth:g} points" in done.stdout
    assert "hidden/checks" in text
    assert "hidden/test_" not in text


def test_a_refused_submission_is_a_result_too(toy: AssignmentFiles) -> None:
    """Where there was nothing to grade, the reporter still gets what it reads, and the runner no command."""
    text = classroom.render_refusal(f"Nothing was graded: {ODD}", toy.assignment)
    assert read_classroom(text) == (0, 4)
