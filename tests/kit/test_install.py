"""`grade.py --check-install`: what is missing, said without it."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from grader.desk import install
from grader.desk.install import check_install

pytestmark = pytest.mark.recorded

INPUTS = {"*": (), "test_works_where_nothing_is_installed": ("grade.py", "pyproject.toml")}
ROOT = Path(__file__).resolve().parents[2]


def write(tmp_path: Path, *requirements: str) -> Path:
    (tmp_path / "requirements.txt").write_text("\n".join(requirements) + "\n")
    return tmp_path


def test_all_is_there(tmp_path: Path) -> None:
    """Catches: a sound installation that is complained about, and a package for another system that is asked for."""
    root = write(tmp_path, "numpy>=1.26", "no-such-package>=1; sys_platform == 'nowhere'", "gymnasium[mujoco]>=1.0", "")
    lines, complete = check_install(root)
    assert complete, lines
    assert f"ok      numpy {metadata.version('numpy')}" in lines
    assert "ok      no-such-package: not needed on this system" in lines


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
    assert lines[-1] == f"To install what is missing: {sys.executable} -m pip install -r requirements.txt"


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
    assert "; 2.6 to 2.7 is needed" in lines[0]


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
    assert done.stdout.endswith("To install what is missing: make setup\n")
