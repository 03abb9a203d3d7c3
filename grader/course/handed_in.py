"""The submitted code as text, to be read and compared; it is kept beside the results, so that pages need no export."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from pydantic import BaseModel

from grader import submission
from grader.assignment import AssignmentFiles, UsageError
from grader.course.results import SHORT, Course
from grader.course.worklist import WorklistEntry
from grader.report.model import write_atomically
from grader.sandbox.parsing import FileParser, OwnParser, Unreadable
from grader.stored import StoredModel, read_stored

FOLDER = "code"  # in that of a class
LINE_END = re.compile(r"\r\n?|\n")


class CodeFile(BaseModel, frozen=True):
    """A file that may be graded.

    Attributes:
        name: As the student called it.
        text: Its content; of a notebook, the cells with code, one after another.
        notebook: Whether it is a notebook.
    """

    name: str
    text: str
    notebook: bool = False


class HandedInCode(StoredModel):
    """The code of one submission.

    Attributes:
        files: Usually one, or two if the first may be only the stub.
    """

    files: tuple[CodeFile, ...]

    @property
    def text(self) -> str:
        """Return the code of all files, for the comparison with other submissions."""
        return "\n".join(file.text for file in self.files)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, counted as Python counts them."""
    lines = LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def collect_code(home: AssignmentFiles, course: Course, folder: Path) -> dict[str, HandedInCode]:
    """Return the submitted code by entry, if it can be read.

    Code that the class's folder does not hold yet is read from the export, if that still exists, and kept.
    """
    found: dict[str, HandedInCode] = {}
    export = Path(course.export)
    with OwnParser() as parser:
        for entry in course.entries:
            kept = locate_code(folder, entry.id, course.submissions[entry.id])
            if kept.is_file():
                found[entry.id] = read_stored(kept, HandedInCode)
            elif export.is_dir() and (code := read_code(home, export, entry, parser)):
                write_atomically(kept, code.model_dump_json() + "\n")
                found[entry.id] = code
    return found


def read_code(home: AssignmentFiles, export: Path, entry: WorklistEntry, parser: FileParser) -> HandedInCode | None:
    """Return the submitted code, or None if nothing in it can be graded."""
    name = home.assignment.submission
    try:
        handed = submission.read_submission(export / entry.parts.get(name, entry.path), name, parser=parser)
    except UsageError:
        return None
    return HandedInCode(
        files=tuple(decode_file(file.name.removeprefix(f"{export}/"), file.content, file.notebook, parser) for file in handed)
    )


def read_kept_code(course: Course, folder: Path) -> dict[str, HandedInCode]:
    """Return the code that a class's folder holds, by entry; nothing is written."""
    return {
        entry.id: read_stored(path, HandedInCode)
        for entry in course.entries
        if (path := locate_code(folder, entry.id, course.submissions[entry.id])).is_file()
    }


def locate_code(folder: Path, entry: str, submission: str) -> Path:
    """Return the path for the code of a submission, given the id of its entry and the hash of its files."""
    return folder / FOLDER / f"{entry}.{submission[:SHORT]}.json"


def decode_file(name: str, content: bytes, notebook: bool, parser: FileParser) -> CodeFile:
    """Return a file as text: of a notebook, the code of its cells as they are graded; of another file, all text."""
    text = None
    if notebook:
        with contextlib.suppress(Unreadable):
            text = parser.list_code(content)
    return CodeFile(name=name, text=content.decode("utf-8", "replace") if text is None else text, notebook=notebook)
