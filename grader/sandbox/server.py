"""The fork server: imports what calls need once, forks one worker per call, kills it with everything it started. No secrets.

Run as a script by `forked.py`, with a clean environment: `python server.py CONTROL_FD SETTINGS_JSON`. The control socket
carries one JSON message a packet:
    {"op": "confine"} -> {"layers": [...], "missing": {layer: why}}; once, and first
    {"op": "fork", "scratch": ..., "memory_mb": ..., "cpu_seconds": ...} with two descriptors, the wire and the output
        file -> {"pid": ...}; the worker writes one byte on the wire when it is confined, before it reads the request. With
        the byte may come a descriptor, on which the judge hears of calls that the worker is refused (refusals.py)
    {"op": "end"} -> {"status": the worker's wait status, "alive": whether it had not ended by itself, "cpu_seconds": ...};
        afterwards no process of that call is left
    {"op": "warm", "torch": ...} imports what calls need; answered by {"warm": true} or {"error": ...}
    {"op": "import", "names": [...]} imports what a worker has imported in vain, as far as it is in IMPORTED_LATE; no answer
    {"op": "clone", "number": ..., "folders": [...], "home": ..., "second": ...} with one descriptor, a control socket; the
        answer is {"pid": ...} on that one, from a copy of this server that serves it from then on. It shares the memory of all
        that has been imported, so that another server costs a few MB. A server that was copied serves no calls.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from grader.sandbox.confinement import Confinement

IDLE_SECONDS = 0.05
PF_EXITING = 0x4  # <linux/sched.h>
ROOT = str(Path(__file__).resolve().parents[2])


def main() -> None:
    """Serve until the control socket closes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    sys.argv[:] = ["submitted.py"]  # as where a submission is run by itself: it may look for options
    # The libraries are those of the judge, wherever it found them; the kit's own folder is searched only for the grader.
    searched = [*sys.path[1:], *settings["path"]]
    sys.path[:] = [ROOT, *settings["path"]]
    from grader.sandbox import confinement, origins, pages, wire, worker

    sys.path[:] = [*settings["folders"][1:], *settings["path"]]  # the first is for submissions: only workers import from there
    server = Server(control, settings, confinement.Confinement(settings), wire, worker, pages)
    server.origins, server.searched = origins, searched
    try:
        server.serve()
    finally:
        server.sweep()


