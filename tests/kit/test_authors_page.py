"""The page about an assignment from a module is true: it is replayed, command by command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.proof.standing import LastProof, find_gaps
from tests.kit.made_kits import make_kit, run

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("docs/authoring.md", "grader/authoring/observing.py", "grader/sandbox/facts.py", "command:new", "command:build"),
    "test_the_page_leads_from_a_module_to_a_proof": ("command:verify",),
    "test_the_page_ends_with_a_zip": (
        "command:release",
        "released:grader",
        "grade.py",
        "pyproject.toml",
        "tests/visible/conftest.py",
    ),
}
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## From a module")[2].partition("\n## ")[0]
FIGURES = r"\d+ CPU seconds|\d+ files, \d+ kB"


def read_section(language: str) -> list[str]:
    """Return the blocks of a language in the section, "" for output."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


def shown_lines(block: str) -> list[list[str]]:
    """Return the lines below each command of a block of output, without those that stand for others.

    A line that is too long for the page goes on in the next one, behind six spaces.
    """
    parts = re.split(r"^\$ .*\n", re.sub(r"\n {6}(?=\S)", " ", block), flags=re.MULTILINE)[1:]
    return [[line.rstrip() for line in part.splitlines() if line.strip() and line != "..."] for part in parts]


BLOCKS = [shown_lines(block) for block in read_section("")]


class Author:
    """Somebody who follows the page, in a kit of their own.

    Attributes:
        root: The kit.
    """

    def __init__(self, root: Path, capsys: pytest.CaptureFixture) -> None:
        self.root = make_kit(root)
        self._capsys = capsys
        self._module, self._mistakes, self._alternatives = read_section("python")
        self._changes = read_section("diff")[0].splitlines()
        self._survivors = read_section("toml")[0]

    def run(self, *arguments: str) -> tuple[int, str]:
        return run(self.root, self._capsys, *arguments)

    def replay(self, shown: list[str], code: int, *arguments: str) -> None:
        """Run a command that ends with this code, and find all lines that the page shows."""
        found, said = self.run(*arguments)
        lines = [re.sub(FIGURES, "", line.rstrip()) for line in said.splitlines()]
        assert [line for line in shown if re.sub(FIGURES, "", line) not in lines] == []
        assert found == code, said

    def write_module(self) -> Path:
        module = self.root / "kmeans.py"
        module.write_text(self._module)
        return module

    def write_catalogues(self) -> None:
        for name, text in (("mistakes", self._mistakes), ("alternatives", self._alternatives)):
            with open(self.root / "solutions" / "kmeans" / f"{name}.py", "a") as file:
                file.write(f"\n{text}")

    def change_cases(self) -> None:
        cases = self.root / "solutions" / "kmeans" / "cases.py"
        text = cases.read_text()
        for old, new in zip(self._changes[::2], self._changes[1::2], strict=True):
            assert text.count(old[1:]) == 1
            text = text.replace(old[1:], new[1:])
        cases.write_text(text)

    def write_survivors(self) -> None:
        (self.root / "solutions" / "kmeans" / "survivors.toml").write_text(self._survivors)

    def count_lines_per_question(self) -> int:
        written = f"{self._mistakes}\n{self._alternatives}\n{self._survivors}".splitlines()
        lines = len([line for line in written if line.strip()]) + len(self._changes) / 2
        return round(lines / len(AssignmentFiles(self.root, "kmeans").assignment.questions))


@pytest.fixture
def author(tmp_path: Path, capsys: pytest.CaptureFixture) -> Author:
    return Author(tmp_path / "kit", capsys)


def test_the_page_leads_from_a_module_to_a_proof(author: Author) -> None:
    """Catches: a draft that cannot be built or proven as the page says; a page whose output is not what is printed."""
    draft, first, second, third, fourth, _ = BLOCKS
    author.replay(draft[0], 0, "new", "kmeans", "--from", str(author.write_module()))
    assert author.run("build", "kmeans", "--check")[0] == 0
    author.replay(first[0], 1, "verify", "kmeans")
    author.write_catalogues()
    author.replay(second[0], 0, "build", "kmeans")
    author.replay(second[1], 1, "verify", "kmeans")
    author.change_cases()
    author.replay(third[0], 0, "build", "kmeans")
    author.replay(third[1], 1, "verify", "kmeans")
    author.write_survivors()
    author.replay(fourth[0], 0, "verify", "kmeans")
    assert find_gaps(AssignmentFiles(author.root, "kmeans")) == []  # which is what `release` asks
    assert f"wrote {author.count_lines_per_question()} lines per question" in SECTION.replace("\n", " ")


def test_the_page_ends_with_a_zip(author: Author, tmp_path: Path) -> None:
    """Catches: a proven draft that cannot be packed. That the proof finds nothing is for the test above; this notes it."""
    for path in ("grader", "grade.py", "pyproject.toml", "tests/visible/conftest.py"):
        (author.root / path).symlink_to(ROOT / path)
    author.replay([], 0, "new", "kmeans", "--from", str(author.write_module()))
    author.write_catalogues()
    author.change_cases()
    author.write_survivors()
    author.replay([], 0, "build", "kmeans")
    home = AssignmentFiles(author.root, "kmeans")
    LastProof.begin(home).write(home, [])
    author.replay(BLOCKS[-1][0], 0, "release", "kmeans", "-o", str(tmp_path / "out"))
