"""All pages of a class: one for its instructors, and one for each submission, each student and each similar pair."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from functools import partial
from pathlib import Path

from grader.course import classpage, feedback, sidebyside
from grader.course.classpage import (
    HELPERS,
    SIMILAR,
    STAFF,
    STUDENTS,
    ClassFiles,
    link_page,
    list_outside_pairs,
    list_shown_pairs,
)
from grader.course.feedback import Account
from grader.course.insight import ClassInsight, analyze_results
from grader.course.results import Course, ResultsFolder, SubmissionResult
from grader.course.rings import name_pair
from grader.course.sidebyside import Side
from grader.report.model import write_atomically

NAME = "class.html"


def write_pages(
    folder: ResultsFolder,
    course: Course,
    results: Mapping[str, SubmissionResult | None],
    files: ClassFiles,
    shown: ClassInsight | None = None,
) -> list[Path]:
    """Write the pages of a class; return the files that changed.

    They are class.html and staff/ENTRY.html for instructors, similar/PAIR.html for each pair that the class page lists, and
    students/PAGE.html for each student. A page that would not change is not written, so that a tool that copies pages copies
    few. A page that is no longer needed is removed.

    Args:
        folder: The folder of the results.
        course: The class.
        results: The result of each entry, or None.
        files: What else they show.
        shown: The findings about the class, if they are known already.
    """
    course = _place_in_zone(course, files.zone)
    counting = course.without(files.older)
    wanted: dict[Path, Callable[[], str]] = {
        folder.path / NAME: lambda: classpage.render(shown or analyze_results(counting, results), files)
    }
    wanted |= dict(_list_submission_pages(folder.path, course, results, files))
    wanted |= dict(_list_pair_pages(folder.path, counting, files))
    entries = {entry.id for entry in course.entries}
    for path in [path for part in (STUDENTS, STAFF) for path in (folder.path / part).glob("*.html")]:
        name, part, _ = path.stem.partition("~")
        # Another shard may have written a page since the results were read, but none of those.
        if name not in entries or (part and path not in wanted and results.get(name)):
            path.unlink(missing_ok=True)
    for path in (folder.path / SIMILAR).glob("*.html"):
        if path not in wanted:
            path.unlink(missing_ok=True)
    return [path for path, make in wanted.items() if _replaced(path, make())]


def _place_in_zone(course: Course, zone: tzinfo | None) -> Course:
    """Return the class with the times of submission in this zone; None for that of the export."""
    if zone is None:
        return course
    entries = [
        entry.model_copy(update={"created_at": entry.created_at.astimezone(zone)}) if entry.created_at else entry
        for entry in course.entries
    ]
    return course.model_copy(update={"entries": entries})


def _list_submission_pages(
    place: Path, course: Course, results: Mapping[str, SubmissionResult | None], files: ClassFiles
) -> Iterator[tuple[Path, Callable[[], str]]]:
    """Yield the pages of submissions, for students and for staff, and what makes each."""
    pages: dict[str, dict[str, Account]] = {entry.id: {entry.id: Account()} for entry in course.entries}
    for name, account in files.accounts.items():
        pages[name.partition("~")[0]][name] = account
    for entry in course.entries:
        if (result := results.get(entry.id)) is None:
            continue
        code = files.code.get(entry.id)
        for name, account in pages[entry.id].items():
            yield (
                place / STUDENTS / f"{name}.html",
                partial(feedback.render, result, course.assignment, account, entry, code),
            )
        whole = feedback.join_accounts(list(pages[entry.id].values()))
        yield (
            place / STAFF / f"{entry.id}.html",
            partial(feedback.render_for_staff, result, course.assignment, whole, entry, code, link_page(STUDENTS, entry)),
        )


def _list_pair_pages(place: Path, course: Course, files: ClassFiles) -> Iterator[tuple[Path, Callable[[], str]]]:
    """Yield the pages of similar pairs, and what makes each."""
    sides = {
        entry.id: Side(entry.who, entry.id, files.code[entry.id], link_page(STAFF, entry), entry.created_at)
        for entry in course.entries
        if entry.id in files.code
    }
    sides |= {text.id: Side(text.who, text.id, text.code) for text in files.outside.values()}
    for pair in (*list_shown_pairs(course, files.pairs), *list_outside_pairs(course, files)):
        if sides.keys() >= {pair.first, pair.second}:
            both = sides[pair.first], sides[pair.second]
            yield place / SIMILAR / name_pair(pair), partial(sidebyside.render, pair, both, HELPERS)


def _replaced(path: Path, text: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == text.encode():
            return False
    write_atomically(path, text)
    return True
