"""Grade a class: workers are copies of one warm judge, each result is a file, and finished submissions are skipped."""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import multiprocessing.connection
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader import fingerprints, machine
from grader.assignment import AssignmentFiles, UsageError
from grader.course import contents, resubmission, stopping
from grader.course.behavior import record_behavior
from grader.course.copies import copy_result, find_copies
from grader.course.results import REPLACED, Course, ResultFingerprints, ResultsFolder, SubmissionResult
from grader.course.worklist import WorklistEntry, find_unread_files, read_export
from grader.judge.run import Grader, GradingOptions
from grader.report.model import NOTES, Cause, Report
from grader.report.text import sanitize
from grader.sandbox.parsing import OwnParser
from grader.sandbox.reply import ServerGone

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

    from grader.sandbox.parsing import FileParser

STARTS = 3  # starts of a sandbox that is killed before the first submission
MAX_NAMED = 240  # characters of the names of checks that have changed
ATTEMPTS = 3  # attempts to grade a submission that kills its workers
PATIENCE = 6.0  # times the budget of a run, which does not count waiting for a processor
SPARE_SECONDS = 120.0  # seconds beyond the budget before a worker counts as hung
END_SECONDS = 20.0  # seconds for all workers to clean up after SIGTERM, before they are killed
HANDED_IN = "grader-handed-in-"
LAID_OUT = re.compile(rf"(?: in )?[^ ]*{HANDED_IN}\w+/?")
FORKS = sys.platform == "linux"  # on other systems, a judge with threads cannot be copied


@dataclass(frozen=True)
class GradingJob:
    """Everything that workers need to grade any submission of a class.

    Attributes:
        export: The folder that the entries' paths are relative to.
        afresh: Whether resubmissions are graded in full.
        changed: Checks that have changed since the class was graded the last time.
    """

    root: Path
    course: Course
    export: Path
    folder: Path
    checks: dict[str, str]
    require_level: str = "basic"
    afresh: bool = False
    changed: tuple[str, ...] = ()

    @property
    def home(self) -> AssignmentFiles:
        """The files of the assignment. The sandbox tests whether a submission could read other submissions or results."""
        home = AssignmentFiles(self.root, self.course.assignment.name)
        handed_in = (
            path for entry in self.course.entries for path in (self.export / entry.path, *_inside(self.export / entry.path))
        )
        home.confidential = [self.folder / "course.json", *itertools.islice(filter(Path.is_file, handed_in), 1)]
        return home

    def key(self, entry: WorklistEntry) -> ResultFingerprints:
        """Return the fingerprints of an entry's result."""
        course = self.course
        return ResultFingerprints(submission=course.submissions[entry.id], suite=course.suite, environment=course.environment)

    def grade(
        self, grader: Grader, entry: WorklistEntry, before: SubmissionResult | None = None, again: frozenset[str] = frozenset()
    ) -> SubmissionResult:
        """Return the result of one submission.

        Args:
            before: An earlier result; None runs all checks.
            again: The checks of the earlier result that are run again.
        """
        began, used = time.monotonic(), time.process_time() + grader.cpu_seconds
        earlier = {check.id: check for check in before.report.checks} if before else {}
        shown = before.shows if before else {}
        options = GradingOptions(before=earlier, again=again)
        status: Literal["graded", "refused"] = "graded"
        try:
            with self.handed_in(entry) as path:
                report = grader.grade(path, options)
        except UsageError as error:
            status = "refused"
            if before and before.status != status:
                earlier, options = {}, GradingOptions()
            why = LAID_OUT.sub("", str(error).replace(f"{self.export}{os.sep}", ""))  # a student reads it
            report = grader.grade(grader.refused(self.export / entry.path, why), options)
        report.submission = sanitize(entry.path)
        # A check that was not seen kept its outcome, or did not run.
        kept = {check.id for check in report.checks if check.id in earlier and check.outcome is earlier[check.id].outcome}
        kept -= grader.seen.keys() | again
        return SubmissionResult(
            entry=entry.id,
            key=self.key(entry),
            status=status if report.final else "failed",
            report=report,
            checks={check.id: self.checks.get(check.id.partition("[")[0], "") for check in report.checks},
            shows={check: saw for check, saw in shown.items() if check in kept} | record_behavior(grader.seen),
            retried=tuple(grader.retried),
            taken_over=len(kept),
            host=platform.node(),
            seconds=round(time.monotonic() - began, 3),
            cpu_seconds=round(time.process_time() + grader.cpu_seconds - used, 3),
        )

    @contextlib.contextmanager
    def handed_in(self, entry: WorklistEntry) -> Iterator[Path]:
        """Yield the path of a submission.

        Files that a platform has renamed get back the names that students gave them.

        Raises:
            UsageError: If a file cannot be read.
        """
        if len(entry.parts) < 2:
            if (self.export / entry.path).is_symlink():
                raise UsageError(f"{entry.path}: it is a link; submit the file itself")
            yield self.export / entry.path
            return
        with tempfile.TemporaryDirectory(prefix=HANDED_IN) as folder:
            for name, path in entry.parts.items():
                try:
                    if contents.is_submittable(name, self.home):
                        shutil.copyfile(self.export / path, Path(folder) / name, follow_symlinks=False)
                    else:
                        (Path(folder) / name).touch()  # such as a film: a message may name it
                except OSError as error:
                    raise UsageError(f"{path} cannot be read: {error.strerror}") from error
            yield Path(folder)

    def gave_up(self, entry: WorklistEntry, why: str, attempts: int) -> SubmissionResult:
        """Return the result of a submission that has killed its workers."""
        assignment, suites = self.course.assignment, self.course.suites
        report = Report(
            assignment=assignment.name,
            title=assignment.title,
            suite_version=assignment.version,
            suites=suites,
            submission=sanitize(entry.path),
            isolation="none",
            isolation_layers=(),
            max_points=sum(assignment.total(suite) for suite in suites),
        )
        report.stop(Cause.GRADER, why)
        return SubmissionResult(entry=entry.id, key=self.key(entry), status="failed", report=report, attempts=attempts)


