"""The situations in which a kit is run, made on one machine: root, root in a container, an ordinary user.

    python -m tests.kit.attacks.situations SITUATION ARGUMENT...

runs `python ARGUMENT...` in it. "container" has root with exactly Docker's default capabilities, hence no namespaces; Docker's
own filter of system calls is not reproduced. "user" has neither root nor anything else; where Python or the kit lie in a folder
that is private to root, they are shown to it by mounts of its own. "basic" is a system that cannot fork, by GRADER_LEVEL.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader.sandbox import kernel

ROOT = Path(__file__).resolve().parents[3]
SITUATIONS = ("root", "container", "user", "basic")
PR_CAPBSET_DROP = 24  # <linux/prctl.h>
DOCKER = 0x00000000A80425FB  # Docker's default capabilities, as /proc/self/status shows them in a container
USER = 54_321


def enter(situation: str) -> None:
    """Put this process into the situation; what it was before cannot be had back."""
    if situation == "basic":
        os.environ["GRADER_LEVEL"] = "basic"
    elif situation == "container":
        for capability in range(41):
            if not DOCKER >> capability & 1:
                kernel.prctl(PR_CAPBSET_DROP, capability)
    elif situation == "user" and os.geteuid() == 0:
        expose([Path(sys.base_prefix).resolve(), Path(sys.prefix), ROOT])
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def expose(paths: list[Path]) -> None:
    """Show these folders to every user, in mounts of this process alone, though folders above them are private."""
    private = {folder for path in paths for folder in path.parents if not folder.stat().st_mode & 0o001}
    outermost = [folder for folder in private if not private & set(folder.parents)]
    if outermost:
        kernel.unshare(kernel.Namespace.MOUNT)
        kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kept = {path: os.open(path, os.O_PATH) for path in paths}  # the way to them, when it is covered
    for folder in outermost:
        kernel.mount("exposed", str(folder), "tmpfs", options="mode=0755")
    for path, descriptor in sorted(kept.items(), key=lambda item: len(item[0].parts)):  # .venv may be a link in the kit
        if not path.exists():
            path.mkdir(parents=True)
            kernel.mount(f"/proc/self/fd/{descriptor}", str(path), flags=kernel.MS_BIND | kernel.MS_REC)
        os.close(descriptor)


if __name__ == "__main__":
    enter(sys.argv[1])
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
