"""`grade.py --check-install`: what is missing, said without it."""

from __future__ import annotations

import ast
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from grader.console import name_python
from grader.desk import install
from grader.desk.install import check_install

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": (),
    "test_works_where_nothing_is_installed": ("grade.py", "pyproject.toml"),
    "test_answers_within_a_second": ("grade.py", "pyproject.toml"),
    "test_an_older_python_can_say_that_it_is_too_old": ("grade.py", "pyproject.toml"),
}
WINDOWS = sys.platform == "win32"
ROOT = Path(__file__).resolve().parents[2]


def write(tmp_path: Path, *requirements: str) -> Path:
    (tmp_path / "requirements.txt").write_text("\n".join(requirements) + "\n")
    return tmp_path


def test_all_is_there(tmp_path: Path) -> None:
    """Catches: a sound installation that is complained about, and a package for another system that is asked for."""
    nowhere = "no-such-package>=1; sys_platform == 'nowhere'"
    root = write(
        tmp_path, "--extra-index-url https://x.org", "# all", "numpy>=1.26", nowhere, "gymnasium", "gymnasium[mujoco]>=1.0", ""
    )
    lines, complete = check_install(root)
    assert complete, lines
    assert f"ok      numpy {metadata.version('numpy')}" in lines
    assert "ok      no-such-package: not needed on this system" in lines
    assert len([line for line in lines if "gymnasium" in line]) == 1, "one line for a package that is required twice"


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("no-such-package>=2.0", "MISSING no-such-package is not installed: >=2.0"),
        ("numpy>=99", f"MISSING numpy {metadata.version('numpy')}, and >=99 is needed"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, requirement: str, words: str) -> None:
    """Catches: a first run that ends in a ModuleNotFoundError."""
    lines, complete = check_install(write(tmp_path, "numpy", requirement))
    assert not complete
    assert words in lines
    assert lines[-1].endswith(f" -m pip install -r {tmp_path / 'requirements.txt'}")


def test_the_command_is_one_that_a_shell_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a command that a space in a path cuts in two, that installs for another Python, or is not of this folder."""
    root = tmp_path / "my desk"
    root.mkdir()
    write(root, "no-such-package>=2.0")
    monkeypatch.setattr(install, "_is_managed", lambda: False)
    monkeypatch.chdir(tmp_path)
    command = check_install(root)[0][-1].strip()
    python, rest = command.split(" -m pip install -r ")
    assert rest == (f'"my desk{os.sep}requirements.txt"' if WINDOWS else "'my desk/requirements.txt'")
    prefix = [python, "-c", '"import sys; print(sys.prefix)"']
    found = subprocess.run(" ".join(prefix), shell=True, capture_output=True, text=True, check=True).stdout
    assert found.strip() == sys.prefix
    monkeypatch.chdir(root)
    assert check_install(root)[0][-1].endswith(" -m pip install -r requirements.txt")


def test_a_python_of_the_system_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a command that pip refuses, because the system manages this Python (PEP 668)."""
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    lines, _ = check_install(write(tmp_path, "no-such-package>=2.0"))
    assert lines[-3].endswith(" -m venv .venv")
    assert lines[-2].startswith(f"  {Path('.venv', 'Scripts' if WINDOWS else 'bin', 'python')} -m pip install -r ")
    assert "and grade with it: " in lines[-1]


def test_pip_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a command that needs what is not there."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(install, "_is_managed", lambda: False)
    assert check_install(write(tmp_path, "no-such-package>=2.0"))[0][-2].endswith(" -m ensurepip")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a folder inside of an opened zip, found out by a traceback of the first grading."""
    root = write(tmp_path, "numpy")
    true: Any = tempfile.TemporaryFile

    def refuse(**where: str) -> object:
        if where["dir"] == str(root):
            raise OSError(30, "Read-only file system")
        return true(**where)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    lines, complete = check_install(root)
    assert not complete
    assert f"MISSING this folder is not writable (Read-only file system): {root}" in lines
    assert "ok      the folder for temporary files is writable" in lines
    assert "Unpack the zip" in lines[-1]


def test_pytest_and_what_comes_with_it_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: an answer that needs what it asks for."""
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    lines, complete = check_install(write(tmp_path, "numpy>=1.26", "no-such-package>=2.0"))
    assert not complete
    assert f"ok      numpy {metadata.version('numpy')}" in lines
    assert "MISSING no-such-package is not installed: no-such-package>=2.0" in lines