def _inside(path: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from path.iterdir() if path.is_dir() else ()


def prepare_job(  # noqa: PLR0913 - the options of the command `course`
    home: AssignmentFiles,
    export: Path,
    folder: Path,
    suites: tuple[str, ...],
    layout: str | None = None,
    require_level: str = "basic",
    keep: bool = False,
    afresh: bool = False,
) -> GradingJob:
    """Read the export, write course.json, and return the job.

    Args:
        keep: Whether to leave course.json as it is, whatever has changed.
        afresh: See `GradingJob`. It also allows checks that have changed since the class was graded.

    Raises:
        UsageError: If the export cannot be read, the folder cannot hold its results, or checks have changed.
    """
    found, entries = read_export(export, layout)
    if folder.resolve().is_relative_to(export.resolve()):
        raise UsageError(f"{folder} is inside {export}, and would be read as a submission; name a folder outside")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder for the results")
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)  # results reveal hidden checks and the work of all students
    results = ResultsFolder(folder)
    before = results.course() if (folder / "course.json").is_file() and not keep else None
    changed = _find_changed_checks(home, results, before) if before else []
    if changed and not afresh:
        require_consistent_checks(home, suites)  # otherwise `regrade`, which the message names, would refuse them
        raise UsageError(_explain_changed_checks(changed, folder))
    with OwnParser() as parser:
        submissions = {entry.id: hash_submission(home, export, entry, parser) for entry in entries}
    course = Course(
        assignment=home.assignment,
        suites=suites,
        export=str(export.resolve()),
        layout=found,
        suite=fingerprints.hash_suite(home, suites),
        environment=fingerprints.hash_environment(home),
        submissions=submissions,
        unread=find_unread_files(export, found, entries),
        entries=entries,
    )
    if before and not changed:
        take_over_results(course, before, results)
    checks = fingerprints.hash_checks(home, suites)
    job = GradingJob(
        home.root, course, export.resolve(), folder.resolve(), checks, require_level, afresh, changed=tuple(changed)
    )
    if changed:
        with open_warm_grader(job):  # checks that cannot run must not replace those that graded the class
            results.put_aside_course(REPLACED)
    if not keep:
        results.write_course(course)
    return job


