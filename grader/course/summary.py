"""Report on a graded class: its page, a page for each student, scores and gradebooks, similar submissions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.course import rescore
from grader.course.adjustments import QuestionAdjustment
from grader.course.classpage import STAFF, STUDENTS, ClassFiles
from grader.course.feedback import Account
from grader.course.handed_in import HandedInCode, collect_code
from grader.course.insight import CommonFailure, analyze_results
from grader.course.publishing import NAME, write_pages
from grader.course.results import Course, ResultsFolder
from grader.course.scoring import Score, identify_student, list_own_adjustments
from grader.course.similarity import SimilarPair, find_similar_pairs
from grader.course.worklist import Person
from grader.report.model import write_atomically

SIMILAR = "similarity.json"
OLDER = "none: another submission counts, not this one"


def write_class_results(
    home: AssignmentFiles,
    folder: ResultsFolder,
    policy: Path | None = None,
    adjustments: Path | None = None,
    anew: bool = True,
) -> Iterator[str]:
    """Write all pages, scores and lists of a class from its results; yield the lines to print.

    Args:
        policy: As `file` of `rescore`.
        adjustments: As in `rescore`.
        anew: Whether to compare the submissions again, if they still exist; otherwise the stored pairs
            are used.
    """
    course = folder.course()
    results = folder.of(course)
    yield from rescore.rescore_and_report(folder, policy, adjustments=adjustments)
    code = collect_code(home, course, folder.path)
    if anew and Path(course.export).is_dir():
        pairs = find_similar_submissions(home, code)
        write_atomically(folder.path / SIMILAR, json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")
    else:
        pairs = _found_before(folder.path / SIMILAR)
    stored = rescore.read_scores(folder)
    assert stored is not None  # they have just been written
    rows = stored.rules.parse_adjustments()
    files = ClassFiles(
        pairs=pairs,
        accounts=explain_scores(course, stored.scores, rows),
        older=_list_older_entries(course, stored.scores),
        scored=bool(stored.policy or rows),
        code=code,
    )
    write_pages(folder, course, results, files)
    pages = len(list((folder.path / STUDENTS).glob("*.html")))
    yield (
        f"wrote {NAME}, {pages} pages in {STUDENTS}/, the same for staff in {STAFF}/, "
        f"and {SIMILAR} ({len(pairs)} pairs) to {folder.path}"
    )


def _list_older_entries(course: Course, scores: Sequence[Score]) -> set[str]:
    """Return the entries that count for no student."""
    return {entry.id for entry in course.entries} - {score.entry for score in scores}


def list_unnamed_groups(folder: ResultsFolder) -> Sequence[CommonFailure]:
    """Return the groups of wrong answers that are not catalogued, in the order and with the numbers of class.html."""
    course, stored = folder.course(), rescore.read_scores(folder)
    older = _list_older_entries(course, stored.scores) if stored else set()
    counting = course.model_copy(update={"entries": [entry for entry in course.entries if entry.id not in older]})
    return analyze_results(counting, folder.of(course)).unknown


def explain_scores(
    course: Course, scores: Sequence[Score], adjustments: Sequence[QuestionAdjustment] = ()
) -> dict[str, Account]:
    """Return what pages say of each score, by page.

    Students who submitted together share the page ENTRY, if it says the same for all. Otherwise each student has a page
    ENTRY~1, ENTRY~2, ... in the order of the entry's students, because reasons and comments are private.
    """
    of = {(score.entry, identify_student(score.entry, score.student)): score.explanation() for score in scores}
    pages: dict[str, Account] = {}
    for entry in course.entries:
        students = entry.students or (Person(),)
        each = [
            Account(
                lines=of.get((entry.id, identify_student(entry.id, student)), [OLDER]),
                adjustments=list_own_adjustments(adjustments, entry, student),
            )
            for student in students
        ]
        if all(one == each[0] for one in each):
            pages[entry.id] = replace(each[0], whose=entry.who)
            continue
        pages[entry.id] = Account(["on a separate page for each member of the group"], entry.who)
        for number, (student, one) in enumerate(zip(students, each, strict=True), 1):
            name = student.name or student.email or student.sid
            pages[f"{entry.id}~{number}"] = replace(one, lines=[f"For {name}", *one.lines], whose=name)
    return pages


def find_similar_submissions(home: AssignmentFiles, code: Mapping[str, HandedInCode]) -> list[SimilarPair]:
    """Return the pairs of similar submissions, among those that can be read."""
    sources = {entry: handed.text for entry, handed in code.items()}
    return find_similar_pairs(sources, [home.stub.read_text(encoding="utf-8")])


def _found_before(path: Path) -> list[SimilarPair]:
    try:
        return [SimilarPair(**pair) for pair in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is damaged ({error}); remove it, and run `course` again") from error
