"""Play a head TA's Monday with a class of 60, with the kit's own commands, and measure each step.

    python benchmarks/monday.py [--size 60] [--work DIR] [-o benchmarks/results]

The class is that of course_class.py; the kit is a copy, so that its checks can be changed. In turn: grade; a ring of copies;
late days; two regrade requests; a correction that would have hurt the class, which must be stopped; a faulty check that is
taken out by the policy; the right correction, built, proven and applied; pages and grades to send. After each
step, what must be true is looked at in the files that staff would open; the script stops at the first thing that is not.
Writes monday.json: minutes of each step, and what was seen. It takes half an hour of two cores.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import course_class

NAME = "policy_gradient"
QUESTION = "get_advantages"
TOLERANCE = ("also=population_std, rtol=1e-3", "also=population_std, rtol=2e-3")
POLICY = """\
zone = "Europe/Berlin"
canvas_column = "Homework 1 (4711)"

[late]
deadline = 2026-11-21T00:59:00
percent_per_day = 10
free_days = 0
"""
RING = """
[[adjustments]]
student = "{student}"
points = -{points}
reason = "copied: see the pages side by side"
"""
FAULTY = """
[[faulty]]
question = "{question}"
then = "full"
reason = "the text was ambiguous"
"""
COPIED = ["assignments", "grader", "solutions", "tests", "docs", "benchmarks", "utils.py", "grade.py", "solution.json"]
COPIED += ["pyproject.toml", "constraints.txt", "README.md"]


class Day:
    """A folder with the copy of the kit, the export and the results, and what was done with them."""

    def __init__(self, work: Path, size: int) -> None:
        self.kit, self.export, self.folder = work / "kit", work / "class", work / "results"
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.kit / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
            else:
                self.kit.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, self.kit / name)
        self.planted = course_class.make(size)
        course_class.write(self.planted, self.export)
        self.steps: list[dict[str, Any]] = []
        self.policy, self.adjustments = work / "policy.toml", work / "adjustments.csv"

    def step(self, what: str, *arguments: str, exit_code: int = 0) -> str:
        """Run a command of the kit, note how long it took and the last line that it printed, and return all of it."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        began = time.monotonic()
        command = [sys.executable, "-m", "grader", *arguments]
        done = subprocess.run(command, cwd=self.kit, env=environment, capture_output=True, text=True)
        printed = done.stdout + done.stderr
        if done.returncode != exit_code:
            raise SystemExit(f"{what}: exit code {done.returncode}, expected {exit_code}\n{printed[-4000:]}")
        lines = [line for line in printed.splitlines() if line.strip()]
        minutes = round((time.monotonic() - began) / 60, 2)
        self.steps.append({"step": what, "minutes": minutes, "command": " ".join(arguments), "last line": lines[-1].strip()})
        print(json.dumps(self.steps[-1]), file=sys.stderr, flush=True)
        return printed

    def regrade(self, what: str, *options: str, exit_code: int = 0) -> str:
        return self.step(what, "regrade", str(self.folder), *options, exit_code=exit_code)

    def totals(self) -> dict[str, float]:
        """Return the score of each submission that has one."""
        rows = read_csv(self.folder / "gradebook.csv")
        return {row["Submission"]: float(row["Total"]) for row in rows if row["Total"]}

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.kit / path
        text = file.read_text(encoding="utf-8")
        must(text.count(old) > 0, f"{path} has {old!r}")
        file.write_text(text.replace(old, new), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=60)
    parser.add_argument("--work", type=Path, help="keep everything here, in a new folder")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    work = (options.work or Path(tempfile.mkdtemp(prefix="monday-"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    work.chmod(0o755)  # so that workers of another user reach the folders of the sandbox in it
    day = Day(work, options.size)
    seen = play(day)
    result = {
        "about": f"a Monday with {options.size} students of {NAME}: minutes of each step, and what was seen",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
        "steps": day.steps,
        "minutes": round(sum(step["minutes"] for step in day.steps), 1),
        "seen": seen,
    }
    text = json.dumps(result, indent=1).replace(str(work), "WORK")
    (options.output / "monday.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    if options.work is None:
        shutil.rmtree(work)


def play(day: Day) -> dict[str, Any]:
    """Return what was seen on the way."""
    seen: dict[str, Any] = {}
    day.step("grade the class", "course", NAME, str(day.export), "-o", str(day.folder))
    graded = day.totals()
    seen["scores after grading"] = len(graded)
    day.policy.write_text(POLICY, encoding="utf-8")
    seen |= judge_the_ring(day)
    seen |= count_late_days(day, graded)
    seen |= answer_requests(day)
    seen |= stop_a_wrong_correction(day)
    seen |= forgive_a_question(day)
    seen |= apply_the_right_correction(day)
    return seen | send(day)


def judge_the_ring(day: Day) -> dict[str, Any]:
    """Take half of the points from each member of the ring that the class page shows."""
    planted = {name for pair in day.planted.copies for name in pair[:2]}
    pairs = json.loads((day.folder / "similarity.json").read_text())
    found = {name for pair in pairs for name in (pair["first"], pair["second"])} & planted
    must(found == planted, f"every copy is among the similar pairs: {sorted(planted - found)} are not")
    before = day.totals()
    text = "".join(RING.format(student=name, points=before[name] / 2) for name in sorted(planted))
    day.policy.write_text(POLICY + text, encoding="utf-8")
    day.regrade("the ring: a decision for each member", "--policy", str(day.policy), "--preview")
    return {"members of the ring": len(planted)}


def count_late_days(day: Day, graded: dict[str, float]) -> dict[str, Any]:
    must(day.totals() == graded, "a preview changes no score")
    day.regrade("late days, and the ring", "--policy", str(day.policy))
    after = day.totals()
    lowered = {name for name in graded if after[name] < graded[name]}
    late = {row["Submission"] for row in read_csv(day.folder / "gradebook.csv") if row["Days Late"] not in ("", "0")}
    ring = {name for pair in day.planted.copies for name in pair[:2] if graded[name]}
    must(lowered == {name for name in late if graded[name]} | ring, "exactly the late and the ring lose points")
    return {"late": len(late), "lose points": len(lowered)}


def answer_requests(day: Day) -> dict[str, Any]:
    """Grant one request and decline another one."""
    ring = {name for pair in day.planted.copies for name in pair[:2]}
    before = day.totals()
    lost = {
        row["Submission"]: question
        for row in read_csv(day.folder / "gradebook.csv")
        for question in ("get_returns", "collect_rollouts", QUESTION)
        if float(row[question] or 9) <= 6 and before.get(row["Submission"], 0) > 0 and row["Submission"] not in ring
    }
    (granted, first), (declined, second) = list(lost.items())[:2]
    rows = ["student,question,points,comment,rubric,request,answer"]
    rows.append(f"{granted},{first},+2,,,My table is right.,It is: two points.")
    rows.append(f"{declined},{second},,,,Why did I lose points?,The returns are not discounted.")
    day.adjustments.write_text("\n".join(rows) + "\n", encoding="utf-8")
    day.regrade("two regrade requests", "--adjustments", str(day.adjustments))
    after = day.totals()
    changed = {name for name in before if after[name] != before[name]}
    must(changed == {granted}, f"only {granted} gets other points, found {changed}")
    page = (day.folder / "students" / f"{declined}.html").read_text(encoding="utf-8")
    must("The returns are not discounted." in page, "the answer is on the student's page")
    return {"granted": [before[granted], after[granted]]}


def stop_a_wrong_correction(day: Day) -> dict[str, Any]:
    """Let the checks accept one kind of standard deviation only: many would lose points."""
    path = f"tests/visible/test_{NAME}.py"
    before = day.totals()
    text = (day.kit / path).read_text(encoding="utf-8")
    day.edit(path, ", also=population_std", "")
    printed = day.regrade("preview of a wrong correction")
    day.regrade("the wrong correction is refused", "--apply", exit_code=2)
    must(day.totals() == before, "nothing was applied")
    (day.kit / path).write_text(text, encoding="utf-8")
    return {"the wrong correction": [line.strip() for line in printed.splitlines() if "lose" in line][:3]}


def forgive_a_question(day: Day) -> dict[str, Any]:
    before = day.totals()
    day.policy.write_text(day.policy.read_text() + FAULTY.format(question=QUESTION), encoding="utf-8")
    day.regrade("a faulty question: full marks for all", "--policy", str(day.policy))
    after = day.totals()
    must(all(after[name] >= before[name] for name in before), "nobody loses points")
    return {"gain by the faulty question": sum(after[name] > before[name] for name in before)}


def apply_the_right_correction(day: Day) -> dict[str, Any]:
    """Widen a tolerance, raise the version, build, look, apply with proof, and take it back."""
    before = day.totals()
    day.edit(f"tests/visible/test_{NAME}.py", *TOLERANCE)
    version = json.loads((day.folder / "course.json").read_text())["assignment"]["version"]
    day.edit(f"assignments/{NAME}/assignment.toml", f'version = "{version}"', f'version = "{version}.1"')
    day.step("build the corrected suite", "build", NAME)
    day.regrade("preview of the right correction")
    day.regrade("apply it, with its proof", "--apply")
    must(all(day.totals()[name] >= points for name, points in before.items()), "nobody loses points")
    return {"changed by the correction": sum(day.totals()[name] != points for name, points in before.items())}


def send(day: Day) -> dict[str, Any]:
    """Write what goes to students and to Canvas, and read it back."""
    out = day.folder.parent / "mail"
    day.step("a folder of feedback to mail or upload", "feedback", str(day.folder), "-o", str(out))
    totals = {row["SID"]: row["Total"] for row in read_csv(day.folder / "gradebook.csv")}
    header, possible, *rows = list(csv.reader((day.folder / "canvas.csv").open(encoding="utf-8")))
    must(header[-1] == "Homework 1 (4711)" and possible[0].strip() == "Points Possible", "Canvas' header")
    column = header.index("SIS User ID")
    differing = [row[column] for row in rows if float(row[-1]) != float(totals[row[column]])]
    must(not differing, f"canvas.csv has the scores of gradebook.csv, but for {differing}")
    return {"rows for Canvas": len(rows), "files to mail": sum(1 for path in out.rglob("*.html"))}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def must(true: bool, what: str) -> None:
    if not true:
        raise SystemExit(f"not so: {what}")


if __name__ == "__main__":
    main()
