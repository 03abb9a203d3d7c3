"""Regrading a class: nothing counts unproven or by halves, and what counts can be taken back without losing anybody."""

from __future__ import annotations

import csv
import gc
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader import fingerprints
from grader.assignment import AssignmentFiles
from grader.course import regrade, run
from grader.course.adjustments import COLUMNS
from grader.course.results import Course, ResultsFolder, SubmissionResult
from grader.course.worklist import WorklistEntry
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

    def remove(self, points: bool = True) -> None:
        """Remove test_many and, unless it is forgotten, its point."""
        path = self.root / CHECKS
        text, count = re.subn(r'@points\(1, question="total"\)\ndef test_many.*?\n\n\n', "", path.read_text(), flags=re.DOTALL)
        assert count == 1
        path.write_text(text, encoding="utf-8")
        if points:
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


# --- what --apply refuses ---


def test_a_removed_check_is_named_and_needs_a_proof(graded: Graded) -> None:
    """Catches: everybody loses the points of a check that was deleted by mistake, with no proof and no new version."""
    graded.remove()
    said = graded.regrade()
    assert "corrected: no check; removed: visible/test_many\n" in said
    assert "\nvisible/test_many: 1 loses 1 point\n" in said
    assert "\n--apply would refuse this: visible/test_many changed, but the suite is still 1.0" in said
    said = graded.regrade("--apply", code=2)
    assert "visible/test_many changed, but the suite is still 1.0" in said
    assert graded.points == POINTS


def test_points_that_stay_with_a_removed_check_are_the_one_reason(graded: Graded) -> None:
    """Catches: three commands that refuse the same slip for three reasons, of which two are no help."""
    graded.remove(points=False)
    reason = "nothing was graded: The checks themselves must be corrected: total: the visible checks are worth 1 points, "
    for said in (graded.grade(code=2), graded.regrade(code=2), graded.regrade("--apply", code=2)):
        assert said == f"error: {reason}assignment.toml says 2\n"
    graded.edit(TOML, "visible = 2", "visible = 1")
    assert "checks have changed since the results in " in (said := graded.grade(code=2))
    assert ": visible/test_many (removed). Run" in said


def test_a_class_without_results_moves_no_points(graded: Graded) -> None:
    """Catches: "of 0 submissions, no points change", as if somebody had been looked at."""
    shutil.rmtree(graded.out / "results")
    said = graded.regrade()
    assert "\n3 not graded yet: ann, bob, cleo; the next run of `course` grades them\n" in said
    assert "\nno points change, because no submission has a result that could change\n" in said
    assert "of 0 submissions" not in said


def test_pending_submissions_are_named(graded: Graded) -> None:
    """Catches: "of 2 submissions" in a class of three, without a word about the third."""
    (path,) = (graded.out / "results").glob("bob.*")
    path.unlink()
    said = graded.regrade()
    assert "\n1 not graded yet: bob; the next run of `course` grades them\nof 2 submissions, no points change\n" in said


def test_stale_answers_are_refused_and_foretold(graded: Graded) -> None:
    """Catches: a correction whose right answers were never built, in a preview that shows nothing of it."""
    graded.correct()
    graded.edit(TOML, '"1.0"', '"2.0"')
    assert graded.regrade().endswith("\n--apply first proves the suite, and refuses it if that finds a fault\n")
    graded.edit("solutions/toy/cases.py", "[3.0, 8.0, -1.0, 2.5]", "[3.0, 8.0, -1.0]")
    last = graded.regrade().splitlines()[-1]
    assert last.startswith("--apply would refuse this: tests/visible/answers/toy.json is stale: ")
    assert "tests/visible/answers/toy.json is stale" in graded.regrade("--apply", code=2)
    assert graded.points == POINTS


