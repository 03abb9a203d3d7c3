"""The sandbox where a process cannot be forked (Windows, macOS): one spawned worker, reused from call to call.

It is replaced after a timeout, a crash, or an invalid answer. It guards against accidents, not against attacks: on such a
machine, a student's own, there is nothing to protect.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from grader.sandbox.clock import LOOK_SECONDS, CallClock
from grader.sandbox.interpreter import list_library_paths
from grader.sandbox.places import make_temporary_folder
from grader.sandbox.reply import (
    RUNNING,
    START_SECONDS,
    Isolation,
    Reply,
    SandboxCalls,
    SandboxFault,
    describe_crash,
    make_environment,
    read_reply,
    relay_frame,
    shorten_output,
)
from grader.sandbox.scratch import remove_folder

ISOLATION = Isolation("basic", ("separate process", "clean environment"), {"fork": "one process is reused for all calls"})


class SpawnedSandbox(SandboxCalls):
    """The same calls as `ForkedSandbox`, in one process that lives as long as nothing goes wrong."""

    isolation = ISOLATION
    cpu_seconds = 0.0  # of all calls; not measured here, because one process serves many calls

    def __init__(
        self,
        drivers: Path,
        folders: Sequence[Path],
        memory_mb: int = 1024,
        _secrets: Sequence[Path] = (),
        torch: bool = True,
    ) -> None:
        self.drivers = drivers
        self.torch = torch
        self.folders = folders
        self.memory_mb = memory_mb  # cannot be enforced here; kept for the message of a failed allocation
        self.interrupted = threading.Event()
        self._worker: subprocess.Popen[bytes] | None = None
        self._number = 0
        self._home = make_temporary_folder()

    def start(self) -> None:
        """Start the worker, unless it runs. It imports what calls need when there is the first one."""
        self._running()

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the worker, which is started if it does not run."""
        if self._worker is not None and self._worker.poll() is None:
            return self._worker
        settings = {
            "drivers": str(self.drivers),
            "folders": [str(folder) for folder in self.folders],
            "path": list_library_paths(),
        }
        script = str(Path(__file__).with_name("loop.py"))
        with open(self._home / "worker.log", "ab") as log:
            self._worker = subprocess.Popen(
                [sys.executable, "-s", "-B", script, json.dumps(settings)],
                env=make_environment(self._home),
                cwd=self._home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
            )
        return self._worker

    def warm_up(self, wait: bool = True) -> None:
        """Let the worker import what calls need; with `wait=False` return at once, while it does so."""
        self.start()
        if wait:
            reply = self._run({"do": "warm"}, START_SECONDS)
            if reply.status != "ok":
                log = (self._home / "worker.log").read_text(errors="replace").strip()
                raise SandboxFault(f"the sandbox cannot start: {reply.status} {reply.details} {log[-1000:]}")

    def use_torch(self) -> None:
        """Let the worker import torch before the next call that runs anything, unless it has."""
        self.torch = True

    def _another(self) -> SpawnedSandbox:
        other = SpawnedSandbox(self.drivers, self.folders, self.memory_mb, torch=self.torch)
        other.interrupted = self.interrupted
        return other

    def _ready(self, run: Callable[[], Reply]) -> Reply:
        self.warm_up()
        return self._repeat(run)

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.wait()
            for stream in (self._worker.stdin, self._worker.stdout):
                if stream is not None:
                    stream.close()
            self._worker = None

    @contextlib.contextmanager
    def _exchange(self, request: dict[str, Any], seconds: float) -> Iterator[_Exchange]:
        """Give the worker this request; afterwards it waits for another one, or is gone."""
        from grader.sandbox import wire

        worker = self._running()
        self._number += 1
        scratch = Path(tempfile.mkdtemp(dir=self._home))
        printed = self._home / f"printed-{self._number}"
        printed.touch()
        places = {"scratch": str(scratch), "printed": str(printed)}
        frame = wire.encode(request | places | {"number": self._number, "torch": self.torch})
        interrupted = self.interrupted if request["do"] in RUNNING else threading.Event()
        exchange = _Exchange(worker, frame, self._number, seconds, interrupted)
        try:
            yield exchange
        finally:
            if exchange.waits:
                # The worker answers once more, and can be kept then, with the torch that it has imported.
                exchange.turn(wire.encode({"over": True}))
            if exchange.heard is None:
                exchange.alive = _is_alive(worker)
                worker.kill()
                exchange.status = worker.wait()
            with open(printed, "rb") as file:
                exchange.output = shorten_output(file)
            with contextlib.suppress(OSError):
                printed.unlink()
            with contextlib.suppress(OSError):
                remove_folder(scratch)
            if exchange.reply().status in ("timeout", "starved", "crashed", "protocol"):
                self._stop()


