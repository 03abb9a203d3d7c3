"""Grading a class: every submission counts once, as it would alone, and only what must is run again."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.course.regrade import Moves, summarize_moves
from grader.course.results import ResultsFolder
from grader.judge.run import Grader
from grader.sandbox.places import make_temporary_folder
from tests.kit.patience import PATIENCE
from tests.kit.toy_class import BAD, DIES_AFTER_THREE, HOOK, KIT, SOLUTION, SUBMISSIONS, Class, grade_class, outcomes

pytestmark = pytest.mark.recorded

INPUTS = (
    "command:course",
    "command:regrade",
    "command:build",
    "grader/judge/*.py",
    "grader/sandbox/*.py",
    "tests/kit/toy/solutions/toy/submitted.py",
)


@pytest.fixture(scope="module")
def graded_class(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class that is graded once; to be copied, not changed."""
    return grade_class(built_toy, tmp_path_factory.mktemp("class"))


def test_everybody_is_graded_or_refused(graded_class: Class) -> None:
    """One that cannot be read counts 0, says why, and costs nobody else anything; nothing of it is left to do."""
    results = graded_class.results()
    assert sorted(results) == sorted([*SUBMISSIONS, *BAD])
    assert {name for name, result in results.items() if result.status == "refused"} == set(BAD)
    assert not any(result.status == "failed" for result in results.values())
    for name, why in (("link", "it is a link"), ("none", "expected submitted.py"), ("torn", "cannot be read as a zip")):
        report = results[name].report
        assert report.final
        assert (report.points, report.max_points) == (0, 6)
        assert all(why in check.message for check in report.checks), name
    assert {name: results[name].report.points for name in ("right", "wrong", "broken")} == {"right": 6, "wrong": 2, "broken": 0}
    assert f"{len(results)} submissions (folder), 0 graded before" in graded_class.printed


def test_same_as_graded_alone(graded_class: Class) -> None:
    """Copies of a warm judge and its server give what `grade` gives, at the same isolation."""
    results = graded_class.results()
    with Grader(AssignmentFiles(graded_class.root, "toy"), ("visible", "hidden")) as grader:
        for name in ("right", "wrong", "broken"):
            alone = grader.grade(graded_class.export / f"{name}.py").model_copy(deep=True)
            together = results[name].report
            for field in ("points", "max_points", "isolation", "isolation_layers", "isolation_open", "remarks", "final"):
                assert getattr(alone, field) == getattr(together, field), field
            assert outcomes(results[name].model_copy(update={"report": alone})) == outcomes(results[name])


def test_same_wrong_output_has_the_same_signature(graded_class: Class) -> None:
    """Two who wrote different code with one result are found together; another result is another one."""

    def signatures(name: str) -> list[str]:
        return [check.signature for check in graded_class.results()[name].report.checks]

    assert signatures("wrong") == signatures("other")
    assert signatures("wrong")[0]
    assert signatures("wrong")[0] != signatures("simple")[0]
    assert not any(signatures("right"))


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="only root can change users")
def test_no_two_calls_share_a_user_or_a_folder(graded_class: Class) -> None:
    """A process that outlived its call, in one worker, could meet a classmate's in another one."""
    printed = [
        check.printed for name in ("who0", "who1", "who2", "who3") for check in graded_class.results()[name].report.checks
    ]
    seen = [found for text in printed for found in re.findall(r"user (\d+) at (\S+)", text)]
    assert len(seen) >= 8
    if any(int(user) for user, _ in seen):
        assert len({user for user, _ in seen}) == len({folder for _, folder in seen})
        users = dict(seen)
        assert all(users[user] == folder for user, folder in seen), "one user, two calls"


def test_summary_of_the_class(graded_class: Class) -> None:
    """All are in the tables and have a page, copies are found, and no page tells a student what is hidden."""
    folder, everybody = graded_class.folder, sorted([*SUBMISSIONS, *BAD])
    for table, rows in (("gradebook.csv", 1), ("gradescope.csv", 1), ("canvas.csv", 2)):
        with open(folder / table, encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) == len(everybody) + rows, table
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (folder / "students").glob("*.html")}
    assert sorted(pages) == everybody
    for name, page in pages.items():
        assert "test_nothing_to_add" not in page, name
        assert "test_default_scale" not in page, name
        assert "no_values" not in page, name
    assert "What is the sum before the first value was added?" in (folder / "class.html").read_text(encoding="utf-8")
    pairs = json.loads((folder / "similarity.json").read_text(encoding="utf-8"))
    assert ("other", "wrong") in {(pair["first"], pair["second"]) for pair in pairs}, "the same helper, with other names"


