"""Cache the replies of calls on this machine: after a change of the judge, nothing runs in the sandbox again.

They are in an untracked file of the checkout, keyed by a hash of everything that decides a reply. This only saves time on one
machine; the repository's knowledge about trials is in the records (records.py).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import pickle
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader import hashing
from grader.hashing import hash_parts
from grader.sandbox import wire
from grader.sandbox.reply import Reply

FILE = Path(__file__).resolve().parents[2] / ".cache" / "replies.sqlite"
MAX_BYTES = 1 << 30  # of the file; a larger one is deleted
MAX_REPLY = 4 << 20  # bytes
# Outcomes of a call that depend only on its submission and inputs, not on the moment.
CERTAIN = frozenset(("ok", "raised", "syntax", "import", "missing", "refused", "unreadable"))
QUICK = 0.5  # share of the limit: a slower call might hit the limit another time
TABLES = """
create table if not exists replies (digest blob primary key, content blob) without rowid;
create table if not exists calls (key blob primary key, digests blob, seconds real) without rowid;
"""


class ReplyStore:
    """The file of replies. Several processes may use it at once; if it cannot be used, it is ignored.

    Args:
        path: The file; it is created with the first reply.
    """

    def __init__(self, path: Path = FILE) -> None:
        self._path = path
        self._opened: tuple[int, sqlite3.Connection] | None = None  # by which process

    def find(self, key: bytes) -> tuple[Reply, ...] | None:
        """Return the replies stored under a key; None if there are none, or if the file is damaged."""
        with contextlib.suppress(Exception):
            database = self._open()
            row = database.execute("select digests, seconds from calls where key = ?", (key,)).fetchone()
            if row is not None:
                digests = [row[0][start : start + 16] for start in range(0, len(row[0]), 16)]
                found = [
                    database.execute("select content from replies where digest = ?", (digest,)).fetchone() for digest in digests
                ]
                return tuple(replace(pickle.loads(content), seconds=row[1]) for (content,) in found)
        return None

    def keep(self, key: bytes, replies: Sequence[Reply]) -> None:
        """Store the replies to a call. Most replies of mistakes are equal to the solution's, and are stored once."""
        contents = [pickle.dumps(replace(reply, seconds=0.0, cpu_seconds=0.0, spent=0.0), 5) for reply in replies]
        if sum(map(len, contents)) > MAX_REPLY:
            return
        digests = [hashlib.sha256(content).digest()[:16] for content in contents]
        with contextlib.suppress(OSError, sqlite3.Error), self._open() as database:
            database.executemany("insert or ignore into replies values (?, ?)", zip(digests, contents, strict=True))
            seconds = sum(reply.seconds for reply in replies)
            database.execute("insert or replace into calls values (?, ?, ?)", (key, b"".join(digests), seconds))

    def _open(self) -> sqlite3.Connection:
        """Return the connection of this process; a connection from before a fork belongs to the parent."""
        if self._opened is None or self._opened[0] != os.getpid():
            self._path.parent.mkdir(exist_ok=True)
            if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
                for path in self._path.parent.glob(f"{self._path.name}*"):
                    path.unlink(missing_ok=True)
            database = sqlite3.connect(self._path, timeout=30)
            database.executescript(f"pragma journal_mode = wal; pragma synchronous = off; {TABLES}")
            self._opened = os.getpid(), database
        return self._opened[1]


class ReplyCache:
    """The cache of one sandbox; see `grader.sandbox.reply.CallCache`.

    Args:
        store: The file of replies.
        drivers: The sandbox's drivers.
        support: Files that drivers and submissions can import.
        settings: Other settings that decide a reply: limits, layers.
        finds: Whether to look replies up; otherwise they are only stored.
    """

    def __init__(
        self, store: ReplyStore, drivers: Path, support: Sequence[Path], settings: Sequence[object], finds: bool = True
    ) -> None:
        self.finds = finds
        self._store = store
        parts: list[bytes | str] = [drivers.read_bytes(), *map(repr, settings), *list_surroundings()]
        for path in support:
            parts += [path.name, path.read_bytes()]
        self._common = hash_parts(parts)

    def find(self, request: dict[str, Any], seconds: float) -> tuple[Reply, ...] | None:
        """Return the stored replies to a request with this limit; None if there are none."""
        return self._store.find(self._key(request, seconds)) if self.finds else None

    def keep(self, request: dict[str, Any], seconds: float, replies: tuple[Reply, ...]) -> None:
        """Store the replies to a request, if they would be the same another time."""
        if all(reply.status in CERTAIN and not reply.disturbed and reply.seconds < QUICK * seconds for reply in replies):
            self._store.keep(self._key(request, seconds), replies)

    def _key(self, request: dict[str, Any], seconds: float) -> bytes:
        """Return the hash of everything that decides the replies; for a path, its name and the content of the file."""
        paths = {request[name] for name in ("path", "submission") if request.get(name) is not None}
        files = [part for path in sorted(paths) for part in (Path(path).name, Path(path).read_bytes())]
        asked = {name: value for name, value in request.items() if name not in ("path", "submission")}
        known = {name: request.get(name) is not None for name in ("path", "submission")}
        parts = [self._common, repr(seconds), wire.encode(asked | {"files": known}), *files]
        return bytes.fromhex(hash_parts(parts))[:16]


def list_surroundings() -> list[str]:
    """Return what decides all replies: the sandbox's code, Python, the libraries, the kernel and the process's rights."""
    variables = [f"{name}={os.environ.get(name, '')}" for name in ("GRADER_LEVEL", "GRADER_WITHOUT", "GRADER_PROCESSOR")]
    user = str(os.geteuid()) if hasattr(os, "geteuid") else ""
    return [hashing.hash_sandbox(), platform.python_version(), platform.platform(), user, *variables, *_list_packages()]


@functools.cache
def _list_packages() -> tuple[str, ...]:
    return tuple(sorted({f"{found.name} {found.version}" for found in importlib.metadata.distributions()}))
