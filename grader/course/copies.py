"""Grade byte-identical submissions once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from grader.course.results import Course, ResultFingerprints, ResultsFolder
from grader.course.worklist import WorklistEntry
from grader.report.text import sanitize


def find_copies(course: Course, entries: Sequence[WorklistEntry]) -> dict[str, WorklistEntry]:
    """Return the first entry with the same files, by the id of each later entry."""
    first: dict[str, WorklistEntry] = {}
    copies = {}
    for entry in entries:
        original = first.setdefault(course.submissions[entry.id], entry)
        if original is not entry:
            copies[entry.id] = original
    return copies


def copy_result(folder: ResultsFolder, course: Course, original: WorklistEntry, copy: WorklistEntry) -> bool:
    """Write the result of one entry for another one with the same files; return whether that was possible.

    It is not if the report may contain the name of the other student's file or folder, or if nothing could be graded.
    """
    key = ResultFingerprints(submission=course.submissions[copy.id], suite=course.suite, environment=course.environment)
    result = folder.read(original.id, key)
    if result is None or result.status != "graded" or result.report.remarks:
        return False
    report = result.report.model_copy(update={"submission": ""})
    text = report.model_dump_json()
    names = {original.id, original.path, PurePath(original.path).name} - {PurePath(copy.path).name}
    if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names):
        return False
    report.submission = sanitize(copy.path)
    own = {"entry": copy.id, "report": report, "same_as": original.id}
    none = {"seconds": 0.0, "cpu_seconds": 0.0, "attempts": 0, "retried": (), "taken_over": 0}
    folder.write(result.model_copy(update=own | none))
    return True
