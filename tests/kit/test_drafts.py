"""What is packed is proven, or says that it is a draft; nothing else is written."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.console import GRADED, USAGE
from grader.packing.release import collect_student_files, open_for_packing
from grader.packing.requirements import needs_torch, render_requirements
from tests.kit.proven_toy import make_proven_toy

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("tests/kit/toy/**", "grade.py", "pyproject.toml", "constraints.txt"),
    "test_verify_leaves_the_note_that_release_goes_by": (
        "tests/visible/conftest.py",
        "released:grader",
        "command:release",
        "command:verify",
    ),
    "test_a_draft_says_that_it_is_one": ("tests/visible/conftest.py", "released:grader", "command:release"),
    "test_a_title_is_marked_however_its_line_is_written": ("tests/visible/conftest.py", "released:grader"),
    "test_a_readme_says_only_what_is_true_of_its_assignment": ("tests/visible/conftest.py", "released:grader"),
    "test_unproven_makes_no_draft_of_what_is_proven": ("tests/visible/conftest.py", "released:grader", "command:classroom"),
    "test_every_platform_gets_the_mark": ("tests/visible/conftest.py", "released:grader"),
    "test_no_platform_gets_what_is_not_proven": ("command:{command}",),
}


@pytest.fixture(scope="module")
def proven(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied, not changed."""
    links = ("grader", "grade.py", "pyproject.toml", "constraints.txt")
    return make_proven_toy(built_toy, tmp_path_factory.mktemp("packing") / "kit", links)


@pytest.fixture
def kit(proven: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(proven, tmp_path / "kit", symlinks=True))


def test_verify_leaves_the_note_that_release_goes_by(
    kit: Path, tmp_path: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches: a proof that does not count, or one with faults that does; a zip written all the same."""
    shutil.rmtree(kit / ".cache")
    out = tmp_path / "out"
    assert command_line("release", "toy", "-o", str(out), root=kit) == USAGE
    assert "never proven in this checkout. Next: `python -m grader verify --quick toy`" in capsys.readouterr().err
    mistakes = kit / "solutions" / "toy" / "mistakes.py"
    right = mistakes.read_text(encoding="utf-8")
    mistakes.write_text(right.replace("return 1.0 + sum(values)", "return 0.0 + sum(values)"), encoding="utf-8")
    assert command_line("verify", "toy", "--quick", root=kit) == 1
    capsys.readouterr()
    assert command_line("release", "toy", "-o", str(out), root=kit) == USAGE
    told = "the last `verify` found 4 faults, the first: solutions/toy/mistakes.py:7: the mistake begins_with_one passes"
    assert told in capsys.readouterr().err
    assert not out.exists()
    mistakes.write_text(right, encoding="utf-8")
    assert command_line("verify", "toy", "--quick", root=kit) == 0
    capsys.readouterr()
    assert command_line("release", "toy", "-o", str(out), root=kit) == GRADED
    assert "draft" not in capsys.readouterr().out
    with zipfile.ZipFile(out / "toy.zip") as archive:
        assert not any(b"draft: not proven" in archive.read(name) for name in archive.namelist() if name.count("/") < 2)


def test_a_draft_says_that_it_is_one(
    kit: Path, tmp_path: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches: a draft that nobody can tell from the assignment, in the README or in what its own grade.py reports."""
    shutil.rmtree(kit / ".cache")
    assert command_line("release", "toy", "-o", str(tmp_path / "out"), "--unproven", root=kit) == GRADED
    assert "draft: not proven (it was never proven in this checkout)" in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "out" / "toy.zip") as archive:
        texts = {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist() if name.count("/") < 2}
    assert texts["README.md"].startswith("# Sums and spreads (draft: not proven)\n")
    assert 'title = "Sums and spreads (draft: not proven)"\nversion = "1.0-draft"\n' in texts["assignment.toml"]


