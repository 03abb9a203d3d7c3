"""The sandbox on Linux: a fork server that has torch ready, one fresh worker per call, limits enforced from outside.

This is the judge's side, trusted; server.py and worker.py are the other.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.sandbox.limits import LAYERS
from grader.sandbox.reply import (
    NOT_AN_ANSWER,
    START_SECONDS,
    Reply,
    SandboxCalls,
    SandboxFault,
    ServerGone,
    clean_environment,
    crash,
    library_path,
    reply_from,
    shortened,
)

LEVEL = "process"
END_SECONDS = 20.0


class ForkedSandbox(SandboxCalls):
    """One fork server, used by one thread, for one run. Start it early: it imports torch while the judge gets ready.

    drivers: the file of public drivers. folders: where student code and drivers find support files such as utils.py.
    memory_mb: what a worker may map beyond what the server has mapped already.
    """

    level, layers = LEVEL, LAYERS

    def __init__(self, drivers: Path, folders: Sequence[Path], memory_mb: int = 1024) -> None:
        self.drivers = drivers
        self.folders = folders
        self.memory_mb = memory_mb
        self._server: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._warm: bool | None = False  # None: asked for, not yet answered
        self._home = Path(tempfile.mkdtemp(prefix="grader-sandbox-"))

    def start(self) -> None:
        """Start the server process, unless it runs."""
        if self._server is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {
            "drivers": str(self.drivers),
            "folders": [str(folder) for folder in self.folders],
            "path": library_path(),
        }
        server = str(Path(__file__).with_name("server.py"))
        with theirs, open(self._home / "server.log", "ab") as log:
            self._server = subprocess.Popen(
                [sys.executable, "-s", "-B", server, str(theirs.fileno()), json.dumps(settings)],
                pass_fds=[theirs.fileno()],
                env=clean_environment(self._home),
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self._control = ours
        self._warm = False

    def warm_up(self, wait: bool = True) -> None:
        """Let the server import torch and the drivers; with `wait=False` return at once, while it does so."""
        self.start()
        if self._warm is False:
            self._tell({"op": "warm"})
            self._warm = None
        if wait:
            self._await_warm()

    def _ask(self, request: dict[str, Any], seconds: float) -> Reply:
        for _ in range(2):
            self.warm_up()
            try:
                return self._run(request, seconds)
            except ServerGone:
                self.restart()
        # Once is bad luck; the same call twice, with a new server, is what this call does.
        return Reply("crashed", details={"message": "the process brought the sandbox down"})

    def _stop(self) -> None:
        if self._server is None:
            return
        self._control.close()  # the server sees the end of its control socket, kills what is left, and exits
        try:
            self._server.wait(0.5)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._server = self._control = None

    def _run(self, request: dict[str, Any], seconds: float) -> Reply:
        from grader.sandbox import wire

        frame = wire.encode(request | {"seconds": float(seconds)})
        scratch = Path(tempfile.mkdtemp(dir=self._home))
        ours, theirs = socket.socketpair()
        # A file, not a pipe: nobody has to drain it, so a chatty submission runs as fast as a quiet one.
        with ours, tempfile.TemporaryFile(dir=self._home, buffering=0) as printed:
            order = {
                "op": "fork",
                "scratch": str(scratch),
                "memory_mb": self.memory_mb,
                "cpu_seconds": math.ceil(seconds) + 2,
            }
            try:
                with theirs:
                    self._tell(order, theirs.fileno(), printed.fileno())
                    pid = self._hear(END_SECONDS)["pid"]
                exchange = _Exchange(ours, frame, seconds)
                exchange.run()
                self._tell({"op": "end", "pid": pid})
                status = self._hear(END_SECONDS)["status"]
                return exchange.reply(status, shortened(printed))
            finally:
                shutil.rmtree(scratch, ignore_errors=True)

    def _await_warm(self) -> None:
        if self._warm is None:
            self._hear(START_SECONDS)
            self._warm = True

    def _tell(self, message: dict[str, Any], *descriptors: int) -> None:
        if self._warm is None:
            self._await_warm()
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
        except OSError as error:
            raise self._fault(f"the sandbox server is gone ({error})") from error

    def _hear(self, seconds: float) -> dict[str, Any]:
        self._control.settimeout(seconds)
        try:
            message = self._control.recv(1 << 16)
        except OSError as error:
            raise self._fault(f"the sandbox server does not answer ({error})") from error
        if not message:
            raise self._fault("the sandbox server is gone")
        answer = json.loads(message)
        if "error" in answer:
            raise SandboxFault(f"the sandbox cannot work: {answer['error']}")
        return answer

    def _fault(self, message: str) -> ServerGone:
        log = (self._home / "server.log").read_text(errors="replace").strip()
        return ServerGone(f"{message}: {log[-1000:]}" if log else message)


class _Exchange:
    """One request and one reply over the wire, until one deadline."""

    def __init__(self, connection: socket.socket, frame: bytes, seconds: float) -> None:
        self.connection = connection
        self.outgoing = memoryview(frame)
        self.incoming = bytearray()
        self.expected: int | None = None  # bytes of the whole reply, once its header is here
        self.ended = ""  # "replied", "closed" or "timeout"
        self.fault = ""
        self.began = time.monotonic()
        self.deadline = self.began + seconds
        self.seconds = 0.0
        connection.setblocking(False)

    def run(self) -> None:
        """Send the request and receive the reply, as far as it goes."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while not self.ended:
                remaining = self.deadline - time.monotonic()
                if remaining <= 0:
                    self.ended = "timeout"
                    break
                for _, events in selector.select(remaining):
                    if events & selectors.EVENT_READ:
                        self._read()
                    elif self._written():
                        selector.modify(self.connection, selectors.EVENT_READ)
        self.seconds = time.monotonic() - self.began

    def _written(self) -> bool:
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            self.outgoing = self.outgoing[self.connection.send(self.outgoing) :]
        return not self.outgoing

    def _read(self) -> None:
        from grader.sandbox import wire

        try:
            # Never more than what the header announced.
            part = self.connection.recv((self.expected or wire.HEADER.size) - len(self.incoming))
        except BlockingIOError:
            return
        except ConnectionError:
            part = b""
        self.incoming += part
        if not part:
            self.ended = "closed"
        elif self.outgoing:
            self.ended, self.fault = "closed", "it answered before it was asked"
        elif self.expected is None and len(self.incoming) == wire.HEADER.size:
            try:
                self.expected = wire.HEADER.size + sum(wire.lengths(bytes(self.incoming)))
            except wire.ProtocolError:
                self.ended, self.fault = "closed", NOT_AN_ANSWER
        elif len(self.incoming) == self.expected:
            self.ended = "replied"

    def reply(self, status: int, output: str) -> Reply:
        """Return the Reply, now that every process of the call is dead with wait status `status`."""
        from grader.sandbox import wire

        with contextlib.suppress(OSError):
            if self.ended == "replied" and self.connection.recv(1):
                self.fault = "it sent more than one answer"
        common = {"output": output, "seconds": self.seconds}
        if self.ended == "timeout":
            return Reply("timeout", **common)
        if self.fault:
            return Reply("protocol", details={"message": self.fault}, **common)
        if self.ended == "closed":
            return crash(os.waitstatus_to_exitcode(status), **common)
        body = bytes(self.incoming[wire.HEADER.size :])
        text, _ = wire.lengths(bytes(self.incoming[: wire.HEADER.size]))
        return reply_from(body[:text], body[text:], **common)
