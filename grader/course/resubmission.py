"""Take over outcomes from a student's earlier submission, for checks whose code has not changed."""

from __future__ import annotations

import contextlib
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader import fingerprints
from grader.assignment import AssignmentFiles, UsageError
from grader.course import code_versions, contents, handed_in, used_names
from grader.course.results import Course, ResultFingerprints, ResultsFolder, SubmissionResult
from grader.course.worklist import WorklistEntry
from grader.report.model import CheckResult, Outcome
from grader.sandbox import open_sandbox
from grader.sandbox.parsing import FileParser, OwnParser
from grader.sandbox.places import make_temporary_folder
from grader.sandbox.reply import LEVELS, SandboxCalls, SandboxFault
from grader.sandbox.wire import ValueRefused
from grader.stored import read_stored

SECONDS = 20.0  # for the comparison of two versions

Again = dict[str, tuple[str, frozenset[str]]]
"""By entry, the file of an earlier result in results/, and the checks of it that must run again."""


def find_earlier_results(course: Course, before: Course | None, folder: ResultsFolder) -> dict[str, str]:
    """Return, for each resubmission, the file in results/ of what the same students submitted before.

    Args:
        before: The class at its last grading.
    """
    if before is None or (before.suite, before.environment) != (course.suite, course.environment):
        return {}
    same_id = {entry.id: entry for entry in before.entries}
    same_students = {who: entry for entry in before.entries if (who := _identify(entry))}
    found = {}
    for entry in course.entries:
        who, old = _identify(entry), same_id.get(entry.id)
        if old is None or _identify(old) != who:
            old = same_students.get(who)
        if old is None:
            continue
        key = ResultFingerprints(submission=before.submissions[old.id], suite=before.suite, environment=before.environment)
        if before.submissions[old.id] != course.submissions[entry.id] and folder.place(old.id, key).is_file():
            found[entry.id] = folder.place(old.id, key).name
        elif old.id in before.earlier:  # the run before did not get so far
            found[entry.id] = before.earlier[old.id]
    return found


def _identify(entry: WorklistEntry) -> frozenset[str]:
    return frozenset(student.sid or student.email or student.name for student in entry.students) - {""}


class ResubmissionPlan:
    """Finds the checks of resubmissions that need not run.

    Args:
        home: The assignment.
        course: The class; it names the earlier results.
        folder: The folder of these results.
        require_level: The isolation that they must have been graded with.
    """

    def __init__(self, home: AssignmentFiles, course: Course, folder: Path, require_level: str) -> None:
        self._home, self._course, self._folder, self._level = home, course, folder, require_level

    def make(self, entries: Sequence[WorklistEntry]) -> Again:
        """Return what is known of the entries that do not start afresh."""
        resubmitted = [entry for entry in entries if entry.id in self._course.earlier]
        found: Again = {}
        if not resubmitted:
            return found
        with OwnParser() as parser, _open_comparison(self._write_tables()) as sandbox:
            for entry in resubmitted:
                with contextlib.suppress(SandboxFault, ValueRefused):  # it is graded in full
                    again = self._find_changed(entry, parser, sandbox)
                    if again is not None:
                        found[entry.id] = self._course.earlier[entry.id], again
        return found

    def _write_tables(self) -> str:
        """Return the tables of code_versions.py as Python."""
        checks = {}
        for check, about in fingerprints.list_check_ingredients(self._home, self._course.suites).items():
            question = fingerprints.find_question(self._home, check)
            used = used_names.find_used_names(self._home, about)
            reads_more = used.finds_more or about.reads_text or "attachment" in used.words
            if question and not reads_more and about.names.isdisjoint(self._home.assignment.attachments):
                checks[check] = " ".join(sorted(used.words | self._list_own(question)))
        support = {name: " ".join(sorted(words)) for name, words in used_names.list_support_words(self._home).items()}
        return f"\nCHECKS = {checks!r}\nSUPPORT = {support!r}\n"

    def _list_own(self, name: str) -> set[str]:
        """Return the names of the functions that a question is about."""
        assignment = self._home.assignment
        question = assignment.question(name)
        functions = (question.function, *(assignment.question(piece).function for piece in question.pieces))
        return {word for function in functions for word in function.split(".")}

    def _find_changed(self, entry: WorklistEntry, parser: FileParser, sandbox: SandboxCalls) -> frozenset[str] | None:
        """Return the checks of an earlier result that must run again: those of a question all run, or none. None: all must."""
        earlier = self._read_earlier(entry)
        now = self._read_code(entry, parser)
        if earlier is None or now is None:
            return None
        result, before = earlier
        versions = {"earlier": np.frombuffer(before, np.uint8), "now": np.frombuffer(now, np.uint8)}
        reply = sandbox.call("find_unchanged", versions, seconds=SECONDS)
        unchanged = _list_texts(reply.facts) if reply.status == "ok" else set()
        questions: dict[str, list[CheckResult]] = defaultdict(list)
        for check in result.report.checks:
            questions[check.question].append(check)
        again = frozenset(
            check.id
            for checks in questions.values()
            # Failures are explained again: their messages name lines.
            if not all(check.outcome is Outcome.PASSED and check.id.partition("[")[0] in unchanged for check in checks)
            for check in checks
        )
        return again if len(again) < len(result.report.checks) else None

    def _read_earlier(self, entry: WorklistEntry) -> tuple[SubmissionResult, bytes] | None:
        """Return the earlier result and the code that it is about, if both are there and can be relied on."""
        result = ResultsFolder(self._folder).read_file(self._course.earlier[entry.id])
        if result is None:
            return None
        try:
            kept = read_stored(handed_in.locate_code(self._folder, result.entry, result.key.submission), handed_in.HandedInCode)
        except (OSError, UsageError):
            return None
        report = result.report
        level = LEVELS.index(report.isolation) if report.isolation in LEVELS else -1
        if result.status != "graded" or not report.final or report.refused_calls or level < LEVELS.index(self._level):
            return None
        code = _get_whole(kept, result.key.submission)
        return None if code is None else (result, code)

    def _read_code(self, entry: WorklistEntry, parser: FileParser) -> bytes | None:
        code = handed_in.read_code(self._home, Path(self._course.export), entry, parser)
        return _get_whole(code, self._course.submissions[entry.id]) if code else None


def _get_whole(code: handed_in.HandedInCode, submission: str) -> bytes | None:
    """Return the code if it is a whole submission, one Python file and nothing else, and the one with this hash."""
    if len(code.files) != 1 or code.files[0].notebook:
        return None
    content = code.files[0].text.encode("utf-8", "surrogatepass")
    return content if contents.hash_one_file(content) == submission else None


@contextlib.contextmanager
def _open_comparison(tables: str) -> Iterator[SandboxCalls]:
    """Yield a sandbox with the driver of code_versions.py and these tables."""
    folder = make_temporary_folder()
    try:
        drivers, beside = folder / "drivers.py", folder / "beside"  # support files would be here
        drivers.write_text(Path(code_versions.__file__).read_text(encoding="utf-8") + tables, encoding="utf-8")
        drivers.chmod(0o644)
        beside.mkdir(mode=0o755)
        with open_sandbox(drivers, [beside], torch=False) as sandbox:
            yield sandbox
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _list_texts(facts: Any) -> set[str]:
    """Return the texts in a list that comes from a worker, in which student code may have misled the parser."""
    return {fact for fact in facts if isinstance(fact, str)} if isinstance(facts, list) else set()
