"""What only macOS and Windows do, rehearsed here: what only Linux has is taken away (elsewhere.py). Nobody has run it there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path, PurePosixPath

import pytest
import yaml

from grader.assignment import AssignmentFiles, list_assignments
from grader.desk import keyboard
from grader.packing.release import collect_student_files
from tests.kit.elsewhere import write_python
from tests.kit.patience import PATIENCE

INPUTS = {
    "test_grading_needs_nothing_of_linux": ("grade.py", "grading:policy_gradient", "tests/kit/elsewhere.py"),
    "test_names_fit_every_file_system": (
        "assignments/**",
        "released:grader",
        "solution.json",
        "tests/**",
        "utils.py",
        "grade.py",
    ),
    "test_workflow_names_what_is_there": (".github/workflows/tests.yml", "tests/kit/test_*.py"),
    "test_tests_for_other_systems_can_be_collected": ("**",),
    "test_keys_of_windows": (),
}
ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="a rehearsal of other systems, on Linux")


@pytest.fixture
def elsewhere(tmp_path: Path) -> str:
    """A Python as on another system, in a folder with spaces and an umlaut."""
    folder = tmp_path / "größe mit Leerzeichen"
    folder.mkdir()
    return str(write_python(folder))


@LINUX
@pytest.mark.recorded
def test_grading_needs_nothing_of_linux(elsewhere: str, replaced, tmp_path: Path) -> None:
    """Catches: an import of fcntl, a fork, a signal or /proc on the way of a student's grading, and text that cp1252 lacks."""
    path = replaced(get_value_net_loss="import os\nos._exit(3)", get_advantages="raise ValueError('γ')")
    handed = Path(elsewhere).with_name("submitted.py")
    text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
    handed.write_bytes(b"\xef\xbb\xbf" + text.encode())
    questions, output = ["get_returns", "get_value_net_loss", "get_advantages"], tmp_path / "report.json"
    command = [elsewhere, "grade.py", "policy_gradient", *questions, "--submission", str(handed), "--json", str(output)]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE)
    shown = done.stdout.decode("cp1252")
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode("cp1252")
    report = json.loads(output.read_text(encoding="utf-8"))
    assert report["isolation"] == "basic"
    found = {question["id"]: question["outcome"] for question in report["questions"]}
    assert found == dict(zip(questions, ["passed", "crashed", "failed"], strict=True))
    assert "+ get_returns " in shown
    assert "x get_value_net_loss " in shown
    assert "ValueError: gamma" in shown
    assert f'--submission "{handed}" --show ' in shown, "quotes that cmd.exe takes"


def test_names_fit_every_file_system() -> None:
    """Catches: two names that a Mac takes for one, a name that Windows refuses, a path that is too long below a home folder."""
    for name in list_assignments(ROOT):
        names = list(collect_student_files(AssignmentFiles(ROOT, name)))
        assert len({each.casefold() for each in names}) == len(names)
        for each in names:
            assert len(f"{name}/{each}") < 100
            for part in PurePosixPath(each).parts:
                assert part.partition(".")[0].casefold() not in RESERVED
                assert part.isascii()
                assert not set(part) & set('<>:"|?*\\')
                assert part == part.rstrip(". ")


def test_keys_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: termios, which Windows lacks, on the way to a key."""
    keys = ["q", "h"]
    fake = types.SimpleNamespace(kbhit=lambda: bool(keys), getwch=keys.pop)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setitem(sys.modules, "termios", None)
    monkeypatch.setattr(keyboard, "sys", types.SimpleNamespace(platform="win32"))
    with keyboard.Keyboard() as pressed:
        assert [pressed.pressed() for _ in range(3)] == ["h", "q", ""]
        with pressed.released():
            pass


def files_for_other_systems() -> list[str]:
    """Return the test files that the workflow runs on macOS and Windows."""
    job = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["tests"]
    files: list[str] = job["env"]["ELSEWHERE"].split()
    return files


def test_workflow_names_what_is_there() -> None:
    """Catches: a test file that was renamed, a system or a Python that fell out of the matrix."""
    job = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["tests"]
    assert {name.partition("-")[0] for name in job["strategy"]["matrix"]["os"]} == {"ubuntu", "macos", "windows"}
    assert job["strategy"]["matrix"]["python"] == ["3.10", "3.11", "3.12", "3.13"]
    assert len(files_for_other_systems()) > 5
    for name in files_for_other_systems():
        assert (ROOT / name).is_file(), name


@LINUX
def test_tests_for_other_systems_can_be_collected(elsewhere: str) -> None:
    """Catches: a conftest, a plugin or a test module that imports what only Linux has, so that nothing runs anywhere else."""
    command = [elsewhere, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--collect-only", *files_for_other_systems()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
