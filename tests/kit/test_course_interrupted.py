"""Whatever ends the grading of a class: no process goes on, every result is whole, and the next run does the rest."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.course.results import SubmissionResult
from grader.sandbox.places import make_temporary_folder
from tests.kit.patience import PATIENCE
from tests.kit.toy_class import BAD, DIES_AFTER_THREE, HOOK, KIT, SUBMISSIONS, Class, grade_class, outcomes

INPUTS = (
    "command:course",
    "grader/judge/*.py",
    "grader/sandbox/*.py",
    "tests/kit/toy/solutions/toy/submitted.py",
)

SLOW_WORKERS = """
import multiprocessing.process, multiprocessing.util, time

main = os.getpid()


def slow(name, function):
    def run(*arguments, **named):
        if os.getpid() != main:
            (marks / f"{name}-{os.getpid()}").touch()
            time.sleep(1.0)
        return function(*arguments, **named)

    return run


multiprocessing.process.BaseProcess._after_fork = staticmethod(slow("starts", multiprocessing.process.BaseProcess._after_fork))
multiprocessing.util._exit_function = slow("ends", multiprocessing.util._exit_function)
"""
WORKERS_FAIL = """
graded = run.GradingJob.grade


def grade(self, grader, entry, before=None, again=frozenset()):
    with open(marks / "begun", "a") as file:
        file.write(f"{entry.id}\\n")
    if entry.id == "wrong" or entry.id == "right" and first("died"):
        os.kill(os.getpid(), signal.SIGKILL)
    if entry.id == "other" and first("hung"):
        os.kill(os.getpid(), signal.SIGSTOP)
    return graded(self, grader, entry, before, again)


run.GradingJob.grade = grade
run.PATIENCE, run.SPARE_SECONDS = 1.0, -230.0  # 10 seconds for each submission
"""


@pytest.fixture(scope="module")
def graded_class(built_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class that is graded once; to be copied, not changed."""
    return grade_class(built_toy, tmp_path_factory.mktemp("class"))


def alive(*marks: Path) -> list[str]:
    """Return the command lines of processes, other than zombies, in which one of these paths stands."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found += [words[:300]] if any(str(mark) in words for mark in marks) else []
    return found


def gone(*marks: Path, seconds: float = 10.0) -> bool:
    """Return whether, within some seconds, no process is left that knows these paths."""
    until = time.monotonic() + seconds
    while alive(*marks) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(*marks)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder that other users can pass through, for all temporary folders of a run."""
    folder = make_temporary_folder()
    yield folder
    shutil.rmtree(folder)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


@linux
def test_killed_and_resumed(graded_class: Class, tmp_path: Path, temporary: Path) -> None:
    """After SIGKILL no process goes on, every result is whole, the next run does the rest, and totals are those of one run."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words(), script=HOOK + DIES_AFTER_THREE + KIT, MARKS=str(tmp_path), TMPDIR=str(temporary))
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert gone(temporary, part.root)
    done = {name: time for name, time in part.files().items() if not name.startswith(".")}
    assert 3 <= len(done) < len(SUBMISSIONS) + 3
    for name in done:
        SubmissionResult.model_validate_json((part.folder / "results" / name).read_bytes())
    assert f"{len(done)} graded before" in part.course()
    assert done.items() <= part.files().items(), "nothing twice"
    assert {name: outcomes(one) for name, one in part.results().items()} == {
        name: outcomes(one) for name, one in graded_class.results().items()
    }
    assert (part.folder / "gradebook.csv").read_bytes() == (graded_class.folder / "gradebook.csv").read_bytes()


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped(graded_class: Class, tmp_path: Path, temporary: Path, number: int) -> None:
    """Ctrl-C and a scheduler's SIGTERM end with 130, and leave no process and no folder."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words(), TMPDIR=str(temporary))
    until = time.monotonic() + PATIENCE
    while not list(part.folder.glob("results/*.json")) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert gone(temporary, part.root)
    assert list(temporary.iterdir()) == []
    assert not list(part.folder.glob("results/.*"))


def marked(folder: Path, pattern: str, seconds: float = PATIENCE) -> int:
    """Return the process id in the name of the first mark that fits."""
    until = time.monotonic() + seconds
    while not (found := list(folder.glob(pattern))) and time.monotonic() < until:
        time.sleep(0.01)
    return int(found[0].name.partition("-")[2])


@linux
def test_stopped_while_workers_start(graded_class: Class, tmp_path: Path, temporary: Path) -> None:
    """Signals between a worker's fork and its first line, and a second one during cleanup, change nothing of this."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words(), script=HOOK + SLOW_WORKERS + KIT, MARKS=str(tmp_path), TMPDIR=str(temporary))
    worker = marked(tmp_path, "starts-*")
    process.send_signal(signal.SIGTERM)
    os.kill(worker, signal.SIGINT)  # Ctrl-C is for the whole group
    os.kill(worker, signal.SIGTERM)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "stopped: unfinished work does not count\n")
    assert gone(temporary, part.root)
    assert list(temporary.iterdir()) == []
    assert not list(part.folder.glob("results/*"))


@linux
def test_a_worker_is_stopped_after_its_last_line(graded_class: Class, tmp_path: Path) -> None:
    """What it has graded counts, and multiprocessing prints no traceback while the process ends."""
    part = graded_class.copy(tmp_path, results=False)
    process = part.start(*part.words("--shard", "1/4"), script=HOOK + SLOW_WORKERS + KIT, MARKS=str(tmp_path))
    os.kill(marked(tmp_path, "ends-*"), signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert len(part.results()) == 3


@linux
def test_workers_that_die_or_hang(graded_class: Class, tmp_path: Path, temporary: Path) -> None:
    """What a worker was at is tried again, three times at most; all others are graded, each once, and 3 tells of the one."""
    part = graded_class.copy(tmp_path, results=False)
    printed = part.course(code=3, script=HOOK + WORKERS_FAIL + KIT, MARKS=str(tmp_path), TMPDIR=str(temporary))
    assert "the grader failed for wrong" in printed
    results = part.results()
    assert sorted(results) == sorted([*SUBMISSIONS, *BAD])
    assert {name: (one.status, one.attempts) for name, one in results.items() if one.attempts > 1} == {
        "wrong": ("failed", 3),
        "right": ("graded", 2),
        "other": ("graded", 2),
    }
    assert not results["wrong"].report.final
    begun = (tmp_path / "begun").read_text().split()
    assert {name: begun.count(name) for name in results} == {name: one.attempts for name, one in results.items()}
    assert list(temporary.iterdir()) == []
    assert gone(temporary, part.root)
    printed = part.course()  # with nothing in its way, the one is graded
    assert f"{len(results) - 1} graded before" in printed
    assert outcomes(part.results()["wrong"]) == outcomes(graded_class.results()["wrong"])
