"""What a harness has ready for calls: torch where it is named, and one server for all."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.build import build
from grader.judge.harness import Harness
from grader.judge.run import Grader

pytestmark = pytest.mark.recorded(kernel=True)

OWN_SERVERS = True
LOOKS = """
import sys

{first}
def loaded(submitted):
    return {{"loaded": "tor" + "ch" in sys.modules}}
"""


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(built_toy, tmp_path / "toy"))


@pytest.mark.parametrize(
    ("drivers", "support", "imported"),
    [
        ("", "", False),
        ("import torch\n", "", True),
        ("import helpers\n", "from torch import nn\n", True),
        ("import helpers\n", "import numpy\n", False),
    ],
    ids=["not named", "by the drivers", "by a support file", "support file without it"],
)
def test_torch_is_imported_where_it_is_named(toy: Path, drivers: str, support: str, imported: bool) -> None:
    """Catches: 2.4 CPU seconds at the start of every server whose drivers add numbers."""
    (toy / "tests" / "drivers" / "toy.py").write_text(LOOKS.format(first=drivers))
    (toy / "helpers.py").write_text(support)
    about = toy / "assignments" / "toy" / "assignment.toml"
    about.write_text(about.read_text().replace("submission", 'support = ["helpers.py"]\nsubmission', 1))
    home = AssignmentFiles(toy, "toy")
    assert home.assignment.support == ("helpers.py",)
    with Harness(home) as harness:
        assert harness.sandbox.call("loaded", {}).facts == {"loaded": imported}


LATER = "def spread(values):\n    return 0.0\n\ndef total(values):\n    return 7.0\n"


def test_a_submission_is_compiled_once_and_leaves_nothing(toy: Path, tmp_path: Path) -> None:
    """Catches: a cache that calls do not find, one that outlives its submission, and a changed file that runs as it was."""
    (tmp_path / "submitted.py").write_text(LATER)
    with Grader(AssignmentFiles(toy, "toy"), SUITES) as grader:
        staged = grader.take(tmp_path)
        (compiled,) = staged.path.parent.glob("__pycache__/*")
        before = compiled.read_bytes()

        def total() -> dict:
            return grader.harness.sandbox.call("total", {"values": [1.0]}, staged.path).facts

        assert total() == {"total": 7.0}
        compiled.write_bytes(before.replace(struct.pack("<d", 7.0), struct.pack("<d", 8.0)))
        assert total() == {"total": 8.0}  # so it is this file that is run
        staged.path.write_text(LATER.replace("7", "9"))
        assert total() == {"total": 9.0}
        assert not grader.harness.place(b"").with_name("__pycache__").exists()


def test_warnings_of_the_compiler_stay(toy: Path, tmp_path: Path) -> None:
    """Catches: a student who no longer reads that `is` compares identities."""
    (tmp_path / "submitted.py").write_text(LATER.replace("return 7.0", "return 7.0 if values is 1 else 8.0"))
    with Grader(AssignmentFiles(toy, "toy"), SUITES) as grader:
        report = grader.grade(tmp_path)
    assert any("SyntaxWarning" in check.printed for check in report.checks)


def test_what_cannot_be_compiled_says_so_when_it_is_loaded(toy: Path, tmp_path: Path) -> None:
    """Catches: an error that only the compiler finds, lost because the file can be parsed."""
    (tmp_path / "submitted.py").write_text("def total(values):\n    nonlocal values\n")
    with Grader(AssignmentFiles(toy, "toy"), SUITES) as grader:
        report = grader.grade(tmp_path)
    assert report.points == 0
    assert any("not valid Python" in check.message for check in report.checks)


@pytest.mark.parametrize("magic", ["%matplotlib inline", "!pip install gymnasium"])
def test_a_magic_in_a_python_file_is_told(toy: Path, tmp_path: Path, magic: str) -> None:
    """Catches: a notebook saved as a script, of which the student reads "invalid syntax" alone."""
    (tmp_path / "submitted.py").write_text(f"{magic}\n{LATER}")
    with Grader(AssignmentFiles(toy, "toy"), SUITES) as grader:
        report = grader.grade(tmp_path)
    assert any("lines that begin with % or !" in check.message for check in report.checks)


def test_an_assignment_with_torch_is_built_and_graded(toy: Path) -> None:
    """Catches: a server that is prepared differently for the solution than for submissions."""
    drivers = toy / "tests" / "drivers" / "toy.py"
    drivers.write_text(f"import torch\n\n{drivers.read_text()}".replace('"total": ', '"total": torch.tensor(1.0) * '))
    assert "torch.tensor(1.0) *" in drivers.read_text()
    build(toy, "toy")
    home = AssignmentFiles(toy, "toy")
    with Grader(home, SUITES) as grader:
        report = grader.grade(home.solution)
    assert report.points == report.max_points > 0


def test_a_submission_may_import_torch_by_itself(toy: Path) -> None:
    """Catches: right work that loses its points because only the student, and no driver, has thought of torch."""
    home = AssignmentFiles(toy, "toy")
    text = (home.solution / "submitted.py").read_text()
    path = toy / "submitted.py"
    with_torch = "return torch.tensor(result, dtype=torch.float64).item()"
    path.write_text(f"import torch\n\n{text}".replace("return result", with_torch))
    with Grader(home, SUITES) as grader:
        for submission in (home.solution, path):  # a server that has served others without torch, and one that has not
            report = grader.grade(submission)
            assert [check.message for check in report.checks if check.points < check.max_points] == []
    with Grader(home, SUITES) as grader:
        assert grader.grade(path).points == report.max_points
