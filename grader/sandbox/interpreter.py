"""Where the server finds Python and its libraries, so that a worker of another user can still read them.

A Python in root's private home (pyenv, uv) starts well there and fails at the first import after the change of user. Folders
that only their owner can reach are therefore opened by the judge and handed on: /proc/self/fd/N leads into an open folder
whatever lies above it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

from grader.sandbox.scratch import remove

FOLDER, FILE = 0o005, 0o004
PREFIX, WEEK = "grader-", 7 * 86_400.0
HANDLES = 10  # the first descriptor to use: server and worker move theirs to the lowest numbers


def library_path() -> list[str]:
    """Return where libraries are searched: this process's path without the kit's own folders."""
    root = Path(__file__).resolve().parents[2]
    # A folder in which the kit lies, put there by somebody's PYTHONPATH, would show the whole kit.
    return [
        entry
        for entry in sys.path
        if entry and Path(entry).resolve() != Path.cwd() and not root.is_relative_to(Path(entry).resolve())
    ]


def reachable(path: str, needed: int = FOLDER) -> bool:
    """Return whether a user without rights of its own can get at a folder or file. needed: of the last three mode bits."""
    if not path.startswith("/proc/self/fd/"):
        path = os.path.realpath(path)
        above = path
        while (above := os.path.dirname(above)) != os.path.dirname(above):
            if not os.stat(above).st_mode & 0o001:
                return False
    return os.stat(path).st_mode & needed == needed


class Libraries:
    """The interpreter and its libraries as the server is told of them.

    path: the server's sys.path. readable: what workers may read. handles: descriptors to hand on, under the same numbers.
    home: PYTHONHOME, or None. Close it when the server is gone.
    """

    def __init__(self, other_user: bool) -> None:
        self.handles: list[int] = []
        self.home: str | None = None
        self.path = [entry for entry in library_path() if os.path.exists(entry)]
        if other_user:
            base = os.path.realpath(sys.base_prefix)
            inside = {entry for entry in self.path if Path(os.path.realpath(entry)).is_relative_to(base)}
            if not all(reachable(entry, needed(entry)) for entry in inside):
                self.home = self._handle(base)
                moved = {entry: f"{self.home}/{os.path.relpath(os.path.realpath(entry), base)}" for entry in inside}
                self.path = [moved.get(entry, entry) for entry in self.path]
            self.path = [entry if reachable(entry, needed(entry)) else self._handle(entry) for entry in self.path]
        prefix = self.home or os.path.realpath(sys.base_prefix)
        self.readable = [*self.path, f"{prefix}/lib"]

    def _handle(self, path: str) -> str:
        import fcntl  # not on Windows, where there are no handles

        low = os.open(path, os.O_PATH)
        self.handles.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, HANDLES))
        os.close(low)
        return f"/proc/self/fd/{self.handles[-1]}"

    def close(self) -> None:
        """Let go of the folders."""
        for handle in self.handles:
            os.close(handle)
        self.handles.clear()


def needed(path: str) -> int:
    """Return the mode bits that let a user read a folder with its files, or a file."""
    return FOLDER if os.path.isdir(path) else FILE


def places() -> list[str]:
    """Return the folders where any user may put files, the usual one first."""
    return [
        folder for folder in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")) if os.path.isdir(folder)
    ]


def temporary_folder() -> Path:
    """Return a new folder in which a worker of another user finds what it is told the name of, and can list nothing.

    Folders of runs that were killed, a week ago or earlier, are removed on this occasion.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=workplace()))
    folder.chmod(0o711)
    for entry in os.scandir(folder.parent):
        with contextlib.suppress(OSError):
            if entry.name.startswith(PREFIX) and _is_ours_and_old(entry.stat(follow_symlinks=False)):
                remove(entry.path)
    return folder


def _is_ours_and_old(about: os.stat_result) -> bool:
    return about.st_mtime < time.time() - WEEK and (not hasattr(os, "geteuid") or about.st_uid == os.geteuid())


def share(folder: Path) -> None:
    """Let workers of other users read what is below a folder, whatever this process's umask has made of it."""
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def workplace() -> str:
    """Return where temporary folders are made: of root's, such that workers of other users can pass through."""
    usual = tempfile.gettempdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return usual
    return next((folder for folder in places() if reachable(folder, 0o001)), usual)
