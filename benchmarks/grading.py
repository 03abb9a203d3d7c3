"""Measure the cost of grading: a whole grade, an empty call, a cold start on the stub, and whether reports repeat.

    python benchmarks/grading.py [--repeats 7] [--identical 20] [-o benchmarks/results]

Everything runs pinned to one core. CPU seconds are those of all processes together, from the kernel's accounting of finished
children; memory is sampled from /proc over the whole process tree. Wall times are compared in turn within this run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.sandbox.forked import ForkedSandbox

GOALS = {
    "policy_gradient": "at most 6 CPU seconds, 400 MB",
    "continuous_ppo": "at most 15 CPU seconds, 600 MB",
    "recurrent_a2c": "at most 20 CPU seconds, 600 MB",
    "ddpg": "at most 20 CPU seconds, 600 MB",
    "ppo_agent": "at most 20 CPU seconds, 600 MB",
}
STUB = [sys.executable, "grade.py", "policy_gradient"]
IMPORT_TORCH = [sys.executable, "-c", "import torch"]
NOTHING = "def nothing(submitted):\n    return None\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--identical", type=int, default=20, help="how often the same submission is graded and compared")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    stub, torch = interleaved(STUB, IMPORT_TORCH, options.repeats)
    result = {
        "about": "one core; medians; goals from the issues",
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "complete grade of the solution": {name: whole_grades(name, options.repeats) for name in GOALS},
        "call that does nothing": {"wall ms": empty_call(), "goal": "at most 20 ms"},
        "cold grade.py on the stub": {
            "wall seconds": median(stub),
            "import torch, wall seconds": median(torch),
            "ratio": round(statistics.median(s / t for s, t in zip(stub, torch, strict=True)), 3),
            "goal": "at most 1.2",
        },
        "identical reports": identical(options.identical),
    }
    text = json.dumps(result, indent=2)
    print(text)
    path = options.output / "grading.json"
    path.write_text(text + "\n")
    print(f"wrote {path}")


def median(values) -> float:
    return round(statistics.median(values), 3)


def interleaved(one: list[str], other: list[str], repeats: int) -> tuple[list[float], list[float]]:
    """Return the wall seconds of two commands run in turn, after one run of each that does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats + 1):
        for command, kept in zip((one, other), times, strict=True):
            began = time.perf_counter()
            subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
            if turn:
                kept.append(time.perf_counter() - began)
    return times


def grade(name: str) -> list[str]:
    """Return the command that grades the solution of an assignment with all checks."""
    return [sys.executable, "-m", "grader", "grade", name, f"solutions/{name}", "--format", "json"]


def whole_grades(name: str, repeats: int) -> dict[str, float | str]:
    """Return the medians of what `whole_grade` measures, beside their goals."""
    grades = [whole_grade(name) for _ in range(repeats)]
    return {
        "cpu seconds": median(cpu for cpu, _, _ in grades),
        "peak private MB of all processes": median(private for _, private, _ in grades),
        "peak proportional MB of all processes": median(proportional for _, _, proportional in grades),
        "goals": GOALS[name],
    }


def whole_grade(name: str) -> tuple[float, float, float]:
    """Return (CPU seconds, peak private MB, peak proportional MB) of grading the solution with all checks."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(grade(name), cwd=ROOT, stdout=subprocess.DEVNULL)
    private = proportional = 0.0
    while process.poll() is None:
        now = [memory(pid) for pid in family(process.pid)]
        private = max(private, sum(one for one, _ in now))
        proportional = max(proportional, sum(other for _, other in now))
        time.sleep(0.05)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, private / 1024, proportional / 1024


def family(pid: int) -> list[int]:
    """Return the process and all its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in family(int(child)))]


def memory(pid: int) -> tuple[int, int]:
    """Return (private, proportional) kB of a process."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0, 0
    kb = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return kb["Private_Clean"] + kb["Private_Dirty"], kb["Pss"]


def empty_call(calls: int = 200) -> float:
    """Return the median wall milliseconds of a driver call that does nothing, with a warm server and no submission."""
    with tempfile.TemporaryDirectory() as folder:
        drivers = Path(folder) / "drivers.py"
        drivers.write_text(NOTHING)
        with ForkedSandbox(drivers, [ROOT]) as sandbox:
            sandbox.warm_up()
            times = []
            for _ in range(calls):
                began = time.perf_counter()
                sandbox.call("nothing", {})
                times.append((time.perf_counter() - began) * 1000)
    return median(times)


def identical(times: int) -> dict[str, int]:
    """Return how many different reports came of grading the solution so often, every other time with four threads asked for."""

    def content(turn: int) -> str:
        environment = os.environ | {"OMP_NUM_THREADS": "4" if turn % 2 else "1"}
        done = subprocess.run(grade("policy_gradient"), cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
        report = json.loads(done.stdout)
        for part in (report, *report["questions"], *report["checks"]):
            part.pop("seconds")
        return json.dumps(report)

    return {"runs": times, "different reports": len({content(turn) for turn in range(times)})}


if __name__ == "__main__":
    main()
