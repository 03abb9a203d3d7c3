"""Trying out variants of the solution: what the checks make of each mistake, alternative or mutant."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from grader.answers import UNPREDICTABLE, Mistake
from grader.assignment import SUITES, Assignment, Home, UsageError
from grader.judge.run import Grader
from grader.judge.student import CheckFailed
from grader.publish.catalogue import Variant
from grader.report.model import CheckResult, Outcome, Report

Item = TypeVar("Item")


class Submission(Protocol):
    """Anything that has the text of a whole submission."""

    @property
    def submission(self) -> str: ...


@dataclass(frozen=True)
class Trial:
    """What the checks made of a variant. seen: how each failed, or None if it passed."""

    report: Report
    seen: dict[str, CheckFailed | None]

    @property
    def failed(self) -> dict[str, CheckFailed]:
        """The checks that failed, and how."""
        return {check: failure for check, failure in self.seen.items() if failure is not None}

    def lost(self) -> list[CheckResult]:
        """Return the checks that were run and have not passed."""
        return [check for check in self.report.checks if check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN)]


def try_out(grader: Grader, variant: Submission, select: set[str] | None, seed: int = 0, thorough: bool = True) -> Trial:
    """Return what the checks of these questions (None: of all) make of the variant."""
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        path = Path(folder) / grader.home.assignment.submission
        path.write_text(variant.submission, encoding="utf-8")
        report = grader.grade(path, select, seed=seed, thorough=thorough)
    return Trial(report, dict(grader.seen))


def questions_about(assignment: Assignment, function: str) -> set[str]:
    """Return the questions that a function decides alone."""
    return {question.id for question in assignment.questions if question.function == function and not question.needs}


def whole_agent(assignment: Assignment) -> set[str]:
    """Return the questions that need others: they look at the whole agent, and cost most."""
    return {question.id for question in assignment.questions if question.needs}


def tracked(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Yield the items, with a bar that shows how far it is, on a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, what, len(items), console=console, transient=True, disable=not console.is_terminal)


def recorded(home: Home, mistakes: Sequence[Variant]) -> dict[str, dict[str, Mistake]]:
    """Return, by suite and id, what each mistake shows to the checks of its function; those that show nothing are left out.

    Each is tried with two seeds: what differs between them is decided by chance, and no evidence.
    """
    found: dict[str, dict[str, Mistake]] = {suite: {} for suite in SUITES}
    with Grader(home, SUITES) as grader:
        report = grader.grade(home.solution, {question.id for question in home.assignment.questions if not question.needs})
        bad = [check for check in report.checks if check.outcome not in (Outcome.PASSED, Outcome.NOT_RUN)]
        # Of a fault of a check, the message is for students; what it is stands in the detail.
        lost = [f"{check.id}: {'' if check.outcome is Outcome.GRADER_ERROR else check.message} {check.detail}" for check in bad]
        if lost or report.note or not report.final:
            why = "; ".join([report.note, *lost]).strip("; ")
            raise UsageError(
                f"all but tests/*/mistakes.json is up to date; that is not, because the solution does not pass: {why}"
            )
        for mistake in tracked(mistakes, "mistakes"):
            select = questions_about(home.assignment, mistake.function)
            first, second = (try_out(grader, mistake, select, seed) for seed in (0, 1))
            shows = {
                check: failure.shown if _again(failure, second.failed.get(check)) else UNPREDICTABLE
                for check, failure in first.failed.items()
            }
            for suite in SUITES:
                own = {check.partition("/")[2]: saw for check, saw in shows.items() if check.startswith(f"{suite}/")}
                if own:
                    found[suite][mistake.id] = Mistake(mistake.id, mistake.question, mistake.hint, own)
    return found


def _again(failure: CheckFailed, other: CheckFailed | None) -> bool:
    return other is not None and failure.alike(other.shown)