def require_consistent_checks(home: AssignmentFiles, suites: tuple[str, ...]) -> None:
    """Raise UsageError if the checks cannot be collected, or are worth other points than assignment.toml says."""
    from grader.judge.checks import CollectedChecks  # it imports pytest

    with Grader(home, suites):  # a new one forgets the modules of these checks before they were edited
        errors = CollectedChecks(home, suites).errors
    if errors:
        raise UsageError(f"nothing was graded: {NOTES[Cause.SUITE]}: {'; '.join(errors)}")


def _find_changed_checks(home: AssignmentFiles, results: ResultsFolder, before: Course) -> list[str]:
    """Return the checks that are new, gone or different since the class was graded, the first two marked as such.

    Changed hints alone change no check.

    Raises:
        UsageError: If it is a class of another assignment.
    """
    if (other := before.assignment.name) != home.assignment.name:
        raise UsageError(
            f"{results.path} holds the results of {other}; name another folder for those of {home.assignment.name}"
        )
    if fingerprints.hash_suite(home, before.suites) == before.suite or not (graded := results.read_checks(before)):
        return []
    now = fingerprints.hash_checks(home, before.suites)
    differ = sorted(check for check in graded.keys() | now.keys() if graded.get(check) != now.get(check))
    return [check + (" (new)" if check not in graded else " (removed)" if check not in now else "") for check in differ]


def _explain_changed_checks(changed: Sequence[str], folder: Path) -> str:
    return (
        f"nothing was graded: checks have changed since the results in {folder}: {_shorten_names(changed)}. "
        f"Run `regrade {folder}` to see whose points change, then `regrade {folder} --apply`, and then `course` again; "
        "or add --afresh to grade every submission again"
    )


def _shorten_names(checks: Sequence[str]) -> str:
    return textwrap.shorten(", ".join(checks), MAX_NAMED, placeholder=" ...")


def take_over_results(course: Course, before: Course, results: ResultsFolder) -> None:
    """Set which results of the class as it was, `before`, are the earlier ones and the kept ones of `course`."""
    course.earlier = resubmission.find_earlier_results(course, before, results)
    same = {entry for entry, content in course.submissions.items() if before.submissions.get(entry) == content}
    course.kept = {entry: file for entry, file in before.kept.items() if entry in same and before.suites == course.suites}


def list_remarks(job: GradingJob) -> Iterator[str]:
    """Yield remarks for the person who grades the class."""
    if job.changed:
        yield (
            f"checks have changed since the last run, so everything is graded again: {_shorten_names(job.changed)}; "
            f"`regrade {job.folder} --undo` restores the results that this replaces"
        )
    if unread := [sanitize(name, 80) for name in job.course.unread]:
        more = f" and {len(unread) - 10} more" if len(unread) > 10 else ""
        why = "these are not submissions" if len(unread) > 1 else "it is not a submission"
        yield f"not read, because {why}: {', '.join(unread[:10])}{more}"
    if os.name == "posix" and job.folder.stat().st_mode & 0o077:
        yield f"other users of this machine can read {job.folder}, with grades and hidden checks; run chmod 700 {job.folder}"


def hash_submission(home: AssignmentFiles, export: Path, entry: WorklistEntry, parser: FileParser) -> str:
    """Return the hash of a submission in the export."""
    parts = {name: export / path for name, path in entry.parts.items()} if len(entry.parts) > 1 else {}
    return contents.hash_graded_content(export / entry.path, parts, home, parser)


