"""Inject faults into the machine while it grades correct work, and count final reports that lack a point (must be 0).

    python benchmarks/faults.py [FAULT ...] [--times N] [-o benchmarks/results]

The assignment is the toy of the kit's tests, with a solution that computes for a moment in each call. For each fault, the
result counts reports that were right, not final, or missing (all of which are honest), and reports that were
final and wrong. Needs Linux; some faults need root.
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
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUSY = "import time\n_end = time.process_time() + 0.15\nwhile time.process_time() < _end: pass\n_held = bytearray(MB << 20)\n"
SECONDS = 240
CLASS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("faults", nargs="*", default=list(FAULTS))
    parser.add_argument("--times", type=int, default=25, help="tries of each fault that happens at a random moment")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    result: dict = {
        "about": "what became of right work under faults; `wrong` are final reports without full marks",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
    }
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        kit = make_kit(Path(folder))
        for fault in options.faults:
            result[fault] = dict(FAULTS[fault](kit, options.times))
            print(fault, result[fault], file=sys.stderr, flush=True)
            (options.output / "faults.json").write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(found.get("wrong") for found in result.values() if isinstance(found, dict)))


def make_kit(folder: Path) -> Path:
    """Return a copy of the kit with the toy alone, built; a slow solution in `right`, and a class of it in `export`."""
    kit = folder / "kit"
    shutil.copytree(ROOT / "grader", kit / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "grade.py", kit)
    shutil.copy(ROOT / "pyproject.toml", kit)
    shutil.copytree(ROOT / "tests" / "kit" / "toy", kit, dirs_exist_ok=True)
    subprocess.run([sys.executable, "-m", "grader", "build", "toy"], cwd=kit, check=True, stdout=subprocess.DEVNULL)
    lines = (kit / "solutions" / "toy" / "submitted.py").read_text().splitlines(keepends=True)
    slow = []
    for line in lines:
        slow.append(line)
        if line.startswith("def "):
            slow += [f"    {added}\n" for added in BUSY.replace("MB", "150").splitlines()]
    (kit / "right").mkdir()
    (kit / "right" / "submitted.py").write_text("".join(slow))
    (kit / "export").mkdir()
    for number in range(CLASS):
        (kit / "export" / f"student{number}.py").write_text("".join(slow))
    return kit


# What is graded, and what became of it


def start_one(kit: Path, *prefix: str, env: Mapping[str, str] | None = None) -> subprocess.Popen:
    (kit / "report.json").unlink(missing_ok=True)
    command = [*prefix, sys.executable, "-m", "grader", "grade", "toy", "right", "--format", "json", "-o", "report.json"]
    return subprocess.Popen(
        command, cwd=kit, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=env
    )


def start_class(kit: Path, *prefix: str, workers: int = 3) -> subprocess.Popen:
    shutil.rmtree(kit / "class", ignore_errors=True)
    command = [*prefix, sys.executable, "-m", "grader", "course", "toy", "export", "-o", "class", "--workers", str(workers)]
    return subprocess.Popen(command, cwd=kit, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def judge_one(kit: Path, process: subprocess.Popen) -> str:
    """Wait for the end, and return what became of the report."""
    code = wait(process)
    if code is None:
        return "hangs"
    try:
        report = json.loads((kit / "report.json").read_text())
    except (OSError, ValueError):
        return "none"
    if not report["final"]:
        faulty = [check for check in report["checks"] if check["outcome"] == "grader error"]
        print("not final:", report["note"], report["note_detail"], [check["detail"] for check in faulty][:1], file=sys.stderr)
        return "not final"
    return "right" if report["points"] == report["max_points"] else "wrong"


def judge_class(kit: Path, process: subprocess.Popen) -> Counter:
    if wait(process) is None:
        return Counter(hangs=1)
    found: Counter = Counter()
    for path in (kit / "class" / "results").glob("*.json"):
        result = json.loads(path.read_text())
        report = result["report"]
        final = result["status"] != "failed" and report["final"]
        found["not final" if not final else "right" if report["points"] == report["max_points"] else "wrong"] += 1
    found["none"] = CLASS - sum(found.values())
    return +found


def wait(process: subprocess.Popen) -> int | None:
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


# Processes that are killed


def list_family(pid: int) -> list[int]:
    """Return a process and all below it, parents first."""
    with contextlib.suppress(OSError):
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *(one for child in below for one in list_family(int(child)))]
    return [pid]


def describe(pid: int) -> str:
    """Return whether a process is a judge, a server or a worker."""
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        confined = "NoNewPrivs:\t1" in Path(f"/proc/{pid}/status").read_text()
        return ("worker" if confined else "server") if b"server.py" in command else "judge"
    return ""


def kill(kit: Path, times: int, victim: str, start: Callable, judge: Callable) -> Counter:
    """Kill one process of a kind at a random moment."""
    found: Counter = Counter()
    for number in range(times):
        chance = random.Random(number)
        process = start(kit)
        until = time.monotonic() + chance.uniform(0.3, 4.0)
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        hit = False
        while process.poll() is None and not hit:
            fitting = [pid for pid in list_family(process.pid) if describe(pid) == victim]
            fitting = fitting[1:] if victim == "judge" and judge is judge_class else fitting  # the first is the whole command
            if fitting:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(fitting), signal.SIGKILL)
                    hit = True
            time.sleep(0.005)
        found["too late"] += not hit
        outcome = judge(kit, process)
        found.update(outcome if isinstance(outcome, Counter) else [outcome])
    return +found


# Little memory, full disks, few files


@contextlib.contextmanager
def memory_group(megabytes: int) -> Iterator[list[str]]:
    first = Path("/sys/fs/cgroup/memory").is_dir()
    group = Path("/sys/fs/cgroup/memory" if first else "/sys/fs/cgroup", f"grader-{os.getpid()}-{megabytes}")
    group.mkdir()
    (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(megabytes << 20))
    try:
        yield ["sh", "-c", f'echo 0 > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        time.sleep(1)
        with contextlib.suppress(OSError):
            group.rmdir()


def little_memory(kit: Path, _: int) -> Counter:
    found: Counter = Counter()
    for megabytes in (200, 350, 450, 600, 900):
        with memory_group(megabytes) as prefix:
            found.update([judge_one(kit, start_one(kit, *prefix))])
            found += judge_class(kit, start_class(kit, *prefix, workers=4))
    return found


def in_namespace(kit: Path, *commands: str) -> Counter:
    """Grade where mounts were changed first."""
    prefix = ["unshare", "-m", "sh", "-c", f'{"; ".join(commands)}; exec "$@"', "sh"]
    found = Counter([judge_one(kit, start_one(kit, *prefix))])
    return found + judge_class(kit, start_class(kit, *prefix))


def full_disk(kit: Path, _: int) -> Counter:
    found: Counter = Counter()
    for size in ("16k", "64k", "256k", "1m"):
        small = kit.parent / "small"
        small.mkdir(exist_ok=True)
        found += in_namespace(kit, f"mount -t tmpfs -o size={size} none {small}", f"export TMPDIR={small}")
    return found


def few_files(kit: Path, _: int) -> Counter:
    found: Counter = Counter()
    for files in (16, 64, 128, 256, 260, 300):
        prefix = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
        found.update([judge_one(kit, start_one(kit, *prefix))])
        found += judge_class(kit, start_class(kit, *prefix))
    return found


def two_at_once(kit: Path, times: int) -> Counter:
    other = kit.parent / "other"
    if not other.exists():
        shutil.copytree(kit, other)
    found: Counter = Counter()
    for _ in range(max(times // 10, 1)):
        started = [(kit, start_one(kit)), (other, start_one(other))]
        found.update(judge_one(where, process) for where, process in started)
    return found


def stopped(kit: Path, times: int) -> Counter:
    """Stop the judge, and later let it go on, as a machine that is paused does."""
    found: Counter = Counter()
    for number in range(max(times // 5, 1)):
        process = start_one(kit)
        time.sleep(random.Random(number).uniform(0.5, 3.0))
        for pause in (signal.SIGSTOP, signal.SIGCONT):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, pause)
            time.sleep(15 if pause == signal.SIGSTOP else 0)
        found.update([judge_one(kit, process)])
    return found


def clock_jumps(kit: Path, times: int) -> Counter:
    """Set the judge's clock a day forward or back, by libfaketime, and with it the age of every file that it looks at."""
    found: Counter = Counter()
    library, clock = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None), kit.parent / "clock"
    if library is None:
        return Counter({"not run: needs libfaketime": 1})
    faked = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    for number in range(max(times // 5, 2)):
        clock.write_text("+0")
        process = start_one(kit, env=os.environ | faked | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"})
        time.sleep(random.Random(number).uniform(0.5, 3.0))
        clock.write_text(("+1d", "-1d")[number % 2])
        found.update([judge_one(kit, process)])
    return found


def regrade_meanwhile(kit: Path, times: int) -> Counter:
    found: Counter = Counter()
    for number in range(max(times // 10, 1)):
        process = start_class(kit)
        time.sleep(random.Random(number).uniform(1.0, 5.0))
        subprocess.run([sys.executable, "-m", "grader", "regrade", "class"], cwd=kit, capture_output=True, check=False)
        found += judge_class(kit, process)
    return found


FAULTS: dict[str, Callable[[Path, int], Counter]] = {
    "worker killed": lambda kit, times: kill(kit, times, "worker", start_one, judge_one),
    "server killed": lambda kit, times: kill(kit, times, "server", start_one, judge_one),
    "judge killed": lambda kit, times: kill(kit, times, "judge", start_one, judge_one),
    "class: worker killed": lambda kit, times: kill(kit, times, "worker", start_class, judge_class),
    "class: a server killed": lambda kit, times: kill(kit, times, "server", start_class, judge_class),
    "class: a judge killed": lambda kit, times: kill(kit, times, "judge", start_class, judge_class),
    "judge stopped for 15 s": stopped,
    "memory of 200 to 900 MB": little_memory,
    "full disk": full_disk,
    "few open files": few_files,
    "no /dev/shm": lambda kit, _: in_namespace(kit, "mount -t tmpfs -o ro none /dev/shm"),
    "read-only home": lambda kit, _: in_namespace(kit, "mount --bind /root /root", "mount -o remount,ro,bind /root"),
    "clock set a day forward or back": clock_jumps,
    "two graders at once": two_at_once,
    "regrade during course": regrade_meanwhile,
}

if __name__ == "__main__":
    main()
