"""A class graded on a real Dask cluster of this machine, one worker of which is killed; and other troubles."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.assignment import AssignmentFiles, UsageError
from grader.course import cluster, hosting, run
from grader.course.results import Course, ResultsFolder
from tests.kit.patience import PATIENCE

INPUTS = {
    "*": ("command:course", "grader/course/host.py", "grader/judge/*.py", "grader/sandbox/*.py"),
    "test_a_scheduler_that_is_not_there_is_told_in_a_line": ("grading:policy_gradient",),
}

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).resolve().parents[2]
WRONG = "def total(values):\n    return 1.0 + sum(values)\n\n\ndef spread(values, scale=1.0):\n    return max(values) * scale\n"
SLOW = "import time\n\n\ndef total(values):\n    time.sleep(0.2)\n    raise RuntimeError\n"


@pytest.fixture
def class_of_24(built_toy: Path, tmp_path: Path) -> Path:
    """A folder of files: right ones, wrong ones, slow ones that fail, and one that cannot be read."""
    export = tmp_path / "export"
    export.mkdir()
    solution = (built_toy / "solutions" / "toy" / "submitted.py").read_text(encoding="utf-8")
    for number in range(24):
        text = (solution, WRONG, SLOW, solution + f"# {number}\n")[number % 4]
        (export / f"s{number:02}.py").write_text("def broken(:\n" if number == 23 else text, encoding="utf-8")
    return export


def address_in(about: Path) -> str:
    """Return the scheduler's address once its file holds all of it: Dask makes the file first and writes it afterwards."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return json.loads(about.read_text())["address"]
        except (FileNotFoundError, json.JSONDecodeError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


@contextlib.contextmanager
def dask(folder: Path, workers: int) -> Iterator[str]:
    """Yield the address of a scheduler with that many workers, all started as a person would start them."""
    about = folder / "scheduler.json"
    common = ["--scheduler-file", str(about), "--no-dashboard"]
    started: list[subprocess.Popen[bytes]] = []

    def start(module: str, *options: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *options, *common]
        with (folder / f"{len(started)}.log").open("w") as log:
            started.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log))

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        for _ in range(workers):
            start("dask_worker", "--host", "127.0.0.1", "--nthreads", "1", "--local-directory", str(folder))
        yield address_in(about)
    finally:
        for process in reversed(started):  # the scheduler last, or workers would look for it
            process.terminate()
            process.wait(60)


def outcomes(course: Course, folder: Path) -> dict[str, tuple]:
    """Return of each submission what decides about its points."""
    found = {}
    for entry, result in ResultsFolder(folder).of(course).items():
        assert result is not None
        checks = [(check.id, check.outcome, check.points, check.message) for check in result.report.checks]
        found[entry] = (result.status, result.report.points, checks)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are not copies, and this takes minutes")
def test_a_worker_is_killed_and_nothing_is_lost(built_toy: Path, class_of_24: Path, tmp_path: Path) -> None:
    """Every submission has exactly one result, the same as on one machine; no student code was in a Dask worker."""
    home, suites = AssignmentFiles(built_toy, "toy"), ("visible", "hidden")
    job = run.prepare_job(home, class_of_24, tmp_path / "results", suites)
    killed: list[int] = []
    counts: list[int] = []
    with dask(tmp_path, 2) as address, distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE)

        def kill(standing: run.RunProgress) -> None:
            counts.append(standing.done)
            busy = [worker for worker, tasks in client.processing().items() if tasks]
            if not killed and busy:
                pids = client.run(os.getpid)
                killed.append(pids[busy[0]])
                os.kill(killed[0], signal.SIGKILL)

        standing = cluster.grade_on_cluster(job, job.course.entries, address, 1, kill)
        client.wait_for_workers(2, timeout=PATIENCE)  # Dask has started another one
        loaded = client.run(lambda: sorted(__import__("sys").modules))
    assert killed
    assert counts[0] < 24
    assert (standing.done, standing.failed, standing.lost) == (24, [], [])
    assert counts == sorted(set(counts))
    assert len(list((tmp_path / "results" / "results").iterdir())) == 24
    assert any("grader.course.hosting" in modules for modules in loaded.values())
    for modules in loaded.values():
        assert not [
            name for name in modules if name.startswith(("torch", "grader.judge", "grader.sandbox", "grader.course.run"))
        ]
    here = run.prepare_job(home, class_of_24, tmp_path / "here", suites)
    run.grade_entries(here, here.course.entries, 2)
    assert outcomes(job.course, tmp_path / "results") == outcomes(here.course, tmp_path / "here")


