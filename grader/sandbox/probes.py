"""Test what a worker can do that it must not: run in a worker of each new server, instead of student code.

Whether a layer holds is not concluded from the version of a kernel. Every probe is harmless where it succeeds.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Nothing imports these before they are needed; the last is compiled. So is torch's own way of importing much of itself.
LAZY = ("encodings.koi8_r", "colorsys", "_zoneinfo")


def run_probes(judge: int, secrets: list[str], outside: list[str], writable: str) -> dict[str, Any]:
    """Return `{"open": [what succeeded], "libraries": why they cannot be read, or None}`.

    Args:
        judge: The process id of the judge.
        secrets: Files that no worker may read.
        outside: Folders that no worker may write to.
        writable: A file that any user may write to, outside of the worker's folder.
    """
    server = os.getppid()
    attempts: dict[str, Callable[[], object]] = {
        "read hidden files": lambda: _any(secrets, lambda path: open(path, "rb").close()),
        "list the folders of hidden files": lambda: _any(secrets, lambda path: os.listdir(os.path.dirname(path))),
        "write outside of its folder": lambda: _any(outside, lambda folder: tempfile.TemporaryFile(dir=folder).close()),
        "empty files outside of its folder": lambda: _any([os.path.join(os.pardir, "server.log"), writable], _truncate),
        "lock files that others use": _lock,
        "see how the grader was started": lambda: open(f"/proc/{judge}/cmdline").close(),
        "read the grader's environment": lambda: open(f"/proc/{judge}/environ").close(),
        "read the grader's memory": lambda: open(f"/proc/{judge}/mem", "rb").close(),
        "read the server's memory": lambda: open(f"/proc/{server}/mem", "rb").close(),
        "send the grader a signal": lambda: os.kill(judge, 0),
        "send the server a signal": lambda: os.kill(server, 0),
        "start a process": _fork,
        "open a network socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
        "open a local socket": lambda: socket.socket(socket.AF_UNIX).close(),
        "hold memory beyond its limit": lambda: os.close(os.memfd_create("probe")),
        "share memory with other processes": _share_memory,
        "let the kernel send signals for it": _ask_for_signals,
        "become root": lambda: os.setuid(0) if os.getuid() else os.chroot("/"),
    }
    return {"open": [name for name, attempt in attempts.items() if _succeeds(attempt)], "libraries": _unreadable()}


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, AttributeError):
        return False
    return True


def _any(places: list[str], attempt: Callable[[str], object]) -> None:
    """Raise OSError if the attempt succeeds at none of the places."""
    if not any(_succeeds(functools.partial(attempt, place)) for place in places):
        raise OSError("nowhere")


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _truncate(path: str) -> None:
    """Cut a file to the length that it has."""
    os.truncate(path, os.stat(path).st_size)


def _lock() -> None:
    """Lock a file that every worker may open. Where locks are without effect, a second one also seems to succeed."""
    import fcntl

    with open(os.devnull) as one, open(os.devnull) as other:
        try:
            fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
    raise OSError("without effect")


def _share_memory() -> None:
    """Make a segment of System V's shared memory, and remove it."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0, 4096, 0o1600)  # IPC_PRIVATE, IPC_CREAT
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    libc.shmctl(segment, 0, None)  # IPC_RMID


def _ask_for_signals() -> None:
    """Ask to be signaled about a file, which costs nobody else anything."""
    import fcntl

    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())


def _unreadable() -> str | None:
    try:
        for name in LAZY:
            importlib.import_module(name)
        torch = importlib.util.find_spec("torch")
        if torch is None:
            raise ImportError("torch cannot be found")
        assert torch.origin is not None  # anything else than a package with a file is a fault, not a lack
        with open(torch.origin, "rb") as file:
            file.read(1)
        os.listdir(Path(torch.origin).parent / "optim")
    except (OSError, ImportError) as error:
        return f"{type(error).__name__}: {error}"
    return None
