"""Report on a graded class: its page, a page for each student, scores and gradebooks, similar submissions."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.course import rescore
from grader.course.adjustments import QuestionAdjustment
from grader.course.classpage import STAFF, STUDENTS, ClassFiles
from grader.course.earlier import (
    ComparedWith,
    OutsideText,
    keep_outside_texts,
    read_compared,
    read_kept_texts,
    read_outside_texts,
    remember_compared,
    write_statistics,
)
from grader.course.feedback import Account
from grader.course.handed_in import HandedInCode, collect_code
from grader.course.insight import CommonFailure, analyze_results
from grader.course.publishing import NAME, write_pages
from grader.course.results import Course, ResultsFolder
from grader.course.scoring import Score, identify_student, list_own_adjustments
from grader.course.semesters import compare_classes
from grader.course.similarity import OutsideTexts, SimilarPair, find_similar_pairs
from grader.course.worklist import Person
from grader.report.model import write_atomically
from grader.report.text import sanitize

SIMILAR = "similarity.json"
MAX_REMARK = 500  # characters
OLDER = "none: another submission counts, not this one"


def write_class_results(
    home: AssignmentFiles,
    folder: ResultsFolder,
    policy: Path | None = None,
    adjustments: Path | None = None,
    anew: bool = True,
    compared: ComparedWith | None = None,
) -> Iterator[str]:
    """Write all pages, scores and lists of a class from its results; yield the lines to print.

    Args:
        policy: As `file` of `rescore`.
        adjustments: As in `rescore`.
        anew: Whether to compare the submissions again, if they still exist; otherwise the stored pairs
            are used.
        compared: Earlier classes and public solutions, which the class then remembers; None for those
            that it remembers.
    """
    course = folder.course()
    yield from rescore.rescore_and_report(folder, policy, adjustments)
    code = collect_code(home, course, folder.path)
    if compared is not None:
        remember_compared(folder, compared)
    else:
        compared = read_compared(home, folder)
    if anew and (code or Path(course.export).is_dir()):
        pairs = yield from _compare_code(home, folder, code, compared)
        write_atomically(folder.path / SIMILAR, json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")
    else:
        pairs = _found_before(folder.path / SIMILAR)
    stored = rescore.read_scores(folder)
    assert stored is not None  # they have just been written
    rows = stored.rules.parse_adjustments()
    older = rescore.list_older_entries(course, stored.scores)
    results = folder.of(course)  # late: comparing code and holding results each need memory
    shown = analyze_results(course.without(older), results)
    numbers = write_statistics(home, folder, shown, results)
    comparable = [one for one in compared.classes if one.statistics.checks.keys() & numbers.checks.keys()]
    for one in compared.classes:
        if one not in comparable and numbers.checks:
            yield f"{one.label} has no check in common with this class, so nothing is compared"
    files = ClassFiles(
        pairs=pairs,
        accounts=explain_scores(course, stored.scores, rows),
        older=older,
        scored=bool(stored.policy or rows),
        code=code,
        outside=read_kept_texts(folder),
        comparison=compare_classes(numbers, [(one.label, one.statistics) for one in comparable]) if comparable else None,
        zone=stored.rules.parse_policy(rescore.SCORES).clock(),
    )
    write_pages(folder, course, results, files, shown)
    pages = len(list((folder.path / STUDENTS).glob("*.html")))
    yield (
        f"wrote {NAME}, {pages} pages in {STUDENTS}/, the same for staff in {STAFF}/, "
        f"and {SIMILAR} ({len(pairs)} pairs) to {folder.path}"
    )


def _compare_code(
    home: AssignmentFiles, folder: ResultsFolder, code: Mapping[str, HandedInCode], compared: ComparedWith
) -> Generator[str, None, list[SimilarPair]]:
    """Yield remarks about texts from elsewhere, and return the similar pairs; keep the texts that are in one."""
    texts: dict[str, OutsideText] = {}
    outside = []
    for group, is_class, remark in read_outside_texts(compared, read_kept_texts(folder)):
        texts |= {text.id: text for text in group}
        outside.append(OutsideTexts({text.id: text.code.text for text in group}, is_class))
        if remark:
            yield sanitize(remark, MAX_REMARK)
    pairs = find_similar_submissions(home, code, outside)
    keep_outside_texts(folder, texts, pairs)
    return pairs


def list_unnamed_groups(folder: ResultsFolder) -> Sequence[CommonFailure]:
    """Return the groups of wrong answers that are not catalogued, in the order and with the numbers of class.html."""
    course, stored = folder.course(), rescore.read_scores(folder)
    older = rescore.list_older_entries(course, stored.scores) if stored else set()
    return analyze_results(course.without(older), folder.of(course)).unknown


def explain_scores(
    course: Course, scores: Sequence[Score], adjustments: Sequence[QuestionAdjustment] = ()
) -> dict[str, Account]:
    """Return what pages say of each score, by page.

    Students who submitted together share the page ENTRY, if it says the same for all. Otherwise each student has a page
    ENTRY~1, ENTRY~2, ... in the order of the entry's students, because reasons and comments are private.
    """
    of = {(score.entry, identify_student(score.entry, score.student)): score for score in scores}
    pages: dict[str, Account] = {}
    for entry in course.entries:
        students = entry.students or (Person(),)
        each = [
            Account(
                lines=score.explanation() if score else [OLDER],
                adjustments=list_own_adjustments(adjustments, entry, student),
                limits=score.limits if score else {},
            )
            for student in students
            for score in [of.get((entry.id, identify_student(entry.id, student)))]
        ]
        if all(one == each[0] for one in each):
            pages[entry.id] = replace(each[0], whose=entry.who)
            continue
        pages[entry.id] = Account(["on a separate page for each member of the group"], entry.who)
        for number, (student, one) in enumerate(zip(students, each, strict=True), 1):
            name = student.name or student.email or student.sid
            pages[f"{entry.id}~{number}"] = replace(one, whose=name)
    return pages


def find_similar_submissions(
    home: AssignmentFiles, code: Mapping[str, HandedInCode], outside: Sequence[OutsideTexts] = ()
) -> list[SimilarPair]:
    """Return the pairs of similar submissions, among those that can be read, and those with a text from elsewhere."""
    sources = {entry: handed.text for entry, handed in code.items()}
    return find_similar_pairs(sources, [home.stub.read_text(encoding="utf-8")], outside)


def _found_before(path: Path) -> list[SimilarPair]:
    try:
        return [SimilarPair(**pair) for pair in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is damaged ({error}); remove it, and run `course` again") from error
