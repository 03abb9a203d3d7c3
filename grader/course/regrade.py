"""Grading again after a check was corrected: only that check is run, and everybody whose points move is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from grader.assignment import AssignmentFiles, UsageError
from grader.course import run
from grader.course.results import Course, ResultsFolder, SubmissionResult
from grader.course.summary import write_class_results
from grader.report.model import Outcome


def regrade(
    home: AssignmentFiles, folder: ResultsFolder, workers: int, progress: Callable[[run.RunProgress], None], require_level: str
) -> Iterator[str]:
    """Run again, of each graded submission, the checks that are no longer what they were; yield what to print.

    A check is another one when its function, the views or the driver that it uses, its cases or their answers have changed.
    What needs a question of which a check now ends differently is run as well. Earlier results stay where they are.
    """
    before = folder.course()
    earlier = folder.of(before)
    job = run.prepare_job(home, _export(before), folder.path, before.suites, before.layout, require_level, keep=True)
    again = {
        entry.id: (result, find_changed_checks(result, job.checks))
        for entry in job.course.entries
        if (result := earlier.get(entry.id)) is not None
        and job.course.submissions[entry.id] == before.submissions.get(entry.id)
    }
    corrected = sorted({check.partition("[")[0] for _, checks in again.values() for check in checks})
    known = {check.partition("[")[0] for result, _ in again.values() for check in result.checks}
    added = sorted(job.checks.keys() - known) if known else []
    yield f"corrected: {', '.join(corrected) or 'no check'}" + (f"; new: {', '.join(added)}" if added else "")
    if before.environment != job.course.environment:
        yield "the kit, a library or the machine is another one than before: checks that are not run again keep their outcomes"
    entries = [entry for entry in run.list_ungraded_entries(job, job.course.entries) if entry.id in again]
    standing = run.grade_entries(job, entries, workers, progress, again)
    # Only now, so that after a run that was ended the next one still knows what was before it.
    folder.write_course(job.course)
    results = folder.of(job.course)
    for entry in job.course.entries:
        if entry.id in again and (result := results[entry.id]) is not None:
            yield from (f"{entry.who} ({entry.id}): {line}" for line in describe_point_changes(again[entry.id][0], result))
    yield f"{len(entries)} submissions graded again" + (f", {len(standing.failed)} failed" if standing.failed else "")
    yield from write_class_results(home, folder)


def find_changed_checks(result: SubmissionResult, checks: dict[str, str]) -> frozenset[str]:
    """Return the checks of a result that have changed since, or that the grader has spoilt.

    Args:
        checks: The digests that checks have now, by id without parameters.
    """
    now = {check: checks.get(check.partition("[")[0]) for check in result.checks}
    spoilt = {check.id for check in result.report.checks if check.outcome is Outcome.GRADER_ERROR}
    return frozenset(
        check for check, was in result.checks.items() if now[check] is not None and (now[check] != was or check in spoilt)
    )


def describe_point_changes(before: SubmissionResult, after: SubmissionResult) -> Iterator[str]:
    """Yield how the points of a submission have moved, and by which checks; nothing if no check ended differently."""
    was = {check.id: check for check in before.report.checks}
    now = {check.id: check for check in after.report.checks}
    differ = []
    for name in [*now, *(name for name in was if name not in now)]:
        old, new = was.get(name), now.get(name)
        if old is None or new is None or (old.outcome, old.points) != (new.outcome, new.points):
            gained = (new.points if new else 0.0) - (old.points if old else 0.0)
            ends = " -> ".join(_outcome(check.outcome if check else None) for check in (old, new))
            differ.append(f"{name} {ends} ({gained:+g})")
    if differ:
        yield f"{before.report.points:g} -> {after.report.points:g} points: {'; '.join(differ)}"


def _outcome(outcome: Outcome | None) -> str:
    return outcome.value if outcome else "not there"


def _export(course: Course) -> Path:
    path = Path(course.export)
    if not path.is_dir():
        raise UsageError(f"the submissions are no longer in {path}; put the export there again, or run `course` with it")
    return path
