"""Compare the reports of two commits: points, outcomes, hints and recognized mistakes of wrong and right answers.

    python benchmarks/compare_reports.py COMMIT [NAME ...] [--mutants 100] [--seed 0] [-o benchmarks/results]

Every mistake, every alternative and some mutants of each assignment, as they are here, are graded by the kit of this folder and
by that of COMMIT, each with its own checks, on the questions that their function decides alone. A change that only moves code
shows no differences. COMMIT is of 23 November 2026 or later.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--mutants", type=int, default=100, help="how many of each assignment are drawn (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="by which they are drawn")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", options.commit], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = {
        "about": "reports of mistakes, alternatives and mutants by the kit of two commits; differences",
        "commit": commit.strip(),
        "seed": options.seed,
    }
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder, "kit")
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(other)], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit.strip()], cwd=other, check=True)
        for name in options.names or sorted(path.parent.name for path in ROOT.glob("assignments/*/assignment.toml")):
            result[name] = compare(name, other, Path(folder), options)
            print(f"{name}: {json.dumps(result[name])}", flush=True)
    (options.output / "compare_reports.json").write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(result[name]["differences"] for name in result if isinstance(result[name], dict)))


def compare(name: str, other: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return how many variants were graded by both kits, and all differences between their reports."""
    plan, reports = folder / "variants.json", []
    plan.write_text(json.dumps(variants(name, options)))
    for root in (other, ROOT):
        found = folder / "reports.json"
        environment = os.environ | {"PYTHONPATH": str(root)}
        subprocess.run(
            [sys.executable, __file__, "--grade", name, str(plan), str(found)], cwd=root, env=environment, check=True
        )
        reports.append(json.loads(found.read_text()))
    before, after = reports
    differences = [
        f"{variant}: {check}: {before[variant].get(check)} -> {after[variant].get(check)}"
        for variant in before
        for check in sorted({*before[variant], *after[variant]})
        if before[variant].get(check) != after[variant].get(check)
    ]
    recognized = sum(any(check[3] for check in report.values()) for report in after.values())
    return {"variants": len(before), "with a recognized mistake": recognized, "differences": differences}


def variants(name: str, options: argparse.Namespace) -> dict[str, list[Any]]:
    """Return, by a name, the text of each variant and the questions on which it is graded."""
    sys.path.insert(0, str(ROOT))
    from grader.assignment import AssignmentFiles
    from grader.proof.catalogue import load_catalogue
    from grader.proof.mutants import make_mutants
    from grader.proof.trials import list_unit_questions

    home = AssignmentFiles(ROOT, name)
    found = {
        f"{kind} {one.id}": [one.submission, sorted(list_unit_questions(home.assignment, one.function))]
        for kind in ("mistakes", "alternatives")
        for one in load_catalogue(home, kind)
    }
    every = list(make_mutants(home))
    for one in random.Random(options.seed).sample(every, min(options.mutants, len(every))):
        found[f"mutant of {one.question}: {one.change}"] = [
            one.submission,
            sorted(list_unit_questions(home.assignment, one.function)),
        ]
    return found


def grade(name: str, plan: Path, found: Path) -> None:
    """Grade the variants of a plan with the kit in the current folder."""
    from grader.assignment import AssignmentFiles
    from grader.judge.harness import Harness

    parts = "proof" if Path("grader", "proof").is_dir() else "publish"  # as it was called before 24 November 2026
    pool_of = importlib.import_module(f"grader.{parts}.pool").TrialPool
    with Harness(AssignmentFiles(Path.cwd(), name)) as harness, pool_of(harness, os.cpu_count() or 1, name) as pool:
        pending = {
            variant: pool.submit(report_of, text, questions)
            for variant, (text, questions) in json.loads(plan.read_text()).items()
        }
        found.write_text(json.dumps({variant: result.result() for variant, result in pending.items()}))


def report_of(grader: Any, text: str, questions: list[str]) -> dict[str, list[Any]]:
    """Return the outcome, points, hint and recognized mistakes of each check."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / grader.home.assignment.submission
        path.write_text(text, encoding="utf-8")
        report = grader.grade(path, set(questions))
    return {check.id: [check.outcome.value, check.points, check.hint, list(check.mistakes)] for check in report.checks}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--grade"]:
        grade(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
