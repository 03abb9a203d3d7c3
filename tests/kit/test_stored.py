"""Files of an older kit are understood, those of a newer one and damaged ones refused in a sentence."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import UsageError
from grader.course.rescore import ScoresFile
from grader.report.model import Cause, Report, write_atomically
from grader.stored import StoredModel, read_stored

OLD: dict[str, Any] = {
    "schema_version": 1,
    "assignment": "old",
    "title": "Old",
    "suite_version": "1.0",
    "suites": ["visible", "hidden"],
    "isolation": "full",
    "isolation_layers": [],
}
SAID = {
    "OSError: no\nA submission may not use the network.": ("failed", Cause.NETWORK),
    "the process did not keep to the protocol: a second frame": ("crashed", Cause.PROTOCOL),
    "the process was ended by signal SIGSEGV. Is a library given what it cannot take?": ("crashed", Cause.CRASH),
    "stopped after 5 seconds: is there an infinite loop?": ("timeout", Cause.TIMEOUT),
    "not run: first get_returns must pass": ("not run", Cause.NEEDS),
    "not written yet: return the loss": ("not run", Cause.STUB),
    "loss:\n  expected 3\n  got      4": ("failed", Cause.NONE),
    "": ("passed", Cause.NONE),
}


def check(message: str, outcome: str) -> dict[str, Any]:
    return {
        "id": "visible/a",
        "question": "a",
        "suite": "visible",
        "title": "A",
        "max_points": 1,
        "outcome": outcome,
        "message": message,
    }


def stored(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "stored.json"
    path.write_text(json.dumps(content))
    return path


def test_an_older_report_gets_causes(tmp_path: Path) -> None:
    """Catches: a class of last year in which nothing is suspicious any more."""
    checks = [check(message, outcome) for message, (outcome, _) in SAID.items()]
    report = read_stored(stored(tmp_path, OLD | {"checks": checks}), Report)
    assert [one.cause for one in report.checks] == [cause for _, cause in SAID.values()]
    assert report.schema_version == Report.model_fields["schema_version"].default
    assert Report.model_validate_json(report.model_dump_json()) == report


@pytest.mark.parametrize(
    ("note", "cause", "shown"),
    [
        ("", Cause.NONE, ""),
        ("The grader failed, not the submission: it hung: x", Cause.GRADER, "The grader failed, not the submission"),
        ("The checks themselves must be corrected: test_a asks for 7", Cause.SUITE, "The checks themselves must be corrected"),
    ],
)
def test_an_older_note_is_cut_for_students(tmp_path: Path, note: str, cause: Cause, shown: str) -> None:
    """Catches: what a check holds, on a student's page."""
    report = read_stored(stored(tmp_path, OLD | {"note": note}), Report)
    assert (report.cause, report.explain_stop(), report.for_student().explain_stop()) == (cause, note, shown)


@pytest.mark.parametrize("kind", [Report, ScoresFile])
@pytest.mark.parametrize("version", [99, 0, "2", None, True])
def test_another_format_is_refused(tmp_path: Path, kind: type[StoredModel], version: object) -> None:
    """Catches: fields of a newer kit dropped in silence, and advice to remove a file that is sound."""
    with pytest.raises(UsageError, match="format has version") as refused:
        read_stored(stored(tmp_path, OLD | {"scores": [], "schema_version": version}), kind)
    assert "remove" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"scores": 3, "assignment": []}', b"{" * 10_000])
def test_a_damaged_file_is_refused_in_a_line(tmp_path: Path, content: bytes) -> None:
    """Catches: a traceback, or an account of many lines, where one byte is missing."""
    path = tmp_path / "stored.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is damaged") as refused:
        read_stored(path, ScoresFile)
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(os.name != "posix", reason="rights of owner, group and others are POSIX's")
@pytest.mark.parametrize(("private", "before", "after"), [(True, None, 0o600), (False, None, 0o640), (True, 0o644, 0o644)])
def test_reports_are_for_their_owner_unless_somebody_said_otherwise(
    tmp_path: Path, private: bool, before: int | None, after: int
) -> None:
    """Catches: reports of a shared machine that others may read, whatever the umask is; and rights that are taken back."""
    path = tmp_path / "report.json"
    if before is not None:
        path.touch()
        path.chmod(before)
    umask = os.umask(0o027)
    try:
        write_atomically(path, "{}", private)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == after
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
