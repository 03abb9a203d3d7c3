"""Measure the cost of proving the kit: `make test`, again and after one changed file, `make verify`, a new assignment.

    python benchmarks/proving.py [test] [again] [check] [verify] [demo] [--tree FOLDER] [-o benchmarks/results]

Every command runs in a fresh clone whose virtual environment is this one, or in --tree. `check` begins with the replies that
this checkout has kept (.cache, grader/proof/reply_cache.py), as on the machine of somebody who has run the tests before. CPU
seconds are those of all processes, orphans among them, from the kernel's accounting of finished children; memory is the
largest sum of proportional set sizes. Both times are also given in units of `import torch`, measured right before each
command. Run it on an idle machine. Results of other parts stay in the file; each part says on which machine it was measured.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORT_TORCH = [sys.executable, "-c", "import torch"]
PR_SET_CHILD_SUBREAPER = 36

GOALS = {
    "make test": "14 minutes; aim 10; 3 GB, aim 2; with records of the proof 8 minutes, aim 5",
    "make test, nothing changed": "60 seconds, aim 30",
    "make check": "2 minutes; aim 60 seconds; with records 60 seconds, aim 30; in judge/ 2 minutes, in sandbox/ 6 minutes",
    "make verify": "20 minutes; aim 15",
    "demo": "5 CPU seconds; aim 3",
}
# One file of each place that `make check` must be quick for, and what to replace in it by what: comments choose no tests.
CHANGED = {
    "solutions/ddpg/submitted.py": ("self.ptr, self.size = 0, 0", "self.ptr = self.size = 0"),
    "solutions/policy_gradient/mistakes.py": ("future = reward + discount_factor", "future = 0.0 + reward + discount_factor"),
    "grader/course/gradebook.py": ("MAX_CELL = 30_000", "MAX_CELL = 3 * 10_000"),
    "grader/report/table.py": ('io.StringIO(newline="")', 'io.StringIO("", newline="")'),
    "grader/desk/show.py": ("ROWS = 24", "ROWS = 4 * 6"),
    "grader/authoring/stub.py": ('start, name = 0, ""', 'name, start = "", 0'),
    "grader/packing/release.py": ("README_WIDTH = 100", "README_WIDTH = 10 * 10"),
    "grader/judge/compare.py": (
        'return _difference(expected, got, Tolerance(rtol, atol, exact_dtype, equal_nan), "result")',
        'how = Tolerance(rtol, atol, exact_dtype, equal_nan)\n    return _difference(expected, got, how, "result")',
    ),
    "grader/sandbox/wire.py": ("MAX_JSON = 1 << 20", "MAX_JSON = 1024 * 1024"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--files", nargs="*", default=list(CHANGED), help="which files `check` changes, one after the other")
    parser.add_argument("--tree", type=Path, help="a checkout that is set up, in place of a fresh clone")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    adopt_orphans()
    path = options.output / "proving.json"
    before = json.loads(path.read_text()) if path.is_file() else {}
    result = {
        "about": "CPU and wall seconds of whole commands, alone and in units of `import torch`; goals from the issue",
        "goals": GOALS,
    } | {part: before[part] for part in PARTS if part in before}
    machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    measures = PARTS | {"check": functools.partial(check, files=options.files)}
    with tree(options.tree) as folder:
        for part in options.parts:
            result[part] = {"machine": machine} | measures[part](folder)
            path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


@contextlib.contextmanager
def tree(given: Path | None) -> Iterator[Path]:
    """Yield a checkout whose virtual environment is ready."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "kit")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        (clone / ".venv").symlink_to(ROOT / ".venv")
        (ROOT / ".venv" / "ready").touch()
        yield clone


def test(folder: Path) -> dict:
    return measured(["make", "test"], folder)


def again(folder: Path) -> dict:
    """Return what `make test` costs after one that has passed."""
    return measured(["make", "test"], folder)


