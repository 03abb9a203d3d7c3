"""What a student handed in, copied into a clean folder of allow-listed regular files."""

from __future__ import annotations

import difflib
import os
import stat
from pathlib import Path

from grader.assignment import UsageError

MAX_BYTES = 1 << 20


def stage(path: Path, name: str, folder: Path) -> Path:
    """Return a copy of the submission at `folder / name`; nothing else of what was handed in is copied.

    path: the file, or a folder that contains the file `name`. Raises UsageError when there is no such regular file, or it is
    larger than 1 MB. The bytes are copied as they are: whether they are Python is the sandbox's business.
    """
    found = find(path, name)
    content = read_regular(found)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    target.write_bytes(content)
    folder.chmod(0o755)  # for workers of other users, whatever the umask
    target.chmod(0o644)
    return target


def find(path: Path, name: str) -> Path:
    """Return the path of the submitted file, given the file itself or the folder it lies in."""
    if not path.is_dir():
        if path.exists():
            return path
        raise UsageError(f"there is no {path}; pass the path of your {name}, or of the folder it lies in")
    if (path / name).exists():
        return path / name
    files = sorted(entry.name for entry in path.iterdir() if entry.is_file())
    close = difflib.get_close_matches(name, files, n=1, cutoff=0.75)
    folders = sum(entry.is_dir() for entry in path.iterdir())
    among = f"{folders} folder{'s' if folders > 1 else ''} (name them one by one, or {path}/*)" if folders else "nothing"
    hint = f"; did you mean {close[0]}? Rename it to {name}" if close else ""
    raise UsageError(f"expected {name} in {path}, found {', '.join(files[:10]) or among}{hint}")


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file, not followed through a link, at most 1 MB."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        why = "it is a link; hand in the file itself" if path.is_symlink() else error.strerror
        raise UsageError(f"{path} cannot be read as an ordinary file: {why}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{path} is not an ordinary file")
    with open(descriptor, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES >> 20} MB; hand in source code only")
    return content
