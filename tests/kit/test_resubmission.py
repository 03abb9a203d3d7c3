"""Who submits again keeps outcomes that the edit cannot have changed, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import resubmission
from grader.course.results import Course, ResultFingerprints, ResultsFolder, SubmissionResult
from grader.course.worklist import Person, WorklistEntry
from tests.kit.toy_class import SOLUTION, Class, outcomes

pytestmark = pytest.mark.recorded

INPUTS = (
    "command:course",
    "command:build",
    "grader/judge/*.py",
    "grader/sandbox/*.py",
    "tests/kit/toy/solutions/toy/submitted.py",
)
SPREAD = "return (max(values) - min(values)) * scale"
OTHER_SPREAD = "return scale * (max(values) - min(values))"
TOTAL = "result = result + value"
HELPER = "\n\ndef add(one, other):\n    return one + other\n"
HELPED = SOLUTION.replace(TOTAL, "result = add(result, value)") + HELPER
COMPUTED = SOLUTION + "\n\nNAMES = list(globals())\n"
# By name: what was submitted first and then, and how many of the six checks keep their outcome.
EDITS: dict[str, tuple[str, str, int]] = {
    "one_function": (SOLUTION, SOLUTION.replace(SPREAD, OTHER_SPREAD), 3),
    "comment": (SOLUTION, SOLUTION.replace(TOTAL, f"{TOTAL}  # so far"), 6),
    "spoiled": (SOLUTION, SOLUTION.replace(SPREAD, "return 0.0"), 3),
    "mended": (SOLUTION.replace(TOTAL, "result = value"), SOLUTION, 2),
    "still_wrong": (SOLUTION.replace(TOTAL, "result = value"), "\n" + SOLUTION.replace(TOTAL, "result = value"), 2),
    "helper": (HELPED, HELPED.replace("one + other", "other + one"), 2),
    "import": (SOLUTION, f"SCALE = 1.0\n{SOLUTION}", 0),
    "computed": (COMPUTED, COMPUTED.replace(SPREAD, OTHER_SPREAD), 0),
    "compiler": (SOLUTION, SOLUTION.replace(SPREAD, f"nonlocal scale\n    {SPREAD}"), 0),
    "given_up": (SOLUTION.replace(SPREAD, "return 7.5"), SOLUTION.replace(SPREAD, "raise NotImplementedError  # for now"), 3),
    "unwritten": (SOLUTION, SOLUTION.replace(SPREAD, "raise NotImplementedError"), 3),
}


def write(export: Path, version: int) -> None:
    export.mkdir(exist_ok=True)
    for name, edit in EDITS.items():
        (export / f"{name}.py").write_text(edit[:2][version], encoding="utf-8")


@pytest.fixture(scope="module")
def submitted_twice(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class that was graded, has submitted again, and was graded again; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("twice")
    twice = Class(built_toy, folder / "export", folder / "out")
    write(twice.export, 0)
    twice.course()
    write(twice.export, 1)
    return twice._replace(printed=twice.course())


def test_what_an_edit_cannot_have_changed_is_kept(submitted_twice: Class) -> None:
    """Catches: a function that runs again for nothing, a helper or an import that is overlooked, a stale line of a failure."""
    results = submitted_twice.results()
    assert {name: results[name].taken_over for name in EDITS} == {name: edit[2] for name, edit in EDITS.items()}
    assert f"{len(EDITS)} resubmitted: passed checks run again only if" in submitted_twice.printed


def test_results_are_those_of_a_whole_grading(submitted_twice: Class, tmp_path: Path) -> None:
    """Catches: points, hints or messages of the earlier file in the report about the new one."""
    afresh = submitted_twice._replace(folder=tmp_path / "out")
    afresh.course()

    def describe(result: SubmissionResult) -> object:
        checks = [check.model_dump(exclude={"seconds"}) for check in result.report.checks]
        return result.status, result.report.points, checks, result.shows, result.checks

    taken, whole = submitted_twice.results(), afresh.results()
    assert {name: describe(taken[name]) for name in EDITS} == {name: describe(whole[name]) for name in EDITS}
    assert not any(result.taken_over for result in whole.values())


@pytest.mark.parametrize("damage", ["none", "code", "result", "refused", "afresh"])
def test_nothing_is_taken_from_what_cannot_be_relied_on(submitted_twice: Class, tmp_path: Path, damage: str) -> None:
    """Catches: points for code that the earlier grading never saw, or from a result that did not end well."""
    part = submitted_twice.copy(tmp_path)._replace(export=tmp_path / "export")
    write(part.export, 1)
    text = EDITS["one_function"][1].replace(TOTAL, "result = 2 * value")
    (part.export / "one_function.py").write_text(text, encoding="utf-8")
    folder = ResultsFolder(part.folder)
    before = part.results()["one_function"]
    if damage == "code":  # as if the file had been replaced while the class was graded
        (code,) = part.folder.glob(f"code/one_function.{before.key.submission[:12]}.json")
        other = code.read_text(encoding="utf-8").replace(TOTAL, "result = 2 * value")
        assert "2 * value" in other
        code.write_text(other, encoding="utf-8")
    elif damage == "result":
        folder.place("one_function", before.key).write_text("{", encoding="utf-8")
    elif damage == "refused":
        report = before.report.model_copy(update={"refused_calls": ("ptrace",)})
        folder.write(before.model_copy(update={"report": report}))
    part.course(*(["--afresh"] if damage == "afresh" else []))
    result = part.results()["one_function"]
    assert (result.taken_over, result.report.points) == (2 if damage == "none" else 0, 3)


def test_an_interrupted_class_remembers_the_earlier_submission(submitted_twice: Class, tmp_path: Path) -> None:
    """Catches: a second start that has forgotten what the first one was about to take over."""
    part = submitted_twice.copy(tmp_path)
    result = part.results()["one_function"]
    (part.folder / "results" / ResultsFolder(part.folder).place("one_function", result.key).name).unlink()
    part.course()
    assert part.results()["one_function"].taken_over == 3
    assert outcomes(part.results()["one_function"]) == outcomes(result)


def test_students_with_the_same_file_are_graded_once(built_toy: Path, tmp_path: Path) -> None:
    """Catches: a class that pays for each copy, and a copy with the other student's name in it."""
    same = Class(built_toy, tmp_path / "export", tmp_path / "out")
    same.export.mkdir()
    for name in ("ann", "bob", "cleo"):
        (same.export / f"{name}.py").write_text(SOLUTION, encoding="utf-8")
    (same.export / "dan.py").write_text(SOLUTION.replace(SPREAD, OTHER_SPREAD), encoding="utf-8")
    same.course()
    results = same.results()
    assert {name: result.report.points for name, result in results.items()} == dict.fromkeys(("ann", "bob", "cleo", "dan"), 6)
    assert sorted(result.same_as for result in results.values()) == ["", "", "ann", "ann"]
    assert [results[name].report.submission for name in ("ann", "bob")] == ["ann.py", "bob.py"]
    assert "ann" not in results["bob"].report.model_dump_json()