def take_shard(entries: Sequence[WorklistEntry], number: int, count: int) -> list[WorklistEntry]:
    """Return one shard of the entries; all shards together are all entries.

    Args:
        entries: All entries.
        number: The position of the shard's first entry; positions begin with 1.
        count: The number of shards; a shard takes every `count`-th entry.
    """
    if not 1 <= number <= count:
        raise UsageError(f"there is no shard {number}/{count}; the first of {count} is 1/{count}, the last {count}/{count}")
    return list(entries[number - 1 :: count])


def list_ungraded_entries(job: GradingJob, entries: Sequence[WorklistEntry]) -> list[WorklistEntry]:
    """Return the entries without a result, or on which the grader itself failed, or that are wanted afresh."""
    folder = ResultsFolder(job.folder)

    def is_ungraded(entry: WorklistEntry) -> bool:  # one result at a time: those of 3,000 take a gigabyte as they are read
        result = folder.read(entry.id, job.key(entry))
        return result is None or result.status == "failed" or (job.afresh and result.taken_over > 0)

    return [entry for entry in entries if is_ungraded(entry)]


@dataclass
class GradingProcess:
    """A process that grades one submission after another.

    Attributes:
        task: The number of the task in flight.
        since: When that task began.
    """

    number: int
    process: multiprocessing.process.BaseProcess
    connection: multiprocessing.connection.Connection
    task: int | None = None
    since: float = 0.0


@dataclass
class RunProgress:
    """The progress of a run.

    Attributes:
        remark: A sentence about the number of workers.
        failed: Entries on which the grader itself failed.
        lost: Entries without a result at the end.
        rate: Submissions per second.
    """

    count: int
    done: int = 0
    remark: str = ""
    failed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def rate(self) -> float:
        """Return the submissions per second so far."""
        return self.done / max(time.monotonic() - self.began, 1e-3)

    def line(self) -> str:
        """Return the progress as one line."""
        if not self.done:
            return f"0 of {self.count} graded"
        left = (self.count - self.done) / self.rate
        lasts = f"{left / 3600:.1f} h" if left >= 5400 else f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        return f"{self.done} of {self.count} graded, {self.rate:.2f} a second, {lasts} left"


GradingTask = tuple[WorklistEntry, SubmissionResult | str | None, frozenset[str]]
"""An entry, an earlier result or its file in results/, and the checks of it to run again."""
Again = Mapping[str, tuple[SubmissionResult | str, frozenset[str]]]
"""Earlier results by entry, or their files, each with the checks to run again."""


@contextlib.contextmanager
def open_warm_grader(job: GradingJob) -> Iterator[Grader]:
    """Yield a judge and a sandbox that are ready, for workers to be copies of them.

    Raises:
        UsageError: If the suite cannot be run, or the isolation is less than required.
        ServerGone: If the sandbox was killed each time that it was started.
        KeyboardInterrupt: After SIGINT or SIGTERM while the sandbox gets ready. Later ones are
            noted, see `stopping`.
    """
    with stopping.catch_signals() as stop, contextlib.ExitStack() as kept:
        for left in reversed(range(STARTS)):
            template = kept.enter_context(Grader(job.home, job.course.suites, job.require_level))
            try:
                template.start()
                with stop.raises():
                    template.warm_up(wait=True)
                    template.require_isolation()
                    # Grade an empty submission: this shows that the suite can run, and loads into memory what all copies share.
                    trial = template.grade(template.refused(Path("nothing"), "nothing was submitted"))
                break
            except ServerGone:
                kept.close()
                if not left:
                    raise
        if not trial.final:
            raise UsageError(f"nothing was graded: {trial.explain_stop() or 'the checks cannot be run here'}")
        yield template


