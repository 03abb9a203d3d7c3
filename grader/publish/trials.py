"""Trying out variants of the solution: what the checks make of each mistake, alternative or mutant."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.answers import UNPREDICTABLE, Mistake
from grader.assignment import SUITES, Assignment, UsageError
from grader.judge.compare import difference
from grader.judge.run import Grader
from grader.publish.catalogue import Variant
from grader.publish.pool import TrialPool
from grader.report.model import CheckResult, Outcome, Report
from grader.sandbox import wire
from grader.sandbox.reply import Reply


@dataclass(frozen=True)
class Trial:
    """What the checks made of a variant.

    Attributes:
        report: The report of grading it.
        seen: By check that ran, what the check saw when it failed (`CheckFailed.shown`), or None if it passed.
    """

    report: Report
    seen: dict[str, Any]

    @property
    def failed(self) -> dict[str, Any]:
        """The checks that failed, and what they saw."""
        return {check: shown for check, shown in self.seen.items() if shown is not None}

    def lost(self) -> list[CheckResult]:
        """Return the checks that were run and have not passed."""
        return [check for check in self.report.checks if check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN)]


def try_out(grader: Grader, submission: str, select: set[str] | None, seed: int = 0, thorough: bool = True) -> Trial:
    """Return what the checks of these questions (None: of all) make of the text of a submission."""
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        path = Path(folder) / grader.home.assignment.submission
        path.write_text(submission, encoding="utf-8")
        report = grader.grade(path, select, seed=seed, thorough=thorough)
    return Trial(report, {check: failure and failure.shown for check, failure in grader.seen.items()})


Facts = dict[str, Any]
"""What calls returned, by a digest of the driver, its inputs and the seed."""


@contextlib.contextmanager
def observed_facts(grader: Grader) -> Iterator[Facts]:
    """Yield a dictionary that fills with what the grader's calls of drivers return."""
    found: Facts = {}
    sandbox = grader.harness.sandbox

    def note(request: dict[str, Any], reply: Reply) -> None:
        called = request | {"submission": request["submission"] is not None}
        found[hashlib.sha256(wire.encode(called)).hexdigest()] = [reply.status, reply.facts]

    sandbox.observer = note
    try:
        yield found
    finally:
        sandbox.observer = None


def same_facts(known: Facts, facts: Facts) -> bool:
    """Return whether all calls returned what is known of the same calls, as closely as checks compare."""
    return all(
        call in known and difference(known[call], returned, exact_dtype=True, equal_nan=True) is None
        for call, returned in facts.items()
    )


def unit_questions(assignment: Assignment, function: str) -> set[str]:
    """Return the questions that a function decides alone."""
    return {question.id for question in assignment.questions if question.function == function and not question.needs}


def whole_agent(assignment: Assignment) -> set[str]:
    """Return the questions that need others: they look at the whole agent, and cost most."""
    return {question.id for question in assignment.questions if question.needs}


def record_mistakes(pool: TrialPool, mistakes: Sequence[Variant]) -> dict[str, dict[str, Mistake]]:
    """Return, by suite and id, what each mistake shows to the checks of its function.

    A mistake that shows nothing is left out. Each is tried with two seeds: what differs between them is decided by chance, and
    is recorded as UNPREDICTABLE. Raises UsageError if the solution does not pass, since then nothing can be concluded.
    """
    passes = pool.submit(_require_solution_passes)
    pending = [pool.submit(_record, mistake) for mistake in mistakes]
    passes.result()
    found: dict[str, dict[str, Mistake]] = {suite: {} for suite in SUITES}
    for mistake, shows in zip(mistakes, pending, strict=True):
        for check, saw in shows.result().items():
            suite, _, name = check.partition("/")
            entry = found[suite].setdefault(mistake.id, Mistake(mistake.id, mistake.question, mistake.hint, {}))
            entry.shows[name] = saw
    return found


def _require_solution_passes(grader: Grader) -> None:
    """Raise UsageError that says which checks of single functions the solution does not pass."""
    assignment = grader.home.assignment
    report = grader.grade(grader.home.solution, {question.id for question in assignment.questions} - whole_agent(assignment))
    bad = [check for check in report.checks if check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN)]
    # Of a fault of a check, the message is for students; what it is stands in the detail.
    lost = [f"{check.id}: {'' if check.outcome is Outcome.GRADER_ERROR else check.message} {check.detail}" for check in bad]
    if lost or report.note or not report.final:
        why = "; ".join([report.note, *lost]).strip("; ")
        raise UsageError(f"all but tests/*/mistakes.json is up to date; that is not, because the solution does not pass: {why}")


def _record(grader: Grader, mistake: Variant) -> dict[str, Any]:
    """Return what a mistake shows, by check as reports name it."""
    select = unit_questions(grader.home.assignment, mistake.function)
    try_out(grader, mistake.submission, select, seed=0)
    first = dict(grader.seen)
    second = try_out(grader, mistake.submission, select, seed=1).failed
    return {
        check: failure.shown if check in second and failure.alike(second[check]) else UNPREDICTABLE
        for check, failure in first.items()
        if failure is not None
    }
