"""One hostile call after another in one sandbox, and what they leave behind together."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from grader.sandbox.confinement import USERS
from grader.sandbox.forked import ForkedSandbox
from tests.kit.processes import process_behind

from .catalogue import Attack, load
from .run import PUBLIC, descendants

WORST = (
    *("forks_without_end", "starts_threads_without_end", "allocates_bit_by_bit", "fills_the_disk_without_names"),
    *("makes_files_without_end", "nests_folders", "prints_without_end", "floods_the_wire", "kills_everything", "crashes"),
)
SECONDS = 1.0
CALLER = "\n\ndef function():\n    return attack([1.0, 2.0], 1.0, {known})\n"


def traces(sandbox: ForkedSandbox) -> dict[str, Any]:
    """Return what may not grow from call to call."""
    server = process_behind(sandbox).pid
    # Other runs use the public folders meanwhile: what is a worker's there belongs to a worker's user, or is named as loot.
    left = [entry.path for folder in PUBLIC for entry in os.scandir(folder) if is_left(entry)]
    return {
        "processes": sorted(descendants()),
        "descriptors of the judge": len(os.listdir("/proc/self/fd")),
        "descriptors of the server": len(os.listdir(f"/proc/{server}/fd")),
        "mounts of the judge": len(Path("/proc/self/mounts").read_text().splitlines()),
        "mounts of the server": len(Path(f"/proc/{server}/mounts").read_text().splitlines()),
        "segments": len(Path("/proc/sysvipc/shm").read_text().splitlines()),
        "files": sorted([*left, *os.listdir(sandbox._home)]),
    }


def is_left(entry: os.DirEntry[str]) -> bool:
    """Return whether a worker has put this there."""
    with contextlib.suppress(FileNotFoundError):
        return entry.name.startswith("loot") or entry.stat(follow_symlinks=False).st_uid in USERS
    return False


def resident_kb(pid: int | str = "self") -> int:
    """Return the memory of a process that is in use now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def soak(sandbox: ForkedSandbox, folder: Path, calls: int) -> dict[str, Any]:
    """Return what `calls` calls of the worst attacks, in turn, left behind and how long each took.

    folder: where the sandbox finds submissions. After each, an honest call must find everything as it was.
    """
    known = {"judge": os.getpid()}
    attacks: list[Attack] = [attack for name in WORST for attack in load() if attack.name == name]
    path, honest = folder / "submitted.py", folder / "honest.py"
    honest.write_text("import os\n\ndef function():\n    return os.listdir('.')\n")

    def once(attack: Attack) -> float:
        path.write_text(attack.source + CALLER.format(known=known))
        began = time.monotonic()
        reply = sandbox.call("run", {}, path, SECONDS)
        seconds = time.monotonic() - began
        # kills_everything is refused at each attempt, and so returns like an honest one.
        assert reply.status != "ok" or attack.name == "kills_everything", (attack.name, reply)
        after = sandbox.call("run", {}, honest, 10.0)
        assert (after.status, after.facts) == ("ok", []), (attack.name, after)
        return seconds

    for attack in attacks:
        once(attack)
    before, server = traces(sandbox), process_behind(sandbox).pid
    memory = resident_kb(), resident_kb(server)
    longest: dict[str, float] = {}
    for turn in range(calls):
        attack = attacks[turn % len(attacks)]
        longest[attack.name] = max(longest.get(attack.name, 0.0), once(attack))
    after = traces(sandbox)
    return {
        "calls": calls,
        "left behind": {name: [before[name], after[name]] for name in before if before[name] != after[name]},
        "server replaced": process_behind(sandbox).pid != server,
        "growth of the judge, kB": resident_kb() - memory[0],
        "growth of the server, kB": resident_kb(process_behind(sandbox).pid) - memory[1],
        "longest call, s": {name: round(seconds, 2) for name, seconds in longest.items()},
    }
