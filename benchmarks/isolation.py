"""Measure the cost and the strength of isolation: attacks in four situations, on every check, and a thousand in a row.

    python benchmarks/isolation.py [--calls 1000] [--part cost,soak,situations,checks] [-o benchmarks/results]

Needs root for all situations but two. Writes isolation.json (the parts that were run; the others stay) and the table in
SECURITY.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.assignment import SUITES, AssignmentFiles
from grader.authoring.build import build
from grader.judge.run import Grader
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.places import make_temporary_folder
from tests.kit.attacks.catalogue import load
from tests.kit.attacks.situations import SITUATIONS, USER
from tests.kit.attacks.soak import soak
from tests.kit.attacks.table import said, table

DRIVERS = "def nothing(submitted):\n    return None\n\n\ndef run(submitted):\n    return submitted.function()\n"
LAYERS = "own user,seccomp,landlock,network namespace,mount namespace"
BEGIN, END = "<!-- made by benchmarks/isolation.py -->", "<!-- end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000, help="hostile calls in a row")
    parser.add_argument("--part", default="cost,soak,situations,checks")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    path = options.output / "isolation.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    result["machine"] = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    for part in options.part.split(","):
        result[part] = {"cost": cost, "soak": lambda: soaked(options.calls), "situations": situations, "checks": checks}[part]()
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(f"{part}: {json.dumps({k: v for k, v in result[part].items() if k not in SITUATIONS}, indent=1)}", flush=True)
    if "situations" in result:
        security = ROOT / "SECURITY.md"
        before, _, rest = security.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        security.write_text(f"{before}{BEGIN}\n{table(result['situations'])}\n{END}{after}", encoding="utf-8")
    print(f"wrote {path}")


def opened(folder: Path, without: str) -> ForkedSandbox:
    """Return a warm sandbox without these layers."""
    os.environ["GRADER_WITHOUT"] = without
    drivers = folder / "drivers.py"
    drivers.write_text(DRIVERS)
    (folder / "student").mkdir(exist_ok=True)
    sandbox = ForkedSandbox(drivers, [folder / "student"], 300)
    sandbox.warm_up()
    return sandbox


def cost(rounds: int = 300) -> dict[str, Any]:
    """Return the wall time of a call that does nothing, with all layers and as a plain fork, in turn on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    folder = make_temporary_folder()
    times: dict[str, list[float]] = {"all layers": [], "plain fork": []}
    with opened(folder, "") as full, opened(folder, LAYERS) as plain:
        level = full.isolation.level
        for _ in range(rounds):
            for name, sandbox in (("all layers", full), ("plain fork", plain)):
                began = time.perf_counter()
                assert sandbox.call("nothing", {}).status == "ok"
                times[name].append(1000 * (time.perf_counter() - began))
    os.sched_setaffinity(0, cores)
    shutil.rmtree(folder)
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    return {
        "level": level,
        "median call, ms": medians,
        "added, ms": round(medians["all layers"] - medians["plain fork"], 2),
        "ratio": round(medians["all layers"] / medians["plain fork"], 3),
        "goal": "at most 10 ms more at full",
    }


def soaked(calls: int) -> dict[str, Any]:
    """Return what a thousand of the worst calls leave behind."""
    folder = make_temporary_folder()
    with opened(folder, "") as sandbox:
        found = soak(sandbox, folder / "student", calls) | {"level": sandbox.isolation.level}
    shutil.rmtree(folder)
    return found


def situations() -> dict[str, Any]:
    """Return what was seen of every attack in each situation."""
    folder, seen = make_temporary_folder(), {}
    folder.chmod(0o755)
    toy = Path(shutil.copytree(ROOT / "tests" / "kit" / "toy", folder / "toy"))
    build(toy, "toy")
    for name in SITUATIONS:
        work = folder / name
        work.mkdir()
        if name == "user" and os.geteuid() == 0:
            os.chown(work, USER, USER)
        command = [sys.executable, "-m", "tests.kit.attacks.situations", name, "-m", "tests.kit.attacks.run"]
        subprocess.run([*command, str(toy), str(work), str(work / "seen.json")], cwd=ROOT, check=True)
        seen[name] = json.loads((work / "seen.json").read_text())
        seen[name]["attacks"] = {attack: said(found) for attack, found in seen[name]["attacks"].items()}
    shutil.rmtree(folder)
    return seen


def checks() -> dict[str, Any]:
    """Return what every attack earns in place of every function of policy_gradient: each meets each check."""
    home = AssignmentFiles(ROOT, "policy_gradient")
    limits = home.assignment.limits.model_copy(update={"seconds": 1.0, "budget": 90.0})
    questions = tuple(question.model_copy(update={"seconds": None}) for question in home.assignment.questions)
    home.assignment = home.assignment.model_copy(update={"limits": limits, "questions": questions})
    functions = {question.function for question in questions}
    known = {"judge": os.getpid(), "word": "sesame", "hidden": [str(path) for path in home.secrets()], "folders": []}
    known |= {"results": "/root", "results files": [], "kit": str(ROOT), "platform": "/etc/shadow", "unix path": "/tmp/none"}
    known |= {"datagram path": "/tmp/none"}
    known |= {"tcp port": 1, "udp port": 1, "unix name": "none", "other submission": str(home.stub)}
    folder, points, not_final, tried = make_temporary_folder(), {}, [], 0
    with Grader(home, SUITES) as grader:
        for attack in load():
            if attack.honest:
                continue
            bodies = "".join(f"\n\ndef {name}(*values, **scale):\n    return attack([1.0], 1.0, KNOWN)\n" for name in functions)
            call = "\nattack([1.0], 1.0, KNOWN)\n" if attack.at_import else ""
            path = folder / "submitted.py"
            path.write_text(f"KNOWN = {json.dumps(known)}\n\n\n{attack.source}\n{call}{bodies}")
            report = grader.grade(path)
            tried += 1
            if report.points:
                points[attack.name] = report.points
            if not report.final:
                not_final.append(attack.name)
    shutil.rmtree(folder)
    return {"attacks": tried, "checks": len(report.checks), "earned points": points, "not final": not_final}


if __name__ == "__main__":
    main()
