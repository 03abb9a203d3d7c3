"""The version of torch stands in constraints.txt; whatever else names one agrees with it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.recorded

ROOT = Path(__file__).resolve().parents[2]
INPUTS = (
    "Makefile",
    "README.md",
    "constraints.txt",
    "grader/**",
    "pyproject.toml",
    "CONTRIBUTING.md",
    ".github/**",
    "tests/kit/**",
)
# A pin, an upper bound, or the sentence "torch 1.2.3"; docs/ names those of measurements.
NAMED = re.compile(r"\btorch(?:==|\S*,<=| )(\d+\.\d+\.\d+)")


OWN = "tests/kit/test_versions.py"


def find_versions(text: str) -> list[tuple[int, str]]:
    return [(number, found) for number, line in enumerate(text.splitlines(), 1) for found in NAMED.findall(line)]


def test_a_version_of_torch_stands_in_one_place() -> None:
    """Catches: a new torch in some of the files that name one. The message names each that has another."""
    ((_, pinned),) = find_versions((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    tracked = subprocess.run(
        ["git", "ls-files", "Makefile", "README.md", "CONTRIBUTING.md", "grader", "pyproject.toml", ".github", "tests/kit"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    found = [
        (f"{name}:{line}", version)
        for name in tracked
        if name.endswith((".py", ".md", ".toml", ".yml", "Makefile")) and (ROOT / name).is_file() and name != OWN
        for line, version in find_versions((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert ("pyproject.toml", pinned) in {(place.partition(":")[0], version) for place, version in found}
    assert [
        f"{place} names torch {version}, and constraints.txt {pinned}" for place, version in found if version != pinned
    ] == []


@pytest.mark.parametrize("text", ["torch==1.2.3", '"torch>=2.4,<=1.2.3", # a newer', "no torch 1.2.3 from"])
def test_every_form_of_a_version_is_found(text: str) -> None:
    """Catches: a search that overlooks a form in which a version is written here."""
    assert find_versions(f"\n{text}\n") == [(2, "1.2.3")]