class Server:
    """One control socket, and at most one worker at a time. Its modules are passed in, for want of the kit on sys.path.

    Attributes:
        origins: Knows which modules belong here.
        searched: Where Python searches for libraries here.
    """

    origins: ModuleType
    searched: list[str]

    def __init__(
        self,
        control: socket.socket,
        settings: dict[str, Any],
        confinement: Confinement,
        wire: ModuleType,
        worker: ModuleType,
        pages: ModuleType,
    ) -> None:
        self.control = control
        self.settings = settings
        self.confinement = confinement
        self.wire = wire
        self.worker = worker
        self.pages = pages
        self.descriptors: list[int] = []  # that came with the request
        self.pid = 0
        self.scratch = ""
        self.user: int | None = None
        self.scattered: list[int] = []  # addresses where memory can be put together, which makes each fork faster

    def serve(self) -> None:
        """Carry out what the judge asks for, until it closes the socket."""
        while True:
            self.idle()
            message, self.descriptors, _, _ = socket.recv_fds(self.control, 1 << 16, 2)
            if not message:
                return
            request = json.loads(message)
            try:
                reply = OPERATIONS[request.pop("op")](self, **request)
            except (OSError, LookupError, ValueError, TypeError) as error:
                reply = {"error": str(error)}
            for descriptor in self.descriptors:
                os.close(descriptor)
            if reply is not None:
                self.control.send(json.dumps(reply).encode())

    def idle(self) -> None:
        """Put memory together while nobody waits: a few ms a piece, and a fork copies one entry for it instead of 512.

        Not while there is a worker, which would be left with the old pages for itself.
        """
        wait = IDLE_SECONDS
        while self.scattered and not self.pid and not select.select([self.control], [], [], wait)[0]:
            self.pages.merge_pages(self.scattered.pop())
            wait = 0

    def clone(self, number: int, folders: list[str], home: str, second: bool) -> dict[str, Any] | None:
        """Fork a server with folders and a home of its own; only that one returns something, to its own judge."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # clones whose judge has gone
                pass
        while self.scattered:
            self.pages.merge_pages(self.scattered.pop())
        gc.freeze()
        if os.fork():
            return None
        control, self.descriptors = socket.socket(fileno=self.descriptors[0]), []
        self.control.close()
        self.control = control
        sys.path[: len(self.settings["folders"]) - 1] = folders[1:]
        self.settings = self.settings | {"folders": folders, "home": home}
        self.confinement.separate(number, folders, home, second)
        return {"pid": os.getpid()}

    def confine(self) -> dict[str, Any]:
        return {"layers": self.confinement.layers, "missing": self.confinement.missing}

    def fork(self, scratch: str, memory_mb: int, cpu_seconds: int) -> dict[str, Any]:
        gc.freeze()  # keeps the collector from touching, hence copying, the server's pages in every worker
        self.scratch, self.user = scratch, self.confinement.prepare(scratch)
        try:
            self.pid = os.fork()
        except OSError as error:
            self.confinement.clear(self.scratch, self.user)
            return {"error": f"cannot start a process: {error}"}
        if self.pid == 0:
            self.control.close()
            wire_fd, output_fd = self.descriptors
            self.run_worker(wire_fd, output_fd, memory_mb, cpu_seconds)
        return {"pid": self.pid}

    def run_worker(self, wire_fd: int, output_fd: int, memory_mb: int, cpu_seconds: int) -> None:
        """Become a worker: own session, output into the file, confined; then answer one request. Never returns."""
        confined = False
        try:
            os.setsid()
            signal.signal(signal.SIGALRM, signal.SIG_IGN)  # the judge's question where a call is, until one is answered
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(output_fd, 1)
            os.dup2(output_fd, 2)
            os.dup2(wire_fd, 3)
            os.chdir(self.scratch)
            os.environ.update(HOME=self.scratch, TMPDIR=self.scratch)
            sys.path.insert(0, self.settings["folders"][0])
            tempfile.tempdir = None  # found out anew: a library may have asked in the server
            sys.stdout = sys.__stdout__ = self.worker.open_output(1)  # type: ignore[misc]  # Final in typeshed
            sys.stderr = sys.__stderr__ = self.worker.open_output(2)  # type: ignore[misc]  # Final in typeshed
            refused = self.confinement.apply(self.scratch, self.user, memory_mb, cpu_seconds)
            close_other_descriptors(self.settings["handles"] + [refused] * (refused is not None))
            connection = socket.socket(fileno=3)
            confined = True
            if refused is None:
                connection.sendall(self.wire.READY)
            else:
                passed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, refused.to_bytes(4, sys.byteorder))
                connection.sendmsg([self.wire.READY], [passed])
                os.close(refused)  # only the judge has it from here on

            def heard() -> dict[str, Any]:
                text, blob = self.wire.read_lengths(read_exactly(connection, self.wire.HEADER.size))
                message: dict[str, Any] = self.wire.decode(read_exactly(connection, text), read_exactly(connection, blob))
                return message

            def turn(frame: bytes) -> dict[str, Any]:
                connection.sendall(frame)
                return heard()

            self.worker.answer_request(heard(), connection.sendall, turn)
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(0)
        except BaseException:
            if not confined:
                traceback.print_exc()  # for the judge, which reads it where a student's output would be
        finally:
            os._exit(1)

    def end(self) -> dict[str, Any]:
        """Kill the worker and every process below it, remove what it left, and return its wait status."""
        alive = not is_exiting(self.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _, status, used = os.wait4(self.pid, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.sweep()
        self.confinement.clear(self.scratch, self.user)
        self.pid = 0
        return {"status": status, "alive": alive, "cpu_seconds": round(used.ru_utime + used.ru_stime, 6)}

    def warm(self, torch: bool) -> dict[str, Any]:
        """Import the drivers and what they need, and do once what every worker does, so that none pays for a first time."""
        gc.disable()
        try:
            if torch:
                importlib.import_module("torch")
                self.worker.lazy.import_dynamo_lazily()
            self.worker.lazy.import_matplotlib_lazily()
            self.worker.substitutes.substitute_gym()
            self.worker.load_drivers(Path(self.settings["drivers"]))
            self.worker.seed_everything()
            frame = self.wire.encode({"first": make_sample_numbers()})
            text, _ = self.wire.read_lengths(frame[: self.wire.HEADER.size])
            body = frame[self.wire.HEADER.size :]
            self.wire.decode(body[:text], body[text:])
            places = self.origins.list_own_places([*self.searched, *self.settings["folders"][1:], self.settings["drivers"]])
            if stranger := self.origins.find_stranger(self.settings["folders"][0], places):
                return {"error": f"found before any submission was confined: the module {stranger}"}
            self.scattered = self.pages.find_scattered_pages()
            return {"warm": True}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        finally:
            gc.enable()

    def import_late(self, names: list[str]) -> None:
        """Import libraries that take a second, so that the calls to come do not."""
        before, sys.path[:] = list(sys.path), self.settings["path"]  # nothing of an assignment has such a name
        for name in set(names) & set(self.worker.IMPORTED_LATE):
            with contextlib.suppress(Exception):  # not installed
                self.worker.lazy.import_now(name)
        sys.path[:] = before
        self.scattered = self.pages.find_scattered_pages()

    def sweep(self) -> None:
        """Kill and reap until no child is left; orphans become children, because this process adopts them."""
        helped = False
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                for child in list_children():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(child, signal.SIGKILL)
                if not helped:
                    self.confinement.kill(self.user)
                    helped = True
                time.sleep(0.001)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "confine": Server.confine,
    "fork": Server.fork,
    "end": Server.end,
    "warm": Server.warm,
    "import": Server.import_late,
    "clone": Server.clone,
}


def make_sample_numbers() -> Any:
    """Return numbers of the kind that calls return: a tensor after a first backward pass, where torch is imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return sys.modules["numpy"].ones(2)
    torch.set_num_threads(1)
    loss = torch.nn.functional.log_softmax(torch.nn.Linear(2, 2)(torch.ones(3, 2)), dim=-1).sum()
    loss.backward()
    return loss.detach()


def close_other_descriptors(kept: list[int]) -> None:
    """Close every descriptor from 4 on but these: nothing of the server's is a worker's to use."""
    first = 4
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, 1 << 20)


def read_exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def is_exiting(pid: int) -> bool:
    """Return whether a child has ended, or is about to: the kernel closes its files before that can be waited for."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # the first one may end long before the others
            # The flags are the seventh field after the name, which is in parentheses and may hold anything.
            fields = Path(f"/proc/{pid}/task/{thread}/stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX" and not int(fields[6]) & PF_EXITING:
                return False
        return True
    return False


def list_children() -> list[int]:
    """Return the processes whose parent is this one. Not every kernel lists them, so the process table is read."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            # The parent is the second field after the name, which is in parentheses and may hold anything.
            with contextlib.suppress(OSError):
                parent = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
                if int(parent) == os.getpid():
                    found.append(int(entry.name))
    return found


if __name__ == "__main__":
    main()
