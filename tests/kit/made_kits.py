"""Kits that tests make, without any assignment at first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import grader.__main__


def run(root: Path, capsys: pytest.CaptureFixture, *arguments: str) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and what it said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["grader", *arguments])
        code = grader.__main__.main(root)
    said = capsys.readouterr()
    return code, said.out + said.err


def make_kit(root: Path) -> Path:
    for folder in ("assignments", "solutions", "tests/visible"):
        (root / folder).mkdir(parents=True)
    return root
