"""Parse zips and notebooks in workers, so that the trusted process gets only names and bytes. The judge's side.

A worker's answer is a claim, like every reply: it is validated here, and can at worst be wrong about the file.
"""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from grader.sandbox import open_sandbox, zips
from grader.sandbox.places import make_temporary_folder

if TYPE_CHECKING:
    from typing_extensions import Self

    from grader.sandbox.reply import Reply, SandboxCalls

PART = 16 << 20  # bytes of a file in a zip that cross in one frame, see MAX_BLOB in wire.py
NAME = "to-parse"  # of the copy that a worker reads
WHY = {"memory": "it needs too much memory", "timeout": "it takes too long"}


class Unreadable(Exception):
    """A file cannot be parsed; the message gives the reason."""


class TooManyFiles(Unreadable):
    """A zip holds more files than it may."""


@dataclass(frozen=True)
class ZipEntry:
    """One entry of a zip.

    Attributes:
        number: Its place in the zip's list.
        name: Its name, as it stands there.
        kind: FILE, FOLDER or LINK of zips.py.
    """

    number: int
    name: str
    kind: int


class FileParser:
    """Parses files in workers of a sandbox.

    Args:
        sandbox: The sandbox.
        folder: A folder that its workers can read.
    """

    def __init__(self, sandbox: SandboxCalls, folder: Path) -> None:
        self._place = sandbox, folder

    def _get_place(self) -> tuple[SandboxCalls, Path]:
        """Return the sandbox and the folder."""
        return self._place

    @contextlib.contextmanager
    def open_zip(self, file: IO[bytes], most: int) -> Iterator[OpenZip]:
        """Yield the entries of a zip.

        Args:
            file: The zip.
            most: How many entries it may have.

        Raises:
            TooManyFiles: If it has more.
            Unreadable: If its list cannot be read.
            SandboxFault: If the sandbox itself fails.
        """
        sandbox, folder = self._get_place()
        with _copied(file, folder) as path:
            yield OpenZip(sandbox, path, _list_entries(sandbox.parse("list_zip", path, most=most), most))

    def list_code(self, notebook: bytes) -> str:
        """Return the code of a notebook's cells, as much of it as is graded.

        Raises:
            Unreadable: If it is not a notebook.
            SandboxFault: If the sandbox itself fails.
        """
        sandbox, folder = self._get_place()
        with _copied(io.BytesIO(notebook), folder) as path:
            return _get_bytes(sandbox.parse("list_code", path), "code").decode("utf-8", "replace")


class OwnParser(FileParser):
    """A parser with a sandbox of its own, which is started when there is the first file to take apart."""

    def __init__(self) -> None:
        self._kept = contextlib.ExitStack()
        self._opened: tuple[SandboxCalls, Path] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._opened = None
        self._kept.close()

    def _get_place(self) -> tuple[SandboxCalls, Path]:
        if self._opened is None:
            home = make_temporary_folder()
            self._kept.callback(shutil.rmtree, home, ignore_errors=True)
            drivers, folder = home / "drivers.py", home / "files"
            drivers.write_bytes(b"")
            folder.mkdir()
            for path, mode in ((drivers, 0o644), (folder, 0o755)):
                path.chmod(mode)
            self._opened = self._kept.enter_context(open_sandbox(drivers, [folder], torch=False)), folder
        return self._opened


class OpenZip:
    """A zip while it can be read.

    Attributes:
        entries: What is in it, in its own order.
    """

    def __init__(self, sandbox: SandboxCalls, path: Path, entries: Sequence[ZipEntry]) -> None:
        self.entries = entries
        self._sandbox = sandbox
        self._path = path

    def read(self, entry: ZipEntry, most: int) -> bytes:
        """Return the content of an entry, at most so many bytes of it.

        Raises:
            Unreadable: If it cannot be read.
            SandboxFault: If the sandbox itself fails.
        """
        content = bytearray()
        while len(content) < most:
            wanted = min(PART, most - len(content))
            reply = self._sandbox.parse("read_zip", self._path, entry=entry.number, start=len(content), most=wanted)
            part = _get_bytes(reply, "content")
            content += part[:wanted]
            if len(part) < wanted:
                break
        return bytes(content)


@contextlib.contextmanager
def _copied(file: IO[bytes], folder: Path) -> Iterator[Path]:
    """Yield the path of a copy that workers can read."""
    path = folder / NAME
    try:
        path.unlink(missing_ok=True)
        with open(path, "xb") as copy:  # never through a link
            shutil.copyfileobj(file, copy, 1 << 20)
        path.chmod(0o644)
        yield path
    finally:
        path.unlink(missing_ok=True)


def _list_entries(reply: Reply, most: int) -> list[ZipEntry]:
    if reply.status == "refused":
        raise TooManyFiles
    names = _get_bytes(reply, "names").decode("utf-8", "replace").split("\0")[:-1]
    kinds = list(_get_bytes(reply, "kinds"))
    if len(names) != len(kinds) or len(names) > most or not set(kinds) <= {zips.FILE, zips.FOLDER, zips.LINK}:
        raise Unreadable("its list of files contradicts itself")
    return [ZipEntry(number, name, kind) for number, (name, kind) in enumerate(zip(names, kinds, strict=True))]


def _get_bytes(reply: Reply, name: str) -> bytes:
    """Return one of the byte arrays that a reply holds.

    Raises:
        Unreadable: If the worker could not read the file.
    """
    if reply.status != "ok":
        message = reply.details.get("message") if reply.status == "unreadable" else None
        raise Unreadable(str(message or WHY.get(reply.status) or f"the reader ended ({reply.status})"))
    try:
        content: bytes = reply.facts[name].tobytes()
    except (KeyError, TypeError, AttributeError):
        raise Unreadable("the reader sent an unexpected answer") from None
    return content