class _Exchange:
    """One request and the replies to it, on one clock.

    Attributes:
        heard: The last word, if it has been said.
        waits: Whether it is the other side's turn in a dialogue.
        status: The worker's exit status, once it has been ended for want of a last word.
        alive: Whether it had to be ended.
        late: Why it was ended before it had answered: "timeout" or "starved".
    """

    fault = ""

    def __init__(
        self, worker: subprocess.Popen[bytes], frame: bytes, number: int, seconds: float, interrupted: threading.Event
    ) -> None:
        self.worker = worker
        self.frame = frame
        self.number = number
        self.interrupted = interrupted
        self.clock = CallClock(seconds)
        self.clock.watch(worker.pid)
        self.seconds = 0.0
        self.late = ""
        self.waits = self.alive = False
        self.heard: tuple[bytes, bytes] | None = None
        self.status = 0
        self.output = ""

    def turn(self, frame: bytes | None = None) -> bytes | None:
        """Return what is said to a frame, or first to the request, as a frame for the other side; None if that was the last."""
        self.frame = frame or self.frame
        self.run()
        said = relay_frame(*self.heard, number=self.number) if self.heard else None
        self.waits = said is not None
        self.heard = None if self.waits else self.heard
        return said

    def run(self) -> None:
        """Send what is to be sent and receive what is said to it, as far as it goes."""
        self.clock.look()
        if self.interrupted.is_set() or self.clock.is_spent():  # here too, because a dialogue may have many short turns
            self.late = "timeout"
            return
        frames: list[tuple[bytes, bytes]] = []
        reader = threading.Thread(target=self._carry, args=(frames,), daemon=True)
        reader.start()
        while reader.is_alive() and not self.late:
            reader.join(min(self.clock.limit / 4, LOOK_SECONDS))
            self.clock.look()
            if reader.is_alive():
                self._limit()
        self.seconds = self.clock.charge()
        self.heard = frames[0] if frames and not self.late else None

    def _limit(self) -> None:
        """End the call where it takes longer than it may."""
        if self.interrupted.is_set() or self.clock.is_over():
            self.late = "timeout"
        elif self.clock.is_starved():
            self.late = "starved"
        elif self.clock.is_late():
            self.clock.ask()
            if hasattr(signal, "SIGALRM"):
                with contextlib.suppress(OSError):
                    os.kill(self.worker.pid, signal.SIGALRM)

    def _carry(self, frames: list[tuple[bytes, bytes]]) -> None:
        """Send the frame and append what is said to it; append nothing when the worker ends or sends something else."""
        from grader.sandbox import wire

        requests, answers = self.worker.stdin, self.worker.stdout
        assert requests is not None  # both are pipes, since it was started
        assert answers is not None
        with contextlib.suppress(OSError, ValueError, EOFError):
            requests.write(self.frame)
            try:
                text, blob = wire.read_lengths(_read(answers, wire.HEADER.size))
            except wire.ProtocolError:
                return
            frames.append((_read(answers, text), _read(answers, blob)))

    def reply(self) -> Reply:
        """Return the Reply, once it has had its last word."""
        used = self.clock.cpu_seconds
        common: dict[str, Any] = {"output": self.output, "seconds": self.seconds, "cpu_seconds": used}
        if self.late:
            return Reply(self.late, disturbed=self.late == "starved", **common)
        if self.heard is None:
            return describe_crash(self.status, self.alive, **common)
        return read_reply(*self.heard, number=self.number, **common)


def _is_alive(worker: subprocess.Popen[bytes]) -> bool:
    """Return whether the worker has not ended by itself; one that has just hung up gets a moment for it."""
    try:
        worker.wait(LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _read(stream: IO[bytes], size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
