"""The command lines: exit codes, selections, and errors that say what to do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles, list_assignments
from grader.desk.asked import find_questions
from tests.kit.copies import copy_assignment
from tests.kit.patience import PATIENCE

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("grade.py", "command:build", "command:grade", "assignments/*/assignment.toml", "grading:policy_gradient"),
    "test_suite_error_is_the_graders_fault": (
        "grader/**",
        "assignments/policy_gradient/**",
        "solutions/policy_gradient/**",
    ),
    "test_usage_errors": ("solution.json",),
    "test_build_does_not_overwrite_work": (
        "grader/**",
        "assignments/policy_gradient/**",
        "solutions/policy_gradient/**",
    ),
}

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = "solutions/policy_gradient/submitted.py"


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE)


def test_grade_py_on_the_stub() -> None:
    """A new student's first run: everything not started, what to begin with, nothing claimed."""
    done = run("grade.py", "policy_gradient")
    assert done.returncode == 0
    assert done.stdout.count("not started") >= 12
    assert "Start with: get_returns" in done.stdout
    assert "0/63 points" in done.stdout
    assert "37 more points are graded after submission" in done.stdout


def test_questions_keyword_and_json(tmp_path: Path, grade_py, capsys: pytest.CaptureFixture[str]) -> None:
    """One question, one pattern, and the report as a file."""
    output = tmp_path / "report.json"
    question = ("policy_gradient", "get_PPO_policy_gradient_loss", "-k", "clipped")
    assert grade_py(*question, "--submission", str(ROOT / SOLUTION), "--json", str(output)) == 0
    report = json.loads(output.read_text())
    assert [check["id"] for check in report["checks"]] == ["visible/test_clipped_value", "visible/test_clipped_gradient"]
    assert report["points"] == 2
    assert str(output) in capsys.readouterr().out


def test_part_of_a_question_selects_all_of_it(grade_py, capsys: pytest.CaptureFixture[str]) -> None:
    """`train_policy_gradient` means its three parts."""
    grade_py("policy_gradient", "train_policy_gradient", "--submission", str(ROOT / SOLUTION))
    assert "18/18 points" in capsys.readouterr().out


def test_works_from_another_folder(tmp_path: Path) -> None:
    """Nothing may depend on the current directory."""
    done = run(str(ROOT / "grade.py"), "policy_gradient", "get_returns", "--submission", str(ROOT / SOLUTION), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6/6" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["grade.py", "no_such"],
            f"there is no assignment 'no_such'; there are: {', '.join(list_assignments(ROOT))}",
        ),
        (["grade.py", "policy_gradient", "no_such"], "there is no question 'no_such'; there are: get_returns"),
        (["grade.py", "policy_gradient", "get_retruns"], "there is no question 'get_retruns'; did you mean get_returns?"),
        (["grade.py", "policy_gradient", "--submission", "nowhere.py"], "there is no nowhere.py"),
        (
            ["grade.py", "policy_gradient", "--submission", "benchmarks"],
            "expected submitted.py or a notebook in benchmarks, found",
        ),
        (["-m", "grader", "grade", "policy_gradient", SOLUTION, "--suite", "secret"], "there is no suite 'secret'"),
        (["-m", "grader", "build", "no_such"], "there is no assignment 'no_such'"),
        (["grade.py", "policy_gradient", "-k", "no_check_has_this_name"], "no check matches"),
        (["grade.py", "policy_gradient", "get_returns", "-k", "clipped"], "no check of get_returns matches -k 'clipped'"),
        (["grade.py", "policy_gradient", "--json", "solution.json"], "solution.json is not a report and would be overwritten"),
    ],
)
def test_usage_errors(arguments: list[str], words: str) -> None:
    """Exit code 2, one line that says what was expected, found and what to do; never a traceback."""
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_misnamed_file_is_suggested(tmp_path: Path) -> None:
    """A file with a slightly wrong name is named."""
    (tmp_path / "submited.py").write_text("")
    done = run("grade.py", "policy_gradient", "--submission", str(tmp_path))
    assert done.returncode == 2
    assert "did you mean submited.py?" in done.stderr


def test_links_and_large_files_are_refused(tmp_path: Path) -> None:
    """A link could make the grader read another's file; a huge one fill its memory."""
    link = tmp_path / "submitted.py"
    link.symlink_to(ROOT / SOLUTION)
    assert run("grade.py", "policy_gradient", "--submission", str(link)).returncode == 2
    link.unlink()
    link.write_bytes(b"#" * (2 << 20))
    done = run("grade.py", "policy_gradient", "--submission", str(link))
    assert (done.returncode, "larger than 1 MB" in done.stderr) == (2, True)


