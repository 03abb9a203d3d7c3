"""Grade each solution as Gradescope's smallest container would: 768 MB and half a CPU, by the zip's own run_autograder.

    sudo python benchmarks/gradescope_container.py [NAME ...] [-o benchmarks/results]

Needs root and a writable cgroup hierarchy (v1 or v2). The environment is the one that runs this script.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.assignment import AssignmentFiles
from grader.platforms.gradescope.package import collect_autograder_files

MEMORY = 768 << 20
PERIOD_US, QUOTA_US = 100_000, 50_000
CGROUPS = Path("/sys/fs/cgroup")
NAME = "rl-grader-benchmark"


def enter() -> tuple[list[Path], Path]:
    """Return (files to write a process id into, file with the peak memory) of a new group with the limits."""
    if (CGROUPS / "cgroup.controllers").exists():
        group = CGROUPS / NAME
        group.mkdir(exist_ok=True)
        (group / "memory.max").write_text(str(MEMORY))
        (group / "memory.swap.max").write_text("0")
        (group / "cpu.max").write_text(f"{QUOTA_US} {PERIOD_US}")
        return [group / "cgroup.procs"], group / "memory.peak"
    memory, cpu = CGROUPS / "memory" / NAME, CGROUPS / "cpu" / NAME
    for group in (memory, cpu):
        group.mkdir(exist_ok=True)
    (memory / "memory.limit_in_bytes").write_text(str(MEMORY))
    (cpu / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (cpu / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
    return [memory / "cgroup.procs", cpu / "cgroup.procs"], memory / "memory.max_usage_in_bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", default=sorted(path.parent.name for path in ROOT.glob("assignments/*/assignment.toml"))
    )
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    result = {
        "limits": "768 MB of memory, half a CPU, by cgroup",
        "assignments": {name: measure(AssignmentFiles(ROOT, name)) for name in options.names},
    }
    text = json.dumps(result, indent=2)
    print(text)
    path = options.output / "gradescope_container.json"
    path.write_text(text + "\n")
    print(f"wrote {path}")


def measure(home: AssignmentFiles) -> dict[str, float]:
    """Return points, seconds and memory of the solution of one assignment."""
    members, peak = enter()

    def join() -> None:
        for member in members:
            member.write_text(str(os.getpid()))

    try:
        with tempfile.TemporaryDirectory() as temporary:
            root = Path(temporary)
            for name, content in collect_autograder_files(home).items():
                path = root / "source" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            (root / "submission").mkdir()
            shutil.copy(home.solution / "submitted.py", root / "submission")
            began = time.perf_counter()
            subprocess.run(
                ["bash", str(root / "source" / "run_autograder")],
                env={**os.environ, "AUTOGRADER_ROOT": str(root), "GRADER_VENV": sys.prefix},
                preexec_fn=join,
                check=True,
            )
            seconds = time.perf_counter() - began
            tests = json.loads((root / "results" / "results.json").read_text())["tests"]
        return {
            "points of the solution": sum(test["score"] for test in tests),
            "wall seconds": round(seconds, 1),
            "peak MB, page cache included": round(int(peak.read_text()) / 2**20),
        }
    finally:
        for member in members:
            member.parent.rmdir()


if __name__ == "__main__":
    main()
