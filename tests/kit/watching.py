"""Watch what tests use: files of the repository, programs, and what these and forked processes use in turn.

Every Python that a test starts reports this (noting.py). A process that did not report its start counts
as unwatched: its environment was emptied, it has other packages, or it is not Python.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import itertools
import os
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from tests.kit import noting
from tests.kit.inputs import Snapshot, describe_code

Inputs = dict[str, "str | None"]  # digests by path
ANY = "*"  # before a path: with all that it imports late, as a program does; alone: all that the test can have
# A line of a .pth file, which every Python with these packages executes at its start, unless it ignores the environment.
START = (
    f"import os, sys; by = not sys.flags.ignore_environment and os.environ.get({noting.NOTED_BY!r}); by and exec("
    "\"with open(by, encoding='utf-8') as file: exec(file.read(), {'__file__': by})\")\n"
)
Command = tuple[str, ...]  # the folder in which it is started, and its words


@dataclass
class Used:
    """What tests used.

    Attributes:
        notes: Where the processes that they started write what these use.
        files: Opened or imported, by the test or by processes that it started; and files among the words of commands.
        started: How often a command was.
        began: How often a Python with this command reported its start. These report what they use.
        unwatched: Commands whose environment does not ask for notes.
        forks: How many processes were forked.
        forks_begun: How many of these reported their start.
        read: How many bytes of the notes have been read.
    """

    notes: Path | None = None
    files: set[str] = field(default_factory=set)
    started: Counter[Command] = field(default_factory=Counter)
    began: Counter[Command] = field(default_factory=Counter)
    unwatched: set[Command] = field(default_factory=set)
    forks: int = 0
    forks_begun: int = 0
    read: int = 0

    def add(self, other: Used) -> None:
        """Count what the other used as well."""
        self.files |= other.files
        self.started += other.started
        self.began += other.began
        self.unwatched |= other.unwatched
        self.forks += other.forks
        self.forks_begun += other.forks_begun


class Guard:
    """Notes the files of the repository that this process opens or imports, and the programs that it starts.

    It does not see what C++ code does, nor what a process does that was forked in an earlier test, such as a worker of a pool
    that a fixture keeps. A module that is imported once more is seen too, by the functions that `import` statements and
    `import_module` end in.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.root = os.path.realpath(snapshot.root) + os.sep
        self.used: Used | None = None
        self.places: dict[str, set[str]] = {}  # of modules, by the names of their files
        self.in_fork = False
        self.numbers = itertools.count()
        self.folder = tempfile.TemporaryDirectory(prefix="notes-", ignore_cleanup_errors=True)
        _let_programs_note()
        os.environ[noting.NOTED_BY] = noting.__file__
        sys.addaudithook(self._hear)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._count_fork, after_in_child=self._begin_fork)
        self._see_imports()

    @contextlib.contextmanager
    def watch(self) -> Iterator[Used]:
        """Give what is used until the end; it counts for whoever watched before, too."""
        before, used = self.used, Used(Path(self.folder.name, str(next(self.numbers))))
        self._watch_for(used)
        try:
            yield used
        finally:
            self._watch_for(before)
            self.read(used)
            if before is not None:
                before.add(used)

    def _watch_for(self, used: Used | None) -> None:
        self.used = used
        if used is None:
            os.environ.pop(noting.NOTES, None)
        else:
            os.environ[noting.NOTES] = str(used.notes)

    def read(self, used: Used) -> None:
        """Take over what processes have noted since the last reading."""
        try:
            with open(used.notes or os.devnull, "rb") as file:
                file.seek(used.read)
                content = file.read()
        except FileNotFoundError:
            return
        content = content[: content.rfind(b"\n") + 1]
        used.read += len(content)
        for line in content.decode().splitlines():
            try:
                kind, *details = ast.literal_eval(line)
            except (ValueError, SyntaxError):  # half a line: of what follows, nothing is known
                used.forks += 1
                continue
            if kind == noting.OPENS:
                used.files |= self._locate(*details)
            elif kind == noting.BEGAN:
                used.began.update(details)
            elif kind == noting.FORKS:
                used.forks += 1
            elif kind == noting.FORKED:
                used.forks_begun += 1
            elif self._is_here(*details):
                used.files |= self._count_start(used, kind, *details)

    def _is_here(self, command: Command) -> bool:
        """Return whether a command that a program starts has to do with this repository, not with a made-up one of a test."""
        return any(self.root[:-1] in word and not word.startswith(sys.prefix) for word in command)

    def _count_start(self, used: Used, kind: str, command: Command) -> set[str]:
        """Note that a command is started; return the files among its words."""
        if kind == noting.UNWATCHED:
            used.unwatched.add(command)
        else:
            used.started[command] += 1
        folder, *words = command
        return set().union(*(self._locate(os.path.join(folder, word)) for word in words))

    def _count_fork(self) -> None:
        if self.used is not None:
            self.used.forks += 1
            self._write(noting.FORKS)

    def _begin_fork(self) -> None:
        self.in_fork = True
        self._write(noting.FORKED)

    def _write(self, *line: object) -> None:
        """In a fork, write what the process that reads it cannot know."""
        if self.in_fork and self.used is not None:
            noting.write(str(self.used.notes), *line)

    def _add(self, files: set[str]) -> None:
        assert self.used is not None
        for file in files - self.used.files:
            self.used.files.add(file)
            self._write(noting.OPENS, self.root + file)

    def _see_imports(self) -> None:
        plain_import, plain_find = builtins.__import__, importlib._bootstrap._gcd_import  # type: ignore[attr-defined]

        def import_(name: str, *others: Any, **named: Any) -> Any:
            module = plain_import(name, *others, **named)
            if self.used is not None:
                how = dict(zip(("globals", "locals", "fromlist", "level"), others, strict=False)) | named
                if level := how.get("level", 0):
                    parents = ((how["globals"] or {}).get("__package__") or "").split(".")
                    name = ".".join([*parents[: len(parents) + 1 - level], *([name] if name else [])])
                self._note_module(name)
                for part in how.get("fromlist") or ():
                    self._note_module(f"{name}.{part}")
            return module

        def find(name: str, package: str | None = None, level: int = 0) -> object:
            module = plain_find(name, package, level)
            self._note_module(module.__name__)
            return module

        builtins.__import__ = import_
        importlib._bootstrap._gcd_import = find  # type: ignore[attr-defined]

    def _note_module(self, name: str) -> None:
        """Note a module if it is one, and the packages that it lies in."""
        while self.used is not None and (name in sys.modules or "." in name):
            file = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(file, str):
                if file not in self.places:
                    self.places[file] = self._locate(file)
                self._add(self.places[file])
            name = name.rpartition(".")[0]

    def _hear(self, event: str, details: tuple) -> None:
        used = self.used
        if used is None or (event != "open" and event not in noting.EVENTS):
            return
        with contextlib.suppress(OSError, ValueError):  # not a path: no concern of the guard
            if event == "open":
                path, _, flags = details
                if not isinstance(path, int) and not flags & os.O_WRONLY:
                    found = self._locate(path) - used.files
                    if found and not _is_for_hypothesis():
                        self._add(found)
            else:
                start = noting.describe_start(event, details)
                self._add(self._count_start(used, *start))
                self._write(*start)

    def _locate(self, path: str | bytes | os.PathLike) -> set[str]:
        """Return the file, or the source that a compiled file was made from, if it is in the repository."""
        full = os.path.realpath(os.fsdecode(path))
        if not full.startswith(self.root):
            return set()
        name = full.removeprefix(self.root).replace(os.sep, "/")
        folder, _, compiled = name.rpartition("__pycache__/")
        name = name if compiled == name else f"{folder}{compiled.partition('.')[0]}.py"
        return {name} & self.snapshot.files.keys()

    def find_unwatched(self, used: Used) -> set[str]:
        """Return the files of the programs that were started and did not report it.

        They are files among the words of a command, the module after `-m`, what code after `-c` names, the grader's command.
        """
        found = set()
        for folder, *words in (used.started - used.began).keys() | used.unwatched:
            for before, word in pairwise(["", *words]):
                if before == "-m":
                    found |= self.snapshot.find_module(f"{word}.__main__")
                elif before == "-c":
                    with contextlib.suppress(SyntaxError):  # not Python's -c
                        found |= self.snapshot.find_named(describe_code(word), "")
                else:
                    found |= self._locate(os.path.join(folder, word))
                    found |= self.snapshot.find_command(word)
        return found

    def find_beyond(self, used: Used, sure: Inputs) -> list[str]:
        """Return what stands for the inputs that are not sure, for `complete`. ANY marks programs that were not watched."""
        if used.forks > used.forks_begun:
            return [ANY]
        return sorted(used.files - sure.keys() | {ANY + path for path in self.find_unwatched(used)})


def _is_for_hypothesis() -> bool:
    """Return whether hypothesis reads: it looks for constants in every module that is loaded, to draw them as examples."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("hypothesis.internal.constants"):
            return True
        frame = frame.f_back
    return False


def _let_programs_note() -> None:
    """Have every Python with these packages look, when it starts, for the variable that asks it to note what it uses.

    Where no file can be added to the packages, programs note nothing, and count with all that they might import.
    """
    place = Path(sysconfig.get_path("purelib"), "note_for_tests.pth")
    with contextlib.suppress(OSError):
        if not place.is_file() or place.read_text(encoding="utf-8") != START:
            new = place.with_suffix(f".{os.getpid()}")
            new.write_text(START, encoding="utf-8")
            new.replace(place)


def complete(snapshot: Snapshot, sure: Inputs, beyond: Iterable[str], found: Inputs) -> Inputs:
    """Return the inputs that are sure with those that `beyond` leads to; all that were found, if it says so."""
    if ANY in beyond:
        return found
    programs = {name.removeprefix(ANY) for name in beyond if name.startswith(ANY)}
    reached = snapshot.follow({*beyond} - {ANY + name for name in programs}, late=False) | snapshot.follow(programs)
    return {**sure, **snapshot.describe(reached)}
