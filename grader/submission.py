"""Read a submission: a Python file or a notebook, alone, in a folder or in a zip, and its attachments.

Nothing is parsed here: a worker reads a zip (sandbox/parsing.py). The encoding of source code is found by regular expressions,
which read only the first two lines, in linear time.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import io
import os
import re
import stat
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from grader.assignment import UsageError

if TYPE_CHECKING:
    from grader.sandbox.parsing import FileParser, OpenZip, ZipEntry

MAX_BYTES = {".py": 1 << 20, ".ipynb": 64 << 20, ".zip": 256 << 20}  # a notebook may carry outputs
MAX_DEPTH = 4
MAX_FILES = 10_000
NOTEBOOK = ".ipynb"
# Encodings that a file may declare instead of UTF-8: each character is one byte, and ASCII characters mean themselves.
CHARSETS = ("ascii", "iso8859-1", "iso8859-2", "iso8859-15", "cp1250", "cp1251", "cp1252", "koi8-r")
DECLARED = re.compile(r"([ \t\f]*#.*?coding[:=][ \t]*)[-\w.]+")
# Files that editors, systems and Python leave next to a submission.
NOT_HANDED_IN = ("__MACOSX", "__pycache__", "node_modules", "site-packages", "venv")


@dataclass(frozen=True)
class SubmittedFile:
    """One submitted file.

    Attributes:
        name: Its path, for messages.
        content: Its bytes.
        notebook: Whether it is a notebook.
        path: None if it is in a zip.
        attachments: For each allowed file next to it, by name, its content, or the reason why it
            was refused.
    """

    name: str
    content: bytes
    notebook: bool
    path: Path | None
    attachments: dict[str, bytes | str] = field(default_factory=dict)


@dataclass(frozen=True)
class AttachmentRules:
    """The files that may be attached.

    Attributes:
        names: Their names.
        most: Maximum size of each, in bytes.
    """

    names: Sequence[str] = ()
    most: int = 1 << 20


def read_submission(
    path: Path, name: str, allowed: AttachmentRules = AttachmentRules(), parser: FileParser | None = None
) -> list[SubmittedFile]:
    """Return the file to grade; or two, in case the first is only the stub.

    The two are a file called `name` and the notebook next to it.

    Args:
        path: A file of Python or a notebook, whatever its name; a folder or a zip that holds `name`
            or a notebook, at most four folders deep, as downloads of Gradescope do; or a folder
            with a zip and neither of them.
        allowed: The files that are read from the same folder as attachments.
        parser: Asks a worker to read a zip; by default, a sandbox is started for this zip alone.

    Raises:
        UsageError: If there is no such file, if there are several, or if it is too large or not
            an ordinary file.
        SandboxFault: If the sandbox itself fails while a zip is read.
    """
    if path.is_dir():
        files = _in_folder(path)
        packed = [entry for entry in files if entry.suffix.lower() == ".zip"]
        if len(packed) == 1 and not any(entry.name == name or entry.suffix.lower() == NOTEBOOK for entry in files):
            return read_submission(path / packed[0], name, allowed, parser)  # from a platform that does not unpack zips
        return _choose(files, path, name, allowed)
    if not path.exists() and not path.is_symlink():
        near = difflib.get_close_matches(path.name, _names(path.parent), n=1) if path.parent.is_dir() else []
        hint = f" (did you mean {path.parent / near[0]}?)" if near else ""
        raise UsageError(f"there is no {path}{hint}; pass the path of your {name}, a notebook, or their folder")
    if path.suffix.lower() == ".zip":
        return _read_zip(path, name, allowed, parser)
    beside = {near: path.parent / near for near in allowed.names if os.path.lexists(path.parent / near)}
    openers: dict[str, Opener] = {near: partial(_read_file, file) for near, file in beside.items()}
    return [_read(str(path), partial(_read_file, path), path.suffix.lower(), path, _attached(openers, allowed.most))]


def expand_paths(path: Path, name: str) -> list[Path]:
    """Return the submissions at a path: the path itself, or all submissions in a folder that Gradescope exported."""
    if not path.is_dir() or (path / name).exists():
        return [path]
    folders = sorted(folder for folder in path.glob("submission_*") if folder.is_dir())
    return folders or [path]


def list_remarks(path: Path, name: str) -> list[str]:
    """Return what a caller may not have meant, of a path that has been graded: one line each."""
    if path.is_file() and path.suffix.lower() not in (".py", NOTEBOOK, ".zip"):
        return [f"{path.name} was read as Python; `course` and the platforms read only .py, .ipynb and .zip files"]
    if path.is_dir() and not (path / name).exists():
        code = [entry for entry in _names(path) if PurePosixPath(entry).suffix.lower() in (".py", NOTEBOOK)]
        if len(code) > 2:
            return [f"{path} holds {len(code)} files of code, and only one was graded; for a class, use `course`"]
    return []


def stage_submission(content: bytes, path: Path) -> Path:
    """Write the file that workers read, readable for all users whatever the umask, and return its path."""
    path.write_bytes(content)
    path.parent.chmod(0o755)
    path.chmod(0o644)
    return path


Opener = Callable[[int], bytes]
"""Returns at most the given number of bytes of a file."""


def _choose(files: dict[PurePosixPath, Opener], path: Path, name: str, allowed: AttachmentRules) -> list[SubmittedFile]:
    """Return the files of a folder or zip that are graded; see `read_submission`."""
    python = _outermost([entry for entry in files if entry.name == name])
    notebooks = _outermost([entry for entry in files if entry.suffix.lower() == NOTEBOOK])
    notebooks = [entry for entry in notebooks if entry.stem == PurePosixPath(name).stem] or notebooks
    several = python if len(python) > 1 else notebooks if not python and len(notebooks) > 1 else []
    if several:
        found = ", ".join(map(str, several[:10]))
        raise UsageError(f"{path} holds {len(several)} possible submissions ({found}); name the one to grade")
    if not python and not notebooks:
        names = [str(entry) for entry in sorted(files, key=lambda entry: (len(entry.parts), entry))]
        close = difflib.get_close_matches(name, [entry.name for entry in files], n=1, cutoff=0.75)
        hint = f"; did you mean {close[0]}? Rename it to {name}" if close else ""
        raise UsageError(f"expected {name} or a notebook in {path}, found {', '.join(names[:10]) or 'nothing'}{hint}")
    chosen = [*python, *(notebooks if len(notebooks) == 1 else [])]
    within = path if path.is_dir() else None
    handed = []
    for entry in chosen:
        beside = {near: files[entry.parent / near] for near in allowed.names if entry.parent / near in files}
        place, attached = f"{entry} in {path.name or path}", _attached(beside, allowed.most)
        handed.append(_read(place, files[entry], entry.suffix.lower(), within and within / entry, attached))
    return handed


def _attached(openers: dict[str, Opener], most: int) -> dict[str, bytes | str]:
    """Return the content of these files by name, or the reason why one was refused; this affects no other file."""
    found: dict[str, bytes | str] = {}
    for name, opener in openers.items():
        try:
            content = opener(most + 1)
        except _Damaged as error:
            found[name] = f"{name} cannot be read: {error.why}"
        except UsageError as error:
            found[name] = str(error)
        except OSError as error:
            found[name] = f"{name} cannot be read: {error}"
        else:
            found[name] = content if len(content) <= most else f"{name} is larger than {most >> 20} MB"
    return found


def _outermost(entries: list[PurePosixPath]) -> list[PurePosixPath]:
    """Return the files in the fewest folders: deeper ones are copies or backups."""
    least = min((len(entry.parts) for entry in entries), default=0)
    return sorted(entry for entry in entries if len(entry.parts) == least)


def _in_folder(folder: Path) -> dict[PurePosixPath, Opener]:
    """Return all files below this folder. Links to folders are not followed."""

    def below(inside: Path, depth: int) -> Iterator[Path]:
        try:
            entries = sorted(inside.iterdir())
        except OSError as error:
            raise UsageError(f"{inside} cannot be read: {error.strerror}") from error
        for entry in entries:
            if _left_by_tools(entry.name):
                continue
            if not entry.is_dir() or entry.is_symlink():
                yield entry
            elif depth < MAX_DEPTH:
                yield from below(entry, depth + 1)

    found: dict[PurePosixPath, Opener] = {}
    for entry in below(folder, 0):
        found[PurePosixPath(entry.relative_to(folder).as_posix())] = partial(_read_file, entry)
        if len(found) == MAX_FILES:
            raise UsageError(f"{folder} holds more than {MAX_FILES:,} files; name the one to grade")
    return found


class _Damaged(UsageError):
    """A zip, or a file in it, that a worker could not read."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(f"{path} cannot be read as a zip: {why}")
        self.why = why