def grade_entries(
    job: GradingJob,
    entries: Sequence[WorklistEntry],
    workers: int,
    progress: Callable[[RunProgress], None] = lambda _: None,
    again: Again | None = None,
    template: Grader | None = None,
) -> RunProgress:
    """Grade these entries, each into a separate file, and return the progress at the end.

    Every worker is a copy of this process, which has a judge and a sandbox ready. A worker that
    dies or hangs is replaced, and its submission is tried again.

    Args:
        job: The job.
        entries: The entries to grade.
        workers: The maximum number of workers.
        progress: Called with the progress after each entry.
        again: Earlier results of entries, and the checks to run again; see `Again`. By default, those of resubmissions.
        template: A grader from `open_warm_grader`, to use it for several calls.

    Raises:
        UsageError: As `open_warm_grader`.
        KeyboardInterrupt: After SIGINT or SIGTERM, once no worker is left.
    """
    if not entries:
        return RunProgress(0)
    standing = RunProgress(len(entries))
    with (
        stopping.catch_signals() as stop,
        open_warm_grader(job) if template is None else contextlib.nullcontext(template) as ready,
    ):
        if again is None and not job.afresh:
            with stop.raises():
                plan = resubmission.ResubmissionPlan(job.home, job.course, job.folder, job.require_level)
                again = plan.make(entries)
        tasks: list[GradingTask] = [(entry, *(again or {}).get(entry.id, (None, frozenset()))) for entry in entries]
        crew = _Crew(job, ready, workers, progress, stop, standing)
        copies = find_copies(job.course, entries)
        crew.run([task for task in tasks if task[0].id not in copies])
        crew.run([task for task in tasks if task[0].id in copies and not crew.copy(copies[task[0].id], task[0])])
    return standing


