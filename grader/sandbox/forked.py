"""The sandbox on Linux: a fork server that has torch ready where it is needed, one fresh worker per call, limits from outside.

This is the judge's side, trusted; server.py and worker.py are the other.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from grader.sandbox.clock import LOOK_SECONDS, CallClock
from grader.sandbox.interpreter import ServerInterpreter
from grader.sandbox.limits import MAX_SCRATCH_BYTES, MAX_SCRATCH_FILES
from grader.sandbox.places import PREFIX, find_working_folder, list_world_writable_folders, make_temporary_folder
from grader.sandbox.refusals import Refusals
from grader.sandbox.reply import (
    NOT_AN_ANSWER,
    RUNNING,
    START_SECONDS,
    TWICE,
    Isolation,
    Reply,
    SandboxCalls,
    SandboxFault,
    ServerGone,
    describe_crash,
    make_environment,
    read_reply,
    relay_frame,
    shorten_output,
)
from grader.sandbox.scratch import is_too_full, remove_folder

END_SECONDS = 60.0
PROBE_SECONDS = 20.0
DESCRIPTOR_BYTES = socket.CMSG_LEN(4)  # for one descriptor beside a message; the kernel closes others
KIT = Path(__file__)


def forbid_memory_reads() -> None:
    """Prevent same-user processes from reading this process's memory (also disables debuggers and core dumps)."""
    from grader.sandbox import kernel

    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


