"""The grading process of a machine in a cluster: `python -m grader.course.host PARENT` grades one shard after another.

Each line of standard input asks for a shard, {"job": {...}, "entries": [ids]}; each line of standard output answers one:
{"failed": [ids]}, entries on which the grader itself failed, or {"refused": "why"}. The results are files. The process ends
with its input, or with the process PARENT that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from grader import fingerprints, machine
from grader.assignment import AssignmentFiles, UsageError
from grader.course import run, stopping
from grader.course.results import ResultsFolder
from grader.judge.run import Grader
from grader.sandbox.parsing import OwnParser


def main(parent: int) -> None:
    """Answer the shards of one job until no more come or SIGTERM arrives."""
    with contextlib.suppress(KeyboardInterrupt), stopping.catch_signals() as stop:
        if sys.platform == "linux":
            from grader.sandbox import kernel

            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                return
        _answer(stop)


def _answer(stop: stopping.StopRequest) -> None:
    with contextlib.ExitStack() as kept, _pipes() as (asked, answers):
        ready: tuple[run.GradingJob, Grader] | None = None
        answer: dict[str, list[str] | str]
        while True:
            with stop.raises():
                line = asked.readline()
            if not line:
                return
            shard = json.loads(line)
            try:
                if ready is None:
                    found = open_job(shard["job"])
                    ready = found, kept.enter_context(run.open_warm_grader(found))
                job, template = ready
                answer = {"failed": grade_shard(job, shard["entries"], shard["job"]["workers"], template)}
            except UsageError as error:
                answer = {"refused": f"{platform.node()}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)


def open_job(about: dict[str, Any]) -> run.GradingJob:
    """Return the job that a client has prepared, if suite and environment are the same here.

    Args:
        about: Has the keys root (the folder of the assignments, if they are not in the kit's own),
            folder (of the results), suite and environment (the client's hashes), require_level and afresh.

    Raises:
        UsageError: If the export is not here, or a hash differs from the client's.
    """
    course = ResultsFolder(Path(about["folder"])).course()
    if not Path(course.export).is_dir():
        raise UsageError(f"there is no {course.export} here; put the export on the shared file system")
    home = AssignmentFiles(Path(about["root"] or Path(__file__).resolve().parents[2]), course.assignment.name)
    same = "expected the hash {}, found {}; use the same kit, Python and libraries on all machines, then run the command again"
    for what, wanted, own in (
        ("suite", about["suite"], fingerprints.hash_suite(home, course.suites)),
        ("environment", about["environment"], fingerprints.hash_environment(home)),
        ("suite in course.json", about["suite"], course.suite),
    ):
        if wanted != own:
            raise UsageError(f"the {what} here differs from the client's: {same.format(wanted[:12], own[:12])}")
    checks = fingerprints.hash_checks(home, course.suites)
    folder, level = Path(about["folder"]), about["require_level"]
    return run.GradingJob(home.root, course, Path(course.export), folder, checks, level, about["afresh"])


def grade_shard(job: run.GradingJob, names: list[str], workers: int | None, template: Grader) -> list[str]:
    """Grade the entries that are not graded yet, and return the ids of those on which the grader failed.

    Raises:
        UsageError: If a submission differs from what the client read.
    """
    course, wanted = job.course, set(names)
    entries = run.list_ungraded_entries(job, [entry for entry in course.entries if entry.id in wanted])
    with OwnParser() as parser:
        for entry in entries:
            # A missing file would be graded as an empty submission.
            if run.hash_submission(job.home, job.export, entry, parser) != course.submissions[entry.id]:
                raise UsageError(f"{entry.path} differs from what the client read; share {job.export} and leave it unchanged")
    return run.grade_entries(job, entries, workers or machine.count_cores(), template=template).failed


@contextlib.contextmanager
def _pipes() -> Iterator[tuple[IO[str], IO[str]]]:
    """Yield the pipes for requests and answers, protected from other code that reads or prints."""
    asked, answers = os.dup(0), os.dup(1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    with open(asked, encoding="utf-8") as lines, open(answers, "w", encoding="utf-8") as out:
        yield lines, out


if __name__ == "__main__":
    main(int(sys.argv[1]))
