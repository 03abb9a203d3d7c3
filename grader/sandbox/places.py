"""Create folders and files that workers of another user can access."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import time
from pathlib import Path

from grader.sandbox.scratch import remove_folder

FOLDER, FILE = 0o005, 0o004
PREFIX, WEEK = "grader-", 7 * 86_400.0
_locks: dict[Path, int] = {}  # of this process's folders


def is_reachable(path: str, needed: int = FOLDER) -> bool:
    """Return whether a user without rights of its own can access a folder or file.

    Args:
        needed: The bits that it must have, of the last three mode bits.
    """
    if not path.startswith("/proc/self/fd/"):
        # Both ways, since a user needs the folders in which links lie as well as those to which they lead.
        folders = {folder for way in (os.path.abspath(path), os.path.realpath(path)) for folder in Path(way).parents[:-1]}
        if not all(folder.stat().st_mode & 0o001 for folder in folders):
            return False
    return os.stat(path).st_mode & needed == needed


def get_required_mode(path: str) -> int:
    """Return the mode bits that let a user read a folder with its files, or a file."""
    return FOLDER if os.path.isdir(path) else FILE


def list_world_writable_folders() -> list[str]:
    """Return the folders where any user may put files, the usual one first."""
    return [
        folder for folder in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")) if os.path.isdir(folder)
    ]


def make_temporary_folder(within: Path | None = None) -> Path:
    """Create a folder (mode 0711) that other users can traverse but not list, and return its path.

    It is locked as long as this process lives, or one that it has forked. Our folders that are more than a week old, and not
    locked, are removed: they are left from runs that were killed.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=within or find_working_folder()))
    folder.chmod(0o711)
    for gone in [held for held in _locks if not held.exists()]:
        os.close(_locks.pop(gone))
    if (lock := _lock(folder, wait=True)) is not None:
        _locks[folder] = lock
    for entry in os.scandir(folder.parent):
        with contextlib.suppress(OSError):
            if entry.name.startswith(PREFIX) and _is_ours_and_old(entry.stat(follow_symlinks=False)):
                _remove_unlocked(Path(entry.path))
    return folder


def _lock(folder: Path, wait: bool) -> int | None:
    """Return a descriptor that locks a folder while it is open; None on systems, or file systems, without such locks.

    Raises:
        OSError: If somebody else has locked it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            return None
        raise
    return descriptor


def _remove_unlocked(folder: Path) -> None:
    lock = _lock(folder, wait=False)
    try:
        remove_folder(folder)
    finally:
        if lock is not None:
            os.close(lock)


def _is_ours_and_old(about: os.stat_result) -> bool:
    return about.st_mtime < time.time() - WEEK and (not hasattr(os, "geteuid") or about.st_uid == os.geteuid())


def make_readable(folder: Path) -> None:
    """Let workers of other users read what is below a folder, whatever this process's umask has made of it."""
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def find_working_folder() -> str:
    """Return where temporary folders are made: of root's, such that workers of other users can pass through."""
    usual = tempfile.gettempdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return usual
    return next((folder for folder in list_world_writable_folders() if is_reachable(folder, 0o001)), usual)
