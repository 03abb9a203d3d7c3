"""Grade right and wrong work on a machine that is busy, slow or small: right work gets full marks there, wrong work does not.

    python benchmarks/busy_machine.py [SITUATION ...] [--rounds N] [--only NAME ...] [-o benchmarks/results]

Situations: `quiet`; `busy` (six processes that compute beside it); `one-core`; `half-core` (half a core and 768 MB, in a cgroup
of its own, which needs root). Works: the five solutions; solutions whose first question does something slow in each call; and
wrong ones, which must lose points, in a report that is final. Slow: minutes for each round.
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
from collections.abc import Iterator
from pathlib import Path

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
    "work": "import time\n_end = time.process_time() + 0.3\nwhile time.process_time() < _end:\n    pass",
}
WRONG = {
    "loop": "while True:\n    pass",
    "sleep": "import time\ntime.sleep(1000)",
    "self-kill": "import os\nimport signal\nos.kill(os.getpid(), signal.SIGKILL)",
}
GRADE = """
import json, sys
from pathlib import Path
from grader.assignment import SUITES, AssignmentFiles
from grader.judge.run import GradingOptions, grade, select_questions
name, path, questions = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
report = grade(AssignmentFiles(Path.cwd(), name), path, SUITES, GradingOptions(questions))
lost = [[check.id, check.outcome.value, check.message[:200]] for check in report.checks if check.outcome.value != "passed"]
print(json.dumps([report.points, report.max_points, report.final, lost[:2]]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("situations", nargs="*", default=list(SITUATIONS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=list(PLACES), help="assignments")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    result = {
        "about": "of so many rounds, in how many right work got full marks, and wrong work less, in a final report",
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
        "rounds": options.rounds,
    }
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        works = list(write_works(Path(folder), options.only))
        for situation in options.situations:
            with SITUATIONS[situation]() as prefix:
                result[situation] = try_all(works, options.rounds, prefix)
            text = json.dumps(result, indent=1)
            (options.output / "busy_machine.json").write_text(text + "\n")
    print(text)


def write_works(folder: Path, names: list[str]) -> Iterator[tuple[str, list[str], bool]]:
    """Yield of each work (its name, the arguments of GRADE, whether it is right)."""
    for name in names:
        solution = ROOT / "solutions" / name
        place, questions = PLACES[name]
        questions = [question for question in list_questions(name) if question.partition(".")[0] in questions]
        yield f"{name}: solution", [name, str(solution)], True
        for kind, statement in (SLOW | WRONG).items():
            own = folder / name / kind
            own.mkdir(parents=True)
            (own / "submitted.py").write_text(insert((solution / "submitted.py").read_text(), place, statement))
            yield f"{name}: {kind}", [name, str(own), *questions], kind in SLOW


def list_questions(name: str) -> list[str]:
    sys.path.insert(0, str(ROOT))
    from grader.assignment import AssignmentFiles

    return [question.id for question in AssignmentFiles(ROOT, name).assignment.questions]


def insert(source: str, place: str, statement: str) -> str:
    """Return the source with a statement at the beginning of a function, or of a method."""
    tree = ast.parse(source)
    body = tree.body
    for part in place.split("."):
        found = next(node for node in body if getattr(node, "name", None) == part)
        body = found.body
    found.body[0:0] = ast.parse(statement).body
    return ast.unparse(tree)


def try_all(works: list[tuple[str, list[str], bool]], rounds: int, prefix: list[str]) -> dict:
    """Grade every work so often, and return in how many rounds it got what it deserves, and how long the slowest took."""
    found = {}
    for work, arguments, right in works:
        held, slowest, failures = 0, 0.0, []
        for _ in range(rounds if right else min(rounds, 3)):
            began = time.monotonic()
            done = subprocess.run(
                [*prefix, sys.executable, "-c", GRADE, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
            )
            slowest = max(slowest, time.monotonic() - began)
            try:
                points, most, final, lost = json.loads(done.stdout)
                fine = final and (points == most if right else points < most)
            except ValueError:
                fine, lost = False, [done.returncode, done.stderr[-500:]]
            held += fine
            if not fine:
                failures.append(lost)
        found[work] = {"held": held, "of": rounds if right else min(rounds, 3), "slowest seconds": round(slowest, 1)}
        if failures:
            found[work]["failures"] = failures[:3]
        print(work, found[work], file=sys.stderr, flush=True)
    return found


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


SITUATIONS = {"quiet": quiet, "busy": busy, "one-core": one_core, "half-core": half_core}

if __name__ == "__main__":
    main()
