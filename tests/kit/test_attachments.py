"""What may be handed in beside the code: where it is found, what is refused, who scores it, and what the reports say."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from safetensors.numpy import save

from grader.assignment import SUITES, AssignmentFiles, UsageError
from grader.desk.watch import _Saves
from grader.judge.run import Grader, GradingOptions
from grader.packing.release import collect_student_files
from grader.platforms.gradescope import report as gradescope
from grader.platforms.gradescope.package import collect_autograder_files
from grader.proof.verify import ProofOptions, verify
from grader.report import page, terminal
from grader.report.model import CheckResult, LeaderboardEntry, Outcome, Report
from grader.sandbox.places import make_temporary_folder
from tests.kit.patience import PATIENCE
from tests.kit.test_gradescope import check_contract

pytestmark = pytest.mark.recorded

INPUTS = {
    "test_packages_of_one_assignment_are_asked_for": (
        "grade.py",
        "released:grader",
        "assignments/policy_gradient/notebook.ipynb",
        "utils.py",
        "tests/visible/conftest.py",
    ),
    "test_students_read_what_else_they_may_hand_in": (
        "grade.py",
        "released:grader",
        "assignments/policy_gradient/notebook.ipynb",
        "utils.py",
        "tests/visible/conftest.py",
    ),
}

NAME = "policy.safetensors"
MOST = 1 << 20
SETTINGS = f'attachments = ["{NAME}"]\n'
QUESTION = """
[[questions]]
id = "policy"
title = "A trained policy"
function = "total"
task = "hand in what you have trained"
points = { visible = 0, hidden = 0 }
"""
DRIVER = '''

def play(submitted, policy, seeds):
    """Return what each episode brings; the bytes are a stranger's."""
    import os

    from safetensors.numpy import load

    assert submitted is None
    tensors = load(policy.tobytes())
    if "package" in tensors:
        return {"missing": "mujoco"}
    if "nonsense" in tensors:
        return {"returns": "nonsense"}
    if "attack" in tensors:
        os.abort()
    return {"returns": [float(tensors["weights"].sum()) + seed for seed in seeds]}
'''
CHECK = '''

@points(0, question="policy")
def test_policy(student, kit):
    """Mean and spread of ten episodes with the mean action."""
    facts = kit.call("play", policy=student.attachment("policy.safetensors"), seeds=list(range(10)))
    if "missing" in facts:
        student.not_run(f"{facts['missing']} is not installed here")
    student.leaderboard("mean - std", np.mean(facts["returns"]) - np.std(facts["returns"]))
    student.leaderboard("loss", 1, order="asc")
