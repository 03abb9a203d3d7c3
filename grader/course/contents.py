"""Hash the content of submissions, independent of file names and folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader import submission
from grader.assignment import AssignmentFiles, UsageError
from grader.course.worklist import HANDED_IN
from grader.hashing import hash_parts

if TYPE_CHECKING:
    from grader.sandbox.parsing import FileParser

PYTHON = "file"  # before the content of a Python file


def hash_graded_content(place: Path, parts: dict[str, Path], home: AssignmentFiles, parser: FileParser) -> str:
    """Return the hash of the graded content of a submission, whatever its file name and folder.

    If it cannot be read, the reason is hashed instead.

    Args:
        parts: See `grader.course.run.GradingJob.handed_in`.
        parser: Asks a worker to read zips.
    """
    assignment = home.assignment
    allowed = submission.AttachmentRules(assignment.attachments, assignment.limits.attachment_mb << 20)
    if parts:
        return hash_parts(
            part
            for name, path in sorted(parts.items())
            for part in (name, _content(path) if is_submittable(name, home) else "")
        )
    if place.is_symlink():
        return hash_parts(["link"])
    try:
        handed = submission.read_submission(place, assignment.submission, allowed, parser)
    except UsageError as error:
        return hash_parts(["refused", str(error).replace(str(place), "")])
    texts: list[bytes | str] = []
    for file in handed:
        texts += ["notebook" if file.notebook else PYTHON, file.content]
        texts += [part for name, content in sorted(file.attachments.items()) for part in (name, content)]
    return hash_parts(texts)


def hash_one_file(content: bytes) -> str:
    """Return what `hash_graded_content` returns of a submission that is this Python file and nothing else."""
    return hash_parts([PYTHON, content])


def is_submittable(name: str, home: AssignmentFiles) -> bool:
    """Return whether a file with this name, one of several that a student submitted, can be graded."""
    return Path(name).suffix.lower() in HANDED_IN or name in home.assignment.attachments


def _content(path: Path) -> bytes | str:
    try:
        return "link" if path.is_symlink() else path.read_bytes()
    except OSError as error:
        return f"unreadable: {error.strerror}"
