"""Grade a class on a Dask cluster: each task is a shard for a warm grading process next to the Dask worker (`hosting`).

Results are files, written by rename, and only the files in the folder count. So a shard may run twice, or only in part.
"""

# The functions of Dask that are called here have no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from grader.assignment import UsageError
from grader.course.hosting import ROOT, end_grading_process, run_shard
from grader.report.text import sanitize

if TYPE_CHECKING:
    from distributed import Client, Future

    from grader.course.run import GradingJob, RunProgress
    from grader.course.worklist import WorklistEntry

SHARDS = (15, 4, 1)  # submissions per task: in the first round, and in later rounds for those without a result
RETRIES = 2  # of a task whose grading process ended
CONNECT_SECONDS = 6.0
LOOK_SECONDS = 0.25
SEEN_SECONDS = 60.0  # seconds until files of another machine are visible here: as long as the attribute cache of NFS


def grade_on_cluster(
    job: GradingJob,
    entries: Sequence[WorklistEntry],
    address: str,
    workers: int | None,
    progress: Callable[[RunProgress], None] = lambda _: None,
) -> RunProgress:
    """Grade these entries on a cluster, and return the progress at the end.

    Args:
        job: The job.
        entries: The entries to grade.
        address: The address of the Dask scheduler.
        workers: Submissions that one Dask worker's grading process grades at the same time; None for as many as it has cores.
        progress: Called with the progress whenever new results appear.

    Raises:
        UsageError: If there is no such cluster, or one of its machines refuses the job.
    """
    from grader.course.run import RunProgress

    standing = RunProgress(len(entries))
    if not entries:
        return standing
    client = _connected(address)
    about: dict[str, str | int | None] = {
        "root": None if job.root.resolve() == ROOT else str(job.root.resolve()),
        "folder": str(job.folder),
        "suite": job.course.suite,
        "environment": job.course.environment,
        "require_level": job.require_level,
        "afresh": job.afresh,
        "workers": workers,
    }
    text = json.dumps(about)
    try:
        _Run(client, job, text, list(entries), standing, progress).run()
    finally:
        if client.status == "running":
            client.run(end_grading_process, text, on_error="ignore")
        client.close()
    return standing


def _connected(address: str) -> Client:
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise UsageError(f"--scheduler needs {error.name}, from the extra `cluster`: pip install '.[cluster]'") from error
    for name in ("distributed", "distributed.client"):  # Dask has set both; we report its errors on one line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, asyncio.TimeoutError) as error:
        raise UsageError(f"there is no Dask scheduler at {address} ({error}); start one, or pass its address") from error
    if not client.scheduler_info()["workers"]:
        print(f"no Dask worker is connected to {address} yet; waiting for one", file=sys.stderr, flush=True)
    return client


class _Run:
    """The client: hands out shards, and looks for their results."""

    def __init__(
        self,
        client: Client,
        job: GradingJob,
        about: str,
        entries: list[WorklistEntry],
        standing: RunProgress,
        progress: Callable[[RunProgress], None],
    ) -> None:
        from grader.course.results import ResultsFolder

        self.client, self.job, self.about, self.missing = client, job, about, entries
        self.standing, self.progress = standing, progress
        self.folder = ResultsFolder(job.folder)
        self.answered: set[str] = set()
        self.error = ""

    def run(self) -> None:
        for size in SHARDS:
            self._round(size)
            if not self.missing or self.client.status != "running":
                break
        if self.missing:
            self.standing.lost = [entry.id for entry in self.missing]
            why = sanitize(self.error)  # it may contain the name of a student's file
            print(f"submissions without a result: {len(self.missing)}; {why}", file=sys.stderr, flush=True)

    def _round(self, size: int) -> None:
        from grader.course.run import take_shard

        count = math.ceil(len(self.missing) / size)
        shards = [[entry.id for entry in take_shard(self.missing, number, count)] for number in range(1, count + 1)]
        waiting = [(self.client.submit(run_shard, self.about, ids, pure=False, retries=RETRIES), ids) for ids in shards]
        answered = time.monotonic()
        try:
            while waiting or (self._unseen() and time.monotonic() - answered < SEEN_SECONDS):
                time.sleep(LOOK_SECONDS)
                for future, ids in [one for one in waiting if one[0].done()]:
                    waiting.remove((future, ids))
                    self._hear(future, ids)
                    answered = time.monotonic()
                self._look()
        finally:
            self.client.cancel([future for future, _ in waiting])

    def _hear(self, future: Future[dict[str, Any]], ids: list[str]) -> None:
        if future.status != "finished":
            error = future.exception() if future.status == "error" else "the scheduler stopped or canceled the task"
            self.error = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else error
            return
        answer: dict[str, Any] = future.result()
        if "refused" in answer:
            raise UsageError(f"a machine of the cluster refuses the job: {answer['refused']}")
        self.answered |= set(ids)
        self.standing.failed += [name for name in answer["failed"] if name not in self.standing.failed]

    def _unseen(self) -> bool:
        return any(entry.id in self.answered for entry in self.missing)

    def _look(self) -> None:
        """Count the results that are new since the last look."""
        from grader.course.run import list_ungraded_entries

        names = set(os.listdir(self.folder.results)) if self.folder.results.is_dir() else set()
        there = [entry for entry in self.missing if self.folder.place(entry.id, self.job.key(entry)).name in names]
        open_ = {entry.id for entry in list_ungraded_entries(self.job, there)} - set(self.standing.failed)
        closed = {entry.id for entry in there} - open_
        if closed:
            self.missing = [entry for entry in self.missing if entry.id not in closed]
            self.standing.done += len(closed)
            self.progress(self.standing)
