"""The spawned worker: answers one request after another, and clears up between them. See spawned.py.

Run as a script: `python loop.py SETTINGS_JSON`; requests arrive on standard input, answers leave on standard output, and
student code gets neither.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

ROOT = str(Path(__file__).resolve().parents[2])


def main() -> None:
    """Answer until standard input closes."""
    settings = json.loads(sys.argv[1])
    sys.argv[:] = ["submitted.py"]  # as where a submission is run by itself: it may look for options
    # The libraries are those of the judge, wherever it found them; the kit's own folder is searched only for the grader.
    sys.path[:] = [ROOT, *settings["path"]]
    from grader.sandbox import guard, lazy, substitutes, wire, worker
    from grader.sandbox.reply import RUNNING

    sys.path[:] = [*settings["folders"], *settings["path"]]
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # the judge's question where a call is, until one is answered
    requests, answers = move_pipes()
    refuse = guard.install_guard(os.getcwd())  # the folder of the sandbox, in which each call has its own
    environment = dict(os.environ)

    def send(frame: bytes) -> None:
        refuse(False)
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(os.path.dirname(request["scratch"]))  # or the scratch folder could not be removed on Windows
        write_all(answers, frame)

    def heard() -> dict[str, Any]:
        text, blob = wire.read_lengths(read_exactly(requests, wire.HEADER.size))
        message: dict[str, Any] = wire.decode(read_exactly(requests, text), read_exactly(requests, blob))
        return message

    def turn(frame: bytes) -> dict[str, Any]:
        write_all(answers, frame)
        return heard()

    while True:
        try:
            request = heard()
        except EOFError:
            return
        prepare_call(request, environment, worker)
        if request["do"] not in worker.READING:
            if request["torch"]:
                importlib.import_module("torch")
                lazy.import_dynamo_lazily()
            lazy.import_matplotlib_lazily()
            substitutes.substitute_gym()
        if request["do"] in RUNNING:
            reload_modules(settings, worker)
        if request["do"] == "warm":
            send(wire.encode({"status": "ok", "number": request["number"]}))
        else:
            refuse(request["do"] not in worker.READING)
            worker.answer_request(request, send, turn)


def move_pipes() -> tuple[int, int]:
    """Return descriptors of the two pipes, moved away from where student code reads and prints."""
    pipes = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in pipes:
            msvcrt.setmode(descriptor, os.O_BINARY)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return pipes


def prepare_call(request: dict[str, Any], environment: dict[str, str], worker: ModuleType) -> None:
    """Give the call its scratch folder, its file to print into, and the environment as it was."""
    printed = os.open(request["printed"], os.O_WRONLY | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)
    sys.stdout = sys.__stdout__ = worker.open_output(1)  # type: ignore[misc]  # Final in typeshed
    sys.stderr = sys.__stderr__ = worker.open_output(2)  # type: ignore[misc]  # Final in typeshed
    os.chdir(request["scratch"])
    os.environ.clear()
    os.environ.update(environment)


def reload_modules(settings: dict[str, Any], worker: ModuleType) -> None:
    """Load drivers and support files anew, and put torch's switches back: an earlier call may have changed them."""
    folders = tuple(settings["folders"])
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(folders):
            del sys.modules[name]
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
    worker.load_drivers(Path(settings["drivers"]))


def read_exactly(descriptor: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main()
