"""Grade a class of 3,000 on two Dask workers of this machine, of which one is lost, and whose scheduler is restarted.

    python benchmarks/cluster.py [--size 3000] [--work DIR] [-o benchmarks/results]

The class hands in the toy assignment of the kit's tests, which needs no torch, so that what is measured is the coordination
and not the grading. At a third of the results one Dask worker is killed, and another one started a little later; at two thirds
the scheduler is killed, the client ends, and everything is started again with the same command. Then the results are counted,
and those of a sample are compared with the ones that this machine gives without Dask. Writes cluster.json. It needs the extra
`cluster`, and takes half an hour of two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.authoring.build import build
from grader.course.results import ResultsFolder
from tests.kit.toy_class import KIT, OTHER, SIMPLE, SOLUTION, WRONG

TOY = ROOT / "tests" / "kit" / "toy"
KINDS = {"right": SOLUTION, "wrong": WRONG, "another way": OTHER, "simple": SIMPLE, "not Python": "def total(:\n"}
LONGEST = 7_200  # seconds of a run
SAMPLE = 100  # submissions that are also graded without Dask


class Cluster:
    """A scheduler and its workers, as a person would start them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the scheduler and two workers."""
        port = self.address.rpartition(":")[2]
        self.scheduler = self._run("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        for _ in range(2):
            self.add_worker()

    def add_worker(self) -> None:
        place = ["--nthreads", "1", "--local-directory", str(self.folder), "--no-dashboard"]
        self.workers.append(self._run("dask_worker", self.address, *place))

    def lose_worker(self) -> None:
        """Kill the first worker, with its nanny; its grading process ends by itself."""
        os.killpg(self.workers.pop(0).pid, signal.SIGKILL)

    def lose_scheduler(self) -> None:
        """Kill the scheduler, and stop the workers, which would wait for it."""
        assert self.scheduler is not None
        os.killpg(self.scheduler.pid, signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        for process in (*self.workers, *filter(None, [self.scheduler])):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        self.workers, self.scheduler = [], None

    def _run(self, module: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *options]
        with (self.folder / f"{module}.log").open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=environment(), start_new_session=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--work", type=Path, help="keep the class and its results here, in a new folder")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    work = (options.work or Path(tempfile.mkdtemp(prefix="cluster-"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    work.chmod(0o755)  # so that workers of another user reach the folders of the sandbox in it
    result = measure(work, options.size)
    text = json.dumps(result, indent=1)
    print(text)
    (options.output / "cluster.json").write_text(text + "\n", encoding="utf-8")
    if options.work is None:
        shutil.rmtree(work)


def measure(work: Path, size: int) -> dict[str, Any]:
    """Return how the class was graded in two runs, and what came of it."""
    root, export, folder = work / "kit", work / "class", work / "results"
    shutil.copytree(TOY, root, ignore=shutil.ignore_patterns("__pycache__"))
    build(root, "toy")
    kinds = write_class(export, size)
    cluster = Cluster(work)
    cluster.start()
    try:
        first = graded(root, export, folder, cluster, {size // 3: cluster.lose_worker, size // 2: cluster.add_worker}, size)
        before = mtimes(folder)
        cluster.stop()
        cluster.start()
        second = graded(root, export, folder, cluster, {}, size)
    finally:
        cluster.stop()
    known = ResultsFolder(folder)
    results = known.of(known.course())
    return {
        "about": "a class of the toy assignment on two Dask workers of one machine; one is killed at a third, the scheduler at "
        "two thirds; then the same command again",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
        "submissions": dict(Counter(kinds.values())),
        "until the scheduler was killed": first,
        "again": second,
        "results": sum(found is not None for found in results.values()),
        "results graded a second time": sum(mtimes(folder)[name] != moment for name, moment in before.items()),
        "points by kind": {
            kind: sorted({found.report.points for name, found in results.items() if found and kinds[name] == kind})
            for kind in KINDS
        },
        "differ from a run without Dask": compare(root, export, work / "alone", known, kinds),
        "class.html, kB": round((folder / "class.html").stat().st_size / 1000),
        "goal": "every submission has one result; the client needs at most 500 MB; class.html has at most 5 MB",
    }


def write_class(export: Path, size: int) -> dict[str, str]:
    """Write so many submissions, each with a line of its own, and return the kind of each."""
    export.mkdir()
    names = list(KINDS)
    kinds = {f"student{number:05}": names[number % len(names)] for number in range(size)}
    for name, kind in kinds.items():
        (export / f"{name}.py").write_text(f"# {name}\n{KINDS[kind]}", encoding="utf-8")
    return kinds


def graded(root: Path, export: Path, folder: Path, cluster: Cluster, events: dict[int, Any], size: int) -> dict[str, Any]:
    """Return how a run of `course` went; events: what happens once there are so many results.

    A run with events ends when the scheduler is killed, at two thirds.
    """
    pending = sorted(events.items())
    if pending:
        pending.append((2 * size // 3, cluster.lose_scheduler))
    command = [*course(root, export, folder), "--workers", "1", "--scheduler", cluster.address]
    began = time.monotonic()
    with (folder.parent / "client.log").open("a") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=environment())
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > began + LONGEST:
            process.kill()
            raise SystemExit(f"the client has not ended within {LONGEST} seconds")
        time.sleep(0.5)
        done = sum(1 for _ in (folder / "results").glob("*.json")) if (folder / "results").is_dir() else 0
        while pending and done >= pending[0][0]:
            pending.pop(0)[1]()
    return {
        "exit code of the client": os.waitstatus_to_exitcode(status),
        "wall s": round(time.monotonic() - began),
        "CPU s of the client": round(used.ru_utime + used.ru_stime),
        "peak memory of the client, MB": round(used.ru_maxrss * 1024 / 1e6),
        "results then": len(mtimes(folder)),
    }


def course(root: Path, export: Path, folder: Path) -> list[str]:
    return [sys.executable, "-c", KIT, str(root), "course", "toy", str(export), "-o", str(folder)]


def environment() -> dict[str, str]:
    """Return the environment without a variable for which each process would compile the kit anew."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def mtimes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "results").glob("*.json")}


def compare(root: Path, export: Path, alone: Path, known: ResultsFolder, kinds: dict[str, str]) -> dict[str, int]:
    """Return how many of a sample of submissions get something else when this machine grades them without Dask."""
    few = alone / "class"
    few.mkdir(parents=True)
    for name in random.Random(0).sample(sorted(kinds), min(SAMPLE, len(kinds))):
        shutil.copyfile(export / f"{name}.py", few / f"{name}.py")
    subprocess.run(course(root, few, alone / "results"), cwd=ROOT, stdout=subprocess.DEVNULL, env=environment(), check=True)
    here, there = ResultsFolder(alone / "results"), known.of(known.course())
    differing = 0
    for name, found in here.of(here.course()).items():
        pair = [found, there[name]]
        checks = [
            one and [(check.id, check.outcome, check.points, check.message) for check in one.report.checks] for one in pair
        ]
        differing += checks[0] != checks[1]
    return {"compared": len(list(few.iterdir())), "differing": differing}


if __name__ == "__main__":
    main()
