"""Attack the sandbox of this machine, and grade the reference solution on it, which must get full marks."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grader.assignment import SUITES, AssignmentFiles
from grader.attempts import ATTEMPTS, LISTENS, SECRET, SPEAKS, Attack, find_ways
from grader.judge.run import Grader
from grader.report.model import Outcome
from grader.report.text import sanitize
from grader.sandbox import open_sandbox
from grader.sandbox.places import make_readable, make_temporary_folder
from grader.sandbox.reply import LEVELS, Isolation, SandboxFault
from grader.tripwire import BY_CHANCE, Tripwire

if TYPE_CHECKING:
    from grader.judge.harness import Harness
    from grader.sandbox import Sandbox

DRIVERS = "def run(submitted, given):\n    return submitted.function(**given)\n"
VICTIM = "nobody may change this file\n" * 100
SECONDS = 2.0
MEETING = 1.5  # seconds that two submissions have to reach each other


def attack_sandbox(require_level: str = "basic") -> Iterator[tuple[str, bool | None]]:
    """Yield (a line, whether it is good); None for a remark.

    An attack that only a higher isolation level could stop is a remark.

    Args:
        require_level: The level that must be reached.
    """
    folder = make_temporary_folder()
    try:
        student = folder / "student"
        student.mkdir()
        secret, victim = folder / "hidden" / "secret.txt", folder / "hidden" / "victim.txt"
        secret.parent.mkdir()
        secret.write_text(SECRET, encoding="utf-8")
        victim.write_text(VICTIM, encoding="utf-8")
        drivers = folder / "drivers.py"
        drivers.write_text(DRIVERS, encoding="utf-8")
        make_readable(folder)
        victim.chmod(0o666)  # so that layers must stop the attack, not the file's own permissions
        with open_sandbox(drivers, [student], 300, [secret], torch=False) as sandbox:
            isolation = sandbox.isolation
            yield from _layers(isolation)
            yield _run_early(sandbox, student)
            given = {"secret": str(secret), "folder": str(secret.parent), "victim": str(victim)}
            through = False
            for attempt in ATTEMPTS:
                if isolation.level != "basic" or attempt.safe:
                    said, fine = _tried(sandbox, student / "submitted.py", attempt, given, isolation)
                    through = through or not fine
                    yield said, fine
            if isolation.level != "basic":
                yield _meet(sandbox, folder, isolation)
            left = _left(folder)
            said = f"{'open  ' if through else ''}left behind: {left}" if left else "nothing is left behind"
            yield said, (None if through else False) if left else True
            changed = victim.read_text(encoding="utf-8", errors="replace") != VICTIM
            whole = f"{'open  ' if changed else ''}a file of the grader is {'changed' if changed else 'unchanged'}"
            yield whole, (False if isolation.level == "full" else None) if changed else True
        enough = LEVELS.index(isolation.level) >= LEVELS.index(require_level)
        yield f"isolation: {isolation.level}{'' if enough else f', {require_level} is required'}", enough
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_reference(
    home: AssignmentFiles, suites: Sequence[str] = SUITES, require_level: str = "basic", harness: Harness | None = None
) -> tuple[str, bool]:
    """Return a line about the points of the reference solution on this machine, and whether it gets full marks."""
    with Grader(home, suites, require_level, harness=harness) as grader:
        report = grader.grade(home.solution)
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


def _run_early(sandbox: Sandbox, student: Path) -> tuple[str, bool | None]:
    """Put hostile files into the folder of submissions while the server (at `basic`, the worker) imports libraries."""
    tries = "run code outside the sandbox, before confinement"
    wire = Tripwire([student.parent, sandbox.home])
    paths = [student / f"{name}.py" for name in ("submitted", *BY_CHANCE)]
    for path in paths:
        _write(path, wire.source)
    try:
        sandbox.warm_up()
        module = wire.find_mark()
        reply = sandbox.load(student / "submitted.py")
    except SandboxFault as error:
        return f"{tries}: the grader itself failed: {error}", False
    for path in paths:
        path.unlink()
    wire.remove_marks()
    if not wire.has_run(reply.output):
        return f"{tries}: the hostile submission never ran ({reply.status})", False
    return f"open  {tries}: it succeeded, as module {module}" if module else f"{tries}: contained", not module


def _tried(
    sandbox: Sandbox, path: Path, attempt: Attack, given: dict[str, str], isolation: Isolation
) -> tuple[str, bool | None]:
    _write(path, _function(", ".join(given), attempt.body))
    try:
        reply = sandbox.call("run", {"given": given}, path, SECONDS)
    except SandboxFault as error:
        return f"{attempt.tries}: the grader itself failed: {error}", False
    if attempt.held(reply) and reply.seconds < 3 * SECONDS:
        return f"{attempt.tries}: contained ({reply.status}, {reply.seconds:.2f} s)", True
    ways = f" ({', '.join(map(str, reply.facts))})" if isinstance(reply.facts, list) and reply.facts else ""
    return sanitize(f"open  {attempt.tries}: it got through{ways}"), False if isolation.level == "full" else None


def _meet(sandbox: Sandbox, folder: Path, isolation: Isolation) -> tuple[str, bool | None]:
    """Run two submissions at the same time in copies of one server, as `course` does."""
    tries, meeting = "reach the submission beside it", secrets.token_hex(8)
    try:
        with contextlib.ExitStack() as stack:
            calls = []
            for number, body in enumerate((SPEAKS, LISTENS)):
                student = folder / "student" / str(number)
                student.mkdir()
                path = student / "submitted.py"
                _write(path, _function("meeting, seconds", body))
                drivers = folder / "drivers.py"
                copy = stack.enter_context(open_sandbox(drivers, [student], 300, template=(sandbox, number), torch=False))
                copy.warm_up()
                given = {"meeting": meeting, "seconds": MEETING + 0.5 * (number == 0)}
                calls.append(partial(copy.call, "run", {"given": given}, path, 4 * SECONDS))
            with ThreadPoolExecutor(len(calls)) as pool:
                speaker, listener = pool.map(lambda call: call(), calls)
    except SandboxFault as error:
        return f"{tries}: the grader itself failed: {error}", False
    ways = sanitize(find_ways(speaker, listener))
    if not ways:
        return f"{tries}: contained ({max(speaker.seconds, listener.seconds):.2f} s)", True
    return f"open  {tries}: it got through ({ways})", False if isolation.level == "full" else None


def _function(arguments: str, body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"def function({arguments}):\n{lines}"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)


def _left(folder: Path) -> str:
    """Return the names of files that should not be there: in the folder, or next to the protected file."""
    own = {"student", "hidden", "drivers.py"}, {"secret.txt", "victim.txt"}
    found = (set(os.listdir(place)) - known for place, known in zip((folder, folder / "hidden"), own, strict=True))
    return ", ".join(sorted(name for names in found for name in names))
