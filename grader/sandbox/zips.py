"""Read a zip in a worker: its names, and the content of one file. Nothing is unpacked to the disk."""

from __future__ import annotations

import io
import stat
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from zipfile import ZipFile

MAX_LIST_BYTES = 4 << 20  # of a zip's list of files, with their names
STEP = 1 << 20  # bytes to read at once
SMALL_STEP = 1 << 12  # where `zipfile` unpacks all that it reads at once: of bzip2, that becomes 80 MB at most
FILE, FOLDER, LINK = range(3)
"""The kinds of entries, as numbers that cross the wire."""


class TooManyFiles(Exception):
    """The list of files is longer than it may be."""


def list_entries(path: str, most: int) -> tuple[list[str], list[int]]:
    """Return the names of all entries, as they stand in the zip, and their kinds.

    Raises:
        TooManyFiles: If there are more than `most`.
        Exception: Anything that `zipfile` stumbles over.
    """
    with open(path, "rb") as file, _open_zip(file) as archive:
        entries = archive.infolist()
        if len(entries) > most:
            raise TooManyFiles
        kinds = [FOLDER if entry.is_dir() else LINK if stat.S_ISLNK(entry.external_attr >> 16) else FILE for entry in entries]
        return [entry.filename for entry in entries], kinds


def read_entry(path: str, number: int, start: int, most: int) -> bytes:
    """Return at most so many bytes of one entry, from the byte `start` on.

    Args:
        number: Its place in the list that `list_entries` returns.

    Raises:
        Exception: Anything that `zipfile` stumbles over.
    """
    with open(path, "rb") as file, _open_zip(file) as archive:
        about = archive.infolist()[number]
        step = STEP if about.compress_type in (0, 8) else SMALL_STEP  # stored, deflated
        with archive.open(about) as entry:
            for skipped in range(0, start, step):
                entry.read(min(step, start - skipped))
            content = bytearray()
            while len(content) < most and (part := entry.read(min(step, most - len(content)))):
                content += part
            return bytes(content)


def _open_zip(file: IO[bytes]) -> ZipFile:
    import zipfile  # not in the server, which most often reads no zip

    return zipfile.ZipFile(_BoundedList(file))


class _BoundedList(io.BufferedReader):
    """A zip whose list of files, which is as long as the zip says, is refused before it fills the memory."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file.raw)  # type: ignore[attr-defined]  # a file that was opened for reading bytes has it

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_LIST_BYTES:
            raise TooManyFiles
        return super().read(size)
