"""Report on a graded class: its page, a page for each student, scores and gradebooks, similar submissions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from grader import submission
from grader.assignment import AssignmentFiles, UsageError
from grader.course import classpage, rescore
from grader.course.insight import CommonFailure, analyze_results
from grader.course.results import Course, ResultsFolder
from grader.course.scoring import Score, identify_student
from grader.course.similarity import SimilarPair, find_similar_pairs
from grader.course.worklist import Person
from grader.report.model import write_atomically
from grader.sandbox.parsing import FileParser, OwnParser, Unreadable

SIMILAR = "similarity.json"
OLDER = "none: another submission counts, not this one"


def write_class_results(
    home: AssignmentFiles, folder: ResultsFolder, policy: Path | None = None, anew: bool = True
) -> Iterator[str]:
    """Write all pages, scores and lists of a class from its results; yield the lines to print.

    Args:
        policy: As `file` of `rescore`.
        anew: Whether to compare the submissions again, if they still exist; otherwise the stored pairs
            are used.
    """
    course = folder.course()
    results = folder.of(course)
    yield from rescore.rescore_and_report(folder, policy)
    if anew and Path(course.export).is_dir():
        pairs = find_similar_submissions(home, course)
        write_atomically(folder.path / SIMILAR, json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")
    else:
        pairs = _found_before(folder.path / SIMILAR)
    stored = rescore.read_scores(folder)
    assert stored is not None  # they have just been written
    older = _list_older_entries(course, stored.scores)
    classpage.write_pages(folder, course, results, pairs, explain_scores(course, stored.scores), older, bool(stored.policy))
    pages = len(list((folder.path / classpage.STUDENTS).glob("*.html")))
    yield f"wrote {classpage.NAME}, {pages} pages in {classpage.STUDENTS}/ and {SIMILAR} ({len(pairs)} pairs) to {folder.path}"


def _list_older_entries(course: Course, scores: Sequence[Score]) -> set[str]:
    """Return the entries that count for no student."""
    return {entry.id for entry in course.entries} - {score.entry for score in scores}


def list_unnamed_groups(folder: ResultsFolder) -> Sequence[CommonFailure]:
    """Return the groups of wrong answers that are not catalogued, in the order and with the numbers of class.html."""
    course, stored = folder.course(), rescore.read_scores(folder)
    older = _list_older_entries(course, stored.scores) if stored else set()
    counting = course.model_copy(update={"entries": [entry for entry in course.entries if entry.id not in older]})
    return analyze_results(counting, folder.of(course)).unknown


def explain_scores(course: Course, scores: Sequence[Score]) -> dict[str, list[str]]:
    """Return the lines that explain each score, by page.

    Students who submitted together share the page ENTRY, if the lines are the same for all. Otherwise each student has a page
    ENTRY~1, ENTRY~2, ... in the order of the entry's students, because reasons are private.
    """
    of = {(score.entry, identify_student(score.entry, score.student)): score.explanation() for score in scores}
    pages: dict[str, list[str]] = {}
    for entry in course.entries:
        students = entry.students or (Person(),)
        each = [of.get((entry.id, identify_student(entry.id, student)), [OLDER]) for student in students]
        if all(lines == each[0] for lines in each):
            pages[entry.id] = each[0]
            continue
        pages[entry.id] = ["on a separate page for each member of the group"]
        for number, (student, lines) in enumerate(zip(students, each, strict=True), 1):
            pages[f"{entry.id}~{number}"] = [f"For {student.name or student.email or student.sid}", *lines]
    return pages


def find_similar_submissions(home: AssignmentFiles, course: Course) -> list[SimilarPair]:
    """Return the pairs of similar submissions, among those that can still be read."""
    sources: dict[str, str] = {}
    with OwnParser() as parser:
        for entry in course.entries:
            path = Path(course.export) / entry.parts.get(home.assignment.submission, entry.path)
            try:
                handed = submission.read_submission(path, home.assignment.submission, parser=parser)
            except UsageError:
                continue
            texts = [_code(file.content, parser) if file.notebook else _text(file.content) for file in handed]
            sources[entry.id] = "\n".join(texts)
    return find_similar_pairs(sources, [home.stub.read_text(encoding="utf-8")])


def _found_before(path: Path) -> list[SimilarPair]:
    try:
        return [SimilarPair(**pair) for pair in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is damaged ({error}); remove it, and run `course` again") from error


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _code(notebook: bytes, parser: FileParser) -> str:
    """Return the graded code of a notebook's cells; the whole text of any other file."""
    try:
        return parser.list_code(notebook)
    except Unreadable:
        return _text(notebook)
