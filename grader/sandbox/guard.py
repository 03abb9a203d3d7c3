"""Refuse forbidden actions by a Python audit hook where the system has no layers (Windows, macOS).

Code that the grader would refuse then also fails locally. This prevents accidents only: hostile code can bypass it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Any

PROCESSES = frozenset(
    ("subprocess.Popen", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile")
)
# They are imported when a process is about to be started, for which there is no event everywhere.
WORKERS = frozenset(f"multiprocessing.popen_{how}" for how in ("fork", "forkserver", "spawn_posix", "spawn_win32"))
NETWORK = frozenset(("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"))
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install_guard(home: str) -> Callable[[bool], None]:
    """Refuse processes, network, and files outside of `home` from now on; return what switches that on and off."""
    inside = os.path.realpath(home)
    on = [False]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if not on[0]:
            return
        if event in PROCESSES or (event == "import" and arguments[0] in WORKERS):
            raise PermissionError(errno.EPERM, "processes may not be started")
        if event in NETWORK and not _loops_back(arguments):
            raise PermissionError(errno.EPERM, "the network may not be used")
        if event == "open" and isinstance(arguments[0], (str, bytes)) and arguments[2] & WRITING:
            path = os.path.realpath(os.fsdecode(arguments[0]))
            # A temporary file without a name is the folder itself, opened to be written.
            if not (path + os.sep).startswith(inside + os.sep) and path != os.path.realpath(os.devnull):
                raise PermissionError(errno.EACCES, "files may not be written here", arguments[0])

    def switch(to: bool) -> None:
        on[0] = to

    sys.addaudithook(watch)
    return switch


def _loops_back(arguments: tuple[Any, ...]) -> bool:
    """Return whether an event loop is creating its socket pair on Windows."""
    address = arguments[-1]
    return isinstance(address, tuple) and address[:1] in (("127.0.0.1",), ("::1",))
