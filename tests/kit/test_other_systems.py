"""What only macOS and Windows do, rehearsed here: what only Linux has is taken away (elsewhere.py). Nobody has run it there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from grader.assignment import AssignmentFiles, list_assignments
from grader.console import quote
from grader.desk import keyboard
from grader.desk.magic import ENTRY
from grader.packing.release import collect_student_files
from grader.report.layout import wrap_lines
from tests.kit.elsewhere import write_python
from tests.kit.patience import PATIENCE
from tests.kit.test_desk_pytest import WRONG, write_released

INPUTS = {
    "test_a_students_tools_need_nothing_of_linux": (
        "grade.py",
        "pyproject.toml",
        "released:grader",
        "tests/visible/conftest.py",
        "tests/kit/elsewhere.py",
    ),
    "test_drive_letters": (),
    "test_each_system_runs_its_files": (".github/workflows/tests.yml",),
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


@LINUX
@pytest.mark.recorded
def test_a_students_tools_need_nothing_of_linux(elsewhere: str, built_toy: Path, tmp_path: Path) -> None:
    """Catches: an import of fcntl, a fork or a signal in --show, in --debug, in plain pytest, or behind %grade."""
    folder = tmp_path / "größe mit Leerzeichen" / "toy"
    write_released(built_toy, tmp_path / "kit", folder, ("grader", "grade.py", "pyproject.toml"))
    (folder / "submitted.py").write_bytes(WRONG.replace("\n", "\r\n").encode())
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "PYTEST_ADDOPTS": ""}

    def run(*arguments: str, keys: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [elsewhere, *arguments], cwd=folder, env=environment, input=keys.encode(), capture_output=True, timeout=PATIENCE
        )
        assert (done.returncode, done.stderr) == (code, b""), done.stdout.decode("cp1252") + done.stderr.decode("cp1252")
        return done.stdout.decode("cp1252").replace("\r\n", "\n")

    shown = run("grade.py", "--show", "total")
    assert "x 1.5 - 2 + 4 is 3.5. (failed; -k three)" in shown
    assert [line for line in shown.splitlines() if line.strip().startswith("total ") and "3.5" in line and "17" in line]
    stepped = run("grade.py", "--debug", "total", keys="n\nn\np first + 1\nq\n")
    assert "(Pdb) 18" in stepped
    tested = run("-m", "pytest", "-p", "no:cacheprovider", code=1)
    assert "\nx total  " in tested
    assert "2 failed, 1 passed, 1 skipped" in tested
    command = [elsewhere, "-c", ENTRY, str(folder), str(folder), str(folder)]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        request = {"id": 1, "words": ["total"], "cells": [], "replaced": {}, "since": 0.0}
        print(json.dumps(request), file=server.stdin, flush=True)
        verdict = next(answer for answer in map(json.loads, server.stdout) if "text" in answer)
        server.stdin.close()
    assert server.returncode == 0
    assert "total: expected 3.5, got 17" in verdict["text"]


def test_drive_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a path with a drive and spaces that is quoted for another shell, or that a line break cuts in two."""
    monkeypatch.setattr(sys, "platform", "win32")
    path = quote(r"D:\My Work\submitted.py")
    assert path == r'"D:\My Work\submitted.py"'
    command = f"python grade.py --submission {path} --show total"
    assert command in [line.strip() for line in wrap_lines(f"Look closer: {command}  (or --debug)", 60).split("\n")]
    report = r"D:\a_long_name\another_long_name\report.html"
    assert report in [line.strip() for line in wrap_lines(f"wrote {report}", 40).split("\n")]


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


def read_job() -> dict[str, Any]:
    """Return the workflow's job that runs the tests."""
    job: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["tests"]
    return job


def test_workflow_names_what_is_there() -> None:
    """Catches: a test file that was renamed, a system or a Python that fell out of the matrix."""
    job = read_job()
    assert {name.partition("-")[0] for name in job["strategy"]["matrix"]["os"]} == {"ubuntu", "macos", "windows"}
    assert job["strategy"]["matrix"]["python"] == ["3.10", "3.11", "3.12", "3.13"]
    for files in (job["env"]["ELSEWHERE"].split(), job["env"]["MACOS"].split()):
        assert len(files) > 3
        for name in files:
            assert (ROOT / name).is_file(), name


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_each_system_runs_its_files() -> None:
    """Catches: a Mac, which can fork and has terminals, that tests no watch mode, no debugger, no pytest and no notebook."""
    job = read_job()
    (script,) = [step["run"] for step in job["steps"] if step.get("name") == "Test"]
    found = {}
    for system in ("Linux", "macOS", "Windows"):
        environment = {"PATH": os.environ["PATH"], "RUNNER_OS": system, **job["env"]}
        command = ["bash", "-euc", f'python() {{ echo "$@"; }}\n{script}']
        words = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
        found[system] = {word for word in words if word.startswith("tests/")}
    assert found["Linux"] == {"tests/kit"}
    assert found["Windows"] == set(job["env"]["ELSEWHERE"].split())
    assert found["macOS"] - found["Windows"] >= {
        f"tests/kit/{name}.py" for name in ("test_desk_debug", "test_desk_pytest", "test_magic", "test_watch")
    }


@LINUX
def test_tests_for_other_systems_can_be_collected(elsewhere: str) -> None:
    """Catches: a conftest, a plugin or a test module that imports what only Linux has, so that nothing runs anywhere else."""
    command = [
        elsewhere,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "--collect-only",
        *read_job()["env"]["ELSEWHERE"].split(),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
