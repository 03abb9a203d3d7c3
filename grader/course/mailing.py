"""The pages of students in a folder that can be mailed, or uploaded to the platform that the submissions came from."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Container, Iterator
from pathlib import Path

from grader.assignment import UsageError
from grader.console import name_some
from grader.course import rescore
from grader.course.classpage import STUDENTS
from grader.course.gradebook import Row, render_csv
from grader.course.results import Course, ResultsFolder
from grader.course.scoring import Score, identify_student
from grader.course.summary import explain_scores
from grader.course.worklist import CANVAS, WorklistEntry
from grader.report.model import write_atomically

MAIL = "mail.csv"
PAGES = "pages"
UPLOAD = "upload.zip"
# The platform finds the student by what stands before the file's own name; docs/course.md names the sources.
MOODLE = re.compile(r"(?P<whose>.+_\d+_assignsubmission_file)(_.*)?")


def write_mailing(folder: ResultsFolder, output: Path) -> Iterator[str]:
    """Copy the pages of a class for mailing or uploading, list them in mail.csv, and yield what to print.

    Args:
        output: A folder that is new or empty, so that no page of an earlier grading stays in it.

    Raises:
        UsageError: If the class has no scores yet, or those of other submissions, or the folder is not empty.
    """
    course, stored = folder.course(), rescore.read_scores(folder)
    if stored is None:
        raise UsageError(f"{folder.path} has no {rescore.SCORES}; run `course` again, which writes it")
    entries = {entry.id: entry for entry in course.entries}
    scored = {one.entry for one in stored.scores if one.status != "pending"}
    of_others = entries.keys() != {name for one in stored.scores for name in (one.entry, *one.replaces)}
    if of_others or scored & folder.list_pending(course):
        raise UsageError(f"{folder.path}: {rescore.SCORES} does not match the submissions in course.json; run `course` again")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output} exists and is not an empty folder; name a new folder, so that no old page is sent")
    output.mkdir(mode=0o700, parents=True, exist_ok=True)  # everybody's points
    pages = explain_scores(course, stored.scores, stored.rules.parse_adjustments())
    rows: list[Row] = []
    written: dict[str, str] = {}
    waiting: list[str] = []
    missing: list[str] = []
    for one in stored.scores:
        page = folder.path / STUDENTS / f"{_find_page(one, entries[one.entry], pages)}.html"
        name = ""
        if one.status != "pending" and page.is_file():  # a pending submission may have a page of an earlier grading
            name = f"{PAGES}/{_name_page(course, entries[one.entry], page)}"
            written[name] = page.read_text(encoding="utf-8")
        else:
            who = one.student.name or one.student.email or one.student.sid or one.entry
            (waiting if one.status == "pending" else missing).append(who)
        rows.append([one.student.email, one.student.name, one.student.sid, one.points, one.max_points, one.status, name])
    for name, text in written.items():
        write_atomically(output / name, text, private=True)
    header = ["Email", "Name", "SID", "Points", "Max Points", "Status", "File"]
    write_atomically(output / MAIL, render_csv(header, rows), private=True)
    platform = _find_platform(course)
    if platform:
        _pack(output / UPLOAD, written)
    yield f"wrote {len(written)} pages{f' and {UPLOAD} for {platform}' * bool(platform)}, and {MAIL}, to {output}"
    if waiting:
        yield f"{len(waiting)} without a page, because they are not graded yet: {name_some(waiting)}"
    if missing:
        yield f"{len(missing)} graded, but without a page: {name_some(missing)}; run `course` again, which writes the pages"


def _find_page(score: Score, entry: WorklistEntry, pages: Container[str]) -> str:
    """Return the name of the page of a student: that of the submission, or the student's own where members differ."""
    names = [identify_student(entry.id, student) for student in entry.students]
    own = identify_student(entry.id, score.student)
    page = f"{entry.id}~{names.index(own) + 1}" if own in names else entry.id
    return page if page in pages else entry.id


def _find_platform(course: Course) -> str:
    if course.layout == "canvas":
        return "Canvas"
    return "Moodle" if any(MOODLE.fullmatch(entry.path) for entry in course.entries) else ""


def _name_page(course: Course, entry: WorklistEntry, page: Path) -> str:
    """Return the name of a page as the platform knows the student by it; elsewhere, as it is."""
    canvas = CANVAS.fullmatch(entry.path) if course.layout == "canvas" else None
    moodle = MOODLE.fullmatch(entry.path)
    if canvas:
        whose = entry.path[: canvas.start("file")]
    elif moodle:
        whose = f"{moodle['whose']}_"
    else:
        return page.name
    name = f"{whose}feedback.html".encode("utf-8", "replace").decode()
    return "".join(one if one.isprintable() else " " for one in name)  # as a cell of mail.csv can hold it


def _pack(path: Path, pages: dict[str, str]) -> None:
    """Write a zip of the pages in one step, without folders; the same pages make the same bytes."""
    unfinished = path.with_suffix(".part")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in pages.items():
                archive.writestr(zipfile.ZipInfo(name.removeprefix(f"{PAGES}/")), text, zipfile.ZIP_DEFLATED)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
