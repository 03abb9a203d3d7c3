"""Locate Python and its libraries for the server, so that a worker of another user can read them.

A Python in root's private home (pyenv, uv) starts well there and fails at the first import after the change of user. Folders
that only their owner can reach are therefore opened by the judge and handed on: /proc/self/fd/N leads into an open folder
whatever lies above it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader.sandbox.places import get_required_mode, is_reachable

HANDLES = 10  # the first descriptor to use: server and worker move theirs to the lowest numbers


def list_library_paths() -> list[str]:
    """Return where libraries are searched: this process's path without the kit's own folders."""
    root = Path(__file__).resolve().parents[2]
    # A folder in which the kit lies, put there by somebody's PYTHONPATH, would show the whole kit.
    return [
        entry
        for entry in sys.path
        if entry and Path(entry).resolve() != Path.cwd() and not root.is_relative_to(Path(entry).resolve())
    ]


class ServerInterpreter:
    """The interpreter and its libraries, as they are passed to the server. Close this object when the server is gone.

    Attributes:
        path: The server's sys.path.
        readable: The paths that workers may read.
        handles: The descriptors that the server inherits under the same numbers.
        home: The server's PYTHONHOME, or None.
    """

    def __init__(self, other_user: bool) -> None:
        self.handles: list[int] = []
        self.home: str | None = None
        self.path = [entry for entry in list_library_paths() if os.path.exists(entry)]
        if other_user:
            base = os.path.realpath(sys.base_prefix)
            inside = {entry for entry in self.path if Path(os.path.realpath(entry)).is_relative_to(base)}
            if not all(is_reachable(entry, get_required_mode(entry)) for entry in inside):
                self.home = self._handle(base)
                moved = {entry: f"{self.home}/{os.path.relpath(os.path.realpath(entry), base)}" for entry in inside}
                self.path = [moved.get(entry, entry) for entry in self.path]
            self.path = [entry if is_reachable(entry, get_required_mode(entry)) else self._handle(entry) for entry in self.path]
        prefix = self.home or os.path.realpath(sys.base_prefix)
        self.readable = [*self.path, f"{prefix}/lib"]

    def _handle(self, path: str) -> str:
        import fcntl  # not on Windows, where there are no handles

        low = os.open(path, os.O_PATH)
        self.handles.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, HANDLES))
        os.close(low)
        return f"/proc/self/fd/{self.handles[-1]}"

    def close(self) -> None:
        """Close the directory descriptors."""
        for handle in self.handles:
            os.close(handle)
        self.handles.clear()
