"""Grade right and wrong work on a machine that is busy, slow or small: right work gets full marks there, wrong work does not.

    python benchmarks/busy_machine.py [SITUATION ...] [--rounds N] [--only NAME ...] [-o benchmarks/results]

Situations: `quiet`; `busy` (six processes that compute beside it); `one-core`; `half-core` (half a core and 768 MB, in a cgroup
of its own, which needs root). Works: the five solutions; solutions that do something slow in each call for their first
question; all alternatives, on the questions that their function decides alone; and wrong ones, which must lose points, in a
report that is final. Slow: many minutes for each round. What an earlier run has kept counts, so a run may be ended at any time
and started again; remove its files after a change of the kit.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.assignment import AssignmentFiles

ROOT = Path(__file__).resolve().parents[1]
BUSY = 6
# The function, or method, into which a statement is put, and the questions that are graded then: those that it concerns, first.
PLACES = {
    "policy_gradient": ("get_returns", ["get_returns"]),
    "continuous_ppo": ("GAE.__call__", ["GAE"]),
    "recurrent_a2c": ("SimpleRecurrentAgent.forward", ["forward"]),
    "ddpg": ("Actor.__init__", ["Actor"]),
    "ppo_agent": ("Actor.__init__", ["Actor"]),
}
SLOW = {
    "scipy": "import scipy.signal",
    "optimizer": "import torch\ntorch.optim.NAdam([torch.nn.Parameter(torch.ones(1))])",
    "distribution": "import torch\ntorch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).sample()",
    "work": "import sys\nimport time\n_end = time.process_time() + 1.5\n"
    "while time.process_time() < _end and not hasattr(sys, '_worked'):\n    pass\nsys._worked = True",
}
WRONG = {
    "loop": "while True:\n    pass",
    "sleep": "import time\ntime.sleep(1000)",
    "self-kill": "import os\nimport signal\nos.kill(os.getpid(), signal.SIGKILL)",
}
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FEW = 3  # rounds of the works that are many, or wrong
NONE = {"held": 0, "of": 0, "slowest seconds": 0.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("situations", nargs="*", default=list(SITUATIONS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--jobs", type=int, default=1, help="assignments that are graded side by side, which makes it busier still"
    )
    parser.add_argument("--only", nargs="*", default=list(PLACES), help="assignments")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        works = list(write_works(Path(folder), options.only, options.rounds))
        wrong = [failed for situation in options.situations for failed in try_all(situation, works, options)]
    print(f"{len(wrong)} did not get what they deserve every time. {'; '.join(wrong)}")
    sys.exit(bool(wrong))


def try_all(situation: str, works: list[Work], options: argparse.Namespace) -> list[str]:
    """Grade all works until each has had its rounds; return those that did not always get what they deserve.

    In each round the works of an assignment are graded one after the other by a process of their own, as in a small class, so
    that the first of them, the solution, meets a machine that has imported nothing.
    """
    kept = options.output / f"busy_machine_{situation}.json"
    result: dict[str, Any] = {
        "about": "of so many rounds, in how many right work got full marks, and wrong work less, in a final report",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
        "side by side": options.jobs,
        "works": {},
    }
    if kept.exists():
        result = json.loads(kept.read_text())
    found = result["works"]
    for number in range(options.rounds):
        left = [work for work in works if found.get(work.name, NONE)["of"] <= number < work.rounds]
        classes = [
            [work for work in left if work.assignment == name and (work.path is None) == alternatives]
            for name in options.only
            for alternatives in (False, True)
        ]
        with (
            SITUATIONS[situation]() if left else contextlib.nullcontext([]) as prefix,
            ThreadPoolExecutor(options.jobs) as pool,
        ):
            pending = [pool.submit(try_once, together, prefix) for together in classes if together]
            for done in as_completed(pending):
                for work, outcome in done.result():
                    found[work.name] = count(found.get(work.name, NONE), *outcome)
                    print(situation, work.name, found[work.name], file=sys.stderr, flush=True)
                kept.write_text(json.dumps(result, indent=1) + "\n")
    return [f"{situation}: {work}" for work, one in found.items() if "failures" in one]


@dataclass(frozen=True)
class Work:
    """What is graded in each situation.

    Attributes:
        path: None for all alternatives together.
        questions: Those that are graded; all where there is none.
        right: Whether it deserves full marks.
    """

    name: str
    assignment: str
    path: Path | None
    questions: list[str]
    right: bool
    rounds: int


def write_works(folder: Path, names: list[str], rounds: int) -> Iterator[Work]:
    for name in names:
        solution = ROOT / "solutions" / name
        place, questions = PLACES[name]
        questions = [question for question in list_questions(name) if question.partition(".")[0] in questions]
        yield Work(f"{name}: solution", name, solution, [], True, rounds)
        for kind, statement in (SLOW | WRONG).items():
            own = folder / name / kind
            own.mkdir(parents=True)
            (own / "submitted.py").write_text(insert((solution / "submitted.py").read_text(), place, statement))
            yield Work(f"{name}: {kind}", name, own, questions, kind in SLOW, rounds if kind in SLOW else min(rounds, FEW))
        yield Work(f"{name}: alternatives", name, None, [], True, min(rounds, FEW))


def list_questions(name: str) -> list[str]:
    sys.path.insert(0, str(ROOT))
    from grader.assignment import AssignmentFiles

    return [question.id for question in AssignmentFiles(ROOT, name).assignment.questions]


def insert(source: str, place: str, statement: str) -> str:
    """Return the source with a statement at the beginning of a function, or of a method."""
    tree = ast.parse(source)
    body = tree.body
    for part in place.split("."):
        found = next(node for node in body if isinstance(node, DEFINITIONS) and node.name == part)
        body = found.body
    found.body[0:0] = ast.parse(statement).body
    return ast.unparse(tree)


def try_once(works: list[Work], prefix: list[str]) -> list[tuple[Work, tuple[bool, float, Any]]]:
    """Grade works in one process; return of each whether it got what it deserves, the seconds that took, and what it lost."""
    asked = [[None if work.path is None else str(work.path), work.questions] for work in works]
    command = [*prefix, sys.executable, __file__, "--grade", works[0].assignment, json.dumps(asked)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    told: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    told += [(0, 1, False, [done.returncode, done.stderr[-500:]], 0.0)] * (len(works) - len(told))
    outcomes = []
    for work, (points, most, final, lost, seconds) in zip(works, told, strict=True):
        fine = final and (points == most if work.right else points < most)
        outcomes.append((work, (fine, seconds, lost)))
    return outcomes


def count(found: dict[str, Any], fine: bool, seconds: float, lost: Any) -> dict[str, Any]:
    slowest = max(found["slowest seconds"], round(seconds, 1))
    after = found | {"held": found["held"] + fine, "of": found["of"] + 1, "slowest seconds": slowest}
    return after if fine else after | {"failures": [*found.get("failures", []), lost][:3]}


def grade_works(assignment: str, asked: str) -> None:
    """Print for each work its points, the most that it can get, whether the report is final, what it lost, and its seconds."""
    from grader.assignment import SUITES, AssignmentFiles
    from grader.judge.run import Grader, GradingOptions

    home, works = AssignmentFiles(ROOT, assignment), json.loads(asked)
    began = time.monotonic()
    if works[0][0] is None:
        print(json.dumps([*grade_alternatives(home), time.monotonic() - began]))
        return
    with Grader(home, SUITES) as grader:
        for path, questions in works:
            report = grader.grade(Path(path), GradingOptions(questions or None))
            told = [report.points, report.max_points, report.final, list_lost(report)[:2]]
            print(json.dumps([*told, time.monotonic() - began]), flush=True)
            began = time.monotonic()


def grade_alternatives(home: AssignmentFiles) -> list[Any]:
    """Return the same, but for the time, of all alternatives together."""
    from same_points import grade_text

    from grader.judge.harness import Harness
    from grader.proof.catalogue import load_catalogue
    from grader.proof.pool import TrialPool
    from grader.proof.trials import list_unit_questions

    with Harness(home) as harness, TrialPool(harness, os.cpu_count() or 1, home.assignment.name) as pool:
        pending = {
            one.id: pool.submit(grade_text, one.submission, sorted(list_unit_questions(home.assignment, one.function)))
            for one in load_catalogue(home, "alternatives")
        }
        reports = {name: result.result() for name, result in pending.items()}
    points, most = (sum(getattr(report, which) for report in reports.values()) for which in ("points", "max_points"))
    lost = [[name, *check] for name, report in reports.items() for check in list_lost(report)]
    return [points, most, all(report.final for report in reports.values()), lost[:2]]


def list_lost(report: Any) -> list[list[str]]:
    return [[check.id, check.outcome.value, check.message[:200]] for check in report.checks if check.outcome.value != "passed"]


@contextlib.contextmanager
def quiet() -> Iterator[list[str]]:
    yield []


@contextlib.contextmanager
def busy() -> Iterator[list[str]]:
    """Processes beside it, each in a session of its own, because the kernel may share processors between sessions."""
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command, start_new_session=True) for _ in range(BUSY)]
    try:
        yield []
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextlib.contextmanager
def one_core() -> Iterator[list[str]]:
    with busy() as prefix:
        yield ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *prefix]


@contextlib.contextmanager
def half_core() -> Iterator[list[str]]:
    """A container: half a core, and 768 MB."""
    first = Path("/sys/fs/cgroup/cpu").is_dir()
    name = f"grader-{os.getpid()}"
    groups = [Path("/sys/fs/cgroup", part, name) for part in ("cpu", "memory")] if first else [Path("/sys/fs/cgroup", name)]
    for group in groups:
        group.mkdir()
    if first:
        (groups[0] / "cpu.cfs_quota_us").write_text("50000")
        (groups[1] / "memory.limit_in_bytes").write_text(str(768 << 20))
    else:
        (groups[0] / "cpu.max").write_text("50000 100000")
        (groups[0] / "memory.max").write_text(str(768 << 20))
    enter = "".join(f"echo 0 > {group}/cgroup.procs; " for group in groups)
    try:
        yield ["sh", "-c", f'{enter}exec "$@"', "sh"]
    finally:
        time.sleep(1)
        for group in groups:
            group.rmdir()


SITUATIONS: dict[str, Callable[[], contextlib.AbstractContextManager[list[str]]]] = {
    "quiet": quiet,
    "busy": busy,
    "one-core": one_core,
    "half-core": half_core,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--grade"]:
        grade_works(*sys.argv[2:])
    else:
        main()
