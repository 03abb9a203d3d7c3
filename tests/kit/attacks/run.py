"""Grades every attack in the situation that this process finds itself in, and looks for damage after each.

    python -m tests.kit.attacks.run TOY WORK RESULT [--everywhere]

TOY: the toy assignment, built. WORK: a folder that any user can pass through. RESULT: the file for what was seen, as JSON:
isolation as the report has it, and for each attack whether it was contained, or why not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.assignment import Assignment, AssignmentFiles
from grader.judge.run import Grader
from grader.report.model import Report

from .catalogue import Attack, load

CHECKED = ("total", "spread")
WORD = "sesame"
PUBLIC = [Path(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm", "/") if os.path.isdir(folder)]


class Bait:
    """What attacks look for, and traces that they would leave."""

    def __init__(self, toy: Path, work: Path) -> None:
        self.secrets = {kind: f"{WORD}-{kind}-{secrets.token_hex(8)}" for kind in ("file", "environment", "memory", "argument")}
        self.kit = work / "kit"
        shutil.copytree(toy, self.kit)
        hidden = self.kit / "tests" / "hidden"
        with open(hidden / "test_toy.py", "a") as file:
            file.write(f"# {self.secrets['file']}\n")
        self.results, self.other = work / "results", work / "class" / "other"
        for folder in (self.results, self.other):
            folder.mkdir(parents=True)
        self.platform = work / "submission_metadata.json"
        for path in (self.results / "results.json", self.other / "submitted.py", self.platform):
            path.write_text(json.dumps(self.secrets["file"]))
        os.environ["GRADER_SECRET_TOKEN"] = self.secrets["environment"]
        self.memory = [self.secrets["memory"]] * 3
        self.tcp, self.udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.unix = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        names = (str(work / "socket"), f"\0loot-{os.getpid()}")
        for one, name in zip(self.unix, names, strict=True):
            one.bind(name)
            one.listen()
        self.datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagrams.bind(str(work / "datagrams"))
        for one in (self.tcp, self.udp, self.datagrams, *self.unix):
            one.setblocking(False)
        self.known: dict[str, Any] = {
            "word": WORD,
            "judge": os.getpid(),
            "kit": str(self.kit),
            "hidden": [
                str(hidden / "test_toy.py"),
                str(hidden / "answers/toy.json"),
                str(self.kit / "solutions/toy/submitted.py"),
            ],
            "folders": [str(self.kit), str(hidden), str(hidden.parent)],
            "other submission": str(self.other / "submitted.py"),
            "results": str(self.results),
            "results files": [str(self.results / "results.json")],
            "platform": str(self.platform),
            "tcp port": self.tcp.getsockname()[1],
            "udp port": self.udp.getsockname()[1],
            "unix path": names[0],
            "datagram path": str(work / "datagrams"),
            "unix name": names[1][1:],
        }
        self.work = work
        self.before = self.state()

    def state(self) -> dict[str, Any]:
        """Return what no attack may change."""
        files = {}
        for path in sorted([self.kit, self.results, self.other, self.platform]):
            for entry in [path, *sorted(path.rglob("*"))]:
                if "__pycache__" not in entry.parts:
                    known = entry.lstat()
                    files[str(entry)] = (known.st_mode, known.st_uid, known.st_size, known.st_mtime_ns)
        segments = Path("/proc/sysvipc/shm")
        return {
            "files": files,
            "segments": segments.read_text() if segments.exists() else "",
            "mounts": Path("/proc/self/mounts").read_text() if os.path.exists("/proc/self/mounts") else "",
        }

    def damage(self, report: Report, server: int | None) -> Iterator[str]:
        """Yield what an attack has achieved."""
        text = report.model_dump_json()
        for check in report.checks:
            if "LEAKED" in check.printed:
                yield f"it says so: {check.printed[:300]}"
        yield from (f"it has read a secret ({kind})" for kind, secret in self.secrets.items() if secret in text)
        if "def test_default_scale" in text:
            yield "it has read the hidden checks"
        state = self.state()
        yield from (f"changed: {name}" for name in state if state[name] != self.before[name])
        self.before = state
        for folder in (*PUBLIC, self.work, self.kit, self.results, Path.cwd()):
            for left in folder.glob("loot-*"):
                yield f"left {left}"
                left.unlink()
        for one in (self.tcp, *self.unix):
            with contextlib.suppress(BlockingIOError):
                one.accept()
                yield "it has connected"
        for one in (self.udp, self.datagrams):
            with contextlib.suppress(BlockingIOError):
                yield f"it has sent {one.recv(100)!r}"
        yield from (f"process {process} is left" for process in descendants() if process != server)
        for line in text.split("\\n"):
            if any(character in line for character in "\x1b\x07\x9b\u202e\u200b"):
                yield "a control character is in the report"


def descendants() -> list[int]:
    """Return all processes below this one."""
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(Path(entry.path, "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found[1:]


def faults(attack: Attack, report: Report, everywhere: bool) -> Iterator[str]:
    """Yield how the report differs from what must be seen of the attack."""
    checks = {name: [check for check in report.checks if check.question == name] for name in CHECKED}
    worth = {name: sum(check.max_points for check in found) for name, found in checks.items()}
    earned = worth["total"] + worth["spread"] if attack.honest else 0 if attack.at_import or everywhere else worth["total"]
    if report.points != earned:
        yield f"{report.points:g} points, the honest part earns {earned:g}"
    if not report.final:
        yield f"the report is not final: {report.explain_stop()} {[check.detail for check in report.checks if check.detail]}"
    attacked = checks["spread"] + (checks["total"] if everywhere or attack.at_import else [])
    if strange := {check.outcome.value for check in attacked} - set(attack.sees):
        yield f"outcome {', '.join(strange)} instead of {' or '.join(attack.sees)}: {attacked[-1].message[:300]}"
    if attack.says and not all(attack.says in check.message for check in attacked):
        yield f"it is not told {attack.says!r}: {attacked[0].message[:300]}"


def limited(home: AssignmentFiles, seconds: float) -> Assignment:
    """Return the assignment with this limit for each call."""
    limits = home.assignment.limits.model_copy(update={"seconds": seconds, "memory_mb": 300})
    return home.assignment.model_copy(update={"limits": limits})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("toy", "work", "result"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--everywhere", action="store_true", help="the attack in place of every function")
    parser.add_argument("--only", default="", help="names that contain this")
    options = parser.parse_args()
    if sys.platform == "linux":
        from grader.sandbox import kernel

        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)  # what escapes the server is found here
    bait = Bait(options.toy, options.work)
    home = AssignmentFiles(bait.kit, "toy")
    hurried, patient = limited(home, 1.0), limited(home, 30.0)
    seen: dict[str, Any] = {}
    with Grader(home, ("visible", "hidden")) as grader:
        for attack in load():
            basic = os.environ.get("GRADER_LEVEL") == "basic"
            if options.only not in attack.name or (options.everywhere and attack.honest):
                continue
            if basic and not attack.safe:
                seen[attack.name] = {"group": attack.group, "run": False}
                continue
            path = options.work / "submitted.py"
            path.write_text(attack.submission(bait.known, options.everywhere))
            home.assignment = patient if attack.honest else hurried
            began = time.monotonic()
            report = grader.grade(path, set(CHECKED))
            seconds = time.monotonic() - began
            server = getattr(grader._sandbox, "_server", None) or getattr(grader._sandbox, "_worker", None)
            why = [*faults(attack, report, options.everywhere), *bait.damage(report, server and server.pid)]
            if seconds > attack.seconds * (2 if options.everywhere else 1):
                why.append(f"it took {seconds:.1f} s, the bound is {attack.seconds:g} s")
            seen[attack.name] = {
                "group": attack.group,
                "run": True,
                "contained": not why,
                "why": why,
                "seconds": round(seconds, 2),
                "message": next((c.message for c in report.checks if c.message), report.explain_stop())[:300],
            }
        isolation = {"level": report.isolation, "layers": report.isolation_layers, "open": report.isolation_open}
    left = descendants()
    result = {"isolation": isolation, "left at the end": left, "attacks": seen}
    options.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