class ForkedSandbox(SandboxCalls):
    """One fork server, used by one thread, for one run.

    Start it early: it imports what calls need while the judge gets ready.

    Args:
        drivers: The file of public drivers.
        folders: The folders where student code and drivers find support files such as utils.py.
        memory_mb: The memory that a worker may map beyond what the server has mapped already.
        secrets: Files that no worker may read; whether a worker can read them is tried out.
        second: Whether this sandbox works beside another one.
        template: A sandbox with the same drivers and support files, and a number; this server is
            then a copy of that sandbox's server. The number is less than MOST_CLONES, and no other
            copy has it at the same time.
        torch: Whether the server imports torch before the first call, so that no worker has to.
    """

    def __init__(  # noqa: PLR0913 - what differs between the kit's sandboxes, most of it by default
        self,
        drivers: Path,
        folders: Sequence[Path],
        memory_mb: int = 1024,
        secrets: Sequence[Path] = (KIT,),
        second: bool = False,
        template: tuple[ForkedSandbox, int] | None = None,
        torch: bool = True,
    ) -> None:
        self.drivers = drivers
        self.folders = folders
        self.memory_mb = memory_mb
        self.secrets = [str(path) for path in secrets]
        self.second = second
        self.torch = torch
        self.cpu_seconds = 0.0  # of all workers so far
        self.template = template
        self._without = {layer for layer in os.environ.get("GRADER_WITHOUT", "").split(",") if layer}
        self._why: dict[str, str] = {}  # why a layer is left out, where the server cannot know
        if os.environ.get("GRADER_LEVEL") == "process":
            self._without.add("own user")
            self._why["own user"] = "left out on request (GRADER_LEVEL)"
        self._isolation: Isolation | None = None
        self._examined = False
        self._libraries: ServerInterpreter | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._clone = 0  # the process that is a copy of the template's server
        self._control: socket.socket | None = None
        self._learnt: set[str] = set()  # libraries that the server was told to import
        self._warm: bool | None = False  # None: asked for, not yet answered
        self.interrupted = threading.Event()
        forbid_memory_reads()
        self._home = make_temporary_folder(template[0]._home if template else None)

    @property
    def warm(self) -> bool:
        """Whether the server has imported what calls need."""
        return self._warm is True

    @property
    def isolation(self) -> Isolation:
        """The isolation of a call."""
        self._restarting(self._examine)
        if self._isolation is None:  # it could not be found out, which has been said once already
            raise SandboxFault("the sandbox could not be tried out")
        return self._isolation

    @property
    def _connection(self) -> socket.socket:
        """The control socket of the server, which has been started."""
        if self._control is None:
            raise SandboxFault("the sandbox server is not running")
        return self._control

    def start(self) -> None:
        """Start the server process, unless it runs; returns while it imports what it needs first."""
        if self._control is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if self.template is not None:
            self._copy(*self.template, ours, theirs)
            return
        self._libraries = ServerInterpreter(other_user=os.geteuid() == 0 and "own user" not in self._without)
        folders = [str(folder) for folder in self.folders]
        settings = {
            "drivers": str(self.drivers),
            "folders": folders,
            "path": self._libraries.path,
            "readable": [*self._libraries.readable, *folders],
            "handles": self._libraries.handles,
            "home": str(self._home),
            "without": sorted(self._without),
            "second": self.second,
        }
        server = str(Path(__file__).with_name("server.py"))
        with theirs, open(self._home / "server.log", "ab") as log:
            self._server = subprocess.Popen(
                [sys.executable, "-s", "-B", server, str(theirs.fileno()), json.dumps(settings)],
                pass_fds=[theirs.fileno(), *self._libraries.handles],
                env=make_environment(self._home, self._libraries.home),
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self._control = ours
        self._learnt.clear()
        self._warm = False
        self._examined = False
        self._tell({"op": "confine"})

    def _copy(self, template: ForkedSandbox, number: int, ours: socket.socket, theirs: socket.socket) -> None:
        """Start a copy of the template's server, which has everything imported."""
        folders = [str(folder) for folder in self.folders]
        order = {"op": "clone", "number": number, "folders": folders, "home": str(self._home), "second": self.second}
        with theirs:
            # Several processes may hold the template's socket, so nothing is answered there.
            try:
                socket.send_fds(template._connection, [json.dumps(order).encode()], [theirs.fileno()])
            except OSError as error:
                raise template._fault(f"the sandbox server to copy is gone ({error})") from error
        self._control, self._examined = ours, False
        self._learnt.clear()
        self._warm = template.torch or not self.torch
        self._clone = self._hear(START_SECONDS)["pid"]
        self._tell({"op": "confine"})

    def warm_up(self, wait: bool = True) -> None:
        """Let the server import what calls need; with `wait=False` return at once, while it does so."""
        self._examine()
        if self._warm is False:
            self._tell({"op": "warm", "torch": self.torch})
            self._warm = None
        if wait:
            self._await_warm()

    def use_torch(self) -> None:
        """Let the server import torch before the next call that runs anything, unless it has."""
        if not self.torch:
            self._await_warm()
            self.torch, self._warm = True, False

    def _examine(self) -> None:
        """Find out, once for each server, what its layers are and what a worker can do in spite of them."""
        self.start()
        if self._examined:
            return
        self._examined = True
        started = self._hear(START_SECONDS)
        # Somebody's file that anyone may write to: not in the folder of the server, where a mount namespace lets it write.
        with tempfile.NamedTemporaryFile(prefix=PREFIX, dir=find_working_folder()) as file:
            os.fchmod(file.fileno(), 0o666)
            request = {
                "do": "probe",
                "judge": os.getpid(),
                "secrets": self.secrets,
                "outside": list_world_writable_folders(),
                "open": file.name,
            }
            reply = self._repeat(lambda: self._run(request, PROBE_SECONDS))
        if reply.status != "ok":
            raise SandboxFault(f"the sandbox cannot be tried out: {reply.status} {reply.details} {reply.output[-2000:]}")
        if (why := reply.facts["libraries"]) is not None and "own user" in started["layers"]:
            # Only the owner can read Python or torch here; the check of the folders above them did not show this.
            self._without.add("own user")
            self._why["own user"] = f"another user cannot use this Python: {why}"
            self.restart()
            self._examine()
            return
        found = Isolation.of(started["layers"], started["missing"] | self._why, reply.facts["open"])
        if self._isolation is not None and found != self._isolation:
            raise SandboxFault(f"the isolation has changed during the run: {found} instead of {self._isolation}")
        self._isolation = found

    def _learn(self, imported: Sequence[str]) -> None:
        if new := [name for name in imported if name not in self._learnt]:
            self._learnt.update(new)
            self._tell({"op": "import", "names": new})

    @property
    def copies(self) -> bool:
        """Whether `copy` is possible."""
        return self.template is None

    def copy(self, number: int) -> ForkedSandbox:
        """Return a sandbox whose server is a copy of this one's, which is warm; see `template`."""
        return self._with_same_files(second=False, template=(self, number))

    def _another(self) -> ForkedSandbox:
        return self._with_same_files(second=True, template=self.template)

    def _with_same_files(self, second: bool, template: tuple[ForkedSandbox, int] | None) -> ForkedSandbox:
        secrets = [Path(path) for path in self.secrets]
        other = ForkedSandbox(self.drivers, self.folders, self.memory_mb, secrets, second, template, self.torch)
        other.interrupted, other._isolation = self.interrupted, self._isolation  # and with any other it would not start
        return other

    def _ready(self, run: Callable[[], Reply]) -> Reply:
        def call() -> Reply:
            self.warm_up()
            return self._repeat(run)

        try:
            return self._restarting(call)
        except ServerGone:
            # Once or twice is bad luck; the same call three times, each with a new server, is what this call does.
            self.restart()
            return Reply("crashed", details={"message": "the process brought the sandbox down"})

    def _stop(self) -> None:
        if self._control is None:
            return
        if self._server is None or self._libraries is None:  # a copy has neither
            self._stop_copy(self._control)
            return
        self._control.close()  # the server sees the end of its control socket, kills what is left, and exits
        try:
            self._server.wait(0.5)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._libraries.close()
        self._server = self._control = None

    def _stop_copy(self, control: socket.socket) -> None:
        with control, contextlib.suppress(OSError):
            control.shutdown(socket.SHUT_WR)
            control.settimeout(0.5)
            try:
                while control.recv(1 << 16):
                    pass
            except TimeoutError:
                if self._clone:
                    os.kill(self._clone, signal.SIGKILL)
        self._control, self._clone = None, 0

    @contextlib.contextmanager
    def _exchange(self, request: dict[str, Any], seconds: float) -> Iterator[_Exchange]:
        """Fork a worker for this request and yield the exchange with it.

        Afterwards no process of the worker is left, and the exchange can return its reply.
        """
        from grader.sandbox import wire

        self._examine()
        frame = wire.encode(request)
        scratch = Path(tempfile.mkdtemp(dir=self._home))
        ours, theirs = socket.socketpair()
        # A file, not a pipe: nobody has to drain it, so a chatty submission runs as fast as a quiet one.
        with ours, tempfile.TemporaryFile(dir=self._home, buffering=0) as printed:
            order = {
                "op": "fork",
                "scratch": str(scratch),
                "memory_mb": self.memory_mb,
                "cpu_seconds": count_cpu_limit(seconds),
            }
            try:
                with theirs, _reopen(printed) as output:
                    self._tell(order, theirs.fileno(), output.fileno())
                    pid = self._hear(END_SECONDS)["pid"]
                interrupted = self.interrupted if request["do"] in RUNNING else None
                exchange = _Exchange(ours, frame, seconds, pid, scratch, interrupted)
                with contextlib.closing(exchange.refusals):
                    yield exchange
                    self._tell({"op": "end"})
                    ended = WorkerEnd(**self._hear(END_SECONDS))
                self.cpu_seconds += ended.cpu_seconds
                exchange.end(ended, shorten_output(printed))
            except BaseException:
                self._stop()  # with the worker, which nobody would end
                raise
            finally:
                with contextlib.suppress(OSError):
                    remove_folder(scratch)

    def _await_warm(self) -> None:
        if self._warm is None:
            self._hear(START_SECONDS)
            self._warm = True

    def _tell(self, message: dict[str, Any], *descriptors: int) -> None:
        if self._warm is None:
            self._await_warm()
        try:
            socket.send_fds(self._connection, [json.dumps(message).encode()], descriptors)
        except OSError as error:
            raise self._fault(f"the sandbox server is gone ({error})") from error

    def _hear(self, seconds: float) -> dict[str, Any]:
        control = self._connection
        control.settimeout(seconds)
        try:
            message = control.recv(1 << 16)
        except OSError as error:
            raise self._fault(f"the sandbox server does not answer ({error})") from error
        if not message:
            raise self._fault("the sandbox server is gone")
        answer: dict[str, Any] = json.loads(message)
        if "error" in answer:
            raise SandboxFault(f"the sandbox cannot work: {answer['error']}")
        return answer

    def _fault(self, message: str) -> ServerGone:
        log = ""  # a copy has none of its own
        with contextlib.suppress(FileNotFoundError):
            log = (self._home / "server.log").read_text(errors="replace").strip()
        return ServerGone(f"{message}: {log.splitlines()[-1][-1000:]}" if log else message)


@dataclass(frozen=True)
class WorkerEnd:
    """How a worker ended.

    Attributes:
        status: Its wait status.
        alive: Whether it was still there when the judge was done with it.
    """

    status: int = 0
    alive: bool = False
    cpu_seconds: float = 0.0


def _reopen(file: BinaryIO) -> BinaryIO:
    """Return a file opened anew to be written at its end: what its user does to position and flags stays its own."""
    return open(f"/proc/self/fd/{file.fileno()}", "ab", buffering=0)


def count_cpu_limit(seconds: float) -> int:
    """Return the seconds of processor time after which the kernel ends a worker that the judge has not ended."""
    return math.ceil(seconds) + 2


class _Exchange:
    """One request and its answers over the wire, on one clock, while the size of the working folder is limited."""

    def __init__(
        self,
        connection: socket.socket,
        frame: bytes,
        seconds: float,
        pid: int,
        scratch: Path,
        interrupted: threading.Event | None,
    ) -> None:
        self.connection = connection
        self.pid = pid
        self.scratch = scratch
        self.interrupted = interrupted
        self.refusals = Refusals()
        self.confined = False  # the worker has said so; before that, nothing of a student's runs in it
        self.outgoing = memoryview(frame)
        self.incoming = bytearray()
        self.expected: int | None = None  # bytes of the whole reply, once its header is here
        self.ended = ""  # "replied", "closed", "timeout", "starved" or "disk"
        self.stopped = False  # it was a timeout because somebody has stopped the process
        self.fault = ""
        self.clock = CallClock(seconds)
        self.clock.watch(pid)
        self.looked = self.clock.began  # when the working folder was looked at
        self.seconds = 0.0
        self.how, self.output = WorkerEnd(), ""  # of the whole worker, and all that it printed
        connection.setblocking(False)

    def turn(self, frame: bytes | None = None) -> bytes | None:
        """Return what is said to a frame, or first to the request, as a frame for the other side; None if that was the last."""
        if frame is not None:
            self.outgoing, self.incoming, self.expected, self.ended = memoryview(frame), bytearray(), None, ""
            self._refuse_more()
        self.run()
        said = relay_frame(*self._frame()) if self.ended == "replied" else None
        if said is not None:
            self.ended = ""
        return said

    def run(self) -> None:
        """Send what is to be sent and receive what is said to it, as far as it goes."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
            self.clock.look()
            if self.clock.is_spent():  # at the turn before, in a dialogue
                self.ended = "timeout"
            self.refusals.watch(selector)
            while not self.ended:
                ready = selector.select(min(self.clock.limit / 4, LOOK_SECONDS))
                self.clock.look()
                for key, events in sorted(ready, key=lambda one: one[0].data is not None):  # the connection first
                    if key.data is not None:
                        if not self.ended:
                            self.refusals.answer(selector)
                    elif events & selectors.EVENT_READ:
                        if self.confined:
                            self._read()
                        else:
                            self._read_first()
                            self.refusals.watch(selector)
                    elif self._written():
                        selector.modify(self.connection, selectors.EVENT_READ)
                if not self.ended:
                    self._limit()
        self.seconds = self.clock.charge()

    def _limit(self) -> None:
        """End the call where it goes beyond what it may use."""
        if (self.interrupted is not None and self.interrupted.is_set()) or self.clock.is_over():
            self.ended, self.stopped = "timeout", self.clock.is_stopped()
        elif self.clock.is_starved():
            self.ended = "starved"
        elif self.clock.is_late():
            self.clock.ask()
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGALRM)
        if not self.ended and time.monotonic() - self.looked > LOOK_SECONDS:
            self.looked = time.monotonic()
            if is_too_full(self.scratch, MAX_SCRATCH_BYTES, MAX_SCRATCH_FILES):
                self.ended = "disk"

    def _written(self) -> bool:
        try:
            self.outgoing = self.outgoing[self.connection.send(self.outgoing) :]
        except BlockingIOError:
            pass
        except ConnectionError:  # it does not listen any more, but may still say something
            return True
        return not self.outgoing

    def _read_first(self) -> None:
        """Receive the word that the worker is confined, which comes before anything of a student's runs."""
        from grader.sandbox import wire

        try:
            said, attached, _, _ = self.connection.recvmsg(1, DESCRIPTOR_BYTES, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except ConnectionError:
            self.ended = "closed"
            return
        for _, _, descriptor in attached:
            self.refusals.listen(int.from_bytes(descriptor, sys.byteorder))
        self.confined = said == wire.READY
        self.ended = "" if self.confined else "closed"

    def _read(self) -> None:
        from grader.sandbox import wire

        try:
            # Never more than what the header announced.
            part = self.connection.recv((self.expected or wire.HEADER.size) - len(self.incoming))
        except BlockingIOError:
            return
        except ConnectionError:
            self.ended = "closed"
            return
        self.incoming += part
        if not part:
            self.ended = "closed"
        elif self.outgoing:
            self.ended, self.fault = "closed", "it answered before it was asked"
        elif self.expected is None and len(self.incoming) == wire.HEADER.size:
            try:
                self.expected = wire.HEADER.size + sum(wire.read_lengths(bytes(self.incoming)))
            except wire.ProtocolError:
                self.ended, self.fault = "closed", NOT_AN_ANSWER
        elif len(self.incoming) == self.expected:
            self.ended = "replied"

    def _refuse_more(self) -> None:
        with contextlib.suppress(OSError):
            if self.connection.recv(1):
                self.ended, self.fault = "closed", TWICE

    def _frame(self) -> tuple[bytes, bytes]:
        from grader.sandbox import wire

        body = bytes(self.incoming[wire.HEADER.size :])
        text, _ = wire.read_lengths(bytes(self.incoming[: wire.HEADER.size]))
        return body[:text], body[text:]

    def end(self, how: WorkerEnd, output: str) -> None:
        """Take note that every process of the call is dead, how the worker ended, and of what they printed."""
        self.how, self.output = how, output
        if self.confined and self.ended in ("replied", ""):
            self._refuse_more()

    def reply(self) -> Reply:
        """Return the Reply, once it has had its last word."""
        code = os.waitstatus_to_exitcode(self.how.status)
        killed = code == -signal.SIGKILL and not self.how.alive
        if not self.confined and self.ended not in ("timeout", "starved") and not killed:
            raise SandboxFault(f"a worker could not be confined ({self.ended}): {self.output.strip()[-2000:]}")
        common: dict[str, Any] = {"output": self.output, "seconds": self.seconds, "cpu_seconds": self.how.cpu_seconds}
        common["refused_calls"] = self.refusals.names()
        if self.ended in ("timeout", "starved", "disk"):
            disturbed = self.ended == "starved" or (self.ended == "timeout" and self._was_held_up())
            return Reply(self.ended, disturbed=disturbed, **common)
        if self.fault:
            return Reply("protocol", details={"message": self.fault}, **common)
        if self.ended == "closed":
            return describe_crash(code, self.how.alive, count_cpu_limit(self.clock.limit), **common)
        reply = read_reply(*self._frame(), **common)
        return replace(reply, disturbed=reply.status == "timeout" and self._was_held_up())

    def _was_held_up(self) -> bool:
        """Return whether a call that had its time may have been kept from using it."""
        unsure = not self.clock.measured and self.how.cpu_seconds < self.seconds / 2
        return unsure or self.stopped or not self.confined