class _Crew:
    """The workers of a run, and their tasks."""

    def __init__(
        self,
        job: GradingJob,
        template: Grader,
        size: int,
        progress: Callable[[RunProgress], None],
        stop: stopping.StopRequest,
        standing: RunProgress,
    ) -> None:
        self.job = job
        self.template = template
        self.size = size
        self.standing = standing
        self.progress = progress
        self.stop = stop
        self.folder = ResultsFolder(job.folder)
        self.tasks: list[GradingTask] = []
        self.waiting: list[int] = []
        self.attempts: list[int] = []
        self.limit = PATIENCE * job.course.assignment.limits.budget + SPARE_SECONDS
        self.context: ForkContext | SpawnContext = (
            multiprocessing.get_context("fork") if FORKS else multiprocessing.get_context("spawn")
        )
        self.crew: list[GradingProcess] = []

    def _fit(self, size: int) -> int:
        """Return how many workers fit into memory: judge and server have theirs, and each copy needs memory for its calls."""
        memory_mb = self.job.course.assignment.limits.memory_mb
        fitting = machine.count_fitting_workers(memory_mb)
        if fitting is None or fitting >= size:
            return size
        self.standing.remark = (
            f"grading {fitting} submissions at a time instead of {size}: {machine.read_free_memory_mb()} MB are free, "
            f"and each may need {memory_mb + machine.JUDGE_MB} MB"
        )
        return fitting

    def copy(self, original: WorklistEntry, copy: WorklistEntry) -> bool:
        """Give one entry the result of another one with the same files; return whether that was possible."""
        if done := copy_result(self.folder, self.job.course, original, copy):
            self._count(copy, True)
        return done

    def run(self, tasks: list[GradingTask]) -> None:
        """Grade these, and keep up the progress; at the end no worker is left.

        Raises:
            KeyboardInterrupt: If this process is asked to stop.
        """
        self.tasks, self.waiting, self.attempts = tasks, list(reversed(range(len(tasks)))), [0] * len(tasks)
        gc.collect()
        gc.freeze()  # so that garbage collection does not copy shared memory in every worker
        try:
            for number in range(self._fit(min(self.size, len(tasks)))):
                self.stop.check()
                self.crew.append(self._start(number))
            if not self.standing.done:
                self.standing.began = time.monotonic()
            if self.standing.remark:
                self.progress(self.standing)
            while self.crew:
                self.stop.check()
                self._hand_out()
                with self.stop.raises():
                    ready = multiprocessing.connection.wait([worker.connection for worker in self.crew], 1.0)
                for worker in [worker for worker in self.crew if worker.connection in ready]:
                    self._hear(worker)
                for worker in [worker for worker in self.crew if self._hangs(worker)]:
                    self._replace(worker, "it took too long")
        finally:
            self._end()
            gc.unfreeze()

    def _end(self) -> None:
        """End the workers that are left."""
        for worker in self.crew:
            worker.process.terminate()
        until = time.monotonic() + END_SECONDS
        for worker in self.crew:
            worker.process.join(max(until - time.monotonic(), 0.0))
            worker.process.kill()
            worker.process.join()

    def _start(self, number: int) -> GradingProcess:
        ours, theirs = self.context.Pipe()
        template = (self.template, number) if FORKS else None
        process = self.context.Process(target=_work, args=(self.job, self.tasks, theirs, template, os.getpid()), daemon=True)
        if not FORKS and os.name == "posix":
            from multiprocessing import resource_tracker

            resource_tracker.ensure_running()  # now, because it ends with a mask that lets the signals through
        with stopping.defer_signals():
            process.start()
        theirs.close()
        return GradingProcess(number, process, ours)

    def _hand_out(self) -> None:
        for worker in list(self.crew):
            if worker.task is None and self.waiting:
                worker.task, worker.since = self.waiting.pop(), time.monotonic()
                self.attempts[worker.task] += 1
                with contextlib.suppress(OSError):  # the worker died; `_hear` will notice
                    worker.connection.send((worker.task, self.attempts[worker.task]))
            elif worker.task is None:
                with contextlib.suppress(OSError):
                    worker.connection.send(None)
                worker.process.join(10)
                worker.process.kill()
                worker.connection.close()
                self.crew.remove(worker)

    def _hear(self, worker: GradingProcess) -> None:
        try:
            final = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join(5)
            self._replace(worker, f"its worker exited with {worker.process.exitcode}")
            return
        assert worker.task is not None  # a worker answers only its own task
        entry = self.tasks[worker.task][0]
        worker.task = None
        self._count(entry, final)

    def _hangs(self, worker: GradingProcess) -> bool:
        return worker.task is not None and time.monotonic() - worker.since > self.limit

    def _replace(self, worker: GradingProcess, why: str) -> None:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self.crew[self.crew.index(worker)] = self._start(worker.number)
        if worker.task is None:
            return
        if self.attempts[worker.task] < ATTEMPTS:
            self.waiting.insert(0, worker.task)  # last, so that others are not held up
            return
        entry = self.tasks[worker.task][0]
        self.folder.write(self.job.gave_up(entry, f"{why}, {ATTEMPTS} times", ATTEMPTS))
        self._count(entry, False)

    def _count(self, entry: WorklistEntry, final: bool) -> None:
        self.standing.done += 1
        if not final:
            self.standing.failed.append(entry.id)
        self.progress(self.standing)


def _work(
    job: GradingJob,
    tasks: Sequence[GradingTask],
    connection: multiprocessing.connection.Connection,
    template: tuple[Grader, int] | None,
    parent: int,
) -> None:
    """Grade the tasks that arrive at `connection` until None arrives, or SIGTERM, after which no result is written."""
    stop = stopping.catch_sigterm()
    if sys.platform == "linux":
        from grader.sandbox import kernel

        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
    folder = ResultsFolder(job.folder)
    try:
        with Grader(job.home, job.course.suites, job.require_level, template) as grader:
            stop.then(grader.interrupted.set)
            grader.require_isolation()  # before the submission is blamed
            while True:
                with stop.raises():
                    asked = connection.recv()
                if asked is None:
                    return
                number, attempt = asked
                entry, before, again = tasks[number]
                if isinstance(before, str):
                    before = folder.read_file(before)
                result = job.grade(grader, entry, before, again)
                stop.check()  # the result of an interrupted run is not valid
                folder.write(result.model_copy(update={"attempts": attempt}))
                connection.send(result.status != "failed")
    except BaseException:
        if not stop.asked:  # otherwise this may be a consequence, for example of a stopped sandbox server
            raise