def check(folder: Path, files: Iterable[str] = tuple(CHANGED)) -> dict:
    """Return what `make check` costs after one changed file, for each of these; what passed before it must be known.

    Each begins with what is known now: what another change has shown is forgotten.
    """
    found = {}
    if (ROOT / ".cache").is_dir():
        shutil.copytree(ROOT / ".cache", folder / ".cache", dirs_exist_ok=True)
    with tempfile.TemporaryDirectory() as kept:
        caches = [folder / name for name in (".cache", ".pytest_cache") if (folder / name).is_dir()]
        for cache in caches:
            shutil.copytree(cache, Path(kept, cache.name))
        for name in files:
            path, (old, new) = folder / name, CHANGED[name]
            before = path.read_text(encoding="utf-8")
            assert old in before, f"{name} has no {old!r} any more: choose another change"
            path.write_text(before.replace(old, new, 1), encoding="utf-8")
            try:
                found[name] = measured(["make", "check"], folder)
            finally:
                path.write_text(before, encoding="utf-8")
            for cache in caches:
                shutil.rmtree(cache)
                shutil.copytree(Path(kept, cache.name), cache)
    return found


def verify(folder: Path) -> dict:
    return measured(["make", "verify"], folder)


def demo(folder: Path) -> dict:
    grader = f"{sys.executable} -m grader"
    steps = f"{grader} new demo && {grader} build demo && {grader} verify demo"
    try:
        return measured(["sh", "-c", steps], folder)
    finally:
        subprocess.run([sys.executable, "-m", "grader", "remove", "demo", "--yes"], cwd=folder, stdout=subprocess.DEVNULL)


PARTS = {"test": test, "again": again, "check": check, "verify": verify, "demo": demo}


def measured(command: list[str], folder: Path) -> dict:
    """Run a command and return its times, its memory and how it ended; its output goes to the terminal's stderr."""
    unit_wall, unit_cpu = import_torch()
    wall, cpu, exit_code, peak = timed(command, folder)
    return {
        "exit code": exit_code,
        "wall seconds": round(wall, 1),
        "cpu seconds": round(cpu, 1),
        "wall in imports of torch": round(wall / unit_wall, 1),
        "cpu in imports of torch": round(cpu / unit_cpu, 1),
        "peak proportional MB": round(peak / 1024),
    }


def import_torch(repeats: int = 5) -> tuple[float, float]:
    """Return the median (wall, CPU) seconds of `import torch`."""
    times = [timed(IMPORT_TORCH, ROOT)[:2] for _ in range(repeats)]
    return statistics.median(wall for wall, _ in times), statistics.median(cpu for _, cpu in times)


def timed(command: list[str], folder: Path) -> tuple[float, float, int, int]:
    """Return (wall seconds, CPU seconds, exit code, peak proportional kB) of a command and all that it started."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {"CI": "true"}
    process = subprocess.Popen(command, cwd=folder, stdout=sys.stderr, env=environment)
    peak, over = [0], threading.Event()

    def sample() -> None:
        while not over.wait(3.0):
            peak[0] = max(peak[0], sum(map(proportional_kb, family(os.getpid())[1:])))
            reap(but=process.pid)

    watcher = threading.Thread(target=sample)
    watcher.start()
    exit_code = process.wait()
    wall = time.perf_counter() - began
    over.set()
    watcher.join()
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0):  # orphans, which count as well
            pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, exit_code, peak[0]


def reap(but: int) -> None:
    """Take leave of the orphans that have ended, as the first process of a system does."""
    for child in children_of(os.getpid(), str(threading.main_thread().native_id)):
        if child != but:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)


def adopt_orphans() -> None:
    """Become the parent of processes whose own parent ends, so that their times are counted here."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def family(pid: int) -> list[int]:
    """Return the process and all its descendants."""
    try:
        children = [child for task in os.listdir(f"/proc/{pid}/task") for child in children_of(pid, task)]
    except OSError:
        return []
    return [pid, *(member for child in children for member in family(child))]


def children_of(pid: int, task: str) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:
        return []


def proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
