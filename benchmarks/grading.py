"""Measure the cost of grading: a whole grade in imports of torch and where it goes, a cold start, whether reports repeat.

    python benchmarks/grading.py [NAME ...] [--repeats 5] [--identical 20] [-o benchmarks/results]

The unit is the CPU time of `import torch`, measured beside each grade: a second means something else on every machine. Grades
with one call at a time are pinned to one core; those with two, to two. CPU seconds are those of all processes together, from
the kernel's accounting of finished children; memory is sampled from /proc over the whole process tree.

Where it goes is seen in one more grade, in a process of its own: "kit" is Python and the kit until the sandbox is open, "torch"
the sandbox's server, "load" the looks at the file and its loading, "calls" the workers of unit checks, "learning" those of
learning checks, "judge" the process that decides, and "report" the report as text. What forks cost the server counts as
"torch".
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

GOALS = {"policy_gradient": 2.2, "continuous_ppo": 2.4, "recurrent_a2c": 3.0, "ddpg": 3.5, "ppo_agent": 3.5}  # in imports
WALL_GOAL = {2: 0.65, 4: 0.45}  # wall of a grade on so many cores, as a share of its CPU time on one
MEMORY_GOAL = 290  # MB
STUB = [sys.executable, "grade.py", "policy_gradient"]
IMPORT_TORCH = [sys.executable, "-c", "import torch"]
NOTHING = "def nothing(submitted):\n    return None\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(GOALS), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--identical", type=int, default=20, help="how often the same submission is graded and compared")
    parser.add_argument("--inside", action="store_true", help="only grade NAME once, and print where the time goes")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(where_it_goes(options.names[0])))
        return
    stub, torch = interleaved(STUB, IMPORT_TORCH, options.repeats)
    result = {
        "about": "medians; times of a grade in units of `import torch`, CPU; goals from the issue",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": len(cores())},
        "complete grade of the solution": {name: whole_grades(name, options.repeats) for name in options.names},
        "call that does nothing": {"wall ms": empty_call(), "goal": "at most 20 ms"},
        "cold grade.py on the stub": {
            "wall seconds": median(stub),
            "import torch, wall seconds": median(torch),
            "ratio": round(statistics.median(s / t for s, t in zip(stub, torch, strict=True)), 3),
            "goal": "at most 1.2",
        },
        "identical reports": identical(options.identical),
    }
    text = json.dumps(result, indent=1)
    print(text)
    path = options.output / "grading.json"
    path.write_text(text + "\n")
    print(f"wrote {path}")


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


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


def grade(name: str, jobs: int = 1) -> list[str]:
    """Return the command that grades the solution of an assignment with all checks."""
    return [sys.executable, "-m", "grader", "grade", name, f"solutions/{name}", "--format", "json", "--jobs", str(jobs)]


def whole_grades(name: str, repeats: int) -> dict[str, Any]:
    """Return the medians of complete grades, beside their goals."""
    units, alone = [], []
    side_by_side: dict[int, list[float]] = {jobs: [] for jobs in WALL_GOAL if jobs <= len(cores())}
    for _ in range(repeats):
        units.append(run(IMPORT_TORCH, 1)["cpu"])
        alone.append(run(grade(name), 1))
        for jobs, shares in side_by_side.items():
            shares.append(run(grade(name, jobs), jobs)["wall"] / alone[-1]["cpu"])
    unit = statistics.median(units)
    inside = json.loads(subprocess.run([sys.executable, __file__, name, "--inside"], capture_output=True, check=True).stdout)
    return {
        "cpu in imports of torch": round(statistics.median(one["cpu"] for one in alone) / unit, 2),
        "goal": f"at most {GOALS[name]}",
        "cpu seconds": median(one["cpu"] for one in alone),
        "import torch, cpu seconds": round(unit, 3),
        "wall seconds on one core": median(one["wall"] for one in alone),
        "where, in imports of torch": {part: round(seconds / unit, 2) for part, seconds in inside.items()},
        "wall over that cpu, by cores": {jobs: round(statistics.median(shares), 2) for jobs, shares in side_by_side.items()},
        "its goals": {jobs: f"at most {goal}" for jobs, goal in WALL_GOAL.items()},
        "peak proportional MB of all processes": median(one["proportional"] for one in alone),
        "memory goal": f"at most {MEMORY_GOAL} MB",
    }


def run(command: list[str], on: int) -> dict[str, float]:
    """Return CPU and wall seconds, and the peak of the proportional MB, of a command on so many cores."""
    before, began, chosen = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), cores()[:on]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, chosen))
    proportional = 0.0
    while process.poll() is None:
        proportional = max(proportional, sum(memory(pid) for pid in family(process.pid)))
        time.sleep(0.05)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": wall, "proportional": proportional / 1024}


def where_it_goes(name: str) -> dict[str, float]:
    """Return the CPU seconds of each part of one grade of the solution, one call at a time."""
    from grader.assignment import SUITES, AssignmentFiles
    from grader.judge import judging
    from grader.judge.run import Grader
    from grader.report.terminal import render_plain

    home = AssignmentFiles(ROOT, name)
    calls: dict[str, float] = defaultdict(float)
    question = ""
    real = judging.CheckRunner._judge

    def noted(self: Any, item: Any, result: Any) -> None:
        nonlocal question
        question = result.question
        real(self, item, result)

    judging.CheckRunner._judge = noted  # type: ignore[method-assign]
    with Grader(home, SUITES) as grader:
        sandbox: Any = grader._sandbox
        exchange = sandbox._exchange

        @contextlib.contextmanager
        def timed(request: dict[str, Any], seconds: float) -> Iterator[Any]:
            before = grader.cpu_seconds
            with exchange(request, seconds) as reply:
                yield reply
            running = request["do"] in ("call", "converse")
            part = "load" if not running else "learning" if question.startswith("learning") else "calls"
            calls[part] += grader.cpu_seconds - before

        sandbox._exchange = timed
        kit = time.process_time()
        report = grader.grade(home.solution)
        judge = time.process_time()
        render_plain(report)
        told = time.process_time()
    assert report.points == report.max_points > 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    server = used.ru_utime + used.ru_stime - sum(calls.values())
    return {"kit": kit, "torch": server, **calls, "judge": judge - kit, "report": told - judge}


def family(pid: int) -> list[int]:
    """Return the process and all its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in family(int(child)))]


def memory(pid: int) -> int:
    """Return the proportional kB of a process."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def empty_call(calls: int = 200) -> float:
    """Return the median wall milliseconds of a driver call that does nothing, with a warm server and no submission."""
    from grader.sandbox.forked import ForkedSandbox
    from grader.sandbox.places import make_readable, make_temporary_folder

    folder = make_temporary_folder()
    drivers, submissions = folder / "drivers.py", folder / "submissions"
    drivers.write_text(NOTHING)
    submissions.mkdir()
    make_readable(folder)
    with ForkedSandbox(drivers, [submissions]) as sandbox:
        sandbox.warm_up()
        times = []
        for _ in range(calls):
            began = time.perf_counter()
            sandbox.call("nothing", {})
            times.append((time.perf_counter() - began) * 1000)
    shutil.rmtree(folder)
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
