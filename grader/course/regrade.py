"""Grade again after a check was corrected: run only that check, first show whose points change, and allow to undo it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.console import name_some
from grader.course import run
from grader.course.rescore import compute_scores
from grader.course.results import REPLACED, Course, ResultsFolder, SubmissionResult
from grader.course.summary import write_class_results
from grader.report.model import Outcome
from grader.stored import read_stored

MANY = 0.25  # the share of a class that may lose points without a warning


@dataclass
class Moves:
    """How the points of a check change in a class.

    Attributes:
        up: The gain of each submission that gains points.
        down: The loss of each submission that loses points.
    """

    up: list[float] = field(default_factory=list)
    down: list[float] = field(default_factory=list)

    def count(self, gained: float) -> None:
        """Count one submission."""
        if gained:
            (self.up if gained > 0 else self.down).append(gained)

    def __str__(self) -> str:
        gain = f"{len(self.up)} gain{_third_person(self.up)} {_in_points(sum(self.up))}" if self.up else ""
        lose = f"{len(self.down)} lose{_third_person(self.down)} {_in_points(-sum(self.down))}" if self.down else ""
        return ", ".join(filter(None, (gain, lose))) or "no points change"


def _third_person(who: Sequence[object]) -> str:
    return "s" if len(who) == 1 else ""


def _in_points(points: float) -> str:
    return f"{points:g} point" if points == 1 else f"{points:g} points"


Outcomes = Mapping[str, tuple[Outcome, float]]
"""The outcome and the points of each check, by its id."""


@dataclass(frozen=True)
class CountingResult:
    """What is held of a result that counts now: those of 3,000 submissions take a gigabyte.

    Attributes:
        file: Its file in results/.
        suite: The hash of the suite that it is of.
        again: The checks of it to run again.
    """

    file: str
    suite: str
    failed: bool
    points: float
    outcomes: Outcomes
    again: frozenset[str]


class Regrade:
    """The changed checks of a graded class, run again.

    A check has changed if its function, its views or driver, its cases or their answers have changed. Questions that need a
    question with a different outcome are run again, too. Until `apply`, the scores of the class stay as they are.

    Which submissions belong to the class, and in which environment it was graded, only `course` changes: a submission that is
    no longer in the export as it was graded keeps its result.

    Attributes:
        before: The class as it was graded.
        course: The class with the outcomes of the changed checks.
        again: By entry, each result that can be brought up to date.
        corrected: The checks that have changed since.
        added: New checks.
        removed: Checks that are gone.
        pending: The entries without a result.
        failed: The entries with a result on which the grader failed now.
    """

    def __init__(self, home: AssignmentFiles, folder: ResultsFolder, require_level: str = "basic") -> None:
        self.home, self.folder = home, folder
        self.before = folder.course()
        job = run.prepare_job(
            home, _export(self.before), folder.path, self.before.suites, self.before.layout, require_level, keep=True
        )
        self.exported = job.course
        earlier = {entry: self._read(result, job.checks) for entry, result in folder.iterate(self.before) if result is not None}
        same = {entry for entry, content in self.before.submissions.items() if self.exported.submissions.get(entry) == content}
        self.again = {entry: one for entry, one in earlier.items() if entry in same}
        known = {check.partition("[")[0] for one in self.again.values() for check in one.outcomes}
        self.corrected = sorted({check.partition("[")[0] for one in self.again.values() for check in one.again})
        self.added = sorted(job.checks.keys() - known) if known else []
        self.removed = sorted(known - job.checks.keys())
        self.pending = [entry.id for entry in self.before.entries if entry.id not in earlier]
        if self.changed:
            run.require_consistent_checks(home, self.before.suites)
        self.failed: list[str] = []
        self.course = self.before.model_copy(
            update={
                "assignment": home.assignment,
                "suite": self.exported.suite,
                "earlier": self.before.earlier if self.same_suite else {},
                "kept": {},
                "outdated": {
                    entry: one.file for entry, one in earlier.items() if entry not in same and one.suite != self.exported.suite
                },
            }
        )
        self.job = replace(job, course=self.course)

    @property
    def changed(self) -> list[str]:
        """Return all checks that have changed: the corrected, the new and the removed ones."""
        return [*self.corrected, *self.added, *self.removed]

    @property
    def same_suite(self) -> bool:
        """Return whether the class was graded with this very suite, even if some students keep results of an earlier one."""
        return self.exported.suite == self.before.suite

    @property
    def same_version(self) -> bool:
        """Return whether the changed checks still have the version that earlier reports name."""
        same = self.home.assignment.version == self.before.assignment.version
        return bool(self.changed) and same and not self.same_suite

    def grade(self, workers: int, progress: Callable[[run.RunProgress], None]) -> Iterator[str]:
        """Run the changed checks; yield lines about them, and whose points would change."""
        more = {"new": self.added, "removed": self.removed}
        yield f"corrected: {', '.join(self.corrected) or 'no check'}" + "".join(
            f"; {what}: {', '.join(checks)}" for what, checks in more.items() if checks
        )
        if self.before.environment != self.exported.environment:
            yield "the kit, a library or the machine has changed: checks that are not rerun keep their outcomes"
        yield from self._describe_export()
        entries = run.list_ungraded_entries(self.job, [entry for entry in self.exported.entries if entry.id in self.again])
        again = {entry: (one.file, one.again) for entry, one in self.again.items()}
        standing = run.grade_entries(self.job, entries, workers, progress, again)
        self.failed = [entry for entry in standing.failed if not self.again[entry].failed]
        yield from self._describe_moves()
        yield f"{len(entries)} submissions graded again" + (f", {len(standing.failed)} failed" if standing.failed else "")

    def _describe_export(self) -> Iterator[str]:
        """Yield which submissions have changed, are gone or are new in the export since the class was graded."""
        now, before = self.exported.submissions, self.before.submissions
        differ = {
            "changed": [entry for entry in before if entry in now and now[entry] != before[entry]],
            "gone": [entry for entry in before if entry not in now],
            "new": [entry for entry in now if entry not in before],
        }
        if any(differ.values()):
            found = "; ".join(f"{what}: {name_some(entries)}" for what, entries in differ.items() if entries)
            yield f"the export has changed since the last run of `course`; run `course` again to include this ({found})"

    def list_refusals(self) -> list[str]:
        """Return the reasons, after `grade`, why the new outcomes cannot count now."""
        found = [f"the grader failed for {name_some(self.failed)}, which had a result"] if self.failed else []
        try:
            compute_scores(self.folder, course=self.course)
        except UsageError as error:
            found.append(_explain_unfit_rule(error, self.folder))
        return found

    def apply(self, never_lower: bool = False) -> Iterator[str]:
        """Make the new outcomes count, and keep what they replace; yield lines about what was written.

        never_lower: Whether a submission that would lose points keeps its earlier result.
        """
        course = self.course
        if never_lower:
            lower = [entry for entry, before, after in self._compare() if after.report.points < before.points]
            held = {entry: self.again[entry].file for entry in lower if not self.again[entry].failed}
            course = course.model_copy(update={"kept": held})
            yield f"{len(held)} keep their earlier, higher result"
        if course == self.before:
            yield "nothing to apply: these results count already"
        else:
            replaced = self.folder.put_aside_course(REPLACED)
            self.folder.write_course(course)
            yield f"the replaced files are kept in {replaced}; `regrade {self.folder.path} --undo` restores them"
        yield from write_class_results(self.home, self.folder)  # in any case, because an earlier run may have been interrupted

    def _read(self, result: SubmissionResult, checks: Mapping[str, str]) -> CountingResult:
        return CountingResult(
            file=self.folder.place(result.entry, result.key).name,
            suite=result.key.suite,
            failed=result.status == "failed",
            points=result.report.points,
            outcomes=_list_outcomes(result),
            again=find_changed_checks(result, checks),
        )

    def _compare(self) -> Iterator[tuple[str, CountingResult, SubmissionResult]]:
        """Yield each entry that was brought up to date, with its result before and after."""
        for entry, after in self.folder.iterate(self.course):
            if after is not None and entry in self.again:
                yield entry, self.again[entry], after

    def _describe_moves(self) -> Iterator[str]:
        who = {entry.id: entry.who for entry in self.course.entries}
        by_check: dict[str, Moves] = defaultdict(Moves)
        whole, lines = Moves(), []
        for entry, before, after in self._compare():
            differ = list(_list_differences(before.outcomes, _list_outcomes(after)))
            if differ:
                changes = "; ".join(_describe_change(*change) for change in differ)
                lines.append(f"{who[entry]} ({entry}): {before.points:g} -> {after.report.points:g} points: {changes}")
            whole.count(after.report.points - before.points)
            for name, old, new in differ:
                by_check[name].count(_points(new) - _points(old))
        yield from (f"{name}: {moves}" for name, moves in by_check.items())
        yield from lines
        if self.pending:
            yield f"{len(self.pending)} not graded yet: {name_some(self.pending)}; the next run of `course` grades them"
        if self.again:
            yield from summarize_moves(len(self.again), whole)
        else:
            yield "no points change, because no submission has a result that could change"


def summarize_moves(count: int, moves: Moves) -> Iterator[str]:
    """Yield how the points of a class of this many submissions change, and a warning if many lose points."""
    most = f", at most {_in_points(-min(moves.down))} each" if len(moves.down) > 1 else ""
    yield f"of {count} submissions, {moves}{most}"
    if len(moves.down) > MANY * count:
        yield "a correction seldom takes points from so many: read some of these submissions before you apply it"


def undo(home: AssignmentFiles, folder: ResultsFolder) -> Iterator[str]:
    """Restore the results that the last regrade replaced; yield lines about what was written.

    Submissions that `course` has read since stay in the class; those that the restored suite has not graded are pending.

    Raises:
        UsageError: If there are none, or policy or adjustments do not fit them.
    """
    copies = folder.list_put_aside(REPLACED)
    if not copies:
        raise UsageError(f"nothing is kept in {folder.path / REPLACED}: no regrade was applied, or all were undone")
    old, now = read_stored(copies[-1], Course), folder.course()
    same = {entry for entry, content in old.submissions.items() if now.submissions.get(entry) == content}
    restored = now.model_copy(
        update={
            **{name: getattr(old, name) for name in ("assignment", "suites", "suite", "environment")},
            "outdated": {entry: file for entry, file in old.outdated.items() if entry in same},
        }
    )
    run.take_over_results(restored, old, folder)
    try:
        compute_scores(folder, course=restored)
    except UsageError as error:
        raise UsageError(f"nothing was restored: {_explain_unfit_rule(error, folder)}") from error
    folder.write_course(restored)
    yield f"the results of suite {old.assignment.version} count again"
    yield from write_class_results(home, folder)
    copies[-1].unlink()  # last, so that the same command continues after an interruption


def _explain_unfit_rule(error: UsageError, folder: ResultsFolder) -> str:
    return f"{error}; first take this rule out with `regrade {folder.path} --policy FILE` (or --adjustments FILE)"


def find_changed_checks(result: SubmissionResult, checks: Mapping[str, str]) -> frozenset[str]:
    """Return the checks of a result that have changed since, or on which the grader failed.

    Args:
        checks: The current digests of the checks, by id without parameters.
    """
    now = {check: checks.get(check.partition("[")[0]) for check in result.checks}
    spoiled = {check.id for check in result.report.checks if check.outcome is Outcome.GRADER_ERROR}
    return frozenset(
        check for check, was in result.checks.items() if now[check] is not None and (now[check] != was or check in spoiled)
    )


def _list_outcomes(result: SubmissionResult) -> Outcomes:
    return {check.id: (check.outcome, check.points) for check in result.report.checks}


def _list_differences(
    before: Outcomes, after: Outcomes
) -> Iterator[tuple[str, tuple[Outcome, float] | None, tuple[Outcome, float] | None]]:
    for name in [*after, *(name for name in before if name not in after)]:
        old, new = before.get(name), after.get(name)
        if old != new:
            yield name, old, new


def _describe_change(name: str, old: tuple[Outcome, float] | None, new: tuple[Outcome, float] | None) -> str:
    ends = " -> ".join(end[0].value if end else "not there" for end in (old, new))
    return f"{name} {ends} ({_points(new) - _points(old):+g})"


def _points(end: tuple[Outcome, float] | None) -> float:
    return end[1] if end else 0.0


def _export(course: Course) -> Path:
    path = Path(course.export)
    if not path.is_dir():
        raise UsageError(f"the submissions are no longer in {path}; put the export there again, or run `course` with it")
    return path
