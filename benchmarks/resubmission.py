"""Measure what a resubmission with one changed function costs, as a share of grading it anew.

    python benchmarks/resubmission.py [NAME ...] [-o benchmarks/results]

A class with one student for each function and method of the solution is graded; then each student submits again with one
statement more in their function, and the class is graded again, once with the earlier results and once without. CPU seconds
are those of judge and sandbox for each submission, from the results; what all share, such as importing torch, is not in them.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.assignment import list_assignments
from grader.course.results import ResultsFolder, SubmissionResult

GOAL = "a third, aim a fifth"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list_assignments(ROOT), metavar="NAME")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    path = options.output / "resubmission.json"
    result = {
        "about": "CPU seconds of grading a resubmission with one changed function, as a share of grading it anew",
        "goal": GOAL,
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
    }
    for name in options.names:
        result[name] = measure(name)
        print(f"{name}: {json.dumps(result[name], indent=1)}", flush=True)
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path}")


def measure(name: str) -> dict[str, object]:
    """Return the shares of all functions of an assignment's solution."""
    source = (ROOT / "solutions" / name / "submitted.py").read_text(encoding="utf-8")
    edits = dict(edit_functions(source))
    with tempfile.TemporaryDirectory() as work:
        export = Path(work, "export")
        export.mkdir()
        for number, function in enumerate(edits):
            (export / f"{function}.py").write_text(f"{source}\n# {number}\n", encoding="utf-8")
        grade(name, export, Path(work, "out"))
        for function, text in edits.items():
            (export / f"{function}.py").write_text(text, encoding="utf-8")
        again, anew = (grade(name, export, Path(work, folder)) for folder in ("out", "afresh"))
    shares = {function: again[function].cpu_seconds / anew[function].cpu_seconds for function in edits}
    total = sum(result.cpu_seconds for result in again.values()) / sum(result.cpu_seconds for result in anew.values())
    return {
        "functions": len(edits),
        "mean share": round(total, 3),
        "median share": round(statistics.median(shares.values()), 3),
        "CPU seconds of a new one, median": round(statistics.median(result.cpu_seconds for result in anew.values()), 2),
        "checks taken over, of all": [
            sum(result.taken_over for result in again.values()),
            sum(len(result.report.checks) for result in again.values()),
        ],
        "share by function": {function: round(share, 3) for function, share in sorted(shares.items(), key=lambda one: one[1])},
    }


def edit_functions(source: str) -> Iterator[tuple[str, str]]:
    """Yield each function and method, and the source with one statement more in it."""
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for part in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(part, ast.FunctionDef):
                first = part.body[1] if ast.get_docstring(part) and len(part.body) > 1 else part.body[0]
                added = f"{' ' * first.col_offset}changed = True\n"
                place = first.lineno - 1
                yield f"{owner}{part.name}", "".join([*lines[:place], added, *lines[place:]])


def grade(name: str, export: Path, folder: Path) -> dict[str, SubmissionResult]:
    """Grade a class with one worker, and return its results."""
    command = [sys.executable, "-m", "grader", "course", name, str(export), "-o", str(folder), "--workers", "1"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    results = ResultsFolder(folder)
    return {entry: result for entry, result in results.of(results.course()).items() if result is not None}


if __name__ == "__main__":
    main()
