"""Regrading a class: nothing counts unproven or by halves, and what counts can be taken back without losing anybody."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.course.results import Course, ResultsFolder
from tests.kit.toy_class import SIMPLE, SOLUTION

pytestmark = pytest.mark.recorded

INPUTS = (
    "command:course",
    "command:regrade",
    "grader/judge/*.py",
    "grader/sandbox/*.py",
    "tests/kit/toy/solutions/toy/submitted.py",
)
NO_SUMS = "def total(values):\n    raise ValueError\n\n\n" + SOLUTION[SOLUTION.index("def spread") :]
STUDENTS = {"ann": SOLUTION, "bob": SIMPLE, "cleo": NO_SUMS}
POINTS = {"ann": "6", "bob": "2", "cleo": "2"}
CORRECTED = {"ann": "6", "bob": "4", "cleo": "4"}  # test_three and test_many pass for all


@dataclass
class Graded:
    """A class of three, graded by the toy's checks, in a copy that a test may change."""

    root: Path
    command: Callable[..., int]
    capfd: pytest.CaptureFixture[str]

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def course(self) -> Course:
        return ResultsFolder(self.out).course()

    @property
    def points(self) -> dict[str, str]:
        """What the gradebook says."""
        with open(self.out / "gradebook.csv", encoding="utf-8", newline="") as file:
            return {row["Submission"]: row["Total"] for row in csv.DictReader(file)}

    def run(self, name: str, *options: str, code: int = 0) -> str:
        self.capfd.readouterr()
        assert self.command(name, *options, "--workers", "1", root=self.root) == code
        return "".join(self.capfd.readouterr())

    def grade(self, *options: str, code: int = 0) -> str:
        return self.run("course", "toy", str(self.root / "export"), "-o", str(self.out), *options, code=code)

    def regrade(self, *options: str, code: int = 0) -> str:
        return self.run("regrade", str(self.out), *options, code=code)

    def submit(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.root / "export" / f"{name}.py").write_text(text, encoding="utf-8")

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")

    def correct(self) -> None:
        """Let test_three and test_many pass for everybody."""
        for case in ("three_values", "many_values"):
            self.edit(CHECKS, f'student.expect("{case}")', f'assert "{case}"')

    def remove(self) -> None:
        """Remove test_many and its point."""
        path = self.root / CHECKS
        text, count = re.subn(r'@points\(1, question="total"\)\ndef test_many.*?\n\n\n', "", path.read_text(), flags=re.DOTALL)
        assert count == 1
        path.write_text(text, encoding="utf-8")
        self.edit(TOML, "visible = 2", "visible = 1")

    def rules(self, name: str, text: str) -> str:
        (self.root / name).write_text(text, encoding="utf-8")
        return str(self.root / name)


CHECKS, TOML = "tests/visible/test_toy.py", "assignments/toy/assignment.toml"
APPLY = ("--apply", "--unproven")


@pytest.fixture(scope="module")
def folder_of_the_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graded") / "toy"


@pytest.fixture
def graded(
    built_toy: Path,
    folder_of_the_class: Path,
    tmp_path: Path,
    command_line: Callable[..., int],
    capfd: pytest.CaptureFixture[str],
) -> Graded:
    """A copy of the class; it is graded when the first test needs it."""
    if not folder_of_the_class.exists():
        shutil.copytree(built_toy, folder_of_the_class)
        first = Graded(folder_of_the_class, command_line, capfd)
        (first.root / "export").mkdir()
        first.submit(**STUDENTS)
        first.grade()
    part = Graded(Path(shutil.copytree(folder_of_the_class, tmp_path / "toy")), command_line, capfd)
    folder = ResultsFolder(part.out)
    folder.write_course(folder.course().model_copy(update={"export": str(part.root / "export")}))
    assert part.points == POINTS
    return part


def test_a_number_is_not_used_twice(graded: Graded) -> None:
    """Catches: the newest kept course or scores overwritten because somebody removed an older file."""
    policy = [graded.rules(f"{number}.toml", f"out_of = {number}\n") for number in (10, 20, 30, 40)]
    for file in policy[:3]:
        graded.regrade("--policy", file)
    history = graded.out / "scores-history"
    (history / "scores-0001.json").unlink()
    graded.regrade("--policy", policy[3])
    assert sorted(path.name for path in history.iterdir()) == ["scores-0002.json", "scores-0003.json", "scores-0004.json"]
    folder = ResultsFolder(graded.out)
    for _ in range(3):
        folder.put_aside_course("replaced")
    (graded.out / "replaced/course-0001.json").unlink()
    graded.correct()
    assert "course-0004.json" in graded.regrade(*APPLY)


# --- `course` ---


def test_course_does_not_apply_changed_checks(graded: Graded) -> None:
    """Catches: `course` for the sake of a late submission, which grades everybody by an unproven check."""
    graded.submit(dan=SOLUTION)
    graded.correct()
    before = graded.course
    said = graded.grade(code=2)
    assert "checks have changed" in said
    assert f"visible/test_many, visible/test_three. Run `regrade {graded.out}` to see whose points change" in said
    assert (graded.course, graded.points) == (before, POINTS)
    assert "checks have changed since the last run, so everything is graded again: visible/test_many, visible/test_three" in (
        graded.grade("--afresh")
    )
    assert graded.points == CORRECTED | {"dan": "6"}


def test_course_after_a_new_hint_keeps_the_higher_results(graded: Graded) -> None:
    """Catches: an entry in the catalogue that `course` refuses, or that lowers students whom --never-lower has spared."""
    graded.edit(CHECKS, 'student.expect("three_values")', "assert False")
    graded.regrade(*APPLY, "--never-lower")
    assert graded.points == POINTS
    hint = "What is the sum before the first value was added?"
    graded.edit("tests/visible/mistakes/toy.json", hint, "Where does the sum begin?")
    assert "3 submissions (folder), 0 graded before" in graded.grade()
    assert graded.points == POINTS