# Again


def test_rerun_grades_nothing(graded_class: Class, tmp_path: Path) -> None:
    """What is done is not touched; what has changed is graded alone; and one that is gone is in no table."""
    again = graded_class.copy(tmp_path)
    export = shutil.copytree(graded_class.export, tmp_path / "export", symlinks=True)
    again = again._replace(export=export)
    before = again.files()
    assert f"{len(SUBMISSIONS) + 3} graded before" in again.course()
    assert again.files() == before
    (export / "wrong.py").write_text(SOLUTION + "# corrected\n")
    (export / "simple.py").unlink()
    printed = again.course()
    assert f"{len(SUBMISSIONS) + 1} graded before" in printed
    new = again.files().keys() - before.keys()
    assert [name.partition(".")[0] for name in new] == ["wrong"]
    assert before.items() <= again.files().items()
    assert again.results()["wrong"].report.points == 6
    assert "simple" not in (again.folder / "gradebook.csv").read_text()


def test_shards_are_the_whole(graded_class: Class, tmp_path: Path) -> None:
    """Every submission is in exactly one shard, and numbers that mean none are told."""
    part = graded_class.copy(tmp_path, results=False)
    part.course("--shard", "2/2")
    second = part.files()
    assert len(second) == (len(SUBMISSIONS) + 3) // 2
    part.course("--shard", "1/2")
    assert second.items() <= part.files().items(), "nothing twice"
    assert {name: outcomes(one) for name, one in part.results().items()} == {
        name: outcomes(one) for name, one in graded_class.results().items()
    }
    for wrong in ("0/2", "1/0", "\u0661/2x"):
        assert "shard" in part.course(f"--shard={wrong}", code=2), wrong