def test_students_are_found_again(tmp_path: Path) -> None:
    """Catches: a platform that numbers every submission anew, and students without a name that are taken for one another."""

    def make(**submissions: tuple[str, Person]) -> Course:
        return Course.model_construct(
            suite="s",
            environment="e",
            submissions={entry: content for entry, (content, _) in submissions.items()},
            entries=[WorklistEntry(id=entry, path=entry, students=(who,)) for entry, (_, who) in submissions.items()],
            earlier={},
        )

    ann, nobody = Person(name="Ann", sid="7"), Person()
    before = make(submission_1=("a", ann), submission_2=("b", nobody), submission_3=("c", nobody))
    now = make(submission_9=("d", ann), submission_2=("b", nobody), submission_3=("e", nobody), submission_1=("f", nobody))
    folder = ResultsFolder(tmp_path)
    folder.results.mkdir()
    for entry, content in before.submissions.items():
        folder.place(entry, ResultFingerprints(submission=content, suite="s", environment="e")).touch()
    assert resubmission.find_earlier_results(now, before, folder) == {
        "submission_9": "submission_1.a-s-e.json",
        "submission_3": "submission_3.c-s-e.json",
    }
    other = before.model_copy(update={"suite": "another"})
    assert resubmission.find_earlier_results(now, other, folder) == {}