def _read_zip(path: Path, name: str, allowed: AttachmentRules, parser: FileParser | None) -> list[SubmittedFile]:
    """Return the files of a zip that are graded; see `read_submission`."""
    from grader.sandbox.parsing import OwnParser, TooManyFiles, Unreadable

    with _open(path) as file, contextlib.ExitStack() as kept:
        if os.fstat(file.fileno()).st_size > MAX_BYTES[".zip"]:
            raise UsageError(f"{path} is larger than {MAX_BYTES['.zip'] >> 20} MB; submit only what you wrote")
        parser = parser or kept.enter_context(OwnParser())
        try:
            archive = kept.enter_context(parser.open_zip(file, MAX_FILES))
        except TooManyFiles:
            raise UsageError(f"{path} holds more than {MAX_FILES:,} files; submit only what you wrote") from None
        except Unreadable as error:
            raise _Damaged(path, error) from error
        return _choose(_in_zip(archive, path), path, name, allowed)


def _in_zip(archive: OpenZip, path: Path) -> dict[PurePosixPath, Opener]:
    from grader.sandbox.zips import FOLDER

    found: dict[PurePosixPath, Opener] = {}
    for entry in archive.entries:
        name = PurePosixPath(entry.name.replace("\\", "/"))
        if entry.kind != FOLDER and not any(map(_left_by_tools, name.parts)) and len(name.parts) <= MAX_DEPTH + 1:
            found[name] = partial(_refuse_twice, name) if name in found else partial(_read_entry, archive, path, entry)
    return found