def test_workers_where_nothing_can_be_forked(graded_class: Class, tmp_path: Path) -> None:
    """At level basic each worker has a process of its own, and comes to the same."""
    part = graded_class.copy(tmp_path, results=False)
    part.course("--shard", "1/4", GRADER_LEVEL="basic")
    whole, basic = graded_class.results(), part.results()
    assert len(basic) == 3
    assert {one.report.isolation for one in basic.values()} == {"basic"}
    for name, one in basic.items():
        compared = [[line[:2] for line in outcomes(result)] for result in (one, whole[name])]
        assert compared[0] == compared[1], name


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="full isolation needs root")
def test_what_others_handed_in_is_out_of_reach(graded_class: Class) -> None:
    """Where a submission could read those of others, the level is lower, and nobody is graded who may not be, nor blamed."""
    place = make_temporary_folder()  # one that other users can pass through
    try:
        part = graded_class.copy(place, results=False)
        shutil.copytree(part.export, place / "export", symlinks=True)
        part = part._replace(export=place / "export")
        for path in (place / "export", *(place / "export").rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
        said = part.course("--require-level", "full", code=2, GRADER_WITHOUT="landlock")
        assert "full is required" in said
        assert "read hidden files" in said
        assert not part.results()
        assert part.folder.stat().st_mode & 0o077 == 0, "results are for their owner alone"
        part.course("--shard", "1/4", GRADER_WITHOUT="landlock")
        assert {one.report.isolation for one in part.results().values()} == {"process"}
    finally:
        shutil.rmtree(place)


# After a check was corrected


def corrected(root: Path, **bodies: str) -> None:
    """Replace the bodies of visible checks."""
    path = root / "tests/visible/test_toy.py"
    text = path.read_text(encoding="utf-8")
    for name, body in bodies.items():
        text, count = re.subn(rf"(def {name}\(student\):\n    \"\"\".*?\"\"\"\n)    .*\n", rf"\1    {body}\n", text)
        assert count == 1
    path.write_text(text, encoding="utf-8")


def test_only_a_corrected_check_is_run(graded_class: Class, tmp_path: Path) -> None:
    """With what needs it; the others stay to the last byte, and whose points move is told, also after a run that was killed."""
    part = graded_class.copy(tmp_path)
    before = part.results()
    corrected(part.root, test_three="assert True", test_many="assert 1 == 1")
    again = ("regrade", str(part.folder), "--workers", "2", "--apply", "--unproven")
    process = part.start(*again, script=HOOK + DIES_AFTER_THREE + KIT, MARKS=str(tmp_path))
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert sorted(part.results()) == sorted(before), "the class's results are still there"
    printed = part.run(*again)
    after = part.results()
    assert "corrected: visible/test_many, visible/test_three\n" in printed
    lines = {found[1]: found[0] for found in re.findall(r"^(\S+ \((\S+)\): .* points: .*)$", printed, re.MULTILINE)}
    for name in ("wrong", "other", "simple", "who0"):
        assert f"{name} ({name}): 2 -> 4 points: " in printed
        assert "visible/test_three failed -> passed (+1)" in lines[name]
        assert "visible/test_both not run -> failed (+0)" in lines[name], "what it needs is passed now, so it is run"
        for old, new in zip(before[name].report.checks, after[name].report.checks, strict=True):
            if new.id not in ("visible/test_three", "visible/test_many", "visible/test_both"):
                assert old.model_dump_json() == new.model_dump_json(), "kept, with the seconds that it took then"
    assert "right (right): " not in printed
    assert "broken (broken): " not in printed


def test_comments_new_checks_and_removed_ones(graded_class: Class, tmp_path: Path) -> None:
    """A comment moves nothing; a new check is run for all, alone; one that is removed is in no result and no page."""
    part = graded_class.copy(tmp_path)
    before = part.results()
    checks = part.root / "tests/visible/test_toy.py"
    old = checks.read_text(encoding="utf-8")
    new = 'def test_new(student):\n    """Something new."""\n    student.expect("spread_of_three")\n'
    new = f'\n\n@points(0, question="spread")\n{new}'
    checks.write_text(f"# What a reader should know.\n{old}{new}", encoding="utf-8")
    again = ("regrade", str(part.folder), "--workers", "2", "--apply", "--unproven")
    printed = part.run(*again)
    assert "corrected: no check; new: visible/test_new\n" in printed
    after = part.results()
    for name, result in after.items():
        kept = [check.model_dump_json() for check in result.report.checks if check.id != "visible/test_new"]
        assert kept == [check.model_dump_json() for check in before[name].report.checks], name
    found = {
        name: [check.outcome.value for check in one.report.checks if check.id == "visible/test_new"]
        for name, one in after.items()
    }
    assert found["right"] == found["wrong"] == ["passed"]
    assert found["broken"] == ["failed"]
    checks.write_text(old + "# nothing but a remark\n", encoding="utf-8")
    printed = part.run(*again)
    assert "corrected: no check; removed: visible/test_new\n" in printed
    assert "0 of 12 scores changed" in printed
    assert {name: outcomes(one) for name, one in part.results().items()} == {
        name: outcomes(one) for name, one in before.items()
    }


def raise_version(root: Path) -> None:
    """Give the toy's suite another version."""
    toml = root / "assignments/toy/assignment.toml"
    text, count = re.subn(r'^version = ".*"$', 'version = "17.0"', toml.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1
    toml.write_text(text, encoding="utf-8")


def total_points(part: Class) -> dict[str, float]:
    """Return by submission the points that count."""
    return {name: result.report.points for name, result in part.results().items()}


def test_a_correction_counts_when_it_is_applied_and_can_be_undone(graded_class: Class, tmp_path: Path) -> None:
    """Catches: a look that changes scores, a loss that was to be spared, a regrade that nobody can take back."""
    part = graded_class.copy(tmp_path)
    again = ("regrade", str(part.folder), "--workers", "2")
    before, pages = total_points(part), (part.folder / "gradebook.csv").read_bytes()
    corrected(part.root, test_three="assert True", test_both="assert False")
    printed = part.run(*again)
    assert "corrected: visible/test_both, visible/test_three\n" in printed
    assert "\nvisible/test_three: 7 gain 7 points\n" in printed
    assert "\nvisible/test_both: 1 loses 1 point\n" in printed
    assert "right (right): 6 -> 5 points: visible/test_both passed -> failed (-1)\n" in printed
    assert "\nof 12 submissions, 7 gain 7 points, 1 loses 1 point\n" in printed
    assert "nothing changed yet" in printed
    assert total_points(part) == before
    assert (part.folder / "gradebook.csv").read_bytes() == pages

    files = part.files()
    printed = part.run(*again, "--apply", "--unproven", "--never-lower")
    assert part.files() == files, "what the look has run is not run again"
    after = total_points(part)
    assert all(after[name] >= points for name, points in before.items())
    assert any(after[name] > points for name, points in before.items())
    assert after["right"] == before["right"] == 6
    part.course()
    assert total_points(part) == after, "a new run of `course` keeps what was kept"

    part.run(*again, "--apply", "--unproven")
    lowered = total_points(part)
    assert lowered["right"] == 5
    assert "nothing to apply" in part.run(*again, "--apply", "--unproven"), "so that --undo still undoes the last change"
    part.run("regrade", str(part.folder), "--undo")
    assert total_points(part) == after
    part.run("regrade", str(part.folder), "--undo")
    assert total_points(part) == before
    assert (part.folder / "gradebook.csv").read_bytes() == pages
    assert "nothing is kept" in part.run("regrade", str(part.folder), "--undo", code=2)


@pytest.mark.parametrize(
    ("up", "down", "lines"),
    [
        ([], [], ["of 60 submissions, no points change"]),
        ([1.0], [-2.0], ["of 60 submissions, 1 gains 1 point, 1 loses 2 points"]),
        ([], [-2.0] * 15, ["of 60 submissions, 15 lose 30 points, at most 2 points each"]),
        (
            [],
            [-2.0] * 15 + [-8.0],
            [
                "of 60 submissions, 16 lose 38 points, at most 8 points each",
                "a correction seldom takes points from so many: read some of these submissions before you apply it",
            ],
        ),
    ],
)
def test_a_preview_warns_when_many_lose(up: list[float], down: list[float], lines: list[str]) -> None:
    """Catches: a wrong correction whose preview reads like any other; a sum of the class read as the loss of one."""
    assert list(summarize_moves(60, Moves(up, down))) == lines


def test_a_wrong_correction_is_refused(graded_class: Class, tmp_path: Path) -> None:
    """Catches: a change that the suite's own mistakes refute, applied to everybody at once; two suites of one version."""
    part = graded_class.copy(tmp_path)
    again = ("regrade", str(part.folder), "--workers", "2", "--apply")
    before, files = total_points(part), part.files()
    corrected(part.root, test_three="assert True", test_many="assert True")
    assert "raise the version in assignment.toml" in part.run(*again, code=2)
    raise_version(part.root)
    said = part.run(*again, code=2)
    assert "the corrected suite is not proven" in said
    assert "test_three" in said
    assert (total_points(part), part.files()) == (before, files)


def test_a_proven_correction_is_applied(graded_class: Class, tmp_path: Path) -> None:
    """Catches: a proof that refuses right corrections as well."""
    part = graded_class.copy(tmp_path)
    corrected(part.root, test_many='student.expect("many_values", rtol=1e-4)')
    raise_version(part.root)
    part.run("build", "toy")
    printed = part.run("regrade", str(part.folder), "--workers", "2", "--apply")
    assert "proving toy 17.0 first" in printed
    assert {result.report.suite_version for result in part.results().values()} == {"17.0"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--never-lower",), "--never-lower have no effect without --apply: add --apply"),
        (("--undo", "--apply"), "--undo and --apply cannot be combined"),
    ],
)
def test_options_that_do_not_go_together_are_told(
    graded_class: Class, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    """Catches: an option that is silently without effect."""
    part = graded_class.copy(tmp_path)
    assert words in part.run("regrade", str(part.folder), *options, code=2)


def test_a_policy_that_does_not_fit_is_told_first(graded_class: Class, tmp_path: Path) -> None:
    """After hours of grading would be late."""
    new = graded_class.copy(tmp_path, results=False)
    policy = tmp_path / "policy.toml"
    policy.write_text("[weights.questions]\ntotals = 2\n", encoding="utf-8")
    assert "the class has no 'totals'" in new.course("--policy", str(policy), code=2)
    assert not (new.folder / "results").exists()


def test_policy_runs_nothing(graded_class: Class, tmp_path: Path) -> None:
    """Scores are made of what is stored: without the submissions, and where nothing could be run."""
    part = graded_class.copy(tmp_path)
    course = ResultsFolder(part.folder).course()
    ResultsFolder(part.folder).write_course(course.model_copy(update={"export": str(tmp_path / "gone")}))
    shutil.rmtree(part.root / "tests")
    before = part.files()
    policy = tmp_path / "policy.toml"
    policy.write_text("out_of = 100\n", encoding="utf-8")
    printed = part.run("regrade", str(part.folder), "--policy", str(policy), GRADER_LEVEL="none of these")
    assert "right (right): 6 -> " in printed
    assert part.files() == before