'''
SCORE = round(4.5 - float(np.std(range(10))), 4)  # of a policy whose weights add up to 0


@pytest.fixture(scope="module")
def toy(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy assignment with a question about an attachment."""
    root = Path(shutil.copytree(built_toy, tmp_path_factory.mktemp("attachments") / "toy"))
    settings, checks = root / "assignments/toy/assignment.toml", root / "tests/visible/test_toy.py"
    settings.write_text(SETTINGS + settings.read_text() + QUESTION)
    checks.write_text("import numpy as np\n\n" + checks.read_text() + CHECK)
    with open(root / "tests/drivers/toy.py", "a") as file:
        file.write(DRIVER)
    return root


@pytest.fixture(scope="module")
def grader(toy: Path) -> Iterator[Grader]:
    with Grader(AssignmentFiles(toy, "toy"), SUITES) as grader:
        yield grader


@pytest.fixture
def folder(toy: Path) -> Iterator[Path]:
    """A folder with the solution in it."""
    folder = make_temporary_folder()
    shutil.copyfile(toy / "solutions/toy/submitted.py", folder / "submitted.py")
    yield folder
    shutil.rmtree(folder)


def policy(**more: np.ndarray) -> bytes:
    return save({"weights": np.array([0.5, -0.5]), **more})


def zipped(folder: Path, place: str = "") -> Path:
    path = folder.parent / f"{folder.name}-work.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"{place}{file.name}")
    return path


def in_notebook(folder: Path) -> Path:
    source = (folder / "submitted.py").read_text()
    (folder / "submitted.py").unlink()
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": 1}
    (folder / "homework.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    return folder


def result(report: Report) -> CheckResult:
    return next(check for check in report.checks if check.question == "policy")


def results(report: Report, grader: Grader) -> dict:
    content = json.loads(gradescope.render(report, grader.home.assignment))
    check_contract(content)
    return content


# Where it is found.


@pytest.mark.parametrize(
    "handed",
    [
        lambda folder: folder,
        lambda folder: folder / "submitted.py",
        lambda folder: zipped(folder),
        lambda folder: zipped(folder, "my work/"),
        in_notebook,
        lambda folder: in_notebook(folder) / "homework.ipynb",
        lambda folder: zipped(in_notebook(folder), "hw/"),
    ],
    ids=["folder", "file", "zip", "folder in a zip", "beside a notebook", "notebook by its path", "notebook in a zip"],
)
def test_found_beside_the_submission(grader: Grader, folder: Path, handed: Callable[[Path], Path]) -> None:
    """In whatever shape work is handed in, a policy in the same folder is scored, and nothing else changes."""
    (folder / NAME).write_bytes(policy())
    (folder / "other.safetensors").write_bytes(b"not asked for")
    path = handed(folder)
    report = grader.grade(path)
    if path.suffix == ".zip":
        path.unlink()
    assert (report.points, report.max_points, report.final, report.remarks) == (6, 6, True, ())
    assert (result(report).outcome, report.leaderboard()[0].value) == (Outcome.PASSED, SCORE)
    assert {file.name for file in grader.harness.student.iterdir()} - {"__pycache__"} == {"submitted.py"}


def test_beside_the_notebook_that_is_graded(grader: Grader, toy: Path, folder: Path) -> None:
    """Who hands in the untouched stub, the notebook and a policy gets what notebook and policy are worth."""
    (folder / NAME).write_bytes(policy())
    in_notebook(folder)
    shutil.copyfile(toy / "assignments/toy/submitted.py", folder / "submitted.py")
    report = grader.grade(folder)
    assert (report.points, result(report).outcome) == (6, Outcome.PASSED)


def test_nothing_is_taken_from_elsewhere(grader: Grader, folder: Path) -> None:
    """Only what lies beside the graded file belongs to it."""
    (folder / "old").mkdir()
    (folder / "old" / NAME).write_bytes(policy())
    assert result(grader.grade(folder)).outcome is Outcome.NOT_RUN


# Without it, or when it is refused.


def test_absence_costs_nothing(grader: Grader, folder: Path) -> None:
    """No policy: a check that is not run says so kindly, and everything else is as complete as it is."""
    report = grader.grade(folder)
    assert (report.points, report.max_points, report.final, report.remarks) == (6, 6, True, ())
    check, question = result(report), report.questions[-1]
    assert (check.outcome, question.outcome, question.max_points) == (Outcome.NOT_RUN, Outcome.NOT_RUN, 0)
    assert check.message.startswith(f"not run: no {NAME} was submitted (optional)")
    text = terminal.render_plain(report)
    for words in (f"  policy: no {NAME} was submitted", "visible + hidden checks: 6/6 points"):
        assert words in text
    for words in ("Fix first", "failed", "leaderboard"):
        assert words not in text
    assert "Nothing to fix here." in page.render(report)
    content = results(report, grader)
    (test,) = [test for test in content["tests"] if test["name"].startswith("policy")]
    assert "status" not in test
    assert (test["score"], test["max_score"]) == (0, 0)
    assert "leaderboard" not in content
    assert report.progress() == (len(report.checks), len(report.checks), "")


def test_absence_does_not_end_a_run_that_stops_at_the_first_loss(grader: Grader, folder: Path) -> None:
    """Catches: mutants that count as survivors because the hidden checks come after an optional attachment."""
    source = (folder / "submitted.py").read_text()
    (folder / "submitted.py").write_text(source.replace("result = 0.0", "result = 0.0 if values else 1.0"))
    report = grader.grade(folder, GradingOptions(thorough=False))
    assert "hidden/test_nothing_to_add" in [check.id for check in report.checks if check.outcome is Outcome.FAILED]


def test_what_is_worth_nothing_is_not_fixed_first(grader: Grader, folder: Path) -> None:
    """A question with points comes before one without, also when it is only begun with."""
    (folder / "submitted.py").write_text("def total(values):\n    return 0\n")
    report = grader.grade(folder)
    _, question = terminal.find_next_step(report)
    assert question is not None
    assert question.id == "total"
    (folder / "submitted.py").write_text((grader.home.solution / "submitted.py").read_text())
    (folder / NAME).write_bytes(b"?")
    verb, question = terminal.find_next_step(grader.grade(folder))
    assert question is not None
    assert (verb, question.id) == ("Optional", "policy")


def link(folder: Path) -> Path:
    if not hasattr(os, "symlink"):
        pytest.skip("no links here")
    (folder / "elsewhere").write_bytes(policy())
    (folder / NAME).symlink_to(folder / "elsewhere")
    return folder


def link_to_nothing(folder: Path) -> Path:
    link(folder)
    (folder / "elsewhere").unlink()
    return folder / "submitted.py"


def large(folder: Path) -> Path:
    (folder / NAME).write_bytes(b"\0" * (MOST + 1))
    return folder


def a_folder(folder: Path) -> Path:
    (folder / NAME).mkdir()
    return folder / "submitted.py"


def bomb(folder: Path) -> Path:
    path = folder / "work.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(folder / "submitted.py", "submitted.py")
        archive.writestr(NAME, b"\0" * (200 << 20))
    return path


def link_in_a_zip(folder: Path) -> Path:
    path, entry = folder / "work.zip", zipfile.ZipInfo(NAME)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(folder / "submitted.py", "submitted.py")
        archive.writestr(entry, "/etc/passwd")
    return path


def damaged_in_a_zip(folder: Path) -> Path:
    path = folder / "work.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(folder / "submitted.py", "submitted.py")
        archive.writestr(NAME, policy() * 20)
        offset = archive.getinfo(NAME).header_offset
    data = bytearray(path.read_bytes())
    data[offset + 60 : offset + 80] = b"\xff" * 20
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("handed", "words"),
    [
        (link, "it is a link; submit the file itself"),
        (link_to_nothing, "it is a link; submit the file itself"),
        (large, f"{NAME} is larger than 1 MB"),
        (a_folder, "is not an ordinary file"),
        (bomb, f"{NAME} is larger than 1 MB"),
        (link_in_a_zip, "it is a link; submit the file itself"),
        (damaged_in_a_zip, f"{NAME} cannot be read"),
    ],
)
def test_refused_with_a_remark(grader: Grader, folder: Path, handed: Callable[[Path], Path], words: str) -> None:
    """What is no ordinary file of a bearable size is left out, which every report tells; the code is graded as ever."""
    report = grader.grade(handed(folder))
    assert (report.points, report.final, result(report).outcome) == (6, True, Outcome.NOT_RUN)
    (remark,) = report.remarks
    assert remark.startswith("Left out: ")
    assert words in remark
    assert words in result(report).message
    assert remark in terminal.render_plain(report)
    assert remark in results(report, grader)["output"]


def test_a_new_policy_is_a_save(grader: Grader, folder: Path) -> None:
    """Watch mode grades again when training has written what it scores."""
    seen, end = threading.Event(), time.monotonic() + PATIENCE
    saves = _Saves(folder / "submitted.py", grader.home.assignment, seen.set)
    try:
        for size in range(10**6):  # watching begins some time after it was asked for
            (folder / NAME).write_bytes(b"?" * size)
            if seen.wait(0.5):
                break
            assert time.monotonic() < end
    finally:
        saves.end()


def test_exactly_as_large_as_allowed(grader: Grader, folder: Path) -> None:
    """The last byte that is allowed arrives at the driver."""
    around = len(policy(padding=np.zeros(1_040_000, np.uint8))) - 1_040_000
    (folder / NAME).write_bytes(policy(padding=np.zeros(MOST - around, np.uint8)))
    assert (folder / NAME).stat().st_size == MOST
    assert result(grader.grade(folder)).outcome is Outcome.PASSED


# Who scores it.


@pytest.mark.parametrize(
    ("content", "outcome", "words"),
    [
        (b"", Outcome.FAILED, "SafetensorError"),
        (b"\xff" * 64, Outcome.FAILED, "SafetensorError"),
        (policy()[:-3], Outcome.FAILED, "SafetensorError"),
        (save({"other": np.zeros(2)}), Outcome.FAILED, "KeyError"),
        (policy(nonsense=np.zeros(1)), Outcome.FAILED, "the result cannot be read"),
        (policy(attack=np.zeros(1)), Outcome.CRASHED, "SIGABRT"),
        (save({"weights": np.array([np.nan])}), Outcome.FAILED, "mean - std is nan, not a valid score"),
        (save({"weights": np.array([1e20])}), Outcome.FAILED, "mean - std is 1e+20, not a valid score"),
    ],
    ids=[
        "empty",
        "noise",
        "cut",
        "another content",
        "strange facts",
        "a crash in the parser",
        "not a number",
        "beyond all scores",
    ],
)
def test_hostile_bytes_cost_their_own_check(grader: Grader, folder: Path, content: bytes, outcome: Outcome, words: str) -> None:
    """Nobody but a worker parses them: what they do to it costs no other question, and there is no entry."""
    (folder / NAME).write_bytes(content)
    report = grader.grade(folder)
    assert (result(report).outcome, report.points, report.final) == (outcome, 6, True)
    assert words in result(report).message
    assert "leaderboard" not in results(report, grader)


def test_a_missing_package_is_no_failure(grader: Grader, folder: Path) -> None:
    """What is not installed where it is graded is not the student's to fix."""
    (folder / NAME).write_bytes(policy(package=np.zeros(1)))
    report = grader.grade(folder)
    assert (result(report).outcome, result(report).message) == (Outcome.NOT_RUN, "not run: mujoco is not installed here")
    assert terminal.find_next_step(report) == ("", None)
    assert report.final


# The leaderboard.


def test_the_leaderboard_is_in_every_report(grader: Grader, folder: Path) -> None:
    """In results.json as the platform specifies it, in a line elsewhere, and in a report that was stored."""
    (folder / NAME).write_bytes(policy())
    report = grader.grade(folder)
    content = results(report, grader)
    assert content["leaderboard"] == [
        {"name": "mean - std", "value": SCORE, "order": "desc"},
        {"name": "loss", "value": 1.0, "order": "asc"},
    ]
    line = f"leaderboard: mean - std {SCORE:g}, loss 1"
    assert line in content["output"]
    assert line in terminal.render_plain(report)
    assert line in page.render(report)
    assert Report.model_validate_json(report.for_student().model_dump_json()).leaderboard() == report.leaderboard()


def test_a_submission_cannot_enter_itself(grader: Grader, folder: Path) -> None:
    """Whatever code and files say of a score, only the check's own call of `leaderboard` counts."""
    source = (folder / "submitted.py").read_text()
    forged = "print('leaderboard: mean - std 9999')\nleaderboard = entries = [{'name': 'mean - std', 'value': 9999}]\n"
    (folder / "submitted.py").write_text(source + forged)
    (folder / "results.json").write_text('{"leaderboard": [{"name": "mean - std", "value": 9999}]}')
    (folder / NAME).write_bytes(save({"weights": np.zeros(2)}, {"leaderboard": "9999"}))
    content = results(grader.grade(folder), grader)
    assert [entry["value"] for entry in content["leaderboard"]] == [SCORE, 1.0]
    assert "9999" not in json.dumps(content)


@pytest.mark.parametrize(
    "change", [{"name": "x" * 41}, {"name": ""}, {"value": float("nan")}, {"value": float("inf")}, {"order": "up"}]
)
def test_an_entry_that_the_platform_would_refuse(change: dict) -> None:
    """A field of the wrong kind would cost the whole result."""
    with pytest.raises(ValidationError):
        LeaderboardEntry(**({"name": "return", "value": 1.0} | change))


# What an instructor makes of it.


@pytest.mark.parametrize("name", ["../policy.pt", "/etc/passwd", ".hidden", "a/b.pt", "submitted.py", "hw.ipynb", "work.ZIP"])
def test_only_plain_names_can_be_attached(toy: Path, tmp_path: Path, name: str) -> None:
    """The name is joined to a folder of a student's."""
    text = (toy / "assignments/toy/assignment.toml").read_text()
    (tmp_path / "assignment.toml").write_text(text.replace(NAME, name, 1))
    with pytest.raises(UsageError, match="attach"):
        AssignmentFiles(tmp_path)


def test_the_proof_tells_what_it_cannot_prove(toy: Path) -> None:
    """No solution in code makes a policy: its check is no fault of the suite, and is named."""
    found = list(verify(toy, "toy", ProofOptions(quick=True)))
    assert [line for line, fault in found if fault] == []
    assert any(line.startswith("visible/test_policy is not proven here: not run: no policy") for line, _ in found)


def test_packages_of_one_assignment_are_asked_for(home: AssignmentFiles) -> None:
    """Both zips install what this assignment needs, and others are not burdened with it."""
    needs = AssignmentFiles(home.root, "policy_gradient")
    needs.assignment = home.assignment.model_copy(update={"requirements": ("gymnasium[mujoco]>=1.0",)})
    for files in (collect_student_files, collect_autograder_files):
        assert "gymnasium[mujoco]>=1.0" in files(needs)["requirements.txt"].decode().splitlines()
        assert "mujoco" not in files(home)["requirements.txt"].decode()


def test_students_read_what_else_they_may_hand_in(home: AssignmentFiles) -> None:
    """And nothing of it where there is nothing."""
    takes = AssignmentFiles(home.root, "policy_gradient")
    takes.assignment = home.assignment.model_copy(update={"attachments": (NAME,)})
    text = " ".join(collect_student_files(takes)["README.md"].decode().split())
    assert f"and, if you like, {NAME} in the same folder (at most 1 MB);" in text
    assert "if you like" not in collect_student_files(home)["README.md"].decode()
