"""The generator of classes for benchmarks and rehearsals: any size, the same class for the same seed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course.worklist import read_export

pytestmark = pytest.mark.recorded

INPUTS = (
    "benchmarks/course_class.py",
    "assignments/policy_gradient/**",
    "solutions/policy_gradient/**",
    "tests/kit/attacks/*.py",
)

ROOT = Path(__file__).resolve().parents[2]


def write_class(folder: Path, size: int) -> subprocess.CompletedProcess[str]:
    """Write a class of this size."""
    command = [sys.executable, str(ROOT / "benchmarks/course_class.py"), str(size), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_small_class(tmp_path: Path) -> None:
    """Fewer students than are planted in the whole class: so many, with copies, and nothing planted that is not there."""
    for name in ("one", "two"):
        done = write_class(tmp_path / name, 40)
        assert done.stdout == f"wrote 40 submissions to {tmp_path / name}\n", done.stderr
    layout, entries = read_export(tmp_path / "one")
    assert (layout, len(entries)) == ("gradescope", 40)
    planted = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    names = {entry.id for entry in entries}
    assert sum(planted["counts"].values()) == 40
    assert {name for found in planted["mistakes"].values() for name in found} <= names
    assert {name for pair in planted["copies"] for name in pair[:2]} <= names
    assert len(planted["copies"]) >= 3
    assert planted == json.loads((tmp_path / "two.json").read_text(encoding="utf-8"))


def test_a_class_of_nobody_is_refused(tmp_path: Path) -> None:
    """Nothing is written for a size that cannot be meant."""
    done = write_class(tmp_path / "none", 0)
    assert (done.returncode, "size: expected at least 1, found 0" in done.stderr) == (2, True)
    assert not (tmp_path / "none").exists()