def test_nothing_counts_while_the_grader_fails(graded: Graded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: students whose points are gone after a correction because a worker died, and never come back."""
    grade = run.GradingJob.grade

    def fail(self: run.GradingJob, grader: object, entry: WorklistEntry, *more: object) -> object:
        return self.gave_up(entry, "a test", 1) if entry.id == "bob" else grade(self, grader, entry, *more)  # type: ignore[arg-type]

    graded.correct()
    with monkeypatch.context() as patch:
        patch.setattr(run.GradingJob, "grade", fail)
        assert "--apply would refuse this: " in graded.regrade(code=3)
        said = graded.regrade(*APPLY, code=3)
        assert "nothing was applied: the grader failed for bob, which had a result\n" in said
        assert graded.points == POINTS
    graded.regrade(*APPLY)
    assert graded.points == CORRECTED


@pytest.mark.parametrize("undone", [False, True])
def test_a_rule_that_does_not_fit_changes_nothing(graded: Graded, undone: bool) -> None:
    """Catches: a course of new results with the old gradebook, because the policy names a check that is gone."""
    named = '[[faulty]]\ncheck = "visible/test_{}"\nthen = "full"\nreason = "ambiguous"\n'
    if undone:
        graded.edit(CHECKS, "def test_many", "def test_new")
        graded.regrade(*APPLY)
        graded.regrade("--policy", graded.rules("policy.toml", named.format("new")))
    else:
        graded.regrade("--policy", graded.rules("policy.toml", named.format("many")))
        graded.remove()
        assert "; faulty.0.check: the class has no 'visible/test_many'; there are: " in graded.regrade().splitlines()[-1]
    before = graded.course, graded.points
    said = graded.regrade(*(["--undo"] if undone else APPLY), code=2)
    assert f"error: nothing was {'restored' if undone else 'applied'}: faulty.0.check: the class has no " in said
    assert (graded.course, graded.points) == before
    graded.regrade("--policy", graded.rules("policy.toml", ""))
    graded.regrade(*(["--undo"] if undone else APPLY))
    result = ResultsFolder(graded.out).of(graded.course)["ann"]
    assert result is not None
    assert ("visible/test_many" in result.checks) == undone


# --- what is interrupted, changed or taken back ---


@pytest.fixture
def unblocked_signals() -> Iterator[None]:
    """Signals are as before after the test: a command that was stopped hears no more, and programs inherit that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if hasattr(signal, "pthread_sigmask") else None
    yield
    if before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.usefixtures("unblocked_signals")
@pytest.mark.parametrize("undone", [False, True])
def test_the_same_command_completes_what_was_interrupted(graded: Graded, monkeypatch: pytest.MonkeyPatch, undone: bool) -> None:
    """Catches: a gradebook that stays old because the results count already."""

    def stop(*_: object) -> object:
        raise KeyboardInterrupt

    graded.correct()
    if undone:
        graded.regrade(*APPLY)
    with monkeypatch.context() as patch:
        patch.setattr(regrade, "write_class_results", stop)
        graded.regrade(*(["--undo"] if undone else APPLY), code=130)
    graded.regrade(*(["--undo"] if undone else APPLY))
    assert graded.points == (POINTS if undone else CORRECTED)
    assert bool(list((graded.out / "replaced").iterdir())) != undone


def test_undo_keeps_who_submitted_since(graded: Graded) -> None:
    """Catches: late submissions that leave the class because a correction from before them is taken back."""
    before = (graded.root / CHECKS).read_text(encoding="utf-8")
    graded.correct()
    graded.regrade(*APPLY)
    graded.submit(bob=SOLUTION, dan=SOLUTION)
    graded.grade()
    assert graded.points == CORRECTED | {"bob": "6", "dan": "6"}
    said = graded.regrade("--undo")
    assert "2 without points (pending): bob, dan; run `course` again" in said
    assert graded.points == POINTS | {"bob": "", "dan": ""}
    assert (graded.out / "students/dan.html").is_file()
    (graded.root / CHECKS).write_text(before, encoding="utf-8")
    graded.grade()
    assert graded.points == POINTS | {"bob": "6", "dan": "6"}


def test_submissions_that_changed_keep_their_result_until_course(graded: Graded) -> None:
    """Catches: students without points because their files changed between `course` and `regrade --apply`."""
    graded.correct()
    graded.submit(bob=SIMPLE + "\n\n# again\n", dan=SOLUTION)
    (graded.root / "export/cleo.py").unlink()
    assert (
        "the export has changed since the last run of `course`; run `course` again to include this "
        "(changed: bob; gone: cleo; new: dan)" in graded.regrade()
    )
    graded.regrade(*APPLY)
    assert graded.points == POINTS, "nobody whose submission is there has lost or gained"
    assert "nothing to apply" in graded.regrade(*APPLY)
    graded.grade()
    assert graded.points == {"ann": "6", "bob": "4", "dan": "6"}


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


def test_adjustments_survive_a_correction_and_its_undoing(graded: Graded) -> None:
    """Catches: points by hand that a correction forgets."""
    text = f"{','.join(COLUMNS)}\nbob,spread,-1,copied line,,,\n"
    graded.regrade("--adjustments", graded.rules("adjustments.csv", text))
    assert graded.points == POINTS | {"bob": "1"}
    graded.correct()
    graded.regrade(*APPLY)
    assert graded.points == CORRECTED | {"bob": "3"}
    graded.regrade("--undo")
    assert graded.points == POINTS | {"bob": "1"}
    assert (graded.out / "adjustments.csv").read_text(encoding="utf-8") == text


# --- the kit, and `course` ---


def test_a_regrade_by_another_kit_leaves_the_rest_to_course(graded: Graded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: outcomes of the old kit that `course` takes for those of the new one."""
    monkeypatch.setattr(fingerprints, "hash_environment", lambda _: "f" * 64)
    graded.regrade()
    graded.correct()
    assert "the kit, a library or the machine has changed" in graded.regrade(*APPLY)
    assert graded.points == CORRECTED
    assert "3 submissions (folder), 0 graded before" in graded.grade()
    assert {result.taken_over for result in ResultsFolder(graded.out).of(graded.course).values() if result} == {0}
    assert graded.points == CORRECTED


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
    graded.regrade("--undo")
    assert graded.points == POINTS | {"dan": ""}


def test_checks_that_cannot_run_replace_nothing(graded: Graded) -> None:
    """Catches: `course --afresh` by checks whose points are not those of assignment.toml, after which nobody has a score."""
    graded.edit(CHECKS, '@points(1, question="both")', '@points(2, question="both")')
    before = graded.course
    assert "nothing was graded: The checks themselves must be corrected" in graded.grade("--afresh", code=2)
    assert (graded.course, graded.points) == (before, POINTS)
    assert not (graded.out / "replaced").exists()


def test_course_after_a_new_hint_keeps_the_higher_results(graded: Graded) -> None:
    """Catches: an entry in the catalogue that `course` refuses, or that lowers students whom --never-lower has spared."""
    graded.edit(CHECKS, 'student.expect("three_values")', "assert False")
    graded.regrade(*APPLY, "--never-lower")
    assert graded.points == POINTS
    hint = "What is the sum before the first value was added?"
    graded.edit("tests/visible/mistakes/toy.json", hint, "Where does the sum begin?")
    assert "3 submissions (folder), 0 graded before" in graded.grade()
    assert graded.points == POINTS


def test_no_whole_result_is_held(graded: Graded) -> None:
    """Catches: a regrade of 3,000 submissions that holds a gigabyte of reports while it runs and while it writes pages."""

    def count() -> int:
        gc.collect()
        return sum(isinstance(one, SubmissionResult) for one in gc.get_objects())

    before = count()
    again = regrade.Regrade(AssignmentFiles(graded.root, "toy"), ResultsFolder(graded.out))
    assert sorted(again.again) == sorted(POINTS)
    assert count() == before
