"""The sandbox where a process cannot be forked (Windows, macOS): one spawned worker, reused from call to call.

It is replaced after a timeout, a crash, or an answer that is none. It guards against accidents, not against attacks: on such a
machine, a student's own, there is nothing to protect.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from grader.sandbox.interpreter import library_path
from grader.sandbox.reply import (
    START_SECONDS,
    Isolation,
    Reply,
    SandboxCalls,
    SandboxFault,
    clean_environment,
    crash,
    reply_from,
    shortened,
)
from grader.sandbox.scratch import remove

LOOK_SECONDS = 0.1  # between two looks at whether the call is interrupted
ISOLATION = Isolation("basic", ("separate process", "clean environment"), {"fork": "one process is reused from call to call"})


class SpawnedSandbox(SandboxCalls):
    """The same calls as `ForkedSandbox`, in one process that lives as long as nothing goes wrong."""

    isolation = ISOLATION

    def __init__(self, drivers: Path, folders: Sequence[Path], memory_mb: int = 1024, _secrets: Sequence[Path] = ()) -> None:
        self.drivers = drivers
        self.folders = folders
        self.memory_mb = memory_mb  # cannot be enforced here; kept for the message of a failed allocation
        self.interrupted = threading.Event()
        self._worker: subprocess.Popen | None = None
        self._number = 0
        self._home = Path(tempfile.mkdtemp(prefix="grader-sandbox-"))

    def start(self) -> None:
        """Start the worker, unless it runs. It imports torch when it is first asked for something that needs it."""
        if self._worker is not None and self._worker.poll() is None:
            return
        settings = {
            "drivers": str(self.drivers),
            "folders": [str(folder) for folder in self.folders],
            "path": library_path(),
        }
        script = str(Path(__file__).with_name("loop.py"))
        with open(self._home / "worker.log", "ab") as log:
            self._worker = subprocess.Popen(
                [sys.executable, "-s", "-B", script, json.dumps(settings)],
                env=clean_environment(self._home),
                cwd=self._home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
            )

    def warm_up(self, wait: bool = True) -> None:
        """Let the worker import torch and the drivers; with `wait=False` return at once, while it does so."""
        self.start()
        if wait:
            reply = self._run({"do": "warm"}, START_SECONDS)
            if reply.status != "ok":
                log = (self._home / "worker.log").read_text(errors="replace").strip()
                raise SandboxFault(f"the sandbox cannot start: {reply.status} {reply.details} {log[-1000:]}")

    def _ask(self, request: dict[str, Any], seconds: float) -> Reply:
        self.warm_up()
        return self._run(request, seconds)

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.wait()
            for stream in (self._worker.stdin, self._worker.stdout):
                stream.close()
            self._worker = None

    def _run(self, request: dict[str, Any], seconds: float) -> Reply:
        from grader.sandbox import wire

        self.start()
        self._number += 1
        scratch = Path(tempfile.mkdtemp(dir=self._home))
        printed = self._home / f"printed-{self._number}"
        printed.touch()
        frame = wire.encode(
            request | {"seconds": float(seconds), "number": self._number, "scratch": str(scratch), "printed": str(printed)}
        )
        began = time.monotonic()
        frames: list[tuple[bytes, bytes]] = []
        reader = threading.Thread(target=self._exchange, args=(self._worker, frame, frames), daemon=True)
        reader.start()
        stopped = self.interrupted if request["do"] in ("load", "call") else threading.Event()
        while reader.is_alive() and time.monotonic() - began < seconds and not stopped.is_set():
            reader.join(min(LOOK_SECONDS, max(began + seconds - time.monotonic(), 0)))
        common = {"seconds": time.monotonic() - began}
        late = reader.is_alive()
        if late or not frames:
            self._worker.kill()
        status = None if frames and not late else self._worker.wait()
        with open(printed, "rb") as file:
            common["output"] = shortened(file)
        with contextlib.suppress(OSError):
            printed.unlink()
        with contextlib.suppress(OSError):
            remove(scratch)
        if late:
            reply = Reply("timeout", **common)
        elif not frames:
            reply = crash(status, **common)
        else:
            reply = reply_from(*frames[0], number=self._number, **common)
        if reply.status in ("timeout", "crashed", "protocol"):
            self._stop()
        return reply

    @staticmethod
    def _exchange(worker: subprocess.Popen, frame: bytes, frames: list[tuple[bytes, bytes]]) -> None:
        """Send the request and append the answer; append nothing when the worker ends or sends something else."""
        from grader.sandbox import wire

        with contextlib.suppress(OSError, ValueError, EOFError):
            worker.stdin.write(frame)
            try:
                text, blob = wire.lengths(_read(worker.stdout, wire.HEADER.size))
            except wire.ProtocolError:
                return
            frames.append((_read(worker.stdout, text), _read(worker.stdout, blob)))


def _read(stream: BinaryIO, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
