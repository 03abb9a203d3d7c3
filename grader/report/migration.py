"""Convert reports of earlier versions of the kit."""

from __future__ import annotations

from typing import Any

# Messages of version 1, in which only the message said why a check failed.
SAID_IN_1 = (
    ("A submission may not start processes: use num_workers=0", "processes"),
    ("A submission may not use the network.", "network"),
    ("A submission may write only into the folder", "files"),
    ("A submission may not start processes, use the network", "forbidden"),
    ("did not keep to the protocol", "protocol"),
    ("not run: first ", "needs another question"),
    ("the run ended before this check", "not reached"),
    ("not written yet: ", "stub"),
    ("still raises the stub's NotImplementedError", "stub"),
)
OUTCOMES = {"timeout": "timeout", "memory": "memory", "crashed": "crash", "grader error": "grader"}
NOTES = {"The checks themselves must be corrected": "suite", "The grader failed, not the submission": "grader"}


def update_from_1(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report of version 1 with causes, and with its note in two parts; an unknown cause stays empty."""
    note, _, detail = report.get("note", "").partition(": ")
    checks = [check | {"cause": _find_cause(check)} for check in report.get("checks", [])]
    return report | {"cause": NOTES.get(note, "grader" if note else ""), "note": note, "note_detail": detail, "checks": checks}


def _find_cause(check: dict[str, Any]) -> str:
    if check.get("outcome") == "passed":
        return ""
    said = (cause for sentence, cause in SAID_IN_1 if sentence in check.get("message", ""))
    return next(said, OUTCOMES.get(check.get("outcome", ""), ""))
