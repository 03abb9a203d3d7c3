"""Measure and remove the working folder of a call, whatever a submission has put there."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def is_too_full(folder: Path, most_bytes: int, most_files: int) -> bool:
    """Return whether the folder holds more than that, or nests it too deeply. Looks at no more than `most_files` entries."""
    total = count = 0
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    count += 1
                    with contextlib.suppress(FileNotFoundError):
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if total > most_bytes or count > most_files:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # removed since, or locked even against its owner
        except OSError:
            return True  # a path too long to follow
    return False


def remove_folder(folder: Path | str) -> None:
    """Remove a folder that no process uses any more: with links, locked folders, and nesting deeper than a path can be long.

    Raises:
        OSError: If something in it cannot be removed.
    """
    if os.rename not in os.supports_dir_fd:
        shutil.rmtree(folder)
        return
    if not os.path.isdir(folder) or os.path.islink(folder):
        os.unlink(folder)
        return
    top = _unlocked(os.fspath(folder), None)
    try:
        mark, number = os.urandom(8).hex(), 0
        while entries := os.listdir(top):
            for name in entries:
                if not _is_folder(name, top):
                    os.unlink(name, dir_fd=top)
                    continue
                # Folders inside it move up, so that none is ever opened through another.
                inner = _unlocked(name, top)
                try:
                    for below in os.listdir(inner):
                        if _is_folder(below, inner):
                            os.close(_unlocked(below, inner))
                            os.rename(below, f"{mark}-{number}", src_dir_fd=inner, dst_dir_fd=top)
                            number += 1
                        else:
                            os.unlink(below, dir_fd=inner)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)


def _is_folder(name: str, parent: int) -> bool:
    return (os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode & 0o170000) == 0o040000


def _unlocked(name: str, parent: int | None) -> int:
    """Return a descriptor of a folder, whose mode is changed first so that its owner can do everything in it."""
    os.chmod(name, 0o700, dir_fd=parent)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
