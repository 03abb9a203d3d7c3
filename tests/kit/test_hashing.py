"""Hashes of the kit's code: what a machine remembers of them saves time and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import hashing

pytestmark = pytest.mark.recorded

INPUTS = ("grader/judge/**", "grader/sandbox/**", "grader/answers.py", "grader/assignment.py", "grader/submission.py")


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where hashes are kept; there are none yet."""
    path = tmp_path / ".cache" / "code.json"
    monkeypatch.setattr(hashing, "KNOWN", path)
    return path


def refuse(file: Path) -> str:
    raise AssertionError(f"{file} is read once more")


def test_code_is_understood_once(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a quarter of a second at each start, and a set of files that is taken for another one."""
    first, other = hashing.hash_kit(), hashing.hash_kit(without=hashing.EXPLAINS)
    assert first != other
    monkeypatch.setattr(hashing, "read_code", refuse)
    assert (hashing.hash_kit(), hashing.hash_kit(without=hashing.EXPLAINS)) == (first, other)


def test_another_file_has_another_hash(known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: the hash of a file as it was, because only its name or its size is looked at; a comment changes nothing."""
    monkeypatch.setattr(hashing, "KIT", tmp_path)
    monkeypatch.setattr(hashing, "DECIDES", ("judge.py",))
    (tmp_path / "judge.py").write_text("LIMIT = 1  # one\n")
    before = hashing.hash_kit()
    (tmp_path / "judge.py").write_text("LIMIT = 2  # one\n")
    assert hashing.hash_kit() != before
    (tmp_path / "judge.py").write_text("LIMIT = 1  # two\n")
    assert hashing.hash_kit() == before


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"{}"])
def test_a_damaged_file_is_forgotten(known: Path, content: bytes) -> None:
    """Catches: a command that stops because another one was killed while it wrote."""
    right = hashing.hash_kit()
    known.write_bytes(content)
    assert hashing.hash_kit() == right
    assert right in known.read_text()


def test_where_nothing_can_be_kept(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a kit that was installed by somebody else, and cannot be used."""
    right = hashing.hash_kit()
    monkeypatch.setattr(hashing, "KNOWN", known / "code.json")  # a file is no folder
    assert hashing.hash_kit() == right


def test_not_everything_is_kept_for_ever(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a file that grows with each change of the kit."""
    monkeypatch.setattr(hashing, "MOST_KNOWN", 1)
    hashing.hash_kit()
    size = known.stat().st_size
    hashing.hash_kit(without=hashing.EXPLAINS)
    assert known.stat().st_size == size
