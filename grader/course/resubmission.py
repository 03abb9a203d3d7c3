"""Take over outcomes from a student's earlier submission, for checks that reach nothing which has changed since."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader import fingerprints
from grader.assignment import AssignmentFiles, UsageError
from grader.course import code_versions, contents, handed_in
from grader.course.results import Course, ResultFingerprints, ResultsFolder, SubmissionResult
from grader.course.worklist import WorklistEntry
from grader.report.model import CheckResult, Outcome
from grader.sandbox import open_sandbox
from grader.sandbox.parsing import FileParser, OwnParser
from grader.sandbox.places import make_temporary_folder
from grader.sandbox.reply import LEVELS, SandboxCalls, SandboxFault
from grader.stored import read_stored

WORD = re.compile(r"\w+")
SECONDS = 20.0  # for the comparison of two versions


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
        old = same_students.get(_identify(entry)) or same_id.get(entry.id)
        if old is None or _identify(old) != _identify(entry):
            continue
        key = ResultFingerprints(submission=before.submissions[old.id], suite=before.suite, environment=before.environment)
        if before.submissions[old.id] != course.submissions[entry.id] and folder.place(old.id, key).is_file():
            found[entry.id] = folder.place(old.id, key).name
        elif old.id in before.earlier:  # the run before did not get so far
            found[entry.id] = before.earlier[old.id]
    return found


def _identify(entry: WorklistEntry) -> frozenset[str]:
    return frozenset(student.sid or student.email or student.name for student in entry.students)


class TakeOver:
    """Finds the outcomes that resubmissions take over.

    Args:
        home: The assignment.
        course: The class; it names the earlier results.
        folder: Where these are.
        require_level: The isolation that they must have been graded with.
    """

    def __init__(self, home: AssignmentFiles, course: Course, folder: Path, require_level: str) -> None:
        self._home, self._course, self._folder, self._level = home, course, folder, require_level

    def plan(self, entries: Sequence[WorklistEntry]) -> dict[str, tuple[SubmissionResult, frozenset[str]]]:
        """Return, by entry, an earlier result and the checks of it that must run again; nothing for those that start afresh."""
        resubmitted = [entry for entry in entries if entry.id in self._course.earlier]
        if not resubmitted:
            return {}
        found = {}
        with OwnParser() as parser, contextlib.suppress(SandboxFault), _open_comparison() as sandbox:
            names = self._list_names()
            for entry in resubmitted:
                if earlier := self._read_earlier(entry):
                    result, before = earlier
                    now = self._read_code(entry, parser)
                    again = self._find_changed(sandbox, names, result, before, now) if now is not None else None
                    if again is not None and len(again) < len(result.report.checks):
                        found[entry.id] = result, again
        return found

    def _list_names(self) -> dict[str, frozenset[str]]:
        """Return the names that each check uses, without checks of which they are not known."""
        assignment, found = self._home.assignment, {}
        for check, about in fingerprints.list_check_ingredients(self._home, self._course.suites).items():
            reads_more = about.finds_names or about.reads_text or "attachment" in about.names
            if not reads_more and not about.names & {*assignment.attachments}:
                found[check] = about.uses
        return found

    def _read_earlier(self, entry: WorklistEntry) -> tuple[SubmissionResult, bytes] | None:
        """Return the earlier result and the code that it is about, if both are there and can be relied on."""
        name = self._course.earlier[entry.id]
        try:
            result = read_stored(ResultsFolder(self._folder).results / name, SubmissionResult)
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

    def _find_changed(
        self, sandbox: SandboxCalls, names: Mapping[str, frozenset[str]], result: SubmissionResult, before: bytes, now: bytes
    ) -> frozenset[str]:
        """Return the checks of an earlier result that must run again: those of a question all run, or none."""
        words = frozenset((*WORD.findall(before.decode()), *WORD.findall(now.decode())))
        asked: dict[str, list[str]] = {}
        questions: dict[str, list[CheckResult]] = defaultdict(list)
        for check in result.report.checks:
            questions[check.question].append(check)
            if (known := names.get(check.id.partition("[")[0])) is not None:
                asked[check.id] = sorted(_match(known | self._list_own(check.question), words))
        versions = {"earlier": np.frombuffer(before, np.uint8), "now": np.frombuffer(now, np.uint8)}
        reply = sandbox.call("find_unchanged", {**versions, "checks": asked}, seconds=SECONDS)
        unchanged = _list_texts(reply.facts) & asked.keys() if reply.status == "ok" else set()
        again = (
            checks
            for checks in questions.values()
            # Failures are explained again: their messages name lines.
            if not all(check.id in unchanged and check.outcome is Outcome.PASSED for check in checks)
        )
        return frozenset(check.id for checks in again for check in checks)

    def _list_own(self, name: str) -> frozenset[str]:
        """Return the names of the functions that a question is about."""
        assignment = self._home.assignment
        question = assignment.question(name)
        functions = (question.function, *(assignment.question(piece).function for piece in question.pieces))
        return frozenset(word for function in functions for word in WORD.findall(function))


def _match(names: frozenset[str], words: frozenset[str]) -> set[str]:
    """Return the words that are among the names, or that one of them begins or ends, such as `_loss` in f"{kind}_loss"."""
    ends = tuple(name for name in names if name.startswith("_"))
    beginnings = tuple(name for name in names if name.endswith("_"))
    return {word for word in words if word in names or word.endswith(ends) or word.startswith(beginnings)}


def _get_whole(code: handed_in.HandedInCode, submission: str) -> bytes | None:
    """Return the code if it is a whole submission, one Python file and nothing else, and the one with this hash."""
    if len(code.files) != 1 or code.files[0].notebook:
        return None
    content = code.files[0].text.encode("utf-8", "surrogatepass")
    return content if contents.hash_one_file(content) == submission else None


@contextlib.contextmanager
def _open_comparison() -> Iterator[SandboxCalls]:
    """Yield a sandbox with the driver of code_versions.py."""
    folder = make_temporary_folder()
    try:
        drivers, beside = folder / "drivers.py", folder / "beside"  # support files would be here
        shutil.copyfile(code_versions.__file__, drivers)
        drivers.chmod(0o644)
        beside.mkdir(mode=0o755)
        with open_sandbox(drivers, [beside], torch=False) as sandbox:
            yield sandbox
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _list_texts(facts: Any) -> set[str]:
    """Return the texts in a list that comes from a worker, in which student code may have misled the parser."""
    return {fact for fact in facts if isinstance(fact, str)} if isinstance(facts, list) else set()