def test_several_submissions(tmp_path: Path, command_line) -> None:
    """One command grades several files, each into its own report."""
    paths = [str(ROOT / "assignments/policy_gradient/submitted.py"), str(ROOT / SOLUTION)]
    how = ("--suite", "visible", "--format", "json", "-o", str(tmp_path))
    assert command_line("grade", "policy_gradient", *paths, *how) == 0
    points = {path.name: json.loads(path.read_text())["points"] for path in tmp_path.iterdir()}
    assert sorted(points.values()) == [0, 63]


def test_suite_error_is_the_graders_fault(tmp_path: Path) -> None:
    """Points that do not add up: exit code 3, not final, and nothing held against the student."""
    copy_assignment("policy_gradient", tmp_path, "grader", "grade.py")
    toml = tmp_path / "assignments" / "policy_gradient" / "assignment.toml"
    text = toml.read_text()
    toml.write_text(re.sub(r"points = \{ visible = \d+", "points = { visible = 9", text, count=1))
    assert toml.read_text() != text
    done = run("grade.py", "policy_gradient", "--submission", str(ROOT / SOLUTION), cwd=tmp_path)
    assert done.returncode == 3
    assert "assignment.toml says 9" in done.stdout
    assert "not final" in done.stdout


def test_one_bad_path_does_not_cost_the_others_their_grade(
    tmp_path: Path, command_line, capsys: pytest.CaptureFixture[str]
) -> None:
    """A batch goes on past an empty folder, and says at the end what was not graded."""
    (tmp_path / "empty").mkdir()
    output = tmp_path / "out"
    paths = [str(tmp_path / "empty"), str(ROOT / SOLUTION)]
    how = ("--suite", "visible", "--format", "json", "-o", str(output))
    assert command_line("grade", "policy_gradient", *paths, *how) == 2
    assert "graded 1 of 2; not graded: " in capsys.readouterr().out
    assert len(list(output.iterdir())) == 1


def heed_interrupts() -> None:
    """Undo what a shell does to its background jobs, and what they pass on: to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_stopped_by_ctrl_c(tmp_path: Path, replaced) -> None:
    """Ctrl-C is no fault of the grader: one line, its own exit code, no process and no folder left."""
    submission = replaced(get_returns="import time\ntime.sleep(60)")
    command = [
        sys.executable,
        "grade.py",
        "policy_gradient",
        "--submission",
        str(submission),
        "--json",
        str(tmp_path / "r.json"),
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=heed_interrupts,
        )
        until = time.monotonic() + PATIENCE
        while not (tmp_path / "r.json").exists() and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.5)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (130, "")
        assert "stopped" in err
        assert list((tmp_path / "tmp").iterdir()) == []
        (tmp_path / "r.json").unlink()


def test_a_folder_in_place_of_a_report_is_told(tmp_path: Path) -> None:
    """--json or --html naming a folder is a slip, not a traceback."""
    for option in ("--json", "--html"):
        done = run("grade.py", "policy_gradient", option, str(tmp_path))
        assert (done.returncode, "is a folder" in done.stderr) == (2, True)


def test_build_does_not_overwrite_work(tmp_path: Path) -> None:
    """Who worked where the stub lies must not lose it to a build."""
    copy_assignment("policy_gradient", tmp_path, "grader", "grade.py")
    stub = tmp_path / "assignments" / "policy_gradient" / "submitted.py"
    stub.write_text(stub.read_text() + "\n\ndef my_helper():\n    return 1\n")
    done = run("-m", "grader", "build", "policy_gradient", cwd=tmp_path)
    assert done.returncode == 2
    assert "contains your own changes (my_helper)" in done.stderr
    assert "my_helper" in stub.read_text()


def test_torch_that_is_not_installed_is_told(
    own_servers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forgotten pip install is the user's to mend: no fault of the grader, and no table of failures."""
    from grader import student

    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert student.main(["policy_gradient"]) == 2
    assert "has no module 'torch'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], []),
        (["Actor"], ["Actor"]),
        (["OUNoise", "ReplayBuffer"], ["OUNoise", "ReplayBuffer.store", "ReplayBuffer.sample_batch"]),
        (["DDPGAgent.update_model"], ["DDPGAgent.update_model.critic", "DDPGAgent.update_model.actor"]),
        (["store"], ["ReplayBuffer.store"]),
        (["actor"], ["Actor", "DDPGAgent.update_model.actor"]),
        (["ReplayBuffer.store", "store"], ["ReplayBuffer.store"]),
    ],
)
def test_a_question_can_be_named_by_parts(words: list[str], expected: list[str]) -> None:
    """Catches: `DDPGAgent.update_model`, which is what the method is called, refused with a list of 17 names."""
    assert find_questions(AssignmentFiles(ROOT, "ddpg").assignment, words) == expected