def test_another_python_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a version that the kit is not tested with, found out by a syntax error."""
    monkeypatch.setattr(install, "PYTHONS", ((2, 6), (2, 7)))
    lines, complete = check_install(write(tmp_path))
    assert not complete
    assert "and 2.6 to 2.7 is needed" in lines[0]
    assert "Install Python 2.7, 64-bit, from " in "".join(lines)
    assert f"  {'py -2.7' if WINDOWS else 'python2.7'} -m venv .venv" in lines


def test_an_intel_mac_is_not_sent_to_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a command that fails each time, because PyTorch 2.2 was the last one for Intel Macs."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    lines, complete = check_install(write(tmp_path, "numpy", "torch>=99"))
    assert not complete
    assert "MISSING this is a Python for Intel Macs, for which there is no PyTorch after 2.2" in lines
    assert "pip install -r" not in "".join(lines)
    assert "use another computer" in lines[-1]
    assert check_install(write(tmp_path, "numpy", "torch"))[1], "there are other builds than those of pip"
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert "pip install -r" in check_install(write(tmp_path, "torch>=99"))[0][-1]


def test_a_python_of_32_bits_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a command that fails each time, because there is no PyTorch for a Python of 32 bits."""
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    lines, complete = check_install(write(tmp_path, "numpy"))
    assert not complete
    assert "is a 32-bit Python, and PyTorch needs a 64-bit one" in lines[0]
    assert "64-bit, from https://www.python.org/downloads/. Then run:" in "".join(lines)


def test_python_is_called_as_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: `python`, which most Macs and Debian lack, in commands to be copied; and another Python than this one."""
    ours, others = tmp_path / "ours", tmp_path / "others"
    for path in (ours / "python3", others / "python"):
        path.parent.mkdir()
        path.with_suffix(".exe" if WINDOWS else "").touch(mode=0o755)
    suffix = ".exe" if WINDOWS else ""
    monkeypatch.setattr(sys, "executable", str(ours / f"python3{suffix}"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(others), str(ours)]))
    assert name_python() == "python3"
    monkeypatch.setenv("PATH", str(others))
    assert name_python() == str(ours / f"python3{suffix}")
    monkeypatch.chdir(tmp_path)
    assert name_python() == str(Path("ours", f"python3{suffix}"))


def runs(python: str) -> bool:
    """Return whether there is such a Python, and not only a name that its manager knows."""
    return shutil.which(python) is not None and subprocess.run([python, "--version"], capture_output=True).returncode == 0


@pytest.mark.parametrize("old", ["python3.8", "python3.9"])
def test_an_older_python_can_say_that_it_is_too_old(old: str) -> None:
    """Catches: a SyntaxError, or a missing module, in place of the answer."""
    for name in ("grade.py", "grader/student.py", "grader/console.py", "grader/report/layout.py", "grader/desk/install.py"):
        ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, int(old.rpartition(".")[2])))
    if not runs(old):
        pytest.skip(f"no {old} here: only the syntax was looked at")
    for words, option in (("3.10 to 3.13 is needed", "--check-install"), ("is too old", "policy_gradient")):
        done = subprocess.run([old, "grade.py", option], cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, words in done.stdout + done.stderr) == (2, True), done.stderr


def test_works_where_nothing_is_installed() -> None:
    """Catches: an import of what is asked for, on the way to the answer."""
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            "import sys, runpy; sys.argv[1:] = ['--check-install']; runpy.run_path('grade.py', run_name='__main__')",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "torch is not installed" in done.stdout
    assert done.stdout.endswith("To install what is missing, run:\n  make setup\n")


def test_answers_within_a_second() -> None:
    """Catches: an import of torch, or a search through all packages, before the first line. Only CPU time is counted."""
    script = (
        "import atexit, runpy, sys, time; atexit.register(lambda: print(time.process_time(), file=sys.stderr)); "
        "sys.argv[1:] = ['--check-install']; runpy.run_path('grade.py', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert f"torch {metadata.version('torch')}" in done.stdout, done.stderr
    assert float(done.stderr) < 1