def grading_process() -> subprocess.Popen[str]:
    """Return the process that grades for this one; it has to be there."""
    assert hosting._host is not None
    return hosting._host[1]


def test_a_machine_refuses_what_is_not_the_clients(built_toy: Path, class_of_24: Path, tmp_path: Path) -> None:
    """Another suite, another environment, or no export: it says which, and its own name; a process that is gone is replaced."""
    job = run.prepare_job(AssignmentFiles(built_toy, "toy"), class_of_24, tmp_path / "results", ("visible",))
    about = {"root": str(built_toy), "folder": str(job.folder), "require": "basic", "workers": 1}
    about |= {"suite": job.course.suite, "environment": "0" * 64}
    try:
        refused = hosting.run_shard(json.dumps(about), ["s00"])["refused"]
        assert refused.startswith(
            f"{platform.node()}: the environment here differs from the client's: expected the hash 000000000000, found"
        )
        first = grading_process()
        assert hosting.run_shard(json.dumps(about), ["s00"])["refused"] == refused
        assert grading_process() is first
        first.kill()
        first.wait()
        class_of_24.rename(tmp_path / "elsewhere")
        assert "put the export on the shared file system" in hosting.run_shard(json.dumps(about), ["s00"])["refused"]
        last = grading_process()
    finally:
        hosting.end_grading_process()
    assert last.wait(60) == 0


class Cluster:
    """Stands in for Dask: a shard with a poisonous submission ends its worker, after it has graded `luck` others."""

    status = "running"

    def __init__(self, job: run.GradingJob, poison: set[str], luck: int = 0) -> None:
        self.job, self.poison, self.luck = job, poison, luck
        self.shards: list[list[str]] = []

    def submit(self, function, about: str, ids: list[str], **_: object):
        """Return what looks like a task that has ended."""
        self.shards.append(ids)
        ill = bool(self.poison & set(ids))
        for entry in self.job.course.entries:
            if entry.id in (ids[: self.luck] if ill else ids) and entry.id not in self.poison:
                gave_up = self.job.gave_up(entry, "", 1)
                ResultsFolder(self.job.folder).write(gave_up.model_copy(update={"status": "graded"}))
        died = distributed.scheduler.KilledWorker("task", SimpleNamespace(address="there"), 3)
        answer = SimpleNamespace(done=lambda: True, status="error" if ill else "finished")
        answer.exception, answer.result = lambda: died, lambda: {"failed": []}
        return answer

    def scheduler_info(self) -> dict[str, object]:
        """Return that there is a worker."""
        return {"workers": {"one": None}}

    def run(self, *_: object, **__: object) -> None:
        """Do nothing."""

    cancel = run
    close = run


def test_a_poisonous_submission_takes_no_other_along(
    built_toy: Path, class_of_24: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """What was in a task with it is tried in smaller ones, and it is left over alone."""
    job = run.prepare_job(AssignmentFiles(built_toy, "toy"), class_of_24, tmp_path / "results", ("visible",))
    client = Cluster(job, {"s05"}, luck=2)
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: client)
    standing = cluster.grade_on_cluster(job, job.course.entries, "here", None)
    assert (standing.done, standing.lost) == (23, ["s05"])
    sizes = [len(ids) for ids in client.shards]
    assert sizes[:2] == [12, 12]
    assert sizes[2:5] == [4, 3, 3]
    assert set(sizes[5:]) == {1}
    assert "submissions without a result: 1; KilledWorker" in capsys.readouterr().err
    again = cluster.grade_on_cluster(job, run.list_ungraded_entries(job, job.course.entries), "here", None)
    assert (again.count, again.lost) == (1, ["s05"])


def test_a_scheduler_that_is_not_there_is_told_in_a_line(class_of_24: Path, tmp_path: Path) -> None:
    """It does not take long, and what to do is said."""
    impatient = (
        "from grader import __main__; from grader.course import cluster; cluster.CONNECT_SECONDS = 1; exit(__main__.main())"
    )
    asked = ["course", "policy_gradient", str(class_of_24), "-o", str(tmp_path / "out"), "--scheduler", "tcp://127.0.0.1:9"]
    command = [sys.executable, "-c", impatient, *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no Dask scheduler at tcp://127.0.0.1:9")
    assert done.stderr.count("\n") == 1


def test_without_dask_the_extra_is_named(
    built_toy: Path, class_of_24: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grading on one machine does not need it."""
    job = run.prepare_job(AssignmentFiles(built_toy, "toy"), class_of_24, tmp_path / "results", ("visible",))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        UsageError, match=r"--scheduler needs distributed, from the extra `cluster`: pip install '\.\[cluster\]'"
    ):
        cluster.grade_on_cluster(job, job.course.entries, "here", None)
