"""Calls side by side: copies of this process run the checks to come, and their replies wait for the check whose turn it is.

The copies decide nothing. The judge runs every check itself, in the order of the report, and takes the reply to a call from
a copy that has made the same call. So the report does not depend on their number, and a copy that fails costs only time.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grader.sandbox.reply import Reply, SandboxFault, hash_request

if TYPE_CHECKING:
    import pytest

    from grader.sandbox.forked import ForkedSandbox

END_SECONDS = 2.0
LOOK_SECONDS = 0.1  # how often a waiting judge looks whether it was interrupted

RunCheck = Callable[[str, "ForkedSandbox"], None]
"""Runs the check of this id with this sandbox, only for the calls that it makes."""


@dataclass
class Group:
    """Checks that one copy runs one after another, since they share calls.

    Attributes:
        items: The checks.
        copy: The copy that runs them, from when it was asked to.
        replies: What it has received so far and the judge has not taken yet: by call, the limit and the reply.
        ended: Whether it has run all of them.
    """

    items: list[pytest.Function]
    copy: Copy | None = None
    replies: dict[str, list[tuple[float, Reply]]] = field(default_factory=dict)
    ended: bool = False


@dataclass
class Copy:
    """A copy of the judge's process, and the group that it works on."""

    process: multiprocessing.process.BaseProcess
    connection: multiprocessing.connection.Connection
    group: Group | None = None


class CallsAhead:
    """The copies of one judge, while it runs the checks of one submission.

    Args:
        sandbox: The judge's own, with the submission in place. It makes the calls that no copy has made.
        run: Runs a check in a copy.
        jobs: The number of copies.
        starts: Whether a check would run now: what its question needs has passed. It is asked again until it says so.
    """

    def __init__(self, sandbox: ForkedSandbox, run: RunCheck, jobs: int, starts: Callable[[pytest.Function], bool]) -> None:
        self._sandbox, self._run, self._starts, self._jobs = sandbox, run, starts, jobs
        self._groups: list[Group] = []
        self._now: Group | None = None
        self._copies: list[Copy] = []
        self._numbers = itertools.count()  # a number of its own for each, also where one has ended

    def plan(self, groups: list[list[pytest.Function]]) -> None:
        """Let the copies run these groups of checks, in this order; none of their calls begins before."""
        if self._copies or sum(self._starts(items[0]) for items in groups) > 1:  # a single one needs no copy
            self._groups = [Group(items) for items in groups]
            self._hand_out()

    @contextlib.contextmanager
    def turn(self, item: pytest.Function) -> Iterator[None]:
        """Take replies from the copies while the judge runs this check."""
        self._now = next((group for group in self._groups if item in group.items), None)
        self._hand_out()
        self._sandbox.recall = self._recall
        try:
            yield
        finally:
            self._sandbox.recall = None
            if self._now is not None and item is self._now.items[-1]:
                self._groups.remove(self._now)  # what is left of its replies is of no use
            self._now = None

    def close(self) -> None:
        """End the copies, whatever they are doing."""
        for copy in self._copies:
            copy.connection.close()
            copy.process.terminate()
        for copy in self._copies:
            copy.process.join(END_SECONDS)
            copy.process.kill()
            copy.process.join()
            copy.process.close()
        self._copies, self._groups = [], []

    def _hand_out(self) -> None:
        """Give each idle copy the next group that can start, and start copies as long as there is work for them."""
        for group in self._groups:
            if group.copy is None and self._starts(group.items[0]):
                copy = next((copy for copy in self._copies if copy.group is None), None) or self._start()
                if copy is None:
                    return
                with contextlib.suppress(OSError):  # it has ended, which `_receive` notices
                    copy.connection.send([item.nodeid for item in group.items])
                copy.group, group.copy = group, copy

    def _start(self) -> Copy | None:
        if len(self._copies) == self._jobs:
            return None
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        self._sandbox.warm_up()
        inherited = [copy.connection for copy in self._copies] + [ours]
        arguments = (self._sandbox, next(self._numbers), self._run, theirs, inherited, os.getpid())
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        self._copies.append(Copy(process, ours))
        return self._copies[-1]

    def _recall(self, request: dict[str, Any], seconds: float) -> Reply | None:
        """Return the reply that a copy has received to the same call; None if the judge must make it itself."""
        call = hash_request(request)
        while self._now is not None and self._now.copy is not None:
            if waiting := self._now.replies.get(call):
                limit, reply = waiting.pop(0)
                return reply if limit == seconds or reply.seconds < min(limit, seconds) else None
            if self._now.ended or self._sandbox.interrupted.is_set():
                return None
            self._receive()
        return None

    def _receive(self) -> None:
        """Wait a moment for what the copies have to say, and hand out what can start then."""
        busy = {copy.connection: copy for copy in self._copies if copy.group is not None}
        for connection in multiprocessing.connection.wait(busy, LOOK_SECONDS):
            copy = busy[connection]  # type: ignore[index]  # only connections are waited for
            group = copy.group
            assert group is not None
            try:
                said = copy.connection.recv()
            except (EOFError, OSError):  # the judge makes its calls; no other copy is worth a try
                group.ended, copy.group = True, None
                self._copies.remove(copy)
                self._jobs -= 1
                continue
            if said is None:
                group.ended, copy.group = True, None
            else:
                call, limit, reply = said
                group.replies.setdefault(call, []).append((limit, reply))
        self._hand_out()


def _work(
    sandbox: ForkedSandbox,
    number: int,
    run: RunCheck,
    connection: multiprocessing.connection.Connection,
    inherited: list[multiprocessing.connection.Connection],
    parent: int,
) -> None:
    """Be a copy: run the checks that are asked for, and send the reply to each call, until the judge closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the judge, which ends its copies
    signal.signal(signal.SIGTERM, lambda *_: sandbox.interrupted.set())
    if sys.platform == "linux":
        from grader.sandbox import kernel

        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    for other in inherited:
        other.close()
    with contextlib.suppress(EOFError, OSError, SandboxFault), sandbox.copy(number) as own:
        own.observer = lambda request, seconds, reply: connection.send((hash_request(request), seconds, reply))
        while not own.interrupted.is_set():
            for check in connection.recv():
                run(check, own)
            connection.send(None)
