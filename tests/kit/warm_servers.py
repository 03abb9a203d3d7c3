"""A pytest plugin: what a test opens is a copy of a warm server, one that has imported everything already.

A class is graded in the same way (grader/course/run.py). Calls that this machine has seen before, with the same sandbox,
drivers and submission, are not made again (grader/proof/reply_cache.py). A test module about servers, faults or attacks says
`OWN_SERVERS = True`: it starts its own, and makes each call. This is no part of conftest.py, by which every test would depend
on the sandbox.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.judge import harness
from grader.proof.reply_cache import ReplyCache, ReplyStore, list_surroundings
from grader.sandbox import open_sandbox, parsing
from grader.sandbox.places import make_readable, make_temporary_folder
from grader.sandbox.reply import SandboxFault

if TYPE_CHECKING:
    from grader.sandbox import Sandbox

MOST_KEPT = {True: 1, False: 3}  # servers, by whether they have imported torch: those take 200 MB each
FIRST_NUMBER = 512  # of the copies: smaller ones are those that a course or a proof makes of a copy


if sys.platform == "linux":  # elsewhere no server can be copied, and all tests start their own
    from grader.sandbox.forked import ForkedSandbox

    class _Copy(ForkedSandbox):
        closed = False

        def close(self) -> None:
            super().close()
            self.closed = True


@dataclass
class _Warm:
    """A server that is only copied. Its end would be the end of its copies."""

    sandbox: ForkedSandbox
    folder: Path
    copies: list[_Copy] = field(default_factory=list)

    def in_use(self) -> bool:
        self.copies = [copy for copy in self.copies if not copy.closed]
        return bool(self.copies)

    def gone(self) -> bool:
        """Return whether a test has killed it, or removed the files that its copies read."""
        return self.sandbox._server is None or self.sandbox._server.poll() is not None or not self.folder.exists()

    def close(self) -> None:
        self.sandbox.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class WarmServers:
    """The servers of one test process, by all that they depend on; the one that was not used for longest makes room."""

    def __init__(self) -> None:
        self._kept: dict[str, _Warm] = {}
        self._numbers = itertools.count()
        self._replies = ReplyStore()

    def open(
        self,
        drivers: Path,
        folders: Sequence[Path],
        memory_mb: int = 1024,
        secrets: Sequence[Path] = (),
        template: tuple[Sandbox, int] | None = None,
        torch: bool = True,
    ) -> Sandbox:
        """Return a sandbox like `open_sandbox`, whose server is a copy of a warm one where that is possible."""
        sandbox = self._open(drivers, folders, memory_mb, secrets, template, torch)
        support = [path for folder in folders[1:] for path in sorted(folder.iterdir()) if path.is_file()]
        sandbox.cache = ReplyCache(self._replies, drivers, support, [memory_mb])
        return sandbox

    def _open(
        self,
        drivers: Path,
        folders: Sequence[Path],
        memory_mb: int,
        secrets: Sequence[Path],
        template: tuple[Sandbox, int] | None,
        torch: bool,
    ) -> Sandbox:
        if template is not None or sys.platform != "linux" or os.environ.get("GRADER_LEVEL") == "basic":
            return open_sandbox(drivers, folders, memory_mb, secrets, template, torch)
        support = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
        layers = [os.environ.get(name, "") for name in ("GRADER_LEVEL", "GRADER_WITHOUT", "GRADER_PROCESSOR")]
        parts = [drivers.read_bytes(), *(part for path in support for part in (path.name.encode(), path.read_bytes()))]
        key = hashlib.sha256(repr((parts, torch, layers)).encode()).hexdigest()
        if key in self._kept and self._kept[key].gone():
            self._kept.pop(key).close()
        if key not in self._kept:
            try:
                self._kept[key] = self._started(drivers, support, torch)
            except SandboxFault:  # of broken drivers, say, which whoever opens the sandbox is to find
                return open_sandbox(drivers, folders, memory_mb, secrets, torch=torch)
        warm = self._kept[key] = self._kept.pop(key)  # now the last one to make room
        number = FIRST_NUMBER + next(self._numbers) % FIRST_NUMBER
        copy = _Copy(drivers, folders, memory_mb, secrets, template=(warm.sandbox, number), torch=torch)
        warm.copies.append(copy)
        self._make_room(torch)
        return copy

    def _make_room(self, torch: bool) -> None:
        """Stop idle servers of a kind, those that were not used for longest, until there are not too many of it."""
        kept = [key for key, warm in self._kept.items() if warm.sandbox.torch == torch]
        idle = [key for key in kept if not self._kept[key].in_use()]
        for key in idle[: max(len(kept) - MOST_KEPT[torch], 0)]:
            self._kept.pop(key).close()

    def close(self) -> None:
        """Stop all servers and remove their folders."""
        while self._kept:
            self._kept.popitem()[1].close()

    def _started(self, drivers: Path, support: Sequence[Path], torch: bool) -> _Warm:
        folder = make_temporary_folder()
        (folder / "support").mkdir()
        for path in support:
            shutil.copyfile(path, folder / "support" / path.name)
        copied = shutil.copyfile(drivers, folder / "drivers.py")
        make_readable(folder)
        warm = _Warm(ForkedSandbox(copied, [folder / "support"], torch=torch), folder)
        try:
            warm.sandbox.warm_up()
        except SandboxFault:
            warm.close()
            raise
        return warm


def pytest_configure() -> None:
    """Read now what decides about replies, and not while the first test runs, which would depend on all of it."""
    list_surroundings()


@pytest.fixture(scope="session")
def warm_servers() -> Iterator[WarmServers]:
    """The servers of this test process that the sandboxes of tests are copies of."""
    servers = WarmServers()
    yield servers
    servers.close()


@pytest.fixture(scope="module", autouse=True)
def copied_servers(request: pytest.FixtureRequest, warm_servers: WarmServers) -> Iterator[None]:
    """Let the module's harnesses, and what parses files for them, copy warm servers, unless it says OWN_SERVERS."""
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "OWN_SERVERS", False):
            patch.setattr(harness, "open_sandbox", warm_servers.open)
            patch.setattr(parsing, "open_sandbox", warm_servers.open)
        yield
