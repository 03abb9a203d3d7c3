"""The report: all outcomes of one submission. Every output format is made from it, and nothing else is."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.assignment import SUITES, Assignment, HintVisibility
from grader.report.text import sanitize
from grader.stored import StoredModel

HIDDEN_CHECKS = "hidden-checks"  # the question of folded hidden checks; no other id has a dash


class Outcome(str, Enum):
    """What became of a check or a question; a question can also be `partial` or `not started`."""

    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    NOT_STARTED = "not started"
    NOT_RUN = "not run"
    GRADER_ERROR = "grader error"


class Cause(str, Enum):
    """Why a check was not passed, or the grader failed: programs go by this word, and messages are for people alone."""

    NONE = ""
    WRONG_ANSWER = "wrong answer"
    EXCEPTION = "exception"
    SYNTAX = "syntax"
    IMPORT = "import"
    MISSING_NAME = "missing name"
    UNREADABLE_FILE = "unreadable file"
    UNREADABLE_RESULT = "unreadable result"
    REFUSED_VALUE = "refused value"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    DISK = "disk"
    FILE_SIZE = "file size"
    OPEN_FILES = "open files"
    THREADS = "threads"
    PROCESSES = "processes"
    NETWORK = "network"
    FILES = "files"
    FORBIDDEN = "forbidden"
    CRASH = "crash"
    PROTOCOL = "protocol"
    STUB = "stub"
    NEEDS = "needs another question"
    UNAVAILABLE = "unavailable"
    NOT_REACHED = "not reached"
    RUN_BUDGET = "run budget"
    SUITE = "suite"
    MACHINE = "machine"
    GRADER = "grader"


SUSPICIOUS = frozenset((Cause.PROTOCOL, Cause.PROCESSES, Cause.NETWORK, Cause.FILES, Cause.FORBIDDEN))
"""Causes that honest work rarely has."""
NOTES = {
    Cause.SUITE: "The checks themselves must be corrected",
    Cause.MACHINE: "This machine could not grade the submission",
    Cause.GRADER: "The grader failed, not the submission",
}


class LeaderboardEntry(BaseModel):
    """One number of a leaderboard, which a check has measured.

    Attributes:
        order: "desc" where more is better.
    """

    name: str = Field(min_length=1, max_length=40)
    value: float = Field(allow_inf_nan=False)
    order: Literal["asc", "desc"] = "desc"


class _Result(BaseModel):
    # JSON has no word for the others: a report that had one could be written, and not be read again.
    model_config = ConfigDict(allow_inf_nan=False)


class ValueTable(_Result):
    """What was expected and found at one place of a result: of a large array, the rows and columns that differ most.

    Attributes:
        name, kind: The place, dtype and shape; empty for a table of single values, whose rows are places.
        summary, left_out: How many numbers differ, and what is not among rows and columns, in words.
        columns: Empty where there is one.
        differs: Whether a cell of `got` is wrong, row by row.
        curves: Of a vector, points of both sides; None for what cannot be drawn.
        map: Of a matrix, a digit for each cell: 0 where both sides agree, 9 where they differ most, `?` for NaN.
    """

    name: str = ""
    kind: str = ""
    summary: str = ""
    left_out: str = ""
    rows: tuple[str, ...]
    columns: tuple[str, ...] = ()
    expected: tuple[tuple[str, ...], ...]
    got: tuple[tuple[str, ...], ...]
    differs: tuple[tuple[bool, ...], ...]
    curves: tuple[tuple[float | None, ...], ...] = ()
    map: tuple[str, ...] = ()


class CheckResult(_Result):
    """The result of one check.

    Attributes:
        title: The line that a student reads.
        cause: Why it was not passed.
        message: What was expected, what was found, and what to do.
        printed: The text that the submission printed during the check.
        detail: Details for instructors.
        signature: A short hash of what the check saw, if it failed; wrong answers with the same
            signature are the same.
        hint: The hints of those `mistakes`, of which one is right, or the hints of `suspects`, a line each, for the student.
        mistakes: Ids of the catalogued mistakes that explain all failures of the question, for
            statistics.
        suspects: Ids of those that explain only a part of them, where none explains all.
        partial: Whether the hint is that of suspects.
        measured: Whether the hint is about what was measured on the submission, where no known mistake explains anything.
        unwritten: Whether the check only met the stub's own NotImplementedError.
        curves: By name, the return that it earned in each collection of rollouts while it learned;
            they decide nothing.
        thresholds: By name of a curve, what the trained agent must reach. tables: What was expected and found.
        entries: The numbers that the check puts on the leaderboard, for all to see.
    """

    id: str
    question: str
    suite: str
    title: str
    max_points: float
    points: float = 0.0
    outcome: Outcome = Outcome.NOT_RUN
    cause: Cause = Cause.NOT_REACHED
    message: str = "the run ended before this check"
    printed: str = ""
    detail: str = ""
    signature: str = ""
    hint: str = ""
    mistakes: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    partial: bool = False
    measured: bool = False
    unwritten: bool = False
    curves: dict[str, list[float]] = {}
    thresholds: dict[str, float] = {}
    tables: tuple[ValueTable, ...] = ()
    entries: tuple[LeaderboardEntry, ...] = ()
    seconds: float = 0.0

    def advice(self) -> str:
        """Return what a student whose mistake was recognized should ask themselves, and how sure that is."""
        if self.measured:
            return f"No known mistake explains this, but the numbers raise a question. Ask yourself: {self.hint}"
        asked = self.hint.splitlines()
        if len(asked) > 1:
            which = "two known mistakes" if self.partial else "one of two known mistakes"
            return f"This looks like {which}. Ask yourself:" + "".join(f"\n- {question}" for question in asked)
        looks = "A known mistake may explain part of this" if self.partial else "This looks like a known mistake"
        return f"{looks}. Ask yourself: {self.hint}" if asked else ""


class QuestionResult(_Result):
    """The result of one question: its checks taken together.

    Attributes:
        cell: The place of its function in a notebook, in words.
    """

    id: str
    title: str
    task: str
    outcome: Outcome
    points: float
    max_points: float
    seconds: float
    cell: str = ""

    @property
    def left_out(self) -> bool:
        """Whether it was not run and is worth nothing, so that nothing is missing without it."""
        return self.outcome is Outcome.NOT_RUN and self.max_points == 0


class Report(StoredModel):
    """All outcomes of one submission.

    Attributes:
        submission: What was graded, in words.
        remarks: What a student should know about how the submission was read.
        cells: The place of each function in a notebook, in words.
        final: Whether every check has been decided, and no fault of the grader is left open.
        cause: Why the grader could not finish: SUITE, GRADER or nothing.
        note: The same in a sentence.
        note_detail: More about it, which may quote a check.
    """

    schema_version: int = 2
    assignment: str
    title: str
    suite_version: str
    suites: tuple[str, ...]
    submission: str = ""
    remarks: tuple[str, ...] = ()
    cells: dict[str, str] = Field(default_factory=dict)
    isolation: str
    isolation_layers: tuple[str, ...]
    isolation_open: tuple[str, ...] = Field(default=(), description="forbidden actions that succeeded when tried out")
    refused_calls: tuple[str, ...] = Field(
        default=(), description="refused system calls that are not on the allow-list; for instructors"
    )
    final: bool = False
    seconds: float = 0.0
    points: float = 0.0
    max_points: float = 0.0
    points_elsewhere: float = Field(default=0.0, description="points of suites that were not part of this run")
    cause: Cause = Cause.NONE
    note: str = ""
    note_detail: str = ""
    hints: HintVisibility = HintVisibility()
    questions: list[QuestionResult] = Field(default_factory=list)
    checks: list[CheckResult] = Field(default_factory=list)

    def summarize(self, assignment: Assignment) -> None:
        """Bring totals and questions in line with the checks."""
        self.points = sum(check.points for check in self.checks)
        self.max_points = sum(check.max_points for check in self.checks)
        self.points_elsewhere = sum(assignment.total(suite) for suite in SUITES if suite not in self.suites)
        self.questions = []
        of: dict[str, list[CheckResult]] = {}
        for check in self.checks:
            of.setdefault(check.question, []).append(check)
        for question in assignment.questions:
            if checks := of.get(question.id):
                self.questions.append(
                    QuestionResult(
                        id=question.id,
                        title=question.title,
                        task=question.task,
                        outcome=combine_outcomes(checks),
                        points=sum(check.points for check in checks),
                        max_points=sum(check.max_points for check in checks),
                        seconds=sum(check.seconds for check in checks),
                        cell=self.cells.get(question.function, ""),
                    )
                )

    @classmethod
    def migrate(cls, data: dict[str, Any]) -> dict[str, Any]:
        from grader.report.migration import update_from_1  # rarely needed

        return update_from_1(data)

    def stop(self, cause: Cause, detail: str) -> None:
        """Record that the grader could not finish, and why."""
        self.cause, self.note, self.note_detail = cause, NOTES[cause], sanitize(detail)

    def explain_stop(self) -> str:
        """Return why the grader could not finish, as far as it may be shown, or nothing."""
        return f"{self.note}: {self.note_detail}" if self.note_detail else self.note

    def leaderboard(self) -> list[LeaderboardEntry]:
        """Return what checks put on the leaderboard, each name once."""
        return list({entry.name: entry for check in self.checks for entry in check.entries}.values())

    def progress(self) -> tuple[int, int, str]:
        """Return how many checks are decided, of how many, and the question of the next one."""
        following = next((check.question for check in self.checks if not check.seconds), "")
        return sum(check.seconds > 0 for check in self.checks), len(self.checks), following

    def for_student(self) -> Report:
        """Return a copy in which hidden checks show only title, points, outcome and, where it is allowed, the hint."""
        # Fields are replaced below, never changed in place: so what they hold need not be copied.
        checks, questions = ([one.model_copy() for one in part] for part in (self.checks, self.questions))
        copy = self.model_copy(update={"checks": checks, "questions": questions})
        # The duration of a hidden check could reveal its inputs: a submission can make its own time depend on them.
        hidden = sum(check.seconds for check in self.checks if check.suite == "hidden")
        copy.seconds = max(round(self.seconds - hidden, 1), 0.0)
        for question in copy.questions:
            own = [check.seconds for check in self.checks if check.question == question.id and check.suite != "hidden"]
            question.seconds = sum(own)
        copy.refused_calls = ()
        if "hidden" in self.suites:
            copy.note_detail = ""
        for check in copy.checks:
            check.detail = check.signature = ""
            check.mistakes = check.suspects = ()
            if not getattr(self.hints, check.suite, False):
                check.hint = ""
            if check.suite == "hidden":
                check.cause = Cause.NONE
                check.message = "" if check.outcome is Outcome.PASSED else "a hidden check"
                check.printed = ""
                check.curves, check.thresholds, check.tables = {}, {}, ()
                check.seconds = 0.0
        return copy


def combine_outcomes(checks: list[CheckResult]) -> Outcome:
    """Return the outcome of a question from those of its checks."""
    outcomes = [check.outcome for check in checks]
    if Outcome.GRADER_ERROR in outcomes:
        return Outcome.GRADER_ERROR
    if all(outcome is Outcome.PASSED for outcome in outcomes):
        return Outcome.PASSED
    if all(check.unwritten for check in checks):
        return Outcome.NOT_STARTED
    if Outcome.PASSED in outcomes:
        return Outcome.PARTIAL
    return next((outcome for outcome in outcomes if outcome is not Outcome.NOT_RUN), Outcome.NOT_RUN)


def write_atomically(path: Path, text: str, private: bool = False) -> None:
    """Replace the file by `text` in one step: whoever reads it sees the old content or the new, never a part.

    A file that is there keeps the rights it has: whoever has opened it to others, or closed it to them, has said so.

    Args:
        private: Whether a new file is for its owner alone; otherwise it is what the umask makes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600 if private else 0o666)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