def _refuse_twice(name: PurePosixPath, _most: int) -> bytes:
    raise UsageError(f"{name} is in the zip more than once; keep one and create the zip again")


def _read_entry(archive: OpenZip, path: Path, entry: ZipEntry, most: int) -> bytes:
    from grader.sandbox.parsing import Unreadable
    from grader.sandbox.zips import LINK

    if entry.kind == LINK:
        raise UsageError(f"{entry.name} cannot be read as an ordinary file: it is a link; submit the file itself")
    try:
        return archive.read(entry, most)
    except Unreadable as error:
        raise _Damaged(path, error) from error


def _left_by_tools(name: str) -> bool:
    return name in NOT_HANDED_IN or name.startswith(".")


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.is_file())


def _read(name: str, opener: Opener, suffix: str, path: Path | None, attachments: dict[str, bytes | str]) -> SubmittedFile:
    most = MAX_BYTES.get(suffix, MAX_BYTES[".py"])
    content = opener(most + 1)
    if len(content) > most:
        hint = "clear its outputs" if suffix == NOTEBOOK else "submit source code only"
        raise UsageError(f"{name} is larger than {most >> 20} MB; {hint}")
    # A notebook with another file name: no Python file begins like this.
    renamed = content.lstrip()[:1] == b"{" and b'"cells"' in content
    notebook = suffix == NOTEBOOK or renamed
    return SubmittedFile(name, content if notebook else _as_utf8(name, content), notebook, path, attachments)


def _as_utf8(name: str, content: bytes) -> bytes:
    """Return source code in UTF-8, so that every reader sees the same text and no encoding can hide code.

    Code that Python itself would refuse stays as it is: Python will name the place.
    """
    head = re.split(rb"\r\n?|\n", content)[:2]
    readable = re.sub(rb"[\x80-\xff]", b"?", b"\n".join(head).removeprefix(codecs.BOM_UTF8))  # as the C parser looks for it
    try:
        charset = codecs.lookup(tokenize.detect_encoding(io.BytesIO(readable).readline)[0]).name
    except (SyntaxError, LookupError):
        return content
    marked = content.startswith(codecs.BOM_UTF8)
    if charset == "utf-8":
        _require_utf8(name, content)
        double = content.startswith(codecs.BOM_UTF8 * 2)  # which Python refuses
        return content[len(codecs.BOM_UTF8) :] if marked and not double else content
    if marked:
        return content
    if charset not in CHARSETS:
        raise UsageError(f"{name} declares the encoding {charset}; save it as UTF-8")
    try:
        text = content.decode(charset)
    except UnicodeDecodeError:
        return content
    lines = re.split(r"(\r\n?|\n)", text, maxsplit=2)
    at = 0 if DECLARED.match(lines[0]) else 2  # the first of two counts
    lines[at] = DECLARED.sub(r"\1utf-8", lines[at])
    return "".join(lines).encode()


def _require_utf8(name: str, content: bytes) -> None:
    """Raise UsageError if code that names no encoding is not UTF-8, as files of older editors are."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        line = len(re.split(rb"\r\n?|\n", content[: error.start]))
        raise UsageError(
            f"{name} is {'UTF-16' if wide else f'not UTF-8 in line {line}'}; save it as UTF-8, which every editor can do"
        ) from None


def _read_file(path: Path, most: int) -> bytes:
    with _open(path) as file:
        return file.read(most)


def _open(path: Path) -> io.BufferedReader:
    """Open a regular file, not followed through a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        why = "it is a link; submit the file itself" if path.is_symlink() else error.strerror
        raise UsageError(f"{path} cannot be read as an ordinary file: {why}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{path} is not an ordinary file")
    return open(descriptor, "rb")