@pytest.mark.parametrize(
    ("title", "fine"),
    [('  title = "Sums and spreads"', True), ("'title' = \"Sums and spreads\"", False)],
)
def test_a_title_is_marked_however_its_line_is_written(kit: Path, title: str, fine: bool) -> None:
    """Catches: a traceback of --unproven, because of two blanks before the title."""
    settings = kit / "assignments" / "toy" / "assignment.toml"
    settings.write_text(settings.read_text().replace('title = "Sums and spreads"', title))
    home = open_for_packing(kit, "toy", draft=True)
    if fine:
        assert b'title = "Sums and spreads (draft: not proven)"\n' in collect_student_files(home)["assignment.toml"]
    else:
        with pytest.raises(UsageError, match="nothing was written: for a draft, assignment"):
            collect_student_files(home)


def test_a_readme_says_only_what_is_true_of_its_assignment(kit: Path) -> None:
    """Catches: training and data loaders in the README of an assignment about sums."""
    (kit / "assignments" / "toy" / "notebook.ipynb").write_text("{}")
    text = collect_student_files(AssignmentFiles(kit, "toy"))["README.md"].decode()
    assert "notebook.ipynb explains the method" in text
    for word in ("trains", "num_workers", "torch"):
        assert word not in text.replace("PyTorch", ""), word


def test_unproven_makes_no_draft_of_what_is_proven(
    kit: Path, tmp_path: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches: an assignment marked as a draft because of an option that was not needed."""
    assert command_line("classroom", "toy", "-o", str(tmp_path / "out"), "--unproven", root=kit) == GRADED
    assert "not proven" not in capsys.readouterr().out


def test_every_platform_gets_the_mark(kit: Path) -> None:
    """Catches: a platform whose package reads the title where no mark is made."""
    from grader.packing.release import make_student_zip
    from grader.platforms.autolab.package import collect_package_files
    from grader.platforms.classroom.package import collect_repository_files
    from grader.platforms.gradescope.package import collect_autograder_files
    from grader.platforms.prairielearn.package import collect_question_files

    home = open_for_packing(kit, "toy", draft=True)
    inside = zipfile.ZipFile(io.BytesIO(make_student_zip(home)[0]))
    packages = {
        "release": {name: inside.read(name) for name in inside.namelist()},
        "gradescope": collect_autograder_files(home),
        "prairielearn": collect_question_files(home, "image"),
        "autolab": collect_package_files(home),
        "classroom": collect_repository_files(home),
    }
    for platform, content in packages.items():
        texts = [text for name, text in content.items() if name.endswith(("assignment.toml", "README.md", "info.json"))]
        assert texts or platform == "autolab", platform
        assert all(b"draft: not proven" in text for text in texts), platform


@pytest.mark.parametrize("command", ["gradescope", "prairielearn", "autolab", "classroom"])
def test_no_platform_gets_what_is_not_proven(
    kit: Path, tmp_path: Path, command_line: Callable[..., int], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Catches: a package of the platform whose command does not ask."""
    shutil.rmtree(kit / ".cache")
    assert command_line(command, "toy", "-o", str(tmp_path / "out"), root=kit) == USAGE
    assert "nothing was written: it was never proven in this checkout" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("gymnasium", "import gymnasium as gym"),
        ("gymnasium", "from gymnasium.spaces import Box"),
        ("gymnasium", "    import gym"),
        ("torch", "import torch"),
        ("torch", "from torch.nn import functional as F"),
        ("torch", "from grader.sandbox.facts import tensor"),
    ],
)
def test_a_release_asks_only_for_what_its_assignment_imports(kit: Path, package: str, line: str) -> None:
    """Catches: gigabytes of torch for an assignment about NumPy, and a package that is missing for one that needs it."""
    home = AssignmentFiles(kit, "toy")
    asked = render_requirements(home, desk=True)
    assert "gymnasium" not in asked
    assert "torch" not in asked
    assert "numpy" in asked
    drivers = kit / "tests" / "drivers" / "toy.py"
    indent = "def one():\n" if line.startswith(" ") else ""
    drivers.write_text(f"{drivers.read_text()}\n\n{indent}{line}\n")
    assert f"{package}>=" in render_requirements(home, desk=True)
    assert needs_torch(home) == (package == "torch")
