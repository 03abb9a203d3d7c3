"""Attack the sandbox of this machine, and grade the reference on it: whoever hands that in must get full marks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.assignment import SUITES, AssignmentFiles
from grader.judge.run import grade
from grader.report.model import Outcome
from grader.report.text import sanitize
from grader.sandbox import open_sandbox
from grader.sandbox.places import make_readable, make_temporary_folder
from grader.sandbox.reply import LEVELS, Isolation, Reply, SandboxFault

if TYPE_CHECKING:
    from grader.sandbox import Sandbox

DRIVERS = "def run(submitted):\n    return submitted.function()\n"
SECRET = "what only the grader may read"
SECONDS = 2.0


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        body: The body of the student's function.
        held: Whether a reply is one that a grader must get.
        safe: Whether it is tried at `basic` too.
    """

    tries: str
    body: str
    held: Callable[[Reply], bool]
    safe: bool = False


def status_is_one_of(*statuses: str) -> Callable[[Reply], bool]:
    """Return whether a reply has one of these."""
    return lambda reply: reply.status in statuses


ATTEMPTS = (
    Attack("loop for ever", "while True: pass", status_is_one_of("timeout"), safe=True),
    Attack("use all memory", "return bytearray(10**12)", status_is_one_of("memory"), safe=True),
    Attack(
        "use all memory bit by bit",
        "x = []\nwhile True: x.append(bytearray(10**6))",
        status_is_one_of("memory", "timeout", "crashed"),
    ),
    Attack("print without end", "while True: print('x' * 10**4)", status_is_one_of("raised", "timeout")),
    Attack(
        "fill the disk",
        "for n in range(10**6): open(str(n), 'wb').write(bytes(10**7))",
        status_is_one_of("raised", "timeout", "disk"),
    ),
    Attack("start processes without end", "import os\nwhile True: os.fork()", status_is_one_of("raised", "timeout")),
    Attack("end the process as if it had passed", "import os\nos._exit(0)", status_is_one_of("crashed"), safe=True),
    Attack(
        "forge an answer", "import os\nos.write(3, b'RLG1' * 100)\nreturn 1", status_is_one_of("protocol", "raised"), safe=True
    ),
    Attack("read a secret file", "return open({secret!r}).read()", lambda reply: reply.facts != SECRET, safe=True),
    Attack(
        "write into the grader's folder", "open({folder!r} + '/note', 'w')\nreturn 1", status_is_one_of("raised"), safe=True
    ),
    Attack("end the server", "import os\nos.kill(os.getppid(), 9)\nimport time; time.sleep(9)", status_is_one_of("raised")),
)


def attack_sandbox(require_level: str = "basic") -> Iterator[tuple[str, bool | None]]:
    """Yield (what was found, whether it is as it must be), line by line; None for a remark.

    Attacks that only a level above the one reached can hold off are remarks.

    Args:
        require_level: The level that must be reached.
    """
    folder = make_temporary_folder()
    try:
        student = folder / "student"
        student.mkdir()
        secret = folder / "hidden" / "secret.txt"
        secret.parent.mkdir()
        secret.write_text(SECRET, encoding="utf-8")
        drivers = folder / "drivers.py"
        drivers.write_text(DRIVERS, encoding="utf-8")
        make_readable(folder)
        with open_sandbox(drivers, [student], 300, [secret]) as sandbox:
            isolation = sandbox.isolation
            yield from _layers(isolation)
            sandbox.warm_up()
            for attempt in ATTEMPTS:
                if isolation.level == "basic" and not attempt.safe:
                    continue
                body = (
                    attempt.body.format(secret=str(secret), folder=str(secret.parent)) if "{" in attempt.body else attempt.body
                )
                yield _tried(sandbox, student / "submitted.py", attempt, body, isolation)
            left = _left(student.parent)
            yield f"nothing is left behind{': ' + left if left else ''}", not left
        enough = LEVELS.index(isolation.level) >= LEVELS.index(require_level)
        yield f"isolation: {isolation.level}{'' if enough else f', {require_level} is required'}", enough
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_reference(home: AssignmentFiles, suites: Sequence[str] = SUITES, require_level: str = "basic") -> tuple[str, bool]:
    """Return what the solution of an assignment gets on this machine, in words, and whether it is full marks."""
    report = grade(home, home.solution, suites, require_level=require_level)
    said = f"the reference of {home.assignment.name} gets {report.points:g} of {report.max_points:g} points here"
    lost = [check for check in report.checks if check.outcome is not Outcome.PASSED]
    why = sanitize(lost[0].message.splitlines()[0]) if lost and lost[0].message else report.explain_stop()
    sound = report.final and report.points == report.max_points
    return (said, True) if sound else (f"{said}: {lost[0].id + ': ' if lost else ''}{why}", False)


def _layers(isolation: Isolation) -> Iterator[tuple[str, bool | None]]:
    yield f"layers: {', '.join(isolation.layers)}", None
    for layer, why in isolation.missing.items():
        yield f"not used: {layer} ({why})", None
    for what in isolation.open:
        yield f"open  a submission could {what}", None


def _tried(sandbox: Sandbox, path: Path, attempt: Attack, body: str, isolation: Isolation) -> tuple[str, bool | None]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    path.write_text(f"def function():\n{lines}", encoding="utf-8")
    path.chmod(0o644)
    try:
        reply = sandbox.call("run", {}, path, SECONDS)
    except SandboxFault as error:
        return f"{attempt.tries}: the grader itself failed: {error}", False
    if attempt.held(reply) and reply.seconds < 3 * SECONDS:
        return f"{attempt.tries}: contained ({reply.status}, {reply.seconds:.2f} s)", True
    return f"open  {attempt.tries}: it got through", False if isolation.level == "full" else None


def _left(folder: Path) -> str:
    """Return what should not be in the folder."""
    return ", ".join(sorted(set(os.listdir(folder)) - {"student", "hidden", "drivers.py"}))
