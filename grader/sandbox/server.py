"""The fork server: imports torch once, forks one worker per call, kills it with everything it started. Holds no secret.

Run as a script by `forked.py`, with a clean environment: `python server.py CONTROL_FD SETTINGS_JSON`. The control socket
carries one JSON message a packet:
    {"op": "fork", "scratch": ..., "memory_mb": ..., "cpu_seconds": ...} with two descriptors, the wire and the output
        file -> {"pid": ...}
    {"op": "end", "pid": ...} -> {"status": the worker's wait status}; afterwards no process of that call is left
    {"op": "warm"} imports what calls need; answered by {"warm": true} or {"error": ...}
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])


def main() -> None:
    """Serve until the control socket closes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    # The libraries are those of the judge, wherever it found them; the kit's own folder is searched only for the grader.
    sys.path[:] = [ROOT, *settings["path"]]
    from grader.sandbox import limits, worker

    sys.path[:] = [*settings["folders"], *settings["path"]]
    limits.adopt_orphans()
    try:
        serve(control, settings, limits, worker)
    finally:
        sweep()


def serve(control: socket.socket, settings: dict, limits, worker) -> None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 2)
        if not message:
            return
        request = json.loads(message)
        if request["op"] == "warm":
            reply = warm(settings["drivers"], worker)
        elif request["op"] == "fork":
            gc.freeze()  # keeps the collector from touching, hence copying, the server's pages in every worker
            try:
                pid = os.fork()
                reply = {"pid": pid}
            except OSError as error:
                pid, reply = None, {"error": f"cannot start a process: {error}"}
            if pid == 0:
                control.close()
                run_worker(request, *descriptors, limits, worker)
        else:
            reply = {"status": end(request["pid"])}
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(json.dumps(reply).encode())


def warm(drivers: str, worker) -> dict:
    """Import torch and the drivers, and do once what every worker does, so that none pays for a first time."""
    gc.disable()
    try:
        wire = importlib.import_module("grader.sandbox.wire")
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        worker.load("drivers", Path(drivers))
        worker.seed_everything()
        loss = torch.nn.functional.log_softmax(torch.nn.Linear(2, 2)(torch.ones(3, 2)), dim=-1).sum()
        loss.backward()
        frame = wire.encode({"loss": loss.detach()})
        text, _ = wire.lengths(frame[: wire.HEADER.size])
        wire.decode(frame[wire.HEADER.size :][:text], frame[wire.HEADER.size + text :], torch.from_numpy)
        return {"warm": True}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        gc.enable()


def run_worker(request: dict, wire_fd: int, output_fd: int, limits, worker) -> None:
    """Become a worker: own session, limits, output into the file, one request, one reply. Never returns."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
        os.dup2(wire_fd, 3)
        os.closerange(4, 256)
        os.chdir(request["scratch"])
        os.environ.update(HOME=request["scratch"], TMPDIR=request["scratch"])
        sys.stdout = sys.__stdout__ = worker.printing_to(1)
        sys.stderr = sys.__stderr__ = worker.printing_to(2)
        limits.confine(request["memory_mb"], request["cpu_seconds"])
        # Imported before student code could put something else in its place; only a worker forked early pays for it.
        wire = importlib.import_module("grader.sandbox.wire")
        connection = socket.socket(fileno=3)
        text, blob = wire.lengths(read(connection, wire.HEADER.size))
        worker.answer(wire.decode(read(connection, text), read(connection, blob)), connection.sendall)
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()  # shown to nobody but an instructor: it is printed where the student's output goes
    finally:
        os._exit(1)


def read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def end(pid: int) -> int:
    """Kill the worker and every process below it, and return the worker's wait status."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    sweep()
    return status


def sweep() -> None:
    """Kill and reap until no child is left; orphans become children, because this process adopts them."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            for child in children():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            time.sleep(0.001)


def children() -> list[int]:
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
