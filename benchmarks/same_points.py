"""Grade the same works at each isolation level, with threads, as other processors round, with other Pythons and torches.

    python benchmarks/same_points.py [NAME ...] [--python PYTHON ...] [--sample 30] [--seed 0] [--keep FILE] [--kept FILE ...]

Points must be the same. For each assignment it grades the solution (which must get full marks), the stub, and randomly
drawn mistakes and alternatives, on the unit questions of their function. Each is graded at full by every PYTHON in which
the kit's requirements are installed, and by this one at the other levels, with four threads, and as libraries round on
other processors. `--keep` writes all points; `--kept` adds a file from another machine to the comparison. The first
environment is the one that the others are compared with.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THREADS = "import torch\ntorch.set_num_threads(4)\n"
ENVIRONMENTS = {  # the level of isolation, what stands before a work's own code, and GRADER_PROCESSOR
    "full": ("full", "", ""),
    "process": ("process", "", ""),
    "basic": ("basic", "", ""),
    "full, 4 threads": ("full", THREADS, ""),
    "full, SSE 4.2": ("full", "", "sse4"),
    "full, AVX2": ("full", "", "avx2"),
    "full, not Intel's": ("full", "", "other-vendor"),
}
DESCRIBE = """
import platform, numpy, torch
print(f"Python {platform.python_version()}, torch {torch.__version__}, NumPy {numpy.__version__}")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--python", nargs="*", default=[], help="other interpreters")
    parser.add_argument("--sample", type=int, default=30, help="how many mistakes and alternatives of each are drawn")
    parser.add_argument("--seed", type=int, default=0, help="by which they are drawn")
    parser.add_argument("--keep", type=Path, help="write all points here")
    parser.add_argument("--kept", type=Path, nargs="*", default=[], help="files that --keep wrote elsewhere")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    names = options.names or sorted(path.parent.name for path in ROOT.glob("assignments/*/assignment.toml"))
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        plan = Path(folder) / "works.json"
        plan.write_text(json.dumps({name: draw_works(name, options.sample, options.seed) for name in names}))
        for environment in ENVIRONMENTS:
            grade_elsewhere(sys.executable, environment, plan, found)
        for python in options.python:
            grade_elsewhere(python, "full", plan, found)
    if options.keep:
        options.keep.write_text(json.dumps(found))
    for path in options.kept:
        found |= json.loads(path.read_text())
    result = {"about": "checks of works whose points are not those of the first environment", "seed": options.seed} | compare(
        found
    )
    text = json.dumps(result, indent=1)
    (options.output / "same_points.json").write_text(text + "\n")
    print(text)
    sys.exit(any(one["differences"] for one in result["environments"].values()))


def draw_works(name: str, sample: int, seed: int) -> dict[str, tuple[str, list[str] | None]]:
    """Return, by a name, the text of each work and the questions on which it is graded; None for all."""
    sys.path.insert(0, str(ROOT))
    from grader.assignment import AssignmentFiles
    from grader.proof.catalogue import load_catalogue
    from grader.proof.trials import list_unit_questions

    home = AssignmentFiles(ROOT, name)
    known = {f"{kind[:-1]} {one.id}": one for kind in ("mistakes", "alternatives") for one in load_catalogue(home, kind)}
    found: dict[str, tuple[str, list[str] | None]] = {
        work: ((ROOT / folder / name / home.assignment.submission).read_text("utf-8"), None)
        for work, folder in {"solution": "solutions", "stub": "assignments"}.items()
    }
    for work in random.Random(seed).sample(sorted(known), min(sample, len(known))):
        one = known[work]
        found[work] = one.submission, sorted(list_unit_questions(home.assignment, one.function))
    return found


def grade_elsewhere(python: str, environment: str, plan: Path, found: dict[str, dict[str, Any]]) -> None:
    """Add, under a description of the environment, the points of each check of each work."""
    level, prefix, processor = ENVIRONMENTS[environment]
    described = subprocess.run([python, "-c", DESCRIBE], capture_output=True, text=True, check=True).stdout.strip()
    began = time.monotonic()
    done = subprocess.run(
        [python, __file__, "--grade", str(plan), prefix],
        cwd=ROOT,
        env=os.environ | {"GRADER_LEVEL": level, "GRADER_PROCESSOR": processor, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found[f"{described}, {environment}"] = {"seconds": round(time.monotonic() - began), "points": json.loads(done.stdout)}
    print(f"{described}, {environment}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def grade_all(plan: Path, prefix: str) -> None:
    """Grade all works with the kit of this folder, and print their points."""
    from grader.assignment import AssignmentFiles
    from grader.judge.harness import Harness
    from grader.proof.pool import TrialPool

    found = {}
    for name, works in json.loads(plan.read_text()).items():
        with Harness(AssignmentFiles(ROOT, name)) as harness, TrialPool(harness, os.cpu_count() or 1, name) as pool:
            pending = {work: pool.submit(points_of, add_prefix(text, prefix), select) for work, (text, select) in works.items()}
            found[name] = {work: result.result() for work, result in pending.items()}
    print(json.dumps(found))


def add_prefix(text: str, prefix: str) -> str:
    """Return the text of a work with statements before its own, after what must come first in a file."""
    first = "from __future__ import annotations\n"
    return text.replace(first, first + prefix, 1) if first in text else prefix + text


def points_of(grader: Any, text: str, select: list[str] | None) -> dict[str, float | str]:
    """Return the points of each check and of the whole, or that the report is not final."""
    report = grade_text(grader, text, select)
    points = {check.id: check.points for check in report.checks}
    return points | {"whole": report.points if report.final else "not final", "of": report.max_points}


def grade_text(grader: Any, text: str, select: list[str] | None) -> Any:
    """Return the report of a submission with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / grader.home.assignment.submission
        path.write_text(text, encoding="utf-8")
        return grader.grade(path, select)


def compare(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return, of each environment, its seconds and what is other there than in the first."""
    (base, first), *_ = found.items()
    environments = {}
    for described, one in found.items():
        differences = [
            f"{name}: {work}: {check}: {points} -> {one['points'][name][work].get(check)}"
            for name, works in first["points"].items()
            for work, checks in works.items()
            for check, points in checks.items()
            if one["points"][name][work].get(check) != points
        ]
        short = [name for name, works in one["points"].items() if works["solution"]["whole"] != works["solution"]["of"]]
        differences += [f"{name}: the solution falls short of full marks" for name in short]
        environments[described] = {"seconds": one["seconds"], "differences": differences}
    return {
        "compared with": base,
        "works": {name: len(works) for name, works in first["points"].items()},
        "environments": environments,
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--grade"]:
        grade_all(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
