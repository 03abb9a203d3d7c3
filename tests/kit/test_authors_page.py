"""The page about an assignment from a module is true: it is replayed, command by command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from tests.kit.made_kits import make_kit, run

pytestmark = pytest.mark.recorded

INPUTS = (
    "docs/authoring.md",
    "grader/authoring/observing.py",
    "command:new",
    "command:build",
    "command:verify",
    "command:release",
    "released:grader",
    "grade.py",
    "tests/visible/conftest.py",
)
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## From a module")[2].partition("\n## ")[0]


def read_section(language: str) -> list[str]:
    """Return the blocks of a language in the section, "" for output."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


def shown_lines(block: str) -> list[list[str]]:
    """Return the lines below each command of a block of output, without those that stand for others."""
    parts = re.split(r"^\$ .*\n", block, flags=re.MULTILINE)[1:]
    return [[line.rstrip() for line in part.splitlines() if line.strip() and line != "..."] for part in parts]


def test_the_page_leads_from_a_module_to_a_release(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Catches: a draft that cannot be built or proven as the page says; a page whose output is not what is printed."""
    root = make_kit(tmp_path / "kit")
    for path in ("grader", "grade.py", "pyproject.toml", "tests/visible/conftest.py"):
        (root / path).symlink_to(ROOT / path)
    module, mistakes, alternatives = read_section("python")
    blocks = [shown_lines(block) for block in read_section("")]
    draft, first, second, third, fourth, packed = blocks
    (tmp_path / "kmeans.py").write_text(module)

    def replay(shown: list[str], code: int, *arguments: str) -> None:
        found, said = run(root, capsys, *arguments)
        lines = [re.sub(r"\d+ CPU seconds|\d+ files, \d+ kB", "", line.rstrip()) for line in said.splitlines()]
        assert [line for line in shown if re.sub(r"\d+ CPU seconds|\d+ files, \d+ kB", "", line) not in lines] == []
        assert found == code, said

    replay(draft[0], 0, "new", "kmeans", "--from", str(tmp_path / "kmeans.py"))
    assert run(root, capsys, "build", "kmeans", "--check")[0] == 0
    replay(first[0], 1, "verify", "kmeans")
    for name, text in (("mistakes", mistakes), ("alternatives", alternatives)):
        with open(root / "solutions" / "kmeans" / f"{name}.py", "a") as file:
            file.write(f"\n{text}")
    replay(second[0], 0, "build", "kmeans")
    replay(second[1], 1, "verify", "kmeans")
    cases = root / "solutions" / "kmeans" / "cases.py"
    text = cases.read_text()
    changes = read_section("diff")[0].splitlines()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert text.count(old[1:]) == 1
        text = text.replace(old[1:], new[1:])
    cases.write_text(text)
    replay(third[0], 0, "build", "kmeans")
    replay(third[1], 1, "verify", "kmeans")
    survivors = read_section("toml")[0]
    (root / "solutions" / "kmeans" / "survivors.toml").write_text(survivors)
    replay(fourth[0], 0, "verify", "kmeans")
    replay(packed[0], 0, "release", "kmeans", "-o", str(tmp_path / "out"))
    written = [line for line in f"{mistakes}\n{alternatives}\n{survivors}".splitlines() if line.strip()]
    questions = len(AssignmentFiles(root, "kmeans").assignment.questions)
    assert f"wrote {round((len(written) + len(changes) / 2) / questions)} lines per question" in SECTION.replace("\n", " ")
